//! The requests of a migration: rate-limited, counted, and reported as progress.

use std::sync::Arc;
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_api::items::GetItemInput;
use keyloom_api::queries::{ReadInput, ScanInput};
use keyloom_api::transactions::{
    TransactAction, TransactGet, TransactGetItemsInput, TransactWriteItemsInput,
};
use keyloom_core::size::item_size;
use keyloom_core::{Error as Refusal, Item};

use super::Watch;
use super::pace::Pace;
use super::state::TABLE;
use crate::backend::{Backend, RawPage};
use crate::client::TableClient;
use crate::error::{Error, Result};
use crate::retry::Retry;
use crate::table::get_all;
use crate::table::step::client_token;

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
        let answer = self.retry.run(operation, true, |_| self.backend.call(operation, body));
        answer.map_err(|error| needed(operation, error))
    }

    /// An item as of the latest write.
    pub(super) fn get(&self, table: &str, key: &Item) -> Result<Option<Item>> {
        self.begin("GetItem")?;
        let found = self.retry.run("GetItem", true, |_| {
            self.backend.get_item(GetItemInput {
                table_name: table.to_owned(),
                key: key.clone(),
                consistent_read: true,
                ..GetItemInput::default()
            })
        })?;
        if table != TABLE {
            self.pace.read(found.iter().count(), found.iter().map(item_size).sum());
        }
        Ok(found)
    }

    /// Items as of the latest write, each for itself.
    pub(super) fn get_many(&self, keys: &[(String, Item)]) -> Result<Vec<Option<Item>>> {
        self.begin("BatchGetItem")?;
        let found = get_all(&self.backend, &self.retry, keys, true)?;
        let bytes: usize = found.iter().flatten().map(item_size).sum();
        self.pace.read(found.iter().flatten().count(), bytes);
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
        let found = self.retry.run("TransactGetItems", true, |_| {
            let gets = keys.iter().map(get).collect();
            self.backend
                .transact_get(TransactGetItemsInput { gets, ..TransactGetItemsInput::default() })
        })?;
        // A read in a transaction takes the units of two.
        for item in found.iter().flatten() {
            self.pace.read(1, item_size(item));
            self.pace.read(1, item_size(item));
        }
        Ok(found)
    }

    /// The items of a partition of the table of the state whose sort keys, called `sk`, begin so.
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
            limit: self.pace.page_items(),
            ..ReadInput::default()
        };
        let input = ScanInput { read, segment };
        let page = self.retry.run("Scan", true, |_| self.backend.scan(&input));
        let page =
            page.map_err(|error| if table == TABLE { error } else { gone(&[table], error) })?;
        self.pace.read(page.items.len(), page.items.iter().map(item_size).sum());
        Ok(page)
    }

    /// Writes all or nothing. Such a write has the same result when it is repeated, so that it is repeated when its answer
    /// is lost.
    pub(super) fn write(&self, actions: Vec<TransactAction>) -> Result<(), Refused> {
        let input = TransactWriteItemsInput { actions, ..TransactWriteItemsInput::default() };
        self.transact(input)
    }

    /// The same for a write that would refuse its own repetition: the endpoint knows it by a token.
    pub(super) fn write_once(&self, actions: Vec<TransactAction>) -> Result<(), Refused> {
        let client_request_token = Some(client_token());
        self.transact(TransactWriteItemsInput {
            actions,
            client_request_token,
            ..TransactWriteItemsInput::default()
        })
    }

    fn transact(&self, input: TransactWriteItemsInput) -> Result<(), Refused> {
        self.begin("TransactWriteItems").map_err(Refused::Failed)?;
        let done = self
            .retry
            .run("TransactWriteItems", true, |_| self.backend.transact_write_kept(&input));
        let actions = &input.actions;
        match done {
            Ok(()) => {
                self.pace.wrote(actions);
                Ok(())
            }
            Err(Error::Database(Refusal::TransactionCanceled(reasons))) => {
                Err(Refused::Canceled(reasons))
            }
            Err(error) => {
                let mut tables: Vec<&str> =
                    actions.iter().map(|action| action.table_name.as_str()).collect();
                tables.sort_unstable();
                tables.dedup();
                Err(Refused::Failed(gone(&tables, needed("TransactWriteItems", error))))
            }
        }
    }
}

/// What an endpoint does not know is said with the reason for which it is needed.
fn needed(operation: &'static str, error: Error) -> Error {
    match error {
        Error::Database(Refusal::UnknownOperation(_)) => Error::Migration(format!(
            "the endpoint does not know {operation}: a migration needs transactions, for writes that never replace \
             anything newer, and streams, for what programs change meanwhile"
        )),
        error => error,
    }
}

/// What became of tables that are not there any more.
pub(super) fn gone(tables: &[&str], error: Error) -> Error {
    let Error::Database(Refusal::ResourceNotFound(_)) = error else { return error };
    let tables: Vec<String> = tables.iter().map(|table| format!("`{table}`")).collect();
    let what = match tables.as_slice() {
        [table] => format!("table {table}"),
        tables => format!("one of the tables {}", tables.join(", ")),
    };
    Error::Migration(format!(
        "{what} is not there any more; restore it. Without `{TABLE}` nobody knows how far the migration was: while \
         programs use the old form, roll back, then run it with --again"
    ))
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
