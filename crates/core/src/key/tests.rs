//! The key codec: known bytes, and the property that byte order is value order.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::arbitrary::{bytes, key_value, number, text};

fn encoded(values: &[AttributeValue]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        encode_key_value(value, &mut out).unwrap();
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    Hex(bytes).to_string()
}

fn n(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().unwrap())
}

fn kind_of(value: &AttributeValue) -> ScalarType {
    ScalarType::from_wire(value.attribute_type().as_str()).unwrap()
}

#[test]
fn encodings_are_stable() {
    for (value, expected) in [
        ("".into(), "0000"),
        ("a".into(), "610000"),
        ("a\0b".into(), "6100ff620000"),
        ("é".into(), "c3a90000"),
        (AttributeValue::B(vec![0, 0xFF]), "00ffff0000"),
        (n("0"), "02"),
        (n("1"), "03810200"),
        (n("12"), "03810d00"),
        (n("100"), "03820200"),
        (n("123"), "0382021800"),
        (n("0.5"), "03803300"),
        (n("0.05"), "03800600"),
        (n("-1"), "017efdff"),
        (n("-0.5"), "017fccff"),
        (n("9E125"), "03bf5b00"),
        (n("1E-130"), "03400200"),
    ] {
        assert_eq!(hex(&encoded(std::slice::from_ref(&value))), expected, "{value:?}");
    }
}

#[test]
fn only_scalars_can_be_keys() {
    for value in [AttributeValue::Null, true.into(), AttributeValue::L(vec![])] {
        let error = encode_key_value(&value, &mut Vec::new()).unwrap_err();
        assert_eq!(error.message(), "The provided key element does not match the schema");
    }
    assert!(encode_key_prefix(&n("1"), &mut Vec::new()).is_err());
}

/// The exclusive upper bound of all byte strings that begin with `prefix`.
///
/// `None` if there is none, that is if the prefix is empty or all `FF`.
fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut end = prefix.get(..=last)?.to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

#[test]
fn prefix_end_is_the_next_byte_string() {
    assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
    assert_eq!(prefix_end(&[1, 0xFF, 0xFF]), Some(vec![2]));
    assert_eq!(prefix_end(&[0xFF, 0xFF]), None);
    assert_eq!(prefix_end(&[]), None);
}

#[test]
fn damaged_keys_are_errors() {
    for (kind, bytes) in [
        (ScalarType::S, &b"abc"[..]),
        (ScalarType::S, &[0x61, 0x00]),
        (ScalarType::S, &[0x61, 0x00, 0x01]),
        (ScalarType::S, &[0xFF, 0x00, 0x00]),
        (ScalarType::N, &[]),
        (ScalarType::N, &[0x07]),
        (ScalarType::N, &[0x03]),
        (ScalarType::N, &[0x03, 0x81]),
        (ScalarType::N, &[0x03, 0x81, 0x00]),
        (ScalarType::N, &[0x03, 0x81, 0x02]),
        (ScalarType::N, &[0x03, 0x81, 0x66, 0x00]),
        (ScalarType::N, &[0x03, 0xFF, 0x02, 0x00]),
    ] {
        let mut input = bytes;
        let error = decode_key_value(kind, &mut input).unwrap_err();
        assert!(matches!(error, Error::InternalServer(_)), "{bytes:?}");
    }
}

#[test]
fn keys_are_displayed_readably() {
    use ScalarType::{B, N, S};
    let key = encoded(&["USER#1".into(), n("-4.2"), AttributeValue::B(vec![0, 255])]);
    let shown = |types: &[ScalarType], bytes: &[u8]| KeyDisplay { types, bytes }.to_string();
    assert_eq!(shown(&[S, N, B], &key), r#""USER#1" -4.2 0x00ff"#);
    assert_eq!(shown(&[S], &key[..8]), r#""USER#1""#);
    assert_eq!(shown(&[S, N], &[b"a\0\0".as_slice(), &[9]].concat()), r#""a" !0x09"#);
}

/// DynamoDB's order of two values of one type.
fn value_order(a: &AttributeValue, b: &AttributeValue) -> Ordering {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => a.as_bytes().cmp(b.as_bytes()),
        (AttributeValue::N(a), AttributeValue::N(b)) => a.cmp(b),
        (AttributeValue::B(a), AttributeValue::B(b)) => a.cmp(b),
        _ => unreachable!("values of one type"),
    }
}

proptest! {
    #[test]
    fn encoding_round_trips(values in prop::collection::vec(key_value(), 0..5)) {
        let bytes = encoded(&values);
        let mut rest = bytes.as_slice();
        for value in &values {
            let length = key_value_len(kind_of(value), rest);
            prop_assert_eq!(length, Some(encoded(std::slice::from_ref(value)).len()));
            prop_assert_eq!(&decode_key_value(kind_of(value), &mut rest).unwrap(), value);
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn byte_order_is_value_order_in_tuples(
        rows in prop::collection::vec((text(), number(), bytes(), number()), 2..6),
    ) {
        let tuples: Vec<[AttributeValue; 4]> = rows
            .into_iter()
            .map(|(s, n, b, m)| {
                [AttributeValue::S(s), AttributeValue::N(n), AttributeValue::B(b), m.into()]
            })
            .collect();
        for a in &tuples {
            for b in &tuples {
                // Starts at every part, so that the later ones decide as well.
                for from in 0..4 {
                    let expected = a[from..]
                        .iter()
                        .zip(&b[from..])
                        .map(|(a, b)| value_order(a, b))
                        .find(|order| order.is_ne())
                        .unwrap_or(Ordering::Equal);
                    prop_assert_eq!(encoded(&a[from..]).cmp(&encoded(&b[from..])), expected);
                }
            }
        }
    }

    #[test]
    fn number_order_is_byte_order(a in number(), b in number()) {
        prop_assert_eq!(encoded(&[a.into()]).cmp(&encoded(&[b.into()])), a.cmp(&b));
    }

    #[test]
    fn a_prefix_range_contains_exactly_its_keys(
        prefix in bytes(),
        value in bytes(),
        tail in bytes(),
    ) {
        for value in [value, [prefix.clone(), tail].concat()] {
            let mut low = Vec::new();
            encode_key_prefix(&AttributeValue::B(prefix.clone()), &mut low).unwrap();
            let key = encoded(&[AttributeValue::B(value.clone())]);
            let inside = key >= low && prefix_end(&low).is_none_or(|end| key < end);
            prop_assert_eq!(inside, value.starts_with(&prefix));
        }
    }

    #[test]
    fn the_decoder_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        for kind in [ScalarType::S, ScalarType::N, ScalarType::B] {
            let mut input = bytes.as_slice();
            let before = input;
            if decode_key_value(kind, &mut input).is_ok() {
                let length = before.len() - input.len();
                prop_assert_eq!(key_value_len(kind, before), Some(length));
            }
        }
        let types = [ScalarType::S, ScalarType::N];
        let _ = KeyDisplay { types: &types, bytes: &bytes }.to_string();
    }
}
