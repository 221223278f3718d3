//! Limit and NextToken.

use serde_json::{Value, json};

use super::{Fixture, n, s};

fn filled() -> Fixture {
    let f = Fixture::new();
    for pk in ["o", "p"] {
        for sk in ["1", "2", "3"] {
            f.seed(pk, sk, json!({ "x": n(sk.parse().unwrap()) }));
        }
    }
    f
}

/// All pages of a statement, as keys.
fn pages(f: &Fixture, statement: &str, limit: usize) -> Vec<String> {
    let mut pages = Vec::new();
    let mut token = Value::Null;
    loop {
        let mut body = json!({ "Statement": statement, "Limit": limit });
        body["NextToken"] = token;
        let reply = f.ok("ExecuteStatement", body);
        let text = |row: &Value| {
            format!("{}{}", row["pk"]["S"].as_str().unwrap(), row["sk"]["S"].as_str().unwrap())
        };
        let rows: Vec<_> = reply["Items"].as_array().unwrap().iter().map(text).collect();
        pages.push(rows.join(" "));
        token = reply["NextToken"].clone();
        if token.is_null() {
            return pages;
        }
        assert!(pages.len() < 20, "{statement} does not end");
    }
}

#[test]
fn pages_go_on_where_the_last_one_stopped() {
    let f = filled();
    let select = |clause: &str, limit: usize| {
        pages(&f, &format!("SELECT pk, sk FROM music {clause}"), limit)
    };
    assert_eq!(select("WHERE pk = 'o'", 2), ["o1 o2", "o3"]);
    assert_eq!(select("WHERE pk = 'o'", 3), ["o1 o2 o3", ""]);
    assert_eq!(select("WHERE pk = 'o' ORDER BY sk DESC", 2), ["o3 o2", "o1"]);
    assert_eq!(
        select("WHERE pk IN ['o', 'p'] ORDER BY pk DESC", 2),
        ["p3 p2", "p1 o3", "o2 o1", ""]
    );
    assert_eq!(select("WHERE pk = 'o' AND sk IN ['1', '3']", 1), ["o1", "o3"]);
    assert_eq!(select("WHERE pk = 'o' AND sk = '2'", 1), ["o2"]);
    assert_eq!(select("WHERE pk IN ['o', 'p'] AND sk = '2'", 1), ["o2", "p2"]);
    assert_eq!(select("", 4).join(" "), "o1 o2 o3 p1 p2 p3");
    assert_eq!(select("WHERE x = 2", 1).iter().filter(|page| !page.is_empty()).count(), 2);
}

#[test]
fn limit_bounds_what_is_evaluated() {
    let f = filled();
    let body = json!({ "Statement": "SELECT * FROM music WHERE pk = 'o' AND x = 3", "Limit": 2 });
    let reply = f.ok("ExecuteStatement", body);
    assert_eq!(reply["Items"], json!([]));
    assert!(reply["NextToken"].is_string());
    assert_eq!(reply["LastEvaluatedKey"], json!({ "pk": s("o"), "sk": s("2") }));
}

#[test]
fn a_page_ends_at_a_megabyte_over_all_ranges() {
    let f = Fixture::new();
    for pk in ["a", "b", "c", "d"] {
        f.seed(pk, "1", json!({ "x": s(&"x".repeat(390_000)) }));
    }
    let statement = "SELECT pk, sk FROM music WHERE pk IN ['a', 'b', 'c', 'd']";
    assert_eq!(pages(&f, statement, 100), ["a1 b1 c1", "d1"]);
}

#[test]
fn a_token_belongs_to_its_statement() {
    let f = filled();
    let run = |statement: &str, parameter: &str, token: &Value| {
        let mut body = json!({ "Statement": statement, "Parameters": [s(parameter)], "Limit": 1 });
        body["NextToken"] = token.clone();
        f.call("ExecuteStatement", &body)
    };
    let statement = "SELECT * FROM music WHERE pk = ?";
    let token = run(statement, "o", &Value::Null).1["NextToken"].clone();
    assert_eq!(run(statement, "o", &token).1["Items"][0]["sk"], s("2"));
    let message = |(status, reply): (u16, Value)| {
        assert_eq!(status, 400);
        reply["message"].as_str().unwrap().to_owned()
    };
    let mismatch = "NextToken does not match request";
    assert_eq!(message(run(statement, "p", &token)), mismatch);
    assert_eq!(message(run("SELECT sk FROM music WHERE pk = ?", "o", &token)), mismatch);
    assert_eq!(message(run("DELETE FROM music WHERE pk = ? AND sk = '1'", "o", &token)), mismatch);
    assert_eq!(message(run(statement, "o", &json!("garbage"))), "Invalid NextToken");
    let mut tampered = token.as_str().unwrap().to_owned();
    tampered.insert(5, 'A');
    assert_eq!(message(run(statement, "o", &json!(tampered))), "Invalid NextToken");
}

#[test]
fn rows_written_between_pages_do_not_disturb_them() {
    let f = filled();
    let body = json!({ "Statement": "SELECT * FROM music WHERE pk = 'o'", "Limit": 2 });
    let reply = f.ok("ExecuteStatement", body.clone());
    f.run("DELETE FROM music WHERE pk = 'o' AND sk = '2'");
    f.seed("o", "0", json!({}));
    let mut next = body;
    next["NextToken"] = reply["NextToken"].clone();
    let reply = f.ok("ExecuteStatement", next);
    assert_eq!(reply["Items"].as_array().unwrap().len(), 1);
    assert_eq!(reply["Items"][0]["sk"], s("3"));
}
