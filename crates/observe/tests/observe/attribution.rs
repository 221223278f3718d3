//! Requests are named after the access patterns of the design, or after their shape.

use keyloom_core::Operation;

use crate::traffic::{Read, Traffic};

const TASKS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/designs/tasks.toml"));

const USER: &str = "USER#01HM5KXJ8M0000000000000001";
const PROJECT: &str = "PROJECT#01HM5KXJ8M0000000000000001";
const TASK: &str = "TASK#01HM5KXJ8M0000000000000001";

fn labels(traffic: &Traffic) -> Vec<(String, Option<String>)> {
    let report = traffic.report();
    let mut all: Vec<_> =
        report.patterns().map(|(_, p)| (p.label().to_owned(), p.entity.clone())).collect();
    all.sort();
    all
}

fn designed() -> Traffic {
    Traffic::designed(TASKS)
}

#[test]
fn reads_by_the_design_have_the_names_of_its_patterns() {
    for (name, entity, load) in [
        ("profile of a user", "User", (|t| t.get(USER, "PROFILE")) as fn(&mut Traffic)),
        ("teams of a user", "Membership", |t| {
            t.read(Read { partition: USER, begins: "TEAM#", limit: Some(100), ..Read::default() });
        }),
        ("tasks in a project", "Task", |t| {
            t.read(Read {
                partition: PROJECT,
                begins: "TASK#",
                limit: Some(50),
                ..Read::default()
            });
        }),
        ("task by id", "Task", |t| {
            t.read(Read { partition: TASK, sort: "METADATA", on_index: true, ..Read::default() });
        }),
    ] {
        let mut traffic = designed();
        load(&mut traffic);
        assert_eq!(labels(&traffic), [(name.to_owned(), Some(entity.to_owned()))]);
    }
}

#[test]
fn writes_are_named_after_their_entity_and_strange_keys_are_counted() {
    let mut traffic = designed();
    traffic.put(PROJECT, TASK);
    traffic.item(Operation::DeleteItem, USER, "PROFILE", 1, 0);
    traffic.put("PROJECT#not-an-id", TASK);
    let names: Vec<String> = labels(&traffic).into_iter().map(|(label, _)| label).collect();
    assert_eq!(names, ["DeleteItem User", "PutItem PK = PROJECT#…, SK = TASK#…", "PutItem Task"]);
    let report = traffic.report();
    let place = report.place("tasks", None).unwrap();
    assert_eq!(place.unknown_keys, 1);
    assert_eq!(place.unknown_samples, [format!("PROJECT#not-an-id / {TASK}")]);
}

#[test]
fn a_query_that_reads_more_than_any_pattern_is_not_planned() {
    let mut traffic = designed();
    traffic.read(Read { partition: TASK, begins: "TAG#", ..Read::default() });
    let report = traffic.report();
    let (_, pattern) = report.patterns().next().unwrap();
    assert_eq!(pattern.name, None);
    assert_eq!(pattern.shape, "Query PK = TASK#…, SK begins TAG#");
}

#[test]
fn without_a_design_requests_of_one_shape_are_one_pattern() {
    let mut traffic = Traffic::new();
    for user in 0..50 {
        let key = format!("USER#{user}");
        traffic.get(&key, "PROFILE");
        traffic.get(&key, &format!("TASK#{user}"));
        traffic.read(Read { partition: &key, begins: "TASK#", filter: "state", ..Read::default() });
    }
    let names: Vec<String> = labels(&traffic).into_iter().map(|(label, _)| label).collect();
    assert_eq!(
        names,
        [
            "GetItem PK = USER#…, SK = PROFILE",
            "GetItem PK = USER#…, SK = TASK#…",
            "Query PK = USER#…, SK begins TASK#, filter on state",
        ]
    );
}

#[test]
fn shapes_are_bounded_in_number() {
    let mut traffic = Traffic::new();
    for number in 0..500_u32 {
        let word: String =
            format!("{number:03}").bytes().map(|b| char::from(b - b'0' + b'A')).collect();
        traffic.get(&format!("{word}#1"), "A");
    }
    let report = traffic.report();
    let place = report.place("tasks", None).unwrap();
    assert!(place.patterns.len() <= 33, "{}", place.patterns.len());
    assert_eq!(place.patterns.iter().map(|pattern| pattern.requests).sum::<u64>(), 500);
    assert!(place.patterns.iter().any(|pattern| pattern.shape == "GetItem (others)"));
}

#[test]
fn every_key_of_a_transaction_is_judged() {
    let mut traffic = designed();
    traffic.transact(&[(PROJECT, TASK), ("PROJECT#not-an-id", TASK), ("what", "ever")]);
    traffic.transact(&[("what", "ever"), (PROJECT, TASK)]);
    let report = traffic.report();
    let place = report.place("tasks", None).unwrap();
    assert_eq!((place.unknown_keys, place.requests), (3, 5));
    assert_eq!(
        place.unknown_samples,
        [format!("PROJECT#not-an-id / {TASK}"), "what / ever".into()]
    );
}
