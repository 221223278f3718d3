//! UpdateTable.

use keyloom_core::error::message::vector;
use keyloom_core::error::{request, table as message};
use keyloom_core::schema::check_defined_once;
use keyloom_core::schema::definition::{AttributeDefinition, VectorIndexDefinition};
use keyloom_core::{Error, Result};

use super::capacity::{IndexCapacity, OnDemandLimit, Throughput, decode_on_demand};
use super::schema::{self, IndexInput};
use super::settings::{Encryption, StreamChange};
use crate::Fields;
use crate::parameters::control_table;
use crate::settings::replicas;

/// More units than this are refused before the table is looked at.
const MAX_COUNTED_UNITS: i64 = 1_000_000_000_000;

/// Members that request a change; a request without any of them is refused.
const ACTIONS: [&str; 10] = [
    "BillingMode",
    "ProvisionedThroughput",
    "GlobalSecondaryIndexUpdates",
    "StreamSpecification",
    "SSESpecification",
    "ReplicaUpdates",
    "TableClass",
    "DeletionProtectionEnabled",
    "WarmThroughput",
    "VectorIndexUpdates",
];

/// Members that must be the only change of a request, and what AWS calls them.
const ALONE: [(&str, &str); 4] = [
    ("SSESpecification", "Server-Side Encryption modification"),
    ("TableClass", "TableClass modification"),
    ("DeletionProtectionEnabled", "DeletionProtection modification"),
    ("ReplicaUpdates", "Replica modification"),
];

/// The input of UpdateTable, apart from what it says of replicas.
#[derive(Debug)]
pub struct UpdateTableInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// `AttributeDefinitions`.
    pub definitions: Vec<AttributeDefinition>,
    /// Whether the table shall be on-demand.
    pub on_demand: Option<bool>,
    /// `ProvisionedThroughput`.
    pub throughput: Option<Throughput>,
    /// `OnDemandThroughput`, with at least one member.
    pub on_demand_limit: Option<OnDemandLimit>,
    /// `WarmThroughput`.
    pub warm: Option<Throughput>,
    /// `GlobalSecondaryIndexUpdates`, each of another index.
    pub indexes: Vec<IndexUpdate>,
    /// `VectorIndexUpdates`.
    pub vector_indexes: Vec<VectorIndexUpdate>,
    /// `StreamSpecification`.
    pub stream: Option<StreamChange>,
    /// `SSESpecification`.
    pub encryption: Option<Encryption>,
    /// `TableClass`.
    pub table_class: Option<String>,
    /// Whether DeleteTable is refused.
    pub deletion_protection: Option<bool>,
}

/// One element of `GlobalSecondaryIndexUpdates`.
#[derive(Debug)]
pub enum IndexUpdate {
    /// A new index.
    Create(IndexInput),
    /// Changes an index's capacity.
    Update {
        /// The name of the index.
        name: String,
        /// The new capacity.
        capacity: IndexCapacity,
    },
    /// The end of an index.
    Delete {
        /// The name of the index.
        name: String,
    },
}

/// One element of `VectorIndexUpdates`.
#[derive(Debug)]
pub enum VectorIndexUpdate {
    /// A new index.
    Create(VectorIndexDefinition),
    /// The end of an index.
    Delete {
        /// The name of the index.
        name: String,
    },
}

impl UpdateTableInput {
    /// Decodes the request, and refuses what makes no sense whatever the table is.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        replicas::check_members(fields)?;
        let definitions = schema::definitions(fields).unwrap_or_default();
        let stream = StreamChange::decode(fields, false)?;
        let on_demand = decode_on_demand(fields, "BillingMode");
        let throughput = Throughput::decode(fields, "ProvisionedThroughput");
        // A structure without members requests no change.
        let on_demand_limit = OnDemandLimit::decode(fields, "OnDemandThroughput")
            .filter(|limit| *limit != OnDemandLimit::default());
        check_unambiguous(fields)?;
        check_defined_once(&definitions)?;
        check_units(throughput, on_demand)?;
        if on_demand_limit.is_none() && !ACTIONS.iter().any(|action| asks(fields, action)) {
            return Err(message::nothing_to_update());
        }
        check_combined(fields, on_demand_limit.is_some())?;
        Ok(Self {
            table_name: control_table(fields).to_owned(),
            definitions,
            on_demand,
            throughput,
            on_demand_limit,
            warm: Throughput::decode_warm(fields),
            indexes: IndexUpdate::decode_all(fields)?,
            vector_indexes: elements(
                fields,
                "VectorIndexUpdates",
                VectorIndexUpdate::decode,
                vector::update_empty,
            )?,
            stream,
            encryption: Encryption::decode(fields, "SSESpecification")?,
            table_class: fields.owned_string("TableClass"),
            deletion_protection: fields.boolean("DeletionProtectionEnabled"),
        })
    }
}

impl IndexUpdate {
    /// The name of the index that it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::Create(index) => index.definition.name.as_deref().unwrap_or_default(),
            Self::Update { name, .. } | Self::Delete { name } => name,
        }
    }

    /// Decodes all elements. None may name an index again.
    fn decode_all(fields: &Fields<'_>) -> Result<Vec<Self>> {
        let member = "GlobalSecondaryIndexUpdates";
        let updates = elements(fields, member, Self::decode, message::index_update_empty)?;
        for (position, update) in updates.iter().enumerate() {
            let mut earlier = updates.iter().take(position);
            if earlier.any(|earlier| earlier.name() == update.name()) {
                return Err(message::index_updated_twice(update.name()));
            }
        }
        Ok(updates)
    }

    /// Decodes an element; none if it says nothing.
    fn decode(fields: &Fields<'_>) -> Option<Self> {
        if let Some(update) = fields.structure("Update") {
            let capacity = IndexCapacity::decode(&update);
            return Some(Self::Update { name: index_name(&update), capacity });
        }
        if let Some(create) = fields.structure("Create") {
            return Some(Self::Create(IndexInput::decode(&create)));
        }
        Some(Self::Delete { name: index_name(&fields.structure("Delete")?) })
    }
}

impl VectorIndexUpdate {
    /// Decodes an element; none if it says nothing.
    fn decode(fields: &Fields<'_>) -> Option<Self> {
        if let Some(create) = fields.structure("Create") {
            return Some(Self::Create(schema::vector_index(&create)));
        }
        Some(Self::Delete { name: index_name(&fields.structure("Delete")?) })
    }
}

/// The updates in a member; `empty` is the error for one that says nothing.
fn elements<T>(
    fields: &Fields<'_>,
    member: &str,
    decode: impl Fn(&Fields<'_>) -> Option<T>,
    empty: fn() -> Error,
) -> Result<Vec<T>> {
    let elements = fields.structures(member).unwrap_or_default();
    elements.iter().map(|element| decode(element).ok_or_else(empty)).collect()
}

fn index_name(fields: &Fields<'_>) -> String {
    fields.owned_string("IndexName").unwrap_or_default()
}

/// Whether a member is there, and not an empty list.
fn asks(fields: &Fields<'_>, member: &str) -> bool {
    fields.has(member) && fields.list(member).is_none_or(|list| !list.is_empty())
}

/// An update of an index does one thing.
fn check_unambiguous(fields: &Fields<'_>) -> Result<()> {
    let actions = |element: &Fields<'_>| {
        ["Update", "Create", "Delete"].iter().filter(|action| element.has(action)).count()
    };
    let updates = fields.structures("GlobalSecondaryIndexUpdates").unwrap_or_default();
    if updates.iter().any(|element| actions(element) > 1) {
        return Err(message::index_update_ambiguous());
    }
    Ok(())
}

/// Refuses changes that AWS makes only one at a time.
fn check_combined(fields: &Fields<'_>, limits: bool) -> Result<()> {
    let asked: Vec<&str> = ACTIONS.into_iter().filter(|action| asks(fields, action)).collect();
    let with_others = |member: &str, allowed: &[&str]| {
        let others = asked.iter().filter(|one| **one != member && !allowed.contains(*one)).count();
        others + usize::from(limits) > 0
    };
    for (member, what) in ALONE {
        if asked.contains(&member) && with_others(member, &[]) {
            return Err(message::only_operation(what));
        }
    }
    let changes_indexes = updates_index(fields, &["Create", "Delete"]);
    if asked.contains(&"WarmThroughput") {
        if with_others("WarmThroughput", &["GlobalSecondaryIndexUpdates"]) {
            return Err(message::only_operation("WarmThroughput"));
        }
        if updates_index(fields, &["Create"]) {
            return Err(message::index_created_with_warm());
        }
    }
    if limits
        && asked.iter().any(|one| !["BillingMode", "GlobalSecondaryIndexUpdates"].contains(one))
    {
        return Err(message::on_demand_limit_with_others());
    }
    for (member, what) in [
        ("ProvisionedThroughput", "updating table IOPS"),
        ("StreamSpecification", "changing stream status"),
    ] {
        if changes_indexes && asked.contains(&member) {
            return Err(message::index_changed_while(what));
        }
    }
    Ok(())
}

/// Whether one of these is to be done with an index.
fn updates_index(fields: &Fields<'_>, actions: &[&str]) -> bool {
    let updates = fields.structures("GlobalSecondaryIndexUpdates").unwrap_or_default();
    updates.iter().any(|update| actions.iter().any(|action| update.has(action)))
}

/// What can be said of the units without knowing the table.
fn check_units(throughput: Option<Throughput>, on_demand: Option<bool>) -> Result<()> {
    let Some(Throughput { read, write }) = throughput else { return Ok(()) };
    if on_demand == Some(true) {
        return Err(request::throughput_on_demand());
    }
    for (member, value) in [("ReadCapacityUnits", read), ("WriteCapacityUnits", write)] {
        if value > MAX_COUNTED_UNITS {
            return Err(message::units_out_of_bounds(member, value));
        }
    }
    Ok(())
}
