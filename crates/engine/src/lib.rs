//! The embedded database: DynamoDB's semantics over an ordered key-value store.
//!
//! The life of a request, each arrow a type:
//!
//! 1. [`Database::call`] takes a target and a body; `keyloom_api` parses the body.
//! 2. [`ops`] has one file per operation: decode the input, check it, plan it, encode the output.
//! 3. Every read lowers to a [`read::ReadPlan`] or a lookup, every write to a [`write::Write`].
//! 4. The executors in [`read`] and [`write`] run them on a snapshot or in a transaction of the
//!    store, with index entries and stream records in the same commit.
//! 5. A write waits until it is durable: on the caller's thread or, as a [`call::WaitingCall`], without
//!    blocking one.
//!
//! [`catalog`] knows the tables, [`layout`] where everything lies in the store, [`stream`] the
//! change records, [`history`] the past of tables, [`vector`] vector indexes, [`observe`] the observer, [`resource`]
//! the records of everything else, [`partiql`] how statements lower to step 3, [`office`] who does what where several servers share a store.
//! [`background`] is what happens without a request: [`backfill`] fills new indexes, [`ttl`] removes
//! expired items, [`loading`] fills tables from backups and files, [`replication`] keeps global tables the same in all regions. [`verify`] judges whether everything
//! is as it should be.

mod access;
mod backfill;
mod background;
pub mod buckets;
mod call;
mod catalog;
mod cluster_status;
pub mod copying;
mod counting;
mod database;
mod history;
mod idempotency;
mod identity;
mod layout;
mod loading;
mod observe;
mod office;
mod ops;
mod partiql;
mod read;
mod records;
pub mod repair;
mod replication;
mod resource;
mod store_clock;
mod stream;
mod ttl;
mod vector;
pub mod verify;
mod write;

pub use access::GuardedTable;
pub use call::{Call, WaitingCall};
pub use cluster_status::ClusterStatus;
pub use database::{Database, Options};
pub use keyloom_api::batches::{
    BatchGetItemInput, BatchGetItemOutput, BatchWriteItemInput, BatchWriteItemOutput, KeysOfTable,
    WriteRequest,
};
pub use keyloom_api::clock::{Clock, ManualClock, SystemClock};
pub use keyloom_api::items::{
    ConditionInput, DeleteItemInput, GetItemInput, GetItemOutput, ProjectionInput, PutItemInput,
    UpdateItemInput, WriteOutput, WriteReturns,
};
pub use keyloom_api::parameters::{ReturnConsumedCapacity, ReturnValues};
pub use keyloom_api::partiql::{
    BatchExecuteStatementInput, BatchExecuteStatementOutput, ExecuteStatementInput,
    ExecuteStatementOutput, ExecuteTransactionInput, ExecuteTransactionOutput, StatementInput,
    StatementOutcome,
};
pub use keyloom_api::queries::{
    PageOutput, QueryInput, ReadInput, ScanInput, SearchResult, SearchVectorsInput,
    SearchVectorsOutput, Select,
};
pub use keyloom_api::transactions::{
    TransactAction, TransactEdit, TransactGet, TransactGetItemsInput, TransactGetItemsOutput,
    TransactWriteItemsInput, TransactWriteItemsOutput,
};
pub use keyloom_api::{Expression, FromBody, Operation, Reply};
pub use keyloom_core::Error;
pub use keyloom_core::json::decoded_bytes;
pub use keyloom_core::policy;
pub use keyloom_store::{BackupSource, Inventory, LaneStatus};
pub use keyloom_store::{
    DiskOptions, Durability, Health, OpenReport, Stats, StoreError, machine_memory_bytes,
};
#[doc(hidden)]
pub use layout::COUNTS_KEY;
pub use observe::{IndexFacts, TableFacts, insights};
pub use office::{JobRow, ServerRow};
pub use ops::PartitionPrefixInput;
pub use ops::transfers::decompress::content as decompressed;
pub use ops::transfers::folder_export::write_export;
pub use replication::{PeerError, Peers, REPLICATION_TARGET};

pub(crate) use database::{commit_error, commit_known, store_error};
