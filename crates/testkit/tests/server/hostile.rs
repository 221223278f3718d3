//! What nobody should send, through the socket: an error of DynamoDB's shape or a closed socket, and
//! the server lives on. How the server takes broken HTTP is tested in its own crate.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use keyloom_testkit::lockstep::{Place, succeed, target};
use keyloom_testkit::samples::{create_table, samples};
use serde_json::{Value, json};

use crate::Served;

/// A connection that is used for one request after the other.
struct Client {
    socket: TcpStream,
}

/// The status and the body of a response.
type Response = (u16, Vec<u8>);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { socket }
    }

    fn send(&mut self, operation: &str, body: &[u8]) -> std::io::Result<()> {
        let head = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-target: {}\r\n\
             content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n",
            target(operation),
            body.len()
        );
        self.socket.write_all(&[head.as_bytes(), body].concat())
    }

    /// Sends a request and waits for the response; none if the server has closed the socket.
    fn ask(&mut self, operation: &str, body: &[u8]) -> Option<Response> {
        // The server may answer and close before it has taken all.
        let _ = self.send(operation, body);
        self.receive()
    }

    fn receive(&mut self) -> Option<Response> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 8192];
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1).unwrap();
                let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
                if bytes.len() >= end + 4 + length {
                    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                    return Some((status, bytes[end + 4..end + 4 + length].to_vec()));
                }
            }
            match self.socket.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            }
        }
    }
}

fn assert_is_error(operation: &str, (status, body): &Response) {
    let shown = String::from_utf8_lossy(body);
    assert!((400..500).contains(status), "{operation}: {status} {shown}");
    let body: Value = serde_json::from_slice(body).unwrap();
    assert!(body["__type"].is_string(), "{operation}: {shown}");
}

#[test]
fn bodies_that_are_no_requests_get_an_error() {
    let served = Served::open(Place::Memory);
    succeed(&served.test.database, "CreateTable", &create_table());
    let mut client = Client::connect(served.server.addr());
    for sample in samples() {
        let text = sample.body.to_string();
        let half = &text.as_bytes()[..text.len() / 2];
        let mut not_utf8 = text.clone().into_bytes();
        not_utf8.insert(2, 0xff);
        let deep = "[".repeat(200_000);
        for body in [b"".as_slice(), half, &not_utf8, deep.as_bytes(), b"[]", b"\0"] {
            let response = client.ask(&sample.operation, body).expect("the connection stays open");
            assert_is_error(&sample.operation, &response);
        }
    }
    assert_eq!(client.ask("ListTables", b"{}").unwrap().0, 200);
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let served = Served::open(Place::Memory);
    let mut body = br#"{"TableName":"sample","Item":{"pk":{"S":""#.to_vec();
    body.resize(18 << 20, b'x');
    let mut client = Client::connect(served.server.addr());
    if let Some(response) = client.ask("PutItem", &body) {
        assert!((400..500).contains(&response.0), "{}", response.0);
    }
    let mut client = Client::connect(served.server.addr());
    assert_eq!(client.ask("ListTables", b"{}").unwrap().0, 200);
}

/// One client asks for much and takes nothing; the others are answered as if it were not there.
#[test]
fn a_client_that_does_not_read_blocks_no_other_client() {
    let served = Served::open(Place::Disk);
    let database = &served.test.database;
    succeed(database, "CreateTable", &create_table());
    let text = "x".repeat(300_000);
    for sk in 0..4 {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "t": {"S": text}});
        succeed(database, "PutItem", &json!({"TableName": "sample", "Item": item}));
    }
    let mut stuck: Vec<Client> = (0..8).map(|_| Client::connect(served.server.addr())).collect();
    for client in &mut stuck {
        for _ in 0..8 {
            client.send("Scan", br#"{"TableName":"sample"}"#).unwrap();
        }
    }
    let start = Instant::now();
    let mut client = Client::connect(served.server.addr());
    for sk in 0..50 {
        let item = json!({"pk": {"S": "b"}, "sk": {"N": sk.to_string()}});
        let put = json!({"TableName": "sample", "Item": item}).to_string();
        assert_eq!(client.ask("PutItem", put.as_bytes()).unwrap().0, 200);
        let get = json!({"TableName": "sample", "Key": item}).to_string();
        assert_eq!(client.ask("GetItem", get.as_bytes()).unwrap().0, 200);
    }
    let took = start.elapsed();
    println!("50 puts and gets beside stuck clients in {took:?}");
    // Less than the half minute after which the server gives the stuck ones up, and more than a busy
    // machine needs.
    assert!(took < Duration::from_secs(25), "{took:?}");
}

/// A suite that is run against AWS looks for "size cannot exceed", and calls what is measured the payload.
#[test]
fn a_transaction_of_more_than_four_megabytes_is_refused_whole() {
    for place in [Place::Memory, Place::Disk] {
        let served = Served::open(place);
        succeed(&served.test.database, "CreateTable", &create_table());
        let mut client = Client::connect(served.server.addr());
        let text = "x".repeat(100_000);
        let put = |number: usize| {
            let key = json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}, "x": {"S": text}});
            json!({"Put": {"TableName": "sample", "Item": key}})
        };
        let mut write = |count: usize| {
            let puts: Vec<Value> = (0..count).map(put).collect();
            let body = json!({ "TransactItems": puts }).to_string();
            let (status, body) = client.ask("TransactWriteItems", body.as_bytes()).unwrap();
            (status, serde_json::from_slice::<Value>(&body).unwrap())
        };
        let expected = json!({
            "__type": "com.amazon.coral.validate#ValidationException",
            "message": "Transaction payload size cannot exceed 4194304 bytes",
        });
        assert_eq!(write(42), (400, expected), "{place:?}");
        let count = || {
            let body = json!({"TableName": "sample", "Select": "COUNT"});
            succeed(&served.test.database, "Scan", &body)["Count"].clone()
        };
        assert_eq!(count(), 0, "nothing of it is there");
        assert_eq!(write(41).0, 200);
        // A page of 1 MB.
        assert_eq!(count(), 11);
    }
}
