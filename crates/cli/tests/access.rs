//! `keyloom serve --identities` with the files of `docs/access-control.md`.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use keyloom::remote::{Credentials, Endpoint, Remote};

/// The first block of a language in the guide.
fn block(language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access-control.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start = format!("```{language}\n");
    text.split(&start).nth(1).unwrap().split("```").next().unwrap().to_owned()
}

/// A server in a process of its own; it ends with the test.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn serve(identities: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    command.args(["serve", "--memory", "--port", "0", "--access-key", "ROOT", "--secret-key"]);
    command.arg("a-secret-for-the-root-user").arg("--identities").arg(identities);
    command
}

fn start(identities: &Path) -> Server {
    let mut process = serve(identities).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    Server(process, url)
}

fn caller(server: &Server, key: &str, secret: &str) -> Remote {
    let endpoint = Endpoint::url(&server.1).region("us-east-1");
    Remote::new(endpoint.credentials(Credentials::new(key, secret))).unwrap()
}

#[test]
fn the_tenants_of_the_guide_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let identities = directory.path().join("identities.toml");
    std::fs::write(&identities, block("toml")).unwrap();
    std::fs::write(directory.path().join("tenant.json"), block("json")).unwrap();
    let server = start(&identities);
    let root = caller(&server, "ROOT", "a-secret-for-the-root-user");
    root.call(
        "CreateTable",
        br#"{"TableName":"app","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"PK","KeyType":"HASH"}]}"#,
    )
    .unwrap();
    for (key, tenant, other) in [("AKIDACME", "acme", "globex"), ("AKIDGLOBEX", "globex", "acme")] {
        let caller = caller(&server, key, &format!("{tenant}-secret-that-is-long-enough"));
        let put = |tenant: &str| {
            let body = format!(r#"{{"TableName":"app","Item":{{"PK":{{"S":"{tenant}#1"}}}}}}"#);
            caller.call("PutItem", body.as_bytes())
        };
        put(tenant).unwrap();
        let refused = put(other).unwrap_err().to_string();
        assert!(refused.contains("is not authorized to perform: dynamodb:PutItem"), "{refused}");
    }
}

#[test]
fn a_policy_that_cannot_be_evaluated_stops_the_server_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let identities = directory.path().join("identities.toml");
    std::fs::write(&identities, block("toml")).unwrap();
    let policy = block("json").replace("ForAllValues:StringLike", "ForAllValues:StringLikes");
    std::fs::write(directory.path().join("tenant.json"), policy).unwrap();
    let output = serve(&identities).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("access key \"AKIDACME\""), "{said}");
    assert!(
        said.contains(
            "Statement[0].Condition.ForAllValues:StringLikes: there is no such condition operator"
        ),
        "{said}"
    );
    assert!(!said.contains("acme-secret"), "{said}");
}

#[test]
fn who_locks_itself_out_has_to_confirm_that() {
    let directory = tempfile::tempdir().unwrap();
    let identities = directory.path().join("identities.toml");
    let allowed = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"dynamodb:*","Resource":"*"}}"#;
    let entry = "[[identity]]\naccess_key = \"AKIDADMIN\"\nsecret_key = \"admin-secret-that-is-long-enough\"\nname = \"admin\"\n";
    std::fs::write(&identities, format!("{entry}policies = [\"admin.json\"]\n")).unwrap();
    std::fs::write(directory.path().join("admin.json"), allowed).unwrap();
    let server = start(&identities);
    let admin = caller(&server, "AKIDADMIN", "admin-secret-that-is-long-enough");
    admin
        .call(
            "CreateTable",
            br#"{"TableName":"app","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"PK","KeyType":"HASH"}]}"#,
        )
        .unwrap();
    let put = |action: &str, confirmed: &str| {
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/app";
        let policy = format!(
            r#"{{\"Version\":\"2012-10-17\",\"Statement\":{{\"Effect\":\"Deny\",\"Principal\":\"*\",\"Action\":\"{action}\",\"Resource\":\"*\"}}}}"#
        );
        let body = format!(r#"{{"ResourceArn":"{arn}","Policy":"{policy}"{confirmed}}}"#);
        admin.call("PutResourcePolicy", body.as_bytes()).map_err(|error| error.to_string())
    };
    put("dynamodb:DeleteTable", "").unwrap();
    let confirmed = r#","ConfirmRemoveSelfResourceAccess":true"#;
    for unconfirmed in ["", r#","ConfirmRemoveSelfResourceAccess":false"#] {
        let refused = put("dynamodb:Put*", unconfirmed).unwrap_err();
        assert!(refused.contains("set ConfirmRemoveSelfResourceAccess to true"), "{refused}");
    }
    put("dynamodb:Put*", confirmed).unwrap();
    let refused = put("dynamodb:DeleteTable", confirmed).unwrap_err();
    assert!(refused.contains("explicit deny in a resource-based policy"), "{refused}");
}
