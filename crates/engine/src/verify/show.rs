//! Keys in readable form.

use keyloom_core::hex::Hex;
use keyloom_core::schema::{KeyAttribute, KeySchema};
use keyloom_core::{Item, image, key};

use crate::layout::ENTRY_HEADER_BYTES;

/// The key of an entry as DynamoDB JSON; in hexadecimal if it is none of these schemas.
pub(crate) fn entry_key(schemas: &[&KeySchema], store_key: &[u8]) -> String {
    let attributes = schemas.iter().flat_map(|schema| schema.hash.iter().chain(&schema.range));
    let readable = store_key
        .get(ENTRY_HEADER_BYTES..)
        .and_then(|key| decoded(attributes, key))
        .and_then(|item| json(&item));
    readable.unwrap_or_else(|| hex(store_key))
}

/// An item, such as a key, as DynamoDB JSON.
pub(super) fn json(item: &Item) -> Option<String> {
    let mut out = Vec::new();
    image::write_json(&image::encode(item), &mut out).ok()?;
    String::from_utf8(out).ok()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("0x{}", Hex(bytes))
}

fn decoded<'a>(
    attributes: impl Iterator<Item = &'a KeyAttribute>,
    mut rest: &[u8],
) -> Option<Item> {
    let mut item = Item::default();
    for attribute in attributes {
        let value = key::decode_key_value(attribute.kind, &mut rest).ok()?;
        item.insert(attribute.name.clone(), value);
    }
    rest.is_empty().then_some(item)
}
