//! Table definitions as requests state them, before validation.

use crate::value::Str;

/// CreateTable's definition of keys and indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDefinition {
    /// `TableName`.
    pub name: Option<Str>,
    /// `KeySchema`.
    pub key: Option<Vec<KeyElement>>,
    /// `AttributeDefinitions`.
    pub attributes: Option<Vec<AttributeDefinition>>,
    /// `LocalSecondaryIndexes`.
    pub local: Option<Vec<IndexDefinition>>,
    /// `GlobalSecondaryIndexes`.
    pub global: Option<Vec<IndexDefinition>>,
    /// `VectorIndexes`.
    pub vector: Option<Vec<VectorIndexDefinition>>,
}

/// One element of `KeySchema`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyElement {
    /// `AttributeName`.
    pub name: Option<Str>,
    /// `KeyType`.
    pub role: Option<Str>,
}

/// One element of `AttributeDefinitions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeDefinition {
    /// `AttributeName`.
    pub name: Option<Str>,
    /// `AttributeType`.
    pub kind: Option<Str>,
}

/// One element of `LocalSecondaryIndexes` or `GlobalSecondaryIndexes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexDefinition {
    /// `IndexName`.
    pub name: Option<Str>,
    /// `KeySchema`.
    pub key: Option<Vec<KeyElement>>,
    /// `Projection`.
    pub projection: Option<ProjectionDefinition>,
}

/// `Projection`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectionDefinition {
    /// `ProjectionType`.
    pub kind: Option<Str>,
    /// `NonKeyAttributes`.
    pub attributes: Option<Vec<Str>>,
}

/// One element of `VectorIndexes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorIndexDefinition {
    /// `IndexName`.
    pub name: Option<Str>,
    /// `VectorAttribute`.
    pub attribute: Option<VectorAttributeDefinition>,
    /// `Dimensions`.
    pub dimensions: Option<i64>,
    /// `DistanceFunction`.
    pub distance: Option<Str>,
    /// `SearchSchema`.
    pub search: Option<Vec<SearchElementDefinition>>,
    /// `Projection`.
    pub projection: Option<ProjectionDefinition>,
}

/// `VectorAttribute`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorAttributeDefinition {
    /// `AttributeName`.
    pub name: Option<Str>,
}

/// One element of `SearchSchema`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchElementDefinition {
    /// `AttributeName`.
    pub name: Option<Str>,
    /// `SearchSchemaElementType`.
    pub role: Option<Str>,
}

impl KeyElement {
    /// An element with both members.
    pub fn new(name: impl Into<Str>, role: impl Into<Str>) -> Self {
        Self { name: Some(name.into()), role: Some(role.into()) }
    }
}

impl AttributeDefinition {
    /// A definition with both members.
    pub fn new(name: impl Into<Str>, kind: impl Into<Str>) -> Self {
        Self { name: Some(name.into()), kind: Some(kind.into()) }
    }
}
