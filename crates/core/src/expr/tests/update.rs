//! Applying updates to items.

use super::{bindings, item};
use crate::value::Item;

const VALUES: &str = r#"{
    ":n": 7, ":s": "new", ":l": ["y", "z"], ":m": {"k": 1}, ":ns": {"$ns": [4, 9]}, ":one": 1,
    ":ss": {"$ss": ["cat", "pig"]}, ":all": {"$ss": ["dog", "cat"]}, ":big": 1e125, ":empty": []
}"#;

const ITEM: &str = r#"{
    "pk": "k", "n": 3, "s": "old", "l": [1, 2, 3, 4], "m": {"a": 1, "ls": [{"x": 1}, {"y": 2}]},
    "ns": {"$ns": [2, 4]}, "ss": {"$ss": ["dog", "cat"]}, "deep": [[1, 2], [3, 4]], "big": 9e125
}"#;

fn key() -> Item {
    item(r#"{"pk": "k"}"#)
}

fn apply(text: &str, existing: Option<&Item>) -> Result<Item, String> {
    let update = bindings("", VALUES).update(text).unwrap();
    update.apply(existing, &key()).map_err(|error| error.message())
}

/// Checks the changed attributes of [`ITEM`]; null means removed.
fn check(table: &[(&str, &str)]) {
    for (text, changes) in table {
        let mut expected = item(ITEM);
        for (name, value) in item(changes) {
            if value == crate::AttributeValue::Null {
                expected.remove(&name);
            } else {
                expected.insert(name, value);
            }
        }
        assert_eq!(apply(text, Some(&item(ITEM))), Ok(expected), "{text}");
    }
}

#[test]
fn set_writes_values() {
    check(&[
        ("SET s = :s, fresh = :n", r#"{"s": "new", "fresh": 7}"#),
        ("SET n = n + :n", r#"{"n": 10}"#),
        ("SET x = :n - n", r#"{"x": 4}"#),
        ("SET m.b = :m", r#"{"m": {"a": 1, "b": {"k": 1}, "ls": [{"x": 1}, {"y": 2}]}}"#),
        ("SET m.ls[1].y = :s", r#"{"m": {"a": 1, "ls": [{"x": 1}, {"y": "new"}]}}"#),
        ("SET l[1] = :s", r#"{"l": [1, "new", 3, 4]}"#),
        ("SET l = list_append(l, :l)", r#"{"l": [1, 2, 3, 4, "y", "z"]}"#),
        ("SET l = list_append(:l, l)", r#"{"l": ["y", "z", 1, 2, 3, 4]}"#),
        ("SET q = list_append(if_not_exists(q, :empty), :l)", r#"{"q": ["y", "z"]}"#),
        ("SET q = if_not_exists(q, :n) + :one", r#"{"q": 8}"#),
        ("SET n = if_not_exists(n, :n)", "{}"),
        ("SET q = if_not_exists(x, if_not_exists(y, m.a))", r#"{"q": 1}"#),
        ("SET x = deep[1][0]", r#"{"x": 3}"#),
    ]);
}

#[test]
fn right_hand_sides_read_the_original_item() {
    check(&[
        ("SET n = :n, x = n", r#"{"n": 7, "x": 3}"#),
        ("SET x = n, n = s, s = :s", r#"{"x": 3, "n": "old", "s": "new"}"#),
        ("REMOVE n SET x = n", r#"{"n": null, "x": 3}"#),
    ]);
}

#[test]
fn lists_grow_at_their_end_in_index_order() {
    check(&[
        ("SET l[9] = :s", r#"{"l": [1, 2, 3, 4, "new"]}"#),
        ("SET l[84] = :n, l[37] = :s, l[17] = :one", r#"{"l": [1, 2, 3, 4, 1, "new", 7]}"#),
        ("SET l[9] = :s, l[0] = :n", r#"{"l": [7, 2, 3, 4, "new"]}"#),
        ("SET l[9] = :s REMOVE l[0]", r#"{"l": [2, 3, 4, "new"]}"#),
        ("ADD l[9] :n", r#"{"l": [1, 2, 3, 4, 7]}"#),
    ]);
}

#[test]
fn removals_mean_the_original_indexes() {
    check(&[
        ("REMOVE s, m.a", r#"{"s": null, "m": {"ls": [{"x": 1}, {"y": 2}]}}"#),
        ("REMOVE l[0], l[2]", r#"{"l": [2, 4]}"#),
        ("REMOVE l[2], l[0], l[17]", r#"{"l": [2, 4]}"#),
        ("REMOVE l[1] SET l[3] = :s", r#"{"l": [1, 3, "new"]}"#),
        ("REMOVE m.ls[0], m.ls[1].y", r#"{"m": {"a": 1, "ls": [{}]}}"#),
        ("REMOVE deep[0], deep[1][0]", r#"{"deep": [[4]]}"#),
        ("REMOVE q, m.q", "{}"),
    ]);
}

#[test]
fn add_and_delete() {
    check(&[
        ("ADD n :n", r#"{"n": 10}"#),
        (
            "ADD q :n, m.q :ns",
            r#"{"q": 7, "m": {"a": 1, "q": {"$ns": [4, 9]}, "ls": [{"x": 1}, {"y": 2}]}}"#,
        ),
        ("ADD ns :ns", r#"{"ns": {"$ns": [2, 4, 9]}}"#),
        ("ADD ss :ss", r#"{"ss": {"$ss": ["dog", "cat", "pig"]}}"#),
        ("DELETE ss :ss", r#"{"ss": {"$ss": ["dog"]}}"#),
        ("DELETE ss :all", r#"{"ss": null}"#),
        ("DELETE q :all", "{}"),
        ("ADD l[0] :n", r#"{"l": [8, 2, 3, 4]}"#),
    ]);
}

#[test]
fn updates_that_do_not_fit_the_item_are_refused() {
    let missing = "The provided expression refers to an attribute that does not exist in the item";
    let path = "The document path provided in the update expression is invalid for update";
    let operand = "An operand in the update expression has an incorrect data type";
    let overflow = "Number overflow. Attempting to store a number with magnitude larger than \
         supported range";
    for (text, expected) in [
        ("SET x = q", missing),
        ("SET x = :n, y = x", missing),
        ("SET x = n + q", missing),
        ("SET x = list_append(q, :l)", missing),
        ("SET n.x = :n", path),
        ("SET q.x = :n", path),
        ("SET l.x = :n", path),
        ("SET m[0] = :n", path),
        ("SET l[7].x = :n", path),
        ("SET deep[9] = :l, deep[2][30] = :n", path),
        ("REMOVE n.x", path),
        ("REMOVE q[0]", path),
        ("ADD q.x :n", path),
        ("DELETE q.x :ss", path),
        ("SET x = s + n", operand),
        ("SET x = list_append(n, :l)", operand),
        ("ADD s :n", operand),
        ("ADD ns :n", operand),
        ("ADD ns :ss", operand),
        ("DELETE ns :ss", operand),
        ("DELETE l :ss", operand),
        ("SET x = big + :big", overflow),
        ("ADD big :big", overflow),
    ] {
        assert_eq!(apply(text, Some(&item(ITEM))), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn a_missing_item_starts_as_its_key() {
    assert_eq!(apply("SET a = :n, b = pk", None), Ok(item(r#"{"pk": "k", "a": 7, "b": "k"}"#)));
    assert_eq!(apply("ADD a :n", None), Ok(item(r#"{"pk": "k", "a": 7}"#)));
    assert_eq!(apply("REMOVE x.y, z[0]", None), Ok(key()));
    assert!(apply("SET x.y = :n", None).is_err());
}

#[test]
fn an_update_that_only_removes_creates_no_item() {
    for (text, creates) in [
        ("REMOVE a", false),
        ("DELETE a :ss", false),
        ("REMOVE a SET b = :n", true),
        ("ADD a :n", true),
    ] {
        assert_eq!(bindings("", VALUES).update(text).unwrap().creates_item(), creates, "{text}");
    }
}

#[test]
fn targets_are_the_updated_paths() {
    let before = item(ITEM);
    for (text, old, new) in [
        ("SET s = :s, fresh = :n", r#"{"s": "old"}"#, r#"{"s": "new", "fresh": 7}"#),
        ("SET m.a = :s", r#"{"m": {"a": 1}}"#, r#"{"m": {"a": "new"}}"#),
        (
            "SET l[1] = :s, m.a = :n",
            r#"{"l": [2], "m": {"a": 1}}"#,
            r#"{"l": ["new"], "m": {"a": 7}}"#,
        ),
        ("REMOVE s", r#"{"s": "old"}"#, "{}"),
        // AWS returns the element that moved up, but not an appended one.
        ("REMOVE l[1], l[9]", r#"{"l": [2]}"#, r#"{"l": [3]}"#),
        ("SET l[100] = :n", "{}", "{}"),
    ] {
        let update = bindings("", VALUES).update(text).unwrap();
        let after = update.apply(Some(&before), &key()).unwrap();
        assert_eq!(update.targets().apply(&before), item(old), "{text}");
        assert_eq!(update.targets().apply(&after), item(new), "{text}");
    }
}

#[test]
fn keys_cannot_be_updated() {
    for text in ["SET pk = :s", "ADD pk.x :n", "REMOVE a, pk", "DELETE pk :ss"] {
        let update = bindings("", VALUES).update(text).unwrap();
        assert_eq!(
            update.check_excludes_keys(["pk", "sk"]).unwrap_err().message(),
            "One or more parameter values were invalid: Cannot update attribute pk. \
             This attribute is part of the key",
            "{text}"
        );
        assert!(update.check_excludes_keys(["sk"]).is_ok());
    }
    let reads_key = bindings("", VALUES).update("SET a = pk").unwrap();
    assert!(reads_key.check_excludes_keys(["pk"]).is_ok());
    assert_eq!(reads_key.paths().len(), 2);
}
