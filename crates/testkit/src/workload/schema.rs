//! Random schemas, and the requests that make their tables.

use keyloom_core::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType, Str, TableSchema,
};
use serde_json::{Value, json};

use super::set;
use crate::rng::Rng;

/// Attributes that indexes may have as keys, each always of one type.
pub(super) const INDEXABLE: [(&str, ScalarType); 4] =
    [("a", ScalarType::S), ("b", ScalarType::N), ("c", ScalarType::B), ("d", ScalarType::S)];

const TYPES: [ScalarType; 3] = [ScalarType::S, ScalarType::N, ScalarType::B];

/// A table of one or two key attributes with up to four indexes. One of large items has two, so that
/// its partitions can be larger than a page.
pub(super) fn random(rng: &mut Rng, name: &str, large: bool) -> TableSchema {
    let hash = KeyAttribute::new("pk", *rng.pick(&TYPES));
    let range = (large || rng.chance(75)).then(|| KeyAttribute::new("sk", *rng.pick(&TYPES)));
    let mut schema = TableSchema::new(name, KeySchema::simple(hash, range));
    for number in 0..rng.below(5) {
        let local = schema.key.range.len() == 1 && rng.chance(40);
        let index = if local {
            local_index(rng, &schema, number)
        } else {
            global_index(rng, &schema, number)
        };
        add_index(&mut schema, index);
    }
    schema
}

fn local_index(rng: &mut Rng, schema: &TableSchema, number: usize) -> IndexSchema {
    let (name, kind) = *rng.pick(&INDEXABLE);
    let key =
        KeySchema { hash: schema.key.hash.clone(), range: vec![KeyAttribute::new(name, kind)] };
    let (name, projection) = (format!("local-{number}").into(), projection(rng));
    IndexSchema { name, kind: IndexKind::Local, key, projection }
}

/// Up to three hash and two range attributes, now and then keys of the table among them.
fn global_index(rng: &mut Rng, schema: &TableSchema, number: usize) -> IndexSchema {
    let mut candidates: Vec<KeyAttribute> =
        INDEXABLE.iter().map(|(name, kind)| KeyAttribute::new(*name, *kind)).collect();
    if rng.chance(30) {
        candidates.extend(schema.key.attributes().cloned());
    }
    let hash_count = *rng.pick(&[1, 1, 1, 2, 3]);
    let range_count = *rng.pick(&[0, 1, 1, 2]);
    let mut take = |count: usize| -> Vec<KeyAttribute> {
        let count = count.min(candidates.len());
        (0..count).map(|_| candidates.remove(rng.below(candidates.len()))).collect()
    };
    let key = KeySchema { hash: take(hash_count), range: take(range_count) };
    let (name, projection) = (format!("global-{number}").into(), projection(rng));
    IndexSchema { name, kind: IndexKind::Global, key, projection }
}

fn projection(rng: &mut Rng) -> Projection {
    match rng.below(3) {
        0 => Projection::All,
        1 => Projection::KeysOnly,
        _ => Projection::Include(vec!["n".into(), "tags".into()]),
    }
}

/// The body of the CreateTable request. Every table has a stream.
pub fn create_table(schema: &TableSchema) -> Value {
    let mut body = json!({
        "TableName": schema.name.as_str(),
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": definitions(schema),
        "KeySchema": key_schema(&schema.key),
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    let local: Vec<Value> = schema.local_indexes().map(index).collect();
    let global: Vec<Value> = schema.global_indexes().map(index).collect();
    for (member, indexes) in [("LocalSecondaryIndexes", local), ("GlobalSecondaryIndexes", global)]
    {
        if !indexes.is_empty() {
            set(&mut body, member, indexes);
        }
    }
    body
}

/// A random new global index of a table, and the schema with it.
pub(super) fn with_new_index(rng: &mut Rng, schema: &TableSchema, number: usize) -> TableSchema {
    let mut schema = schema.clone();
    let index = global_index(rng, &schema, number);
    add_index(&mut schema, index);
    schema
}

/// The body of the UpdateTable request that takes a table from one schema to the next.
pub fn update_table(before: &TableSchema, after: &TableSchema) -> Value {
    let known = |schema: &TableSchema, index: &IndexSchema| schema.index(&index.name).is_some();
    let created = after.indexes.iter().filter(|index| !known(before, index));
    let deleted = before.indexes.iter().filter(|index| !known(after, index));
    let changes: Vec<Value> = created
        .map(|created| json!({"Create": index(created)}))
        .chain(deleted.map(|gone| json!({"Delete": {"IndexName": gone.name.as_str()}})))
        .collect();
    json!({
        "TableName": after.name.as_str(),
        "AttributeDefinitions": definitions(after),
        "GlobalSecondaryIndexUpdates": changes,
    })
}

fn definitions(schema: &TableSchema) -> Vec<Value> {
    let definition = |a: &KeyAttribute| json!({"AttributeName": a.name.as_str(), "AttributeType": a.kind.as_str()});
    schema.attributes.iter().map(definition).collect()
}

fn add_index(schema: &mut TableSchema, index: IndexSchema) {
    for attribute in index.key.attributes() {
        if !schema.attributes.contains(attribute) {
            schema.attributes.push(attribute.clone());
        }
    }
    schema.indexes.push(index);
}

fn key_schema(key: &KeySchema) -> Vec<Value> {
    key.roles()
        .map(|(role, a)| json!({"AttributeName": a.name.as_str(), "KeyType": role.as_str()}))
        .collect()
}

fn index(index: &IndexSchema) -> Value {
    let mut projection = json!({"ProjectionType": index.projection.type_name()});
    if let Projection::Include(names) = &index.projection {
        let names: Vec<&str> = names.iter().map(Str::as_str).collect();
        set(&mut projection, "NonKeyAttributes", names);
    }
    json!({
        "IndexName": index.name.as_str(),
        "KeySchema": key_schema(&index.key),
        "Projection": projection,
    })
}
