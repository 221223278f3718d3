//! Sparse keys: what the items that have a key attribute have in common.

use std::collections::BTreeSet;

use keyloom_core::AttributeValue;

use super::Kept;
use crate::draft::FieldDraft;

/// The condition under which a key is written, for a key that only some items have.
pub(super) fn when(items: &[&Kept], attribute: &str, fields: &[FieldDraft]) -> Option<String> {
    let has = |kept: &Kept, name: &str| kept.item.contains_key(name);
    let follows = |field: &&FieldDraft| {
        field.optional
            && !field.key_only
            && items.iter().all(|kept| has(kept, &field.name.value) == has(kept, attribute))
    };
    if let Some(field) = fields.iter().find(follows) {
        return Some(format!("exists({})", field.name.value));
    }
    fields.iter().find_map(|field| by_value(items, attribute, field))
}

/// A field whose value tells whether the key is there.
fn by_value(items: &[&Kept], attribute: &str, field: &FieldDraft) -> Option<String> {
    let is_flag = field.kind.value == "bool";
    if field.key_only || !is_flag && field.values.is_empty() {
        return None;
    }
    let name = field.name.value.as_str();
    let (mut with, mut without) = (BTreeSet::new(), BTreeSet::new());
    for kept in items {
        let value = match kept.item.get(name) {
            Some(AttributeValue::S(text)) => text.to_string(),
            Some(AttributeValue::Bool(flag)) => flag.to_string(),
            None => String::new(),
            Some(_) => return None,
        };
        if kept.item.contains_key(attribute) {
            with.insert(value)
        } else {
            without.insert(value)
        };
    }
    if with.is_empty() || with.contains("") || !with.is_disjoint(&without) {
        return None;
    }
    let quote = |value: &String| {
        if is_flag { value.clone() } else { format!("'{}'", value.replace('\'', "''")) }
    };
    let values: Vec<String> = with.iter().map(quote).collect();
    Some(match values.as_slice() {
        [only] => format!("{name} = {only}"),
        several => format!("{name} in ({})", several.join(", ")),
    })
}
