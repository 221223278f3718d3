//! Random numbers, values and items for property tests.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::number::Number;
use crate::value::{AttributeValue, Item, Str};

/// Numbers of every magnitude, with many near the limits and many short ones.
pub(crate) fn number() -> impl Strategy<Value = Number> {
    let coefficient = prop_oneof![
        4 => (0u64..2000).prop_map(u128::from),
        2 => any::<u64>().prop_map(u128::from),
        2 => 0u128..100_000_000_000_000_000_000_000_000_000_000_000_000,
        1 => Just(99_999_999_999_999_999_999_999_999_999_999_999_999),
    ];
    let exponent = prop_oneof![3 => -4i32..5, 1 => -167i32..=125];
    (any::<bool>(), coefficient, exponent).prop_filter_map("in range", |(negative, digits, exp)| {
        Number::from_parts(negative, digits, exp).ok()
    })
}

/// Strings with characters that are special to codecs and JSON.
pub(crate) fn text() -> impl Strategy<Value = Str> {
    let character = prop_oneof![
        4 => any::<char>(),
        4 => prop::char::range('a', 'c'),
        1 => prop::sample::select(vec!['\0', '\u{1}', '\n', '"', '\\', 'é', '\u{7f}', '\u{10ffff}']),
    ];
    vec(character, 0..12).prop_map(|characters| characters.into_iter().collect())
}

/// Attribute names, which are never empty.
pub(crate) fn name() -> impl Strategy<Value = Str> {
    text().prop_filter("a name is not empty", |name| !name.is_empty())
}

/// Binaries with many `00` and `FF` bytes.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), Just(0xFF), Just(1), any::<u8>()], 0..12)
}

/// Values that can be keys.
pub(crate) fn key_value() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        text().prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        bytes().prop_map(AttributeValue::B),
    ]
}

/// Values of all types.
pub(crate) fn value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        4 => key_value(),
        1 => any::<bool>().prop_map(AttributeValue::Bool),
        1 => Just(AttributeValue::Null),
        1 => btree_set(text(), 1..12).prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
        1 => btree_set(number(), 1..12).prop_map(|set| AttributeValue::Ns(set.into_iter().collect())),
        1 => btree_set(bytes(), 1..12).prop_map(|set| AttributeValue::Bs(set.into_iter().collect())),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(AttributeValue::L),
            vec((name(), inner), 0..5).prop_map(|map| AttributeValue::M(map.into_iter().collect())),
        ]
    })
}

/// Items with random attributes.
pub(crate) fn item() -> impl Strategy<Value = Item> {
    vec((name(), value()), 0..6).prop_map(|attributes| attributes.into_iter().collect())
}
