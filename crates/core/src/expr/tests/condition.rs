//! Evaluation of conditions on items.

use super::{bindings, item};

const VALUES: &str = r#"{
    ":zero": 0, ":one": 1, ":two": 2, ":three": 3, ":hello": "hello", ":ell": "ell", ":he": "he",
    ":bytes": {"$b": "hi there"}, ":here": {"$b": "here"}, ":list": [1, "x"], ":set": {"$ns": [7, 2, 4]},
    ":null": null, ":true": true, ":map": {"y": {"z": [1]}}, ":N": "N", ":empty": "", ":M": "M"
}"#;

const ITEM: &str = r#"{
    "n": 2, "s": "hello", "b": {"$b": "hi there"}, "t": true, "nul": null,
    "ns": {"$ns": [2, 4, 7]}, "ss": {"$ss": ["he", "she"]}, "l": [1, "x", {"$ns": [4, 2, 7]}],
    "m": {"y": {"z": [1]}}, "emoji": "a\ud83d\ude00", "big": 12345678901234567890123456789012345678
}"#;

fn check(expected: bool, expressions: &[&str]) {
    for text in expressions {
        let condition = bindings("", VALUES).condition(text).unwrap();
        assert_eq!(condition.matches(Some(&item(ITEM))), expected, "{text}");
    }
}

#[test]
fn comparisons() {
    check(
        true,
        &[
            "n = :two",
            "n <> :three",
            "n < :three",
            "n <= :two",
            "n > :zero",
            "n >= :two",
            "s = :hello",
            "s > :he",
            "b = :bytes",
            "b > :here",
            "t = :true",
            "nul = :null",
            "ns = :set",
            "m = :map",
            "m.y.z[0] = :one",
            "l[1] <> :one",
            "n <> :hello",
            ":two = n",
            ":one < n",
            "l[2] = ns",
        ],
    );
    check(
        false,
        &[
            "n = :one",
            "n < :two",
            "n < :hello",
            "s < :three",
            "t > n",
            "l < n",
            "m.y.z = :one",
            "m.y.z[1] = :one",
            "s.x = :one",
            "n[0] = :one",
            "l = :list",
        ],
    );
}

#[test]
fn a_missing_value_is_only_unequal() {
    check(true, &["q <> :one", "q <> r", "NOT q = :one", "m.q <> :one", "size(q) <> :one"]);
    check(
        false,
        &["q = :one", "q = r", "q < :one", ":one < q", "q BETWEEN r AND :one", "q IN (:one, r)"],
    );
}

#[test]
fn between_and_in() {
    check(
        true,
        &[
            "n BETWEEN :one AND :three",
            "n BETWEEN :two AND :two",
            "s BETWEEN :ell AND :hello",
            "n IN (:one, :hello, :two)",
            "l[2] IN (:set)",
            ":two BETWEEN l[0] AND n",
        ],
    );
    check(
        false,
        &["n BETWEEN :three AND big", "n BETWEEN :ell AND :hello", "n IN (:one, s)", "l IN (:one)"],
    );
}

#[test]
fn functions() {
    check(
        true,
        &[
            "attribute_exists(m.y.z)",
            "attribute_not_exists(m.z)",
            "attribute_exists(nul)",
            "attribute_type(n, :N)",
            "attribute_type(:map, :M)",
            "begins_with(s, :he)",
            "begins_with(s, :empty)",
            "begins_with(:hello, ss) OR begins_with(:hello, s)",
            "contains(s, :ell)",
            "contains(b, :here)",
            "contains(ns, :two)",
            "contains(ss, :he)",
            "contains(l, :one)",
            "contains(l, :set)",
            "contains(s, :empty)",
        ],
    );
    check(
        false,
        &[
            "attribute_exists(m.y.z[1])",
            "attribute_type(s, :N)",
            "attribute_type(q, :N)",
            "begins_with(n, :he)",
            "begins_with(b, :he)",
            "contains(s, :one)",
            "contains(ss, :ell)",
            "contains(n, :two)",
            "contains(l, :two)",
            "contains(q, :two)",
            "contains(m, :map)",
        ],
    );
}

#[test]
fn sizes() {
    for (path, size) in
        [("s", 5), ("b", 8), ("ns", 3), ("ss", 2), ("l", 3), ("m", 1), ("m.y.z", 1), ("emoji", 3)]
    {
        let values = format!("{{\":size\": {size}}}");
        let text = format!("size({path}) = :size");
        let condition = bindings("", &values).condition(&text).unwrap();
        assert!(condition.matches(Some(&item(ITEM))), "{text} {size}");
    }
    check(true, &["size(s) > n", "size(:hello) = size(s)", "size(l) BETWEEN :one AND :three"]);
    check(false, &["size(n) = :one", "size(t) < :three", "size(s) = :hello"]);
}

#[test]
fn logic() {
    check(
        true,
        &[
            "n = :two AND s = :hello",
            "n = :one OR s = :hello",
            "n = :one AND s = :ell OR t = :true",
            "t = :true OR n = :one AND s = :ell",
            "NOT (n = :one AND s = :hello)",
            "NOT n = :one AND NOT n = :three",
        ],
    );
    check(
        false,
        &["n = :two AND s = :ell", "(t = :true OR n = :one) AND s = :ell", "NOT NOT n = :one"],
    );
}

#[test]
fn a_missing_item_has_no_attributes() {
    for (text, expected) in [
        ("attribute_not_exists(pk)", true),
        ("attribute_exists(pk)", false),
        ("n = :one", false),
        ("n <> :one", true),
    ] {
        assert_eq!(bindings("", VALUES).condition(text).unwrap().matches(None), expected, "{text}");
    }
}

#[test]
fn a_filter_must_not_use_keys() {
    let filter = bindings("#s=sk", r#"{":v": 1}"#).filter("a = :v AND size(#s) > :v").unwrap();
    assert!(filter.check_excludes_keys("Filter Expression", ["pk"]).is_ok());
    assert_eq!(
        filter.check_excludes_keys("Filter Expression", ["pk", "sk"]).unwrap_err().message(),
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    );
}

#[test]
fn paths_may_not_go_inside_keys() {
    let filter = bindings("", r#"{":v": 1}"#).filter("a.b = :v AND gs[0] = :v").unwrap();
    let check = |table: [&str; 1], index: [&str; 1]| {
        super::super::check_keys_are_scalars(&filter.paths(), table, index)
    };
    assert!(check(["pk"], ["lsk"]).is_ok());
    let sentence = "Key attributes must be scalars; list random access '[]' and map lookup '.' are \
         not allowed:";
    assert_eq!(check(["a"], ["gs"]).unwrap_err().message(), format!("{sentence} Key: a"));
    assert_eq!(check(["pk"], ["gs"]).unwrap_err().message(), format!("{sentence} IndexKey: gs"));
}
