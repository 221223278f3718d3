//! The shapes that CreateTable and UpdateTable share: keys, indexes, projections, throughput.
//!
//! Each decoder reads a structure, reports violations of the API model's constraints under the
//! structure's path, and gives the stored form.

use keyloom_core::{Result, limits};

use crate::catalog::record::{
    AttributeDefinition, IndexRecord, KeyElement, OnDemandLimit, ProjectionRecord, Status,
    Throughput,
};
use crate::wire::{Constraints, Fields};

/// The wire names of `KeyType`, with whether it is `HASH`.
const KEY_TYPES: [(&str, bool); 2] = [("HASH", true), ("RANGE", false)];

/// The wire names of `ScalarAttributeType`, in the order in which AWS lists them.
const SCALAR_TYPES: [(&str, &str); 3] = [("B", "B"), ("N", "N"), ("S", "S")];

/// `AttributeDefinitions`.
pub(crate) fn definitions(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Result<Option<Vec<AttributeDefinition>>> {
    let Some(list) = fields.structures("AttributeDefinitions")? else { return Ok(None) };
    let mut definitions = Vec::with_capacity(list.len());
    for (position, element) in list.iter().enumerate() {
        let path = format!("attributeDefinitions.{}.member", position + 1);
        let name = attribute_name(element, constraints, &path)?;
        let kind = element.string("AttributeType")?;
        let path = format!("{path}.attributeType");
        constraints.required(kind.is_some(), &path);
        let kind = constraints.one_of(kind, &path, &SCALAR_TYPES).unwrap_or("S");
        definitions.push(AttributeDefinition { name, kind: kind.to_owned() });
    }
    Ok(Some(definitions))
}

/// A key schema at `path`.
pub(crate) fn key_schema(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<Option<Vec<KeyElement>>> {
    let Some(list) = fields.structures("KeySchema")? else { return Ok(None) };
    constraints.count(list.len(), "[]", path, 1, usize::MAX);
    let mut elements = Vec::with_capacity(list.len());
    for (position, element) in list.iter().enumerate() {
        let path = format!("{path}.{}.member", position + 1);
        let name = attribute_name(element, constraints, &path)?;
        let kind = element.string("KeyType")?;
        let path = format!("{path}.keyType");
        constraints.required(kind.is_some(), &path);
        let hash = constraints.one_of(kind, &path, &KEY_TYPES).unwrap_or(false);
        elements.push(KeyElement { name, hash });
    }
    Ok(Some(elements))
}

fn attribute_name(
    element: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<String> {
    let path = format!("{path}.attributeName");
    let name = element.string("AttributeName")?;
    constraints.required(name.is_some(), &path);
    let name = name.unwrap_or_default();
    if !name.is_empty() || element.has("AttributeName") {
        constraints.length(name, &path, 1, limits::MAX_KEY_NAME_BYTES);
    }
    Ok(name.to_owned())
}

/// A projection as the request gives it. What combinations are legal is judged with the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectionInput {
    pub(crate) kind: Option<String>,
    pub(crate) attributes: Option<Vec<String>>,
}

impl ProjectionInput {
    /// The stored form, once it is known to be legal.
    pub(crate) fn record(&self) -> ProjectionRecord {
        match self.kind.as_deref() {
            Some("KEYS_ONLY") => ProjectionRecord::KeysOnly,
            Some("INCLUDE") => {
                ProjectionRecord::Include(self.attributes.clone().unwrap_or_default())
            }
            _ => ProjectionRecord::All,
        }
    }
}

/// `Projection` of an index at `path`.
pub(crate) fn projection(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<Option<ProjectionInput>> {
    let path = format!("{path}.projection");
    let Some(projection) = fields.structure("Projection")? else {
        constraints.required(false, &path);
        return Ok(None);
    };
    let kinds = [("ALL", ()), ("KEYS_ONLY", ()), ("INCLUDE", ())];
    let kind = projection.string("ProjectionType")?;
    constraints.one_of(kind, &format!("{path}.projectionType"), &kinds);
    let attributes = projection.strings("NonKeyAttributes")?;
    if let Some(attributes) = &attributes {
        let maximum = limits::MAX_PROJECTED_ATTRIBUTES_PER_INDEX;
        let shown = format!("[{}]", attributes.join(", "));
        let path = format!("{path}.nonKeyAttributes");
        constraints.count(attributes.len(), &shown, &path, 1, maximum);
        for attribute in attributes {
            constraints.length(attribute, &format!("{path}.member"), 1, limits::MAX_KEY_NAME_BYTES);
        }
    }
    Ok(Some(ProjectionInput {
        kind: kind.map(str::to_owned),
        attributes: attributes.map(|list| list.iter().map(ToString::to_string).collect()),
    }))
}

/// An index as a request describes it.
#[derive(Clone, Debug)]
pub(crate) struct IndexInput {
    pub(crate) name: String,
    pub(crate) global: bool,
    pub(crate) key: Vec<KeyElement>,
    pub(crate) projection: ProjectionInput,
    pub(crate) throughput: Option<Throughput>,
    pub(crate) on_demand: Option<OnDemandLimit>,
    pub(crate) warm: Option<Throughput>,
}

impl IndexInput {
    /// The stored form of an index in this keyspace.
    pub(crate) fn record(&self, keyspace: u32, status: Status) -> IndexRecord {
        IndexRecord {
            name: self.name.clone(),
            keyspace,
            global: self.global,
            status,
            backfilling: false,
            key: self.key.clone(),
            projection: self.projection.record(),
            throughput: self.throughput,
            on_demand: self.on_demand,
            warm: self.warm,
        }
    }
}

/// One index at `path`.
pub(crate) fn index(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
    global: bool,
) -> Result<IndexInput> {
    let name = fields.string("IndexName")?;
    let name_path = format!("{path}.indexName");
    match name {
        Some(name) => constraints.resource_name(name, &name_path, limits::MIN_TABLE_NAME_CHARS),
        None => constraints.required(false, &name_path),
    }
    let key_path = format!("{path}.keySchema");
    let key = key_schema(fields, constraints, &key_path)?;
    constraints.required(key.is_some(), &key_path);
    let projection = projection(fields, constraints, path)?;
    Ok(IndexInput {
        name: name.unwrap_or_default().to_owned(),
        global,
        key: key.unwrap_or_default(),
        projection: projection.unwrap_or_default(),
        throughput: if global { throughput(fields, constraints, path)? } else { None },
        on_demand: if global { on_demand(fields)? } else { None },
        warm: if global { warm(fields)? } else { None },
    })
}

/// The list of indexes under `member`.
pub(crate) fn indexes(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    member: &str,
    global: bool,
) -> Result<Option<Vec<IndexInput>>> {
    let Some(list) = fields.structures(member)? else { return Ok(None) };
    let path = lower_first(member);
    list.iter()
        .enumerate()
        .map(|(position, element)| {
            index(element, constraints, &format!("{path}.{}.member", position + 1), global)
        })
        .collect::<Result<_>>()
        .map(Some)
}

/// `ProvisionedThroughput` below `path` (empty for the table's own).
pub(crate) fn throughput(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<Option<Throughput>> {
    let Some(throughput) = fields.structure("ProvisionedThroughput")? else { return Ok(None) };
    let dot = if path.is_empty() { "" } else { "." };
    let mut member = |name: &str| -> Result<i64> {
        let path = format!("{path}{dot}provisionedThroughput.{}", lower_first(name));
        let value = throughput.integer(name)?;
        constraints.required(value.is_some(), &path);
        constraints.range(value, &path, 1, i64::MAX);
        Ok(value.unwrap_or_default())
    };
    let write = member("WriteCapacityUnits")?;
    let read = member("ReadCapacityUnits")?;
    Ok(Some(Throughput { read, write }))
}

/// `OnDemandThroughput`.
pub(crate) fn on_demand(fields: &Fields<'_>) -> Result<Option<OnDemandLimit>> {
    let Some(limit) = fields.structure("OnDemandThroughput")? else { return Ok(None) };
    Ok(Some(OnDemandLimit {
        read: limit.integer("MaxReadRequestUnits")?,
        write: limit.integer("MaxWriteRequestUnits")?,
    }))
}

/// `WarmThroughput`.
pub(crate) fn warm(fields: &Fields<'_>) -> Result<Option<Throughput>> {
    let Some(warm) = fields.structure("WarmThroughput")? else { return Ok(None) };
    Ok(Some(Throughput {
        read: warm.integer("ReadUnitsPerSecond")?.unwrap_or_default(),
        write: warm.integer("WriteUnitsPerSecond")?.unwrap_or_default(),
    }))
}

/// A member's name as constraint paths spell it.
fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}
