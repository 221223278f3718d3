//! Two versions of a design, compared.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

#[path = "support/examples.rs"]
mod examples;

use std::collections::HashSet;

use keyloom_core::hash::SplitMix64;
use keyloom_design::cost::Prices;
use keyloom_design::diff::{DesignDiff, Hazard, ItemChange, Step, compare, human, json, markdown};
use keyloom_design::evaluate::Row;
use keyloom_design::generate::{GenerateOptions, generate};
use keyloom_design::{CheckReport, Design, check};

use examples::examples;

const OLD: &str = r#"
[table.shop]
partition_key = "PK"
sort_key = "SK"

[table.shop.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[entity.Order]
PK = "USER#{user_id}"
SK = "ORDER#{order_id}"
GSI1PK = "STATUS#{status}"
GSI1SK = "{placed_at}#{order_id}"
count = 1_000_000
size = "1 KB"
[entity.Order.fields]
user_id = "ulid"
order_id = "ulid"
status = { type = "string", values = ["open", "paid", "sent"] }
placed_at = "datetime"

[entity.Event]
PK = "USER#{user_id}"
SK = "EVENT#{at}#{n}"
count = 5_000
[entity.Event.fields]
user_id = "ulid"
at = "datetime"
n = "u32"

[access."orders of a user"]
find = "Order"
where = "user_id = ?"
limit = 20

[access."orders by status"]
find = "Order"
where = "status = ?"
order = "placed_at"
limit = 20
"#;

fn checked(text: &str) -> CheckReport {
    parsed(text).unwrap_or_else(|| panic!("not a design: {text}"))
}

fn parsed(text: &str) -> Option<CheckReport> {
    let (design, _) = Design::parse("d.toml", text);
    design.map(|design| check(&design, &Prices::default()))
}

/// What changes when these texts are replaced in [`OLD`].
fn change(edits: &[(&str, &str)]) -> DesignDiff {
    let mut text = OLD.to_owned();
    for (from, to) in edits {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    compare(&checked(OLD), &checked(&text), &Prices::default())
}

/// The lines of the report, without the blank ones.
fn lines(edits: &[(&str, &str)]) -> Vec<String> {
    let text = human(&change(edits));
    text.lines().filter(|line| !line.is_empty()).map(|line| line.trim().to_owned()).collect()
}

/// The report has these lines.
fn says(edits: &[(&str, &str)], wanted: &[&str]) {
    let lines = lines(edits);
    for line in wanted {
        assert!(lines.iter().any(|said| said == line), "{line:?} is not in {lines:#?}");
    }
}

#[test]
fn a_design_does_not_differ_from_itself() {
    for report in examples(|_| true).iter().filter_map(|(_, text)| parsed(text)) {
        let diff = compare(&report, &report, &Prices::default());
        assert!(diff.is_empty(), "{}", human(&diff));
        assert_eq!((diff.steps.len(), diff.effort.items), (0, 0.0));
    }
}

#[test]
fn a_new_sort_key_writes_every_item_anew() {
    says(
        &[("SK = \"ORDER#{order_id}\"", "SK = \"ORDER#{placed_at}#{order_id}\"")],
        &[
            "Order: new primary key: each item is written anew, the old one deleted, 1 M items",
            "~ SK = \"ORDER#{order_id}\" → \"ORDER#{placed_at}#{order_id}\" (table)",
            "1. migrate the items of Order",
            // A transaction puts and deletes 1 KB, twice the units each; the entry is inserted and deleted.
            "1 M items written: 6 M write units, 125 k read units, $3.77 on demand",
        ],
    );
}

#[test]
fn keys_that_could_collide_are_named() {
    let diff = change(&[("EVENT#{at}#{n}", "EVENT#{at:date}#{n}")]);
    let event = &diff.entities[1];
    assert_eq!(event.hazards, [Hazard::Collision { fields: vec!["at".to_owned()] }]);
    let diff = change(&[("EVENT#{at}#{n}", "EVENT#{n}#{at}")]);
    assert_eq!(diff.entities[1].hazards, []);
    assert!(!diff.has_hazards());
}

#[test]
fn a_key_that_needs_what_no_item_has_is_named() {
    says(
        &[
            ("EVENT#{at}#{n}", "EVENT#{kind}#{at}#{n}"),
            ("n = \"u32\"", "n = \"u32\"\nkind = \"string\""),
        ],
        &[
            "! SK needs `kind`, which stored items do not have: declare it optional, or fill it in first",
        ],
    );
    says(
        &[("n = \"u32\"", "n = \"u32\"\nnote = { type = \"string\", optional = true }")],
        &[
            "Event: stored items stay as they are, 5 k items",
            "+ note (optional: stored items may lack it)",
        ],
    );
}

#[test]
fn indexes_change_one_at_a_time_and_never_in_place() {
    let projection = ("sort_key = \"GSI1SK\"", "sort_key = \"GSI1SK\"\nprojection = \"keys\"");
    says(
        &[projection],
        &[
            "! shop.GSI1: deleted and created again: projection all becomes keys",
            "2. create index shop.GSI1 and wait until it is ACTIVE",
        ],
    );
    let local = "[table.shop.index.GSI1]\nlocal = true\npartition_key = \"PK\"";
    let lines = lines(&[
        ("[table.shop.index.GSI1]\npartition_key = \"GSI1PK\"", local),
        ("GSI1PK = \"STATUS#{status}\"\n", ""),
    ]);
    assert!(lines.iter().any(|line| line.starts_with("! shop: a new table is needed: local")));
    assert!(
        lines.contains(&"1. create a new table in place of shop, under another name".to_owned())
    );
}

#[test]
fn what_adds_comes_before_what_takes_away() {
    let diff = change(&[
        ("[table.shop.index.GSI1]", "[table.shop.index.GSI2]"),
        ("GSI1PK", "GSI2PK"),
        ("GSI1SK", "GSI2SK"),
    ]);
    let steps: Vec<String> = diff.steps.iter().map(Step::describe).collect();
    assert_eq!(
        steps,
        [
            "create index shop.GSI2 and wait until it is ACTIVE",
            "migrate the items of Order",
            "delete index shop.GSI1",
        ]
    );
    assert_eq!(diff.entities[0].items, ItemChange::Rewritten);
}

#[test]
fn patterns_are_gained_and_lost() {
    says(
        &[("GSI1PK = \"STATUS#{status}\"\nGSI1SK = \"{placed_at}#{order_id}\"\n", "")],
        &["lost: orders by status (query on GSI1, 2.5 units → refused, not proven)"],
    );
}

#[test]
fn an_entity_moves_to_another_table() {
    let other =
        "[table.log]\npartition_key = \"PK\"\nsort_key = \"SK\"\n\n[entity.Event]\ntable = \"log\"";
    says(
        &[("[entity.Event]", other), ("[entity.Order]", "[entity.Order]\ntable = \"shop\"")],
        &["+ log", "Event: moves from shop to log, 5 k items", "1. create table log"],
    );
}

#[test]
fn a_renamed_entity_keeps_its_items() {
    let edits =
        [("[entity.Event]", "[entity.Log]"), ("[entity.Event.fields]", "[entity.Log.fields]")];
    says(&edits, &["Log (was Event): stored items stay as they are, 5 k items"]);
    assert!(change(&edits).steps.is_empty(), "nothing is deleted");
}

#[test]
fn other_shards_are_another_key() {
    let sharded = |count: &str| {
        let field = format!("n = {{ type = \"shard\", shards = {count}, by = \"at\" }}");
        OLD.replace("n = \"u32\"", &field)
    };
    let prices = Prices::default();
    let diff = compare(&checked(&sharded("8")), &checked(&sharded("4")), &prices);
    assert_eq!(diff.entities[1].items, ItemChange::Rekeyed);
    assert!(human(&diff).contains("(8 shards by at)"), "{}", human(&diff));
}

#[test]
fn values_that_no_longer_fit_are_hazards() {
    says(
        &[("[\"open\", \"paid\", \"sent\"]", "[\"open\", \"sent\"]")],
        &["! stored items may have `status` = paid, which is no longer among its values"],
    );
    let optional = OLD.replace(
        "placed_at = \"datetime\"",
        "placed_at = { type = \"datetime\", optional = true }",
    );
    let diff = compare(&checked(&optional), &checked(OLD), &Prices::default());
    assert_eq!(diff.entities[0].hazards, [Hazard::MayLack { field: "placed_at".to_owned() }]);
}

/// A field before and after, and what stored items may hold that no longer fits.
const NARROWED: &[(&str, &str, &[&str])] = &[
    ("string:40", "string:20", &["longer than 20 bytes"]),
    ("string", "string:20", &["longer than 20 bytes"]),
    ("string:20", "string:40", &[]),
    ("string", "token", &["with other characters than letters, digits, `-`, `.` and `_`"]),
    ("token", "string", &[]),
    ("string", "fixed:3", &["longer than 3 bytes", "shorter than 3 bytes"]),
    ("fixed:3", "string", &[]),
    ("string", "enum:a|b", &["other than a, b"]),
    ("enum:a|b", "string:1", &[]),
    ("enum:a|bcd", "string:2", &["longer than 2 bytes"]),
    ("u32", "u16", &["above 65535"]),
    ("u16", "u32", &[]),
    ("u32", "u32:6", &["above 999999"]),
    ("u32:6", "u32:plain", &[]),
    ("i64", "u64", &["below 0"]),
    ("u8", "i64", &[]),
    ("u64", "i64", &["above 9223372036854775807"]),
    ("decimal:10.2", "decimal:8.2", &["below -999999", "above 999999"]),
    ("decimal:10.4", "decimal:10.2", &["with more than 2 digits after the point"]),
    ("decimal:10.2", "u64", &["below 0", "that is not a whole number"]),
    (
        "number",
        "decimal:10.2",
        &["below -99999999", "above 99999999", "with more than 2 digits after the point"],
    ),
    ("decimal:10.2", "number", &[]),
    ("hex", "hex:4", &["longer than 4 bytes", "shorter than 4 bytes"]),
];

#[test]
fn narrower_fields_are_hazards() {
    let with =
        |kind: &str| checked(&OLD.replace("n = \"u32\"", &format!("n = \"u32\"\nv = {kind:?}")));
    for (before, after, wanted) in NARROWED {
        let diff = compare(&with(before), &with(after), &Prices::default());
        let mut beyond = diff.entities[1].hazards.iter().flat_map(|hazard| match hazard {
            Hazard::Narrower { field, beyond } if field == "v" => beyond.clone(),
            other => panic!("{before} to {after}: {other:?}"),
        });
        let beyond: Vec<String> = beyond.by_ref().collect();
        assert_eq!(beyond, *wanted, "{before} to {after}");
        assert_eq!(diff.has_hazards(), !wanted.is_empty(), "{before} to {after}");
    }
}

#[test]
fn narrower_periods_and_lists_are_hazards() {
    let with = |settings: &str| {
        let fields = format!("n = \"u32\"\nday = {{ type = \"date\"{settings} }}");
        checked(&OLD.replace("n = \"u32\"", &fields))
    };
    let beyond = |before: &str, after: &str| {
        let diff = compare(&with(before), &with(after), &Prices::default());
        human(&diff)
            .lines()
            .filter(|line| line.contains("! "))
            .map(str::trim)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        beyond("", ", since = \"2020-01-01\""),
        ["! stored items may have a `day` before 2020-01-01, which no longer fits"]
    );
    assert_eq!(
        beyond(", until = \"2030\"", ", until = \"2029\", since = \"2020\""),
        ["! stored items may have a `day` before 2020 or after 2029, which no longer fits"]
    );
    assert!(beyond(", since = \"2020-01-01\"", ", since = \"2019\"").is_empty());
    let list = |most: u32| {
        checked(&OLD.replace(
            "n = \"u32\"",
            &format!("n = \"u32\"\ntags = {{ type = \"list\", max_items = {most} }}"),
        ))
    };
    let diff = compare(&list(20), &list(10), &Prices::default());
    let beyond = vec!["of more than 10 elements".to_owned()];
    assert_eq!(diff.entities[1].hazards, [Hazard::Narrower { field: "tags".to_owned(), beyond }]);
}

#[test]
fn templates_that_are_written_alike_show_what_differs() {
    says(
        &[("n = \"u32\"", "n = \"u32:6\"")],
        &[
            "~ SK = \"EVENT#{at}#{n:u32}\" → \"EVENT#{at}#{n:u32:6}\" (table)",
            "! stored items may have a `n` above 999999, which no longer fits",
        ],
    );
    let named = OLD.replace("n = \"u32\"", "n = \"string\"");
    let escape = named.replacen("sort_key = \"SK\"", "sort_key = \"SK\"\nescape = \"percent\"", 1);
    let order = escape.replace("\"percent\"", "\"order\"");
    let diff = human(&compare(&checked(&escape), &checked(&order), &Prices::default()));
    let line = "~ SK = \"EVENT#{at}#{n}\" with escape percent → \"EVENT#{at}#{n}\" with escape order (table)";
    assert!(diff.contains(line), "{diff}");
}

#[test]
fn a_longer_text_changes_no_key() {
    let length = |max: u32| {
        let field = format!("n = {{ type = \"string\", max = {max} }}");
        checked(&OLD.replace("n = \"u32\"", &field))
    };
    let diff = compare(&length(40), &length(80), &Prices::default());
    assert!(diff.is_empty(), "{}", human(&diff));
}

#[test]
fn a_pattern_with_another_order_asks_something_else() {
    says(
        &[("order = \"placed_at\"", "order = \"placed_at desc\"")],
        &[
            "asks something else: orders by status (query on GSI1, 2.5 units → query on GSI1, 2.5 units)",
        ],
    );
}

#[test]
fn an_attribute_that_names_the_entity_is_written_into_every_item() {
    says(
        &[("sort_key = \"SK\"", "sort_key = \"SK\"\ntype_attribute = \"kind\"")],
        &["Event: rewritten in place, 5 k items", "+ kind"],
    );
}

/// Changes some key templates of a design: pieces dropped, swapped or made coarser.
fn mutated(text: &str, random: &mut SplitMix64) -> String {
    let edit = |line: &str, choice: usize| match choice {
        0 => line.rfind("#{").map(|at| format!("{}\"", &line[..at])),
        1 => line.find("#{").map(|at| format!("{}#X#{{{}", &line[..at], &line[at + 2..])),
        2 if line.contains("_at}") => Some(line.replacen("_at}", "_at:date}", 1)),
        3 => {
            let fields: Vec<&str> = line.split('#').collect();
            (fields.len() > 3).then(|| {
                let mut swapped = fields.clone();
                let last = swapped.len() - 1;
                swapped[last] = fields[last].trim_end_matches('"');
                swapped.swap(last, last - 1);
                format!("{}\"", swapped.join("#"))
            })
        }
        _ => None,
    };
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let is_key = line.contains("= \"") && line.contains("#{") && line.ends_with('"');
            let changed = is_key.then(|| edit(line, random.below(8))).flatten();
            changed.unwrap_or_else(|| line.to_owned())
        })
        .collect();
    lines.join("\n")
}

/// Without a hazard, no two stored items get one key: every item generated from the old design is written under the
/// new one.
#[test]
fn without_a_hazard_no_two_items_get_the_same_key() {
    let mut random = SplitMix64::new(7);
    let (mut safe, mut collided) = (0, 0);
    for (_, text) in examples(|_| true) {
        let Some(before) = parsed(&text) else { continue };
        for _ in 0..2 {
            let changed = mutated(&text, &mut random);
            let Some(after) = parsed(&changed) else { continue };
            let diff = compare(&before, &after, &Prices::default());
            // Every form can be printed.
            assert!(!markdown(&diff).is_empty() && json(&diff).is_object());
            let (old, new) = (before.design.as_ref().unwrap(), after.design.unwrap());
            let rows = generate(old, &GenerateOptions { items: 300, ..Default::default() });
            for entity in diff.entities.iter().filter(|e| e.items == ItemChange::Rekeyed) {
                let target = new.entity(&entity.name).unwrap();
                let keys: Vec<_> = rows
                    .iter()
                    .filter(|row| row.entity.name == entity.name)
                    .map(|row| Row { entity: target.clone(), values: row.values.clone() })
                    .map(|row| row.index_values(target.table.primary()))
                    .collect();
                let written: HashSet<String> =
                    keys.iter().flatten().map(|key| format!("{key:?}")).collect();
                let is_injective = written.len() == keys.iter().flatten().count();
                if entity.hazards.is_empty() {
                    assert!(is_injective, "{}\n{changed}", human(&diff));
                    safe += 1;
                } else if !is_injective {
                    collided += 1;
                }
            }
        }
    }
    println!("{safe} changes without a hazard, {collided} with a collision that was foreseen");
    assert!(safe > 15 && collided > 15, "{safe} {collided}");
}
