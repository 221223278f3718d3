//! The stored record of a table.

use std::collections::BTreeMap;

pub(crate) use keyloom_api::tables::{Encryption, IndexCapacity, OnDemandLimit, Throughput};
use keyloom_core::schema::{
    DistanceFunction, IndexKind, IndexSchema, KeyAttribute, KeyRole, KeySchema, Projection,
    ScalarType, SearchElement, SearchRole, TableSchema, VectorIndexSchema,
};
use serde::{Deserialize, Serialize};

use crate::layout::Keyspace;
use crate::records;
use crate::replication::Replication;

/// A table with all its settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub(crate) name: String,
    /// The version of the record's form; see [`crate::records`].
    #[serde(default = "first_version", skip_serializing_if = "is_first_version")]
    pub(crate) version: u32,
    /// The `TableId`: a UUID, never reused.
    pub(crate) id: String,
    pub(crate) keyspace: Keyspace,
    pub(crate) created_ms: u64,
    pub(crate) status: Status,
    /// Attribute types by name, in the order in which they were declared.
    pub(crate) definitions: Vec<AttributeDefinition>,
    pub(crate) key: Vec<KeyElement>,
    #[serde(default)]
    pub(crate) indexes: Vec<IndexRecord>,
    #[serde(default)]
    pub(crate) vector_indexes: Vec<VectorIndexRecord>,
    pub(crate) billing: Billing,
    #[serde(default)]
    pub(crate) stream: Option<StreamSetting>,
    #[serde(default)]
    pub(crate) ttl: Option<TtlSetting>,
    #[serde(default)]
    pub(crate) tags: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) deletion_protection: bool,
    #[serde(default)]
    pub(crate) table_class: Option<TableClassSetting>,
    #[serde(default)]
    pub(crate) encryption: Option<Encryption>,
    /// What makes it a global table.
    #[serde(default)]
    pub(crate) replication: Option<Replication>,
    /// Settings that are stored and echoed, by the name of the feature.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, serde_json::Value>,
}

fn first_version() -> u32 {
    records::FIRST
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this form")]
fn is_first_version(version: &u32) -> bool {
    *version == records::FIRST
}

/// The life of a table or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Status {
    Creating,
    Active,
    Updating,
    Deleting,
    /// A table whose restore cannot be completed. It can be described and deleted.
    Failed,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "CREATING",
            Self::Active => "ACTIVE",
            Self::Updating => "UPDATING",
            Self::Deleting => "DELETING",
            Self::Failed => "FAILED",
        }
    }
}

/// The declared type of a key attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttributeDefinition {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

/// One element of a key schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyElement {
    pub(crate) name: String,
    /// `HASH` if true, else `RANGE`.
    pub(crate) hash: bool,
}

/// A secondary index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub(crate) name: String,
    pub(crate) keyspace: Keyspace,
    pub(crate) global: bool,
    pub(crate) status: Status,
    /// Whether existing items are still being copied into it.
    #[serde(default)]
    pub(crate) backfilling: bool,
    pub(crate) key: Vec<KeyElement>,
    pub(crate) projection: ProjectionRecord,
    /// Provisioned throughput of its own (global indexes of provisioned tables).
    #[serde(default)]
    pub(crate) throughput: Option<Throughput>,
    #[serde(default)]
    pub(crate) on_demand: Option<OnDemandLimit>,
    #[serde(default)]
    pub(crate) warm: Option<Throughput>,
}

/// What an index holds of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProjectionRecord {
    All,
    KeysOnly,
    Include(Vec<String>),
}

/// An index over vectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct VectorIndexRecord {
    pub(crate) name: String,
    pub(crate) keyspace: Keyspace,
    #[serde(default)]
    pub(crate) life: VectorIndexLife,
    /// The attribute that holds the vector.
    pub(crate) attribute: String,
    pub(crate) dimensions: u32,
    /// `COSINE`, `EUCLIDEAN` or `DOT_PRODUCT`.
    pub(crate) distance: String,
    pub(crate) projection: ProjectionRecord,
    /// `(attribute, is HASH)`; the others are inline filters.
    #[serde(default)]
    pub(crate) search_schema: Vec<KeyElement>,
}

/// The state of a vector index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum VectorIndexLife {
    /// It came with its table.
    #[default]
    Active,
    /// It was added to a table. It may appear to take longer than it does.
    Building {
        /// Whether existing items are still being copied into it.
        filling: bool,
        /// Until when it is being allocated.
        allocated_ms: u64,
        /// Until when it is being filled, at least.
        filled_ms: u64,
    },
    /// It is deleted; only the response to its deletion shows this state.
    Deleting,
}

/// What can be done with a vector index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No entries are written yet.
    Allocating,
    /// It can be deleted.
    Backfilling,
    /// It can be searched.
    Active,
    /// Nothing any more.
    Deleting,
}

impl VectorIndexLife {
    pub(crate) fn phase(self, now_ms: u64) -> Phase {
        match self {
            Self::Active => Phase::Active,
            Self::Building { allocated_ms, .. } if now_ms < allocated_ms => Phase::Allocating,
            Self::Building { filling: true, .. } => Phase::Backfilling,
            Self::Building { filled_ms, .. } if now_ms < filled_ms => Phase::Backfilling,
            Self::Building { .. } => Phase::Active,
            Self::Deleting => Phase::Deleting,
        }
    }

    /// Whether existing items are still being copied into it.
    pub(crate) fn is_filling(self) -> bool {
        matches!(self, Self::Building { filling: true, .. })
    }

    /// The life of an index that holds all items now.
    pub(crate) fn filled(self) -> Self {
        match self {
            Self::Building { allocated_ms, filled_ms, .. } => {
                Self::Building { filling: false, allocated_ms, filled_ms }
            }
            other => other,
        }
    }
}

/// How a table is paid for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Billing {
    pub(crate) on_demand: bool,
    /// Whether the request named the billing mode: only then does a provisioned table echo it.
    pub(crate) stated: bool,
    pub(crate) throughput: Throughput,
    #[serde(default)]
    pub(crate) on_demand_limit: Option<OnDemandLimit>,
    #[serde(default)]
    pub(crate) warm: Option<Throughput>,
    /// When the table became on-demand, the last few times.
    #[serde(default)]
    pub(crate) switches_to_on_demand_ms: Vec<u64>,
    #[serde(default)]
    pub(crate) last_increase_ms: Option<u64>,
    #[serde(default)]
    pub(crate) last_decrease_ms: Option<u64>,
    #[serde(default)]
    pub(crate) decreases_today: u32,
}

/// The stream that a table writes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamSetting {
    pub(crate) keyspace: Keyspace,
    pub(crate) enabled: bool,
    pub(crate) view: String,
    pub(crate) label: String,
    /// The shards that take records, by the first partition hash that is theirs; the first begins
    /// at zero.
    pub(crate) shards: Vec<OpenShard>,
}

/// A shard that takes the records of a range of partition hashes, up to the next shard's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenShard {
    pub(crate) number: u32,
    pub(crate) first_hash: u64,
    /// Every record's sequence number is above this one. Earlier releases left it to the clock.
    #[serde(default)]
    pub(crate) start: u64,
}

/// Time to live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TtlSetting {
    pub(crate) attribute: String,
    pub(crate) enabled: bool,
    pub(crate) changed_ms: u64,
}

/// The table class and when it was last changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableClassSetting {
    pub(crate) class: String,
    pub(crate) changed_ms: Option<u64>,
}

impl TableRecord {
    /// A table with this schema and nothing else set, without its indexes.
    pub(crate) fn new(schema: &TableSchema, keyspace: Keyspace, created_ms: u64) -> Self {
        Self {
            name: schema.name.to_string(),
            version: records::FIRST,
            id: String::new(),
            keyspace,
            created_ms,
            status: Status::Active,
            definitions: AttributeDefinition::all(schema),
            key: KeyElement::all(&schema.key),
            indexes: Vec::new(),
            vector_indexes: Vec::new(),
            billing: Billing::default(),
            stream: None,
            ttl: None,
            tags: BTreeMap::new(),
            deletion_protection: false,
            table_class: None,
            encryption: None,
            replication: None,
            settings: BTreeMap::new(),
        }
    }

    /// How many keyspaces the table and its indexes have.
    pub(crate) fn keyspaces(&self) -> u32 {
        1 + (self.indexes.len() + self.vector_indexes.len()) as u32
    }

    /// Gives the table and its indexes, all complete, new keyspaces from this one on.
    pub(crate) fn move_to(&mut self, first: Keyspace) {
        let mut keyspaces = first..;
        let mut next = || keyspaces.next().unwrap_or_default();
        self.keyspace = next();
        for index in &mut self.indexes {
            index.keyspace = next();
            (index.status, index.backfilling) = (Status::Active, false);
        }
        for index in &mut self.vector_indexes {
            index.keyspace = next();
            index.life = VectorIndexLife::Active;
        }
    }

    /// The table's status as it appears at this time.
    pub(crate) fn status_at(&self, now_ms: u64) -> Status {
        let mut phases = self.vector_indexes.iter().map(|index| index.life.phase(now_ms));
        if phases.any(|phase| phase == Phase::Allocating) { Status::Updating } else { self.status }
    }

    /// The index that is being built; there is at most one.
    pub(crate) fn index_in_the_making(&self, now_ms: u64) -> Option<&str> {
        let is_building = |index: &&VectorIndexRecord| {
            matches!(index.life.phase(now_ms), Phase::Allocating | Phase::Backfilling)
        };
        let vector = self.vector_indexes.iter().find(is_building).map(|index| &index.name);
        let is_creating = |index: &&IndexRecord| index.status == Status::Creating;
        let secondary = self.indexes.iter().find(is_creating).map(|index| &index.name);
        vector.or(secondary).map(String::as_str)
    }

    /// The declared type of an attribute.
    pub(crate) fn type_of(&self, name: &str) -> Option<ScalarType> {
        let definition = self.definitions.iter().find(|definition| definition.name == name)?;
        ScalarType::from_wire(&definition.kind)
    }

    /// The schema of the table and its indexes, with the types of all key attributes.
    pub(crate) fn typed_schema(&self) -> TableSchema {
        let attributes = self.definitions.iter().filter_map(|definition| {
            let kind = ScalarType::from_wire(&definition.kind)?;
            Some(KeyAttribute::new(definition.name.as_str(), kind))
        });
        TableSchema {
            name: self.name.as_str().into(),
            key: self.typed_key(&self.key),
            attributes: attributes.collect(),
            indexes: self.indexes.iter().map(|index| self.typed_index(index)).collect(),
            vector_indexes: self
                .vector_indexes
                .iter()
                .map(|index| self.typed_vector_index(index))
                .collect(),
        }
    }

    /// A key schema with the types of its attributes.
    pub(crate) fn typed_key(&self, elements: &[KeyElement]) -> KeySchema {
        let attributes = |hash: bool| {
            elements
                .iter()
                .filter(|element| element.hash == hash)
                .filter_map(|element| {
                    let kind = self.type_of(&element.name)?;
                    Some(KeyAttribute { name: element.name.as_str().into(), kind })
                })
                .collect()
        };
        KeySchema { hash: attributes(true), range: attributes(false) }
    }

    /// An index's schema with the types of its key attributes.
    pub(crate) fn typed_index(&self, index: &IndexRecord) -> IndexSchema {
        IndexSchema {
            name: index.name.as_str().into(),
            kind: if index.global { IndexKind::Global } else { IndexKind::Local },
            key: self.typed_key(&index.key),
            projection: index.projection.typed(),
        }
    }

    /// A vector index's schema with the types of its search attributes.
    pub(crate) fn typed_vector_index(&self, index: &VectorIndexRecord) -> VectorIndexSchema {
        let search = index.search_schema.iter().filter_map(|element| {
            let kind = self.type_of(&element.name)?;
            let role = if element.hash { SearchRole::Hash } else { SearchRole::InlineFilter };
            let attribute = KeyAttribute::new(element.name.as_str(), kind);
            Some(SearchElement { role, attribute })
        });
        VectorIndexSchema {
            name: index.name.as_str().into(),
            attribute: index.attribute.as_str().into(),
            dimensions: index.dimensions as usize,
            // Only names of functions are stored.
            distance: DistanceFunction::from_wire(&index.distance)
                .unwrap_or(DistanceFunction::Cosine),
            search: search.collect(),
            projection: index.projection.typed(),
        }
    }
}

impl AttributeDefinition {
    /// All definitions of a schema.
    pub(crate) fn all(schema: &TableSchema) -> Vec<Self> {
        let definition = |attribute: &KeyAttribute| Self {
            name: attribute.name.to_string(),
            kind: attribute.kind.as_str().to_owned(),
        };
        schema.attributes.iter().map(definition).collect()
    }
}

impl KeyElement {
    /// The elements of a key schema, hash first.
    pub(crate) fn all(key: &KeySchema) -> Vec<Self> {
        key.roles()
            .map(|(role, attribute)| Self {
                name: attribute.name.to_string(),
                hash: role == KeyRole::Hash,
            })
            .collect()
    }

    /// The attribute and its role.
    pub(crate) fn role(&self) -> (&str, KeyRole) {
        (&self.name, if self.hash { KeyRole::Hash } else { KeyRole::Range })
    }
}

impl IndexRecord {
    /// Whether both are the same index, as far as requests define it.
    pub(crate) fn is_defined_as(&self, other: &Self) -> bool {
        (&self.name, self.global, &self.key, &self.projection)
            == (&other.name, other.global, &other.key, &other.projection)
    }

    /// Whether both are defined alike and have the same capacity.
    pub(crate) fn has_settings_of(&self, other: &Self) -> bool {
        self.is_defined_as(other)
            && (self.throughput, self.on_demand, self.warm)
                == (other.throughput, other.on_demand, other.warm)
    }

    /// An index with this schema.
    pub(crate) fn new(schema: &IndexSchema, keyspace: Keyspace, status: Status) -> Self {
        Self {
            name: schema.name.to_string(),
            keyspace,
            global: schema.kind == IndexKind::Global,
            status,
            backfilling: false,
            key: KeyElement::all(&schema.key),
            projection: ProjectionRecord::of(&schema.projection),
            throughput: None,
            on_demand: None,
            warm: None,
        }
    }

    /// The index with this capacity.
    pub(crate) fn with_capacity(mut self, capacity: &IndexCapacity) -> Self {
        self.throughput = capacity.throughput;
        self.on_demand = capacity.on_demand;
        self.warm = capacity.warm;
        self
    }
}

impl VectorIndexRecord {
    /// A vector index with this schema.
    pub(crate) fn new(
        schema: &VectorIndexSchema,
        keyspace: Keyspace,
        life: VectorIndexLife,
    ) -> Self {
        let element = |element: &SearchElement| KeyElement {
            name: element.attribute.name.to_string(),
            hash: element.role == SearchRole::Hash,
        };
        Self {
            name: schema.name.to_string(),
            keyspace,
            life,
            attribute: schema.attribute.to_string(),
            dimensions: schema.dimensions as u32,
            distance: schema.distance.as_str().to_owned(),
            projection: ProjectionRecord::of(&schema.projection),
            search_schema: schema.search.iter().map(element).collect(),
        }
    }
}

impl ProjectionRecord {
    /// The stored form of a projection.
    pub(crate) fn of(projection: &Projection) -> Self {
        match projection {
            Projection::All => Self::All,
            Projection::KeysOnly => Self::KeysOnly,
            Projection::Include(names) => {
                Self::Include(names.iter().map(ToString::to_string).collect())
            }
        }
    }

    /// The projection as a type of the core.
    pub(crate) fn typed(&self) -> Projection {
        match self {
            Self::All => Projection::All,
            Self::KeysOnly => Projection::KeysOnly,
            Self::Include(names) => {
                Projection::Include(names.iter().map(|name| name.as_str().into()).collect())
            }
        }
    }
}
