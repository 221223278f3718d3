//! ExportTableToPointInTime, DescribeExport, ListExports.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::resource as message;
use keyloom_store::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::{Table, table_name};
use crate::database::Inner;
use crate::ops::paging;
use crate::ops::tables::description::seconds;
use crate::ops::tables::stream_setting::label;
use crate::store_error;

use super::bucket::{Bucket, Failure, check_prefix};
use super::export_files;
use super::request;
use super::transfer::{Kind, Listing, Transfer};

type Export = Transfer<Exported>;

/// What an export has written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Exported {
    items: u64,
    bytes: u64,
    manifest: Option<String>,
}

impl Kind for Exported {
    const NAME: &'static str = "export";
}

const LISTING: Listing = Listing {
    limit: ("MaxResults", "maxResults"),
    member: "ExportSummaries",
    token: paging::token,
    decode_token: paging::decode_token,
};

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let arn = fields.string("TableArn");
    constraints.required(arn.is_some(), "tableArn");
    request::bucket(&fields, &mut constraints, "");
    let prefix = fields.string("S3Prefix").unwrap_or_default();
    constraints.length(prefix, "s3Prefix", 0, 1024);
    let formats = [("DYNAMODB_JSON", true), ("ION", false)];
    let format = fields.string("ExportFormat");
    let is_json = constraints.one_of(format, "exportFormat", &formats).unwrap_or(true);
    let types = [("FULL_EXPORT", true), ("INCREMENTAL_EXPORT", false)];
    let kind = fields.string("ExportType");
    let is_full = constraints.one_of(kind, "exportType", &types).unwrap_or(true);
    constraints.finish()?;
    check_prefix("S3Prefix", prefix)?;
    let arn = arn.unwrap_or_default();
    if !arn.starts_with("arn:") {
        return Err(message::table_arn_invalid(arn));
    }
    let table = database.catalog.find(arn);
    let table = table.ok_or_else(|| message::table_not_found(table_name(arn)))?;
    check_time(database, &table, fields.decimal("ExportTime"))?;
    for (missing, what, instead) in [
        (!is_json, "ExportFormat ION", "export DYNAMODB_JSON"),
        (!is_full, "ExportType INCREMENTAL_EXPORT", "make a FULL_EXPORT, or read the stream"),
        (fields.has("FilterSpecification"), "FilterSpecification", "export the whole table"),
    ] {
        if missing {
            return Err(message::not_available(what, instead));
        }
    }

    let _change = database.catalog.change(database.store.as_ref());
    let request = fields.whole();
    if let Some(known) = Export::started_before(database, &request, message::export_conflict)? {
        return Ok(known.answer(database));
    }
    let export = Export::begin(database, &table.record, request);
    let snapshot = database.store.snapshot().map_err(store_error)?;
    export.store(database)?;
    let answer = export.answer(database);
    let keyspace = table.record.keyspace;
    database.submit(Box::new(move |database| {
        let mut export = export;
        let outcome = export.run(database, snapshot.as_ref(), keyspace);
        export.end(database, outcome)
    }));
    Ok(answer)
}

/// Recovery must be on, and a time must lie in its window. Exports write the present so far.
fn check_time(database: &Inner, table: &Table, time: Option<f64>) -> Result<()> {
    let recovery = table.recovery.ok_or_else(|| message::recovery_disabled(table.name()))?;
    let Some(seconds) = time else { return Ok(()) };
    let now_ms = database.streams.now_ms();
    if (seconds * 1000.0) as u64 / 1000 == now_ms / 1000 {
        return Ok(());
    }
    recovery.at(seconds, now_ms).ok_or_else(message::export_time_invalid)?;
    Err(message::past_not_kept("ExportTime", "leave it out"))
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let (arn, id) = request::named(&fields, "ExportArn", "exportArn", Exported::NAME)?;
    let export = Export::find(database, id)?;
    let export = export.filter(|export| export.table == table_name(arn));
    Ok(export.ok_or_else(|| message::export_not_found(arn))?.answer(database))
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = fields.string("TableArn").map(table_name);
    LISTING.page(database, &fields, table, |json, export: &Export| {
        json.string("ExportArn", &export.arn(database));
        json.string("ExportStatus", export.status());
        json.string("ExportType", "FULL_EXPORT");
    })
}

impl Export {
    /// What the summary manifest says before the data have been written.
    fn summary(&self, database: &Inner) -> Map<String, Value> {
        let started = format!("{}Z", label(self.started_ms));
        let members = [
            ("version", json!("2020-06-30")),
            ("exportArn", json!(self.arn(database))),
            ("startTime", json!(started)),
            ("endTime", json!(format!("{}Z", label(database.clock.now_ms())))),
            ("tableArn", json!(database.table_arn(&self.table))),
            ("tableId", json!(self.table_id)),
            ("exportTime", json!(started)),
            ("s3Bucket", json!(request::text(&self.request, "/S3Bucket"))),
            ("s3Prefix", json!(self.request.get("S3Prefix"))),
            ("outputFormat", json!("DYNAMODB_JSON")),
            ("exportType", json!("FULL_EXPORT")),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn run(
        &mut self,
        database: &Inner,
        snapshot: &dyn Snapshot,
        keyspace: crate::layout::Keyspace,
    ) -> Result<(), Failure> {
        let name = request::text(&self.request, "/S3Bucket");
        let bucket = Bucket::open(database, name)?;
        let prefix = request::text(&self.request, "/S3Prefix").trim_end_matches('/');
        let dash = if prefix.is_empty() { "" } else { "/" };
        let folder = format!("{prefix}{dash}AWSDynamoDB/{}", self.id);
        let summary = self.summary(database);
        let totals = export_files::write(database, &bucket, &folder, snapshot, keyspace, summary)?;
        self.work.items = totals.items;
        self.work.bytes = totals.bytes;
        self.work.manifest = Some(totals.manifest);
        Ok(())
    }

    fn answer(&self, database: &Inner) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("ExportDescription", |json| {
            json.string("ExportArn", &self.arn(database));
            json.string("ExportStatus", self.status());
            self.write_times(json);
            json.optional_string("ExportManifest", self.work.manifest.as_deref());
            json.string("TableArn", &database.table_arn(&self.table));
            json.string("TableId", &self.table_id);
            seconds(json, "ExportTime", self.started_ms);
            let members = [
                "ClientToken",
                "S3Bucket",
                "S3BucketOwner",
                "S3Prefix",
                "S3SseAlgorithm",
                "S3SseKmsKeyId",
            ];
            request::echo(json, &self.request, &members);
            self.write_failure(json);
            json.string("ExportFormat", "DYNAMODB_JSON");
            json.integer("BilledSizeBytes", self.work.bytes);
            json.integer("ItemCount", self.work.items);
            json.string("ExportType", "FULL_EXPORT");
        });
        json.finish()
    }
}
