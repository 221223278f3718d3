//! The language of a template has exactly the texts that the template parses, and overlaps are found by it exactly.

use std::collections::BTreeSet;

use keyloom_keys::{
    Field, FieldType, KeyRange, Language, SeparatorPolicy, Template, TemplateOptions, Value,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::generate::{template, template_and_values};

/// Whether lengths are part of what a template says; its language does not count them.
fn counts_lengths(template: &Template) -> bool {
    template.fields().map(Field::format).any(|format| {
        // Descending fixed text may be invalid UTF-8 in the language, because its characters are not counted either.
        format.max_bytes().is_some() || (*format.kind() == FieldType::Fixed && format.is_desc())
    })
}

/// Texts next to a key: one character replaced, added or dropped, and the key cut off.
fn neighbours(key: &str) -> Vec<String> {
    let marks = "01239agZ#-:.~%$";
    let mut texts = vec![key.to_owned()];
    for (at, old) in key.char_indices() {
        let (head, tail) = (&key[..at], &key[at + old.len_utf8()..]);
        texts.push(head.to_owned());
        texts.push(format!("{head}{tail}"));
        for mark in marks.chars() {
            texts.push(format!("{head}{mark}{tail}"));
            texts.push(format!("{head}{mark}{old}{tail}"));
        }
    }
    texts
}

fn assert_exact(template: &Template, key: &str) {
    let language = template.language();
    for text in neighbours(key) {
        assert_eq!(
            language.contains(text.as_bytes()),
            template.matches(&text),
            "{text:?} of {template}, separator {:?}, {:?}",
            template.separator(),
            template.policy()
        );
    }
}

/// Samples for every format: the ends of ranges, leap days, texts that need escapes.
const SAMPLES: &[&str] = &[
    "a",
    "a:",
    "a#b",
    "a.b",
    "a-b",
    "0",
    "42",
    "-42",
    "255",
    "12.5",
    "-12.5",
    "true",
    "2024-01-15T10:30:00Z",
    "2024-02-29",
    "2000-02",
    "1900-02-28",
    "2024-01",
    "2024-01-31",
    "9999-12-31T23:59:59Z",
    "0aff",
    "01HM5KXJ8M0000000000000001",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "Todo",
    "x#y",
    "abcde",
    "18446744073709551615",
    "9223372036854775807",
    "-9223372036854775808",
];

const FORMATS: &[&str] = &[
    "string",
    "string:desc",
    "string:lower",
    "token",
    "token:desc",
    "fixed:5",
    "u8",
    "u8:2",
    "u16",
    "u32:6",
    "u64",
    "u8:plain",
    "u64:plain",
    "u32:desc",
    "i64",
    "i64:2",
    "i64:plain",
    "i64:desc",
    "decimal:4.2",
    "decimal:4.2:desc",
    "decimal:3.0",
    "year",
    "month",
    "month:desc",
    "date",
    "date:desc",
    "hour",
    "datetime",
    "datetime:desc",
    "datetime:ms",
    "epoch_ms",
    "epoch_ms:desc",
    "uuid",
    "uuid:desc",
    "ulid",
    "ulid:desc",
    "bool",
    "bool:desc",
    "enum:Todo|Done",
    "enum:Todo|x#y|a-b",
    "enum:Todo|Done:desc",
    "hex",
    "hex:2",
    "hex:desc",
];

const POLICIES: [SeparatorPolicy; 3] =
    [SeparatorPolicy::Reject, SeparatorPolicy::PercentEscape, SeparatorPolicy::OrderPreserving];

#[test]
fn languages_are_exact_for_every_format() {
    for format in FORMATS {
        let mut tried = 0;
        // Separators and policies concern text; for other types one of each is enough.
        let is_text = ["string", "token", "enum"].iter().any(|text| format.starts_with(text));
        let (separators, policies) = if is_text {
            (&["#", "::", ".", "-"][..], &POLICIES[..])
        } else {
            (&["#"][..], &POLICIES[..1])
        };
        for &separator in separators {
            for &policy in policies {
                let options = TemplateOptions {
                    separator: Some(separator.to_owned()),
                    policy,
                    ..TemplateOptions::default()
                };
                let text = format!("P{separator}{{f:{format}}}");
                let Ok(template) = Template::parse_with(&text, &options, |_| None) else {
                    continue;
                };
                for sample in SAMPLES {
                    if let Ok(key) = template.build(&[("f", Value::from(*sample))]) {
                        tried += 1;
                        assert_exact(&template, &key);
                    }
                }
            }
        }
        assert!(tried > 0, "{format} had no sample");
    }
}

/// Three things that an earlier automaton of the planner got wrong: it missed keys, and so proved what does not hold.
#[test]
fn escaped_values_are_in_the_language() {
    for (format, separator, policy, value, key) in [
        ("enum:Todo|x#y", "#", SeparatorPolicy::PercentEscape, "x#y", "P#x%23y"),
        ("string:lower", "::", SeparatorPolicy::PercentEscape, "a:", "P::a%3A"),
        ("token", "::", SeparatorPolicy::OrderPreserving, "a-b", "P::a;2Db"),
    ] {
        let options = TemplateOptions {
            separator: Some(separator.to_owned()),
            policy,
            ..TemplateOptions::default()
        };
        let text = format!("P{separator}{{f:{format}}}");
        let template = Template::parse_with(&text, &options, |_| None).unwrap();
        assert_eq!(template.build(&[("f", value.into())]).unwrap(), key);
        assert!(template.language().contains(key.as_bytes()), "{key}");
    }
}

#[test]
fn the_language_of_dates_has_the_days_of_the_calendar() {
    let language = Template::parse("{day:date}").unwrap().language();
    let complemented = Template::parse("{day:date:desc}").unwrap().language();
    for year in [0, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9999] {
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for month in 0..20 {
            let days = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                1..=12 => 31,
                _ => 0,
            };
            for day in 0..40 {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let exists = (1..=days).contains(&day);
                assert_eq!(language.contains(text.as_bytes()), exists, "{text}");
                let reversed = text.bytes().map(|b| if b == b'-' { b } else { b'0' + b'9' - b });
                assert_eq!(complemented.contains(&reversed.collect::<Vec<_>>()), exists, "{text}");
            }
        }
    }
}

/// Templates of which every key can be listed.
fn listed(parts: &[(&str, Vec<&str>)]) -> (Template, BTreeSet<String>) {
    let text: String = parts.iter().map(|(text, _)| *text).collect();
    let template = Template::parse(&text).unwrap();
    let mut keys = vec![String::new()];
    for (_, texts) in parts {
        keys = keys.iter().flat_map(|key| texts.iter().map(move |t| format!("{key}{t}"))).collect();
    }
    (template, keys.into_iter().collect())
}

fn small_part() -> impl Strategy<Value = (&'static str, Vec<&'static str>)> {
    select(vec![
        ("A#", vec!["A#"]),
        ("#", vec!["#"]),
        ("1", vec!["1"]),
        ("{f1:bool}", vec!["0", "1"]),
        ("{f2:u8:1}", vec!["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]),
        ("{f3:enum:1|10|A}", vec!["1", "10", "A"]),
        ("{f4:enum:0|A}", vec!["0", "A"]),
    ])
}

proptest! {
    // Each case compares thousands of texts.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn languages_are_exact_around_keys((template, tuples) in template_and_values(2)) {
        if counts_lengths(&template) {
            return Ok(());
        }
        for tuple in tuples {
            if let Ok(key) = template.build_values(&tuple) {
                assert_exact(&template, &key);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_shared_text_is_a_key_of_both(a in template(), b in template()) {
        if counts_lengths(&a) || counts_lengths(&b) {
            return Ok(());
        }
        let shared = a.language().shared_text(&b.language());
        if let Some(text) = shared.and_then(|text| String::from_utf8(text).ok()) {
            prop_assert!(a.matches(&text), "{:?} of {}", text, a);
            prop_assert!(b.matches(&text), "{:?} of {}", text, b);
        }
    }

    #[test]
    fn overlaps_are_those_of_all_keys_listed(
        left in proptest::collection::vec(small_part(), 1..4),
        right in proptest::collection::vec(small_part(), 1..4),
    ) {
        let unique = |parts: &[(&str, Vec<&str>)]| {
            let text: String = parts.iter().map(|(text, _)| *text).collect();
            Template::parse(&text).is_ok()
        };
        if !unique(&left) || !unique(&right) {
            return Ok(());
        }
        let ((a, a_keys), (b, b_keys)) = (listed(&left), listed(&right));
        let shared = a.language().shared_text(&b.language());
        prop_assert_eq!(shared.is_some(), !a_keys.is_disjoint(&b_keys), "{} {}", a, b);
    }

    #[test]
    fn ranges_overlap_as_their_keys_do((template, tuples) in template_and_values(3), other in template()) {
        let range = other.range(&[], None).unwrap();
        for key in tuples.iter().filter_map(|tuple| template.build_values(tuple).ok()) {
            let mut wanted = Language::empty_text();
            wanted.between(range.lower().as_bytes(), range.upper().as_bytes());
            prop_assert_eq!(wanted.contains(key.as_bytes()), KeyRange::contains(&range, &key));
            if range.contains(&key) {
                prop_assert!(template.language().shared_text(&wanted).is_some(), "{} in {:?}", key, range);
            }
        }
    }
}
