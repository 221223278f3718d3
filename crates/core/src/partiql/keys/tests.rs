//! Items and key ranges of conditions.

use super::*;
use crate::partiql::{Statement, bind, parse};
use crate::schema::ScalarType;

fn key() -> KeySchema {
    let attribute = |name: &str| KeyAttribute::new(name, ScalarType::S);
    KeySchema::simple(attribute("pk"), Some(attribute("sk")))
}

fn condition(text: &str) -> Condition {
    match bind(&parse(&format!("SELECT * FROM t WHERE {text}")).unwrap(), Vec::new()) {
        Ok(Statement::Select(select)) => select.condition.unwrap(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_write_identifies_one_item() {
    for (text, keys, has_rest, repeated) in [
        ("pk = 'a' AND sk = 'b'", 2, false, None),
        ("'b' = sk AND (pk = 'a' AND x = 1)", 2, true, None),
        ("pk = 'a' AND sk = 'b' AND pk = 'a'", 2, false, None),
        ("pk = 'a' AND sk = 'b' AND pk = 'c'", 2, true, Some("pk")),
        ("pk = 'a' AND sk = 'b' AND (x = 1 OR y = 2) AND NOT sk = 'c'", 2, true, None),
    ] {
        let found = one_item(Some(condition(text)), &key()).unwrap();
        assert_eq!(found.key.len(), keys, "{text}");
        assert_eq!(found.rest.is_some(), has_rest, "{text}");
        assert_eq!(found.repeated.as_deref(), repeated, "{text}");
    }
    for text in [
        "pk = 'a'",
        "sk = 'b'",
        "x = 1",
        "pk = 'a' AND sk > 'b'",
        "pk IN ['a'] AND sk = 'b'",
        "pk = 'a' AND sk = 'b' OR x = 1",
        "NOT (pk = 'a' AND sk = 'b')",
    ] {
        assert_eq!(one_item(Some(condition(text)), &key()), None, "{text}");
    }
    assert_eq!(one_item(None, &key()), None);
}

/// The partitions, with the number of sort key clauses and of other conditions of each.
fn shape(text: &str) -> Option<Vec<(String, usize, usize)>> {
    let condition = condition(text);
    let reads = reads(Some(&condition), &key()).unwrap()?;
    let shape = reads.into_iter().map(|read| {
        (read.hash.as_s().unwrap_or("?").to_owned(), read.range.len(), read.filters.len())
    });
    Some(shape.collect())
}

#[test]
fn a_read_is_split_into_key_ranges() {
    let table = [
        ("pk = 'a'", vec![("a", 0, 0)]),
        ("pk = 'a' AND sk > 'b' AND x = 1", vec![("a", 1, 1)]),
        ("pk = 'a' AND sk > 'b' AND sk < 'd'", vec![("a", 2, 0)]),
        ("pk IN ['a', 'b']", vec![("a", 0, 0), ("b", 0, 0)]),
        ("pk = 'a' OR pk = 'b' AND x = 1", vec![("a", 0, 0), ("b", 0, 1)]),
        (
            "pk IN ['a', 'b'] AND sk IN ['c', 'd']",
            vec![("a", 1, 0), ("a", 1, 0), ("b", 1, 0), ("b", 1, 0)],
        ),
        ("pk = 'a' AND (sk = 'b' OR x = 1)", vec![("a", 1, 0), ("a", 0, 1)]),
        ("pk = 'a' AND (x = 1 OR y = 2)", vec![("a", 0, 1)]),
        ("pk = 'a' AND NOT sk = 'b'", vec![("a", 0, 1)]),
        ("pk = 'a' AND begins_with(sk, 'b') AND sk <> 'bc'", vec![("a", 1, 1)]),
    ];
    for (text, expected) in table {
        let expected: Vec<_> = expected.iter().map(|(a, b, c)| ((*a).to_owned(), *b, *c)).collect();
        assert_eq!(shape(text), Some(expected), "{text}");
    }
}

#[test]
fn other_reads_scan_everything() {
    for text in [
        "x = 1",
        "pk > 'a'",
        "sk = 'a'",
        "pk = 'a' OR sk = 'b'",
        "NOT pk = 'a'",
        "pk = 'a' AND pk = 'b'",
        "pk = 'a' AND (pk = 'b' OR x = 1)",
        "pk = other",
        "pk.x = 'a'",
    ] {
        assert_eq!(shape(text), None, "{text}");
    }
    assert_eq!(reads(None, &key()), Ok(None));
}

#[test]
fn at_most_fifty_ranges_are_read() {
    let list =
        |count: usize| (0..count).map(|number| format!("'{number}'")).collect::<Vec<_>>().join(",");
    let outcome =
        |text: String| reads(Some(&condition(&text)), &key()).map(|reads| reads.map(|r| r.len()));
    assert_eq!(outcome(format!("pk IN [{}]", list(50))), Ok(Some(50)));
    let too_many = Err(message::too_many_reads());
    assert_eq!(outcome(format!("pk IN [{}]", list(51))), too_many);
    assert_eq!(outcome(format!("pk = 'a' AND sk IN [{}]", list(51))), too_many);
    assert_eq!(outcome(format!("pk IN [{}] AND sk IN ['a', 'b']", list(26))), too_many);
    assert_eq!(outcome(format!("pk IN [{0}] AND sk IN [{0}]", list(100))), too_many);
    assert_eq!(outcome(format!("pk IN [{}] OR x = 1", list(51))), Ok(None));
    assert_eq!(outcome(format!("pk = 'a' AND x IN [{}]", list(100))), Ok(Some(1)));
}

#[test]
fn values_must_be_of_the_types_of_the_key() {
    let check = |text: &str| {
        let condition = condition(text);
        let reads = reads(Some(&condition), &key()).unwrap().unwrap();
        reads.iter().try_for_each(|read| read.check_types(&key())).map_err(|e| e.message())
    };
    let mismatch = "Key attribute's data type should match its data type in table's schema: Key ";
    assert_eq!(check("pk = 'a' AND sk > 'b'"), Ok(()));
    assert_eq!(check("pk = 1 OR pk = 'a'"), Err(format!("{mismatch}pk")));
    assert_eq!(check("pk = 'a' AND sk IN ['1', 2]"), Err(format!("{mismatch}sk")));
    let scalar = "Key value must be of type S, N, or B. Key name: pk, Key type: BOOL";
    assert_eq!(check("pk = true"), Err(scalar.to_owned()));
}

#[test]
fn filters_on_unprojected_attributes_are_found() {
    let unprojected = |text: &str| {
        let condition = condition(text);
        let reads = reads(Some(&condition), &key()).unwrap().unwrap();
        unprojected_filters(&reads, |name| matches!(name, "pk" | "sk" | "held"))
            .map(|names| names.iter().map(Str::to_string).collect::<Vec<_>>())
    };
    let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(unprojected("pk = 'a' AND held = 1"), None);
    assert_eq!(unprojected("pk = 'a' AND NOT (x = 1 OR held = 2)"), names(&["x"]));
    assert_eq!(unprojected("pk = 'y' AND b = '1' AND (a = '2' OR held = '3')"), names(&["a", "b"]));
    assert_eq!(
        unprojected("pk = 'y' AND (zz = 1 OR aa = 2 OR mm = 3)"),
        names(&["zz", "aa", "mm"])
    );
    assert_eq!(unprojected("(pk = 'b' AND u1 = 1) OR (pk = 'q' AND u2 = 1)"), names(&["u2"]));
    assert_eq!(unprojected("(pk = 'q' AND u1 = 1) OR (pk = 'b' AND u2 = 1)"), names(&["u1"]));
    assert_eq!(unprojected("(pk = 'y' AND held = 1) OR (pk = 'z' AND aa = 1)"), None);
}
