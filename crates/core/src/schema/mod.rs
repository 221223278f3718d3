//! Typed table schemas: keys, indexes, projections, and their checks on items.

mod check;
pub mod definition;
pub mod model;
mod project;
mod validate;
mod vector;

pub use check::KeyContext;
pub use validate::check_defined_once;
pub use vector::{
    DistanceFunction, SearchElement, SearchRole, VectorEntry, VectorFault, VectorIndexSchema,
    vector_entry_size,
};

use std::fmt;

use crate::error::{Result, message};
use crate::key::encode_key_value;
use crate::value::{AttributeType, AttributeValue, Item, Str};

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

impl ScalarType {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        self.attribute_type().as_str()
    }

    /// The type with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Some(match name {
            "S" => Self::S,
            "N" => Self::N,
            "B" => Self::B,
            _ => return None,
        })
    }

    /// The same type as an [`AttributeType`].
    pub fn attribute_type(self) -> AttributeType {
        match self {
            Self::S => AttributeType::S,
            Self::N => AttributeType::N,
            Self::B => AttributeType::B,
        }
    }

    /// Whether a value is of this type.
    pub fn accepts(self, value: &AttributeValue) -> bool {
        value.attribute_type() == self.attribute_type()
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An attribute with a key type: a key attribute, or an attribute definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyAttribute {
    /// The attribute's name.
    pub name: Str,
    /// The attribute's type.
    pub kind: ScalarType,
}

impl KeyAttribute {
    /// A key attribute.
    pub fn new(name: impl Into<Str>, kind: ScalarType) -> Self {
        Self { name: name.into(), kind }
    }
}

/// The role of a key attribute, as `KeyType` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyRole {
    /// Part of the partition key.
    Hash,
    /// Part of the sort key.
    Range,
}

impl KeyRole {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "HASH",
            Self::Range => "RANGE",
        }
    }

    /// The role with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        match name {
            "HASH" => Some(Self::Hash),
            "RANGE" => Some(Self::Range),
            _ => None,
        }
    }
}

/// The key of a table or an index.
///
/// Tables and local indexes have one partition and at most one sort attribute; global indexes have
/// up to four of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeySchema {
    /// The partition key attributes, at least one.
    pub hash: Vec<KeyAttribute>,
    /// The sort key attributes.
    pub range: Vec<KeyAttribute>,
}

impl KeySchema {
    /// A key of one partition attribute and optionally a sort attribute.
    pub fn simple(hash: KeyAttribute, range: Option<KeyAttribute>) -> Self {
        Self { hash: vec![hash], range: range.into_iter().collect() }
    }

    /// All key attributes: partition, then sort.
    pub fn attributes(&self) -> impl DoubleEndedIterator<Item = &KeyAttribute> + Clone {
        self.hash.iter().chain(&self.range)
    }

    /// All key attributes with their roles.
    pub fn roles(&self) -> impl Iterator<Item = (KeyRole, &KeyAttribute)> {
        let hash = self.hash.iter().map(|attribute| (KeyRole::Hash, attribute));
        hash.chain(self.range.iter().map(|attribute| (KeyRole::Range, attribute)))
    }

    /// The number of key attributes.
    pub fn len(&self) -> usize {
        self.hash.len() + self.range.len()
    }

    /// Whether there are no key attributes; never true of a validated schema.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `name` is a key attribute.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// The types of the key attributes, in order.
    pub fn types(&self) -> Vec<ScalarType> {
        self.attributes().map(|attribute| attribute.kind).collect()
    }

    /// Appends the encoded key of an item: partition, then sort.
    pub fn encode(&self, item: &Item, out: &mut Vec<u8>) -> Result<()> {
        encode(&self.hash, item, out)?;
        encode(&self.range, item, out)
    }
}

fn encode(attributes: &[KeyAttribute], item: &Item, out: &mut Vec<u8>) -> Result<()> {
    for attribute in attributes {
        let value = item
            .get(&attribute.name)
            .filter(|value| attribute.kind.accepts(value))
            .ok_or_else(message::schema::key_mismatch)?;
        encode_key_value(value, out)?;
    }
    Ok(())
}

/// Which attributes of an item an index projects, besides the keys of table and index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Projection {
    /// All attributes.
    All,
    /// Only the keys of the index and of the table.
    KeysOnly,
    /// The keys and these attributes.
    Include(Vec<Str>),
}

impl Projection {
    /// The wire name of the projection type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::KeysOnly => "KEYS_ONLY",
            Self::Include(_) => "INCLUDE",
        }
    }
}

/// Whether an index is global or local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// A global secondary index: a key of its own.
    Global,
    /// A local secondary index: the table's partition key with another sort key.
    Local,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexSchema {
    /// The index's name.
    pub name: Str,
    /// Global or local.
    pub kind: IndexKind,
    /// The index's key.
    pub key: KeySchema,
    /// The projected attributes.
    pub projection: Projection,
}

/// A table's schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableSchema {
    /// The table's name.
    pub name: Str,
    /// The primary key.
    pub key: KeySchema,
    /// The attribute definitions, in the order of the request.
    pub attributes: Vec<KeyAttribute>,
    /// The secondary indexes.
    pub indexes: Vec<IndexSchema>,
    /// The vector indexes.
    pub vector_indexes: Vec<VectorIndexSchema>,
}

impl TableSchema {
    /// A table without indexes.
    pub fn new(name: impl Into<Str>, key: KeySchema) -> Self {
        let attributes = key.attributes().cloned().collect();
        Self { name: name.into(), key, attributes, indexes: Vec::new(), vector_indexes: Vec::new() }
    }

    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&IndexSchema> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The local secondary indexes.
    pub fn local_indexes(&self) -> impl Iterator<Item = &IndexSchema> {
        self.indexes.iter().filter(|index| index.kind == IndexKind::Local)
    }

    /// The global secondary indexes.
    pub fn global_indexes(&self) -> impl Iterator<Item = &IndexSchema> {
        self.indexes.iter().filter(|index| index.kind == IndexKind::Global)
    }

    /// The primary key of an item, which must have it.
    pub fn key_of(&self, item: &Item) -> Result<Item> {
        self.key
            .attributes()
            .map(|attribute| match item.get(&attribute.name) {
                Some(value) if attribute.kind.accepts(value) => {
                    Ok((attribute.name.clone(), value.clone()))
                }
                Some(value) => Err(message::schema::key_type_mismatch(attribute, value)),
                None => Err(message::schema::key_missing(&attribute.name)),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
