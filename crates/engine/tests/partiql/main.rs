//! PartiQL through the wire door: statements, batches and transactions.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod arbitrary;
mod batches;
mod capacity;
mod indexes;
mod paging;
mod reads;
mod requests;
mod transactions;
mod writes;

use keyloom_engine::Database;
use serde_json::{Value, json};

/// A database with the table `music`, whose key is the strings `pk` and `sk`, and the table `flat`, whose key is
/// the string `pk`.
struct Fixture {
    db: Database,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { db: Database::memory() };
        fixture.create(json!({
            "TableName": "music",
            "AttributeDefinitions": strings(&["pk", "sk"]),
            "KeySchema": key(&["pk"], &["sk"]),
        }));
        fixture.create(json!({
            "TableName": "flat",
            "AttributeDefinitions": strings(&["pk"]),
            "KeySchema": key(&["pk"], &[]),
        }));
        fixture
    }

    fn create(&self, mut table: Value) {
        table["BillingMode"] = json!("PAY_PER_REQUEST");
        self.ok("CreateTable", table);
    }

    fn call(&self, operation: &str, body: &Value) -> (u16, Value) {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = self.db.call(&target, body.to_string().as_bytes());
        (reply.status, serde_json::from_slice(&reply.body).unwrap())
    }

    /// Calls an operation that must succeed.
    #[track_caller]
    fn ok(&self, operation: &str, body: Value) -> Value {
        let (status, reply) = self.call(operation, &body);
        assert_eq!(status, 200, "{body}: {reply}");
        reply
    }

    /// Calls an operation that must fail; gives the code and the message.
    #[track_caller]
    fn err(&self, operation: &str, body: Value) -> (String, String) {
        let (status, reply) = self.call(operation, &body);
        assert_eq!(status, 400, "{body}: {reply}");
        let code = reply["__type"].as_str().unwrap().split('#').nth(1).unwrap().to_owned();
        let message = reply.get("message").or(reply.get("Message")).unwrap();
        (code, message.as_str().unwrap().to_owned())
    }

    fn put(&self, table: &str, item: Value) {
        self.ok("PutItem", json!({ "TableName": table, "Item": item }));
    }

    /// An item of `music`.
    fn seed(&self, pk: &str, sk: &str, rest: Value) {
        let mut item = rest;
        item["pk"] = json!({ "S": pk });
        item["sk"] = json!({ "S": sk });
        self.put("music", item);
    }

    /// The item of `music` with this key, or null.
    fn get(&self, pk: &str, sk: &str) -> Value {
        let key = json!({ "pk": { "S": pk }, "sk": { "S": sk } });
        self.ok("GetItem", json!({ "TableName": "music", "Key": key }))["Item"].clone()
    }

    /// The rows of a statement that must succeed.
    #[track_caller]
    fn run(&self, statement: &str) -> Vec<Value> {
        let reply = self.ok("ExecuteStatement", json!({ "Statement": statement }));
        reply["Items"].as_array().unwrap().clone()
    }

    /// The message of a statement that must be refused as invalid.
    #[track_caller]
    fn refused(&self, statement: &str) -> String {
        let (code, message) = self.err("ExecuteStatement", json!({ "Statement": statement }));
        assert_eq!(code, "ValidationException", "{statement}: {message}");
        message
    }

    /// The code of a statement that must fail.
    #[track_caller]
    fn code(&self, statement: &str) -> String {
        self.err("ExecuteStatement", json!({ "Statement": statement })).0
    }

    /// The sort keys of the rows of a statement.
    #[track_caller]
    fn sort_keys(&self, statement: &str) -> Vec<String> {
        self.run(statement).iter().map(|row| row["sk"]["S"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn transact(&self, statements: &[&str]) -> Value {
        let members: Vec<_> = statements.iter().map(|s| json!({ "Statement": s })).collect();
        self.ok("ExecuteTransaction", json!({ "TransactStatements": members }))
    }

    /// The whole error of a transaction that must fail.
    #[track_caller]
    fn transact_err(&self, statements: &[&str]) -> Value {
        let members: Vec<_> = statements.iter().map(|s| json!({ "Statement": s })).collect();
        let body = json!({ "TransactStatements": members });
        let (status, reply) = self.call("ExecuteTransaction", &body);
        assert_eq!(status, 400, "{body}: {reply}");
        reply
    }

    /// The message of a transaction that must be refused as invalid.
    #[track_caller]
    fn transact_refused(&self, statements: &[&str]) -> String {
        let reply = self.transact_err(statements);
        assert!(reply["__type"].as_str().unwrap().ends_with("#ValidationException"), "{reply}");
        reply["message"].as_str().unwrap().to_owned()
    }

    /// The responses of a batch.
    #[track_caller]
    fn batch(&self, statements: &[&str]) -> Vec<Value> {
        let members: Vec<_> = statements.iter().map(|s| json!({ "Statement": s })).collect();
        let reply = self.ok("BatchExecuteStatement", json!({ "Statements": members }));
        reply["Responses"].as_array().unwrap().clone()
    }
}

fn strings(names: &[&str]) -> Value {
    let one = |name: &&str| json!({ "AttributeName": name, "AttributeType": "S" });
    names.iter().map(one).collect()
}

fn key(hash: &[&str], range: &[&str]) -> Value {
    let element = |name: &str, role: &str| json!({ "AttributeName": name, "KeyType": role });
    let hash = hash.iter().map(|name| element(name, "HASH"));
    hash.chain(range.iter().map(|name| element(name, "RANGE"))).collect()
}

fn s(text: &str) -> Value {
    json!({ "S": text })
}

fn n(number: i32) -> Value {
    json!({ "N": number.to_string() })
}
