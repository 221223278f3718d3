//! The marker: which form programs currently read and write.
//!
//! Reads may use a cached marker for a short time that the migration states; a switch waits that long before the
//! other form is written, so that no read uses a form that is no longer maintained. Writes do not trust the cache:
//! each is a transaction that checks that the marker is unchanged.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_api::transactions::TransactEdit;
use keyloom_core::{AttributeValue, Error as Refusal, Number};

use super::FRESH_MS;
use super::service::Service;
use super::state::{FENCES, Record, Side, TABLE, fence_key};
use crate::error::{Error, Result};
use crate::expression;
use crate::table::step::{Refused, Step};

/// What the marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The form that is read.
    pub(super) reads: Side,
    /// The form that is written; none during a switch.
    pub(super) writes: Option<Side>,
    fresh: Duration,
    /// Whether there is a marker, and a table that it would be in.
    known: Known,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Marker,
    NoMarker,
    NoTable,
}

/// The marker of one migration.
pub(super) struct Marker {
    pub(super) service: Service,
    id: String,
    /// The tables whose items the migration moves.
    tables: Vec<String>,
    slot: AtomicU32,
    last: Mutex<Option<(Duration, Seen)>>,
}

impl Marker {
    pub(super) fn new(service: Service, id: String, tables: Vec<String>) -> Self {
        let slot = AtomicU32::new(getrandom::u32().unwrap_or(0));
        Self { service, id, tables, slot, last: Mutex::new(None) }
    }

    /// What the marker says, or said a moment ago.
    pub(super) fn look(&self) -> Result<Seen> {
        let now = SystemClock.ticks();
        if let Some((at, seen)) = *self.last.lock().unwrap_or_else(PoisonError::into_inner)
            && now.saturating_sub(at) < seen.fresh
        {
            return Ok(seen);
        }
        self.look_again()
    }

    /// What the marker says now.
    pub(super) fn look_again(&self) -> Result<Seen> {
        // Its age counts from before it was read.
        let at = SystemClock.ticks();
        let seen = self.read()?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, seen));
        Ok(seen)
    }

    fn read(&self) -> Result<Seen> {
        let unmarked = |known| Seen {
            reads: Side::Old,
            writes: Some(Side::Old),
            fresh: Duration::from_millis(FRESH_MS),
            known,
        };
        let slot = self.slot.fetch_add(1, Ordering::Relaxed);
        let marker = match self.service.get(TABLE, &fence_key(&self.id, slot)) {
            Err(Error::Database(Refusal::ResourceNotFound(_))) => {
                return Ok(unmarked(Known::NoTable));
            }
            found => found?,
        };
        let Some(marker) = marker else {
            self.refuse_others()?;
            return Ok(unmarked(Known::NoMarker));
        };
        let fresh = marker.get("fresh_ms").and_then(AttributeValue::as_n).and_then(Number::to_i64);
        let reads = Side::read(&marker, "reads").ok_or_else(|| {
            Error::Migration(format!(
                "the marker of the migration in `{TABLE}` cannot be understood"
            ))
        })?;
        Ok(Seen {
            reads,
            writes: Side::read(&marker, "side"),
            fresh: Duration::from_millis(fresh.unwrap_or(0).max(0).cast_unsigned()),
            known: Known::Marker,
        })
    }

    /// Another migration of the same tables would not be heeded: it has other designs than this program.
    fn refuse_others(&self) -> Result<()> {
        for table in &self.tables {
            if Record::claimed_by(&self.service, table)?.is_some_and(|id| id != self.id) {
                return Err(Error::Migration(format!(
                    "a migration moves items of table `{table}`, and its designs are not those of this program: \
                     print them with `Design::to_toml`, and compare them with the files that it was begun with"
                )));
            }
        }
        Ok(())
    }

    /// The demand that what was seen still holds; none if there is no table to ask.
    pub(super) fn fence(&self, seen: Seen) -> Option<Step> {
        let condition = match (seen.known, seen.writes) {
            (Known::NoTable, _) => return None,
            (Known::NoMarker, _) => expression::presence("pk", false),
            (Known::Marker, side) => {
                let side = side.map_or("none", Side::as_str);
                expression::when(Some(expression::equal("side", side.into())))
            }
        };
        let slot = self.slot.fetch_add(1, Ordering::Relaxed) % FENCES;
        let check = TransactEdit::Check(fence_key(&self.id, slot));
        Some(Step::new(TABLE, check, condition, Refused::Switched))
    }
}
