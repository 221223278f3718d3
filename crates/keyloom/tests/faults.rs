//! An endpoint that misbehaves: nothing is lost, nothing is done twice, and errors say what happened.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::migrate::Migration;
use keyloom::observe::report::Pattern;
use keyloom::observe::{Sampling, StatsCollector, StatsOptions};
use keyloom::prelude::*;
use keyloom::{Error, Retry};

#[keyloom::design(table(faults, PK, SK))]
mod faults {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(PK = "NOTE#{id}", SK = "NOTE")]
    pub(crate) struct Note {
        pub(crate) id: u32,
        pub(crate) reads: u32,
    }
}
use faults::*;

/// What the endpoint does with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Answers as it should.
    None,
    /// Refuses for the moment, without doing it.
    Throttle,
    /// Does it, and hangs up without an answer.
    DropAfter,
    /// Hangs up without doing it.
    DropBefore,
    /// Does it, and answers nothing for as long as anybody waits.
    Late,
    /// Answers in a way that is not the protocol's.
    Nonsense,
    /// Does only the first half of a batch.
    Half,
    /// Does nothing of a batch.
    Nothing,
}

struct Endpoint {
    url: String,
    database: Database,
    /// What was asked, in order.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    fn target(&self) -> keyloom::remote::Endpoint {
        keyloom::remote::Endpoint::url(&self.url).timeouts(PATIENT, PATIENT)
    }
}

/// Serves a database, with one fault for each request of item operations until they are used up.
fn endpoint(faults: &[Fault]) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let database = Database::memory();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let plan = Arc::new(Mutex::new(faults.to_vec()));
    let serving = (database.clone(), Arc::clone(&asked));
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (database, asked) = serving.clone();
            let plan = Arc::clone(&plan);
            std::thread::spawn(move || serve(socket, &database, &asked, &plan));
        }
    });
    Endpoint { url, database, asked }
}

fn serve(
    mut socket: TcpStream,
    database: &Database,
    asked: &Mutex<Vec<String>>,
    plan: &Mutex<Vec<Fault>>,
) -> Option<()> {
    loop {
        let (target, body) = request(&mut socket)?;
        let operation = target.split_once('.')?.1.to_owned();
        let fault = if operation.ends_with("Table") {
            Fault::None
        } else {
            asked.lock().unwrap().push(operation);
            let mut plan = plan.lock().unwrap();
            if plan.is_empty() { Fault::None } else { plan.remove(0) }
        };
        match fault {
            Fault::DropBefore => return None,
            Fault::DropAfter => {
                database.call(&target, &body);
                return None;
            }
            Fault::Late => {
                database.call(&target, &body);
                // Until the client has had enough and hangs up.
                let _ = socket.read(&mut [0]);
                return None;
            }
            Fault::Throttle => answer(&mut socket, 400, br#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}"#)?,
            Fault::Nonsense => answer(&mut socket, 200, b"<html>hello</html>")?,
            Fault::Half | Fault::Nothing => {
                let text = String::from_utf8(body).unwrap();
                let (done, left) = split(&text, fault);
                if let Some(done) = done {
                    database.call(&target, done.as_bytes());
                }
                answer(&mut socket, 200, format!(r#"{{"UnprocessedItems":{left}}}"#).as_bytes())?;
            }
            Fault::None => {
                let reply = database.call(&target, &body);
                answer(&mut socket, reply.status, &reply.body)?;
            }
        }
    }
}

/// The part of a batch that is done, and the part that is left.
fn split(body: &str, fault: Fault) -> (Option<String>, String) {
    let body = body.replace(r#","ReturnConsumedCapacity":"INDEXES""#, "");
    let inner = body.strip_prefix(r#"{"RequestItems":"#).unwrap().strip_suffix('}').unwrap();
    let list = inner.strip_prefix(r#"{"faults":["#).unwrap().strip_suffix("]}").unwrap();
    let requests: Vec<String> = list
        .split(r#",{"PutRequest""#)
        .enumerate()
        .map(
            |(at, part)| {
                if at == 0 { part.to_owned() } else { format!(r#"{{"PutRequest"{part}"#) }
            },
        )
        .collect();
    let half = if fault == Fault::Half { requests.len() / 2 } else { 0 };
    let table = |requests: &[String]| format!(r#"{{"faults":[{}]}}"#, requests.join(","));
    let done = (half > 0).then(|| format!(r#"{{"RequestItems":{}}}"#, table(&requests[..half])));
    (done, table(&requests[half..]))
}

fn request(socket: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    let header = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let mut body = vec![0; header("content-length:")?.parse().ok()?];
    socket.read_exact(&mut body).ok()?;
    let target = header("x-amz-target:")?;
    let operation = target.split_once('.')?.1;
    let names = [
        "PutItem",
        "GetItem",
        "UpdateItem",
        "DeleteItem",
        "BatchWriteItem",
        "BatchGetItem",
        "Query",
        "CreateTable",
        "DescribeTable",
        "TransactWriteItems",
    ];
    let name = names.iter().find(|name| name.to_lowercase() == operation)?;
    Some((format!("DynamoDB_20120810.{name}"), body))
}

fn answer(socket: &mut TcpStream, status: u16, body: &[u8]) -> Option<()> {
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(body).ok()
}

/// More than any request takes, however busy the machine is.
const PATIENT: Duration = Duration::from_mins(1);

fn open(endpoint: &Endpoint, max_attempts: u32) -> Table<Faults> {
    open_at(endpoint, endpoint.target(), max_attempts)
}

fn open_at(
    endpoint: &Endpoint,
    target: keyloom::remote::Endpoint,
    max_attempts: u32,
) -> Table<Faults> {
    Faults::open(&endpoint.database).unwrap();
    let remote = Remote::new(target).unwrap();
    let retry =
        Retry { max_attempts, base: Duration::from_millis(1), cap: Duration::from_millis(5) };
    Faults::open(remote).unwrap().with_retry(retry)
}

/// The same, watched: with what is collected of every request.
fn open_watched(endpoint: &Endpoint, max_attempts: u32) -> (Table<Faults>, Arc<StatsCollector>) {
    let options = StatsOptions { sampling: Sampling::All, ..StatsOptions::default() };
    let statistics = Arc::new(StatsCollector::new(options));
    let target = endpoint.target().observer(statistics.clone());
    (open_at(endpoint, target, max_attempts), statistics)
}

fn note(id: u32) -> Note {
    Note { id, reads: 0 }
}

#[test]
fn passing_faults_are_outlived() {
    use Fault::*;
    for fault in [Throttle, DropBefore, DropAfter, Nonsense] {
        let endpoint = endpoint(&[fault, fault]);
        let table = open(&endpoint, 4);
        table.put(&note(1)).unwrap();
        assert_eq!(table.get(Note::at(1u32)).unwrap(), Some(note(1)), "{fault:?}");
        assert_eq!(*endpoint.asked.lock().unwrap(), ["PutItem", "PutItem", "PutItem", "GetItem"]);
    }
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for_and_asked_for_again() {
    let endpoint = endpoint(&[Fault::Late, Fault::Late]);
    let impatient = endpoint.target().timeouts(PATIENT, Duration::from_millis(500));
    let table = open_at(&endpoint, impatient, 8);
    table.put(&note(1)).unwrap();
    assert_eq!(table.get(Note::at(1u32)).unwrap(), Some(note(1)));
    // A busy machine may be late by itself.
    let asked = endpoint.asked.lock().unwrap();
    assert!(asked.iter().filter(|operation| *operation == "PutItem").count() >= 3, "{asked:?}");
}

#[test]
fn every_fault_is_counted_with_the_key_it_hit() {
    use Fault::*;
    for (fault, failed, throttled) in
        [(Throttle, 0, 2), (DropBefore, 2, 0), (DropAfter, 2, 0), (Nonsense, 2, 0)]
    {
        let endpoint = endpoint(&[fault, fault]);
        let (table, statistics) = open_watched(&endpoint, 4);
        table.put(&note(1)).unwrap();
        let report = statistics.snapshot();
        let (place, pattern) = report.patterns().next().unwrap();
        assert_eq!((pattern.requests, pattern.retries), (3, 2), "{fault:?}");
        assert_eq!((pattern.failed, pattern.throttled), (failed, throttled), "{fault:?}");
        assert_eq!((place.keys[0].key.as_str(), place.keys[0].requests), ("NOTE#0000000001", 3));
        assert!((place.writes - 1.0).abs() < f64::EPSILON, "{fault:?}: {}", place.writes);
    }
}

#[test]
fn attempts_end_and_the_error_says_what_happened() {
    let slow = endpoint(&[Fault::Throttle; 9]);
    let error = open(&slow, 3).put(&note(1)).unwrap_err();
    assert_eq!(error.to_string(), "ThrottlingException: slow down");
    assert_eq!(slow.asked.lock().unwrap().len(), 3);
    let gone = endpoint(&[Fault::DropBefore; 9]);
    let error = open(&gone, 2).put(&note(1)).unwrap_err();
    assert!(matches!(&error, Error::Transport(error) if error.attempts == 2), "{error}");
    assert!(error.to_string().contains("may have been carried out"), "{error}");
}

#[test]
fn a_refused_connection_is_known_not_to_have_written() {
    // A port that the system gives to nobody: one that was free a moment ago may be somebody else's now.
    let remote = Remote::new(keyloom::remote::Endpoint::url("http://127.0.0.1:1")).unwrap();
    let retry = Retry { max_attempts: 2, base: Duration::ZERO, cap: Duration::ZERO };
    let error = Faults::open(remote).unwrap().with_retry(retry).put(&note(1)).unwrap_err();
    assert!(matches!(&error, Error::Transport(error) if !error.outcome_unknown), "{error}");
}

#[test]
fn an_addition_whose_answer_is_lost_is_not_repeated() {
    let endpoint = endpoint(&[Fault::None, Fault::DropAfter]);
    let table = open(&endpoint, 5);
    table.put(&note(1)).unwrap();
    let error = table.apply(Note::patch(1u32).add_reads(1)).unwrap_err();
    assert!(matches!(&error, Error::Transport(error) if error.outcome_unknown), "{error}");
    assert_eq!(table.get(Note::at(1u32)).unwrap().unwrap().reads, 1);
}

#[test]
fn a_create_whose_answer_is_lost_is_recognised_as_our_own() {
    let endpoint = endpoint(&[Fault::DropAfter]);
    let table = open(&endpoint, 3);
    table.create(&note(1)).unwrap();
    assert!(matches!(table.create(&note(1)), Err(Error::AlreadyExists { .. })));
}

#[test]
fn a_transaction_whose_answer_is_lost_is_done_once() {
    let endpoint = endpoint(&[Fault::None, Fault::DropAfter]);
    let table = open(&endpoint, 3);
    table.put(&note(1)).unwrap();
    let both = table.transaction().create(&note(2)).apply(Note::patch(1u32).add_reads(1));
    both.commit().unwrap();
    assert_eq!(table.get(Note::at(1u32)).unwrap().unwrap().reads, 1);
    assert_eq!(
        endpoint.asked.lock().unwrap().iter().filter(|o| *o == "TransactWriteItems").count(),
        2
    );
}

#[test]
fn unprocessed_items_are_tried_again_and_none_is_lost() {
    use Fault::*;
    let endpoint = endpoint(&[Half, Throttle, Half, DropAfter, Nothing, Half]);
    let table = open(&endpoint, 4);
    let notes: Vec<Note> = (0..60).map(note).collect();
    table.batch().put_all(&notes).run().unwrap();
    let found = table.get_many((0..60u32).map(Note::at)).unwrap();
    assert!(found.iter().zip(&notes).all(|(found, note)| found.as_ref() == Some(note)));
}

#[test]
fn resending_the_unprocessed_part_of_a_batch_is_a_retry() {
    let endpoint = endpoint(&[Fault::Half, Fault::Half]);
    let (table, statistics) = open_watched(&endpoint, 4);
    let notes: Vec<Note> = (0..20).map(note).collect();
    table.batch().put_all(&notes).run().unwrap();
    let report = statistics.snapshot();
    let sum =
        |count: fn(&Pattern) -> u64| report.patterns().map(|(_, one)| count(one)).sum::<u64>();
    // 20 writes: 10 are left, then 5 of those. What is left is a request that was refused, each item for itself; the
    // second and the third request are made again, and so are the 5 that are refused for the second time.
    assert_eq!(sum(|one| one.requests), 3 + 15);
    assert_eq!(sum(|one| one.throttled), 15);
    assert_eq!(sum(|one| one.retries), 2 + 5);
}

#[test]
fn what_stays_unprocessed_is_in_the_error() {
    let endpoint = endpoint(&[Fault::Half, Fault::Nothing, Fault::Nothing, Fault::Nothing]);
    let table = open(&endpoint, 3);
    let notes: Vec<Note> = (0..30).map(note).collect();
    let error = table.batch().put_all(&notes).run().unwrap_err();
    let Error::Unprocessed(left) = error else { panic!("{error}") };
    let stored = table.get_many((0..30u32).map(Note::at)).unwrap().iter().flatten().count();
    assert_eq!(left.puts.len() + stored, 30);
    assert_eq!(stored, 12);
}

#[test]
fn a_runner_that_was_not_told_that_it_took_over_knows_it() {
    let old = r#"
[table.notes]
partition_key = "PK"
sort_key = "SK"
[entity.Note]
PK = "NOTE#{id}"
SK = "NOTE"
[entity.Note.fields]
id = "string"
"#;
    let new = old.replace("table.notes", "table.notes2");
    let endpoint = endpoint(&[Fault::None, Fault::DropAfter]);
    let remote = Remote::new(endpoint.target()).unwrap();
    let migration = Migration::from_toml(remote, old, &new).unwrap();
    migration.runner(false).unwrap();
    let asked = endpoint.asked.lock().unwrap();
    assert_eq!(*asked, ["GetItem", "TransactWriteItems", "TransactWriteItems"]);
}
