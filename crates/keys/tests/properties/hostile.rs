//! No input makes the library panic, and every refusal says something.

use keyloom_keys::{Clause, FieldFormat, Template, TemplateOptions, Timestamp, Value, patterns};
use proptest::prelude::*;

use crate::generate::{format, template};

proptest! {
    #[test]
    fn any_text_as_a_template(text in r"([A-Z#{}:|/éa-z0-9. -]|\{[a-z]{1,3}(:(string|u8|date|hex|enum:a\|b)(:desc|:[0-9]{1,3})?)?\}){0,12}") {
        match Template::parse(&text) {
            Ok(template) => {
                let _ = (template.order(), template.lengths(), template.relation(&template), template.example());
                let _ = template.range(&[], None);
            }
            Err(error) => {
                prop_assert!(!error.reason().is_empty() && !error.fix().is_empty());
                prop_assert!(text.get(error.span()).is_some(), "{:?} in {}", error.span(), text);
            }
        }
    }

    #[test]
    fn any_text_as_separator_and_policy(separator in r"\PC{0,3}", escape in any::<bool>()) {
        let policy = if escape { keyloom_keys::SeparatorPolicy::PercentEscape } else { keyloom_keys::SeparatorPolicy::OrderPreserving };
        let options = TemplateOptions { separator: Some(separator.clone()), policy, ..TemplateOptions::default() };
        let _ = Template::parse_with(&format!("{{a}}{separator}{{b}}"), &options, |_| None);
    }

    #[test]
    fn any_text_as_a_key(template in template(), key in r"\PC{0,60}") {
        if let Err(error) = template.parse_key(&key) {
            prop_assert!(!error.reason().is_empty());
        }
        let _ = template.parse_lenient(&key);
        let _ = template.match_prefix(&key);
    }

    #[test]
    fn any_text_as_a_value(format in format(), text in r"\PC{0,40}") {
        if let Ok(value) = Value::parse_for(&format, &text) {
            let _ = format.encode(&value);
        }
        let _ = format.decode(&text);
    }

    #[test]
    fn any_text_as_a_format_condition_or_time(text in r"\PC{0,40}") {
        let _ = FieldFormat::parse(&text);
        let _ = Clause::parse(&text);
        let _ = text.parse::<Timestamp>();
        let _ = patterns::parse_composite_key(&text);
        let _ = patterns::get_shard_number(&text);
    }

    #[test]
    fn any_number_as_a_time(ms in any::<i64>(), format in format()) {
        let _ = format.encode(&Value::Time(Timestamp::from_millis(ms)));
        let _ = Timestamp::from_millis(ms).last_millisecond().to_string();
    }
}

#[test]
fn keys_beyond_the_limit_are_refused() {
    let template = Template::parse("U#{id}").unwrap();
    let long = "x".repeat(2047);
    let error = template.build(&[("id", long.as_str().into())]).unwrap_err().to_string();
    assert_eq!(error, "template `U#{id}`: the key has 2049 bytes, at most 2048 are allowed");
    assert!(template.parse_key(&format!("U#{long}")).is_err());
    assert!(template.build(&[("id", "x".repeat(2046).into())]).is_ok());
    let limited = Template::parse("U#{id:string:5}").unwrap();
    let error = limited.build(&[("id", "toolong".into())]).unwrap_err().to_string();
    assert_eq!(error, "field `id`: the value has 7 bytes, at most 5 are allowed");
    let error = limited.build(&[("id", "".into())]).unwrap_err().to_string();
    assert!(error.starts_with("field `id`: the value is empty"));
}

#[test]
fn ambiguous_templates_are_refused_where_they_are() {
    for (text, span, expected) in [
        ("{a}{b}", 0..6, "where `a` ends and `b` begins"),
        ("U#{a}-{b}", 2..6, "its values may contain `-`"),
        ("{a}#{a}", 4..7, "occurs twice"),
        ("{a", 0..2, "not closed"),
        ("a}b", 1..2, "closes nothing"),
        ("{}", 0..2, "is not a field name"),
        ("{a:float}", 0..9, "there is no type `float`"),
        ("{a:desc}", 0..8, "`desc` follows a type"),
        ("", 0..0, "it is empty"),
        ("{s:enum:a#b|c}#{x}", 0..14, "contains the separator"),
        ("{n:u8:plain}{d:date}1", 0..21, "its values may contain `1`"),
    ] {
        let error = Template::parse(text).unwrap_err();
        assert_eq!(error.span(), span, "{text}: {error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    for text in [
        "{a}{d:date}",
        "{d:date}{a}{e:ulid}#{x}",
        "{n:u8:plain}-{b}",
        "{a:token}/{b}",
        "{{{a:u8}}}",
        "x",
    ] {
        assert!(Template::parse(text).is_ok(), "{text}: {:?}", Template::parse(text));
    }
}
