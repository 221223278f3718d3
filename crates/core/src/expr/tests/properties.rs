//! Properties: printing and parsing round-trip, and no text makes the parser or the binder panic.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::ast::{
    Call, Comparator, Condition, Name, Operand, Path, PathPart, Projection, Section, SetValue,
    Update,
};
use super::super::parser::{parse_condition, parse_projection, parse_update};
use super::bindings;
use crate::value::Str;

/// Identifiers that are not keywords of any language.
fn identifier() -> impl Strategy<Value = Str> {
    "[a-zA-Z][a-zA-Z0-9_]{0,4}x".prop_map(Str::from)
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        identifier().prop_map(Name::Literal),
        "#[a-zA-Z0-9_]{1,4}".prop_map(|text| Name::Placeholder(text.into())),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    let part = prop_oneof![name().prop_map(PathPart::Name), (0..20_u64).prop_map(PathPart::Index)];
    (name(), vec(part, 0..4)).prop_map(|(first, mut rest)| {
        rest.insert(0, PathPart::Name(first));
        Path(rest)
    })
}

fn value() -> impl Strategy<Value = Str> {
    ":[a-zA-Z0-9_]{1,4}".prop_map(Str::from)
}

fn call(operand: impl Strategy<Value = Operand>) -> impl Strategy<Value = Call> {
    (identifier(), vec(operand, 1..4))
        .prop_map(|(function, arguments)| Call { function, arguments })
}

fn operand() -> impl Strategy<Value = Operand> {
    let leaf = prop_oneof![path().prop_map(Operand::Path), value().prop_map(Operand::Value)];
    leaf.prop_recursive(3, 8, 3, |inner| call(inner).prop_map(Operand::Call))
}

fn comparator() -> impl Strategy<Value = Comparator> {
    prop::sample::select(vec![
        Comparator::Equal,
        Comparator::NotEqual,
        Comparator::Less,
        Comparator::LessOrEqual,
        Comparator::Greater,
        Comparator::GreaterOrEqual,
    ])
}

fn condition() -> impl Strategy<Value = Condition> {
    let test = prop_oneof![
        (comparator(), operand(), operand())
            .prop_map(|(comparator, left, right)| Condition::Compare { comparator, left, right }),
        (operand(), operand(), operand()).prop_map(|(operand, low, high)| Condition::Between {
            operand,
            low,
            high
        }),
        (operand(), vec(operand(), 1..4))
            .prop_map(|(operand, candidates)| Condition::In { operand, candidates }),
        call(operand()).prop_map(Condition::Call),
    ];
    test.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Condition::And),
            vec(inner.clone(), 2..4).prop_map(Condition::Or),
            inner.prop_map(|condition| Condition::Not(Box::new(condition))),
        ]
    })
}

fn section() -> impl Strategy<Value = Section> {
    let set_value = prop_oneof![
        operand().prop_map(SetValue::Operand),
        (operand(), operand()).prop_map(|(left, right)| SetValue::Plus(left, right)),
        (operand(), operand()).prop_map(|(left, right)| SetValue::Minus(left, right)),
    ];
    prop_oneof![
        vec((path(), set_value), 1..4).prop_map(Section::Set),
        vec(path(), 1..4).prop_map(Section::Remove),
        vec((path(), value()), 1..4).prop_map(Section::Add),
        vec((path(), value()), 1..4).prop_map(Section::Delete),
    ]
}

/// Texts that resemble expressions enough to get past the first token.
fn almost_expression() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "a", "b.c", "#n", ":v", ":w", "[0]", "(", ")", ",", ".", "=", "<>", "<", ">=", "+", "-",
            "AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE", "size(",
            "attribute_exists(", "attribute_type(", "begins_with(", "contains(", "if_not_exists(",
            "list_append(", "a = :v", "a[1]", "status",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,3}",
    ];
    (vec(piece, 0..24), any::<bool>())
        .prop_map(|(pieces, spaced)| pieces.join(if spaced { " " } else { "" }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_printed_condition_parses_to_itself(tree in condition()) {
        let text = tree.to_string();
        prop_assume!(text.len() <= 4096);
        let parsed = parse_condition(&text);
        prop_assert_eq!(parsed.as_ref().map(|parsed| &parsed.tree), Ok(&tree), "{}", text);
        prop_assert_eq!(parsed.map(|parsed| parsed.redundant_parentheses), Ok(false));
    }

    #[test]
    fn a_printed_update_parses_to_itself(sections in vec(section(), 1..5)) {
        let tree = Update(sections);
        let text = tree.to_string();
        let parsed = parse_update(&text).map(|parsed| parsed.tree);
        prop_assert_eq!(parsed, Ok(tree), "{}", text);
    }

    #[test]
    fn a_printed_projection_parses_to_itself(paths in vec(path(), 1..6)) {
        let tree = Projection(paths);
        prop_assert_eq!(parse_projection(&tree.to_string()), Ok(tree));
    }

    #[test]
    fn no_text_panics(text in prop_oneof![almost_expression(), ".{0,64}"]) {
        let values = r#"{":v": 1, ":w": "S"}"#;
        let item = super::item(r#"{"a": [1], "b": {"c": 2}, "n": "x"}"#);
        let mut bindings = bindings("#n=n", values);
        if let Ok(condition) = bindings.condition(&text) {
            condition.matches(Some(&item));
            condition.matches(None);
        }
        if let Ok(tree) = bindings.key_condition(&text) {
            let _ = tree.into_clauses().map(|clauses| clauses.resolve(&[], &[]));
        }
        if let Ok(projection) = bindings.projection(&text) {
            projection.apply(&item);
        }
        if let Ok(update) = bindings.update(&text)
            && let Ok(updated) = update.apply(Some(&item), &item)
        {
            update.targets().apply(&updated);
        }
    }
}
