//! The shapes that CreateTable and UpdateTable share: keys, indexes, projections, throughput.
//!
//! They are read here as they are stated; what they must fulfil is the core's affair.

use keyloom_api::{Constraints, Fields};
use keyloom_core::schema::definition::{
    AttributeDefinition, IndexDefinition, KeyElement, ProjectionDefinition,
    SearchElementDefinition, VectorAttributeDefinition, VectorIndexDefinition,
};
use keyloom_core::{Result, Str};

use crate::catalog::record::{IndexCapacity, OnDemandLimit, Throughput};

/// `AttributeDefinitions`.
pub(crate) fn definitions(fields: &Fields<'_>) -> Result<Option<Vec<AttributeDefinition>>> {
    let Some(list) = fields.structures("AttributeDefinitions") else { return Ok(None) };
    list.iter()
        .map(|element| {
            Ok(AttributeDefinition {
                name: text(element, "AttributeName"),
                kind: text(element, "AttributeType"),
            })
        })
        .collect::<Result<_>>()
        .map(Some)
}

/// `KeySchema`.
pub(crate) fn key_schema(fields: &Fields<'_>) -> Result<Option<Vec<KeyElement>>> {
    let Some(list) = fields.structures("KeySchema") else { return Ok(None) };
    list.iter()
        .map(|element| {
            Ok(KeyElement { name: text(element, "AttributeName"), role: text(element, "KeyType") })
        })
        .collect::<Result<_>>()
        .map(Some)
}

/// `Projection`.
pub(crate) fn projection(fields: &Fields<'_>) -> Option<ProjectionDefinition> {
    let projection = fields.structure("Projection")?;
    Some(ProjectionDefinition {
        kind: text(&projection, "ProjectionType"),
        attributes: projection.strings("NonKeyAttributes"),
    })
}

/// An index as a request describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexInput {
    pub(crate) definition: IndexDefinition,
    pub(crate) capacity: IndexCapacity,
}

/// One index. `path` is where the request has it.
pub(crate) fn index(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<IndexInput> {
    Ok(IndexInput {
        definition: IndexDefinition {
            name: text(fields, "IndexName"),
            key: key_schema(fields)?,
            projection: projection(fields),
        },
        capacity: IndexCapacity {
            throughput: throughput(fields, constraints, path)?,
            on_demand: on_demand(fields),
            warm: warm(fields),
        },
    })
}

/// The list of indexes under `member`, whose constraint path is `path`.
pub(crate) fn indexes(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    member: &str,
    path: &str,
) -> Result<Option<Vec<IndexInput>>> {
    let Some(list) = fields.structures(member) else { return Ok(None) };
    list.iter()
        .enumerate()
        .map(|(position, element)| {
            index(element, constraints, &format!("{path}.{}.member", position + 1))
        })
        .collect::<Result<_>>()
        .map(Some)
}

/// One vector index.
pub(crate) fn vector_index(fields: &Fields<'_>) -> Result<VectorIndexDefinition> {
    let attribute = fields.structure("VectorAttribute");
    let attribute = attribute.map(|attribute| {
        Ok::<_, keyloom_core::Error>(VectorAttributeDefinition {
            name: text(&attribute, "AttributeName"),
        })
    });
    let search = fields.structures("SearchSchema").map(|elements| {
        let element = |element: &Fields<'_>| {
            Ok(SearchElementDefinition {
                name: text(element, "AttributeName"),
                role: text(element, "SearchSchemaElementType"),
            })
        };
        elements.iter().map(element).collect::<Result<_>>()
    });
    Ok(VectorIndexDefinition {
        name: text(fields, "IndexName"),
        attribute: attribute.transpose()?,
        dimensions: fields.integer("Dimensions"),
        distance: text(fields, "DistanceFunction"),
        search: search.transpose()?,
        projection: projection(fields),
    })
}

/// `VectorIndexes`.
pub(crate) fn vector_indexes(fields: &Fields<'_>) -> Result<Option<Vec<VectorIndexDefinition>>> {
    let Some(list) = fields.structures("VectorIndexes") else { return Ok(None) };
    list.iter().map(vector_index).collect::<Result<_>>().map(Some)
}

/// `ProvisionedThroughput` below `path` (empty for the table's own).
pub(crate) fn throughput(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<Option<Throughput>> {
    let Some(throughput) = fields.structure("ProvisionedThroughput") else { return Ok(None) };
    let dot = if path.is_empty() { "" } else { "." };
    let mut member = |name: &str, spelled: &str| -> Result<i64> {
        let path = format!("{path}{dot}provisionedThroughput.{spelled}");
        let value = throughput.integer(name);
        constraints.required(value.is_some(), &path);
        constraints.range(value, &path, 1, i64::MAX);
        Ok(value.unwrap_or_default())
    };
    let write = member("WriteCapacityUnits", "writeCapacityUnits")?;
    let read = member("ReadCapacityUnits", "readCapacityUnits")?;
    Ok(Some(Throughput { read, write }))
}

/// `OnDemandThroughput`.
pub(crate) fn on_demand(fields: &Fields<'_>) -> Option<OnDemandLimit> {
    on_demand_at(fields, "OnDemandThroughput")
}

/// An on-demand limit under another name.
pub(crate) fn on_demand_at(fields: &Fields<'_>, member: &str) -> Option<OnDemandLimit> {
    let limit = fields.structure(member)?;
    Some(OnDemandLimit {
        read: limit.integer("MaxReadRequestUnits"),
        write: limit.integer("MaxWriteRequestUnits"),
    })
}

/// `WarmThroughput`.
pub(crate) fn warm(fields: &Fields<'_>) -> Option<Throughput> {
    let warm = fields.structure("WarmThroughput")?;
    Some(Throughput {
        read: warm.integer("ReadUnitsPerSecond").unwrap_or_default(),
        write: warm.integer("WriteUnitsPerSecond").unwrap_or_default(),
    })
}

fn text(fields: &Fields<'_>, name: &str) -> Option<Str> {
    fields.string(name).map(Str::from)
}
