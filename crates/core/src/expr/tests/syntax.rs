//! Parsing, and syntax errors.

use super::super::parser::{parse_condition, parse_projection, parse_update};

/// The printed form of the parsed text, or the problem.
fn condition(text: &str) -> String {
    match parse_condition(text) {
        Ok(parsed) if parsed.redundant_parentheses => format!("redundant: {}", parsed.tree),
        Ok(parsed) => parsed.tree.to_string(),
        Err(problem) => problem.to_string(),
    }
}

fn update(text: &str) -> String {
    match parse_update(text) {
        Ok(parsed) if parsed.redundant_parentheses => format!("redundant: {}", parsed.tree),
        Ok(parsed) => parsed.tree.to_string(),
        Err(problem) => problem.to_string(),
    }
}

fn projection(text: &str) -> String {
    parse_projection(text).map_or_else(|problem| problem.to_string(), |tree| tree.to_string())
}

#[test]
fn conditions_are_read_with_their_precedence() {
    for (text, read) in [
        ("a=:b", "a = :b"),
        ("a = b OR c = d AND e = f", "a = b OR c = d AND e = f"),
        ("(a = b OR c = d) AND e = f", "(a = b OR c = d) AND e = f"),
        ("(a = b AND c = d) AND e = f", "(a = b AND c = d) AND e = f"),
        ("(a = b) AND (c = d)", "a = b AND c = d"),
        ("(a = b AND c = d)", "a = b AND c = d"),
        ("((a=b) OR (c=d))", "a = b OR c = d"),
        ("not a<b and c>=d", "NOT a < b AND c >= d"),
        ("NOT (a<b and c>=d)", "NOT (a < b AND c >= d)"),
        ("nOt NOT (not a <> b)", "NOT NOT NOT a <> b"),
        ("a between :b and :c and d in (e,#f , :g)", "a BETWEEN :b AND :c AND d IN (e, #f, :g)"),
        ("(a)between(b.c[1].#d)and(:e)", "a BETWEEN b.c[1].#d AND :e"),
        ("(a.b).c[ 0 ] = ((d).e).f", "a.b.c[0] = d.e.f"),
        ("(size(a)) > (:b)", "size(a) > :b"),
        ("(attribute_exists(a)) OR (b) = c", "attribute_exists(a) OR b = c"),
        ("f(a, g((:b), c), d.e)", "f(a, g(:b, c), d.e)"),
        ("attribute_exists (a)", "attribute_exists(a)"),
        ("\ta\r\n=  b ", "a = b"),
    ] {
        assert_eq!(condition(text), read, "{text}");
    }
}

#[test]
fn redundant_parentheses_are_detected() {
    for text in [
        "((a = b))",
        "c = d AND ((a = b))",
        "a > ((b))",
        "(a)between(((b.c)).d)and(c)",
        "a > f((:b), ((c)))",
        "a=b AND ((a=b AND a=b)) AND a=b",
        "a=b OR ((a=b OR (a=b OR a=b)))",
        "((attribute_exists(a)))",
        "NOT ((a = b))",
        "((a)) = b",
    ] {
        assert!(condition(text).starts_with("redundant: "), "{text}: {}", condition(text));
    }
    for text in ["((a).b) = c", "((a = b) AND c = d)", "(NOT (a = b))", "((a) = b)"] {
        assert!(!condition(text).starts_with("redundant: "), "{text}");
    }
}

#[test]
fn syntax_errors_name_the_token_and_its_neighbours() {
    for (text, token, near) in [
        ("foo", "<EOF>", "foo"),
        ("pk = ", "<EOF>", "="),
        ("a > 4", "4", "> 4"),
        ("a > 4 AND", "4", "> 4 AND"),
        ("attribute_not_exists(", "<EOF>", "("),
        ("f()", ")", "()"),
        ("a IN ()", ")", "()"),
        ("a in b", "b", "in b"),
        ("a in (b,c,)", ")", ",)"),
        ("a > between", "between", "> between"),
        ("p=:p AND c!=:c", "!", "c!="),
        ("attribute_exists(Pictures-RearView)", "-", "Pictures-RearView"),
        ("attribute_exists(Pictures..RearView)", ".", "..RearView"),
        ("attribute_exists(asdf[a])", "a", "[a]"),
        ("a > :things.stuff", ".", ":things.stuff"),
        ("b[:a] > a", ":a", "[:a]"),
        ("b[4.5] > a", ".", "4.5"),
        ("ü > a", "ü", "ü >"),
        ("size(a).b > a", ".", ").b"),
        ("(size(a))[0] > a", "[", ")[0"),
        ("(a)between(b.(c.d))and(c)", "(", ".(c"),
        ("(a)between(b.c.d)and((c)", "<EOF>", ")"),
        ("(a = b", "<EOF>", "b"),
        ("a = b)", ")", "b)"),
        ("a = b c = d", "c", "b c ="),
        ("(a AND b = c)", "AND", "a AND b"),
        ("a = (b = c)", "=", "b = c"),
        ("a = NOT b", "NOT", "= NOT b"),
        ("#$.b > a", "#", "#$"),
        ("a = :", ":", "= :"),
        ("_a = b", "_", "_a"),
        ("#a(b)", "(", "#a(b"),
        ("  ! ", "!", "!"),
    ] {
        let expected = format!("Syntax error; token: \"{token}\", near: \"{near}\"");
        assert_eq!(condition(text), expected, "{text}");
    }
}

#[test]
fn updates_are_read_section_by_section() {
    for (text, read) in [
        ("set a=:b", "SET a = :b"),
        ("SET a = (b + c)", "SET a = b + c"),
        ("set a = ((b.c.d)-(e))", "SET a = b.c.d - e"),
        ("SET a = if_not_exists(a, :b)+:c", "SET a = if_not_exists(a, :b) + :c"),
        ("remove a[1] , #b.c set d=e", "REMOVE a[1], #b.c SET d = e"),
        ("add a :b,c :d delete e :f", "ADD a :b, c :d DELETE e :f"),
        ("SET a = b SET c = d", "SET a = b SET c = d"),
        ("SET a = ((b))", "redundant: SET a = b"),
    ] {
        assert_eq!(update(text), read, "{text}");
    }
}

#[test]
fn updates_with_syntax_errors_are_refused() {
    for (text, token, near) in [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET _123 = :val1", "_", "SET _123"),
        ("SET", "<EOF>", "SET"),
        ("set a", "<EOF>", "a"),
        ("set a=set", "set", "=set"),
        ("SET a = :b,", "<EOF>", ","),
        ("remove a = b", "=", "a = b"),
        ("delete a b", "b", "a b"),
        ("add a if_not_exist(b)", "if_not_exist", "a if_not_exist("),
        ("set :a = b", ":a", "set :a ="),
        ("set a = b / c", "/", "b / c"),
        ("set a[1] = \"eight\"", "\"", "= \"eight"),
        ("set a[1] = 1", "1", "= 1"),
        ("SET f(a, b) = a", "(", "f(a"),
        ("set (a = (b + c))", "(", "set (a"),
        ("set a = (b.c).d + e", ".", ").d"),
        ("set a = b + c + d", "+", "c + d"),
        ("set a = (b + c) + d", "+", ") + d"),
        ("set a = b + (c + d)", "+", "c + d"),
        ("set a = f(b, c + d)", "+", "c + d"),
        ("set a = b, remove c", "remove", ", remove c"),
    ] {
        let expected = format!("Syntax error; token: \"{token}\", near: \"{near}\"");
        assert_eq!(update(text), expected, "{text}");
    }
}

#[test]
fn projections_are_lists_of_paths() {
    assert_eq!(projection(" a ,#b . c[0]\n, and"), "a, #b.c[0], and");
    for (text, token, near) in [
        ("!!! INVALID !!!", "!", "!!"),
        ("whatever(stuff)", "(", "whatever(stuff"),
        (":a", ":a", ":a"),
        ("abort,", "<EOF>", ","),
        ("a,,b", ",", ",,b"),
        ("a b", "b", "a b"),
        ("(a)", "(", "(a"),
        ("a-b", "-", "a-b"),
    ] {
        let expected = format!("Syntax error; token: \"{token}\", near: \"{near}\"");
        assert_eq!(projection(text), expected, "{text}");
    }
}

#[test]
fn empty_and_oversized_expressions_are_refused_unparsed() {
    for text in ["", "  \n"] {
        assert_eq!(condition(text), "The expression can not be empty;");
        assert_eq!(update(text), "The expression can not be empty;");
        assert_eq!(projection(text), "The expression can not be empty;");
    }
    assert_eq!(projection(&"x".repeat(4096)), "x".repeat(4096));
    assert_eq!(
        projection(&"x".repeat(4097)),
        "Expression size has exceeded the maximum allowed size; expression size: 4097"
    );
}

#[test]
fn more_than_300_operators_are_refused() {
    let nested = |depth| format!("a<b {}{}", "or (a<b ".repeat(depth), ")".repeat(depth));
    assert!(parse_condition(&nested(149)).is_ok(), "299 operators");
    let refused = "The expression contains too many operators; operator count: 301";
    assert_eq!(condition(&nested(150)), refused);
    assert_eq!(condition(&format!("{}a<b", "not ".repeat(1000))), refused);
    assert!(parse_condition(&format!("{}a<b", "not ".repeat(299))).is_ok());
    assert!(parse_condition(&format!("a=b{}", " OR a=b".repeat(149))).is_ok());
}

#[test]
fn depth_does_not_exhaust_the_stack() {
    let open = "(".repeat(4096);
    assert_eq!(condition(&open), "Syntax error; token: \"<EOF>\", near: \"(\"");
    let deep = |depth: usize| format!("{}a<b{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(condition(&deep(2046)), "redundant: a < b");
    let operand = format!("a < {}b{}", "(".repeat(2040), ")".repeat(2040));
    assert_eq!(condition(&operand), "redundant: a < b");
    let calls = format!("a < {}b{}", "f(".repeat(1355), ")".repeat(1355));
    assert!(condition(&calls).starts_with("Syntax error; token: \"f\""));
    let value = format!("SET a = {}b{}", "(".repeat(2040), ")".repeat(2040));
    assert_eq!(update(&value), "redundant: SET a = b");
    assert!(parse_projection(&format!("a{}", ".a".repeat(2000))).is_ok());
}
