//! Plans run without types: what a hand-written limit and a consistent second step do.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use keyloom::designs::Design;
use keyloom::designs::cost::Prices;
use keyloom::designs::plan::plan;
use keyloom::{
    Backend, Database, Options, PlanAnswer, PlanRunner, Retry, TableClient, Value, item,
};
use keyloom_core::observation::{Observation, Observer};

const DESIGN: &str = r#"
[design]
name = "notes"

[table.notes]
partition_key = "pk"
sort_key      = "sk"

[entity.Note]
pk = "USER#{user}"
sk = "NOTE#{number}"

[entity.Note.fields]
user   = "string"
number = "u32"
title  = { type = "string", values = ["a", "b"] }

[entity.Pin]
pk = "BOARD#{board}"
sk = "PIN#{user}#{number}"

[entity.Pin.fields]
board  = "string"
user   = "string"
number = "u32"

[access."the first few by hand"]
find   = "Note"
where  = "user = ? and title = 'b'"
key    = 'pk = "USER#{user}"'
filter = 'title = "b"'
limit  = 3

[access."pinned notes"]
find       = "Note"
via        = "Pin"
where      = "board = ?"
consistent = true
"#;

/// The operations that were observed, and whether each read consistently.
#[derive(Debug, Default)]
struct Reads(Mutex<Vec<(&'static str, bool)>>);

impl Observer for Reads {
    fn sample(&self) -> Option<NonZeroU32> {
        Some(NonZeroU32::MIN)
    }

    fn observe(&self, observation: &Observation<'_>) {
        if !observation.operation.writes_items() {
            let read = (observation.operation.name(), observation.is_consistent);
            self.0.lock().unwrap().push(read);
        }
    }
}

/// Calls a pattern on five notes of ann, of which the last three have the title `b`, and two pins.
fn call(pattern: &str, input: (&str, &str)) -> (PlanAnswer, Vec<(&'static str, bool)>) {
    let (design, problems) = Design::parse("notes.toml", DESIGN);
    let design = design.unwrap_or_else(|| panic!("{problems:?}"));
    let reads = Arc::new(Reads::default());
    let observer = Some(Arc::clone(&reads) as Arc<dyn Observer>);
    let backend = Backend::from(Database::memory_with(Options { observer, ..Options::default() }));
    let notes = TableClient::new(backend.clone(), "notes");
    notes.create().unwrap();
    for number in 0..5 {
        let title = if number < 2 { "a" } else { "b" };
        let key = (String::from("USER#ann"), format!("NOTE#{number:010}"));
        let item = item! { "pk" => key.0, "sk" => key.1, "user" => "ann", "number" => number, "title" => title };
        notes.put(item).unwrap();
    }
    for number in [1, 4] {
        let key = (String::from("BOARD#x"), format!("PIN#ann#{number:010}"));
        notes
            .put(item! { "pk" => key.0, "sk" => key.1, "board" => "x", "user" => "ann", "number" => number })
            .unwrap();
    }
    let plans = plan(&design, &Prices::default());
    let at = design.accesses().iter().position(|access| access.name == pattern).unwrap();
    let inputs = [(input.0.to_owned(), Value::from(input.1.to_owned()))].into();
    let retry = Retry::never();
    let runner = PlanRunner::new(&backend, &retry);
    let answer = runner.run(&design.accesses()[at], &plans[at], &inputs).unwrap();
    let seen = reads.0.lock().unwrap().clone();
    (answer, seen)
}

#[test]
fn a_hand_written_limit_is_sent_as_written_and_its_page_is_the_answer() {
    let (answer, _) = call("the first few by hand", ("user", "ann"));
    // Three entries are evaluated, and the filter keeps one of them.
    assert_eq!(answer.items.len(), 1);
    assert_eq!((answer.reads[0].pages.as_slice(), answer.reads[0].is_done), (&[3][..], false));
}

#[test]
fn both_steps_of_a_consistent_pattern_read_consistently() {
    let (answer, reads) = call("pinned notes", ("board", "x"));
    assert_eq!(answer.items.len(), 2);
    assert_eq!(answer.followed.iter().map(Vec::len).sum::<usize>(), 2);
    assert_eq!(reads, [("Query", true), ("BatchGetItem", true)]);
}
