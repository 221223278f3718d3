//! StartBulkPutItems, DescribeBulkOperation, ListBulkOperations, CancelBulkOperation.

use std::io::Write;
use std::sync::Arc;

use keyloom_core::Result;
use keyloom_core::error::resource as message;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalog::Table;
use crate::database::Inner;
use crate::loading::Loader;
use crate::ops::paging;
use crate::ops::parameters::described_table;
use crate::wire::{Constraints, Fields, JsonWriter};
use crate::{identity, resource};

use super::bucket::{Bucket, Failure, check_prefix};
use super::import;
use super::lines::{self, Compression, Flow};
use super::request::{self, Tokened, started_before};

const KIND: &str = "bulk-operation";
const MAX_PAGE: usize = 25;
/// Lines between two looks at whether the operation has been cancelled.
const LINES_PER_LOOK: u64 = 256;

/// A bulk operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BulkOperation {
    /// The last part of the ARN.
    pub(super) id: String,
    pub(super) table: String,
    pub(super) table_id: String,
    pub(super) request: Value,
    pub(super) started_ms: u64,
    pub(super) ended_ms: Option<u64>,
    pub(super) cancelled: bool,
    pub(super) failure: Option<Failure>,
    pub(super) items: u64,
    pub(super) bytes: u64,
    pub(super) total_bytes: u64,
    pub(super) errors: u64,
    /// What the items count as, in bytes.
    pub(super) put_bytes: u64,
}

impl Tokened for BulkOperation {
    fn request(&self) -> &Value {
        &self.request
    }

    fn started_ms(&self) -> u64 {
        self.started_ms
    }
}

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let mut constraints = Constraints::new();
    let input = fields.structure("InputS3Configuration")?;
    constraints.required(input.is_some(), "inputS3Configuration");
    let mut compression = Ok(Compression::None);
    if let Some(input) = &input {
        let path = "inputS3Configuration.";
        request::bucket(input, &mut constraints, path)?;
        constraints.required(input.has("InputFormat"), "inputS3Configuration.inputFormat");
        compression = import::input(input, &mut constraints, path)?;
    }
    let output = fields.structure("OutputS3Configuration")?;
    constraints.required(output.is_some(), "outputS3Configuration");
    if let Some(output) = &output {
        constraints.required(output.has("OutputType"), "outputS3Configuration.outputType");
        if output.has("S3Bucket") {
            request::bucket(output, &mut constraints, "outputS3Configuration.")?;
        }
        let prefix = output.string("S3KeyPrefix")?.unwrap_or_default();
        check_prefix("OutputS3Configuration.S3KeyPrefix", prefix)?;
    }
    constraints.finish()?;
    let compression = compression?;

    let table = database.catalog.described_table(name)?;
    let now_ms = database.clock.now_ms();
    let request = fields.whole();
    let _change = database.catalog.change(database.store.as_ref());
    let known = resource::all::<BulkOperation>(database, KIND)?;
    let conflict = message::bulk_operation_conflict;
    if let Some(known) = started_before(known, &request, now_ms, conflict)? {
        return Ok(known.answer(database));
    }
    let operation = BulkOperation {
        id: identity::dated(now_ms),
        table: table.name().to_owned(),
        table_id: table.record.id.clone(),
        request,
        started_ms: now_ms,
        ended_ms: None,
        cancelled: false,
        failure: None,
        items: 0,
        bytes: 0,
        total_bytes: 0,
        errors: 0,
        put_bytes: 0,
    };
    operation.store(database)?;
    let answer = operation.answer(database);
    database.submit(Box::new(move |database| operation.complete(database, &table, compression)));
    Ok(answer)
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    Ok(find(database, &fields)?.answer(database))
}

pub(crate) fn cancel(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let _change = database.catalog.change(database.store.as_ref());
    let mut operation = find(database, &fields)?;
    if operation.ended_ms.is_none() {
        operation.cancelled = true;
        operation.store(database)?;
    }
    let mut json = JsonWriter::object();
    json.string("BulkOperationArn", &operation.arn(database));
    json.string("BulkOperationStatus", operation.status());
    Ok(json.finish())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let limit = fields.integer("MaxResults")?;
    let mut constraints = Constraints::new();
    constraints.range(limit, "maxResults", 1, MAX_PAGE as i64);
    constraints.finish()?;
    let after = paging::decode_hex_token(fields.string("NextToken")?)?;
    let operations: Vec<BulkOperation> = resource::all(database, KIND)?;
    let limit = limit.map_or(MAX_PAGE, |limit| limit as usize);
    let (page, more) =
        paging::page(operations.iter(), limit, |operation| Some(&operation.id) > after.as_ref());
    let mut json = JsonWriter::object();
    json.list("BulkOperationsSummaryList", &page, |json, operation| {
        json.nested(|json| {
            json.string("BulkOperationArn", &operation.arn(database));
            json.string("BulkOperationStatus", operation.status());
            operation.write_times(json);
        });
    });
    if let Some(last) = page.last().filter(|_| more) {
        json.string("NextToken", &paging::hex_token(&last.id));
    }
    Ok(json.finish())
}

fn find(database: &Inner, fields: &Fields<'_>) -> Result<BulkOperation> {
    let (arn, id) =
        request::named(fields, "BulkOperationArn", "bulkOperationArn", "bulk-operation")?;
    resource::get(database, KIND, id)?.ok_or_else(|| message::bulk_operation_not_found(arn))
}

/// Ends operations that were under way when the database was closed.
pub(super) fn abandon(database: &Inner) -> Result<()> {
    for mut operation in resource::all::<BulkOperation>(database, KIND)? {
        if operation.ended_ms.is_none() {
            operation.failure = Some(Failure::interrupted());
            operation.ended_ms = Some(database.clock.now_ms());
            operation.store(database)?;
        }
    }
    Ok(())
}

impl BulkOperation {
    fn store(&self, database: &Inner) -> Result<()> {
        resource::put(database, KIND, &self.id, self)
    }

    fn complete(
        mut self,
        database: &Inner,
        table: &Arc<Table>,
        compression: Compression,
    ) -> Result<()> {
        let outcome = self.run(database, table, compression);
        let _change = database.catalog.change(database.store.as_ref());
        self.cancelled = self.is_cancelled(database)?;
        self.failure = outcome.err();
        self.ended_ms = Some(database.clock.now_ms());
        self.store(database)
    }

    /// Whether somebody has cancelled the operation since it began.
    fn is_cancelled(&self, database: &Inner) -> Result<bool> {
        let stored: Option<Self> = resource::get(database, KIND, &self.id)?;
        Ok(stored.is_some_and(|stored| stored.cancelled))
    }

    fn run(
        &mut self,
        database: &Inner,
        table: &Arc<Table>,
        compression: Compression,
    ) -> Result<(), Failure> {
        let bucket = request::text(&self.request, "/InputS3Configuration/S3Bucket");
        let bucket = Bucket::open(database, bucket)?;
        let prefix = request::text(&self.request, "/InputS3Configuration/S3KeyPrefix").to_owned();
        self.total_bytes = lines::total_bytes(&bucket, &prefix)?;
        let mut report = self.error_report(database)?;
        let mut loader = Loader::in_use(database, Arc::clone(table));
        let mut read = 0;
        lines::read(&bucket, &prefix, compression, |line| {
            if database.background.is_ending() {
                return Err(Failure::interrupted());
            }
            if read % LINES_PER_LOOK == 0 && self.is_cancelled(database)? {
                return Ok(Flow::Stop);
            }
            read += 1;
            self.items += 1;
            self.bytes += line.len() as u64;
            let written = lines::item(line, table).and_then(|item| {
                let bytes = keyloom_core::size::item_size(&item) as u64;
                loader.add(item).map(|()| bytes)
            });
            match written {
                Ok(bytes) => self.put_bytes += bytes,
                Err(error) => {
                    self.errors += 1;
                    if let Some(report) = &mut report {
                        let line = String::from_utf8_lossy(line);
                        let error = json!({ "Line": line, "ErrorMessage": error.message() });
                        writeln!(report, "{error}")?;
                    }
                }
            }
            Ok(Flow::Continue)
        })
    }

    /// The object that takes the lines which failed, if one is wanted.
    fn error_report(&self, database: &Inner) -> Result<Option<std::fs::File>, Failure> {
        let types = self.request.pointer("/OutputS3Configuration/OutputType");
        let types = types.and_then(Value::as_array);
        let name = request::text(&self.request, "/OutputS3Configuration/S3Bucket");
        if name.is_empty() || !types.is_some_and(|types| types.contains(&json!("ERROR"))) {
            return Ok(None);
        }
        let prefix = request::text(&self.request, "/OutputS3Configuration/S3KeyPrefix");
        let prefix = prefix.trim_end_matches('/');
        let dash = if prefix.is_empty() { "" } else { "/" };
        let key = format!("{prefix}{dash}AWSDynamoDB/{}/errors.json", self.id);
        Bucket::open(database, name)?.create(&key).map(Some)
    }
}
