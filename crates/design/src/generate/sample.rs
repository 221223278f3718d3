//! Sample values: small, readable, distinct, and in ascending order of their number.

use keyloom_keys::{Decimal, FieldFormat, FieldType, Timestamp, Ulid, Uuid, Value};

use crate::model::{Field, FieldKind};

/// 2024-01-15T10:00:00Z: where sample times begin.
const FIRST_MOMENT_MS: i64 = 1_705_312_800_000;
/// Sample times are 26 hours apart, so that days and hours differ too.
const STEP_MS: i64 = 26 * 3_600_000;

/// The sample value number `n` of a field; greater numbers give greater values where values have an order.
pub(crate) fn sample(field: &Field, n: u32) -> Value<'static> {
    match &field.kind {
        FieldKind::Scalar(format) => sample_of(format, n),
        FieldKind::LooseTime => Value::Text(
            Value::Time(Timestamp::from_millis(moment(n)).at(keyloom_keys::Precision::Second))
                .to_string()
                .into(),
        ),
        FieldKind::Shard(shards) => Value::from(n % shards.count.max(1)),
        FieldKind::Number => Value::from(n),
        FieldKind::Binary => Value::Bytes(vec![n as u8, 1].into()),
        FieldKind::List | FieldKind::Map | FieldKind::TextSet | FieldKind::NumberSet => {
            Value::Text(n.to_string().into())
        }
    }
}

/// The sample value number `n` of a format.
pub(crate) fn sample_of(format: &FieldFormat, n: u32) -> Value<'static> {
    match format.kind() {
        FieldType::String | FieldType::Token => text(n, format.max_bytes()),
        FieldType::Fixed => {
            let width = format.width().unwrap_or(1);
            let digits = format!("{n:0width$}");
            Value::Text(digits.get(digits.len() - width..).unwrap_or("0").to_owned().into())
        }
        FieldType::Enum(values) => {
            let mut sorted: Vec<&String> = values.iter().collect();
            sorted.sort();
            let at = n as usize % sorted.len().max(1);
            Value::Text(sorted.get(at).map(|v| (*v).clone()).unwrap_or_default().into())
        }
        FieldType::U8 => Value::from(n % 256),
        FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::I64 => {
            let digits = format.width().unwrap_or(9).min(9) as u32;
            Value::from(n % 10_u32.pow(digits))
        }
        FieldType::Decimal { scale } => {
            let unscaled = i128::from(n) * 10_i128.pow(u32::from(*scale));
            Decimal::new(unscaled, *scale).map_or(Value::from(n), Value::Decimal)
        }
        FieldType::Uuid => {
            Value::Uuid(Uuid(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(n)))
        }
        FieldType::Ulid => {
            Value::Ulid(Ulid(0x018c_0000_0000_0000_0000_0000_0000_0000 + u128::from(n)))
        }
        FieldType::Bool => Value::Bool(n % 2 == 1),
        FieldType::Hex => {
            let width = format.width().unwrap_or(4);
            let bytes = n.to_be_bytes();
            let tail = bytes.get(4 - width.min(4)..).unwrap_or(&bytes);
            let lead = vec![0; width.saturating_sub(4)];
            Value::Bytes([lead.as_slice(), tail].concat().into())
        }
        _ => {
            let precision = format.precision().unwrap_or(keyloom_keys::Precision::Second);
            Value::Time(Timestamp::from_millis(moment(n)).at(precision))
        }
    }
}

fn moment(n: u32) -> i64 {
    FIRST_MOMENT_MS + i64::from(n) * STEP_MS
}

/// `a`, … `y`, `zaa`, … `zyz`, `zzaaa`, …: short, and ascending.
fn text(n: u32, max: Option<usize>) -> Value<'static> {
    let (mut rest, mut count, mut letters) = (n, 25, 1);
    while rest >= count {
        rest -= count;
        count = count.saturating_mul(26);
        letters += 1;
    }
    let digits = (0..letters).rev().map(|place| rest / 26_u32.pow(place) % 26);
    let mut name = "z".repeat(letters as usize - 1);
    name.extend(digits.map(|digit| char::from(b'a' + digit as u8)));
    name.truncate(max.unwrap_or(usize::MAX).max(1));
    Value::Text(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::compare;

    #[test]
    fn samples_can_be_written_and_ascend() {
        for name in [
            "string",
            "token",
            "fixed:5",
            "u8",
            "u16",
            "u32:6",
            "u64",
            "u32:plain",
            "i64",
            "decimal:10.2",
            "date",
            "datetime",
            "datetime:ms",
            "epoch_ms",
            "uuid",
            "ulid",
            "hex",
            "hex:2",
            "string:desc",
        ] {
            let format = FieldFormat::parse(name).unwrap();
            for n in 0..60 {
                let (a, b) = (sample_of(&format, n), sample_of(&format, n + 1));
                assert!(format.encode(&a).is_ok(), "{name} {a}");
                assert!(compare(&a, &b).is_lt(), "{name}: {a} < {b}");
            }
        }
    }
}
