//! Where requests go: the embedded engine, by direct calls, or an endpoint, over HTTP.
//!
//! Both take the same typed inputs and give the same outputs, so everything above is written once.

#[cfg(feature = "observe")]
mod report;

use keyloom_api::batches::{BatchGetItemInput, BatchWriteItemInput, WriteRequest};
use keyloom_api::items::{
    DeleteItemInput, GetItemInput, PutItemInput, UpdateItemInput, WriteReturns,
};
use keyloom_api::parameters::ReturnValues;
use keyloom_api::queries::{PageOutput, QueryInput, ScanInput};
use keyloom_api::transactions::{TransactGetItemsInput, TransactWriteItemsInput};
use keyloom_core::Item;
use keyloom_core::capacity::Units;
use keyloom_core::operation::{Operation, Service};
#[cfg(feature = "embedded")]
use keyloom_engine::Database;

#[cfg(feature = "remote")]
use crate::remote::Remote;
use crate::retry::AttemptError;

/// The embedded database or an endpoint.
#[derive(Clone)]
#[non_exhaustive]
pub enum Backend {
    /// In this process.
    #[cfg(feature = "embedded")]
    Embedded(Database),
    /// A DynamoDB endpoint.
    #[cfg(feature = "remote")]
    Remote(Remote),
}

#[cfg(feature = "embedded")]
impl From<Database> for Backend {
    fn from(database: Database) -> Self {
        Self::Embedded(database)
    }
}

#[cfg(feature = "embedded")]
impl From<&Database> for Backend {
    fn from(database: &Database) -> Self {
        Self::Embedded(database.clone())
    }
}

#[cfg(feature = "remote")]
impl From<Remote> for Backend {
    fn from(remote: Remote) -> Self {
        Self::Remote(remote)
    }
}

/// The attributes that a write returns.
pub(crate) fn returning(values: ReturnValues) -> WriteReturns {
    WriteReturns { values, ..WriteReturns::default() }
}

/// One page of rows as they are stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawPage {
    /// The rows that passed the filter.
    pub items: Vec<Item>,
    /// How many rows passed the filter, also if only the number was requested.
    pub count: usize,
    /// How many entries were evaluated.
    pub scanned_count: usize,
    /// Where the next page starts; none after the last.
    pub last_key: Option<Item>,
    /// The consumed units, if the request asked for them.
    pub units: Units,
}

/// The keys or writes of a batch, each with its table.
pub(crate) type Keyed<T> = Vec<(String, T)>;

type Answer<T> = Result<T, AttemptError>;

fn page(output: PageOutput) -> Answer<RawPage> {
    let (count, scanned_count) = (output.count, output.scanned_count);
    let last_key = output.last_evaluated_key.clone();
    let units = output.consumed_capacity.total().total;
    Ok(RawPage { items: output.into_items()?, count, scanned_count, last_key, units })
}

/// Sends to whichever backend it is.
macro_rules! dispatch {
    ($backend:expr, $database:ident => $embedded:expr, $remote:ident => $sent:expr) => {
        match $backend {
            #[cfg(feature = "embedded")]
            Backend::Embedded($database) => $embedded,
            #[cfg(feature = "remote")]
            Backend::Remote($remote) => $sent,
        }
    };
}

impl Backend {
    pub(crate) fn get_item(&self, input: GetItemInput) -> Answer<Option<Item>> {
        let output = dispatch!(self,
            database => database.get_item(input)?,
            remote => remote.exchange(&input)?);
        Ok(output.into_item()?)
    }

    pub(crate) fn put_item(&self, input: PutItemInput) -> Answer<Option<Item>> {
        let output = dispatch!(self,
            database => database.put_item(input)?,
            remote => remote.exchange(&input)?);
        Ok(output.attributes)
    }

    pub(crate) fn delete_item(&self, input: DeleteItemInput) -> Answer<Option<Item>> {
        let output = dispatch!(self,
            database => database.delete_item(input)?,
            remote => remote.exchange(&input)?);
        Ok(output.attributes)
    }

    pub(crate) fn update_item(&self, input: UpdateItemInput) -> Answer<Option<Item>> {
        let output = dispatch!(self,
            database => database.update_item(input)?,
            remote => remote.exchange(&input)?);
        Ok(output.attributes)
    }

    pub(crate) fn query(&self, input: &QueryInput) -> Answer<RawPage> {
        page(dispatch!(self,
            database => database.query(input)?,
            remote => remote.exchange(input)?))
    }

    pub(crate) fn scan(&self, input: &ScanInput) -> Answer<RawPage> {
        page(dispatch!(self,
            database => database.scan(input)?,
            remote => remote.exchange(input)?))
    }

    /// The items found, and the keys that were left.
    pub(crate) fn batch_get(&self, input: BatchGetItemInput) -> Answer<(Keyed<Item>, Keyed<Item>)> {
        let output = dispatch!(self,
            database => database.batch_get_item(input)?,
            remote => remote.exchange(&input)?);
        let left = output
            .unprocessed
            .iter()
            .flat_map(|keys| keys.keys.iter().map(|key| (keys.table_name.clone(), key.clone())));
        let left = left.collect();
        let found = output
            .into_items()?
            .into_iter()
            .flat_map(|(table, items)| items.into_iter().map(move |item| (table.clone(), item)));
        Ok((found.collect(), left))
    }

    /// The writes that were left.
    pub(crate) fn batch_write(&self, input: BatchWriteItemInput) -> Answer<Keyed<WriteRequest>> {
        let output = dispatch!(self,
            database => database.batch_write_item(input)?,
            remote => remote.exchange(&input)?);
        Ok(output.unprocessed)
    }

    pub(crate) fn transact_write(&self, input: TransactWriteItemsInput) -> Answer<()> {
        dispatch!(self,
            database => database.transact_write_items(input)?,
            remote => remote.exchange(&input)?);
        Ok(())
    }

    /// The same where the input is needed again; an endpoint does not need a copy of it.
    pub(crate) fn transact_write_kept(&self, input: &TransactWriteItemsInput) -> Answer<()> {
        dispatch!(self,
            database => database.transact_write_items(input.clone())?,
            remote => remote.exchange(input)?);
        Ok(())
    }

    pub(crate) fn transact_get(&self, input: TransactGetItemsInput) -> Answer<Vec<Option<Item>>> {
        let output = dispatch!(self,
            database => database.transact_get_items(input)?,
            remote => remote.exchange(&input)?);
        Ok(output.into_items()?)
    }

    /// Any other operation as the wire protocol states it: its name and its JSON body.
    pub(crate) fn call(&self, operation: &str, body: &[u8]) -> Answer<Vec<u8>> {
        dispatch!(self,
            database => {
                let reply = database.call(&target(operation), body);
                if reply.status == 200 {
                    Ok(reply.body)
                } else {
                    Err(keyloom_api::error::error_from(reply.status, &reply.body).into())
                }
            },
            remote => remote.send_json(operation, body))
    }

    pub(crate) fn is_embedded(&self) -> bool {
        dispatch!(self, _database => true, _remote => false)
    }
}

/// The target header of an operation of either service. The database refuses an unknown operation.
pub(crate) fn target(operation: &str) -> String {
    match Operation::from_name(operation) {
        Some(known) => known.target(),
        None => format!("{}{operation}", Service::DynamoDb.prefix()),
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        dispatch!(self,
            _database => f.write_str("Embedded"),
            remote => std::fmt::Debug::fmt(remote, f))
    }
}
