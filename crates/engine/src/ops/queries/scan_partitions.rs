//! Reads over all partitions whose key begins with a prefix: an extension of the embedded database.
//!
//! DynamoDB distributes partitions by a hash and does not support such reads, so they are not in the wire protocol.
//! Keyloom's store keeps partitions in key order, so for the embedded API this is a single range.

use keyloom_api::queries::{PageOutput, ReadInput, Select};
use keyloom_core::error::message::vector;
use keyloom_core::error::request;
use keyloom_core::{AttributeValue, Result, key};
use keyloom_store::{Direction, KeyRange};

use crate::database::{Database, Inner};
use crate::layout;
use crate::read::{self, ReadPlan};

use super::page::{fetches_base, index_position, read_page, refuse_vector_index};
use super::query::check_paths;

/// Which partitions to read, and what to do with their items.
#[derive(Clone, Debug)]
pub struct PartitionPrefixInput {
    /// What it shares with Query and Scan: table, index, limit, start, filter, projection.
    pub read: ReadInput,
    /// What the partition key begins with: a string or binary, as the key is. If the index has
    /// several partition key attributes, it is the first that counts.
    pub prefix: AttributeValue,
    /// Whether the scan goes in ascending key order.
    pub forward: bool,
}

impl PartitionPrefixInput {
    /// All partitions of a table whose key begins with `prefix`, in rising order.
    pub fn new(table_name: impl Into<String>, prefix: impl Into<AttributeValue>) -> Self {
        let read = ReadInput { table_name: table_name.into(), ..ReadInput::default() };
        Self { read, prefix: prefix.into(), forward: true }
    }
}

impl Database {
    /// Reads one page of all partitions whose key begins with a prefix, in the order of partition and
    /// sort key. Embedded only: DynamoDB has no such operation, and the wire protocol refuses it.
    ///
    /// ```
    /// use keyloom_engine::{Database, PartitionPrefixInput};
    ///
    /// let database = Database::memory();
    /// let call = |operation: &str, body: &str| {
    ///     let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
    ///     assert_eq!(reply.status, 200);
    /// };
    /// call(
    ///     "CreateTable",
    ///     r#"{"TableName": "events", "BillingMode": "PAY_PER_REQUEST",
    ///         "AttributeDefinitions": [{"AttributeName": "day", "AttributeType": "S"}],
    ///         "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}]}"#,
    /// );
    /// for day in ["2026-10-31", "2026-11-01", "2026-11-02", "2026-12-01"] {
    ///     call("PutItem", &format!(r#"{{"TableName": "events", "Item": {{"day": {{"S": "{day}"}}}}}}"#));
    /// }
    /// let november = PartitionPrefixInput::new("events", "2026-11");
    /// assert_eq!(database.scan_partitions(&november)?.count, 2);
    /// # Ok::<(), keyloom_engine::Error>(())
    /// ```
    pub fn scan_partitions(&self, input: &PartitionPrefixInput) -> Result<PageOutput> {
        self.inner().on_current_tables(true, || run(self.inner(), input))
    }
}

fn run(database: &Inner, input: &PartitionPrefixInput) -> Result<PageOutput> {
    let read = &input.read;
    read.check_select()?;
    let (filter, projection) = read.filter_and_projection()?;
    let table = database.catalog.table(&read.table_name)?;
    refuse_vector_index(read, &table, vector::scan_not_supported)?;
    let index = index_position(read, &table)?;
    let mut plan = ReadPlan {
        table,
        index,
        range: KeyRange::all(),
        direction: if input.forward { Direction::Forward } else { Direction::Backward },
        limit: read.limit,
        filter,
        filter_entry: false,
        projection,
        fetch_base: false,
        segment: None,
        count_only: read.select == Some(Select::Count),
        condition: None,
        is_continued: read.exclusive_start_key.is_some(),
    };
    check_paths(&plan)?;
    plan.fetch_base = fetches_base(read, &plan.table, plan.index(), plan.projection.as_ref())?;
    plan.range = range(&plan, &input.prefix)?;
    if let Some(start) = &read.exclusive_start_key {
        let key = read::check_start_key(&plan.table, plan.index(), start)?;
        if !plan.range.contains(&key) {
            return Err(request::start_key_outside_range());
        }
        plan.range = read::resume_after(plan.range, key, plan.direction);
    }
    read_page(database, &plan, &read.table_name, read.read_mode())
}

/// The entries whose partition key begins with the prefix.
fn range(plan: &ReadPlan, prefix: &AttributeValue) -> Result<KeyRange> {
    let mut bytes = layout::entries(plan.keyspace());
    if let Some(attribute) = plan.key().hash.first() {
        if !attribute.kind.accepts(prefix) || matches!(prefix, AttributeValue::N(_)) {
            return Err(request::partition_prefix_type(attribute, prefix));
        }
        key::encode_key_prefix(prefix, &mut bytes)?;
    }
    Ok(KeyRange::prefix(&bytes))
}
