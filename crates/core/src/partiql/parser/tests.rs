//! Statements that can be parsed, their printed trees, and every error of the parser.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn printed(text: &str) -> String {
    match parse(text) {
        Ok(statement) => statement.to_string(),
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn statements_are_read_and_printed() {
    for (text, expected) in [
        ("select * from t", "SELECT * FROM t"),
        (
            r#"SELECT a, b.c[0]."d e" FROM "t"."i" WHERE a = 'x' ORDER BY a DESC, b;"#,
            r#"SELECT a, b.c[0]."d e" FROM "t"."i" WHERE a = 'x' ORDER BY a DESC, b ASC"#,
        ),
        (
            "INSERT INTO t VALUE {'a': [1, <<2, -.5e1>>], 'b': ?}",
            "INSERT INTO t VALUE {'a': [1, <<2, -.5e1>>], 'b': ?}",
        ),
        (
            "UPDATE t SET a = a + 1, b.c = list_append(b.c, [?]) REMOVE d[1] SET e = null WHERE pk = 'x' RETURNING all OLD *",
            "UPDATE t SET a = a + 1, b.c = list_append(b.c, [?]) REMOVE d[1] SET e = NULL WHERE pk = 'x' RETURNING ALL OLD *",
        ),
        ("FROM t WHERE pk = 1 SET a = 2 REMOVE b", "FROM t WHERE pk = 1 SET a = 2 REMOVE b"),
        (
            "DELETE FROM t WHERE pk = 1 RETURNING MODIFIED NEW *",
            "DELETE FROM t WHERE pk = 1 RETURNING MODIFIED NEW *",
        ),
        (
            "EXISTS(SELECT * FROM t WHERE pk = 1 AND a IS MISSING)",
            "exists((SELECT * FROM t WHERE pk = 1 AND a IS MISSING))",
        ),
        ("x IS DOUBLE PRECISION", "x IS DOUBLE PRECISION"),
    ] {
        assert_eq!(printed(text), expected);
        assert_eq!(printed(expected), expected, "printing is stable");
    }
}

#[test]
fn operators_bind_as_in_sql() {
    for (text, expected) in [
        ("a = 1 OR b = 2 AND NOT c = 3", "a = 1 OR b = 2 AND NOT c = 3"),
        ("(a = 1 OR b = 2) AND c = 3", "(a = 1 OR b = 2) AND c = 3"),
        ("((a))", "a"),
        ("a = 1 AND (b = 2 AND c = 3) AND d = 4", "a = 1 AND (b = 2 AND c = 3) AND d = 4"),
        ("NOT a IN (1, 2)", "NOT a IN [1, 2]"),
        ("a NOT IN [1]", "NOT a IN [1]"),
        ("a NOT BETWEEN 1 AND 2 + 3", "NOT a BETWEEN 1 AND 2 + 3"),
        ("a BETWEEN 1 AND 2 AND b IS NOT NULL", "a BETWEEN 1 AND 2 AND NOT b IS NULL"),
        ("a != 1", "a <> 1"),
        ("a - - 1", "a - -1"),
        ("a - (b - c) - d", "a - (b - c) - d"),
        ("(a + b) * c", "(a + b) * c"),
        ("- (+ 1)", "-1"),
        ("-a", "-a"),
        ("- + (-(a + 1))", "- + -(a + 1)"),
        ("(a = 1) = true", "a = 1 = true"),
        ("a = (b = true)", "a = (b = true)"),
        ("size(a) > 3 AND BEGINS_WITH(\"b\", 'c')", "size(a) > 3 AND begins_with(\"b\", 'c')"),
        ("COUNT(*)", "count(*)"),
    ] {
        assert_eq!(printed(text), expected);
        assert_eq!(printed(expected), expected, "printing is stable");
    }
}

const LEFTOVER: &str = "Unexpected token after expression";
const TERM: &str = "Unexpected term";
const MANIPULATION: &str = "Expected data manipulation";
const SIMPLE_PATH: &str = "Expected identifier for simple path";

/// Statements that cannot be parsed, and the message after the colon.
const MALFORMED: &[(&str, &str)] = &[
    ("", TERM),
    (";", TERM),
    ("SELECT * FROM t WHERE pk = 1 foo", LEFTOVER),
    ("SELECT * FROM t WHERE pk = 1 e5", LEFTOVER),
    ("SELECT * FROM t WHERE pk = 1)", LEFTOVER),
    ("SELECT * FROM t ORDER BY pk WHERE pk = 1", LEFTOVER),
    ("INSERT INTO t VALUE {'pk': 1} foo", LEFTOVER),
    ("INSERT INTO t u VALUE {'pk': 1}", LEFTOVER),
    ("UPDATE t SET a = 9 WHERE pk = 1 foo", LEFTOVER),
    ("UPDATE t REMOVE a, b WHERE pk = 1", LEFTOVER),
    ("DELETE FROM t WHERE pk = 1 ORDER BY pk", LEFTOVER),
    ("FROM t SET c = 1 WHERE pk = 'x'", LEFTOVER),
    ("SELECTT * FROMM \"t\"", LEFTOVER),
    (
        "SELECT * FROM t; SELECT * FROM t",
        "Unexpected token after semicolon. (Only one query is allowed.)",
    ),
    ("SELECT * FROM t WHERE", TERM),
    ("SELECT * FROM t WHERE;", TERM),
    ("SELECT * FROM t WHERE NOT", TERM),
    ("SELECT * FROM t WHERE (", TERM),
    ("SELECT * FROM", TERM),
    ("UPDATE t SET a = 1 WHERE", TERM),
    ("SELECT * FROM t WHERE a = 1 AND", "Missing right-hand side expression of infix operator"),
    ("SELECT * FROM t WHERE ORDER BY pk", "Unexpected keyword"),
    ("SELECT * FROM t WHERE key = 1", "Unexpected keyword"),
    ("INSERT INTO urls (key, a) VALUES (?, ?)", "Unexpected keyword"),
    ("SELECT * FROM t WHERE x IS FOO", "Expected type name"),
    ("THIS IS NOT SQL AT ALL", "Expected type name"),
    ("SELECT * FROM t WHERE IS NULL", "Unexpected operator"),
    ("SELECT * FROM t WHERE pk = LIKE", "Unexpected operator"),
    ("SELECT * FROM t WHERE a BETWEEN 1", "Expected AND keyword"),
    ("SELECT * FROM t WHERE a BETWEEN 1 AND", "Expected expression after AND"),
    ("SELECT * FROM t WHERE attribute_exists(m.inner)", "Invalid path dot component"),
    ("SELECT * FROM t WHERE a[1", "Expected RIGHT_BRACKET"),
    ("SELECT * FROM t WHERE f(a", "Expected RIGHT_PAREN"),
    ("INSERT INTO t VALUE {'a' 1}", "Expected COLON"),
    ("INSERT INTO t VALUE {'a': 1", "Expected RIGHT_CURLY"),
    ("INSERT INTO t VALUE {'a': <<1}", "Expected RIGHT_DOUBLE_ANGLE_BRACKET"),
    ("SELECT a", "Expected FROM after SELECT list"),
    (
        "SELECT *, a FROM t",
        "Other expressions may not be present in the select list when '*' is used without dot notation.",
    ),
    ("SELECT a[*] FROM t", "Invalid use of * in select list"),
    ("SELECT a.*.b FROM t", "Invalid use of * in select list"),
    ("SELECT a[1].* FROM t", "Cannot use [] and * together in SELECT list expression"),
    ("SELECT sum(*) FROM t", "sum(*) is not allowed"),
    ("SELECT count() FROM t", "Aggregate functions are always unary"),
    ("SELECT * FROM t ORDER pk", "Expected BY"),
    ("SELECT * FROM t AS 1", "Expected identifier for AS-alias"),
    ("DELETE t", "Expected FROM after DELETE"),
    ("DELETE FROM", SIMPLE_PATH),
    ("DELETE FROM;", SIMPLE_PATH),
    ("DELETE FROM WHERE pk = 1", SIMPLE_PATH),
    ("UPDATE t.* SET a = 1", "Invalid path dot component for simple path"),
    ("UPDATE Payment-a SET active = ? WHERE id = ?", MANIPULATION),
    ("UPDATE t WHERE pk = 1", MANIPULATION),
    ("SLECT * FROM \"t\" WHERE pk = 'x'", MANIPULATION),
    ("SET a = 1", MANIPULATION),
    ("UPDATE t SET a WHERE pk = 1", "Expected '='"),
    (
        "UPDATE t SET a = 1 RETURNING OLD *",
        "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
    ),
    ("INSERT INTO t VALUES 1", "Expected LEFT_PAREN for row value constructor"),
    ("CREATE VIEW v", "Unexpected token following CREATE"),
];

#[test]
fn malformed_statements_are_refused_with_awss_messages() {
    for (text, detail) in MALFORMED {
        assert_eq!(parse(text), Err(message::malformed(detail)), "{text}");
    }
}

#[test]
fn nesting_does_not_exhaust_the_stack() {
    let too_deep = Err(message::malformed(message::TOO_DEEP));
    let deep = |open: &str, inner: &str, close: &str, times: usize| {
        let (open, close) = (open.repeat(times), close.repeat(times));
        parse(&format!("SELECT * FROM t WHERE {open}{inner}{close}"))
    };
    for (open, close) in [
        ("(", ")"),
        ("NOT ", ""),
        ("[", "]"),
        ("{'a':", "}"),
        ("<<", ">>"),
        ("f(", ")"),
        ("- ", ""),
        ("a[", "]"),
        ("a = ", ""),
        ("(SELECT * FROM ", ")"),
    ] {
        assert!(deep(open, "a", close, 20).is_ok(), "{open}");
        assert_eq!(deep(open, "a", close, 1200), too_deep, "{open}");
    }
    assert_eq!(deep("", "a", " + a", 2000), too_deep);
    // Chains of conditions do not nest.
    assert!(deep("a = 1 AND ", "b", "", 500).is_ok());
    assert!(deep("a = 1 OR ", "b", "", 500).is_ok());
}

/// Texts that resemble statements.
fn statement_like() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "SELECT",
        "*",
        "FROM",
        "t",
        "\"t\"",
        ".",
        "WHERE",
        "pk",
        "=",
        "'a'",
        "1",
        "1e5",
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
        "UPDATE",
        "SET",
        "REMOVE",
        "DELETE",
        "RETURNING",
        "ALL OLD",
        "ORDER BY",
        "DESC",
        "+",
        "-",
        "<",
        ">=",
        "<>",
        "begins_with",
        "size",
        "exists",
        "count",
        ";",
        "true",
        "--",
        "/*",
        "*/",
        "`",
        "\n",
        "é",
        "LIKE",
        "||",
        "@",
        "GROUP",
        "BY",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.join(" "))
}

/// Conditions that DynamoDB accepts.
fn condition() -> impl Strategy<Value = String> {
    let test = prop::sample::select(vec![
        "a = 1",
        "'x' <> b.c[0].\"d e\"",
        "size(a) >= 2",
        "a BETWEEN -1 AND - - 2",
        "a NOT BETWEEN 'x' AND 'y'",
        "a IN [1, ?]",
        "a NOT IN ('x', 'y')",
        "contains(a, 'it''s')",
        "NOT begins_with(a, ?)",
        "a IS MISSING",
        "a IS NOT NULL",
        "attribute_exists(a) = true",
        "a = {'k': [1, <<2, 3>>, null]}",
    ]);
    test.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} AND {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} OR ({b})")),
            inner.clone().prop_map(|a| format!("NOT {a}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.prop_map(|a| format!("({a}) = false")),
        ]
    })
}

/// The bound statement, with as many parameters as it needs.
fn meaning(text: &str) -> Result<super::super::Statement> {
    let tokens = lexer::tokens(text)?;
    let is_parameter = |token: &&Token| matches!(token.kind, TokenKind::Parameter(_));
    let count = tokens.iter().filter(is_parameter).count();
    super::super::bind(&parse(text)?, vec!["p".into(); count])
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in prop_oneof![any::<String>(), statement_like()]) {
        if meaning(&text).is_ok() {
            let printed = parse(&text)?.to_string();
            prop_assert_eq!(meaning(&text), meaning(&printed), "{}", printed);
        }
    }

    #[test]
    fn printing_preserves_the_meaning(condition in condition()) {
        let text = format!("DELETE FROM t WHERE {condition} RETURNING ALL OLD *");
        let printed = parse(&text)?.to_string();
        prop_assert!(meaning(&text).is_ok(), "{}", text);
        prop_assert_eq!(meaning(&text), meaning(&printed), "{}", printed);
    }
}
