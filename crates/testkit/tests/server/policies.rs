//! Identities with policies, and policies of tables and streams: the examples of `docs/access-control.md`.

use std::path::Path;

use keyloom::prelude::{Endpoint, Remote};
use keyloom_engine::Database;
use keyloom_engine::policy::{Policy, Principal};
use keyloom_server::{Config, Credentials, Identity, RunningServer, Server};
use keyloom_testkit::samples::{create_table, samples};
use serde_json::{Value, json};

use crate::{ACCESS_KEY, SECRET_KEY};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/app";

/// The blocks of a language in the guide, in order.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access-control.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start = format!("```{language}\n");
    let starts = text.split(&start).skip(1);
    starts.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

fn secret(name: &str) -> String {
    format!("{name}-secret-that-is-long-enough")
}

/// The secret of every identity is made of its name, and so is its access key.
fn identity(name: &str, tenant: Option<&str>, policies: &[String]) -> Identity {
    let key = format!("AKID{}", name.to_uppercase());
    let principal = Principal {
        arn: format!("arn:aws:iam::000000000000:user/{name}"),
        user_id: key.clone(),
        tags: tenant.map(|tenant| ("tenant".into(), tenant.into())).into_iter().collect(),
    };
    let policies = policies.iter().map(|text| Policy::identity(text).unwrap()).collect();
    Identity::new(Credentials::new(key, secret(name)), principal, policies)
}

/// A server with the tenants of the guide, who share a table that the root user made, and with an administrator.
pub(crate) fn served() -> RunningServer {
    let json = blocks("json");
    let [tenant, attributes, _] = json.as_slice() else { panic!("the guide has three policies") };
    let no_delete =
        r#"{"Statement":{"Effect":"Deny","Action":"dynamodb:DeleteItem","Resource":"*"}}"#;
    let everything =
        r#"{"Statement":{"Effect":"Allow","Action":"dynamodb:*","Resource":"*"}}"#.to_owned();
    let config = Config {
        address: ([127, 0, 0, 1], 0).into(),
        credentials: vec![Credentials::new(ACCESS_KEY, SECRET_KEY)],
        identities: vec![
            identity("acme", Some("acme"), std::slice::from_ref(tenant)),
            identity("globex", Some("globex"), &[tenant.clone(), no_delete.to_owned()]),
            identity("editor", None, std::slice::from_ref(attributes)),
            identity("auditor", None, &[]),
            identity("admin", None, &[everything]),
        ],
        ..Config::default()
    };
    Server::start(config, Database::memory()).unwrap()
}

struct Caller(Remote);

impl Caller {
    fn root(server: &RunningServer) -> Self {
        Self::with(server, ACCESS_KEY, SECRET_KEY)
    }

    fn of(server: &RunningServer, name: &str) -> Self {
        Self::with(server, &format!("AKID{}", name.to_uppercase()), &secret(name))
    }

    fn with(server: &RunningServer, key: &str, secret: &str) -> Self {
        let credentials = keyloom::remote::Credentials::new(key, secret);
        let endpoint = Endpoint::url(server.url()).region("us-east-1").credentials(credentials);
        Self(Remote::new(endpoint).unwrap())
    }

    fn call(&self, operation: &str, body: &Value) -> Result<Value, (String, String)> {
        // The client wants names that live for ever; a test can afford that.
        let operation: &'static str = Box::leak(operation.to_owned().into_boxed_str());
        match self.0.call(operation, body.to_string().as_bytes()) {
            Ok(body) => Ok(serde_json::from_slice(&body).unwrap()),
            Err(keyloom::Error::Database(error)) => Err((error.code().to_owned(), error.message())),
            Err(error) => panic!("{operation}: {error}"),
        }
    }

    #[track_caller]
    fn ok(&self, operation: &str, body: &Value) -> Value {
        self.call(operation, body).unwrap_or_else(|error| panic!("{operation} {body}: {error:?}"))
    }

    #[track_caller]
    fn denied(&self, operation: &str, body: &Value) -> String {
        match self.call(operation, body) {
            Err((code, message)) if code == "AccessDeniedException" => message,
            other => panic!("{operation} {body}: {other:?}"),
        }
    }
}

fn make_table(root: &Caller) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, role: &str| json!({"AttributeName": name, "KeyType": role});
    root.ok(
        "CreateTable",
        &json!({
            "TableName": "app", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [attribute("PK"), attribute("SK"), attribute("GSI1PK")],
            "KeySchema": [key("PK", "HASH"), key("SK", "RANGE")],
            "GlobalSecondaryIndexes": [{
                "IndexName": "GSI1", "KeySchema": [key("GSI1PK", "HASH")],
                "Projection": {"ProjectionType": "ALL"},
            }],
        }),
    );
    for tenant in ["acme", "globex"] {
        let item = json!({
            "PK": {"S": format!("{tenant}#order")}, "SK": {"S": "1"},
            "GSI1PK": {"S": format!("{tenant}#open")}, "title": {"S": "t"}, "price": {"N": "7"},
        });
        root.ok("PutItem", &json!({"TableName": "app", "Item": item}));
    }
}

/// Requests about items of a tenant, as every operation makes them.
fn requests(tenant: &str) -> Vec<(&'static str, Value)> {
    let pk = json!({"S": format!("{tenant}#order")});
    let key = json!({"PK": pk, "SK": {"S": "1"}});
    let item = json!({"PK": pk, "SK": {"S": "2"}, "title": {"S": "new"}});
    let values = json!({":p": pk});
    let gsi = json!({":p": {"S": format!("{tenant}#open")}});
    let statement =
        |text: &str| json!({"Statement": text.replace("{}", &format!("{tenant}#order"))});
    vec![
        ("GetItem", json!({"TableName": "app", "Key": key})),
        ("GetItem", json!({"TableName": ARN, "Key": key})),
        ("PutItem", json!({"TableName": "app", "Item": item})),
        ("UpdateItem", json!({"TableName": "app", "Key": key, "UpdateExpression": "REMOVE price"})),
        (
            "Query",
            json!({"TableName": "app", "KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": values}),
        ),
        (
            "Query",
            json!({"TableName": "app", "IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :p", "ExpressionAttributeValues": gsi}),
        ),
        ("BatchGetItem", json!({"RequestItems": {"app": {"Keys": [key]}}})),
        ("BatchWriteItem", json!({"RequestItems": {"app": [{"PutRequest": {"Item": item}}]}})),
        ("TransactGetItems", json!({"TransactItems": [{"Get": {"TableName": "app", "Key": key}}]})),
        (
            "TransactWriteItems",
            json!({"TransactItems": [
                {"Put": {"TableName": "app", "Item": item}},
                {"ConditionCheck": {"TableName": "app", "Key": key, "ConditionExpression": "attribute_exists(PK)"}},
            ]}),
        ),
        ("ExecuteStatement", statement("SELECT * FROM app WHERE PK = '{}'")),
        ("ExecuteStatement", statement("UPDATE app SET title = 'x' WHERE PK = '{}' AND SK = '1'")),
        (
            "BatchExecuteStatement",
            json!({"Statements": [statement("SELECT * FROM app WHERE PK = '{}' AND SK = '1'")]}),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [statement("UPDATE app SET title = 'y' WHERE PK = '{}' AND SK = '1'")]}),
        ),
    ]
}

#[test]
fn tenants_reach_their_own_items_and_no_others() {
    let server = served();
    let root = Caller::root(&server);
    make_table(&root);
    for (name, other) in [("acme", "globex"), ("globex", "acme")] {
        let caller = Caller::of(&server, name);
        for (operation, body) in requests(name) {
            caller.ok(operation, &body);
        }
        for (operation, body) in requests(other) {
            caller.denied(operation, &body);
        }
        // What mixes both, what has no partition, and what none of its policies allows.
        let key = |tenant: &str| json!({"PK": {"S": format!("{tenant}#order")}, "SK": {"S": "1"}});
        for (operation, body) in [
            ("BatchGetItem", json!({"RequestItems": {"app": {"Keys": [key(name), key(other)]}}})),
            (
                "ExecuteStatement",
                json!({"Statement": format!("SELECT * FROM app WHERE PK IN ['{name}#order', '{other}#order']")}),
            ),
            ("ExecuteStatement", json!({"Statement": "SELECT * FROM app"})),
            ("Scan", json!({"TableName": "app"})),
            (
                "GetItem",
                json!({"TableName": "app", "Key": {"PK": {"S": format!("{name}2#order")}, "SK": {"S": "1"}}}),
            ),
            // Another region's table is not this one.
            (
                "GetItem",
                json!({"TableName": "arn:aws:dynamodb:eu-west-1:999999999999:table/app", "Key": key(name)}),
            ),
            ("DescribeTable", json!({"TableName": "app"})),
            ("ListTables", json!({})),
            ("DeleteTable", json!({"TableName": "app"})),
        ] {
            caller.denied(operation, &body);
        }
        let own = key(name);
        match name {
            "acme" => {
                caller.ok("DeleteItem", &json!({"TableName": "app", "Key": own}));
            }
            _ => assert_eq!(
                caller.denied("DeleteItem", &json!({"TableName": "app", "Key": own})),
                format!(
                    "User: arn:aws:iam::000000000000:user/globex is not authorized to perform: dynamodb:DeleteItem \
                     on resource: {ARN} with an explicit deny in an identity-based policy"
                )
            ),
        }
    }
    assert_eq!(
        Caller::of(&server, "acme").denied("ListTables", &json!({})),
        "User: arn:aws:iam::000000000000:user/acme is not authorized to perform: dynamodb:ListTables on resource: \
         arn:aws:dynamodb:us-east-1:000000000000:table/* because no identity-based policy allows the \
         dynamodb:ListTables action"
    );
}

#[test]
fn attributes_can_be_kept_from_an_identity() {
    let server = served();
    make_table(&Caller::root(&server));
    let editor = Caller::of(&server, "editor");
    let key = json!({"PK": {"S": "acme#order"}, "SK": {"S": "1"}});
    let get = |projection: Value| {
        let mut body = json!({"TableName": "app", "Key": key});
        if !projection.is_null() {
            body["ProjectionExpression"] = projection;
        }
        body
    };
    assert_eq!(editor.ok("GetItem", &get(json!("title")))["Item"], json!({"title": {"S": "t"}}));
    editor.denied("GetItem", &get(Value::Null));
    editor.denied("GetItem", &get(json!("title, price")));
    let update = |expression: &str, returns: &str| {
        json!({"TableName": "app", "Key": key, "UpdateExpression": expression, "ReturnValues": returns,
               "ExpressionAttributeValues": {":v": {"S": "x"}}})
    };
    editor.ok("UpdateItem", &update("SET title = :v", "UPDATED_NEW"));
    editor.denied("UpdateItem", &update("SET title = :v", "ALL_NEW"));
    editor.denied("UpdateItem", &update("SET price = :v", "NONE"));
    editor.denied("PutItem", &json!({"TableName": "app", "Item": key}));
}

#[test]
fn the_policy_of_a_table_lets_in_and_shuts_out() {
    let server = served();
    let root = Caller::root(&server);
    make_table(&root);
    let (auditor, acme) = (Caller::of(&server, "auditor"), Caller::of(&server, "acme"));
    let get = json!({"TableName": "app", "Key": {"PK": {"S": "acme#order"}, "SK": {"S": "1"}}});
    auditor.denied("GetItem", &get);
    auditor.denied("PutResourcePolicy", &json!({"ResourceArn": ARN, "Policy": "{}"}));
    root.ok("PutResourcePolicy", &json!({"ResourceArn": ARN, "Policy": blocks("json")[2]}));
    auditor.ok("GetItem", &get);
    acme.ok("GetItem", &get);
    auditor.denied("Scan", &json!({"TableName": "app"}));
    let deny = json!({"Version": "2012-10-17", "Statement": {
        "Effect": "Deny", "Principal": "*", "Action": "dynamodb:Get*", "Resource": ARN,
    }});
    root.ok("PutResourcePolicy", &json!({"ResourceArn": ARN, "Policy": deny.to_string()}));
    assert_eq!(
        acme.denied("GetItem", &get),
        format!(
            "User: arn:aws:iam::000000000000:user/acme is not authorized to perform: dynamodb:GetItem on resource: \
             {ARN} with an explicit deny in a resource-based policy"
        )
    );
    root.ok("GetItem", &get);
    root.ok("DeleteResourcePolicy", &json!({"ResourceArn": ARN}));
    acme.ok("GetItem", &get);
    auditor.denied("GetItem", &get);
}

#[test]
fn no_operation_is_open_to_an_identity_without_policies() {
    let server = served();
    let root = Caller::root(&server);
    root.ok("CreateTable", &create_table());
    let nobody = Caller::of(&server, "auditor");
    let samples = samples();
    for sample in &samples {
        nobody.denied(&sample.operation, &sample.body);
    }
    println!("{} operations", samples.len());
    assert!(samples.len() >= 60);
}
