//! StartBulkPutItems, DescribeBulkOperation, ListBulkOperations, CancelBulkOperation.

use std::io::Write;
use std::sync::Arc;

use keyloom_api::parameters::described_table;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::error::resource as message;
use keyloom_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalog::{Table, table_name};
use crate::database::Inner;
use crate::loading::Loader;
use crate::ops::paging;

use super::bucket::{Bucket, Failure, check_prefix};
use super::import;
use super::lines::{self, Compression, Flow};
use super::request;
use super::transfer::{Kind, Listing, Transfer, WORK};

/// Lines between two looks at whether the operation has been cancelled.
const LINES_PER_LOOK: u64 = 256;

pub(super) type BulkOperation = Transfer<BulkPut>;

/// What a bulk operation has put.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BulkPut {
    cancelled: bool,
    pub(super) items: u64,
    pub(super) bytes: u64,
    pub(super) total_bytes: u64,
    pub(super) errors: u64,
    /// What the items count as, in bytes.
    pub(super) put_bytes: u64,
}

impl Kind for BulkPut {
    const NAME: &'static str = "bulk-operation";

    fn status(&self, has_ended: bool) -> &'static str {
        match (has_ended, self.cancelled) {
            (true, true) => "CANCELLED",
            (true, false) if self.errors > 0 => "COMPLETED_WITH_ERRORS",
            (true, false) => "COMPLETED",
            (false, true) => "CANCELLING",
            (false, false) => "IN_PROGRESS",
        }
    }
}

const LISTING: Listing = Listing {
    limit: ("MaxResults", "maxResults"),
    member: "BulkOperationsSummaryList",
    token: paging::hex_token,
    decode_token: paging::decode_hex_token,
};

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let mut constraints = Constraints::new();
    let input = fields.structure("InputS3Configuration");
    constraints.required(input.is_some(), "inputS3Configuration");
    let mut compression = Ok(Compression::None);
    if let Some(input) = &input {
        let path = "inputS3Configuration.";
        request::bucket(input, &mut constraints, path);
        constraints.required(input.has("InputFormat"), "inputS3Configuration.inputFormat");
        compression = import::input(input, &mut constraints, path);
    }
    let output = fields.structure("OutputS3Configuration");
    constraints.required(output.is_some(), "outputS3Configuration");
    if let Some(output) = &output {
        constraints.required(output.has("OutputType"), "outputS3Configuration.outputType");
        if output.has("S3Bucket") {
            request::bucket(output, &mut constraints, "outputS3Configuration.");
        }
        let prefix = output.string("S3KeyPrefix").unwrap_or_default();
        check_prefix("OutputS3Configuration.S3KeyPrefix", prefix)?;
    }
    constraints.finish()?;
    let compression = compression?;

    let table = database.catalog.described_table(name)?;
    let request = fields.whole();
    let _change = database.catalog.change(database.store.as_ref());
    let conflict = message::bulk_operation_conflict;
    if let Some(known) = BulkOperation::started_before(database, &request, conflict)? {
        return Ok(known.answer(database));
    }
    let operation = BulkOperation::begin(database, &table.record, request);
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
        operation.work.cancelled = true;
        operation.store(database)?;
    }
    let mut json = JsonWriter::object();
    json.string("BulkOperationArn", &operation.arn(database));
    json.string("BulkOperationStatus", operation.status());
    Ok(json.finish())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    LISTING.page(database, &fields, None, |json, operation: &BulkOperation| {
        json.string("BulkOperationArn", &operation.arn(database));
        json.string("BulkOperationStatus", operation.status());
        operation.write_times(json);
    })
}

fn find(database: &Inner, fields: &Fields<'_>) -> Result<BulkOperation> {
    let (arn, id) = request::named(fields, "BulkOperationArn", "bulkOperationArn", BulkPut::NAME)?;
    let operation = BulkOperation::find(database, id)?;
    let operation = operation.filter(|operation| operation.table == table_name(arn));
    operation.ok_or_else(|| message::bulk_operation_not_found(arn))
}

impl BulkOperation {
    fn complete(
        mut self,
        database: &Inner,
        table: &Arc<Table>,
        compression: Compression,
    ) -> Result<()> {
        let outcome = self.run(database, table, compression);
        let mut ended = self.ended(database, outcome);
        database.patiently(WORK, || {
            let _change = database.catalog.change(database.store.as_ref());
            ended.work.cancelled = ended.is_cancelled(database)?;
            ended.store(database)
        })
    }

    /// Whether somebody has cancelled the operation since it began.
    fn is_cancelled(&self, database: &Inner) -> Result<bool> {
        Ok(Self::find(database, &self.id)?.is_some_and(|stored| stored.work.cancelled))
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
        self.work.total_bytes = lines::total_bytes(&bucket, &prefix)?;
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
            self.work.items += 1;
            self.work.bytes += line.len() as u64;
            let written = lines::item(line, table).and_then(|item| {
                let bytes = keyloom_core::size::item_size(&item) as u64;
                loader.plan(item).and_then(|write| loader.add(write)).map(|()| bytes)
            });
            match written {
                Ok(bytes) => self.work.put_bytes += bytes,
                // Not the line's fault, and no other line would fare better.
                Err(error @ Error::InternalServer(_)) => return Err(error.into()),
                Err(error) => {
                    self.work.errors += 1;
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
