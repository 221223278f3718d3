//! SELECT from indexes.

use serde_json::{Value, json};

use super::{Fixture, key, s, strings};

/// A table with indexes of every projection; `np` is held by none but `gsi-all`.
fn indexed() -> Fixture {
    let f = Fixture::new();
    let index = |name: &str, schema: Value, projection: Value| json!({ "IndexName": name, "KeySchema": schema, "Projection": projection });
    let all = json!({ "ProjectionType": "ALL" });
    let keys = json!({ "ProjectionType": "KEYS_ONLY" });
    let include = json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": ["proj"] });
    f.create(json!({
        "TableName": "shop",
        "AttributeDefinitions": strings(&["pk", "sk", "g", "g2", "l", "h1", "h2"]),
        "KeySchema": key(&["pk"], &["sk"]),
        "GlobalSecondaryIndexes": [
            index("gsi-all", key(&["g"], &[]), all),
            index("gsi-keys", key(&["g2"], &[]), keys.clone()),
            index("gsi-inc", key(&["g2"], &["g"]), include.clone()),
            index("multi", key(&["h1", "h2"], &[]), json!({ "ProjectionType": "ALL" })),
        ],
        "LocalSecondaryIndexes": [
            index("lsi-keys", key(&["pk"], &["l"]), keys),
            index("lsi-inc", key(&["pk"], &["l"]), include),
        ],
    }));
    for (sk, g, l) in [("s1", "x", "l1"), ("s2", "z", "l2"), ("s4", "x", "l4")] {
        f.put("shop", json!({
            "pk": s("p"), "sk": s(sk), "g": s(g), "g2": s("y"), "l": s(l), "proj": s(&format!("proj-{sk}")),
            "np": s(&format!("np-{sk}")), "h1": s("a"), "h2": s("b"),
        }));
    }
    f.put("shop", json!({ "pk": s("p"), "sk": s("s3"), "np": s("np-s3") }));
    f.put(
        "shop",
        json!({ "pk": s("q"), "sk": s("s5"), "g2": s("y2"), "g": s("w"), "np": s("np-s5") }),
    );
    f
}

fn attributes(row: &Value) -> Vec<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn an_index_returns_what_it_holds() {
    let f = indexed();
    assert_eq!(f.sort_keys("SELECT sk FROM shop.\"gsi-all\" WHERE g = 'x'"), ["s1", "s4"]);
    let rows = f.run("SELECT * FROM \"shop\".\"gsi-keys\" WHERE g2 = 'y'");
    assert_eq!((rows.len(), attributes(&rows[0])), (3, vec!["g2", "pk", "sk"]));
    let rows = f.run("SELECT * FROM shop.\"gsi-inc\" WHERE g2 = 'y'");
    assert_eq!(attributes(&rows[0]), ["g", "g2", "pk", "proj", "sk"]);
    assert_eq!(
        f.sort_keys("SELECT sk FROM shop.\"lsi-keys\" WHERE pk = 'p' ORDER BY l DESC"),
        ["s4", "s2", "s1"]
    );
    assert_eq!(f.sort_keys("SELECT sk FROM shop.\"gsi-inc\" WHERE g2 = 'y' AND g > 'x'"), ["s2"]);
    assert_eq!(f.sort_keys("SELECT sk FROM shop.\"gsi-all\" WHERE pk = 'q'"), ["s5"]);
    assert_eq!(f.run("SELECT * FROM shop.\"gsi-all\"").len(), 4);
}

#[test]
fn a_local_index_reaches_back_and_a_global_one_does_not() {
    let f = indexed();
    let rows = f.run("SELECT np FROM shop.\"lsi-keys\" WHERE pk = 'p'");
    assert_eq!(
        rows,
        [json!({ "np": s("np-s1") }), json!({ "np": s("np-s2") }), json!({ "np": s("np-s4") })]
    );
    assert_eq!(
        f.refused("SELECT other, pk, np FROM shop.\"gsi-inc\" WHERE g2 = 'y'"),
        "One or more parameter values were invalid: Global secondary index gsi-inc does not project \
         [other, np]"
    );
    assert_eq!(
        f.refused("SELECT np FROM shop.\"gsi-keys\""),
        "One or more parameter values were invalid: Global secondary index gsi-keys does not project [np]"
    );
    // The filter looks at what the index holds even then.
    assert_eq!(f.run("SELECT np FROM shop.\"lsi-keys\" WHERE np = 'np-s1'"), [] as [Value; 0]);
}

#[test]
fn a_keyed_read_cannot_filter_by_what_the_index_lacks() {
    let f = indexed();
    let refused = |index: &str, names: &str| {
        format!(
            "One or more parameter values were invalid: Secondary index {index} does not project one or \
             more filter attributes: [{names}]"
        )
    };
    for (index, condition, names) in [
        ("gsi-inc", "g2 = 'y' AND np = 'np-s1'", "np"),
        ("gsi-inc", "g2 = 'y' AND np IS NOT MISSING", "np"),
        ("gsi-inc", "g2 = 'y' AND NOT np = 'np-s1'", "np"),
        ("gsi-inc", "g2 IN ['y', 'z'] AND np = 'np-s1'", "np"),
        ("gsi-inc", "(g2 = 'y' OR g2 = 'z') AND zz = '1'", "zz"),
        ("lsi-keys", "pk = 'p' AND np = 'np-s1'", "np"),
        ("lsi-keys", "pk = 'p' AND l BETWEEN 'l1' AND 'l4' AND np = 'np-s1'", "np"),
    ] {
        let statement = format!("SELECT pk FROM shop.\"{index}\" WHERE {condition}");
        assert_eq!(f.refused(&statement), refused(index, names), "{condition}");
    }
    for (index, condition, count) in [
        ("gsi-inc", "np = 'np-s1'", 0),
        ("lsi-keys", "np = 'np-s1'", 0),
        ("gsi-keys", "NOT np = 'np-s1'", 4),
        ("gsi-inc", "g2 = 'y' AND proj = 'proj-s1'", 1),
        ("gsi-inc", "(g2 = 'y' AND np = 'np-s1') OR g2 = 'y2'", 1),
        ("gsi-inc", "g2 > 'a' AND zz = '1'", 0),
        ("gsi-inc", "g2 = 'y' AND (g2 = 'z' OR zz = '1')", 0),
    ] {
        let rows = f.run(&format!("SELECT pk FROM shop.\"{index}\" WHERE {condition}"));
        assert_eq!(rows.len(), count, "{condition}");
    }
}

#[test]
fn an_index_must_exist_and_suit_the_statement() {
    let f = indexed();
    assert_eq!(f.refused("SELECT * FROM shop.nope"), "The table does not have the specified index");
    assert_eq!(f.code("SELECT * FROM nope.nope"), "ResourceNotFoundException");
    let consistent = |index: &str| {
        let statement = format!("SELECT * FROM shop.\"{index}\" WHERE pk = 'p'");
        f.call("ExecuteStatement", &json!({ "Statement": statement, "ConsistentRead": true }))
    };
    let (status, reply) = consistent("gsi-all");
    let expected = "Strongly consistent read is not supported on Global Secondary Indexes";
    assert_eq!((status, reply["message"].as_str()), (400, Some(expected)));
    assert_eq!(consistent("lsi-keys").0, 200);
    assert_eq!(
        f.refused("UPDATE nope.i SET a = 1 WHERE pk = 'p'"),
        "This operation is not supported on an index"
    );
    assert_eq!(
        f.refused("INSERT INTO \"shop\".\"gsi-all\" VALUE {'pk': 'w'}"),
        "FROM clause may only contain a single table name in data manipulation statements at 1:13:6"
    );
}

#[test]
fn indexes_with_multi_attribute_keys_are_refused() {
    let f = indexed();
    let refused = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or \
                   multi-attribute RANGE keys.";
    for statement in [
        "SELECT * FROM shop.multi WHERE h1 = 'a'",
        "SELECT * FROM shop.multi WHERE h1 = 5",
        "SELECT COUNT(*) FROM shop.multi",
        "SELECT * FROM shop.multi WHERE h1 = 'a' ORDER BY nope",
    ] {
        assert_eq!(f.refused(statement), refused, "{statement}");
    }
    assert_eq!(
        f.refused("SELECT * FROM shop.multi WHERE"),
        "Statement wasn't well formed, can't be processed: Unexpected term"
    );
    let replies = f.batch(&[
        "SELECT * FROM shop.multi WHERE h1 = 'a' AND h2 = 'b'",
        "SELECT * FROM shop.\"gsi-all\" WHERE g = 'x'",
        "SELECT * FROM shop WHERE pk = 'p' AND sk = 's1'",
    ]);
    assert_eq!(replies[0]["Error"]["Message"], refused);
    assert_eq!(
        replies[1]["Error"]["Message"],
        "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
    );
    assert_eq!(replies[2]["Item"]["sk"], s("s1"));
}

#[test]
fn index_reads_are_paged_by_index_and_base_key() {
    let f = indexed();
    let mut seen = Vec::new();
    let mut token = Value::Null;
    loop {
        let mut body =
            json!({ "Statement": "SELECT sk FROM shop.\"gsi-keys\" WHERE g2 = 'y'", "Limit": 1 });
        body["NextToken"] = token;
        let reply = f.ok("ExecuteStatement", body);
        seen.extend(reply["Items"].as_array().unwrap().iter().map(|row| row["sk"]["S"].clone()));
        token = reply["NextToken"].clone();
        if token.is_null() {
            break;
        }
        let key = reply["LastEvaluatedKey"].as_object().unwrap();
        assert_eq!(key.keys().collect::<Vec<_>>(), ["g2", "pk", "sk"]);
    }
    assert_eq!(seen, ["s1", "s2", "s4"]);
}
