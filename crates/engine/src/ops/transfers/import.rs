//! ImportTable, DescribeImport, ListImports.

use std::sync::Arc;

use keyloom_api::tables::CreateTableInput;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::resource as message;
use serde::{Deserialize, Serialize};

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Table, table_name};
use crate::database::Inner;
use crate::loading::Loader;
use crate::ops::paging;
use crate::ops::tables::create_table;

use super::bucket::{Bucket, Failure};
use super::lines::{self, Compression, Flow};
use super::request;
use super::transfer::{Kind, Listing, Transfer, WORK};

type Import = Transfer<Imported>;

/// What an import has read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Imported {
    #[serde(default)]
    progress: Progress,
}

impl Kind for Imported {
    const NAME: &'static str = "import";
}

const LISTING: Listing = Listing {
    limit: ("PageSize", "pageSize"),
    member: "ImportSummaryList",
    token: paging::hex_token,
    decode_token: paging::decode_hex_token,
};

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Progress {
    processed: u64,
    bytes: u64,
    imported: u64,
    errors: u64,
}

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let source = fields.structure("S3BucketSource");
    constraints.required(source.is_some(), "s3BucketSource");
    if let Some(source) = &source {
        request::bucket(source, &mut constraints, "s3BucketSource.");
    }
    let format = fields.string("InputFormat");
    constraints.required(format.is_some(), "inputFormat");
    let compression = input(&fields, &mut constraints, "")?;
    let parameters = fields.structure("TableCreationParameters");
    constraints.required(parameters.is_some(), "tableCreationParameters");
    constraints.finish()?;
    let Some(parameters) = parameters else { return Ok(Vec::new()) };

    let request = fields.whole();
    let change = database.catalog.change(database.store.as_ref());
    if let Some(known) = Import::started_before(database, &request, message::import_conflict)? {
        return Ok(known.answer(database));
    }
    let mut record =
        create_table::prepare(database, &change, CreateTableInput::decode(&parameters)?)?;
    record.status = Status::Creating;
    // An import takes no stream, whatever the request says.
    record.stream = None;
    let import = Import::begin(database, &record, request);
    // One commit: a table that is being filled is never without its import.
    let resources = vec![import.encoded()?];
    let table = change.put(record, || Ok(Alongside { resources, ..Alongside::default() }))?;
    drop(change);
    let answer = import.answer(database);
    database.submit(Box::new(move |database| import.complete(database, &table, compression)));
    Ok(answer)
}

/// `InputFormat` and `InputCompressionType`: the compression, or why it cannot be read.
pub(super) fn input(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Result<Compression> {
    let formats = [("DYNAMODB_JSON", true), ("ION", false), ("CSV", false)];
    let format = fields.string("InputFormat");
    let is_json = constraints.one_of(format, &format!("{path}inputFormat"), &formats);
    let kinds =
        [("GZIP", Some(Compression::Gzip)), ("ZSTD", None), ("NONE", Some(Compression::None))];
    let kind = fields.string("InputCompressionType");
    let compression = constraints.one_of(kind, &format!("{path}inputCompressionType"), &kinds);
    if is_json == Some(false) {
        let what = format!("InputFormat {}", format.unwrap_or_default());
        return Err(message::not_available(&what, "use DYNAMODB_JSON"));
    }
    let zstd = || message::not_available("InputCompressionType ZSTD", "use GZIP or NONE");
    compression.unwrap_or(Some(Compression::None)).ok_or_else(zstd)
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let (arn, id) = request::named(&fields, "ImportArn", "importArn", Imported::NAME)?;
    let import = Import::find(database, id)?;
    let import = import.filter(|import| import.table == table_name(arn));
    Ok(import.ok_or_else(|| message::import_not_found(arn))?.answer(database))
}

/// Ends imports that were under way when the database was closed: their tables go.
pub(super) fn abandon(database: &Inner) -> Result<()> {
    for import in Import::under_way(database)? {
        let ended = import.ended(database, Err(Failure::interrupted()));
        database.now_or_later(WORK, move |database| ended.close_table(database));
    }
    Ok(())
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = fields.string("TableArn").map(table_name);
    LISTING.page(database, &fields, table, |json, import: &Import| {
        json.string("ImportArn", &import.arn(database));
        json.string("ImportStatus", import.status());
        json.string("TableArn", &database.table_arn(&import.table));
        request::echo(json, &import.request, &["S3BucketSource", "InputFormat"]);
        import.write_times(json);
    })
}

impl Import {
    /// Reads the items; then the table opens, or goes if that failed.
    fn complete(
        mut self,
        database: &Inner,
        table: &Arc<Table>,
        compression: Compression,
    ) -> Result<()> {
        let outcome = self.run(database, table, compression);
        let ended = self.ended(database, outcome);
        database.patiently(WORK, || ended.close_table(database))?;
        database.background.wake();
        Ok(())
    }

    /// Stores how the import has ended, in one commit with what becomes of its table.
    fn close_table(&self, database: &Inner) -> Result<()> {
        let change = database.catalog.change(database.store.as_ref());
        let table = database.catalog.find(&self.table);
        let Some(table) = table.filter(|table| table.record.id == self.table_id) else {
            return self.store(database);
        };
        let resources = vec![self.encoded()?];
        let alongside = || Ok(Alongside { resources, ..Alongside::default() });
        if self.failure.is_some() {
            return change.remove(&table, alongside);
        }
        let mut record = table.record.clone();
        record.status = Status::Active;
        change.put(record, alongside).map(drop)
    }

    fn run(
        &mut self,
        database: &Inner,
        table: &Arc<Table>,
        compression: Compression,
    ) -> Result<(), Failure> {
        let bucket = request::text(&self.request, "/S3BucketSource/S3Bucket");
        let bucket = Bucket::open(database, bucket)?;
        let prefix = request::text(&self.request, "/S3BucketSource/S3KeyPrefix");
        let mut loader = Loader::new(database, Arc::clone(table));
        let progress = &mut self.work.progress;
        lines::read(&bucket, prefix, compression, |line| {
            if database.background.is_ending() {
                return Err(Failure::interrupted());
            }
            progress.processed += 1;
            progress.bytes += line.len() as u64;
            match lines::item(line, table).and_then(|item| loader.plan(item)) {
                Ok(write) => {
                    loader.add(write)?;
                    progress.imported += 1;
                }
                Err(_) => progress.errors += 1,
            }
            Ok(Flow::Continue)
        })?;
        loader.flush()?;
        Ok(())
    }

    fn answer(&self, database: &Inner) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("ImportTableDescription", |json| {
            json.string("ImportArn", &self.arn(database));
            json.string("ImportStatus", self.status());
            json.string("TableArn", &database.table_arn(&self.table));
            json.string("TableId", &self.table_id);
            let members = [
                "ClientToken",
                "S3BucketSource",
                "InputFormat",
                "InputFormatOptions",
                "InputCompressionType",
                "TableCreationParameters",
            ];
            request::echo(json, &self.request, &members);
            json.integer("ErrorCount", self.work.progress.errors);
            self.write_times(json);
            json.integer("ProcessedSizeBytes", self.work.progress.bytes);
            json.integer("ProcessedItemCount", self.work.progress.processed);
            json.integer("ImportedItemCount", self.work.progress.imported);
            self.write_failure(json);
        });
        json.finish()
    }
}
