//! What access control needs from a database: the key schemas and resource policies of its tables and streams.
//!
//! The database itself has no access control; a server checks permissions before it calls it.

use std::sync::Arc;

use keyloom_core::policy::{Policy, PolicyError};
use keyloom_core::{Result, TableSchema};

use crate::catalog::{Table, table_name};
use crate::database::Database;
use crate::ops::{resource_policy, streams};

/// A table as it was when it was asked for.
#[derive(Clone, Debug)]
pub struct GuardedTable(Arc<Table>);

impl GuardedTable {
    /// Its keys and indexes.
    pub fn schema(&self) -> &TableSchema {
        &self.0.schema
    }

    /// Its resource policy, if it has one. An earlier release may have stored one that cannot be evaluated.
    pub fn policy(&self) -> Option<&Result<Policy, PolicyError>> {
        self.0.policy.as_ref()
    }
}

impl Database {
    /// The table that a request names, by name or ARN.
    pub fn guarded_table(&self, name_or_arn: &str) -> Option<GuardedTable> {
        self.inner().catalog.find(name_or_arn).map(GuardedTable)
    }

    /// The resource policy of the stream with this ARN, which [`Database::stream_arn`] made.
    pub fn stream_policy(&self, arn: &str) -> Result<Option<Result<Policy, PolicyError>>> {
        resource_policy::of_stream(self.inner(), arn)
    }

    /// The ARN of the table that a request means by this name or ARN. The region and the account in a
    /// request choose no policy: the database refuses those that are not its own.
    pub fn table_arn(&self, name_or_arn: &str) -> String {
        self.inner().table_arn(table_name(name_or_arn))
    }

    /// The ARN of the stream that a request means by this ARN.
    pub fn stream_arn(&self, arn: &str) -> String {
        let (table, label) = streams::parts(arn).unwrap_or((table_name(arn), ""));
        format!("{}/stream/{label}", self.table_arn(table))
    }

    /// The ARN of the stream that a shard iterator reads; none if it is not an iterator.
    pub fn iterator_stream_arn(&self, iterator: &str) -> Option<String> {
        streams::iterator::stream_arn(iterator).map(|arn| self.stream_arn(arn))
    }

    /// The ARN of the backup, export, import or bulk operation (`kind`) that a request means by this ARN.
    pub fn part_arn(&self, arn: &str, kind: &str) -> String {
        let id = arn.rsplit_once(&format!("/{kind}/")).map(|(_, id)| id).unwrap_or_default();
        format!("{}/{kind}/{id}", self.table_arn(arn))
    }
}
