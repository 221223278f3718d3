//! The content of an export: all items of a table at a point in time, or those changed between two points.

use keyloom_api::transfers::{ExportPeriod, ExportTime, ExportView, Failure};
use keyloom_core::error::resource::recovery_disabled;
use keyloom_core::error::transfer as message;
use keyloom_core::image::Stored;
use keyloom_core::{Error, Item, Result};
use keyloom_store::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::Table;
use crate::database::Inner;
use crate::history::{self, Changes, ItemChange, Past, Recovery, TableAt};
use crate::ops::tables::stream_setting::label;
use crate::store_error;

use super::export_files::{Files, Totals};
use super::export_rows::{ExportRow, ItemVersions};

const SHORTEST_PERIOD_MS: u64 = 15 * 60 * 1000;
const LONGEST_PERIOD_MS: u64 = 24 * 60 * 60 * 1000;

/// The items of an export.
pub(super) enum Items {
    /// The table as it is.
    Present,
    /// The table as it was.
    At(Past),
    /// What was changed.
    Between(Past, Past),
}

/// What an incremental export covers: the first millisecond, the one behind the last, and what is written of each
/// change.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Period {
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
    pub(super) view: ExportView,
}

impl Period {
    /// The same period as a request names it.
    pub(super) fn asked(self) -> ExportTime {
        let Self { from_ms, to_ms, view } = self;
        ExportTime::Incremental(ExportPeriod { from_ms, to_ms: Some(to_ms), view })
    }
}

impl Items {
    /// The items that a request selects. The order of the checks is AWS's.
    pub(super) fn choose(table: &Table, time: ExportTime, now_ms: u64) -> Result<Self> {
        match time {
            ExportTime::Full(None) => recovery(table).map(|_| Self::Present),
            ExportTime::Full(Some(time_ms)) => {
                let recovery = recovery(table)?;
                match recovery.at(time_ms as f64 / 1000.0, now_ms) {
                    Some(past) => Ok(Self::At(past)),
                    None if (recovery.latest_ms(now_ms)..=now_ms).contains(&time_ms) => {
                        Err(message::export_time_unavailable())
                    }
                    None => Err(message::export_time_invalid()),
                }
            }
            ExportTime::Incremental(period) => {
                if period.from_ms < table.record.created_ms {
                    return Err(too_early(period.from_ms));
                }
                let recovery = recovery(table)?;
                check_period(recovery, period, now_ms)?;
                let to_ms = period.to_ms.unwrap_or_else(|| recovery.latest_ms(now_ms));
                let at = |time_ms| Past {
                    history: recovery.keyspace,
                    before: history::number_at(time_ms),
                };
                Ok(Self::Between(at(period.from_ms), at(to_ms)))
            }
        }
    }

    /// The same items for an export that begins anew: what was the present is now the past with the writes below a
    /// number.
    pub(super) fn rewound(self, table: &Table, before: u64, now_ms: u64) -> Result<Self> {
        let Self::Present = self else { return Ok(self) };
        let past = recovery(table)?.up_to(before, now_ms);
        past.map(Self::At).ok_or_else(message::export_time_unavailable)
    }

    /// What the export's record says of them: the time of a full export, unless it is its beginning, or the
    /// period of an incremental one.
    pub(super) fn times(&self, asked: ExportTime) -> (Option<u64>, Option<Period>) {
        let view = match asked {
            ExportTime::Full(_) => ExportView::default(),
            ExportTime::Incremental(period) => period.view,
        };
        match self {
            Self::Present => (None, None),
            Self::At(past) => (Some(past.time_ms()), None),
            Self::Between(from, to) => {
                (None, Some(Period { from_ms: from.time_ms(), to_ms: to.time_ms(), view }))
            }
        }
    }

    /// A snapshot with all writes up to that time.
    pub(super) fn snapshot(&self, database: &Inner) -> Result<Box<dyn Snapshot>> {
        match self {
            Self::Present => database.store.snapshot().map_err(store_error),
            Self::At(past) | Self::Between(_, past) => {
                history::snapshot_with(database, past.before)
            }
        }
    }

    /// Writes the items.
    pub(super) fn write(
        &self,
        table: &Table,
        snapshot: &dyn Snapshot,
        files: &Files<'_>,
        summary: impl FnOnce(&Totals) -> Map<String, Value>,
    ) -> Result<Totals, Failure> {
        let keyspace = table.record.keyspace;
        let past = match self {
            Self::Present => None,
            Self::At(past) => Some(*past),
            Self::Between(from, to) => {
                let changes = Changes::between(snapshot, keyspace, *from, *to)?;
                let rows = changes.items().filter_map(|change| match change {
                    // What was made and removed in between is no change.
                    Ok(ItemChange { old: None, new: None, .. }) => None,
                    Ok(change) => Some(row(table, change)),
                    Err(error) => Some(Err(error)),
                });
                return files.write(rows, summary);
            }
        };
        let items = TableAt::at(snapshot, keyspace, past)?;
        let rows = items.items();
        files.write(rows.map(|item| Ok(ExportRow::Item(Stored::new(item?.1)))), summary)
    }
}

/// The table's recovery, which must be on.
fn recovery(table: &Table) -> Result<Recovery> {
    table.recovery.ok_or_else(|| recovery_disabled(table.name()))
}

/// An incremental export covers a quarter of an hour to a day of the history.
fn check_period(recovery: Recovery, period: ExportPeriod, now_ms: u64) -> Result<()> {
    if period.from_ms < recovery.earliest_ms(now_ms) {
        return Err(too_early(period.from_ms));
    }
    if let Some(to_ms) = period.to_ms.filter(|to_ms| *to_ms > now_ms) {
        return Err(message::export_to_in_future(&second(to_ms)));
    }
    let to_ms = period.to_ms.unwrap_or_else(|| recovery.latest_ms(now_ms));
    match to_ms.saturating_sub(period.from_ms) {
        ..SHORTEST_PERIOD_MS => Err(message::export_period_short()),
        SHORTEST_PERIOD_MS..=LONGEST_PERIOD_MS => Ok(()),
        _ => Err(message::export_period_long()),
    }
}

fn too_early(from_ms: u64) -> Error {
    message::export_from_too_early(&second(from_ms))
}

/// A time to the second, as messages show it.
fn second(ms: u64) -> String {
    let text = label(ms);
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

fn row(table: &Table, change: ItemChange) -> Result<ExportRow> {
    let (old, new) = (change.old.map(Stored::new), change.new.map(Stored::new));
    let image = new.as_ref().or(old.as_ref());
    let keys = image.map_or(Ok(Item::default()), |image| table.schema.key_of(image.item()?))?;
    let written_us = change.written_ms.saturating_mul(1000);
    Ok(ExportRow::Change(ItemVersions { keys, old, new, written_us }))
}
