//! UpdateTable's parameters, read but not judged against the table.

use keyloom_api::parameters::described_table;
use keyloom_api::settings::replicas::{self, ReplicaUpdate};
use keyloom_api::{Constraints, Fields};
use keyloom_core::Result;
use keyloom_core::error::table as message;
use keyloom_core::schema::definition::AttributeDefinition;
use keyloom_core::schema::{check_defined_once, model};

use crate::catalog::record::{EncryptionSetting, IndexCapacity, OnDemandLimit, Throughput};
use crate::ops::tables::stream_setting::StreamChange;
use crate::ops::tables::table_input::{self, IndexInput};
use crate::ops::tables::{create_table, stream_setting};

use super::vectors::VectorIndexUpdate;

/// More units than this are refused before the table is looked at.
const MAX_COUNTED_UNITS: i64 = 1_000_000_000_000;

/// What UpdateTable is asked.
#[derive(Debug, Default)]
pub(super) struct UpdateTableInput {
    pub(super) table_name: String,
    pub(super) definitions: Vec<AttributeDefinition>,
    /// Whether the table shall be on-demand.
    pub(super) on_demand: Option<bool>,
    pub(super) throughput: Option<Throughput>,
    pub(super) on_demand_limit: Option<OnDemandLimit>,
    pub(super) warm: Option<Throughput>,
    pub(super) indexes: Vec<IndexUpdate>,
    pub(super) vector_indexes: Vec<VectorIndexUpdate>,
    pub(super) stream: Option<StreamChange>,
    pub(super) encryption: Option<EncryptionSetting>,
    pub(super) table_class: Option<String>,
    pub(super) deletion_protection: Option<bool>,
    pub(super) replicas: Vec<ReplicaUpdate>,
}

/// One element of `GlobalSecondaryIndexUpdates`.
#[derive(Debug)]
pub(super) enum IndexUpdate {
    Create(IndexInput),
    Update { name: String, capacity: IndexCapacity },
    Delete { name: String },
}

impl IndexUpdate {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Create(index) => index.definition.name.as_deref().unwrap_or_default(),
            Self::Update { name, .. } | Self::Delete { name } => name,
        }
    }
}

impl UpdateTableInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = described_table(fields)?;
        let mut constraints = Constraints::new();
        let definitions = table_input::definitions(fields)?.unwrap_or_default();
        model::check_attributes(&definitions, "attributeDefinitions", constraints.violations());
        let throughput = table_input::throughput(fields, &mut constraints, "")?;
        let indexes = index_updates(fields, &mut constraints)?;
        let vector_indexes = VectorIndexUpdate::decode(fields, &mut constraints)?;
        let mut input = Self {
            table_name: table_name.to_owned(),
            definitions,
            throughput,
            // A structure without members asks for nothing.
            on_demand_limit: table_input::on_demand(fields)
                .filter(|limit| limit.read.is_some() || limit.write.is_some()),
            warm: table_input::warm(fields),
            encryption: create_table::encryption(fields, &mut constraints),
            deletion_protection: fields.boolean("DeletionProtectionEnabled"),
            ..Self::default()
        };
        input.decode_choices(fields, &mut constraints);
        replicas::check_members(fields)?;
        replicas::check_consistency(fields, &mut constraints)?;
        input.replicas = ReplicaUpdate::decode(fields, &mut constraints)?;
        input.stream = stream_setting::decode(fields, &mut constraints, false)?;
        constraints.finish()?;
        check_defined_once(&input.definitions)?;
        input.check_units()?;
        input.check_not_empty(indexes.is_empty() && vector_indexes.is_empty())?;
        input.indexes = each_once(indexes)?;
        input.vector_indexes = VectorIndexUpdate::all(vector_indexes)?;
        Ok(input)
    }

    fn decode_choices(&mut self, fields: &Fields<'_>, constraints: &mut Constraints) {
        let modes = [("PROVISIONED", false), ("PAY_PER_REQUEST", true)];
        self.on_demand = constraints.one_of(fields.string("BillingMode"), "billingMode", &modes);
        let classes = [("STANDARD", ()), ("STANDARD_INFREQUENT_ACCESS", ())];
        let class = fields.string("TableClass");
        constraints.one_of(class, "tableClass", &classes);
        self.table_class = class.map(str::to_owned);
    }

    /// What can be said of the units without knowing the table.
    fn check_units(&self) -> Result<()> {
        let Some(Throughput { read, write }) = self.throughput else { return Ok(()) };
        if self.on_demand == Some(true) {
            return Err(keyloom_core::error::request::throughput_on_demand());
        }
        for (member, value) in [("ReadCapacityUnits", read), ("WriteCapacityUnits", write)] {
            if value > MAX_COUNTED_UNITS {
                return Err(message::units_out_of_bounds(member, value));
            }
        }
        Ok(())
    }

    fn check_not_empty(&self, no_index: bool) -> Result<()> {
        let nothing = no_index
            && self.on_demand.is_none()
            && self.throughput.is_none()
            && self.on_demand_limit.is_none()
            && self.warm.is_none()
            && self.stream.is_none()
            && self.encryption.is_none()
            && self.table_class.is_none()
            && self.deletion_protection.is_none()
            && self.replicas.is_empty();
        if nothing { Err(message::nothing_to_update()) } else { Ok(()) }
    }
}

/// `GlobalSecondaryIndexUpdates`; `None` for an element that says nothing.
fn index_updates(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Result<Vec<Option<IndexUpdate>>> {
    let Some(list) = fields.structures("GlobalSecondaryIndexUpdates") else {
        return Ok(Vec::new());
    };
    let path = |position: usize, action: &str| {
        format!("globalSecondaryIndexUpdates.{}.member.{action}", position + 1)
    };
    let mut updates = Vec::with_capacity(list.len());
    for (position, element) in list.iter().enumerate() {
        if ["Update", "Create", "Delete"].iter().filter(|action| element.has(action)).count() > 1 {
            return Err(message::index_update_ambiguous());
        }
        updates.push(if let Some(update) = element.structure("Update") {
            let path = path(position, "update");
            let name = index_name(&update, constraints, &path);
            let index = table_input::index(&update, constraints, &path)?;
            Some(IndexUpdate::Update { name, capacity: index.capacity })
        } else if let Some(create) = element.structure("Create") {
            let path = path(position, "create");
            let index = table_input::index(&create, constraints, &path)?;
            index.definition.check(&path, None, constraints.violations());
            Some(IndexUpdate::Create(index))
        } else if let Some(delete) = element.structure("Delete") {
            let name = index_name(&delete, constraints, &path(position, "delete"));
            Some(IndexUpdate::Delete { name })
        } else {
            None
        });
    }
    Ok(updates)
}

pub(super) fn index_name(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> String {
    let path = format!("{path}.indexName");
    let name = fields.owned_string("IndexName");
    match &name {
        None => constraints.required(false, &path),
        Some(name) => model::check_new_name(name, path, constraints.violations()),
    }
    name.unwrap_or_default()
}

/// Every element must say something, and none may name an index again.
fn each_once(updates: Vec<Option<IndexUpdate>>) -> Result<Vec<IndexUpdate>> {
    let updates: Vec<IndexUpdate> =
        updates.into_iter().collect::<Option<_>>().ok_or_else(message::index_update_empty)?;
    for (position, update) in updates.iter().enumerate() {
        let mut earlier = updates.iter().take(position);
        if earlier.any(|earlier| earlier.name() == update.name()) {
            return Err(message::index_updated_twice(update.name()));
        }
    }
    Ok(updates)
}
