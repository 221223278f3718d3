//! Concurrent transactions: strictly serializable, by search on short histories and by cycles on
//! long ones; and money is neither made nor lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keyloom_engine::Database;
use keyloom_testkit::history::append::{self, Deed, Element, ListId, Transaction};
use keyloom_testkit::history::items::{Items, Request, TABLE, create_table, key};
use keyloom_testkit::history::search::find_order;
use keyloom_testkit::history::{Recorder, on_threads};
use keyloom_testkit::lockstep::{Answer, Place, TestDatabase, call, succeed};
use keyloom_testkit::rng::{Rng, SeedReport, fresh_seeds, seeds};
use serde_json::{Value, json};

use crate::linearizable::{SERVERS, record};

const THREADS: usize = 4;
const ITEMS: usize = 3;

fn search(place: Place, seed: u64, requests: usize) -> usize {
    let _report = SeedReport(seed);
    let history = record(place, seed, requests, Request::any);
    if let Err(stuck) = find_order::<Items>(vec![None; ITEMS], &history) {
        panic!(
            "{place:?}: no order of {} requests; stuck after {}: {}",
            history.len(),
            stuck.ordered,
            stuck.stuck
        );
    }
    history.len()
}

#[test]
fn transactions_and_single_requests_have_a_serial_order() {
    for (place, count, requests) in
        [(Place::Memory, 20, 150), (Place::Disk, 5, 60), (Place::Servers(SERVERS), 10, 40)]
    {
        let start = Instant::now();
        let all: usize = seeds(count).into_iter().map(|seed| search(place, seed, requests)).sum();
        println!("{place:?}: {count} histories, {all} requests, {:?}", start.elapsed());
    }
}

#[test]
#[ignore = "long: cargo test -p keyloom-testkit --release --test engine serial -- --ignored --nocapture"]
fn transactions_and_single_requests_have_a_serial_order_for_a_long_time() {
    for place in [Place::Memory, Place::Disk, Place::Servers(SERVERS)] {
        let start = Instant::now();
        let (mut histories, mut requests) = (0, 0);
        for seed in fresh_seeds(100_000) {
            requests += search(place, seed, 500);
            histories += 1;
            if start.elapsed() > Duration::from_mins(2) {
                break;
            }
        }
        println!("{place:?}: {histories} histories, {requests} requests");
    }
}

/// Appends to lists, or reads them, in transactions.
struct Appender<'a> {
    database: &'a Database,
    recorder: &'a Recorder,
    elements: &'a AtomicU64,
}

impl Appender<'_> {
    fn random(&self, rng: &mut Rng, lists: usize) -> Transaction {
        let mut chosen: Vec<ListId> = (0..lists).filter(|_| rng.chance(40)).collect();
        if chosen.is_empty() {
            chosen.push(rng.below(lists));
        }
        if rng.chance(40) { self.read(&chosen) } else { self.append(&chosen) }
    }

    fn append(&self, lists: &[ListId]) -> Transaction {
        let append = |list: &ListId| (*list, self.elements.fetch_add(1, Ordering::SeqCst));
        let appends: Vec<(ListId, Element)> = lists.iter().map(append).collect();
        let action = |(list, element): &(ListId, Element)| {
            json!({"Update": {"TableName": TABLE, "Key": key(*list),
                "UpdateExpression": "SET l = list_append(if_not_exists(l, :none), :new)",
                "ExpressionAttributeValues":
                    {":none": {"L": []}, ":new": {"L": [{"N": element.to_string()}]}}}})
        };
        let actions: Vec<Value> = appends.iter().map(action).collect();
        let event = self.recorder.record(appends, |_| {
            self.call("TransactWriteItems", &json!({"TransactItems": actions}))
        });
        let deed = match event.answer.code() {
            "" => Deed::Appended(event.operation),
            "TransactionCanceledException" => Deed::Refused(event.operation),
            _ => panic!("{}", event.answer),
        };
        Transaction { deed, invoked: event.invoked, returned: event.returned }
    }

    fn read(&self, lists: &[ListId]) -> Transaction {
        let get = |list: &ListId| json!({"Get": {"TableName": TABLE, "Key": key(*list)}});
        let gets: Vec<Value> = lists.iter().map(get).collect();
        let event = self.recorder.record(lists.to_vec(), |_| {
            self.call("TransactGetItems", &json!({"TransactItems": gets}))
        });
        assert_eq!(event.answer.status, 200, "{}", event.answer);
        let elements = |response: &Value| {
            let list = response.pointer("/Item/l/L").and_then(Value::as_array);
            let number = |value: &Value| value["N"].as_str().unwrap().parse::<Element>().unwrap();
            list.map(|list| list.iter().map(number).collect()).unwrap_or_default()
        };
        let responses = event.answer.body["Responses"].as_array().unwrap();
        let reads = event.operation.into_iter().zip(responses.iter().map(elements)).collect();
        Transaction { deed: Deed::Read(reads), invoked: event.invoked, returned: event.returned }
    }

    fn call(&self, operation: &str, body: &Value) -> Answer {
        call(self.database, operation, body.to_string().as_bytes())
    }
}

fn appends(place: Place, seed: u64, transactions: usize) -> append::Shape {
    const LISTS: usize = 5;
    let _report = SeedReport(seed);
    let Some(test) = TestDatabase::at(place) else { return append::Shape::default() };
    succeed(&test.database, "CreateTable", &create_table());
    let (recorder, elements) = (Recorder::default(), AtomicU64::new(1));
    let appender = |client| Appender {
        database: test.server(client),
        recorder: &recorder,
        elements: &elements,
    };
    let mut rng = Rng::new(seed);
    let of_threads: Vec<Rng> = (0..THREADS).map(|_| rng.split()).collect();
    let mut history = on_threads(THREADS, |thread| {
        let mut rng = of_threads[thread].clone();
        let appender = appender(thread);
        (0..transactions).map(|_| appender.random(&mut rng, LISTS)).collect()
    });
    history.push(appender(0).read(&(0..LISTS).collect::<Vec<_>>()));
    let kept: usize = match &history.last().unwrap().deed {
        Deed::Read(lists) => lists.iter().map(|(_, elements)| elements.len()).sum(),
        other => unreachable!("{other:?}"),
    };
    let appended = history.iter().map(|transaction| match &transaction.deed {
        Deed::Appended(elements) => elements.len(),
        _ => 0,
    });
    assert_eq!(kept, appended.sum::<usize>(), "{place:?}: every append is kept");
    match append::check(&history) {
        Ok(shape) => shape,
        Err(anomaly) => panic!("{place:?}: {anomaly:?}"),
    }
}

#[test]
fn appends_to_lists_have_no_cycle() {
    for (place, count, transactions) in
        [(Place::Memory, 4, 300), (Place::Disk, 2, 80), (Place::Servers(SERVERS), 10, 40)]
    {
        let start = Instant::now();
        for seed in seeds(count) {
            let shape = appends(place, seed, transactions);
            println!("{place:?}: {shape:?} in {:?}", start.elapsed());
        }
    }
}

/// Accounts whose sum never changes, whatever is transferred between them.
#[test]
fn transfers_keep_the_total() {
    const ACCOUNTS: usize = 6;
    const BALANCE: i64 = 100;
    for (place, transfers) in [(Place::Memory, 400), (Place::Disk, 60)] {
        let test = TestDatabase::at(place).unwrap();
        let database = &test.database;
        succeed(database, "CreateTable", &create_table());
        for account in 0..ACCOUNTS {
            let mut item = key(account);
            item["balance"] = json!({"N": BALANCE.to_string()});
            succeed(database, "PutItem", &json!({"TableName": TABLE, "Item": item}));
        }
        let running = AtomicBool::new(true);
        let (done, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|thread| {
                    let (done, refused) = (&done, &refused);
                    scope.spawn(move || {
                        let mut rng = Rng::new(thread);
                        for _ in 0..transfers {
                            let moved = transfer(database, &mut rng, ACCOUNTS);
                            let counter = if moved { done } else { refused };
                            counter.fetch_add(1, Ordering::SeqCst);
                        }
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while running.load(Ordering::SeqCst) {
                    assert_eq!(total(database, ACCOUNTS), ACCOUNTS as i64 * BALANCE);
                    reads += 1;
                }
                reads
            });
            for writer in writers {
                writer.join().unwrap();
            }
            running.store(false, Ordering::SeqCst);
            println!(
                "{place:?}: {done:?} transfers, {refused:?} refused, {:?} totals",
                reader.join().unwrap()
            );
        });
        assert_eq!(total(database, ACCOUNTS), ACCOUNTS as i64 * BALANCE);
        assert!(done.load(Ordering::SeqCst) > 0);
    }
}

/// Moves an amount between two accounts, if the first has it; false if it was refused.
fn transfer(database: &Database, rng: &mut Rng, accounts: usize) -> bool {
    let from = rng.below(accounts);
    let to = (from + 1 + rng.below(accounts - 1)) % accounts;
    let amount = (1 + rng.below(40)).to_string();
    let body = json!({"TransactItems": [
        {"Update": {"TableName": TABLE, "Key": key(from),
            "UpdateExpression": "SET balance = balance - :n",
            "ConditionExpression": "balance >= :n",
            "ExpressionAttributeValues": {":n": {"N": amount}}}},
        {"Update": {"TableName": TABLE, "Key": key(to),
            "UpdateExpression": "ADD balance :n",
            "ExpressionAttributeValues": {":n": {"N": amount}}}},
    ]});
    let answer = call(database, "TransactWriteItems", body.to_string().as_bytes());
    match answer.code() {
        "" => true,
        "TransactionCanceledException" => false,
        _ => panic!("{answer}"),
    }
}

fn total(database: &Database, accounts: usize) -> i64 {
    let get = |account| json!({"Get": {"TableName": TABLE, "Key": key(account)}});
    let gets: Vec<Value> = (0..accounts).map(get).collect();
    let body = succeed(database, "TransactGetItems", &json!({"TransactItems": gets}));
    let balances = body["Responses"].as_array().unwrap().iter();
    let balances = balances.map(|r| r["Item"]["balance"]["N"].as_str().unwrap().parse::<i64>());
    let balances: Vec<i64> = balances.collect::<Result<_, _>>().unwrap();
    assert!(balances.iter().all(|&balance| balance >= 0), "{balances:?}");
    balances.iter().sum()
}
