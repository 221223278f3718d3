//! Calculated shards.

use keyloom_keys::{Shards, Value};

use crate::evaluate::Row;
use crate::model::FieldKind;

/// The shard of these field values, by the key library's frozen hash.
pub fn shard_of(values: &[Value], shards: u32) -> u32 {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    let parts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Shards::new(shards).map_or(0, |shards| shards.of(&parts))
}

/// Calculated shards follow from the other fields.
pub fn set_shards(row: &mut Row) {
    let entity = row.entity.clone();
    for field in &entity.fields {
        let FieldKind::Shard(shards) = &field.kind else { continue };
        if shards.by.is_empty() {
            continue;
        }
        let values: Option<Vec<Value>> =
            shards.by.iter().map(|f| row.values.get(f).cloned()).collect();
        if let Some(values) = values {
            let shard = shard_of(&values, shards.count);
            row.values.insert(field.name.clone(), Value::from(shard));
        }
    }
}
