//! A compiled range holds exactly the keys whose fields satisfy the condition.

use keyloom_keys::{
    BuildError, Field, FieldCondition, FieldFormat, KeyRange, Operator, Precision, RangeError,
    RangeKind, SeparatorPolicy, Template, TemplateOptions, Term, Value,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generate::{template, term, values};
use crate::order::compare;
use crate::round_trip::canonical;

#[derive(Clone, Debug)]
struct Case {
    template: Template,
    tuples: Vec<Vec<Value<'static>>>,
    bound: usize,
    terms: Vec<Term<'static>>,
}

fn case() -> impl Strategy<Value = Case> {
    template().prop_flat_map(|template| {
        let fields: Vec<FieldFormat> =
            template.fields().map(|field| field.format().clone()).collect();
        let tuples = vec(values(&template), 12);
        (Just(template), tuples, 0..fields.len()).prop_flat_map(move |(template, tuples, bound)| {
            let terms = vec(term(&fields[bound]), 1..3);
            (Just(template), Just(tuples), Just(bound), terms).prop_map(
                |(template, tuples, bound, terms)| Case { template, tuples, bound, terms },
            )
        })
    })
}

/// Whether a stored value satisfies a term: the meaning, without any of the machinery.
fn satisfies(format: &FieldFormat, stored: &Value<'_>, term: &Term<'_>) -> bool {
    match term {
        Term::BeginsWith(text) => match stored.as_str() {
            Some(stored) => stored.starts_with(canonical_text(format, text).as_str()),
            None => format.encode(stored).unwrap().starts_with(text.as_ref()),
        },
        Term::Compare(operator, Value::Time(asked)) => {
            let Value::Time(stored) = stored else { panic!("not a time") };
            let (start, end) = (asked.millis(), asked.last_millisecond().millis());
            let at = stored.millis();
            match operator {
                Operator::Eq
                    if asked.precision() > format.precision().unwrap() && format.is_bucket() =>
                {
                    asked.at(format.precision().unwrap()).millis() == at
                }
                Operator::Eq => start <= at && at <= end,
                Operator::Lt => at < start,
                Operator::Le => at <= end,
                Operator::Gt => at > end,
                Operator::Ge => at >= start,
            }
        }
        Term::Compare(operator, asked) => {
            let asked = canonical(format, asked);
            let order = compare(format, stored, &asked);
            let order = if format.is_desc() { order.reverse() } else { order };
            match operator {
                Operator::Eq => order.is_eq(),
                Operator::Lt => order.is_lt(),
                Operator::Le => order.is_le(),
                Operator::Gt => order.is_gt(),
                Operator::Ge => order.is_ge(),
            }
        }
    }
}

fn canonical_text(format: &FieldFormat, text: &str) -> String {
    match format.case() {
        keyloom_keys::Case::Lower => text.to_ascii_lowercase(),
        keyloom_keys::Case::Upper => text.to_ascii_uppercase(),
        keyloom_keys::Case::AsIs => text.to_owned(),
    }
}

fn holds(range: &KeyRange, key: &str) -> bool {
    let by_ends = range.contains(key);
    match range.kind() {
        RangeKind::Prefix(prefix) => {
            assert_eq!(by_ends, key.starts_with(prefix.as_str()), "{range:?} {key}");
        }
        RangeKind::Exact => assert_eq!(by_ends, key == range.lower(), "{range:?} {key}"),
        RangeKind::All | RangeKind::Between => {}
    }
    by_ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]

    #[test]
    fn ranges_hold_exactly_what_satisfies_the_condition(case in case()) {
        let Case { template, tuples, bound, terms } = case;
        let names: Vec<&str> = template.fields().map(Field::name).collect();
        let format = template.fields().nth(bound).unwrap().format();
        let keys: Vec<String> = tuples.iter().filter_map(|tuple| template.build_values(tuple).ok()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let first = template.parse_key(&keys[0]).unwrap();
        let bound_values: Vec<(&str, Value<'_>)> = first.iter().take(bound).collect();
        let mut condition = FieldCondition::new(names[bound], terms[0].clone());
        for term in &terms[1..] {
            condition = condition.and(term.clone());
        }
        let wanted = |key: &str| {
            let fields = template.parse_key(key).unwrap();
            fields.iter().take(bound).eq(bound_values.iter().cloned())
                && terms.iter().all(|term| satisfies(format, &fields.at(bound).unwrap(), term))
        };
        match template.range(&bound_values, Some(&condition)) {
            Ok(range) => {
                for key in &keys {
                    prop_assert_eq!(holds(&range, key), wanted(key), "{} in {:?}", key, &range);
                }
                let prefix = template.range(&bound_values, None).unwrap();
                let prefix = prefix.prefix().unwrap_or_default();
                prop_assert!(range.lower().starts_with(prefix) && range.upper().starts_with(prefix), "leaks: {:?}", range);
            }
            Err(RangeError::Empty { .. }) => {
                for key in &keys {
                    prop_assert!(!wanted(key), "{} was said to be impossible", key);
                }
            }
            Err(RangeError::NotContiguous { .. }) => {
                prop_assert!(format.is_plain() || format.is_text() || !format.is_fixed_width());
            }
            Err(RangeError::NoPrefix { .. }) => {
                prop_assert!(terms.iter().any(|term| matches!(term, Term::BeginsWith(_))));
            }
            // A value that the field cannot hold, such as one with the separator.
            Err(RangeError::Build(_)) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    #[test]
    fn bound_fields_alone_give_their_keys(case in case()) {
        let Case { template, tuples, bound, .. } = case;
        let keys: Vec<String> = tuples.iter().filter_map(|tuple| template.build_values(tuple).ok()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let first = template.parse_key(&keys[0]).unwrap();
        for count in [bound, first.len()] {
            let bound_values: Vec<(&str, Value<'_>)> = first.iter().take(count).collect();
            let range = match template.range(&bound_values, None) {
                Err(RangeError::Build(BuildError::Open { .. })) => continue,
                range => range.unwrap(),
            };
            for key in &keys {
                let fields = template.parse_key(key).unwrap();
                let same = fields.iter().take(count).eq(bound_values.iter().cloned());
                prop_assert_eq!(holds(&range, key), same, "{} in {:?}", key, &range);
            }
        }
    }
}

#[test]
fn a_day_includes_its_last_moment() {
    for (text, upper) in [
        ("O#{at:datetime}", "O#2024-01-31T23:59:59Z"),
        ("O#{at:datetime:ms}", "O#2024-01-31T23:59:59.999Z"),
        ("O#{at:epoch_ms}", "O#001706745599999"),
        ("O#{at:date}", "O#2024-01-31"),
        ("O#{at:hour}", "O#2024-01-31-23"),
    ] {
        let range = Template::parse(text)
            .unwrap()
            .range(&[], Some(&FieldCondition::between("at", "2024-01-01", "2024-01-31")))
            .unwrap();
        assert_eq!(range.upper(), upper);
    }
}

#[test]
fn a_period_may_be_asked_for_by_equality() {
    let template = Template::parse("O#{at:datetime}#{id}").unwrap();
    let range = template.range(&[], Some(&FieldCondition::eq("at", "2024-02"))).unwrap();
    assert_eq!(
        (range.lower(), range.upper()),
        ("O#2024-02-01T00:00:00Z#", "O#2024-02-29T23:59:59Z#\u{10FFFF}")
    );
    let instant =
        template.range(&[], Some(&FieldCondition::eq("at", "2024-02-01T00:00:00Z"))).unwrap();
    assert_eq!(instant.prefix(), Some("O#2024-02-01T00:00:00Z#"));
    assert_eq!(Precision::Month.max(Precision::Day), Precision::Day);
}

#[test]
fn a_value_that_nothing_closes_cannot_be_asked_for() {
    let template = Template::parse("P#{a:hex}{b:bool}#{c:u8}").unwrap();
    let a = ("a", Value::from(vec![0]));
    assert!(
        template.prefix(std::slice::from_ref(&a)).is_err(),
        "a0 = 00 and a0 = 0000 begin the same"
    );
    assert!(template.range(&[], Some(&FieldCondition::begins_with("a", "000"))).is_err());
    assert!(template.range(&[], Some(&FieldCondition::eq("a", a.1.clone()))).is_err());
    assert_eq!(template.prefix(&[a, ("b", true.into())]).unwrap(), "P#001#");
}

#[test]
fn a_beginning_that_runs_into_the_separator_is_refused() {
    let template = Template::parse("{a}::{b:u8}").unwrap();
    let beginning =
        |text: &'static str| template.range(&[], Some(&FieldCondition::begins_with("a", text)));
    assert!(
        matches!(beginning("x:"), Err(RangeError::NotContiguous { .. })),
        "x::001 begins with x: too"
    );
    assert_eq!(beginning("x:y").unwrap().prefix(), Some("x:y"));
    assert_eq!(beginning(":").unwrap().prefix(), Some(":"), "no value is empty");
}

#[test]
fn the_end_below_a_value_is_in_the_alphabet() {
    // `/` lies between `.` and `0` but is escaped, hence elsewhere in the order.
    let options = TemplateOptions {
        policy: SeparatorPolicy::PercentEscape,
        separator: Some("/".to_owned()),
        ..TemplateOptions::default()
    };
    let template = Template::parse_with("P/{a:token}", &options, |_| None).unwrap();
    let range = template.range(&[], Some(&FieldCondition::lt("a", "0"))).unwrap();
    assert_eq!(range.upper(), "P/.\u{10FFFF}");
}

#[test]
fn errors_name_the_field_and_the_way_out() {
    let template = Template::parse("{a}#{b:u8}#{c:u8:plain}").unwrap();
    let a = ("a", Value::from("x"));
    for (bound, condition, expected) in [
        (vec![], FieldCondition::gt("b", 1), "a range on `b` needs `a`"),
        (
            vec![a.clone()],
            FieldCondition::gt("a", "y"),
            "`a` is bound to one value and has a condition",
        ),
        (vec![a.clone()], FieldCondition::gt("z", 1), "has no field `z`; its fields are a, b, c"),
        (
            vec![a.clone()],
            FieldCondition::gt("b", 255),
            "no key can satisfy the condition on field `b`",
        ),
        (
            vec![a.clone()],
            FieldCondition::gt("b", "many"),
            "field `b`: `many` is not a whole number",
        ),
        (vec![], FieldCondition::gt("a", "y"), "use the order-preserving policy"),
        (vec![a.clone(), ("b", 1.into())], FieldCondition::gt("c", 1), "drop `plain`"),
        (
            vec![a, ("c", 1.into())],
            FieldCondition::gt("b", 1),
            "`c` is given but `b` to its left is not",
        ),
    ] {
        let error = template.range(&bound, Some(&condition)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
