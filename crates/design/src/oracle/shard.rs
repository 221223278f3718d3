//! Calculated shards: the library's hash of the texts of the values that they are calculated from.

use keyloom_core::AttributeValue;
use keyloom_keys::{Decimal, FieldFormat, FieldType, Precision, Timestamp, Value};

use super::record::{Datum, Known, operand};
use crate::model::{Entity, FieldKind, Shards};

/// The shard of an entity that the values of a record give: of its own, or of what it leads to. Nothing if a value is
/// missing.
pub fn shard_of(entity: &Entity, shards: &Shards, record: &impl Known) -> Option<u32> {
    let text = |by: &String| spelled(&entity.field(by)?.kind, &*record.value(by)?);
    let texts: Vec<String> = shards.by.iter().map(text).collect::<Option<_>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    keyloom_keys::Shards::new(shards.count).ok().map(|shards| shards.of(&texts))
}

/// A value as text, which is the same for every way to write the value: a number without zeros in front, a decimal
/// with all its digits, a time in UTC as finely as the field keeps it, a text in the field's case.
fn spelled(kind: &FieldKind, datum: &Datum) -> Option<String> {
    let own = match datum {
        Datum::Scalar(value) => operand(kind, value),
        document @ Datum::Document(_) => document.clone(),
    };
    match (kind, own) {
        (FieldKind::Scalar(format), Datum::Scalar(value)) => Some(in_full(format, &value)),
        (_, Datum::Scalar(value)) => Some(value.to_string()),
        (_, Datum::Document(AttributeValue::N(number))) => Some(number.to_string()),
        (_, Datum::Document(AttributeValue::B(bytes))) => Some(Value::from(bytes).to_string()),
        (_, Datum::Document(_)) => None,
    }
}

fn in_full(format: &FieldFormat, value: &Value) -> String {
    let full = match (format.kind(), value) {
        (FieldType::Decimal { scale }, Value::Int(number)) => with_digits(*number, 0, *scale),
        (FieldType::Decimal { scale }, Value::Decimal(number)) => {
            with_digits(number.unscaled(), number.scale(), *scale)
        }
        (FieldType::EpochMs, Value::Int(millis)) => {
            i64::try_from(*millis).ok().map(|millis| Value::Time(Timestamp::from_millis(millis)))
        }
        (_, Value::Time(time)) => {
            // A moment has all the digits of its type; a period is no moment.
            let precision = format.precision().filter(|_| time.precision() >= Precision::Second);
            precision.map(|precision| Value::Time(time.at(precision)))
        }
        _ => None,
    };
    full.map_or_else(|| value.to_string(), |full| full.to_string())
}

/// A number with so many digits after the point.
fn with_digits(unscaled: i128, scale: u8, wanted: u8) -> Option<Value<'static>> {
    let zeros = u32::from(wanted.checked_sub(scale)?);
    let unscaled = unscaled.checked_mul(10_i128.checked_pow(zeros)?)?;
    Decimal::new(unscaled, wanted).map(Value::Decimal)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::model::Design;
    use crate::oracle::Record;

    /// Each type, values that are the same, and the text that every program hashes.
    #[test]
    fn a_shard_is_the_hash_of_what_a_value_means() {
        let cases: &[(&str, &[Value], &str)] = &[
            ("string", &[Value::from("Ann Lee")], "Ann Lee"),
            ("token:lower", &[Value::from("ANN"), Value::from("ann")], "ann"),
            ("u32:desc", &[Value::from(42_u32), Value::from("0042")], "42"),
            ("decimal:8.2", &[Value::from("1.5"), Value::from("1.50")], "1.50"),
            ("decimal:8.2", &[Value::from(-2_i64), Value::from("-2.0")], "-2.00"),
            (
                "datetime",
                &[
                    Value::from("2024-05-17T14:30:00.000Z"),
                    Value::from("2024-05-17T16:30:00+02:00"),
                ],
                "2024-05-17T14:30:00Z",
            ),
            ("date", &[Value::from("2024-05-17T14:30:00Z")], "2024-05-17"),
            ("epoch_ms", &[Value::from("1715956200250")], "2024-05-17T14:30:00.250Z"),
            ("bool", &[Value::from(true), Value::from("true")], "true"),
            ("hex", &[Value::from("C0FFEE")], "c0ffee"),
            ("number", &[Value::from("1.50"), Value::from("15e-1")], "1.5"),
        ];
        for (kind, values, hashed) in cases {
            let text = format!(
                "[table.app]\npartition_key = \"PK\"\n[entity.E]\nPK = \"E#{{id:ulid}}#{{s}}\"\n\
                 [entity.E.fields]\nv = {kind:?}\ns = {{ type = \"shard\", shards = 99991, by = \"v\" }}\n"
            );
            let (design, problems) = Design::parse("shards.toml", &text);
            let design = design.unwrap_or_else(|| panic!("{kind}: {problems:?}"));
            let entity = design.entity("E").expect("an entity");
            let Some(FieldKind::Shard(shards)) = entity.field("s").map(|field| &field.kind) else {
                panic!("{kind}: no shard")
            };
            let library = keyloom_keys::Shards::new(shards.count).expect("a number of shards");
            for value in *values {
                let values = BTreeMap::from([("v".to_owned(), Datum::Scalar(value.clone()))]);
                let record = Record { entity: Arc::clone(entity), values };
                let found = shard_of(entity, shards, &record);
                assert_eq!(found, Some(library.of(&[hashed])), "{kind} {value}");
            }
        }
    }
}
