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

mod trees {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::comparator;
    use crate::expr::ast::Comparator;
    use crate::expr::{
        Action, Bindings, Change, Condition, ExpressionKind, Operand, Path, Placeholders,
        Projection, SetValue, Step, Update,
    };
    use crate::value::{AttributeType, AttributeValue, Str};

    /// Reserved words and odd characters included.
    fn name() -> impl Strategy<Value = Str> {
        prop_oneof![Just("status"), Just("a"), Just("b-c"), Just("x.y"), Just("SET")]
            .prop_map(Str::from)
    }

    fn path() -> impl Strategy<Value = Path> {
        let step = prop_oneof![name().prop_map(Step::Key), (0..9_usize).prop_map(Step::Index)];
        (name(), vec(step, 0..3)).prop_map(|(attribute, steps)| Path { attribute, steps })
    }

    fn value() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            "[a-z]{0,3}".prop_map(|text| AttributeValue::from(text.as_str())),
            (0..9_i64).prop_map(AttributeValue::from),
            any::<bool>().prop_map(AttributeValue::Bool),
            Just(AttributeValue::L(Vec::new())),
        ]
    }

    fn operand() -> impl Strategy<Value = Operand> {
        let leaf = prop_oneof![path().prop_map(Operand::Path), value().prop_map(Operand::value)];
        leaf.prop_recursive(1, 2, 1, |inner| inner.prop_map(|of| Operand::Size(Box::new(of))))
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let test = prop_oneof![
            (comparator(), operand(), operand()).prop_map(|(c, a, b)| Condition::Compare(c, a, b)),
            (operand(), operand(), operand()).prop_map(|(a, b, c)| Condition::Between(a, b, c)),
            (operand(), vec(operand(), 1..3)).prop_map(|(a, b)| Condition::In(a, b)),
            path().prop_map(Condition::Exists),
            path().prop_map(Condition::NotExists),
            operand().prop_map(|of| Condition::HasType(of, AttributeType::L)),
            (operand(), operand()).prop_map(|(a, b)| Condition::BeginsWith(a, b)),
            (operand(), operand()).prop_map(|(a, b)| Condition::Contains(a, b)),
        ];
        test.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                vec(inner.clone(), 2..4).prop_map(Condition::And),
                vec(inner.clone(), 2..4).prop_map(Condition::Or),
                inner.prop_map(|of| Condition::Not(Box::new(of))),
            ]
        })
    }

    fn set_value() -> BoxedStrategy<SetValue> {
        let leaf = prop_oneof![
            path().prop_map(SetValue::Path),
            value().prop_map(|value| SetValue::Value(value.into()))
        ];
        let leaf = leaf.boxed();
        let absent =
            (path(), leaf.clone()).prop_map(|(path, b)| SetValue::IfNotExists(path, Box::new(b)));
        let call = prop_oneof![leaf, absent].boxed();
        let two =
            (call.clone(), call.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b))).boxed();
        prop_oneof![
            call,
            two.clone().prop_map(|(a, b)| SetValue::ListAppend(a, b)),
            two.clone().prop_map(|(a, b)| SetValue::Plus(a, b)),
            two.prop_map(|(a, b)| SetValue::Minus(a, b)),
        ]
        .boxed()
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            set_value().prop_map(Change::Set),
            Just(Change::Remove),
            value().prop_map(|value| Change::Add(value.into())),
            Just(Change::Delete(AttributeValue::Ss(vec!["a".into()]).into())),
        ]
    }

    fn bindings(placeholders: Placeholders) -> Bindings {
        let names = (!placeholders.names().is_empty()).then(|| placeholders.names().to_vec());
        let values = (!placeholders.values().is_empty()).then(|| placeholders.values().to_vec());
        Bindings::new(names, values).unwrap()
    }

    /// A chain of one operator is one node, however it was built.
    fn flat(condition: Condition) -> Condition {
        let members = |members: Vec<Condition>, is_and: bool| {
            members.into_iter().map(flat).flat_map(move |member| match member {
                Condition::And(inner) if is_and => inner,
                Condition::Or(inner) if !is_and => inner,
                other => vec![other],
            })
        };
        match condition {
            Condition::And(of) => Condition::And(members(of, true).collect()),
            Condition::Or(of) => Condition::Or(members(of, false).collect()),
            Condition::Not(of) => Condition::Not(Box::new(flat(*of))),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn a_condition_is_checked_as_its_text_is_and_means_the_same(condition in condition()) {
            let mut placeholders = Placeholders::default();
            let text = placeholders.condition(&condition);
            let mut bindings = bindings(placeholders);
            match (bindings.condition(&text), condition.check(ExpressionKind::Condition)) {
                (Ok(bound), Ok(())) => prop_assert_eq!(flat(bound), flat(condition)),
                (bound, checked) => prop_assert_eq!(bound.err(), checked.err(), "{}", text),
            }
        }

        #[test]
        fn an_update_is_checked_as_its_text_is_and_means_the_same(
            changes in vec((path(), change()), 1..4)
        ) {
            let actions = changes.into_iter().map(|(path, change)| Action { path, change });
            let Ok(update) = Update::of(actions.collect()) else { return Ok(()) };
            let mut placeholders = Placeholders::default();
            let text = placeholders.update(&update);
            let mut bindings = bindings(placeholders);
            match (bindings.update(&text), update.check()) {
                (Ok(bound), Ok(())) => {
                    let by_path = |update: &Update| {
                        let mut actions = update.actions().to_vec();
                        actions.sort_by_key(|action| action.path.to_string());
                        actions
                    };
                    prop_assert_eq!(by_path(&bound), by_path(&update));
                }
                (bound, checked) => prop_assert_eq!(bound.is_err(), checked.is_err(), "{}", text),
            }
        }

        #[test]
        fn a_projection_survives_being_printed(paths in vec(path(), 1..4)) {
            let Ok(projection) = Projection::of(paths) else { return Ok(()) };
            let mut placeholders = Placeholders::default();
            let text = placeholders.projection(&projection);
            prop_assert_eq!(bindings(placeholders).projection(&text).unwrap(), projection);
        }
    }

    #[test]
    fn placeholders_of_given_texts_are_not_taken_again() {
        let names = vec![("#n1".into(), "other".into())];
        let mut placeholders = Placeholders::beside(names, Vec::new());
        let equal = Condition::Compare(
            Comparator::Equal,
            Operand::Path(Path::attribute("a")),
            Operand::value("x".into()),
        );
        assert_eq!(placeholders.condition(&equal), "#n2 = :v0");
    }
}
