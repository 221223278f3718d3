//! `keyloom copy`, between a directory and a PostgreSQL, killed and resumed, and behind a server that goes on.
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::postgres::Postgres;
use crate::server::Server;

/// How often a copy is killed.
pub(crate) fn kills() -> usize {
    std::env::var("KEYLOOM_COPY_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10)
}

pub(crate) fn keyloom(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    command.args(arguments);
    command
}

pub(crate) fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn done(arguments: &[&str]) -> String {
    let output = keyloom(arguments).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    shown(&output)
}

fn refused(arguments: &[&str], reason: &str) {
    let output = keyloom(arguments).output().unwrap();
    assert!(!output.status.success() && shown(&output).contains(reason), "{}", shown(&output));
}

/// A directory with a table of items of 1 KB.
fn filled(path: &Path, items: usize) {
    let server = Server::run(Server::command().arg("--data").arg(path));
    server.create_table("Orders");
    for first in (0..items).step_by(25) {
        let put = |n: usize| json!({"PutRequest": {"Item": {"id": {"S": n.to_string()}, "v": {"S": "x".repeat(1000)}}}});
        let puts: Vec<_> = (first..(first + 25).min(items)).map(put).collect();
        server.call("BatchWriteItem", &json!({"RequestItems": {"Orders": puts}}));
    }
    // It must not be killed: then it would have to be recovered first.
    let id = server.process.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    let mut server = server;
    server.process.wait().unwrap();
}

fn assert_has(server: &Server, items: usize) {
    let scan = json!({"TableName": "Orders", "Select": "COUNT"});
    let mut count = 0;
    let mut page = server.call("Scan", &scan);
    loop {
        count += page["Count"].as_u64().unwrap() as usize;
        let Some(last) = page.get("LastEvaluatedKey").cloned() else { break };
        let mut next = scan.clone();
        next["ExclusiveStartKey"] = last;
        page = server.call("Scan", &next);
    }
    assert_eq!(count, items);
}

#[test]
fn a_database_moves_to_postgres_and_back() {
    let Some(postgres) = Postgres::start(false) else { return };
    let home = tempfile::tempdir().unwrap();
    let [first, back] = ["first", "back"].map(|name| home.path().join(name));
    filled(&first, 500);
    let (first, back, url) =
        (first.to_str().unwrap(), back.to_str().unwrap(), postgres.url("moved"));
    let said = done(&["copy", "--from", first, "--to", &url]);
    assert!(said.contains("all equal") && !said.contains("keyloom@"), "{said}");
    refused(&["copy", "--from", first, "--to", &url], "not empty");
    refused(&["copy", "--from", first, "--to", &url, "--follow"], "--follow");
    refused(&["copy", "--from", "/nowhere", "--to", &url], "no such directory");
    let secret = url.replace("keyloom@", "keyloom:s3cret@");
    refused(&["copy", "--from", &secret, "--to", back], "KEYLOOM_COPY_FROM");
    let server = Server::start(&url);
    assert_has(&server, 500);
    server.put("Orders", "new");
    let orders = server.call("DescribeTable", &json!({"TableName": "Orders"}));
    assert_eq!(orders["Table"]["ItemCount"], 501);
    drop(server);
    done(&["copy", "--from", &url, "--to", back, "--rate", "100"]);
    assert!(done(&["verify", back]).contains("all is well"));
    assert_has(&Server::run(Server::command().args(["--data", back])), 501);
}

#[test]
fn a_copy_that_is_killed_goes_on_and_nobody_opens_it_meanwhile() {
    let Some(postgres) = Postgres::start(false) else { return };
    let home = tempfile::tempdir().unwrap();
    let first = home.path().join("first");
    filled(&first, 6000);
    let (first, url) = (first.to_str().unwrap(), postgres.url("killed"));
    let mut were_unfinished = 0;
    for kill in 0..kills() {
        let mut copy = keyloom(&["copy", "--from", first, "--to", &url, "--rate", "5"]);
        let mut copy = copy.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // On a busy machine it takes long to begin.
        let is_marked = || {
            postgres.query("SELECT to_regclass('killed.kv') IS NOT NULL") == "t"
                && postgres.query("SELECT count(*) FROM killed.kv WHERE k = '\\x0109'") == "1"
        };
        while !is_marked() && copy.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(43 * (kill as u64 % 7)));
        copy.kill().unwrap();
        copy.wait().unwrap();
        if is_marked() {
            were_unfinished += 1;
            let served = Server::command().args(["--store", &url]).output().unwrap();
            assert!(shown(&served).contains("unfinished copy"), "{}", shown(&served));
            let other = home.path().join("other");
            filled(&other, 1);
            refused(
                &["copy", "--from", other.to_str().unwrap(), "--to", &url],
                "unfinished copy of",
            );
            std::fs::remove_dir_all(&other).unwrap();
        }
    }
    assert!(were_unfinished > 0, "each copy was killed before it began or after it had ended");
    let copied = keyloom(&["copy", "--from", first, "--to", &url]).output().unwrap();
    assert!(copied.status.success() || shown(&copied).contains("not empty"), "{}", shown(&copied));
    assert_has(&Server::start(&url), 6000);
}

#[test]
fn a_copy_follows_a_server_until_it_is_stopped() {
    let Some(postgres) = Postgres::start(false) else { return };
    let (from, to) = (postgres.url("old"), postgres.url("new"));
    let server = Server::start(&from);
    server.create_table("Orders");
    let mut copy = keyloom(&["copy", "--from", &from, "--to", &to, "--follow"]);
    let mut copy = copy.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(copy.stdout.take().unwrap()).lines();
    let mut items = 0;
    for _pass in 0..3 {
        for _ in 0..40 {
            server.put("Orders", &items.to_string());
            items += 1;
        }
        server.call("DeleteItem", &json!({"TableName": "Orders", "Key": {"id": {"S": "0"}}}));
        assert!(said.next().unwrap().unwrap().contains("press Enter"));
    }
    drop(server);
    writeln!(copy.stdin.take().unwrap()).unwrap();
    let last = said.map_while(Result::ok).last().unwrap();
    assert!(copy.wait().unwrap().success() && last.contains("all equal"), "{last}");
    assert_has(&Server::start(&to), items - 1);
}
