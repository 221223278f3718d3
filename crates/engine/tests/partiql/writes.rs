//! INSERT, UPDATE and DELETE.

use serde_json::{Value, json};

use super::{Fixture, n, s};

#[test]
fn every_kind_of_literal_is_inserted() {
    let f = Fixture::new();
    let rows = f.run(
        "INSERT INTO \"music\" value {'pk': 'a', 'sk': '1', 'n': 1E3, 'neg': -1.5e-3, 'zero': -0,
         'm': {'x': 'value', 'y': 4}, 'l': [1, 'stringval', null, true], 'ns': <<1, 34, 4.5>>,
         'ss': <<'b', 'a'>>, 'q': 'it''s', 'dot': .7325e1}",
    );
    assert_eq!(rows, Vec::<Value>::new());
    let item = f.get("a", "1");
    assert_eq!(item["n"], n(1000));
    assert_eq!(item["neg"], json!({ "N": "-0.0015" }));
    assert_eq!(item["zero"], n(0));
    assert_eq!(item["m"], json!({ "M": { "x": s("value"), "y": n(4) } }));
    assert_eq!(
        item["l"],
        json!({ "L": [n(1), s("stringval"), { "NULL": true }, { "BOOL": true }] })
    );
    assert_eq!(item["ns"], json!({ "NS": ["1", "4.5", "34"] }));
    assert_eq!(item["ss"], json!({ "SS": ["a", "b"] }));
    assert_eq!(item["q"], s("it's"));
    assert_eq!(item["dot"], json!({ "N": "7.325" }));
}

#[test]
fn an_insert_is_no_upsert() {
    let f = Fixture::new();
    f.run("INSERT INTO music VALUE {'pk': 'a', 'sk': '1', 'x': 'first'}");
    let body =
        json!({ "Statement": "INSERT INTO music VALUE {'pk': 'a', 'sk': '1', 'x': 'second'}" });
    let expected =
        ("DuplicateItemException".into(), "Duplicate primary key exists in table".into());
    assert_eq!(f.err("ExecuteStatement", body), expected);
    assert_eq!(f.get("a", "1")["x"], s("first"));
    f.run("DELETE FROM music WHERE pk = 'a' AND sk = '1'");
    f.run("INSERT INTO music VALUE {'pk': 'a', 'sk': '1', 'x': 'third'}");
    assert_eq!(f.get("a", "1")["x"], s("third"));
}

#[test]
fn an_inserted_item_must_fit_its_table() {
    let f = Fixture::new();
    let missing = "One or more parameter values were invalid: Missing the key sk in the item";
    assert_eq!(f.refused("INSERT INTO music VALUE {'pk': 'a'}"), missing);
    let kind =
        "One or more parameter values were invalid: Type mismatch for key sk expected: S actual: N";
    assert_eq!(f.refused("INSERT INTO music VALUE {'pk': 'a', 'sk': 1}"), kind);
    assert_eq!(f.code("INSERT INTO nope VALUE {'pk': 'a'}"), "ResourceNotFoundException");
    let body = json!({
        "Statement": "INSERT INTO music VALUE {'pk': 'a', 'sk': '1', 'x': ?}",
        "Parameters": [s(&"x".repeat(409_600))],
    });
    let (_, message) = f.err("ExecuteStatement", body);
    assert_eq!(message, "Item size has exceeded the maximum allowed size");
}

#[test]
fn updates_change_what_they_name() {
    let f = Fixture::new();
    f.run(
        "INSERT INTO music VALUE {'pk': 'dt', 'sk': '1', 'n': 1, 'm': {'x': 1}, 'l': [1, 'a'],
         'ns': <<1, 34>>, 'ss': <<'a', 'b'>>, 'gone': 1}",
    );
    f.run(
        "UPDATE music SET n=n-1, n2 = n + 100 SET m.fresh = [2020, 'v'] SET l = LIST_APPEND(l, [4, <<'q'>>])
         SET ns = SET_ADD(ns, <<345>>) SET ss = set_delete(ss, <<'a'>>) REMOVE gone REMOVE m.x
         WHERE pk = 'dt' AND sk = '1'",
    );
    let item = f.get("dt", "1");
    assert_eq!((&item["n"], &item["n2"]), (&n(0), &n(101)));
    assert_eq!(item["m"], json!({ "M": { "fresh": { "L": [n(2020), s("v")] } } }));
    assert_eq!(item["l"], json!({ "L": [n(1), s("a"), n(4), { "SS": ["q"] }] }));
    assert_eq!(item["ns"], json!({ "NS": ["1", "34", "345"] }));
    assert_eq!(item["ss"], json!({ "SS": ["b"] }));
    assert_eq!(item["gone"], Value::Null);
    f.run("UPDATE music SET ss = set_delete(ss, <<'b'>>), fresh = set_add(fresh, <<'m'>>) WHERE pk = 'dt' AND sk = '1'");
    let item = f.get("dt", "1");
    assert_eq!((&item["ss"], &item["fresh"]), (&Value::Null, &json!({ "SS": ["m"] })));
}

#[test]
fn the_from_first_form_updates_as_well() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "a": n(1), "b": s("bee") }));
    let body = json!({
        "Statement": "from music where pk = ? AND sk = '1' AND a = ? set c = ? remove b RETURNING ALL NEW *",
        "Parameters": [s("a"), n(1), n(7)],
    });
    let reply = f.ok("ExecuteStatement", body);
    assert_eq!(reply["Items"], json!([{ "pk": s("a"), "sk": s("1"), "a": n(1), "c": n(7) }]));
    let incomplete = "Where clause does not contain a mandatory equality on all key attributes";
    assert_eq!(f.refused("FROM music SET c = 1"), incomplete);
    assert_eq!(f.refused("FROM music WHERE a = 1 SET c = 1"), incomplete);
    assert_eq!(
        f.code("FROM music WHERE pk = 'no' AND sk = '1' SET c = 1"),
        "ConditionalCheckFailedException"
    );
}

#[test]
fn the_rest_of_the_where_clause_is_a_condition() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let failed = "ConditionalCheckFailedException";
    for condition in ["x = 2", "attribute_exists(nope)", "NOT x = 1", "x = 1 AND pk <> 'a'"] {
        let key = format!("pk = 'a' AND (sk = '1' AND {condition})");
        assert_eq!(f.code(&format!("UPDATE music SET y = 1 WHERE {key}")), failed, "{condition}");
        assert_eq!(f.code(&format!("DELETE FROM music WHERE {key}")), failed, "{condition}");
    }
    assert_eq!(f.get("a", "1")["y"], Value::Null);
    f.run("UPDATE music SET y = 1 WHERE pk = 'a' AND sk = '1' AND x = 1 AND pk = 'a'");
    assert_eq!(f.get("a", "1")["y"], n(1));
    f.run("DELETE FROM music WHERE pk = 'a' AND sk = '1' AND y IN [1, 2]");
    assert_eq!(f.get("a", "1"), Value::Null);
}

#[test]
fn a_missing_item_is_deleted_but_not_updated() {
    let f = Fixture::new();
    let failed = "ConditionalCheckFailedException";
    assert_eq!(f.code("UPDATE music SET x = 1 WHERE pk = 'a' AND sk = '1'"), failed);
    assert_eq!(
        f.code("UPDATE music SET x = 1 WHERE pk = 'a' AND sk = '1' AND attribute_not_exists(pk)"),
        failed
    );
    assert_eq!(f.get("a", "1"), Value::Null);
    f.run("DELETE FROM music WHERE pk = 'a' AND sk = '1'");
    f.run("DELETE FROM music WHERE pk = 'a' AND sk = '1' AND x = 'whatever'");
    assert_eq!(
        f.run("DELETE FROM music WHERE pk = 'a' AND sk = '1' RETURNING ALL OLD *"),
        [] as [Value; 0]
    );
}

#[test]
fn a_write_must_name_one_item() {
    let f = Fixture::new();
    let incomplete = "Where clause does not contain a mandatory equality on all key attributes";
    for clause in [
        "",
        "WHERE pk = 'a'",
        "WHERE x = 1",
        "WHERE pk = 'a' AND sk > '1'",
        "WHERE pk IN ['a'] AND sk = '1'",
        "WHERE pk = 'a' AND sk = '1' OR pk = 'b' AND sk = '1'",
    ] {
        assert_eq!(f.refused(&format!("UPDATE music SET x = 1 {clause}")), incomplete, "{clause}");
        assert_eq!(f.refused(&format!("DELETE FROM music {clause}")), incomplete, "{clause}");
    }
    assert_eq!(
        f.refused("DELETE FROM music WHERE pk = 'a' AND sk = '1' AND pk = 'b'"),
        "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported"
    );
    assert_eq!(
        f.refused("DELETE FROM music WHERE pk = 'a' AND sk = 1"),
        "Key attribute's data type should match its data type in table's schema: Key sk"
    );
    assert_eq!(
        f.refused("DELETE FROM music WHERE pk = '' AND sk = '1'"),
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
         contain an empty string value. Key: pk"
    );
    assert_eq!(f.code("DELETE FROM nope WHERE pk = 'a'"), "ResourceNotFoundException");
}

#[test]
fn updates_are_refused_by_the_item_they_meet() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "n": n(1), "s": s("x"), "ss": { "SS": ["a"] }, "m": { "M": {} } }));
    let update =
        |set: &str| f.refused(&format!("UPDATE music SET {set} WHERE pk = 'a' AND sk = '1'"));
    let kind = "An operand in the update expression has an incorrect data type";
    assert_eq!(update("ss = set_add(ss, <<1>>)"), kind);
    assert_eq!(update("s = set_add(s, <<'x'>>)"), kind);
    assert_eq!(update("s = s + 1"), kind);
    assert_eq!(
        update("l = list_append(l, [1])"),
        "The provided expression refers to an attribute that does not exist in the item"
    );
    assert_eq!(
        update("l[0] = 'x'"),
        "The document path provided in the update expression is invalid for update"
    );
    assert_eq!(
        update("pk = 'b'"),
        "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part \
         of the key"
    );
    let deep = (0..31).fold(s("x"), |inner, _| json!({ "M": { "a": inner } }));
    let body = json!({
        "Statement": "UPDATE music SET m.deep = ? WHERE pk = 'a' AND sk = '1'",
        "Parameters": [deep],
    });
    assert_eq!(f.err("ExecuteStatement", body).1, "Nesting Levels have exceeded supported limits");
}

#[test]
fn returning_shows_the_item_before_or_after() {
    let f = Fixture::new();
    let seed = || {
        f.seed(
            "a",
            "1",
            json!({ "d": s("old"), "k": s("same"),
            "m": { "M": { "x": s("old"), "y": s("keep") } },
            "l": { "L": [s("a"), s("b"), s("c")] } }),
        );
    };
    let run = |change: &str, scope: &str| {
        seed();
        f.run(&format!("UPDATE music {change} WHERE pk = 'a' AND sk = '1' RETURNING {scope} *"))
    };
    let list = |values: &[&str]| json!({ "L": values.iter().map(|v| s(v)).collect::<Vec<_>>() });
    assert_eq!(run("SET d = 'new'", "MODIFIED OLD"), [json!({ "d": s("old") })]);
    assert_eq!(run("SET d = 'new'", "MODIFIED NEW"), [json!({ "d": s("new") })]);
    let rows = run("SET d = 'new'", "ALL OLD");
    assert_eq!((&rows[0]["d"], &rows[0]["pk"], &rows[0]["k"]), (&s("old"), &s("a"), &s("same")));
    assert_eq!(run("SET d = 'new'", "ALL NEW")[0]["d"], s("new"));
    let nested = json!({ "m": { "M": { "x": s("new") } } });
    assert_eq!(run("SET m.x = 'new'", "MODIFIED NEW"), [nested]);
    assert_eq!(run("REMOVE d", "MODIFIED OLD"), [json!({ "d": s("old") })]);
    assert_eq!(run("REMOVE d", "MODIFIED NEW"), [] as [Value; 0]);
    assert_eq!(run("SET fresh = 1", "MODIFIED OLD"), [] as [Value; 0]);
    assert_eq!(
        run("SET l[2] = 'y', l[0] = 'x'", "MODIFIED NEW"),
        [json!({ "l": list(&["x", "y"]) })]
    );
    assert_eq!(
        run("SET l[2] = 'y', l[0] = 'x'", "MODIFIED OLD"),
        [json!({ "l": list(&["a", "c"]) })]
    );
    assert_eq!(run("SET l[9] = 'y'", "MODIFIED NEW"), [] as [Value; 0]);
    assert_eq!(run("SET l[3] = 'y'", "MODIFIED NEW"), [json!({ "l": list(&["y"]) })]);
    assert_eq!(run("REMOVE l[1]", "MODIFIED NEW"), [json!({ "l": list(&["c"]) })]);
    assert_eq!(run("REMOVE l[2]", "MODIFIED NEW"), [] as [Value; 0]);
    seed();
    let rows = f.run("DELETE FROM music WHERE pk = 'a' AND sk = '1' RETURNING ALL OLD *");
    assert_eq!(rows[0]["d"], s("old"));
    assert_eq!(f.get("a", "1"), Value::Null);
}

#[test]
fn a_failed_condition_returns_the_item_when_asked() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let body = |wanted: &str| {
        json!({
            "Statement": "UPDATE music SET x = 2 WHERE pk = 'a' AND sk = '1' AND x = 9",
            "ReturnValuesOnConditionCheckFailure": wanted,
        })
    };
    let (_, reply) = f.call("ExecuteStatement", &body("ALL_OLD"));
    assert_eq!(reply["Item"]["x"], n(1));
    assert_eq!(f.call("ExecuteStatement", &body("NONE")).1.get("Item"), None);
}
