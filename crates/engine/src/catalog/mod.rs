//! The catalog: the tables of a database.
//!
//! Requests take an immutable [`Table`] version from here without locking. Tables are changed in exclusive
//! transactions of the store ([`change`]), one at a time among all processes that share it. Each change begins a new
//! epoch. Every write carries the epoch of the tables it was planned with, and the store rejects it if that epoch is
//! over, so no write commits against outdated tables. Reads are checked against the epoch afterwards ([`current`]).

mod change;
mod current;
mod insight;
mod location;
pub(crate) mod record;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use keyloom_core::error::request;
use keyloom_core::{Error, Result};
use keyloom_store::{Direction, KeyRange, Store};
use parking_lot::Mutex;

pub(crate) use change::{Alongside, Change};
pub(crate) use current::note_written;
pub(crate) use insight::Insight;
pub(crate) use location::{Home, TableLocation, table_name};
use record::Status;
pub(crate) use record::TableRecord;
pub(crate) use table::{Index, Stats, Table, VectorIndex};

use crate::layout;
use crate::records::Records;
use crate::store_error;

type Tables = BTreeMap<String, Arc<Table>>;

/// All tables by name, in this process's version.
#[derive(Debug)]
pub(crate) struct Catalog {
    tables: ArcSwap<Tables>,
    /// The tables are of this epoch, or of a later one.
    epoch: AtomicU64,
    /// Locked while the tables are changed or reloaded.
    changing: Mutex<()>,
    home: Home,
    /// The versions of records.
    pub(crate) records: Records,
}

impl Catalog {
    /// Reads the tables from the store.
    pub(crate) fn load(store: &dyn Store, home: Home, known_records: u32) -> Result<Self> {
        let catalog = Self {
            tables: ArcSwap::default(),
            epoch: AtomicU64::new(0),
            changing: Mutex::default(),
            home,
            records: Records::new(known_records),
        };
        catalog.reload(store)?;
        Ok(catalog)
    }

    /// The epoch of the tables. Read it *before* the tables.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Reads the tables again if they were changed elsewhere; waits for a change that is under way here.
    pub(crate) fn refresh(&self, store: &dyn Store) -> Result<()> {
        let _alone = self.changing.lock();
        if self.epoch() == store.epoch() { Ok(()) } else { self.reload(store) }
    }

    /// Loads the tables. The caller ensures that no other thread does at the same time.
    fn reload(&self, store: &dyn Store) -> Result<()> {
        loop {
            let epoch = store.epoch();
            let version = store.get(layout::RECORDS_KEY).map_err(store_error)?;
            self.records.meet(version.as_deref())?;
            let snapshot = store.late_snapshot().map_err(store_error)?;
            let records = snapshot.scan(KeyRange::prefix(&layout::tables()), Direction::Forward);
            let values = records.map(|entry| entry.map_err(store_error).map(|(_, value)| value));
            self.install(values)?;
            self.epoch.store(epoch, Ordering::Release);
            // Read after the epoch, so of this one, or a later one that is known by now.
            if store.epoch() == epoch {
                return Ok(());
            }
        }
    }

    /// Replaces the tables by those of these records. State that lives as long as a table is kept.
    fn install(
        &self,
        records: impl IntoIterator<Item = Result<keyloom_store::Bytes>>,
    ) -> Result<()> {
        let before = self.all();
        let mut tables = Tables::new();
        for record in records {
            let record: TableRecord = serde_json::from_slice(&record?).map_err(|error| {
                Error::InternalServer(format!("a table's record cannot be read: {error}"))
            })?;
            let what = || format!("table `{}` has a record", record.name);
            self.records.check(what, record.version)?;
            let previous = before.get(&record.name).filter(|known| known.record.id == record.id);
            let table = Table::new(record, previous.map(AsRef::as_ref));
            tables.insert(table.name().to_owned(), Arc::new(table));
        }
        self.tables.store(Arc::new(tables));
        Ok(())
    }

    /// The table that a data operation names. It is not there before it has been filled.
    pub(crate) fn table(&self, name_or_arn: &str) -> Result<Arc<Table>> {
        let is_filled =
            |table: &Arc<Table>| !matches!(table.record.status, Status::Creating | Status::Failed);
        let table = self.find(name_or_arn).filter(is_filled);
        table.ok_or_else(|| self.absence(name_or_arn, |_| request::resource_not_found()))
    }

    /// The table that a control operation names.
    pub(crate) fn described_table(&self, name_or_arn: &str) -> Result<Arc<Table>> {
        self.find(name_or_arn).ok_or_else(|| self.absence(name_or_arn, request::table_not_found))
    }

    /// Why there is no table of this name or ARN.
    fn absence(&self, name_or_arn: &str, not_found: impl FnOnce(&str) -> Error) -> Error {
        match self.home.locate(name_or_arn) {
            TableLocation::OtherRegion => request::arn_of_other_region(name_or_arn),
            TableLocation::OtherAccount | TableLocation::Here(_) => {
                not_found(table_name(name_or_arn))
            }
        }
    }

    /// The table of this name or ARN, if there is one.
    pub(crate) fn find(&self, name_or_arn: &str) -> Option<Arc<Table>> {
        self.tables.load().get(self.named(name_or_arn)?).cloned()
    }

    /// The name of the table that a name or an ARN means; none if that is in another region or account.
    pub(crate) fn named<'a>(&self, name_or_arn: &'a str) -> Option<&'a str> {
        match self.home.locate(name_or_arn) {
            TableLocation::Here(name) => Some(name),
            TableLocation::OtherRegion | TableLocation::OtherAccount => None,
        }
    }

    /// Where the table of a name or an ARN is.
    pub(crate) fn locate<'a>(&self, name_or_arn: &'a str) -> TableLocation<'a> {
        self.home.locate(name_or_arn)
    }

    /// All tables in name order.
    pub(crate) fn all(&self) -> Arc<Tables> {
        self.tables.load_full()
    }

    /// Shows tables as a change of this epoch has left them.
    fn publish(&self, epoch: u64, edit: impl FnOnce(&mut Tables)) {
        let mut tables = Tables::clone(&self.tables.load());
        edit(&mut tables);
        self.tables.store(Arc::new(tables));
        self.epoch.store(epoch, Ordering::Release);
    }
}
