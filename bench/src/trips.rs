//! What each operation costs between a server and its database: round trips and bytes, counted by a proxy.
//!
//! Requests are made one after the other, so nothing is shared between them. A round trip is what the server
//! sends before it reads an answer.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::http::Client;

/// How often each operation is asked for.
const REQUESTS: usize = 60;

/// What has passed a proxy.
#[derive(Debug, Default)]
struct Counts {
    round_trips: AtomicU64,
    sent: AtomicU64,
    answered: AtomicU64,
}

/// A proxy that counts.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) port: u16,
    counts: Arc<Counts>,
}

impl Counting {
    /// A proxy in front of a port.
    pub(crate) fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A connection that cannot be made is the client's to notice.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", to)) {
                    drop(connect(client, server, &shared));
                }
            }
        });
        Ok(Self { port, counts })
    }

    /// Round trips, bytes there and bytes back, so far.
    fn so_far(&self) -> [f64; 3] {
        let Counts { round_trips, sent, answered } = &*self.counts;
        [round_trips, sent, answered].map(|count| count.load(Ordering::SeqCst) as f64)
    }
}

fn connect(client: TcpStream, server: TcpStream, counts: &Arc<Counts>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    // Whether the server has answered since the client last sent something.
    let has_answered = Arc::new(AtomicBool::new(true));
    let (shared, answered) = (Arc::clone(counts), Arc::clone(&has_answered));
    thread::spawn(move || {
        pass(from, to, |bytes| {
            shared.sent.fetch_add(bytes, Ordering::SeqCst);
            if answered.swap(false, Ordering::SeqCst) {
                shared.round_trips.fetch_add(1, Ordering::SeqCst);
            }
        });
    });
    let shared = Arc::clone(counts);
    thread::spawn(move || {
        pass(server, client, |bytes| {
            shared.answered.fetch_add(bytes, Ordering::SeqCst);
            has_answered.store(true, Ordering::SeqCst);
        });
    });
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream, count: impl Fn(u64)) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        count(length as u64);
        if to.write_all(buffer.get(..length).unwrap_or_default()).is_err() {
            break;
        }
    }
    // The other direction ends with it.
    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
}

/// Asks a server behind the proxy for each operation, and makes a table of what passed.
pub(crate) fn table(address: SocketAddr, proxy: &Counting) -> Result<String> {
    let mut client = Client::new(address);
    for (name, indexed, streamed) in
        [("Plain", false, false), ("Indexed", true, false), ("Streamed", false, true)]
    {
        client.call("CreateTable", &create(name, indexed, streamed))?;
    }
    for number in 0..100 {
        let item = format!(
            r#"{{"pk":{{"S":"range"}},"sk":{{"S":"{number:04}"}},"v":{{"S":"{}"}}}}"#,
            "x".repeat(180)
        );
        client.call("PutItem", &format!(r#"{{"TableName":"Plain","Item":{item}}}"#))?;
    }
    for first in (0..1200).step_by(25) {
        let puts: Vec<String> = (first..first + 25)
            .map(|number| {
                format!(
                    r#"{{"PutRequest":{{"Item":{{"pk":{{"S":"page"}},"sk":{{"S":"{number:04}"}},"v":{{"S":"{}"}}}}}}}}"#,
                    "x".repeat(1000)
                )
            })
            .collect();
        client.call(
            "BatchWriteItem",
            &format!(r#"{{"RequestItems":{{"Plain":[{}]}}}}"#, puts.join(",")),
        )?;
    }
    let mut text = String::from(
        "| operation | round trips | bytes to the database | bytes back |\n|---|---|---|---|\n",
    );
    type Body = fn(usize) -> String;
    let operations: [(&str, &str, Body); 11] = [
        ("PutItem of 1 KB, new", "PutItem", |n| put("Plain", n, 1)),
        ("PutItem that changes nothing", "PutItem", |n| put("Plain", n, 1)),
        ("GetItem of 1 KB, consistent", "GetItem", |n| {
            format!(r#"{{"TableName":"Plain","Key":{},"ConsistentRead":true}}"#, key(n))
        }),
        ("UpdateItem of 1 KB", "UpdateItem", |n| {
            format!(
                r#"{{"TableName":"Plain","Key":{},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{{":n":{{"N":"{n}"}}}}}}"#,
                key(n)
            )
        }),
        ("PutItem of 1 KB with an index entry", "PutItem", |n| put("Indexed", n, 1)),
        ("PutItem that moves an index entry", "PutItem", |n| put("Indexed", n, 2)),
        ("PutItem of 1 KB with a stream record", "PutItem", |n| put("Streamed", n, 1)),
        ("TransactWriteItems of 4 × 1 KB, new", "TransactWriteItems", |n| {
            let puts: Vec<String> = (0..4)
                .map(|part| format!(r#"{{"Put":{}}}"#, put("Plain", 1000 + n * 4 + part, 1)))
                .collect();
            format!(r#"{{"TransactItems":[{}]}}"#, puts.join(","))
        }),
        ("Query of 100 items of 200 bytes", "Query", |_| {
            r#"{"TableName":"Plain","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"range"}}}"#.into()
        }),
        ("Query, a page of 1 MB", "Query", |_| {
            r#"{"TableName":"Plain","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"page"}}}"#.into()
        }),
        ("DeleteItem", "DeleteItem", |n| format!(r#"{{"TableName":"Plain","Key":{}}}"#, key(n))),
    ];
    for (label, operation, body) in operations {
        // What the server does by itself is counted, too; it does little.
        thread::sleep(Duration::from_millis(50));
        let before = proxy.so_far();
        for number in 0..REQUESTS {
            client.call(operation, &body(number)).with_context(|| label.to_owned())?;
        }
        write!(text, "| {label}")?;
        for (after, before) in proxy.so_far().into_iter().zip(before) {
            let each = (after - before) / REQUESTS as f64;
            let rounded = if each < 100.0 { format!("{each:.1}") } else { format!("{each:.0}") };
            write!(text, " | {rounded}")?;
        }
        text.push_str(" |\n");
    }
    Ok(text)
}

fn create(name: &str, indexed: bool, streamed: bool) -> String {
    let index = r#","GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;
    let stream = r#","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}"#;
    let attribute = r#",{"AttributeName":"g","AttributeType":"S"}"#;
    format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}},{{"AttributeName":"sk","AttributeType":"S"}}{}],"KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"sk","KeyType":"RANGE"}}]{}{}}}"#,
        if indexed { attribute } else { "" },
        if indexed { index } else { "" },
        if streamed { stream } else { "" },
    )
}

fn key(number: usize) -> String {
    format!(r#"{{"pk":{{"S":"p{number}"}},"sk":{{"S":"s"}}}}"#)
}

fn put(table: &str, number: usize, group: usize) -> String {
    format!(
        r#"{{"TableName":"{table}","Item":{{"pk":{{"S":"p{number}"}},"sk":{{"S":"s"}},"g":{{"S":"g{group}"}},"v":{{"S":"{}"}}}}}}"#,
        "x".repeat(960)
    )
}
