//! The shapes of the API's inputs: which member is a string, a number, a list, a structure.
//!
//! The tables in the files beside this one are those of AWS's own model of the API; a test compares them with it.
//! The module `check` compares a whole request body with them before anything else reads it. Those of tables,
//! settings, backups and transfers also have the model's constraints, which the module `constraints` checks next.
//! Operations on items and streams check theirs while they decode: they must be fast, and AWS departs from its
//! model for them.

mod backups;
mod batches;
mod check;
mod constraints;
mod items;
mod limits;
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
pub(crate) use constraints::check_constraints;

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
    /// A value of a shape that must also keep to a limit.
    Limited(&'static Shape, Limit),
}

impl Shape {
    /// The shape itself and its limit, if it has one.
    pub fn limit(self) -> (Shape, Option<Limit>) {
        match self {
            Self::Limited(shape, limit) => (*shape, Some(limit)),
            shape => (shape, None),
        }
    }
}

/// What the model demands of a value, beside its shape.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A minimum and a maximum number of characters.
    Chars(usize, usize),
    /// The same in bytes of UTF-8, as AWS documents it for names of attributes.
    Bytes(usize, usize),
    /// A minimum and a maximum number of characters, and a pattern.
    Matching(&'static Pattern, usize, usize),
    /// The name or ARN of a table that exists.
    NameOrArn,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// A minimum and a maximum value.
    Range(i64, i64),
    /// A minimum and a maximum number of elements.
    Count(usize, usize),
}

/// A regular expression of the model.
#[derive(Debug)]
pub struct Pattern {
    /// The expression, as messages show it.
    pub text: &'static str,
    /// Whether a text matches it as a whole. An empty text need not be judged if the length excludes it.
    pub matches: fn(&str) -> bool,
}

/// An object with known members.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// The name that the model has for it; an input has the name of its operation.
    pub name: &'static str,
    /// The members that must be there.
    pub required: &'static [&'static str],
    /// The members with their shapes, in the order of the model.
    pub members: &'static [(&'static str, Shape)],
}

impl Structure {
    /// The shape of a member; `None` if there is no such member.
    pub fn member(&self, name: &str) -> Option<Shape> {
        self.members.iter().find(|(member, _)| *member == name).map(|(_, shape)| *shape)
    }
}

/// Declares structures: `Name(Required, …) { Member: Shape, … }`.
macro_rules! structures {
    ($($name:ident $(($($required:ident),+))? { $($member:ident: $shape:expr),* $(,)? })+) => {
        $(
            #[expect(non_upper_case_globals, reason = "it has the name that the model gives it")]
            pub(super) static $name: super::Structure = super::Structure {
                name: stringify!($name),
                required: &[$($(stringify!($required)),+)?],
                members: &[$((stringify!($member), $shape)),*],
            };
        )+
    };
}
use structures;

macro_rules! inputs {
    ($($file:ident($has_constraints:literal): $($name:ident),+;)+) => {
        /// The shape of an operation's input.
        pub fn input(operation: Operation) -> &'static Structure {
            match operation {
                $($(Operation::$name => &$file::$name,)+)+
            }
        }

        /// Whether the tables have the constraints of an operation's input.
        fn has_constraints(operation: Operation) -> bool {
            match operation {
                $($(Operation::$name)|+ => $has_constraints,)+
            }
        }
    };
}

inputs! {
    items(false): DeleteItem, GetItem, PutItem, UpdateItem;
    queries(false): Query, Scan, SearchVectors;
    batches(false): BatchGetItem, BatchWriteItem;
    transactions(false): TransactGetItems, TransactWriteItems;
    partiql(false): BatchExecuteStatement, ExecuteStatement, ExecuteTransaction;
    tables(true): CreateTable, DeleteTable, DescribeEndpoints, DescribeLimits, DescribeTable,
        DescribeTimeToLive, ListTables, ListTagsOfResource, TagResource, UntagResource, UpdateTable,
        UpdateTimeToLive;
    settings(true): CreateGlobalTable, DeleteResourcePolicy, DescribeContributorInsights,
        DescribeGlobalTable, DescribeGlobalTableSettings, DescribeKinesisStreamingDestination,
        DescribeTableReplicaAutoScaling, DisableKinesisStreamingDestination,
        EnableKinesisStreamingDestination, GetResourcePolicy, ListContributorInsights,
        ListGlobalTables, PutResourcePolicy, UpdateContributorInsights, UpdateGlobalTable,
        UpdateGlobalTableSettings, UpdateKinesisStreamingDestination, UpdateTableReplicaAutoScaling;
    backups(true): CreateBackup, DeleteBackup, DescribeBackup, DescribeContinuousBackups, ListBackups,
        RestoreTableFromBackup, RestoreTableToPointInTime, UpdateContinuousBackups;
    transfers(true): CancelBulkOperation, DescribeBulkOperation, DescribeExport, DescribeImport,
        ExportTableToPointInTime, ImportTable, ListBulkOperations, ListExports, ListImports,
        StartBulkPutItems;
    streams(false): DescribeStream, GetRecords, GetShardIterator, ListStreams;
}
