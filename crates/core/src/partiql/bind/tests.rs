//! Binding of statements, and every refusal that needs no table.

use proptest::prelude::*;

use super::*;
use crate::partiql::parse;

fn bound(text: &str, parameters: Vec<AttributeValue>) -> Result<Statement> {
    bind(&parse(text)?, parameters)
}

#[track_caller]
fn refusal(text: &str) -> String {
    match bound(text, Vec::new()) {
        Ok(statement) => panic!("{text}: {statement:?}"),
        Err(error) => error.message(),
    }
}

/// `1:<column>:<length>` of `token` in `text`.
fn place(text: &str, token: &str) -> String {
    let start = text.find(token).unwrap();
    format!("1:{}:{}", text.get(..start).unwrap().chars().count() + 1, token.chars().count())
}

#[track_caller]
fn condition(text: &str) -> Condition {
    match bound(&format!("SELECT * FROM t WHERE {text}"), Vec::new()) {
        Ok(Statement::Select(select)) => select.condition.unwrap(),
        other => panic!("{text}: {other:?}"),
    }
}

fn item() -> Item {
    let Ok(Statement::Insert(insert)) = bound(
        "INSERT INTO t VALUE {'n': 1, 's': 'str', 'ss': <<'a', 'b'>>, 'm': {'x': [5, {'y': null}]},
         'nul': null, 'yes': true, 'flag': 'right'}",
        Vec::new(),
    ) else {
        unreachable!("the item is written correctly")
    };
    insert.item
}

#[test]
fn conditions_match_items() {
    let item = item();
    for text in [
        "n = 1",
        "1 = n",
        "n = 1.0e0",
        "n = - - 1",
        "n > -5 AND n < +5",
        "n BETWEEN - 2 AND +5 AND n IN [- 1, 1]",
        "s >= 'str' AND s <= 'str'",
        "m.x[0] = 5",
        "m.\"x\"[1].y IS NULL",
        "m['x'][0] = 5",
        "size(s) = 3 AND SIZE(ss) = 2",
        "begins_with(s, 'st') AND contains(ss, 'a')",
        "attribute_type(ss, 'SS')",
        "attribute_exists(m.x) AND ATTRIBUTE_NOT_EXISTS(nope)",
        "nope IS MISSING AND s IS NOT MISSING",
        "nul IS NULL AND nope IS NOT NULL",
        "yes IS BOOL AND s IS STRING AND n IS NUMERIC AND m IS STRUCT AND m IS TUPLE AND m.x IS LIST",
        "NOT nope = 'x'",
        "nope <> 'x'",
        "ss = <<'b', 'a'>>",
        "m = {'x': [5, {'y': null}]}",
        "n NOT IN (2, 3) AND n NOT BETWEEN 2 AND 3",
        "attribute_exists(nope) = false",
        "true = attribute_exists(n)",
        "attribute_exists(n) <> 1",
        "(n BETWEEN 0 AND 5) = true",
        "(n = 5 OR flag = 'x') = false",
        "attribute_exists(nope) IN [true, false]",
        "attribute_exists(n) = attribute_exists(flag)",
        "attribute_exists(n) = yes",
    ] {
        assert!(condition(text).matches(Some(&item)), "{text}");
        assert!(!condition(&format!("NOT ({text})")).matches(Some(&item)), "NOT {text}");
    }
}

#[test]
fn operands_are_checked_as_in_expressions() {
    let operand = "Incorrect operand type for operator or function; operator or function: ";
    let count = "Incorrect number of operands for operator or function; operator or function: ";
    let many = vec!["1"; 101].join(", ");
    for (text, expected) in [
        ("a < true".to_owned(), format!("{operand}<, operand type: BOOL")),
        ("a BETWEEN null AND 1".to_owned(), format!("{operand}BETWEEN, operand type: NULL")),
        ("attribute_exists(a) > false".to_owned(), format!("{operand}>, operand type: BOOL")),
        ("attribute_type(a, 1)".to_owned(), format!("{operand}attribute_type, operand type: N")),
        (
            "attribute_exists()".to_owned(),
            format!("{count}attribute_exists, number of operands: 0"),
        ),
        (
            "attribute_exists(a, b)".to_owned(),
            format!("{count}attribute_exists, number of operands: 2"),
        ),
        (
            "attribute_exists('a')".to_owned(),
            "Operator or function requires a document path; operator or function: attribute_exists"
                .to_owned(),
        ),
        (
            format!("a IN [{many}]"),
            "The IN operator is provided with too many operands; number of operands: 101"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(&format!("SELECT * FROM t WHERE {text}")), expected, "{text}");
    }
}

#[test]
fn columns_are_named_by_their_last_name() {
    let Ok(Statement::Select(select)) = bound("SELECT a, b.c, d.e[0][1], \"f.g\" FROM t", vec![])
    else {
        unreachable!("the statement is correct")
    };
    let names: Vec<_> = select.columns.unwrap().into_iter().map(|column| column.name).collect();
    assert_eq!(names, ["a", "c", "e[0][1]", "f.g"]);
}

#[test]
fn updates_become_changes() {
    let parameters = vec![AttributeValue::Ss(vec!["x".into()]), 7.into(), "k".into()];
    let text = "UPDATE t SET ss = SET_ADD(ss, ?), n = n - - 2 SET l = if_not_exists(l, ?)
                REMOVE s SET m.x = list_append([1], m.x) WHERE pk = ? AND a = 1 RETURNING MODIFIED OLD *";
    let Ok(Statement::Update(update)) = bound(text, parameters) else { unreachable!("correct") };
    assert_eq!(update.returning, Some(ReturningScope::ModifiedOld));
    let changed = update.update.apply(Some(&item()), &Item::new()).unwrap();
    assert_eq!(changed.get("n"), Some(&3.into()));
    assert_eq!(changed.get("l"), Some(&7.into()));
    assert_eq!(changed.get("s"), None);
    let set = ["a", "b", "x"].map(Str::from).to_vec();
    assert_eq!(changed.get("ss"), Some(&AttributeValue::Ss(set)));
    assert_eq!(
        Path::attribute("m").get(&changed).and_then(|m| m.as_m()?.get("x")?.as_l()).map(<[_]>::len),
        Some(3)
    );
}

/// Statements that can be parsed but are refused, with the message.
const REFUSALS: &[(&str, &str)] = &[
    ("SELECT * FROM t u", "Aliasing is not supported"),
    ("SELECT * FROM t AS u", "Aliasing is not supported"),
    ("SELECT a AS b FROM t", "Aliasing is not supported"),
    ("UPDATE t u SET a = 1", "Aliasing is not supported"),
    ("DELETE FROM t u", "Aliasing is not supported"),
    ("SELECT * FROM t, u", "Only select from a single table or index is supported."),
    (
        "SELECT * FROM t JOIN u ON t.a = u.a",
        "Only select from a single table or index is supported.",
    ),
    ("SELECT * FROM t.i.j", "A path may contain at most 2 components in the FROM clause"),
    ("SELECT * FROM t.\"\"", "Path component cannot be an empty string"),
    ("SELECT * FROM \"\"", "Path component cannot be an empty string"),
    ("SELECT \"\" FROM t", "Path component cannot be an empty string"),
    ("UPDATE t.i SET a = 1", "This operation is not supported on an index"),
    ("DELETE FROM t.i", "This operation is not supported on an index"),
    ("SELECT DISTINCT a FROM t", "Unsupported clause: DISTINCT"),
    ("SELECT VALUE a FROM t", "Select projection doesn't support value or pivot keywords"),
    ("SELECT a.* FROM t", "Unpivot path component like a.*.b are not supported"),
    ("SELECT * FROM t WHERE a[*] = 1", "Wildcard path component like a[*].b are not supported"),
    ("SELECT a, b.a FROM t", "Duplicate identifiers in select clause: a"),
    (
        "SELECT * FROM t WHERE a",
        "WHERE clause must contain an expression that resolves to a boolean",
    ),
    (
        "SELECT * FROM t WHERE true",
        "WHERE clause must contain an expression that resolves to a boolean",
    ),
    (
        "SELECT * FROM t WHERE size(a)",
        "WHERE clause must contain an expression that resolves to a boolean",
    ),
    ("SELECT * FROM t WHERE a AND b = 1", "The arguments to AND/OR must be Expressions"),
    ("SELECT * FROM t WHERE NOT a", "The argument to NOT must be a Type or Expression"),
    ("SELECT * FROM t WHERE a = MISSING", "MISSING must be compared using IS operator"),
    (
        "SELECT * FROM t WHERE size(a) IS NULL",
        "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
    ),
    ("UPDATE t SET a = b IS NULL", "IS operator is not supported in update expressions"),
    (
        "SELECT * FROM t WHERE a IN 1",
        "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member",
    ),
    (
        "SELECT * FROM t WHERE a IN []",
        "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member",
    ),
    (
        "SELECT * FROM t ORDER BY a + 1",
        "Argument to ORDER BY must be of type VariableReference. Type: Plus",
    ),
    ("SELECT * FROM t WHERE a = ?", "Number of parameters in request and statement don't match."),
    (
        "INSERT INTO t VALUE 1",
        "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement.",
    ),
    (
        "INSERT INTO t <<{'a': 1}>>",
        "Unsupported operation: Inserting multiple items in a single statement is not supported, use \"INSERT INTO tableName VALUE item\" instead",
    ),
    (
        "INSERT INTO t VALUES (1)",
        "Unsupported operation: Inserting multiple items in a single statement is not supported, use \"INSERT INTO tableName VALUE item\" instead",
    ),
    ("INSERT INTO t VALUE {'a': 1} AT 1", "AT is not supported in insert statements."),
    ("INSERT INTO t VALUE {'a': 1} RETURNING ALL OLD *", "RETURNING is not supported in INSERT"),
    ("INSERT INTO t VALUE {a: 1}", "Tuple keys must be of type String. Actual type: Id under root"),
    ("INSERT INTO t VALUE {'a': 1, 'a': 2}", "Duplicate keys in tuple. Key: a under root"),
    ("INSERT INTO t VALUE {'a': {'b': 1, 'b': 2}}", "Duplicate keys in tuple. Key: b under root"),
    ("INSERT INTO t VALUE {'a': <<>>}", "Empty bags are not supported"),
    (
        "INSERT INTO t VALUE {'a': <<1, 'a'>>}",
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
    ),
    (
        "INSERT INTO t VALUE {'a': <<true>>}",
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
    ),
    (
        "INSERT INTO t VALUE {'a': <<'b', 'b'>>}",
        "One or more parameter values were invalid: Input collection [b, b] contains duplicates.",
    ),
    (
        "INSERT INTO t VALUE {'a': <<2, 2.0>>}",
        "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root",
    ),
    (
        "INSERT INTO t VALUE {'a': 1e126}",
        "Number overflow. Attempting to store a number with magnitude larger than supported range under root",
    ),
    (
        "INSERT INTO t VALUE {'a': {'x': 1e126}}",
        "Number overflow. Attempting to store a number with magnitude larger than supported range under root.x",
    ),
    (
        "INSERT INTO t VALUE {'a': [1, 1e-131]}",
        "Number underflow. Attempting to store a number with magnitude smaller than supported range under root[1]",
    ),
    (
        "SELECT * FROM t WHERE a = 1e2147483647",
        "Number underflow. Attempting to store a number with magnitude smaller than supported range under root",
    ),
    (
        "SELECT * FROM t WHERE a = 123456789012345678901234567890123456789",
        "Attempting to store more than 38 significant digits in a Number under root",
    ),
    (
        "UPDATE t SET a = 'a' + 1",
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    ),
    (
        "UPDATE t SET a = a - null",
        "Incorrect operand type for operator or function; operator or function: -, operand type: NULL",
    ),
    (
        "UPDATE t SET a = size(b)",
        "The function is not allowed in an update expression; function: size",
    ),
    (
        "UPDATE t SET a = 1, a.b = 2",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]",
    ),
    (
        "UPDATE t INSERT INTO u VALUE {}",
        "Only SET and REMOVE are supported in update expressions at this time",
    ),
    ("FROM t INSERT INTO u VALUE {}", "Unsupported FROM ... WHERE ... clause in INSERT statement."),
    (
        "UPDATE t SET a = 1 RETURNING ALL OLD *, ALL NEW *",
        "Invalid syntax with multiple returning elements in RETURNING clause",
    ),
    (
        "UPDATE t SET a = 1 RETURNING ALL OLD a",
        "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
    ),
    (
        "DELETE FROM t RETURNING MODIFIED OLD *",
        "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
    ),
    ("EXISTS(a)", "EXISTS() must contain a single item read with additional condition"),
    ("x IS INT4", "Unsupported operation: IsType"),
    ("1 + 1", "Unsupported operation: Plus"),
    ("CREATE TABLE t", "Unsupported operation: CreateTable"),
];

#[test]
fn statements_are_refused_without_a_table() {
    for (text, expected) in REFUSALS {
        assert_eq!(refusal(text), *expected, "{text}");
    }
}

#[test]
fn refusals_state_the_position() {
    for (text, what, token) in [
        ("SELECT COUNT(*) FROM t", "Unexpected path component", "COUNT"),
        ("SELECT  count(pk) FROM t", "Unexpected path component", "count"),
        ("SELECT attribute_exists(ss) FROM t", "Unexpected path component", "attribute_exists"),
        ("SELECT 'a' FROM t", "Unexpected path component", "'a'"),
        ("SELECT a[1.5] FROM t", "Unexpected path component", "1.5"),
        ("SELECT l[-1] FROM t", "List index is not within the allowable range; index: [-1]", "1"),
        (
            "SELECT l[2147483648] FROM t",
            "List index is not within the allowable range; index: [2147483648]",
            "2147483648",
        ),
        ("SELECT * FROM 'tab'", "Unexpected from source", "'tab'"),
        ("SELECT * FROM t WHERE EXISTS(ss)", "Unrecognized function: exists", "EXISTS"),
        (
            "SELECT * FROM t WHERE set_add(ss, <<'x'>>) = ss",
            "Unrecognized function: set_add",
            "set_add",
        ),
        (
            "SELECT * FROM t WHERE a + 2 = 3",
            "Unsupported operator in Condition Expression. Operator: +",
            "+",
        ),
        (
            "SELECT * FROM t WHERE n > -n",
            "Unsupported operator in Condition Expression. Operator: -",
            "-",
        ),
        ("SELECT * FROM t LIMIT 5", "Unsupported clause: LIMIT", "5"),
        (
            "INSERT INTO \"abc\".\"i\" VALUE {'pk': 'a'}",
            "FROM clause may only contain a single table name in data manipulation statements",
            "\"abc\"",
        ),
        (
            "INSERT INTO t VALUE {'ss': set_add(<<'a'>>, <<'b'>>)}",
            "Unsupported data type: set_add under key root",
            "set_add",
        ),
        (
            "INSERT INTO t VALUE {'m': {'k': ?}}",
            "Unsupported data type: Parameter under key root.k",
            "?",
        ),
        ("UPDATE t SET x = [?]", "Unsupported data type: Parameter under key root[0]", "?"),
        (
            "UPDATE t SET q = set_add(ss, <<'x'>>)",
            "The first argument to SET_ADD must equal the assignment value",
            "set_add",
        ),
        ("UPDATE t SET q = set_add(q)", "SET_ADD must have exactly two arguments", "set_add"),
        ("UPDATE t SET a = nope(1)", "Unrecognized function: nope", "nope"),
        ("UPDATE t SET a = (b > 1)", "Unsupported operator in Update Expression. Operator: >", ">"),
    ] {
        assert_eq!(refusal(text), format!("{what} at {}", place(text, token)), "{text}");
    }
    let text = "UPDATE t\nSET band = set_delete(band, 'x')";
    let expected = "The second argument to SET_DELETE must be a value with type SET at 2:23:4";
    assert_eq!(refusal(text), expected);
    assert_eq!(refusal("SELECT\n COUNT(*) FROM t"), "Unexpected path component at 2:2:5");
}

#[test]
fn literals_nest_as_deep_as_items() {
    let literal = |levels: usize| {
        format!("INSERT INTO t VALUE {{'d': {}1{}}}", "{'a':".repeat(levels), "}".repeat(levels))
    };
    assert!(bound(&literal(31), Vec::new()).is_ok());
    let expected =
        format!("Nesting Levels have exceeded supported limits under root{}", ".a".repeat(32));
    assert_eq!(refusal(&literal(32)), expected);
}

#[test]
fn every_parameter_is_used_and_there_is_one_for_each() {
    let text = "SELECT * FROM t WHERE a = ? AND b = ?";
    let mismatch = message::parameter_count();
    for (count, fits) in [(0, false), (1, false), (2, true), (3, false)] {
        let outcome = bound(text, vec![AttributeValue::Null; count]);
        assert_eq!(outcome.is_ok(), fits, "{count}");
        if let Err(error) = outcome {
            assert_eq!(error, mismatch);
        }
    }
}

#[test]
fn a_statement_names_its_target() {
    for (text, expected) in [
        ("SELECT COUNT(*) FROM t.i", Some(("t", Some("i")))),
        ("UPDATE t SET a = 1", Some(("t", None))),
        ("EXISTS(SELECT * FROM t)", Some(("t", None))),
        ("SELECT * FROM t.i.j", None),
        ("1", None),
    ] {
        assert_eq!(target(&parse(text).unwrap()), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn number_literals_have_their_value(number in -1_000_000_i64..1_000_000, exponent in -20_i32..20) {
        let text = format!("{number}e{exponent}");
        let Condition::Compare(_, _, operand) = condition(&format!("a = {text}")) else {
            unreachable!("it is a comparison")
        };
        let expected: crate::Number = text.parse().unwrap();
        prop_assert_eq!(operand.as_value(), Some(&AttributeValue::N(expected)));
    }

    #[test]
    fn string_literals_have_their_value(text in any::<String>()) {
        let quoted = text.replace('\'', "''");
        let Condition::Compare(_, _, operand) = condition(&format!("a = '{quoted}'")) else {
            unreachable!("it is a comparison")
        };
        prop_assert_eq!(operand.as_value(), Some(&AttributeValue::from(text)));
    }
}
