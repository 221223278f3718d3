//! Shared by Query and Scan: the choice of index, the read plan of a page, and its result.

use keyloom_api::queries::{PageOutput, ReadInput, Select};
use keyloom_core::capacity::{
    Arm, ConsumedCapacity, ReadMode, Units, partitioned_read_units, read_units,
};
use keyloom_core::error::request;
use keyloom_core::expr::{Condition, Projection};
use keyloom_core::schema::{self, IndexKind};
use keyloom_core::{Error, Result};

use crate::catalog::record::Status;
use crate::catalog::{Index, Table};
use crate::database::Inner;
use crate::observe::Ended;
use crate::read::{Page, ReadPlan};

/// Refuses a vector index in the words of the operation: only SearchVectors reads those.
pub(crate) fn refuse_vector_index(
    read: &ReadInput,
    table: &Table,
    refusal: fn() -> Error,
) -> Result<()> {
    let name = read.index_name.as_deref();
    if name.is_some_and(|name| table.vector_index(name).is_some()) {
        return Err(refusal());
    }
    Ok(())
}

/// The position of the index, which must be readable.
pub(crate) fn index_position(read: &ReadInput, table: &Table) -> Result<Option<usize>> {
    let Some(name) = &read.index_name else { return Ok(None) };
    let position = table.index_position(name).ok_or_else(|| request::index_not_found(name))?;
    let index = table.indexes.get(position);
    if index.is_some_and(|index| index.status == Status::Creating) {
        return Err(request::index_backfilling(name));
    }
    if read.consistent_read && index.is_some_and(is_global) {
        return Err(request::consistent_read_on_global_index());
    }
    Ok(Some(position))
}

/// Whether base items must be fetched for what the read returns of each index entry.
pub(crate) fn fetches_base(
    read: &ReadInput,
    table: &Table,
    index: Option<&Index>,
    projection: Option<&Projection>,
) -> Result<bool> {
    let Some(index) = index else { return Ok(false) };
    if index.schema.projection == schema::Projection::All {
        return Ok(false);
    }
    let missing: Vec<String> = match (projection, read.select) {
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

pub(crate) fn is_global(index: &Index) -> bool {
    index.schema.kind == IndexKind::Global
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

/// Reads a page of a plan; an observer is asked before and told after. `is_projected` says whether only parts of
/// its items are returned.
pub(crate) fn observed(
    database: &Inner,
    plan: &ReadPlan,
    (is_projected, mode): (bool, ReadMode),
    read: impl FnOnce() -> Result<Page>,
) -> Result<Page> {
    let Some(observing) = database.observe(plan.operation()) else { return read() };
    let asked = Ended::of_read(is_projected, mode);
    observing.admit_page(plan, asked)?;
    let page = read()?;
    observing.page(plan, &page, mode, asked);
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

/// Runs a plan on a fresh snapshot.
pub(crate) fn read_page(
    database: &Inner,
    plan: &ReadPlan,
    table_name: &str,
    mode: ReadMode,
) -> Result<PageOutput> {
    let asked = (plan.projection.is_some(), mode);
    let page = observed(database, plan, asked, || plan.run(database))?;
    Ok(PageOutput {
        consumed_capacity: page_cost(plan, &page, table_name, mode),
        rows: page.rows,
        count: page.count,
        scanned_count: page.scanned,
        last_evaluated_key: page.last_key,
        count_only: plan.count_only,
    })
}
