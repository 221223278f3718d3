//! The shapes of the API's inputs: which member is a string, a number, a list, a structure.
//!
//! The tables in the files beside this one are those of AWS's own model of the API; a test compares them with it.
//! The module `check` compares a whole request body with them before anything else reads it.

mod backups;
mod batches;
mod check;
mod items;
mod partiql;
mod parts;
mod queries;
mod settings;
mod streams;
mod tables;
mod transactions;
mod transfers;

use crate::Operation;

pub(crate) use check::check;

/// The shape of a JSON value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A string; the model's enumerations are strings, too.
    Text,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    Long,
    /// A number that may have a fraction.
    Double,
    /// `true` or `false`.
    Boolean,
    /// Seconds since the epoch, which may have a fraction.
    Timestamp,
    /// An attribute value: `{"S": "text"}`. The only shape that contains itself.
    Value,
    /// A list of values of one shape.
    List(&'static Shape),
    /// An object with any names, whose values have one shape.
    Map(&'static Shape),
    /// An object with known members.
    Struct(&'static Structure),
}

/// An object with known members. All are optional here; which are required is a constraint, judged later.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// The name that the model has for it; an input has the name of its operation.
    pub name: &'static str,
    /// The members with their shapes.
    pub members: &'static [(&'static str, Shape)],
}

impl Structure {
    /// The shape of a member; `None` if there is no such member.
    pub fn member(&self, name: &str) -> Option<Shape> {
        self.members.iter().find(|(member, _)| *member == name).map(|(_, shape)| *shape)
    }
}

/// Declares structures: `Name { Member: Shape, … }`.
macro_rules! structures {
    ($($name:ident { $($member:ident: $shape:expr),* $(,)? })+) => {
        $(
            #[expect(non_upper_case_globals, reason = "it has the name that the model gives it")]
            pub(super) static $name: super::Structure = super::Structure {
                name: stringify!($name),
                members: &[$((stringify!($member), $shape)),*],
            };
        )+
    };
}
use structures;

macro_rules! inputs {
    ($($file:ident: $($name:ident),+;)+) => {
        /// The shape of an operation's input.
        pub fn input(operation: Operation) -> &'static Structure {
            match operation {
                $($(Operation::$name => &$file::$name,)+)+
            }
        }
    };
}

inputs! {
    items: DeleteItem, GetItem, PutItem, UpdateItem;
    queries: Query, Scan, SearchVectors;
    batches: BatchGetItem, BatchWriteItem;
    transactions: TransactGetItems, TransactWriteItems;
    partiql: BatchExecuteStatement, ExecuteStatement, ExecuteTransaction;
    tables: CreateTable, DeleteTable, DescribeEndpoints, DescribeLimits, DescribeTable,
        DescribeTimeToLive, ListTables, ListTagsOfResource, TagResource, UntagResource, UpdateTable,
        UpdateTimeToLive;
    settings: CreateGlobalTable, DeleteResourcePolicy, DescribeContributorInsights,
        DescribeGlobalTable, DescribeGlobalTableSettings, DescribeKinesisStreamingDestination,
        DescribeTableReplicaAutoScaling, DisableKinesisStreamingDestination,
        EnableKinesisStreamingDestination, GetResourcePolicy, ListContributorInsights,
        ListGlobalTables, PutResourcePolicy, UpdateContributorInsights, UpdateGlobalTable,
        UpdateGlobalTableSettings, UpdateKinesisStreamingDestination, UpdateTableReplicaAutoScaling;
    backups: CreateBackup, DeleteBackup, DescribeBackup, DescribeContinuousBackups, ListBackups,
        RestoreTableFromBackup, RestoreTableToPointInTime, UpdateContinuousBackups;
    transfers: CancelBulkOperation, DescribeBulkOperation, DescribeExport, DescribeImport,
        ExportTableToPointInTime, ImportTable, ListBulkOperations, ListExports, ListImports,
        StartBulkPutItems;
    streams: DescribeStream, GetRecords, GetShardIterator, ListStreams;
}
