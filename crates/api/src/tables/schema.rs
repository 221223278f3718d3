//! Keys, indexes and projections as CreateTable and UpdateTable state them.

use keyloom_core::Str;
use keyloom_core::schema::definition::{
    AttributeDefinition, IndexDefinition, KeyElement, ProjectionDefinition,
    SearchElementDefinition, VectorAttributeDefinition, VectorIndexDefinition,
};

use super::capacity::IndexCapacity;
use crate::Fields;

/// An index as a request describes it.
#[derive(Clone, Debug, Default)]
pub struct IndexInput {
    /// Its name, key and projection.
    pub definition: IndexDefinition,
    /// What it may take, if it is global.
    pub capacity: IndexCapacity,
}

impl IndexInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Self {
        let definition = IndexDefinition {
            name: text(fields, "IndexName"),
            key: key_schema(fields),
            projection: projection(fields),
        };
        Self { definition, capacity: IndexCapacity::decode(fields) }
    }

    /// Decodes the list of indexes in a member.
    pub fn decode_all(fields: &Fields<'_>, member: &str) -> Option<Vec<Self>> {
        Some(fields.structures(member)?.iter().map(Self::decode).collect())
    }
}

/// `AttributeDefinitions`.
pub(super) fn definitions(fields: &Fields<'_>) -> Option<Vec<AttributeDefinition>> {
    let definition = |element: &Fields<'_>| AttributeDefinition {
        name: text(element, "AttributeName"),
        kind: text(element, "AttributeType"),
    };
    Some(fields.structures("AttributeDefinitions")?.iter().map(definition).collect())
}

/// `KeySchema`.
pub(super) fn key_schema(fields: &Fields<'_>) -> Option<Vec<KeyElement>> {
    let element = |element: &Fields<'_>| KeyElement {
        name: text(element, "AttributeName"),
        role: text(element, "KeyType"),
    };
    Some(fields.structures("KeySchema")?.iter().map(element).collect())
}

/// `Projection`.
fn projection(fields: &Fields<'_>) -> Option<ProjectionDefinition> {
    let projection = fields.structure("Projection")?;
    Some(ProjectionDefinition {
        kind: text(&projection, "ProjectionType"),
        attributes: projection.strings("NonKeyAttributes"),
    })
}

/// One vector index.
pub(super) fn vector_index(fields: &Fields<'_>) -> VectorIndexDefinition {
    let element = |element: &Fields<'_>| SearchElementDefinition {
        name: text(element, "AttributeName"),
        role: text(element, "SearchSchemaElementType"),
    };
    let search = fields.structures("SearchSchema");
    let attribute = fields.structure("VectorAttribute");
    VectorIndexDefinition {
        name: text(fields, "IndexName"),
        attribute: attribute
            .map(|attribute| VectorAttributeDefinition { name: text(&attribute, "AttributeName") }),
        dimensions: fields.integer("Dimensions"),
        distance: text(fields, "DistanceFunction"),
        search: search.map(|elements| elements.iter().map(element).collect()),
        projection: projection(fields),
    }
}

fn text(fields: &Fields<'_>, name: &str) -> Option<Str> {
    fields.string(name).map(Str::from)
}
