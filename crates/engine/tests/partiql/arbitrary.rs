//! No statement, however strange, does worse than being refused.

use proptest::prelude::*;
use serde_json::json;

use super::{Fixture, n, s};

fn fragment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "SELECT",
        "*",
        "FROM",
        "music",
        "flat",
        "\"music\"",
        "nope",
        ".",
        "WHERE",
        "pk",
        "sk",
        "x",
        "=",
        "'a'",
        "'1'",
        "1",
        "AND",
        "OR",
        "NOT",
        "IN",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<<",
        ">>",
        ":",
        ",",
        "?",
        "BETWEEN",
        "IS",
        "MISSING",
        "NULL",
        "INSERT INTO",
        "VALUE",
        "{'pk': 'a', 'sk': '1'}",
        "UPDATE",
        "SET",
        "REMOVE",
        "DELETE FROM",
        "RETURNING",
        "ALL OLD *",
        "ORDER BY",
        "DESC",
        "+",
        "-",
        "<",
        ">=",
        "<>",
        "begins_with(sk, '1')",
        "size(x)",
        "EXISTS(",
        "count(*)",
        "true",
        "pk = 'a'",
        "sk = '1'",
        "SELECT * FROM music WHERE pk = 'a' AND",
        "UPDATE music SET x = x + 1 WHERE",
    ])
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(fragment(), 0..16).prop_map(|words| words.join(" ")),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_statement_is_run_or_refused(statement in statement(), token in proptest::option::of(any::<String>())) {
        let f = Fixture::new();
        f.seed("a", "1", json!({ "x": n(1) }));
        let one = json!({ "Statement": statement });
        let mut single = one.clone();
        single["NextToken"] = json!(token);
        let with_parameter = json!({ "Statement": statement, "Parameters": [s("a")] });
        for (operation, body) in [
            ("ExecuteStatement", single),
            ("ExecuteStatement", with_parameter),
            ("BatchExecuteStatement", json!({ "Statements": [one] })),
            ("ExecuteTransaction", json!({ "TransactStatements": [one] })),
        ] {
            let (status, reply) = f.call(operation, &body);
            prop_assert!(status == 200 || status == 400, "{body}: {reply}");
        }
    }
}
