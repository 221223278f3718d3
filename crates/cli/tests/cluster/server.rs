//! A server in a process of its own; it ends with the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: String,
    /// Its first line.
    pub(crate) said: String,
}

impl Server {
    /// A command that serves on a free port.
    pub(crate) fn command() -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
        command.args(["serve", "--port", "0"]).env_remove("KEYLOOM_STORE");
        command
    }

    /// A server on this store.
    pub(crate) fn start(url: &str) -> Self {
        Self::run(Self::command().args(["--store", url]))
    }

    pub(crate) fn run(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        let address = said.split("http://").nth(1).expect("an address");
        let address = address.split_whitespace().next().unwrap().to_owned();
        Self { process, address, said }
    }

    /// The status and the body of an answer; none if the server is gone.
    pub(crate) fn try_call(&self, operation: &str, body: &Value) -> Option<(u16, Value)> {
        let service = if operation.contains("Stream") || operation.contains("Shard") {
            "DynamoDBStreams_20120810"
        } else {
            "DynamoDB_20120810"
        };
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let request = format!(
            "POST / HTTP/1.1\r\nX-Amz-Target: {service}.{operation}\r\n\
             Content-Type: application/x-amz-json-1.0\r\nHost: localhost\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// The answer, which must be a success.
    pub(crate) fn call(&self, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.try_call(operation, body).expect("an answer");
        assert_eq!(status, 200, "{operation} {body}: {answer}");
        answer
    }

    pub(crate) fn create_table(&self, name: &str) {
        let table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
        self.call("CreateTable", &table);
    }

    pub(crate) fn put(&self, table: &str, id: &str) {
        self.call("PutItem", &json!({"TableName": table, "Item": {"id": {"S": id}}}));
    }

    /// The id of the item that has it.
    pub(crate) fn get(&self, table: &str, id: &str) -> Option<String> {
        let key = json!({"TableName": table, "Key": {"id": {"S": id}}, "ConsistentRead": true});
        let answer = self.call("GetItem", &key);
        Some(answer.pointer("/Item/id/S")?.as_str()?.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
