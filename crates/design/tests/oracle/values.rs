//! Values of fields that break careless keys and filters, few enough that rows meet.

use keyloom_core::{AttributeValue, Item, Number};
use keyloom_design::model::{Field, FieldKind};
use keyloom_design::oracle::Datum;
use keyloom_keys::{Case, FieldFormat, FieldType, Value};

use crate::random::Random;

/// Prefixes of one another, separators, bytes below the separator, words that other keys use, nothing at all.
const TEXTS: [&str; 18] = [
    "a", "ab", "a b", "a#b", "a#", "#a", "A", "a!", "a|b", "a::b", "%23", "é", "~", "1", "10",
    "on", "E", "",
];
const TOKENS: [&str; 8] = ["a", "ab", "a-b", "a.b", "A", "1", "10", "9"];
const NUMBERS: [i64; 12] = [0, 1, 2, 9, 10, 11, 99, 100, 101, 200, 254, 255];
/// Ends and beginnings of days, months and years.
const MOMENTS: [&str; 9] = [
    "2023-12-31T23:59:59Z",
    "2024-01-01T00:00:00Z",
    "2024-01-05T00:00:00Z",
    "2024-01-05T10:00:00Z",
    "2024-01-05T23:59:59Z",
    "2024-01-06T00:00:00Z",
    "2024-01-31T23:59:59Z",
    "2024-02-01T00:00:00Z",
    "2024-02-29T12:30:00Z",
];
/// The same moments and others, as careless programs write them.
const LOOSE: [&str; 8] = [
    "2024-01-05T10:00:00Z",
    "2024-01-05T10:00:00.000Z",
    "2024-01-05T12:00:00+02:00",
    "2024-01-05T10:00:00.500Z",
    "2024-01-05T10:00:01Z",
    "2024-01-05T00:30:00+01:00",
    "2024-01-06T00:00:00Z",
    "2024-01-04T23:00:00-02:00",
];
const ULIDS: [&str; 4] = [
    "01HKF0000000000000000000AA",
    "01HKF0000000000000000000AB",
    "01HM00000000000000000000AA",
    "01HZ00000000000000000000AA",
];
const UUIDS: [&str; 3] = [
    "01900000-0000-7000-8000-000000000001",
    "01900000-0000-7000-8000-000000000002",
    "f1900000-0000-7000-8000-000000000002",
];
const DECIMALS: [&str; 7] = ["-10.50", "-1.00", "0.00", "0.05", "1.50", "10.00", "99.99"];
const ANY_NUMBERS: [&str; 8] =
    ["-1", "0", "1", "1.5", "9", "10", "1e3", "12345678901234567890123456789"];

/// A random value of a field, as people write it; documents have their own [`datum`].
pub(crate) fn text_of(random: &mut Random, kind: &FieldKind) -> String {
    match kind {
        FieldKind::Scalar(format) => scalar(random, format),
        FieldKind::LooseTime => (*random.pick(&LOOSE)).to_owned(),
        FieldKind::Shard(shards) => random.below(shards.count as usize).to_string(),
        FieldKind::Number | FieldKind::NumberSet => (*random.pick(&ANY_NUMBERS)).to_owned(),
        FieldKind::Binary => (*random.pick(&["00", "0001", "ff"])).to_owned(),
        FieldKind::List | FieldKind::Map | FieldKind::TextSet => {
            (*random.pick(&["a", "ab", "b", "1", "on"])).to_owned()
        }
    }
}

fn scalar(random: &mut Random, format: &FieldFormat) -> String {
    match format.kind() {
        FieldType::String => (*random.pick(&TEXTS)).to_owned(),
        FieldType::Token => (*random.pick(&TOKENS)).to_owned(),
        FieldType::Fixed => {
            let width = format.width().unwrap_or(1);
            (*random.pick(&["aaaaaaaa", "ab#cdefg", "zz zzzzz", "AAAAAAAA"]))[..width].to_owned()
        }
        FieldType::Enum(values) => random.pick(values).clone(),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            random.pick(&NUMBERS).to_string()
        }
        FieldType::I64 => {
            let number = random.pick(&NUMBERS);
            (if random.percent(30) { -number } else { *number }).to_string()
        }
        FieldType::Decimal { .. } => (*random.pick(&DECIMALS)).to_owned(),
        FieldType::Uuid => (*random.pick(&UUIDS)).to_owned(),
        FieldType::Ulid => (*random.pick(&ULIDS)).to_owned(),
        FieldType::Bool => (*random.pick(&["true", "false"])).to_owned(),
        FieldType::Hex => (*random.pick(&["0000", "00ff", "ff00"])).to_owned(),
        _ => moment(random, format),
    }
}

fn moment(random: &mut Random, format: &FieldFormat) -> String {
    let text = *random.pick(&MOMENTS);
    let fine = matches!(format.kind(), FieldType::DateTimeMs | FieldType::EpochMs);
    if fine {
        let tail = random.pick(&[".000Z", ".001Z", ".999Z"]);
        return text.replace('Z', tail);
    }
    match Value::parse_for(format, text) {
        Ok(Value::Time(time)) => match format.precision() {
            Some(precision) => Value::Time(time.at(precision)).to_string(),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}

/// A value from its text, in the field's type.
pub(crate) fn datum_from(kind: &FieldKind, text: &str) -> Option<Datum> {
    Some(match kind {
        FieldKind::Scalar(format) => {
            let value = Value::parse_for(format, text).ok()?.into_owned();
            Datum::Scalar(match (value, format.precision()) {
                (Value::Time(time), Some(precision)) => Value::Time(time.at(precision)),
                // A field that folds case has no other values.
                (Value::Text(text), _) => match format.case() {
                    Case::AsIs => Value::Text(text),
                    Case::Lower => Value::from(text.to_ascii_lowercase()),
                    Case::Upper => Value::from(text.to_ascii_uppercase()),
                },
                (value, _) => value,
            })
        }
        FieldKind::LooseTime => Datum::Scalar(Value::from(text.to_owned())),
        FieldKind::Shard(_) => Datum::Scalar(Value::from(text.parse::<u32>().ok()?)),
        FieldKind::Number => Datum::Document(AttributeValue::N(Number::parse(text).ok()?)),
        _ => return None,
    })
}

/// A random value of a field.
pub(crate) fn datum(random: &mut Random, field: &Field) -> Option<Datum> {
    let document = match &field.kind {
        FieldKind::Binary => AttributeValue::B(vec![random.below(3) as u8, 255]),
        FieldKind::List => AttributeValue::L(
            (0..random.below(3))
                .map(|_| match random.below(3) {
                    0 => AttributeValue::N(Number::from(1)),
                    _ => AttributeValue::from(text_of(random, &field.kind)),
                })
                .collect(),
        ),
        FieldKind::Map => {
            let mut map = Item::new();
            map.insert("a", AttributeValue::from("b".to_owned()));
            AttributeValue::M(map)
        }
        FieldKind::TextSet => {
            let mut set: Vec<_> =
                (0..=random.below(2)).map(|_| text_of(random, &field.kind).into()).collect();
            set.sort();
            set.dedup();
            AttributeValue::Ss(set)
        }
        FieldKind::NumberSet => {
            let mut set: Vec<_> = (0..=random.below(2))
                .filter_map(|_| Number::parse(&text_of(random, &field.kind)).ok())
                .collect();
            set.sort();
            set.dedup();
            AttributeValue::Ns(set)
        }
        kind => return datum_from(kind, &text_of(random, kind)),
    };
    Some(Datum::Document(document))
}
