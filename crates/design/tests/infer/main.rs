//! Inference against the designs that people wrote: items are generated from them, and their keys found again.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is how a test fails; figures are shown"
)]

#[path = "../support/examples.rs"]
mod examples;

mod compare;

use keyloom_core::AttributeValue;
use keyloom_design::cost::Prices;
use keyloom_design::emit::{create_table, time_to_live};
use keyloom_design::evaluate::Row;
use keyloom_design::exchange::described_table;
use keyloom_design::generate::{GenerateOptions, generate};
use keyloom_design::infer::{Observed, Sampler, infer};
use keyloom_design::{CheckReport, Design, Severity, check};

use compare::{Stored, compare, designs, item_of};

/// What `keyloom check` says of a file, without looking for changes that help.
fn checked(text: &str) -> CheckReport {
    let (design, problems) = Design::read("found.toml", text);
    let wrong = problems.iter().find(|problem| problem.severity == Severity::Error);
    assert!(wrong.is_none(), "{wrong:?}\n{text}");
    check(&design, &Prices::default())
}

/// What is known of the tables of a design that has these rows.
fn observed(design: &Design, rows: &[Row], stored: Stored) -> Vec<Observed> {
    let tables = design.tables().iter().map(|table| {
        let mut description = create_table(table);
        if let Some(ttl) = time_to_live(table) {
            let stated = ttl.get("TimeToLiveSpecification").unwrap().clone();
            description
                .as_object_mut()
                .unwrap()
                .insert("TimeToLiveSpecification".to_owned(), stated);
        }
        let keys: Vec<String> =
            table.primary().attributes().map(|attribute| attribute.name.clone()).collect();
        let mut sampler = Sampler::new(&keys);
        for row in rows.iter().filter(|row| row.entity.table.name == table.name) {
            sampler.add(&item_of(row, stored));
        }
        Observed {
            table: described_table(&description).unwrap(),
            sample: sampler.finish(),
            items: None,
        }
    });
    tables.collect()
}

/// Finds the key attributes of all designs again, in items stored in a form; 95 % of them at least.
fn keys_are_found_again(stored: Stored) {
    let (mut all, mut right, mut misses) = (0, 0, Vec::new());
    for (name, design) in designs() {
        let options = GenerateOptions { items: 300, seed: 7, adversarial: true };
        let rows = generate(&design, &options);
        let found = infer(&observed(&design, &rows, stored), &[]);
        let report = checked(&found.text);
        assert!(!report.has_errors(), "{name}:\n{}\n{:?}", found.text, report.findings);
        assert_eq!(found.exceptions, [], "{name}:\n{}", found.text);
        assert_eq!(found.verified as usize, rows.len(), "{name}");
        let other = report.design.unwrap();
        let (some, good) = compare(&name, &design, &rows, &other, stored, &mut misses);
        all += some;
        right += good;
    }
    let share = right as f64 / all as f64;
    println!("{right} of {all} key attributes found again ({:.1} %)", share * 100.0);
    for miss in &misses {
        println!("{miss}");
    }
    assert!(share >= 0.95, "{right} of {all}");
}

#[test]
fn keys_of_designs_are_found_again_in_their_items() {
    keys_are_found_again(Stored::All);
}

#[test]
fn keys_of_designs_are_found_again_where_nothing_else_is_stored() {
    keys_are_found_again(Stored::KeysOnly);
}

/// A text that is no word of any program.
fn random_text(random: &mut keyloom_core::hash::SplitMix64) -> String {
    (0..=random.below(30)).map(|_| char::from(random.below(95) as u8 + 32)).collect()
}

#[test]
fn nothing_that_is_stored_breaks_inference() {
    let mut random = keyloom_core::hash::SplitMix64::new(3);
    let description = serde_json::json!({
        "TableName": "things",
        "AttributeDefinitions": [
            {"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"},
            {"AttributeName": "G", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [{"IndexName": "by_g", "KeySchema": [{"AttributeName": "G", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}}],
    });
    for round in 0..60 {
        let mut sampler = Sampler::new(&["PK".to_owned(), "SK".to_owned()]);
        let count = [0, 1, 2, 3, 10, 200][round % 6];
        for _ in 0..count {
            let mut item = keyloom_core::Item::new();
            item.insert("PK", random_text(&mut random).as_str());
            item.insert("SK", random_text(&mut random).as_str());
            for name in ["G", "a", "type", "weird name", "{x}", "at"] {
                match random.below(6) {
                    0 => drop(item.insert(name, random_text(&mut random).as_str())),
                    1 if name != "G" => {
                        drop(item.insert(name, AttributeValue::from(random.below(50) as i64)));
                    }
                    2 if name != "G" => drop(item.insert(name, AttributeValue::Null)),
                    3 if name != "G" => drop(item.insert(name, AttributeValue::Bool(true))),
                    _ => {}
                }
            }
            sampler.add(&item);
        }
        let table = described_table(&description).unwrap();
        let found = infer(&[Observed { table, sample: sampler.finish(), items: None }], &[]);
        let report = checked(&found.text);
        assert!(!report.has_errors(), "{}\n{:?}", found.text, report.findings);
    }
}
