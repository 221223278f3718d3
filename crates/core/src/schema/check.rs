//! Checks keys and items against a schema, with AWS's messages.

use super::{IndexKind, IndexSchema, KeyAttribute, KeyRole, KeySchema, TableSchema};
use crate::error::{Result, message::schema as message};
use crate::limits::{MAX_HASH_KEY_BYTES, MAX_RANGE_KEY_BYTES};
use crate::value::{AttributeValue, Item};

/// How a key attribute that is missing or of the wrong type is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyContext {
    /// Single puts: name the attribute.
    Put,
    /// Puts of a batch: report only that the key does not match.
    BatchPut,
}

impl TableSchema {
    /// Checks a `Key` parameter: exactly the key attributes, of the right types, not empty and not
    /// too long.
    pub fn check_key(&self, key: &Item) -> Result<()> {
        if key.len() != self.key.len() {
            return Err(message::key_mismatch());
        }
        for (role, attribute) in self.key.roles() {
            let value = key
                .get(&attribute.name)
                .filter(|value| attribute.kind.accepts(value))
                .ok_or_else(message::key_mismatch)?;
            check_key_value(attribute, role, value)?;
        }
        Ok(())
    }

    /// Checks the primary key and the index keys of an item to be stored.
    pub fn check_item(&self, item: &Item, context: KeyContext) -> Result<()> {
        for (role, attribute) in self.key.roles() {
            let missing = || match context {
                KeyContext::Put => message::key_missing(&attribute.name),
                KeyContext::BatchPut => message::key_mismatch(),
            };
            let value = item.get(&attribute.name).ok_or_else(missing)?;
            if !attribute.kind.accepts(value) {
                return Err(match context {
                    KeyContext::Put => message::key_type_mismatch(attribute, value),
                    KeyContext::BatchPut => message::key_mismatch(),
                });
            }
            check_key_value(attribute, role, value)?;
        }
        self.check_index_keys(
            item,
            |_| true,
            |index, attribute, value| message::index_key_empty(&index.name, attribute, value),
        )?;
        self.check_put_vectors(item)
    }

    /// Checks the index keys, vectors and search attributes that an update changed from `old` to
    /// `new`. Unchanged ones are not checked.
    pub fn check_updated_index_keys(&self, old: Option<&Item>, new: &Item) -> Result<()> {
        let changed = |name: &str| old.and_then(|old| old.get(name)) != new.get(name);
        self.check_index_keys(new, changed, |_, _, value| message::index_key_emptied(value))?;
        self.check_updated_vectors(old, new)
    }

    fn check_index_keys(
        &self,
        item: &Item,
        relevant: impl Fn(&str) -> bool,
        empty: impl Fn(&IndexSchema, &KeyAttribute, &AttributeValue) -> crate::Error,
    ) -> Result<()> {
        // AWS reports the first violated index in name order.
        let mut offender: Option<(&IndexSchema, crate::Error)> = None;
        for index in &self.indexes {
            if offender.as_ref().is_some_and(|(first, _)| first.name <= index.name) {
                continue;
            }
            for (role, attribute) in own_key_attributes(index) {
                let Some(value) = item.get(&attribute.name) else { continue };
                if !relevant(&attribute.name) {
                    continue;
                }
                let error = if !attribute.kind.accepts(value) {
                    message::index_key_type_mismatch(index, attribute, value)
                } else if is_empty(value) {
                    empty(index, attribute, value)
                } else if let Err(error) = check_length(role, value) {
                    error
                } else {
                    continue;
                };
                offender = Some((index, error));
                break;
            }
        }
        offender.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// The key attributes of the index alone: a local index shares the table's partition key.
fn own_key_attributes(index: &IndexSchema) -> impl Iterator<Item = (KeyRole, &KeyAttribute)> {
    let shared = index.kind == IndexKind::Local;
    index.key.roles().filter(move |(role, _)| !(shared && *role == KeyRole::Hash))
}

impl KeySchema {
    /// Whether an item has every key attribute, each of the right type, regardless of its value.
    pub fn has_types_of(&self, item: &Item) -> bool {
        self.attributes().all(|attribute| {
            item.get(&attribute.name).is_some_and(|value| attribute.kind.accepts(value))
        })
    }

    /// Whether an item has every key attribute, each with a valid key value. Items older than the
    /// index may have invalid ones; they are not in the index.
    pub fn is_in(&self, item: &Item) -> bool {
        self.roles().all(|(role, attribute)| {
            item.get(&attribute.name).is_some_and(|value| {
                attribute.kind.accepts(value)
                    && !is_empty(value)
                    && check_length(role, value).is_ok()
            })
        })
    }

    /// Checks a value that a request compares with a key attribute: not empty and not too long. Its
    /// type has been checked.
    pub fn check_value(&self, name: &str, value: &AttributeValue) -> Result<()> {
        match self.roles().find(|(_, attribute)| attribute.name == name) {
            Some((role, attribute)) => check_key_value(attribute, role, value),
            None => Ok(()),
        }
    }
}

/// Checks a key value of the right type: not empty and not too long.
pub(super) fn check_key_value(
    attribute: &KeyAttribute,
    role: KeyRole,
    value: &AttributeValue,
) -> Result<()> {
    if is_empty(value) {
        return Err(message::key_empty(attribute, value));
    }
    check_length(role, value)
}

/// Whether a value is an empty string or binary.
pub(super) fn is_empty(value: &AttributeValue) -> bool {
    length(value) == Some(0)
}

/// The length that key limits count; numbers always fit.
fn length(value: &AttributeValue) -> Option<usize> {
    match value {
        AttributeValue::S(text) => Some(text.len()),
        AttributeValue::B(bytes) => Some(bytes.len()),
        _ => None,
    }
}

/// Checks one attribute against the limit of its role. It is unknown whether AWS adds up the
/// attributes of a multi-attribute key; checking each by itself is more permissive.
pub(super) fn check_length(role: KeyRole, value: &AttributeValue) -> Result<()> {
    let length = length(value).unwrap_or(0);
    match role {
        KeyRole::Hash if length > MAX_HASH_KEY_BYTES => Err(message::hash_key_too_long()),
        KeyRole::Range if length > MAX_RANGE_KEY_BYTES => Err(message::range_key_too_long()),
        _ => Ok(()),
    }
}
