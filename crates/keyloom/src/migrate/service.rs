//! Requests of a migration: paced, counted, and seen by whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_api::items::GetItemInput;
use keyloom_api::queries::{ReadInput, ScanInput};
use keyloom_api::transactions::{
    TransactAction, TransactEdit, TransactGet, TransactGetItemsInput, TransactWriteItemsInput,
};
use keyloom_core::capacity::{ReadMode, item_write_units, read_units};
use keyloom_core::size::item_size;
use keyloom_core::{Error as Refusal, Item};

use super::Watch;
use crate::backend::{Backend, RawPage};
use crate::client::TableClient;
use crate::error::{Error, Result};
use crate::retry::Retry;
use crate::table::get_all;

/// The database, as a migration uses it.
pub(crate) struct Service {
    pub(super) backend: Backend,
    pub(super) retry: Retry,
    pub(super) watch: Option<Arc<dyn Watch>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) pace: Pace,
}

impl Service {
    pub(crate) fn new(backend: Backend) -> Self {
        // Throttling is to be waited out: others have priority.
        let cap = Duration::from_secs(20);
        let retry = Retry { max_attempts: 12, base: Duration::from_millis(50), cap };
        let clock = Arc::new(SystemClock);
        Self { backend, retry, watch: None, clock, pace: Pace::default() }
    }

    pub(super) fn begin(&self, operation: &'static str) -> Result<()> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.before(operation))
    }

    /// Any operation, by its JSON body.
    pub(super) fn call(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>> {
        self.begin(operation)?;
        self.retry.run(operation, true, |_| self.backend.call(operation, body))
    }

    /// An item as of the latest write.
    pub(super) fn get(&self, table: &str, key: &Item) -> Result<Option<Item>> {
        self.begin("GetItem")?;
        self.retry.run("GetItem", true, |_| {
            self.backend.get_item(GetItemInput {
                table_name: table.to_owned(),
                key: key.clone(),
                consistent_read: true,
                ..GetItemInput::default()
            })
        })
    }

    /// Items as of the latest write, each for itself.
    pub(super) fn get_many(&self, keys: &[(String, Item)]) -> Result<Vec<Option<Item>>> {
        self.begin("BatchGetItem")?;
        let found = get_all(&self.backend, &self.retry, keys, true)?;
        let bytes: usize = found.iter().flatten().map(item_size).sum();
        self.pace.read(bytes);
        Ok(found)
    }

    /// Items as of one moment.
    pub(super) fn get_together(&self, keys: &[(String, Item)]) -> Result<Vec<Option<Item>>> {
        self.begin("TransactGetItems")?;
        let get = |(table, key): &(String, Item)| TransactGet {
            table_name: table.clone(),
            key: key.clone(),
            projection: keyloom_api::items::ProjectionInput::default(),
        };
        self.retry.run("TransactGetItems", true, |_| {
            let gets = keys.iter().map(get).collect();
            self.backend
                .transact_get(TransactGetItemsInput { gets, ..TransactGetItemsInput::default() })
        })
    }

    /// The items of a partition whose sort keys, called `sk`, begin so.
    pub(super) fn list(&self, table: &str, partition: &str, beginning: &str) -> Result<Vec<Item>> {
        self.begin("Query")?;
        let client = TableClient::new(self.backend.clone(), table).with_retry(self.retry.clone());
        client.query(partition).begins_with(beginning).consistent().collect()
    }

    /// A page of a table. It is strongly consistent: an older image might miss a change from before the stream was
    /// followed.
    pub(super) fn scan(
        &self,
        table: &str,
        segment: Option<(u32, u32)>,
        after: Option<Item>,
    ) -> Result<RawPage> {
        self.begin("Scan")?;
        let read = ReadInput {
            table_name: table.to_owned(),
            exclusive_start_key: after,
            consistent_read: true,
            limit: self.pace.page_items,
            ..ReadInput::default()
        };
        let input = ScanInput { read, segment };
        let page = self.retry.run("Scan", true, |_| self.backend.scan(&input))?;
        self.pace.read(page.items.iter().map(item_size).sum());
        Ok(page)
    }

    /// Writes all or nothing. Every write of a migration has the same result when it is repeated, so that it is repeated
    /// when its answer is lost.
    pub(super) fn write(&self, actions: &[TransactAction]) -> Result<(), Refused> {
        self.begin("TransactWriteItems").map_err(Refused::Failed)?;
        let done = self.retry.run("TransactWriteItems", true, |_| {
            self.backend.transact_write(TransactWriteItemsInput {
                actions: actions.to_vec(),
                ..TransactWriteItemsInput::default()
            })
        });
        match done {
            Ok(()) => {
                self.pace.wrote(actions);
                Ok(())
            }
            Err(Error::Database(Refusal::TransactionCanceled(reasons))) => {
                Err(Refused::Canceled(reasons))
            }
            Err(error) => Err(Refused::Failed(error)),
        }
    }
}

/// Why a transaction was not done.
pub(super) enum Refused {
    /// One reason for each action.
    Canceled(Vec<keyloom_core::error::CancellationReason>),
    /// Nothing to do with conditions.
    Failed(Error),
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Canceled(reasons) => Self::Database(Refusal::TransactionCanceled(reasons)),
            Refused::Failed(error) => error,
        }
    }
}

/// How fast the migration may go, and what it has used.
pub(super) struct Pace {
    /// Units a second, reads and writes together; no limit if absent.
    pub(super) units_per_second: Option<f64>,
    /// The most items of a page, for tests.
    pub(super) page_items: Option<usize>,
    read_tenths: AtomicU64,
    written_tenths: AtomicU64,
    /// When the next unit may be used.
    free_at: Mutex<Duration>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            units_per_second: None,
            page_items: None,
            read_tenths: AtomicU64::new(0),
            written_tenths: AtomicU64::new(0),
            free_at: Mutex::new(Duration::ZERO),
        }
    }
}

impl Pace {
    fn read(&self, bytes: usize) {
        let units = read_units(bytes.max(1), ReadMode::Strong).as_f64();
        self.spend(&self.read_tenths, units);
    }

    /// What a transaction takes of the tables; their indexes take more.
    fn wrote(&self, actions: &[TransactAction]) {
        let units = actions.iter().map(|action| match &action.edit {
            TransactEdit::Put(item) => item_write_units(None, Some(item_size(item))),
            edit => {
                let (TransactEdit::Update(key, _)
                | TransactEdit::Delete(key)
                | TransactEdit::Check(key)
                | TransactEdit::Put(key)) = edit;
                item_write_units(None, Some(item_size(key)))
            }
        });
        let units: f64 = units.map(|units| units.transactional().as_f64()).sum();
        self.spend(&self.written_tenths, units);
    }

    fn spend(&self, counter: &AtomicU64, units: f64) {
        counter.fetch_add((units * 10.0) as u64, Ordering::Relaxed);
        let Some(rate) = self.units_per_second.filter(|rate| *rate > 0.0) else { return };
        let now = SystemClock.ticks();
        let wait = {
            let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            let from = (*free_at).max(now);
            *free_at = from + Duration::from_secs_f64(units / rate);
            from.saturating_sub(now)
        };
        std::thread::sleep(wait);
    }

    /// Units read and written so far.
    pub(super) fn spent(&self) -> (f64, f64) {
        let units = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64 / 10.0;
        (units(&self.read_tenths), units(&self.written_tenths))
    }
}
