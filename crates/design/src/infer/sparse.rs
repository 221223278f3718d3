//! Sparse keys: what the items that have a key attribute have in common.

use std::collections::BTreeSet;

use keyloom_core::AttributeValue;

use super::Kept;
use super::key::{KeyPlan, Piece};
use crate::draft::FieldDraft;

/// The most values that tell a key from its absence, and how often each must occur on average where they are no
/// enumeration.
const MAX_VALUES: usize = 12;
const MIN_EACH: usize = 3;

/// What decides whether an item has a key.
pub(super) enum Sparse {
    /// A condition.
    When(String),
    /// The fields of the key, which such items do not have.
    ByItsFields,
    /// Nothing that is known.
    Unknown,
}

/// Which items have one of these attributes.
fn presence(items: &[&Kept], attributes: &[&str]) -> Vec<bool> {
    let has = |kept: &&Kept| attributes.iter().any(|name| kept.item.contains_key(name));
    items.iter().map(has).collect()
}

/// The key attributes whose templates name a field.
fn keys_with<'p>(plans: &'p [KeyPlan], field: &str) -> Vec<&'p str> {
    let named = |plan: &&KeyPlan| {
        plan.pieces
            .iter()
            .flatten()
            .any(|piece| matches!(piece, Piece::Field { name, .. } if name == field))
    };
    plans.iter().filter(named).map(|plan| plan.attribute.as_str()).collect()
}

/// Marks the fields that only keys have, and only keys that some items are without.
pub(super) fn mark_optional(items: &[&Kept], plans: &[KeyPlan], fields: &mut [FieldDraft]) {
    for field in fields.iter_mut().filter(|field| field.key_only && field.shards.is_none()) {
        let present = presence(items, &keys_with(plans, &field.name.value));
        if present.contains(&false) {
            let weight = |wanted: bool| -> f64 {
                let of = items.iter().zip(&present).filter(|(_, is)| **is || !wanted);
                of.map(|(kept, _)| kept.weight).sum()
            };
            field.optional = true;
            field.present = Some((weight(true) / weight(false).max(1.0)).clamp(0.0001, 0.9999));
        }
    }
}

/// What decides about a key that only some items have.
pub(super) fn when(
    items: &[&Kept],
    plan: &KeyPlan,
    plans: &[KeyPlan],
    fields: &[FieldDraft],
) -> Sparse {
    let attribute = plan.attribute.as_str();
    let mine = presence(items, &[attribute]);
    let own = |field: &FieldDraft| keys_with(plans, &field.name.value).contains(&attribute);
    let follows = |field: &&FieldDraft| {
        let name = field.name.value.as_str();
        field.optional
            && if field.key_only {
                presence(items, &keys_with(plans, name)) == mine
            } else {
                presence(items, &[name]) == mine
            }
    };
    // An attribute of the item says it better than what only keys have.
    for key_only in [false, true] {
        let mut telling =
            fields.iter().filter(|field| field.key_only == key_only).filter(follows).peekable();
        if let Some(first) = telling.peek().copied() {
            return match fields.iter().filter(follows).find(|field| own(field)) {
                Some(_) => Sparse::ByItsFields,
                None => Sparse::When(format!("exists({})", first.name.value)),
            };
        }
        let told = fields.iter().find_map(|field| by_value(items, attribute, field));
        if let Some(condition) = told {
            return Sparse::When(condition);
        }
    }
    Sparse::Unknown
}

/// A field whose value tells whether the key is there.
fn by_value(items: &[&Kept], attribute: &str, field: &FieldDraft) -> Option<String> {
    let is_flag = field.kind.value == "bool";
    let is_text = matches!(field.kind.value.as_str(), "string" | "token");
    if field.key_only || !is_flag && !is_text {
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
        let values = with.len() + without.len();
        if values > MAX_VALUES && field.values.is_empty() {
            return None;
        }
    }
    let values = with.len() + without.len();
    if field.values.is_empty() && !is_flag && items.len() < values * MIN_EACH {
        return None;
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
