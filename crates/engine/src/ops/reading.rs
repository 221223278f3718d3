//! What Query and Scan share: the index, the budget, the filter, the projection, the page.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::{
    Arm, ConsumedCapacity, ReadMode, Units, partitioned_read_units, read_units,
};
use keyloom_core::error::request;
use keyloom_core::expr::{Bindings, Condition, Projection};
use keyloom_core::legacy::{self, ConditionalOperator, LegacyCondition};
use keyloom_core::schema::{self, IndexKind};
use keyloom_core::{AttributeValue, Error, Item, Result, Str};

use crate::catalog::record::Status;
use crate::catalog::{Index, Table};
use crate::database::Inner;
use crate::read::{Page, ReadPlan};
use keyloom_core::image::Row;

use super::legacy_input;
use super::parameters::ReturnConsumedCapacity;
use super::projected::ProjectionInput;

/// Which attributes a page returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// All attributes of the item.
    AllAttributes,
    /// All attributes that the index holds.
    AllProjected,
    /// Those of the projection.
    Specific,
    /// None, only their number.
    Count,
}

/// The parameters that Query and Scan share.
#[derive(Clone, Debug, Default)]
pub struct ReadInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The index to read.
    pub index_name: Option<String>,
    /// How many entries to evaluate at most.
    pub limit: Option<usize>,
    /// Which attributes to return.
    pub select: Option<Select>,
    /// Where to go on.
    pub exclusive_start_key: Option<Item>,
    /// Whether the read is strongly consistent.
    pub consistent_read: bool,
    /// `FilterExpression`.
    pub filter: Option<String>,
    /// The projection, with the names that all expressions share.
    pub projection: ProjectionInput,
    /// `ExpressionAttributeValues`.
    pub values: Option<Vec<(Str, AttributeValue)>>,
    /// The legacy `QueryFilter` or `ScanFilter`.
    pub legacy_filter: Option<Vec<(Str, LegacyCondition)>>,
    /// The legacy `ConditionalOperator`.
    pub conditional_operator: Option<ConditionalOperator>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl ReadInput {
    /// Reads everything but the attribute values, which come after the constraints.
    pub(crate) fn decode(
        fields: &Fields<'_>,
        table_name: &str,
        constraints: &mut Constraints,
        legacy_filter: (&str, &str),
    ) -> Result<Self> {
        let index_name = fields.owned_string("IndexName");
        constraints.index_name(index_name.as_deref());
        let selects = [
            ("SPECIFIC_ATTRIBUTES", Select::Specific),
            ("COUNT", Select::Count),
            ("ALL_ATTRIBUTES", Select::AllAttributes),
            ("ALL_PROJECTED_ATTRIBUTES", Select::AllProjected),
        ];
        let select = constraints.one_of(fields.string("Select"), "select", &selects);
        let (member, path) = legacy_filter;
        Ok(Self {
            table_name: table_name.to_owned(),
            index_name,
            limit: fields.integer("Limit").and_then(|limit| usize::try_from(limit).ok()),
            select,
            exclusive_start_key: None,
            consistent_read: fields.boolean("ConsistentRead").unwrap_or(false),
            filter: fields.owned_string("FilterExpression"),
            return_consumed_capacity: ReturnConsumedCapacity::decode(fields, constraints),
            projection: ProjectionInput::decode(fields, constraints),
            values: None,
            legacy_filter: legacy_input::conditions(fields, constraints, member, path)?,
            conditional_operator: legacy_input::conditional_operator(fields, constraints),
        })
    }

    /// Reads the attribute values.
    pub(crate) fn decode_values(&mut self, fields: &Fields<'_>) -> Result<()> {
        self.exclusive_start_key = fields.item("ExclusiveStartKey")?;
        self.values = super::conditional::expression_values(fields)?;
        Ok(())
    }

    /// The filter and the projection of a read that has no other expression.
    pub(crate) fn filter_and_projection(&self) -> Result<(Option<Condition>, Option<Projection>)> {
        let legacy_count = self.legacy_filter.as_ref().map(Vec::len);
        legacy::check_conditional_operator(self.conditional_operator, legacy_count)?;
        if let Some(conditions) = &self.legacy_filter {
            let filter = legacy::filter(conditions.clone(), self.conditional_operator)?;
            return Ok((filter, self.projection.legacy()?));
        }
        let mut bindings = Bindings::new(self.projection.names.clone(), self.values.clone())?;
        let filter = self.filter.as_ref().map(|text| bindings.filter(text)).transpose()?;
        let projection = self.projection.expression.as_ref();
        let projection = projection.map(|text| bindings.projection(text)).transpose()?;
        bindings.finish()?;
        let projection = match projection {
            Some(projection) => Some(projection),
            None => self.projection.legacy()?,
        };
        Ok((filter, projection))
    }

    /// Refuses combinations of `Select` that can never work, whatever the table.
    pub(crate) fn check_select(&self) -> Result<()> {
        let projected =
            self.projection.expression.is_some() || self.projection.attributes_to_get.is_some();
        let parameter = if self.projection.expression.is_some() {
            "ProjectionExpression"
        } else {
            "AttributesToGet"
        };
        match self.select {
            Some(Select::AllProjected) if self.index_name.is_none() => {
                Err(request::all_projected_without_index())
            }
            Some(Select::Specific) if !projected => Err(request::specific_without_projection()),
            Some(select) if projected && select != Select::Specific => {
                Err(request::projection_with_select(parameter, select_name(select)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a vector index in the words of the operation: only SearchVectors reads those.
    pub(crate) fn refuse_vector_index(&self, table: &Table, refusal: fn() -> Error) -> Result<()> {
        let name = self.index_name.as_deref();
        if name.is_some_and(|name| table.vector_index(name).is_some()) {
            return Err(refusal());
        }
        Ok(())
    }

    /// The position of the index, which must be readable.
    pub(crate) fn index_position(&self, table: &Table) -> Result<Option<usize>> {
        let Some(name) = &self.index_name else { return Ok(None) };
        let position = table.index_position(name).ok_or_else(|| request::index_not_found(name))?;
        let index = table.indexes.get(position);
        if index.is_some_and(|index| index.status == Status::Creating) {
            return Err(request::index_backfilling(name));
        }
        if self.consistent_read && index.is_some_and(is_global) {
            return Err(request::consistent_read_on_global_index());
        }
        Ok(Some(position))
    }

    /// What a plan returns of each entry, and whether base items must be fetched for it.
    pub(crate) fn shape(
        &self,
        table: &Table,
        index: Option<&Index>,
        projection: Option<&Projection>,
    ) -> Result<bool> {
        let Some(index) = index else { return Ok(false) };
        if index.schema.projection == schema::Projection::All {
            return Ok(false);
        }
        let missing: Vec<String> = match (projection, self.select) {
            (Some(projection), _) => projection
                .attributes()
                .filter(|name| !table.schema.projects(&index.schema, name))
                .map(str::to_owned)
                .collect(),
            (None, Some(Select::AllAttributes)) => {
                if is_global(index) {
                    return Err(request::all_attributes_of_index(&index.schema.name));
                }
                return Ok(true);
            }
            (None, _) => return Ok(false),
        };
        if missing.is_empty() {
            return Ok(false);
        }
        if is_global(index) {
            return Err(request::attributes_not_projected(&index.schema.name, &missing));
        }
        Ok(true)
    }

    pub(crate) fn read_mode(&self) -> ReadMode {
        if self.consistent_read { ReadMode::Strong } else { ReadMode::Eventual }
    }
}

pub(crate) fn is_global(index: &Index) -> bool {
    index.schema.kind == IndexKind::Global
}

fn select_name(select: Select) -> &'static str {
    match select {
        Select::AllAttributes => "ALL_ATTRIBUTES",
        Select::AllProjected => "ALL_PROJECTED_ATTRIBUTES",
        Select::Specific => "SPECIFIC_ATTRIBUTES",
        Select::Count => "COUNT",
    }
}

/// Refuses a filter on the key that is read.
pub(crate) fn check_filter(
    filter: Option<&Condition>,
    parameter: &str,
    plan_key: &schema::KeySchema,
) -> Result<()> {
    let Some(filter) = filter else { return Ok(()) };
    filter.check_excludes_keys(parameter, plan_key.attributes().map(|key| key.name.as_str()))
}

/// What a page costs.
pub(crate) fn page_cost(
    plan: &ReadPlan,
    page: &Page,
    table_name: &str,
    mode: ReadMode,
) -> ConsumedCapacity {
    let mut consumed = ConsumedCapacity::new(table_name);
    let (own, fetched) = page_units(page, mode);
    let own = Arm::new(own);
    match plan.index() {
        None => consumed.add_table(own),
        Some(index) => {
            consumed.add_table(Arm::new(fetched));
            if is_global(index) {
                consumed.add_global(index.schema.name.clone(), own);
            } else {
                consumed.add_local(index.schema.name.clone(), own);
            }
        }
    }
    consumed
}

/// Reads a page of a plan; an observer is asked before and told after.
pub(crate) fn watched(
    database: &Inner,
    plan: &ReadPlan,
    mode: ReadMode,
    read: impl FnOnce() -> Result<Page>,
) -> Result<Page> {
    let Some(watching) = database.watch(plan.operation()) else { return read() };
    watching.admit_page(plan)?;
    let page = read()?;
    watching.page(plan, &page, mode);
    Ok(page)
}

/// What a page costs where it was read, and on the table for the base items that it fetched.
pub(crate) fn page_units(page: &Page, mode: ReadMode) -> (Units, Units) {
    let own = match page.partitions {
        Some(partitions) => partitioned_read_units(partitions.into_iter().flatten(), mode),
        None => read_units(page.bytes, mode),
    };
    // A local index that fetches base items pays for each at its own size, on the table.
    let fetched = page.fetched.iter().map(|&bytes| read_units(bytes, mode)).sum();
    (own, fetched)
}

/// A page of Query or Scan.
#[derive(Debug)]
pub struct PageOutput {
    rows: Vec<Row>,
    /// How many rows passed the filter.
    pub count: usize,
    /// How many entries were evaluated.
    pub scanned_count: usize,
    /// Where the next page goes on; none if there is no more.
    pub last_evaluated_key: Option<Item>,
    /// What it cost.
    pub consumed_capacity: ConsumedCapacity,
    count_only: bool,
}

impl PageOutput {
    /// Runs a plan on a fresh snapshot.
    pub(crate) fn read(
        database: &Inner,
        plan: &ReadPlan,
        table_name: &str,
        mode: ReadMode,
    ) -> Result<Self> {
        let page = watched(database, plan, mode, || plan.run(database))?;
        Ok(Self {
            consumed_capacity: page_cost(plan, &page, table_name, mode),
            rows: page.rows,
            count: page.count,
            scanned_count: page.scanned,
            last_evaluated_key: page.last_key,
            count_only: plan.count_only,
        })
    }

    /// The rows, decoded.
    pub fn into_items(self) -> Result<Vec<Item>> {
        self.rows.into_iter().map(Row::into_item).collect()
    }

    /// The page as JSON.
    pub(crate) fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        // Room at once for the whole page, which would otherwise be copied as it grows.
        let mut json = JsonWriter::object_of(self.rows.iter().map(Row::estimated_json_bytes).sum());
        if !self.count_only {
            let mut outcome = Ok(());
            json.list("Items", &self.rows, |json, row| {
                if outcome.is_ok() {
                    outcome = row.write_json(json.buffer());
                }
            });
            outcome?;
        }
        json.integer("Count", self.count as i64);
        json.integer("ScannedCount", self.scanned_count as i64);
        json.optional_item("LastEvaluatedKey", self.last_evaluated_key.as_ref());
        shown.write(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }
}
