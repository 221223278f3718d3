//! ImportTable, DescribeImport, ListImports.

use std::sync::Arc;

use keyloom_api::Fields;
use keyloom_api::transfers::format::InputFormat;
use keyloom_api::transfers::{
    Compression, DescribeImportInput, Failure, ImportSummary, ImportTableDescription,
    ImportTableInput, ListImportsInput, Source,
};
use keyloom_core::Result;
use keyloom_core::error::transfer as message;
use serde::{Deserialize, Serialize};

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Table, TableRecord};
use crate::coordination::Job;
use crate::database::Inner;
use crate::loading::Loader;
use crate::ops::paging;
use crate::ops::tables::create_table;

use super::error_log::ErrorLog;
use super::objects::{Flow, Objects};
use super::open_source;
use super::transfer::{Kind, Transfer, WORK};

type Import = Transfer<Imported>;

/// What an import has read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Imported {
    #[serde(default)]
    progress: Progress,
    /// Whether all rows have been read: then the table stays, even if some of them failed.
    #[serde(default)]
    is_read: bool,
}

impl Kind for Imported {
    const NAME: &'static str = "import";
}

/// The progress of an import.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Progress {
    processed: u64,
    bytes: u64,
    imported: u64,
    errors: u64,
}

/// What an import has to do.
struct Plan {
    table: Arc<Table>,
    source: Source,
    format: InputFormat,
    compression: Compression,
}

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ImportTableInput::decode(&fields)?;
    let request = fields.whole();
    let change = database.change()?;
    if let Some(known) = Import::started_before(database, &request, message::import_conflict)? {
        return Ok(known.answer(database));
    }
    let mut record = create_table::prepare(database, &change, input.table)?;
    record.status = Status::Creating;
    // An import takes no stream, whatever the request says.
    record.stream = None;
    let import = Import::begin(database, &record, request);
    // One commit: a table that is being filled is never without its import.
    let resources = vec![import.encoded()?, database.claim(&import.job_name())?];
    let table = change.put(record, Alongside { resources, ..Alongside::default() })?;
    drop(change);
    let answer = import.answer(database);
    let (source, format, compression) = (input.source, input.format, input.compression);
    let plan = Plan { table, source, format, compression };
    database.submit(Box::new(move |database| import.complete(database, &plan)));
    Ok(answer)
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DescribeImportInput::decode(&fields)?;
    let import = Import::find(database, "DescribeImport", input.import_arn, input.id)?;
    Ok(import.ok_or_else(|| message::import_not_found(input.import_arn))?.answer(database))
}

/// Ends imports that were under way when the database was closed: their tables go.
pub(super) fn abandon(database: &Inner) -> Result<()> {
    for import in Import::orphans(database)? {
        let ended = import.ended(database, Err(Failure::interrupted()));
        database.now_or_later(WORK, move |database| ended.close_table(database, None));
    }
    Ok(())
}

/// Whether an import is filling a table.
pub(crate) fn is_importing(database: &Inner, table: &TableRecord) -> Result<bool> {
    Ok(Import::under_way(database)?.any(|import| import.table_id == table.id))
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListImportsInput::decode(&fields);
    let after = paging::decode_hex_token(input.next_token)?;
    let table = input.table_arn.map(|arn| database.catalog.named(arn));
    let wanted = |import: &Import| table.is_none_or(|table| table == Some(import.table.as_str()));
    let (page, last) = Import::page(database, input.limit, after, wanted)?;
    let summary = |import: Import| ImportSummary {
        import_arn: import.arn(database),
        status: import.status(),
        table_arn: database.table_arn(&import.table),
        request: import.request,
        log_group_arn: log_group_arn(database),
        started_ms: import.started_ms,
        ended_ms: import.ended_ms,
    };
    let summaries: Vec<_> = page.into_iter().map(summary).collect();
    let token = last.as_deref().map(paging::hex_token);
    Ok(ImportSummary::encode_page(&summaries, token.as_deref()))
}

/// The log group that AWS writes rows which failed to. Here they are in the bucket (see `error_log`).
fn log_group_arn(database: &Inner) -> String {
    let options = &database.options;
    format!("arn:aws:logs:{}:{}:log-group:/aws-dynamodb/imports:*", options.region, options.account)
}

impl Import {
    /// Reads the items; then the table opens, or goes if they could not be read.
    fn complete(mut self, database: &Inner, plan: &Plan) -> Result<()> {
        let Some(job) = self.hold(database)? else { return Ok(()) };
        let outcome = self.run(database, plan);
        let ended = self.ended(database, outcome);
        database.patiently(WORK, || ended.close_table(database, Some(&job)))?;
        job.finish()?;
        database.background.wake();
        Ok(())
    }

    /// Stores how the import has ended, in one commit with what becomes of its table.
    fn close_table(&self, database: &Inner, job: Option<&Job<'_>>) -> Result<()> {
        let change = database.change()?;
        let is_ours = match job {
            Some(job) => job.is_held()?,
            None => database.is_idle(&self.job_name())?,
        };
        if !is_ours {
            return Ok(());
        }
        let table = database.catalog.find(&self.table);
        let Some(table) = table.filter(|table| table.record.id == self.table_id) else {
            return self.commit(&change);
        };
        let resources = vec![self.encoded()?];
        let alongside = Alongside { resources, ..Alongside::default() };
        if !self.work.is_read {
            return change.remove(&table, alongside);
        }
        let mut record = table.record.clone();
        record.status = Status::Active;
        change.put(record, alongside).map(drop)
    }

    fn run(&mut self, database: &Inner, plan: &Plan) -> Result<(), Failure> {
        let arn = self.arn(database);
        let bucket = open_source(database, &plan.source)?;
        let how = (&plan.format, plan.compression);
        let objects = Objects::find(database, bucket.as_ref(), &plan.source, how)?;
        let mut log = ErrorLog::new(bucket.as_ref(), &plan.source.bucket, &arn, &self.id);
        let mut loader = Loader::new(database, Arc::clone(&plan.table));
        let progress = &mut self.work.progress;
        let mut first_error = None;
        objects.read(&plan.table, |mut row| {
            progress.processed += 1;
            progress.bytes += row.bytes;
            let item = std::mem::replace(&mut row.item, Err(String::new()));
            let item = item.and_then(|item| match &row.beside {
                Some(name) => Err(message::imported_row_with_more_than_item(name).message()),
                None => Ok(item),
            });
            match item.and_then(|item| loader.plan(item).map_err(|error| error.message())) {
                Ok(write) => {
                    loader.add(write)?;
                    progress.imported += 1;
                }
                Err(reason) => {
                    progress.errors += 1;
                    log.add(&row, &reason);
                    first_error.get_or_insert_with(|| {
                        format!("item {} of '{}': {reason}", row.index, row.key)
                    });
                }
            }
            Ok(Flow::Continue)
        })?;
        loader.flush()?;
        self.work.is_read = true;
        match first_error {
            None => Ok(()),
            Some(first) => Err(invalid_items(&first, &log.finish(), &objects)),
        }
    }

    fn answer(&self, database: &Inner) -> Vec<u8> {
        let progress = self.work.progress;
        let arn = self.arn(database);
        let description = ImportTableDescription {
            details: self.details(&arn),
            table_arn: &database.table_arn(&self.table),
            account: &database.options.account,
            log_group_arn: &log_group_arn(database),
            processed_bytes: progress.bytes,
            processed_items: progress.processed,
            imported_items: progress.imported,
            errors: progress.errors,
        };
        description.encode()
    }
}

/// Some rows were not imported: AWS's message, which error was the first, and where the others are.
fn invalid_items(first: &str, log: &str, objects: &Objects<'_>) -> Failure {
    let folder = objects.export_data_folder().map(|folder| {
        format!(" The prefix includes the manifests of an export, whose items are in '{folder}'.")
    });
    let text = format!(
        "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs \
         for more details. The first error: {first}. {log}{}",
        folder.unwrap_or_default()
    );
    Failure::new("ItemValidationError", text.trim_end())
}
