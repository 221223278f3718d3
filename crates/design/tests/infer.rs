//! Inference against the designs that people wrote: items are generated from them, and their keys found again.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyloom_core::AttributeValue;
use keyloom_design::cost::Prices;
use keyloom_design::emit::{create_table, time_to_live};
use keyloom_design::evaluate::{Row, entity_of};
use keyloom_design::exchange::described_table;
use keyloom_design::generate::{GenerateOptions, generate};
use keyloom_design::infer::{Inferred, Observed, Sampler, infer};
use keyloom_design::model::{Entity, EntityKey};
use keyloom_design::{CheckReport, Design, Severity, check};
use keyloom_keys::{FieldFormat, FieldType, Segment};

fn designs() -> Vec<(String, Design)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = files.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let as_written = path.file_stem()?.to_str()?.ends_with(".as-written");
        let wanted = path.extension()? == "toml" && !as_written;
        wanted.then(|| {
            let text = std::fs::read_to_string(path).unwrap();
            let (design, problems) = Design::read(&name, &text);
            assert!(problems.is_empty(), "{name}: {problems:?}");
            (name, design)
        })
    });
    named.collect()
}

/// What `keyloom check` says of a file, without looking for changes that help.
fn checked(text: &str) -> CheckReport {
    let (design, problems) = Design::read("found.toml", text);
    let wrong = problems.iter().find(|problem| problem.severity == Severity::Error);
    assert!(wrong.is_none(), "{wrong:?}\n{text}");
    check(&design, &Prices::default())
}

/// What is known of the tables of a design that has these rows.
fn observed(design: &Design, rows: &[Row]) -> Vec<Observed> {
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
            sampler.add(&row.item());
        }
        Observed {
            table: described_table(&description).unwrap(),
            sample: sampler.finish(),
            items: None,
        }
    });
    tables.collect()
}

fn inferred(design: &Design, items: usize, seed: u64, adversarial: bool) -> (Vec<Row>, Inferred) {
    let rows = generate(design, &GenerateOptions { items, seed, adversarial });
    let found = infer(&observed(design, &rows), &[]);
    (rows, found)
}

/// A template without the names of its fields, and with types that write the same keys taken for one.
fn shape(key: &EntityKey) -> String {
    if key.shape.is_native() {
        return "native".to_owned();
    }
    let template = key.shape.template().template();
    let pieces = template.segments().iter().map(|segment| match segment {
        Segment::Literal(text) => text.clone(),
        Segment::Field(field) => format!("{{{}}}", class(field.format())),
    });
    pieces.collect()
}

fn class(format: &FieldFormat) -> String {
    let order = if format.is_desc() { ":desc" } else { "" };
    match format.kind() {
        FieldType::String | FieldType::Token | FieldType::Enum(_) | FieldType::Fixed => {
            format!("text{order}")
        }
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 if format.is_plain() => {
            "number".to_owned()
        }
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            format!("digits:{}{order}", format.width().unwrap_or_default())
        }
        _ => format.to_string(),
    }
}

/// The entity of the found design that most rows of an entity are read as.
fn counterpart<'d>(found: &'d Design, entity: &Entity, rows: &[Row]) -> Option<&'d Entity> {
    let mut counts: BTreeMap<&str, (usize, &Entity)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.entity.name == entity.name) {
        if let Some(other) = entity_of(found, &entity.table.name, &row.item()) {
            counts.entry(&other.name).or_insert((0, other)).0 += 1;
        }
    }
    counts.into_values().max_by_key(|(count, _)| *count).map(|(_, entity)| entity)
}

/// The key attributes of a design that were found again, and those that were not.
fn compare(
    name: &str,
    design: &Design,
    rows: &[Row],
    found: &Design,
    misses: &mut Vec<String>,
) -> (usize, usize) {
    let (mut all, mut right) = (0, 0);
    for entity in design.entities() {
        let is_there = |key: &EntityKey| {
            rows.iter().any(|row| {
                row.entity.name == entity.name && row.item().contains_key(&key.attribute)
            })
        };
        let other = counterpart(found, entity, rows);
        for key in entity.keys.iter().filter(|key| is_there(key)) {
            all += 1;
            let wanted = shape(key);
            let got = other.and_then(|other| other.key(&key.attribute)).map(shape);
            if got.as_deref() == Some(&wanted) {
                right += 1;
            } else {
                misses.push(format!(
                    "{name}: {}.{}: {wanted} was found as {}",
                    entity.name,
                    key.attribute,
                    got.unwrap_or_else(|| "nothing".to_owned())
                ));
            }
        }
    }
    (all, right)
}

#[test]
fn keys_of_designs_are_found_again_in_their_items() {
    let (mut all, mut right, mut misses) = (0, 0, Vec::new());
    for (name, design) in designs() {
        let (rows, found) = inferred(&design, 300, 7, true);
        let report = checked(&found.text);
        assert!(!report.has_errors(), "{name}:\n{}\n{:?}", found.text, report.findings);
        assert_eq!(found.exceptions, [], "{name}:\n{}", found.text);
        assert_eq!(found.verified as usize, rows.len(), "{name}");
        let other = report.design.unwrap();
        let (some, good) = compare(&name, &design, &rows, &other, &mut misses);
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
