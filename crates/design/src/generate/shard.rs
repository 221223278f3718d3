//! Calculated shards.

use std::borrow::Cow;

use keyloom_core::Number;
use keyloom_keys::{Case, FieldType, Shards, Value};

use crate::evaluate::Row;
use crate::model::{Entity, Field, FieldKind};

/// The shard that the fields `by` of an entity give, by the key library's frozen hash; nothing if one has no value.
pub fn shard_of<'v>(
    entity: &Entity,
    by: &[String],
    count: u32,
    value: impl Fn(&str) -> Option<Value<'v>>,
) -> Option<u32> {
    let text = |name: &String| {
        let value = value(name)?;
        Some(entity.field(name).map_or_else(|| value.to_string(), |field| hashed(field, &value)))
    };
    let texts = by.iter().map(text).collect::<Option<Vec<String>>>()?;
    let parts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Some(Shards::new(count).map_or(0, |shards| shards.of(&parts)))
}

/// What is hashed of a value: the text that every program makes of it, however it has come by the value. A text has the
/// case of its field, a decimal number its digits, a time its precision.
fn hashed(field: &Field, value: &Value) -> String {
    let Some(format) = field.format() else {
        let number = (field.kind == FieldKind::Number).then(|| value.to_string().parse::<Number>());
        return match number {
            Some(Ok(number)) => number.to_string(),
            _ => value.to_string(),
        };
    };
    let as_it_is = match (value, format.kind()) {
        (Value::Text(_), FieldType::String | FieldType::Token | FieldType::Fixed) => {
            format.case() == Case::AsIs
        }
        (Value::Int(_), kind) => !matches!(kind, FieldType::Decimal { .. } | FieldType::EpochMs),
        (Value::Uuid(_) | Value::Ulid(_) | Value::Bool(_) | Value::Bytes(_), _) => true,
        _ => false,
    };
    if as_it_is {
        return value.to_string();
    }
    let Ok(written) = format.encode(value) else { return value.to_string() };
    format.decode(&written).map_or_else(|_| value.to_string(), |own| own.to_string())
}

/// Calculated shards follow from the other fields.
pub fn set_shards(row: &mut Row) {
    let entity = row.entity.clone();
    for field in &entity.fields {
        let FieldKind::Shard(shards) = &field.kind else { continue };
        if shards.by.is_empty() {
            continue;
        }
        let value = |name: &str| row.values.get(name).map(borrowed);
        if let Some(shard) = shard_of(&entity, &shards.by, shards.count, value) {
            row.values.insert(field.name.clone(), Value::from(shard));
        }
    }
}

fn borrowed<'v>(value: &'v Value<'static>) -> Value<'v> {
    match value {
        Value::Text(text) => Value::Text(Cow::Borrowed(text)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::shard_of;
    use crate::model::Design;
    use keyloom_keys::{Shards, Value};

    /// Each value as programs have it, and the text that is hashed.
    #[test]
    fn what_is_hashed_does_not_depend_on_how_a_value_is_written() {
        let cases: &[(&str, &[Value], &str)] = &[
            ("string", &[Value::from("Ann Lee")], "Ann Lee"),
            ("token:lower", &[Value::from("ANN"), Value::from("ann")], "ann"),
            ("string:upper", &[Value::from("é-ann")], "é-ANN"),
            ("u32", &[Value::from(42_u32), Value::from("42"), Value::from("0042")], "42"),
            ("u32:desc", &[Value::from(42_u32), Value::from("42")], "42"),
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
            (
                "date",
                &[Value::from("2024-05-17T14:30:00Z"), Value::from("2024-05-17")],
                "2024-05-17",
            ),
            ("hour", &[Value::from("2024-05-17T14:30:00Z")], "2024-05-17T14"),
            ("epoch_ms", &[Value::from("1715956200250")], "2024-05-17T14:30:00.250Z"),
            ("bool", &[Value::from(true), Value::from("true"), Value::from("1")], "true"),
            ("hex", &[Value::from("C0FFEE")], "c0ffee"),
            (
                "uuid",
                &[Value::from("0B8A8D3E-5F1C-4E0A-9D59-0A4F6D2E1C3B")],
                "0b8a8d3e-5f1c-4e0a-9d59-0a4f6d2e1c3b",
            ),
            ("number", &[Value::from("1.50"), Value::from("15e-1")], "1.5"),
        ];
        let shards = Shards::new(99_991).expect("a number of shards");
        for (kind, values, hashed) in cases {
            let text = format!(
                "[table.app]\npartition_key = \"PK\"\n[entity.E]\nPK = \"E#{{id:ulid}}#{{s}}\"\n\
                 [entity.E.fields]\nv = {kind:?}\ns = {{ type = \"shard\", shards = 2, by = \"v\" }}\n"
            );
            let (design, problems) = Design::parse("shards.toml", &text);
            let design = design.unwrap_or_else(|| panic!("{kind}: {problems:?}"));
            let entity = design.entity("E").expect("an entity");
            for value in *values {
                let by = ["v".to_owned()];
                let shard = shard_of(entity, &by, 99_991, |_| Some(value.clone()));
                assert_eq!(shard, Some(shards.of(&[hashed])), "{kind} {value}");
            }
        }
    }
}
