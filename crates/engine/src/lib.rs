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
//! [`catalog`] has the tables, [`layout`] the keys of everything in the store, [`stream`] the
//! change records, [`history`] point-in-time recovery, [`vector`] vector indexes, [`observe`] the observer, [`resource`]
//! the records of everything else, [`partiql`] how statements lower to step 3, [`coordination`] heartbeats and job leases of servers that share a store.
//! [`background`] is the work that no request waits for: [`backfill`] fills new indexes, [`ttl`] removes
//! expired items, [`loading`] fills tables from backups and files, [`replication`] keeps global tables the same in all regions. [`verify`] checks that the
//! database is consistent.

mod access;
mod backfill;
mod background;
pub mod buckets;
mod call;
mod catalog;
mod cluster_status;
mod coordination;
pub mod copying;
mod counting;
mod database;
mod elsewhere;
mod history;
mod idempotency;
mod identity;
mod layout;
mod loading;
mod observe;
#[cfg(feature = "disk")]
mod on_disk;
mod ops;
mod partiql;
mod read;
mod records;
#[cfg(feature = "disk")]
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
pub use coordination::{JobRow, ServerRow};
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
#[cfg(feature = "disk")]
pub use keyloom_store::{
    BackupSource, DiskOptions, Durability, Inventory, OpenReport, machine_memory_bytes,
};
pub use keyloom_store::{Health, LaneStatus, Stats, StoreError};
#[doc(hidden)]
pub use layout::COUNTS_KEY;
pub use observe::{IndexFacts, TableFacts, insights};
pub use ops::PartitionPrefixInput;
pub use ops::transfers::codecs::content as decompressed;
pub use ops::transfers::folder_export::write_export;
pub use replication::{PeerError, Peers, REPLICATION_TARGET};

pub(crate) use database::{commit_error, commit_known, store_error};
