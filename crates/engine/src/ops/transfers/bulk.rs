//! StartBulkPutItems, DescribeBulkOperation, ListBulkOperations, CancelBulkOperation.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use keyloom_api::Fields;
use keyloom_api::transfers::format::InputFormat;
use keyloom_api::transfers::{
    BulkOperationDescription, BulkOperationSummary, CancelBulkOperationInput,
    CancelBulkOperationOutput, Compression, DescribeBulkOperationInput, Destination, Failure,
    ListBulkOperationsInput, Source, StartBulkPutItemsInput,
};
use keyloom_core::error::resource::not_available;
use keyloom_core::error::transfer as message;
use keyloom_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::buckets::Upload;
use crate::catalog::Table;
use crate::database::Inner;
use crate::loading::Loader;
use crate::ops::paging;

use super::objects::{Flow, Found, Objects};
use super::pace::Pace;
use super::transfer::{Kind, Transfer, WORK};
use super::{below, check_destination, open_destination, open_source};

/// Rows between two checks whether the operation has been cancelled.
const ROWS_PER_LOOK: u64 = 256;
/// The longest pause between two checks whether the database is being closed.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

type BulkOperation = Transfer<BulkPut>;

/// What a bulk operation has put.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BulkPut {
    cancelled: bool,
    items: u64,
    bytes: u64,
    total_bytes: u64,
    errors: u64,
    /// What the items count as, in bytes.
    put_bytes: u64,
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

/// What a bulk operation has to do.
struct Plan {
    table: Arc<Table>,
    source: Source,
    format: InputFormat,
    compression: Compression,
    errors: Option<Destination>,
    max_units_per_second: Option<u64>,
}

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = StartBulkPutItemsInput::decode(&fields)?;
    if let Some(errors) = &input.errors {
        check_destination(database, errors, "OutputS3Configuration.S3KeyPrefix")?;
    }
    let table = database.catalog.described_table(input.table_name)?;
    if input.reports_conditions {
        let instead =
            "conditions of rows are not evaluated, and rows that have one are reported as ERROR";
        return Err(not_available("OutputType CONDITION_CHECK_FAILURE", instead));
    }
    let request = fields.whole();
    let change = database.change()?;
    let conflict = message::bulk_operation_conflict;
    if let Some(known) = BulkOperation::started_before(database, &request, conflict)? {
        return Ok(known.answer(database));
    }
    let operation = BulkOperation::begin(database, &table.record, request);
    operation.begin_job(database, &change)?;
    drop(change);
    let answer = operation.answer(database);
    let plan = Plan {
        table,
        source: input.source,
        format: input.format,
        compression: input.compression,
        errors: input.errors,
        max_units_per_second: input.max_units_per_second,
    };
    database.submit(Box::new(move |database| operation.complete(database, &plan)));
    Ok(answer)
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DescribeBulkOperationInput::decode(&fields)?;
    Ok(find(database, "DescribeBulkOperation", input)?.answer(database))
}

pub(crate) fn cancel(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = CancelBulkOperationInput::decode(&fields)?;
    let change = database.change()?;
    let mut operation = find(database, "CancelBulkOperation", input)?;
    if operation.ended_ms.is_none() {
        operation.work.cancelled = true;
        operation.commit(&change)?;
    }
    let bulk_operation_arn = &operation.arn(database);
    Ok(CancelBulkOperationOutput { bulk_operation_arn, status: operation.status() }.encode())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListBulkOperationsInput::decode(&fields);
    let after = paging::decode_hex_token(input.next_token)?;
    let (page, last) = BulkOperation::page(database, input.limit, after, |_| true)?;
    let summary = |operation: &BulkOperation| BulkOperationSummary {
        bulk_operation_arn: operation.arn(database),
        status: operation.status(),
        started_ms: operation.started_ms,
        ended_ms: operation.ended_ms,
    };
    let summaries: Vec<_> = page.iter().map(summary).collect();
    let token = last.as_deref().map(paging::hex_token);
    Ok(BulkOperationSummary::encode_page(&summaries, token.as_deref()))
}

fn find(
    database: &Inner,
    operation: &str,
    input: DescribeBulkOperationInput<'_>,
) -> Result<BulkOperation> {
    let arn = input.bulk_operation_arn;
    let found = BulkOperation::find(database, operation, arn, input.id)?;
    found.ok_or_else(|| message::bulk_operation_not_found(arn))
}

impl BulkOperation {
    fn complete(mut self, database: &Inner, plan: &Plan) -> Result<()> {
        let Some(job) = self.hold(database)? else { return Ok(()) };
        let outcome = self.run(database, plan);
        let mut ended = self.ended(database, outcome);
        database.patiently(WORK, || {
            let change = database.change()?;
            ended.work.cancelled = ended.is_cancelled(database)?;
            if job.is_held()? { ended.commit(&change) } else { Ok(()) }
        })?;
        job.finish()
    }

    /// Whether the operation has been cancelled since it began.
    fn is_cancelled(&self, database: &Inner) -> Result<bool> {
        Ok(Self::stored(database, &self.id)?.is_some_and(|stored| stored.work.cancelled))
    }

    fn run(&mut self, database: &Inner, plan: &Plan) -> Result<(), Failure> {
        let bucket = open_source(database, &plan.source)?;
        let how = (&plan.format, plan.compression);
        let objects = Objects::find(database, bucket.as_ref(), &plan.source, how)?;
        self.work.total_bytes = objects.total_bytes();
        let mut report = plan.errors.as_ref().map(|to| self.report(database, to)).transpose()?;
        let mut loader = Loader::in_use(database, Arc::clone(&plan.table));
        let mut pace = Pace::new(plan.max_units_per_second);
        objects.read(&plan.table, |row| {
            if self.work.items.is_multiple_of(ROWS_PER_LOOK) && self.is_cancelled(database)? {
                return Ok(Flow::Stop);
            }
            self.work.items += 1;
            self.work.bytes += row.bytes;
            match put(&mut loader, &row)? {
                Ok(bytes) => {
                    self.work.put_bytes += bytes;
                    wait(database, pace.pause(bytes.div_ceil(1024)))?;
                }
                Err(reason) => {
                    self.work.errors += 1;
                    if let Some(report) = &mut report {
                        let line = json!({
                            "Object": row.key, "ItemIndex": row.index, "ErrorMessage": reason,
                        });
                        writeln!(report, "{line}")?;
                    }
                }
            }
            Ok(Flow::Continue)
        })?;
        report.map_or(Ok(()), |report| report.finish().map(drop))
    }

    /// The object that takes the rows which failed.
    fn report(&self, database: &Inner, to: &Destination) -> Result<Box<dyn Upload>, Failure> {
        let key = below(&to.prefix, &format!("AWSDynamoDB/{}/errors.json", self.id));
        open_destination(database, to)?.create(&key)
    }

    fn answer(&self, database: &Inner) -> Vec<u8> {
        let arn = self.arn(database);
        let description = BulkOperationDescription {
            details: self.details(&arn),
            table: &self.table,
            processed_items: self.work.items,
            processed_bytes: self.work.bytes,
            total_bytes: self.work.total_bytes,
            put_bytes: self.work.put_bytes,
            errors: self.work.errors,
        };
        description.encode()
    }
}

/// Puts the item of a row; its size, or what is wrong with the row.
fn put(loader: &mut Loader<'_>, row: &Found<'_>) -> Result<Result<u64, String>, Failure> {
    let item = match &row.item {
        Ok(item) => item.clone(),
        Err(reason) => return Ok(Err(reason.clone())),
    };
    // Written all the same, an item would replace what its condition protects.
    if let Some(name) = &row.beside {
        return Ok(Err(message::row_with_more_than_item(name).message()));
    }
    let bytes = keyloom_core::size::item_size(&item) as u64;
    match loader.plan(item).and_then(|write| loader.add(write)) {
        Ok(()) => Ok(Ok(bytes)),
        // Not the row's fault, and no other row would fare better.
        Err(error @ Error::InternalServer(_)) => Err(error.into()),
        Err(error) => Ok(Err(error.message())),
    }
}

/// Waits, unless the database is being closed.
fn wait(database: &Inner, mut pause: Duration) -> Result<(), Failure> {
    while !pause.is_zero() {
        if database.background.is_ending() {
            return Err(Failure::interrupted());
        }
        let step = pause.min(LONGEST_PAUSE);
        std::thread::sleep(step);
        pause -= step;
    }
    Ok(())
}
