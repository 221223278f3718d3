//! DynamoDB JSON: the wording of refusals, and round trips.

use proptest::prelude::*;

use super::*;
use crate::arbitrary::item;
use crate::error::Error;
use crate::value::{AttributeValue, Item};

fn read(text: &str) -> Result<AttributeValue> {
    value_from(&parse(text.as_bytes()).unwrap())
}

fn read_item(text: &str) -> Result<Item> {
    item_from(&parse(text.as_bytes()).unwrap())
}

fn written(value: &AttributeValue) -> String {
    let mut out = Vec::new();
    write_value(value, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn values_read_and_write_like_this() {
    for (text, back) in [
        (r#"{"S":""}"#, None),
        (r#"{"S":"é\"\\\n\u0001"}"#, None),
        (r#"{"S":"\u00e9\/"}"#, Some(r#"{"S":"é/"}"#)),
        (r#"{"N":"1.50E2"}"#, Some(r#"{"N":"150"}"#)),
        (r#"{"B":"AAH/"}"#, None),
        (r#"{"B":""}"#, None),
        (r#"{"BOOL":false}"#, None),
        (r#"{"BOOL":"TRUE"}"#, Some(r#"{"BOOL":true}"#)),
        (r#"{"NULL":true}"#, None),
        // Sets come back in order.
        (r#"{"SS":["b","","a"]}"#, Some(r#"{"SS":["","a","b"]}"#)),
        (r#"{"NS":["2","-10","1.0"]}"#, Some(r#"{"NS":["-10","1","2"]}"#)),
        (r#"{"BS":["AA==",""]}"#, Some(r#"{"BS":["","AA=="]}"#)),
        (r#"{"L":[]}"#, None),
        (r#"{"L":[{"S":"a"},{"M":{"x":{"L":[{"NULL":true}]}}}]}"#, None),
        (r#"{"M":{"b":{"N":"1"},"a":{"N":"2"}}}"#, Some(r#"{"M":{"a":{"N":"2"},"b":{"N":"1"}}}"#)),
        // Unknown members and nulls are nothing; of repetitions the last counts.
        (r#"{"S":"a","Z":1,"N":null}"#, Some(r#"{"S":"a"}"#)),
        (r#"{"S":"a","S":"b"}"#, Some(r#"{"S":"b"}"#)),
        (r#"{"M":{"a":{"N":"1"},"a":{"N":"2"}}}"#, Some(r#"{"M":{"a":{"N":"2"}}}"#)),
    ] {
        assert_eq!(written(&read(text).unwrap()), back.unwrap_or(text));
    }
}

#[test]
fn wrong_meanings_are_refused_in_the_words_of_aws() {
    let invalid = "One or more parameter values were invalid: ";
    for (text, message) in [
        (
            r"{}",
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"L":[{"Z":1}]}"#,
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"S":"a","N":"1"}"#,
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of \
             the supported datatypes",
        ),
        (
            r#"{"NULL":false}"#,
            &format!("{invalid}Null attribute value types must have the value of true"),
        ),
        (r#"{"SS":[]}"#, &format!("{invalid}An string set  may not be empty")),
        (r#"{"NS":[]}"#, &format!("{invalid}An number set  may not be empty")),
        (r#"{"BS":[]}"#, &format!("{invalid}Binary sets should not be empty")),
        (r#"{"SS":["a","a"]}"#, &format!("{invalid}Input collection [a, a] contains duplicates.")),
        (r#"{"NS":["1","1.0"]}"#, "Input collection contains duplicates"),
        (
            r#"{"BS":["Yg==","AA==","Yg=="]}"#,
            &format!("{invalid}Input collection [Yg==, AA==, Yg==]of type BS contains duplicates."),
        ),
        (r#"{"N":"x"}"#, "The parameter cannot be converted to a numeric value: x"),
        (r#"{"NS":["1",""]}"#, "The parameter cannot be converted to a numeric value"),
        // The first wrong member is reported before their number.
        (r#"{"N":"x","S":"a"}"#, "The parameter cannot be converted to a numeric value: x"),
    ] {
        assert_eq!(read(text), Err(Error::Validation(message.into())), "{text}");
    }
}

#[test]
fn wrong_shapes_are_serialization_errors_in_the_words_of_aws() {
    for (text, message) in [
        (r"1", "Unexpected value type in payload"),
        (r#""a""#, "Unexpected value type in payload"),
        (
            r"[]",
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
        ),
        (r#"{"S":1}"#, "NUMBER_VALUE cannot be converted to String"),
        (r#"{"N":1.5}"#, "DECIMAL_VALUE cannot be converted to String"),
        (r#"{"S":true}"#, "TRUE_VALUE cannot be converted to String"),
        (r#"{"S":[]}"#, "Unrecognized collection type class java.lang.String"),
        (r#"{"S":{}}"#, "Start of structure or map found where not expected."),
        (r#"{"B":1}"#, "only base-64-encoded strings are convertible to bytes"),
        (r#"{"B":[]}"#, "Unrecognized collection type class java.nio.ByteBuffer"),
        (r#"{"B":"abc"}"#, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        (r#"{"B":"ab!="}"#, "Invalid last non-pad Base64 character dectected"),
        (r#"{"BOOL":1}"#, "NUMBER_VALUE cannot be converted to Boolean"),
        (r#"{"NULL":"abc"}"#, "Unexpected token received from parser"),
        (r#"{"SS":"a"}"#, "Unexpected field type"),
        (r#"{"L":{}}"#, "Start of structure or map found where not expected."),
        (r#"{"M":1}"#, "Unexpected field type"),
        (
            r#"{"M":[]}"#,
            "Unrecognized collection type java.util.Map<java.lang.String, \
             com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        // Shape comes before meaning, wherever it is.
        (r#"{"L":[{"SS":[]},{"S":1}]}"#, "NUMBER_VALUE cannot be converted to String"),
    ] {
        assert_eq!(read(text), Err(Error::Serialization(message.into())), "{text}");
        assert_eq!(
            shape::check_value(&parse(text.as_bytes()).unwrap()),
            Err(Error::Serialization(message.into()))
        );
    }
}

#[test]
fn shape_errors_of_an_item_come_before_errors_of_meaning() {
    let error = read_item(r#"{"a":{"SS":[]},"b":{"S":1}}"#).unwrap_err();
    assert_eq!(error.code(), "SerializationException");
    assert_eq!(read_item(r#"{"a":null}"#).unwrap_err().code(), "ValidationException");
    assert_eq!(read_item("7").unwrap_err().code(), "SerializationException");
}

#[test]
fn what_is_not_json_is_a_serialization_error_without_words() {
    let deep = "[".repeat(100_000);
    for text in ["", "{", "{]", "nul", "{\"a\":1}x", "\"\u{1}\"", &deep] {
        assert_eq!(parse(text.as_bytes()).unwrap_err(), Error::Serialization(String::new()));
    }
    assert!(parse(b"{\"a\":\"\xFF\"}").is_err());
}

#[test]
fn thirty_one_nested_maps_are_accepted_and_thirty_two_are_not() {
    let nested = |levels: usize| {
        let open = r#"{"M":{"a":"#.repeat(levels);
        format!("{open}{}{}", r#"{"S":"x"}"#, "}}".repeat(levels))
    };
    assert!(read(&nested(31)).is_ok());
    assert_eq!(
        read(&nested(32)).unwrap_err().message(),
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels \
         beyond supported limit"
    );
}

#[test]
fn attribute_names_may_be_just_below_64_kb_at_every_level() {
    let named = |length: usize| {
        let top = format!(r#"{{"{}":{{"S":""}}}}"#, "n".repeat(length));
        let nested = format!(r#"{{"a":{{"M":{top}}}}}"#);
        [top, nested]
    };
    for text in named(65_535) {
        assert!(read_item(&text).is_ok());
    }
    for text in named(65_536) {
        assert_eq!(
            read_item(&text).unwrap_err().message(),
            "Attribute name is too large, must be less than 65536 bytes"
        );
    }
}

#[test]
fn attribute_names_are_not_empty_at_any_level() {
    for text in [
        r#"{"":{"S":"a"}}"#,
        r#"{"a":{"M":{"":{"S":"a"}}}}"#,
        r#"{"a":{"L":[{"M":{"":{"NULL":true}}}]}}"#,
    ] {
        assert_eq!(read_item(text).unwrap_err().message(), "Empty attribute name", "{text}");
        let body = format!(r#"{{"Item":{text}}}"#);
        assert_eq!(parse_with_item(body.as_bytes(), "Item").unwrap().1, None, "{text}");
    }
}

#[test]
fn duplicates_are_found_in_large_sets_too() {
    let members: Vec<String> = (0..100).map(|n| format!("\"{n}\"")).collect();
    assert!(read(&format!(r#"{{"NS":[{}]}}"#, members.join(","))).is_ok());
    assert!(read(&format!(r#"{{"NS":[{},"9.90E1"]}}"#, members.join(","))).is_err());
}

proptest! {
    #[test]
    fn reading_what_was_written_gives_the_item_back(item in item()) {
        let mut text = Vec::new();
        write_item(&item, &mut text);
        prop_assert_eq!(item_from(&parse(&text).unwrap()).unwrap(), item);
    }

    #[test]
    fn strings_are_written_as_another_parser_reads_them(text in ".*") {
        let mut out = Vec::new();
        write_string(&text, &mut out);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }

    #[test]
    fn no_document_makes_the_reader_panic(
        text in r#"(\{"(S|N|B|BOOL|NULL|SS|NS|BS|L|M)":|\{|\}|\[|\]|"[a-z=]*"|,|1|1.5|true|null){0,12}"#,
    ) {
        if let Ok(json) = parse(text.as_bytes()) {
            let _ = value_from(&json);
            let _ = item_from(&json);
        }
    }
}
