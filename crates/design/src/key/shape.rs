//! The texts that a field can be written as, as part of a [`Language`].

use keyloom_keys::{ByteSet, FieldFormat, FieldType, Precision, Value};

use super::automaton::Language;
use crate::model::Escape;

/// Appends every text that a field of this format can be written as.
pub(super) fn add_field(
    language: &mut Language,
    format: &FieldFormat,
    separator: &str,
    escape: Escape,
) {
    let digit = ByteSet::range(b'0', b'9');
    let avoid = if escape == Escape::None { "" } else { separator };
    match format.kind() {
        FieldType::Enum(values) => {
            let written = values.iter().map(|value| {
                let value = Value::from(value.as_str());
                format.encode(&value).unwrap_or_else(|_| value.to_string())
            });
            language.choice(&written.collect::<Vec<_>>());
        }
        FieldType::String | FieldType::Token if !format.is_desc() => {
            language.text(format.alphabet(), avoid.as_bytes());
        }
        FieldType::Bool => language.classes(&[ByteSet::of(b"01")]),
        FieldType::Uuid => language.classes(&pattern("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh")),
        FieldType::Ulid => language.classes(&pattern(&format!("7{}", "u".repeat(25)))),
        FieldType::I64 if format.is_plain() => language.whole_number(true),
        _ if format.is_plain() => language.whole_number(false),
        FieldType::I64 | FieldType::Decimal { .. } => language.classes(&signed(format)),
        FieldType::EpochMs => language.classes(&vec![digit; format.width().unwrap_or(15)]),
        _ => match format.precision() {
            Some(precision) => language.classes(&pattern(time_pattern(precision))),
            None => match (format.lengths().max, format.is_fixed_width()) {
                (Some(width), true) => language.classes(&vec![format.alphabet(); width]),
                _ => language.text(format.alphabet(), b""),
            },
        },
    }
}

/// Whether values are free text: nothing but a policy keeps a separator out of them.
pub fn may_hold_separator(format: &FieldFormat) -> bool {
    matches!(format.kind(), FieldType::String | FieldType::Fixed) && !format.is_desc()
}

fn time_pattern(precision: Precision) -> &'static str {
    match precision {
        Precision::Year => "0000",
        Precision::Month => "0000-00",
        Precision::Day => "0000-00-00",
        Precision::Hour => "0000-00-00-00",
        Precision::Minute => "0000-00-00T00:00Z",
        Precision::Second => "0000-00-00T00:00:00Z",
        Precision::Millisecond => "0000-00-00T00:00:00.000Z",
    }
}

/// `0` is a digit, `7` a digit up to seven, `h` a hex digit, `u` a ULID character, the rest stands for itself.
fn pattern(pattern: &str) -> Vec<ByteSet> {
    let digit = ByteSet::range(b'0', b'9');
    pattern
        .bytes()
        .map(|mark| match mark {
            b'0' => digit,
            b'7' => ByteSet::range(b'0', b'7'),
            b'h' => digit.union(ByteSet::range(b'a', b'f')),
            b'u' => ByteSet::of(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
            other => ByteSet::of(&[other]),
        })
        .collect()
}

/// A sign, digits, and a point with more digits.
fn signed(format: &FieldFormat) -> Vec<ByteSet> {
    let digit = ByteSet::range(b'0', b'9');
    let width = format.width().unwrap_or(19);
    let scale = match format.kind() {
        FieldType::Decimal { scale } => usize::from(*scale),
        _ => 0,
    };
    let mut places = vec![ByteSet::of(b"-0")];
    places.extend(std::iter::repeat_n(digit, width.saturating_sub(scale)));
    if scale > 0 {
        places.push(ByteSet::of(b"."));
        places.extend(std::iter::repeat_n(digit, scale));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_written_value_is_in_the_language_of_its_format() {
        let samples = [
            "a",
            "0",
            "42",
            "-42",
            "12.5",
            "true",
            "2024-01-15T10:30:00Z",
            "2024-01-15",
            "2024-01",
            "0aff",
            "01HM5KXJ8M0000000000000001",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "Todo",
            "abcde",
        ];
        for name in [
            "string",
            "string:desc",
            "token",
            "token:desc",
            "fixed:5",
            "fixed:5:desc",
            "u8",
            "u16",
            "u32:6",
            "u64",
            "u32:plain",
            "u32:desc",
            "i64",
            "i64:plain",
            "i64:desc",
            "decimal:10.2",
            "decimal:10.2:desc",
            "year",
            "month",
            "date",
            "hour",
            "datetime",
            "datetime:ms",
            "datetime:desc",
            "epoch_ms",
            "epoch_ms:desc",
            "uuid",
            "uuid:desc",
            "ulid",
            "ulid:desc",
            "bool",
            "bool:desc",
            "enum:Todo|Done",
            "enum:Todo|Done:desc",
            "hex",
            "hex:2",
            "hex:desc",
        ] {
            let format = FieldFormat::parse(name).unwrap_or_else(|e| panic!("{e}"));
            let mut language = Language::empty_text();
            add_field(&mut language, &format, "#", Escape::Reject);
            let mut tried = 0;
            for sample in samples {
                let Ok(written) = format.encode(&Value::from(sample)) else { continue };
                tried += 1;
                assert!(language.contains(written.as_bytes()), "{name}: {sample} as {written}");
            }
            assert!(tried > 0, "{name} had no sample");
        }
    }
}
