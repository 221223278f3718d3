//! Replicas whose servers are started on an older backup.

use std::collections::BTreeMap;

use keyloom_store::MemoryStore;
use proptest::prelude::*;
use serde_json::json;

use super::{ALL, World};

fn replicated() -> World {
    let world = World::new(&ALL);
    world.create(ALL[0]);
    world.put(ALL[0], 0, "0");
    for other in &ALL[1..] {
        world.replicate(ALL[0], "Create", other);
    }
    world.settle();
    world
}

fn messages(world: &World) -> usize {
    world.network.0.lock().unwrap().messages
}

#[test]
fn what_was_written_or_received_since_the_backup_comes_back() {
    for (name, change) in [
        ("its own writes", (|world: &World| world.put(ALL[1], 1, "1")) as fn(&World)),
        ("its own removals", |world| world.delete(ALL[1], 0)),
        ("writes of another", |world| world.put(ALL[0], 1, "1")),
        ("removals of another", |world| world.delete(ALL[2], 0)),
    ] {
        let mut world = replicated();
        let eu = ALL[1];
        let backup = world.stores[eu].fork();
        let old = world.values(eu);
        change(&world);
        world.settle();
        let expected = world.values(eu);
        assert_ne!(expected, old, "{name}");
        world.start_on(eu, backup);
        assert_eq!(world.values(eu), old, "{name}");
        world.settle();
        for region in ALL {
            assert_eq!(world.values(region), expected, "{name}: {region}");
            assert_eq!(world.describe(region)["TableStatus"], "ACTIVE", "{name}: {region}");
            let shown = world.describe(region).to_string();
            assert!(!shown.contains("Not replicating"), "{name}: {shown}");
        }
        world.verify();
    }
}

#[test]
fn new_writes_do_not_hide_that_others_are_gone() {
    let mut world = replicated();
    let [us, eu, _] = ALL;
    let backup = world.stores[eu].fork();
    // Sent, and then lost, before anybody asks how far the region is.
    world.put(us, 1, "to it");
    world.put(eu, 2, "from it");
    let database = world.db(us);
    world.network.0.lock().unwrap().until_cut = Some(4);
    database.run_maintenance().unwrap();
    world.network.0.lock().unwrap().until_cut = None;
    world.db(eu).run_maintenance().unwrap();
    world.start_on(eu, backup);
    for sk in 3..6 {
        world.put(eu, sk, "later");
    }
    world.settle();
    assert_eq!(world.values(us).len(), 6);
    for region in ALL {
        assert_eq!(world.values(region), world.values(us), "{region}");
    }
}

#[test]
fn a_loss_is_noticed_after_openings_without_other_regions() {
    let mut world = replicated();
    let eu = ALL[1];
    let backup = world.stores[eu].fork();
    world.put(eu, 1, "lost");
    world.settle();
    world.start_on(eu, backup);
    // Nobody is reached in these openings, and the stream goes past what was lost.
    for sk in 2..5 {
        world.put(eu, sk, "alone");
        world.start(eu);
    }
    world.settle();
    assert_eq!(world.values(eu).len(), 5);
    for region in ALL {
        assert_eq!(world.values(region), world.values(eu), "{region}");
    }
}

#[test]
fn what_a_region_gets_back_of_its_own_goes_to_the_others_too() {
    let mut world = replicated();
    let [us, eu, ap] = ALL;
    world.put(eu, 1, "1");
    world.settle();
    let (of_us, of_ap) = (world.stores[us].fork(), world.stores[ap].fork());
    let of_eu = world.stores[eu].fork();
    // Only `us` hears of the removal again after it went back, and `eu` and `ap` go back behind it.
    world.delete(ap, 1);
    world.start_on(us, of_us);
    world.db(ap).run_maintenance().unwrap();
    world.start_on(ap, of_ap);
    world.start_on(eu, of_eu);
    world.settle();
    for region in ALL {
        assert_eq!(world.values(region), [("0".to_owned(), "0".to_owned())], "{region}");
    }
}

#[test]
fn what_was_only_brought_by_a_copy_comes_back_to_those_who_lost_it() {
    let mut world = replicated();
    let [us, eu, ap] = ALL;
    let of_us = world.stores[us].fork();
    world.put(ap, 1, "lost by us");
    world.settle();
    let [of_eu, of_ap] = [eu, ap].map(|region| world.stores[region].fork());
    // `ap` gets it from `eu`, and copies it to `us`, which hears nothing of `eu`.
    world.cut(eu, us, true);
    world.cut(us, eu, true);
    world.put(eu, 2, "made there");
    world.db(eu).run_maintenance().unwrap();
    world.start_on(us, of_us);
    world.db(ap).run_maintenance().unwrap();
    assert_eq!(world.values(us).len(), 3);
    // Only `us` has it now, and has never heard how far `eu` had come.
    world.start_on(eu, of_eu);
    world.start_on(ap, of_ap);
    world.network.0.lock().unwrap().cut.clear();
    world.settle();
    for region in ALL {
        assert_eq!(world.values(region).len(), 3, "{region}");
    }
    world.verify();
}

#[test]
fn a_loss_in_an_opening_that_was_never_asked_about_is_noticed() {
    let mut world = replicated();
    let [us, eu, _] = ALL;
    let backup = world.stores[eu].fork();
    world.start(eu);
    world.put(eu, 1, "1");
    // It sends by itself; the others have not asked it since it was opened.
    world.db(eu).run_maintenance().unwrap();
    assert_eq!(world.values(us).len(), 2);
    world.start_on(eu, backup);
    world.settle();
    for region in ALL {
        assert_eq!(world.values(region).len(), 2, "{region}");
    }
}

#[test]
fn restarts_without_a_loss_copy_nothing() {
    let mut world = replicated();
    let [us, eu, _] = ALL;
    for round in 0..120 {
        world.put(us, round, "us");
        if round % 10 == 0 {
            world.settle();
        }
        world.start(eu);
    }
    world.settle();
    let before = messages(&world);
    for region in ALL {
        world.start(region);
    }
    // A backup that lacks nothing.
    let backup = world.stores[eu].fork();
    world.start_on(eu, backup);
    world.settle();
    assert_eq!(messages(&world), before);
    // The stream's old records and shards go.
    world.clock.advance(std::time::Duration::from_hours(5));
    world.settle();
    world.put(us, 1000, "in a new shard");
    world.settle();
    world.clock.advance(std::time::Duration::from_hours(30));
    world.settle();
    let before = messages(&world);
    world.start(eu);
    world.settle();
    assert_eq!(messages(&world), before);
}

#[test]
fn a_table_that_is_created_again_has_no_past() {
    let mut world = replicated();
    let [us, eu, _] = ALL;
    let old = world.stores[eu].fork();
    world.replicate(us, "Delete", eu);
    world.settle();
    world.replicate(us, "Create", eu);
    world.put(us, 1, "1");
    world.settle();
    assert_eq!(world.values(eu), world.values(us));
    // A backup with the table that it had before.
    world.start_on(eu, old);
    world.settle();
    for region in ALL {
        assert_eq!(world.values(region), world.values(us), "{region}");
    }
    world.start_on(eu, MemoryStore::default());
    world.settle();
    assert_eq!(world.values(eu), world.values(us));
}

#[derive(Clone, Debug)]
enum Event {
    Put { region: usize, sk: u64 },
    Delete { region: usize, sk: u64 },
    Send { region: usize },
    SendSome { region: usize, messages: usize },
    Cut { from: usize, to: usize },
    Heal,
    Backup { region: usize },
    Restore { region: usize },
    Restart { region: usize },
}

fn event() -> impl Strategy<Value = Event> {
    let (region, sk) = (0..3_usize, 0..4_u64);
    prop_oneof![
        8 => (region.clone(), sk.clone()).prop_map(|(region, sk)| Event::Put { region, sk }),
        3 => (region.clone(), sk).prop_map(|(region, sk)| Event::Delete { region, sk }),
        3 => region.clone().prop_map(|region| Event::Send { region }),
        4 => (region.clone(), 1..8_usize)
            .prop_map(|(region, messages)| Event::SendSome { region, messages }),
        1 => (region.clone(), region.clone()).prop_map(|(from, to)| Event::Cut { from, to }),
        1 => Just(Event::Heal),
        2 => region.clone().prop_map(|region| Event::Backup { region }),
        2 => region.clone().prop_map(|region| Event::Restore { region }),
        1 => region.prop_map(|region| Event::Restart { region }),
    ]
}

/// The number of the event that wrote each item, as one region has it.
fn writers(world: &World, region: &str) -> BTreeMap<String, usize> {
    world.values(region).into_iter().map(|(sk, value)| (sk, value.parse().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("KEYLOOM_REPLICATION_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(16),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// What any region has after a server went back in time is not lost, and all regions agree in the end.
    #[test]
    fn what_another_region_has_survives_any_restore(events in prop::collection::vec(event(), 1..80)) {
        let mut world = replicated();
        let mut backups: BTreeMap<usize, MemoryStore> = BTreeMap::new();
        // By item: the last event that any region had after a server went back; the last removal.
        let mut kept: BTreeMap<String, usize> = BTreeMap::new();
        let mut removed: BTreeMap<String, usize> = BTreeMap::new();
        // The first items were written by event 0.
        for (number, event) in (1..).zip(&events) {
            match event {
                Event::Put { region, sk } => world.put(ALL[*region], *sk, &number.to_string()),
                Event::Delete { region, sk } => {
                    world.delete(ALL[*region], *sk);
                    removed.insert(sk.to_string(), number);
                }
                Event::Send { region } => world.db(ALL[*region]).run_maintenance().unwrap(),
                Event::SendSome { region, messages } => {
                    world.network.0.lock().unwrap().until_cut = Some(*messages);
                    world.db(ALL[*region]).run_maintenance().unwrap();
                    world.network.0.lock().unwrap().until_cut = None;
                }
                Event::Cut { from, to } => world.cut(ALL[*from], ALL[*to], true),
                Event::Heal => world.network.0.lock().unwrap().cut.clear(),
                Event::Backup { region } => {
                    backups.insert(*region, world.stores[ALL[*region]].fork());
                }
                Event::Restore { region } => {
                    let Some(backup) = backups.get(region) else { continue };
                    world.start_on(ALL[*region], backup.fork());
                    kept.clear();
                    for region in ALL {
                        for (sk, writer) in writers(&world, region) {
                            let last = kept.entry(sk).or_default();
                            *last = writer.max(*last);
                        }
                    }
                }
                Event::Restart { region } => world.start(ALL[*region]),
            }
        }
        world.network.0.lock().unwrap().cut.clear();
        world.settle();
        let expected = world.values(ALL[0]);
        for region in ALL {
            prop_assert_eq!(&world.values(region), &expected, "{}", region);
        }
        let writers = writers(&world, ALL[0]);
        for (sk, at_least) in kept {
            let is_kept = writers.get(&sk).is_some_and(|writer| *writer >= at_least)
                || removed.get(&sk).is_some_and(|removal| *removal > at_least);
            prop_assert!(is_kept, "item {}: {:?}, {} or later was known", sk, writers.get(&sk), at_least);
        }
        world.verify();
        let before = messages(&world);
        world.settle();
        prop_assert_eq!(messages(&world), before, "it ends");
    }
}

#[test]
fn a_region_with_an_older_backup_is_shown() {
    let mut world = replicated();
    let [us, eu, _] = ALL;
    let backup = world.stores[eu].fork();
    world.put(us, 1, "1");
    world.settle();
    world.start_on(eu, backup);
    // Only the question and its answer get through.
    world.network.0.lock().unwrap().until_cut = Some(1);
    world.db(us).run_maintenance().unwrap();
    assert_eq!(world.status(us, eu), "CREATING");
    world.start(us);
    let table = world.ok(us, "DescribeTable", json!({"TableName": "music"})).to_string();
    assert!(table.contains("eu-west-1 has lost the table or writes"), "{table}");
}
