//! Inputs of `try`: they must be able to show a wrong merge, order or limit across the requests of `in` and `or`.
#![expect(clippy::unwrap_used, reason = "tests")]

use keyloom_design::Design;
use keyloom_design::evaluate::{Inputs, Row, expected};
use keyloom_design::generate::{GenerateOptions, generate, inputs_for};
use keyloom_design::model::Access;

fn design(patterns: &str) -> Design {
    let text = format!(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.INBOX]
partition_key = "receiver"
sort_key = "at"
[entity.Message]
PK = "USER#{{sender}}"
SK = "{{at}}#{{id:ulid}}"
[entity.Message.fields]
sender = "token"
receiver = "token"
kind = {{ type = "string", values = ["mail", "note", "call", "fax"] }}
at = {{ type = "datetime", since = "2031-01-01", until = "2031-02-15" }}
{patterns}"#
    );
    let (design, problems) = Design::parse("test.toml", &text);
    assert!(problems.is_empty(), "{problems:?}");
    design.unwrap()
}

/// The rows of a design, its one pattern, and the inputs of some calls.
fn calls(design: &Design) -> (Vec<Row>, &Access, Vec<Inputs>) {
    let rows = generate(design, &GenerateOptions { items: 400, seed: 3, adversarial: true });
    let access = design.accesses().first().unwrap();
    let inputs = inputs_for(access, &rows, 5, 24);
    (rows, access, inputs)
}

fn values(inputs: &Inputs) -> Vec<String> {
    inputs.values().map(ToString::to_string).collect()
}

fn distinct(mut list: Vec<String>) -> usize {
    list.sort();
    list.dedup();
    list.len()
}

#[test]
fn values_of_in_are_of_several_rows_of_one_and_of_none() {
    let design = design(
        "[access.\"several senders\"]\nfind = \"Message\"\nwhere = \"sender in (:a, :b, :c)\"\norder = \"at\"\nlimit = 9\n",
    );
    let (rows, _, calls) = calls(&design);
    let exists = |value: &String| rows.iter().any(|row| row.values["sender"].to_string() == *value);
    let existing = |inputs: &Inputs| values(inputs).iter().filter(|value| exists(value)).count();
    let several = |inputs: &Inputs| existing(inputs) == 3 && distinct(values(inputs)) == 3;
    let twice = |inputs: &Inputs| existing(inputs) == 3 && distinct(values(inputs)) == 1;
    assert!(calls.iter().filter(|call| several(call)).count() >= 8, "{calls:?}");
    assert!(calls.iter().any(twice), "the same value twice: {calls:?}");
    assert!(calls.iter().any(|call| existing(call) == 1), "the others miss: {calls:?}");
    assert!(calls.iter().any(|call| existing(call) == 0), "all miss: {calls:?}");
}

#[test]
fn values_of_in_after_a_pinned_field_are_of_its_partition() {
    let design = design(
        "[access.\"by time\"]\nfind = \"Message\"\nwhere = \"sender = ? and at in (:a, :b)\"\n",
    );
    let (rows, access, calls) = calls(&design);
    let found = |inputs: &Inputs| {
        let rows = expected(access, inputs, &rows).rows;
        distinct(rows.iter().map(|row| row.values["at"].to_string()).collect())
    };
    assert!(calls.iter().any(|call| found(call) == 2), "both are there: {calls:?}");
    assert!(calls.iter().any(|call| found(call) == 1), "one is elsewhere: {calls:?}");
    assert!(calls.iter().any(|call| found(call) == 0), "{calls:?}");
}

#[test]
fn one_input_of_two_fields_finds_rows_by_both() {
    let design = design(
        "[access.\"from or to\"]\nfind = \"Message\"\nwhere = \"sender = :user or receiver = :user\"\norder = \"at desc\"\n",
    );
    let (rows, access, calls) = calls(&design);
    let both = calls.iter().filter(|inputs| {
        let found = expected(access, inputs, &rows).rows;
        let by = |field: &str| found.iter().any(|row| row.values[field] == inputs["user"]);
        by("sender") && by("receiver")
    });
    assert!(both.count() >= 5, "{calls:?}");
}

#[test]
fn alternatives_find_rows_of_different_ones_and_literals_are_respected() {
    let design = design(
        "[access.\"two ways\"]\nfind = \"Message\"\nwhere = \"sender = :s and kind = 'fax' or receiver = :r and kind = 'call'\"\n",
    );
    let (rows, access, calls) = calls(&design);
    let kinds = |inputs: &Inputs| {
        let rows = expected(access, inputs, &rows).rows;
        distinct(rows.iter().map(|row| row.values["kind"].to_string()).collect())
    };
    assert!(calls.iter().filter(|call| kinds(call) == 2).count() >= 6, "{calls:?}");
}

/// What lies outside of `since` and `until` is said not to exist, and would not be found.
#[test]
fn generated_times_lie_in_their_period() {
    let design = design("");
    let rows = generate(&design, &GenerateOptions { items: 500, seed: 1, adversarial: true });
    let times: Vec<String> = rows.iter().map(|row| row.values["at"].to_string()).collect();
    assert!(
        times.iter().all(|at| ("2031-01-01".."2031-02-16").contains(&at.as_str())),
        "{times:?}"
    );
    assert!(distinct(times) > 100);
}
