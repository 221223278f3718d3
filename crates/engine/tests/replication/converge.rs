//! All regions end with the same items, and each item is what its last writer wrote.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::ManualClock;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ALL, World};

/// What happens in a random run.
#[derive(Clone, Debug)]
enum Event {
    Put { region: usize, sk: u64 },
    Update { region: usize, sk: u64 },
    Delete { region: usize, sk: u64 },
    Transaction { region: usize, sk: u64 },
    Send { region: usize },
    LoseAnswers { count: usize },
    Cut { from: usize, to: usize },
    Heal,
    Restart { region: usize },
}

fn event() -> impl Strategy<Value = Event> {
    let (region, sk) = (0..3_usize, 0..5_u64);
    prop_oneof![
        6 => (region.clone(), sk.clone()).prop_map(|(region, sk)| Event::Put { region, sk }),
        4 => (region.clone(), sk.clone()).prop_map(|(region, sk)| Event::Update { region, sk }),
        4 => (region.clone(), sk.clone()).prop_map(|(region, sk)| Event::Delete { region, sk }),
        2 => (region.clone(), sk).prop_map(|(region, sk)| Event::Transaction { region, sk }),
        4 => region.clone().prop_map(|region| Event::Send { region }),
        1 => (1..4_usize).prop_map(|count| Event::LoseAnswers { count }),
        2 => (region.clone(), region.clone()).prop_map(|(from, to)| Event::Cut { from, to }),
        1 => Just(Event::Heal),
        1 => region.prop_map(|region| Event::Restart { region }),
    ]
}

/// A world whose table is in all regions.
fn replicated() -> World {
    let world = World::new(&ALL);
    world.create(ALL[0]);
    for sk in 0..3 {
        world.put(ALL[0], sk, "before");
    }
    for other in &ALL[1..] {
        world.replicate(ALL[0], "Create", other);
    }
    world.settle();
    world
}

fn key(sk: u64) -> Value {
    json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}})
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("KEYLOOM_REPLICATION_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_last_writer_wins_everywhere(events in prop::collection::vec(event(), 1..80)) {
        let world = replicated();
        // What the last writer of each item wrote; none if that removed it. Every write has a millisecond of its own.
        let mut expected: BTreeMap<u64, Option<String>> =
            (0..3).map(|sk| (sk, Some("before".to_owned()))).collect();
        for (number, event) in events.iter().enumerate() {
            let value = format!("v{number}");
            match event {
                Event::Put { region, sk } => {
                    world.put(ALL[*region], *sk, &value);
                    expected.insert(*sk, Some(value));
                }
                Event::Update { region, sk } => {
                    world.ok(ALL[*region], "UpdateItem", json!({
                        "TableName": "music", "Key": key(*sk), "UpdateExpression": "SET v = :v, g = :g",
                        "ExpressionAttributeValues": {":v": {"S": value}, ":g": {"S": "x"}},
                    }));
                    expected.insert(*sk, Some(value));
                }
                Event::Delete { region, sk } => {
                    let answer = world.ok(ALL[*region], "DeleteItem", json!({
                        "TableName": "music", "Key": key(*sk), "ReturnValues": "ALL_OLD",
                    }));
                    // Removing what is not there writes nothing.
                    if answer.get("Attributes").is_some() {
                        expected.insert(*sk, None);
                    }
                }
                Event::Transaction { region, sk } => {
                    let other = (*sk + 1) % 5;
                    let put = |sk: u64| json!({"Put": {"TableName": "music", "Item": {
                        "pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "v": {"S": value}, "g": {"S": "x"},
                    }}});
                    world.ok(ALL[*region], "TransactWriteItems", json!({"TransactItems": [put(*sk), put(other)]}));
                    expected.insert(*sk, Some(value.clone()));
                    expected.insert(other, Some(value));
                }
                Event::Send { region } => world.db(ALL[*region]).run_maintenance().unwrap(),
                Event::LoseAnswers { count } => world.network.0.lock().unwrap().lost_answers = *count,
                Event::Cut { from, to } => world.cut(ALL[*from], ALL[*to], true),
                Event::Heal => world.network.0.lock().unwrap().cut.clear(),
                Event::Restart { region } => world.start(ALL[*region]),
            }
        }
        {
            let mut state = world.network.0.lock().unwrap();
            state.cut.clear();
            state.lost_answers = 0;
        }
        world.settle();
        let expected: Vec<(String, String)> = expected
            .into_iter()
            .filter_map(|(sk, value)| Some((sk.to_string(), value?)))
            .collect();
        for region in ALL {
            prop_assert_eq!(&world.values(region), &expected, "{}", region);
        }
        world.verify();
        // Nothing goes in circles.
        let before = world.network.0.lock().unwrap().messages;
        world.settle();
        prop_assert_eq!(world.network.0.lock().unwrap().messages, before);
    }
}

#[test]
fn ties_are_decided_alike_everywhere() {
    // Two clocks that stand still: both writes get the same number.
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    for region in [us, eu] {
        world.start_at(region, Arc::new(ManualClock::at_ms(1_900_000_000_000)));
    }
    for round in 0..4 {
        world.put(us, round, "us");
        world.put(eu, round, "eu");
    }
    // Their clocks are half an hour ahead of nobody.
    world.settle();
    assert_eq!(world.values(us), world.values(eu));
    assert!(world.values(us).iter().all(|(_, value)| value == "us"), "the greater name wins");
}

#[test]
fn a_write_after_another_wins_even_if_its_clock_is_behind() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    world.start_at(us, Arc::new(ManualClock::at_ms(1_800_000_600_000)));
    world.put(us, 1, "ten minutes ahead");
    world.settle();
    world.put(eu, 1, "seen, and overwritten");
    world.settle();
    assert_eq!(world.values(us), [("1".into(), "seen, and overwritten".into())]);
    assert_eq!(world.values(us), world.values(eu));
    // The same after a restart.
    world.start(eu);
    world.put(us, 2, "ahead");
    world.settle();
    world.start(eu);
    world.delete(eu, 2);
    world.settle();
    assert_eq!(world.values(us).len(), 1);
    assert_eq!(world.values(us), world.values(eu));
}

#[test]
fn a_clock_far_in_the_future_is_refused() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    world.start_at(us, Arc::new(ManualClock::at_ms(1_800_003_600_000)));
    world.put(us, 1, "an hour ahead");
    world.settle();
    let text = world.describe(us)["Replicas"][0]["ReplicaStatusDescription"].to_string();
    assert!(text.contains("minutes in the future of eu-west-1"), "{text}");
    assert!(world.values(eu).is_empty());
    world.clock.advance(Duration::from_hours(1));
    world.settle();
    assert_eq!(world.values(eu), world.values(us));
}

#[test]
fn what_was_trimmed_meanwhile_is_copied_with_its_removals() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.put(us, 1, "removed later");
    world.put(us, 2, "changed later");
    world.settle();
    world.cut(us, eu, true);
    world.delete(us, 1);
    world.put(us, 2, "changed");
    world.put(us, 3, "new");
    world.clock.advance(Duration::from_hours(25));
    world.settle();
    world.put(eu, 3, "newer");
    world.cut(us, eu, false);
    world.settle();
    let expected = [("2".into(), "changed".into()), ("3".into(), "newer".into())];
    assert_eq!(world.values(us), expected);
    assert_eq!(world.values(eu), expected);
}

#[test]
fn old_tombstones_go() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.put(us, 1, "one");
    world.put(us, 2, "two");
    world.settle();
    world.delete(us, 1);
    world.settle();
    let entries = |region: &str| world.db(region).store_stats().unwrap().approximate_entries;
    let before = (entries(us), entries(eu));
    world.clock.advance(Duration::from_hours(31 * 24));
    world.settle();
    assert!(entries(us) < before.0 && entries(eu) < before.1, "{before:?}");
    assert_eq!(world.values(us), [("2".into(), "two".into())]);
    assert_eq!(world.values(eu), world.values(us));
    world.verify();
}

#[test]
fn an_expired_item_is_removed_everywhere_and_only_its_own_region_calls_it_expired() {
    let world = World::new(&ALL[..2]);
    let [us, eu, _] = ALL;
    world.create(us);
    world.replicate(us, "Create", eu);
    world.settle();
    let ttl = json!({"Enabled": true, "AttributeName": "expires"});
    world.ok(us, "UpdateTimeToLive", json!({"TableName": "music", "TimeToLiveSpecification": ttl}));
    let item = json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "expires": {"N": "1800000100"}});
    world.ok(us, "PutItem", json!({"TableName": "music", "Item": item}));
    world.settle();
    world.clock.advance(Duration::from_secs(200));
    world.settle();
    assert!(world.items(us).0.is_empty() && world.items(eu).0.is_empty());
    for (region, is_named) in [(us, true), (eu, false)] {
        let record = records(&world, region).pop().unwrap();
        assert_eq!(record["eventName"], "REMOVE", "{region}");
        assert_eq!(record.get("userIdentity").is_some(), is_named, "{region}");
    }
}

/// All records of a table's stream.
fn records(world: &World, region: &str) -> Vec<Value> {
    let arn = world.describe(region)["LatestStreamArn"].clone();
    let stream = world.ok(region, "DescribeStream", json!({"StreamArn": arn}));
    let shard = stream["StreamDescription"]["Shards"][0]["ShardId"].clone();
    let start = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = world.ok(region, "GetShardIterator", start)["ShardIterator"].clone();
    let page = world.ok(region, "GetRecords", json!({"ShardIterator": iterator}));
    page["Records"].as_array().unwrap().clone()
}
