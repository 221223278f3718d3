//! Concurrent requests on single items: every history has an order that one item after the other
//! could have produced.

use std::time::{Duration, Instant};

use keyloom_testkit::history::items::{Items, Outcome, Request, TABLE, create_table};
use keyloom_testkit::history::search::find_order;
use keyloom_testkit::history::{Event, Recorder, on_threads};
use keyloom_testkit::lockstep::{Place, TestDatabase, succeed};
use keyloom_testkit::replay::replay;
use keyloom_testkit::rng::{Rng, SeedReport, fresh_seeds, seeds};
use serde_json::{Value, json};

const THREADS: usize = 4;
const ITEMS: usize = 3;
/// Over how many servers the threads are spread.
pub(crate) const SERVERS: usize = 1;

/// Runs random requests on several threads; the seed decides what each thread asks.
pub(crate) fn record(
    place: Place,
    seed: u64,
    requests: usize,
    choose: fn(&mut Rng, usize) -> Request,
) -> Vec<Event<Request, Outcome>> {
    let Some(test) = TestDatabase::at(place) else { return Vec::new() };
    succeed(&test.database, "CreateTable", &create_table());
    let recorder = Recorder::default();
    let mut rng = Rng::new(seed);
    let of_threads: Vec<Rng> = (0..THREADS).map(|_| rng.split()).collect();
    let history = on_threads(THREADS, |thread| {
        let mut rng = of_threads[thread].clone();
        let one = |rng: &mut Rng| {
            let request = choose(rng, ITEMS);
            recorder.record(request, |request| request.run(test.server(thread)))
        };
        (0..requests).map(|_| one(&mut rng)).collect()
    });
    // Whatever happened, the stream has told it in order and once.
    let items = succeed(&test.database, "Scan", &json!({"TableName": TABLE}));
    let replayed: Vec<Value> = replay(&test.database, TABLE).items.into_values().collect();
    assert_eq!(items["Items"], json!(replayed), "{place:?}");
    history
}

fn item_of(request: &Request) -> usize {
    match request {
        Request::Get(item) | Request::Write(item, ..) => *item,
        other => unreachable!("{other:?} is not about a single item"),
    }
}

fn check(place: Place, seed: u64, requests: usize) -> usize {
    let _report = SeedReport(seed);
    let history = record(place, seed, requests, Request::single);
    for item in 0..ITEMS {
        // Linearizability is local: each item can be judged by itself.
        let of_item: Vec<_> =
            history.iter().filter(|event| item_of(&event.operation) == item).cloned().collect();
        if let Err(stuck) = find_order::<Items>(vec![None; ITEMS], &of_item) {
            panic!(
                "{place:?}: no order of {} requests on item {item}; stuck after {}: {}",
                of_item.len(),
                stuck.ordered,
                stuck.stuck
            );
        }
    }
    history.len()
}

#[test]
fn single_item_requests_are_linearizable() {
    for (place, count, requests) in
        [(Place::Memory, 10, 400), (Place::Disk, 4, 100), (Place::Servers(SERVERS), 10, 60)]
    {
        let start = Instant::now();
        let all: usize = seeds(count).into_iter().map(|seed| check(place, seed, requests)).sum();
        println!("{place:?}: {count} histories, {all} requests, {:?}", start.elapsed());
    }
}

#[test]
#[ignore = "long: cargo test -p keyloom-testkit --release --test engine able -- --ignored --nocapture"]
fn single_item_requests_are_linearizable_for_a_long_time() {
    for place in [Place::Memory, Place::Disk, Place::Servers(SERVERS)] {
        let start = Instant::now();
        let (mut histories, mut requests) = (0, 0);
        for seed in fresh_seeds(100_000) {
            requests += check(place, seed, 2000);
            histories += 1;
            if start.elapsed() > Duration::from_mins(2) {
                break;
            }
        }
        println!("{place:?}: {histories} histories, {requests} requests");
    }
}
