//! `TableDescription`, as responses contain it.

use keyloom_api::tables::{
    BillingDescription, Counts, GlobalIndexDescription, IndexDescription, StreamDescription,
    TableDescription, VectorIndexDescription,
};

use crate::catalog::record::{
    Billing, IndexRecord, Phase, Status, StreamSetting, Throughput, VectorIndexLife,
};
use crate::catalog::{Stats, Table, TableRecord};
use crate::database::Inner;

use super::replicas;

/// What a new on-demand table or index can take at once.
const NEW_ON_DEMAND_WARM: Throughput = Throughput { read: 12_000, write: 4_000 };

/// A table with the status that the operation reports.
pub(crate) fn of<'a>(database: &Inner, table: &'a Table, status: Status) -> TableDescription<'a> {
    let record = &table.record;
    let counts = |stats: &Stats| {
        let stats = table.counts(stats)?;
        Some(Counts { bytes: stats.bytes(), items: stats.items() })
    };
    let indexes = record.indexes.iter().zip(&table.indexes).map(|(index, typed)| {
        let global = index.global.then(|| global_index(database, record, index, status));
        IndexDescription { counts: counts(&typed.stats), global }
    });
    let now_ms = database.clock.now_ms();
    let vector_indexes = table.vector_indexes.iter().map(|index| {
        let (status, backfilling) = vector_index(index.life, status, now_ms);
        VectorIndexDescription {
            status: status.as_str(),
            backfilling,
            counts: counts(&index.stats),
        }
    });
    let encryption = record.encryption.as_ref().filter(|encryption| encryption.enabled);
    let class = record.table_class.as_ref();
    TableDescription {
        schema: &table.schema,
        indexes: indexes.collect(),
        vector_indexes: vector_indexes.collect(),
        status: status.as_str(),
        created_ms: record.created_ms,
        arn: database.table_arn(table.name()),
        id: &record.id,
        billing: billing(database, record),
        counts: counts(&table.shared.stats),
        stream: record.stream.as_ref().map(stream),
        deletion_protection: record.deletion_protection,
        table_class: class.map(|class| (class.class.as_str(), class.changed_ms)),
        encryption,
        others: others(database, record),
    }
}

fn billing(database: &Inner, record: &TableRecord) -> BillingDescription {
    let billing = &record.billing;
    let mode = if billing.on_demand { "PAY_PER_REQUEST" } else { "PROVISIONED" };
    let grown = database.observer.grown(&record.name, None);
    BillingDescription {
        mode: (billing.on_demand || billing.stated).then_some(mode),
        on_demand_since_ms: billing.switches_to_on_demand_ms.last().copied(),
        throughput: billing.throughput,
        last_increase_ms: billing.last_increase_ms,
        last_decrease_ms: billing.last_decrease_ms,
        decreases_today: billing.decreases_today,
        on_demand_limit: billing.on_demand_limit,
        warm: raised(warm_of(billing.warm, billing), grown),
    }
}

/// What can be taken at once, after the traffic so far: it only grows.
fn raised(warm: Throughput, grown: Option<(u64, u64)>) -> Throughput {
    let (read, write) = grown.unwrap_or_default();
    let units = |units: u64| i64::try_from(units).unwrap_or(i64::MAX);
    Throughput { read: warm.read.max(units(read)), write: warm.write.max(units(write)) }
}

/// The warm throughput: the requested one, or the default of the billing mode.
pub(crate) fn warm_of(asked: Option<Throughput>, billing: &Billing) -> Throughput {
    asked.unwrap_or(if billing.on_demand { NEW_ON_DEMAND_WARM } else { billing.throughput })
}

/// What an index can take at once.
pub(crate) fn index_warm_of(index: &IndexRecord, billing: &Billing) -> Throughput {
    let throughput = index.throughput.unwrap_or_default();
    warm_of(index.warm, &Billing { throughput, ..billing.clone() })
}

fn global_index(
    database: &Inner,
    record: &TableRecord,
    index: &IndexRecord,
    table_status: Status,
) -> GlobalIndexDescription {
    // An index is created and deleted with its table.
    let status = match table_status {
        Status::Creating | Status::Deleting | Status::Failed => table_status,
        _ => index.status,
    };
    let is_added = status == Status::Creating && table_status != Status::Creating;
    let grown = database.observer.grown(&record.name, Some(&index.name));
    GlobalIndexDescription {
        status: status.as_str(),
        backfilling: is_added.then_some(index.backfilling),
        throughput: index.throughput.unwrap_or_default(),
        on_demand_limit: index.on_demand,
        warm: raised(index_warm_of(index, &record.billing), grown),
    }
}

/// The status of a vector index, and whether it is being filled.
fn vector_index(
    life: VectorIndexLife,
    table_status: Status,
    now_ms: u64,
) -> (Status, Option<bool>) {
    match (table_status, life.phase(now_ms)) {
        // An index is created and deleted with its table.
        (Status::Creating | Status::Deleting | Status::Failed, _) => (table_status, None),
        (_, Phase::Allocating) => (Status::Creating, Some(false)),
        (_, Phase::Backfilling) => (Status::Creating, Some(true)),
        (_, Phase::Active) => (Status::Active, None),
        (_, Phase::Deleting) => (Status::Deleting, None),
    }
}

fn stream(stream: &StreamSetting) -> StreamDescription<'_> {
    StreamDescription { enabled: stream.enabled, view: &stream.view, label: &stream.label }
}

/// The global-table settings of a table, if it is one, and the restore that created it.
fn others(database: &Inner, record: &TableRecord) -> Vec<(&'static str, serde_json::Value)> {
    let mut others = replicas::described(database, record);
    others.extend(record.settings.get("RestoreSummary").map(|it| ("RestoreSummary", it.clone())));
    others
}
