//! ExportTableToPointInTime, DescribeExport, ListExports.

use std::sync::Arc;

use keyloom_api::transfers::{
    DescribeExportInput, Destination, ExportDescription, ExportFormat, ExportPeriod, ExportSummary,
    ExportTableToPointInTimeInput, ExportTime, Failure, ListExportsInput,
};
use keyloom_api::{Body, Fields, Operation};
use keyloom_core::Result;
use keyloom_core::error::resource::not_available;
use keyloom_core::error::transfer as message;
use keyloom_store::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::Table;
use crate::database::Inner;
use crate::history::number_at;
use crate::ops::paging;
use crate::ops::tables::stream_setting::label;

use super::export_files::{Files, Layout, Totals};
use super::export_items::{Items, Period};
use super::transfer::{Kind, Transfer};
use super::{below, check_destination, open_destination};

type Export = Transfer<Exported>;

/// What an export is to write, and what it has written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Exported {
    items: u64,
    bytes: u64,
    manifest: Option<String>,
    #[serde(default)]
    format: ExportFormat,
    /// The time of a full export, unless that is its beginning.
    #[serde(default)]
    time_ms: Option<u64>,
    /// What an incremental export covers.
    #[serde(default)]
    period: Option<Period>,
    /// The writes below this number are in an export of the present. Earlier releases did not keep it.
    #[serde(default)]
    before: Option<u64>,
}

impl Kind for Exported {
    const NAME: &'static str = "export";
}

/// What an export has to do.
struct Plan {
    table: Arc<Table>,
    destination: Destination,
    snapshot: Box<dyn Snapshot>,
    items: Items,
}

pub(crate) fn start(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ExportTableToPointInTimeInput::decode(&fields)?;
    check_destination(database, &input.destination, "S3Prefix")?;
    let arn = input.table_arn;
    let table = database.catalog.find(arn).ok_or_else(|| message::table_not_found(arn))?;
    if input.has_filter {
        return Err(not_available("FilterSpecification", "export the whole table"));
    }

    let change = database.change()?;
    let request = fields.whole();
    if let Some(known) = Export::started_before(database, &request, message::export_conflict)? {
        return Ok(known.answer(database));
    }
    let items = Items::choose(&table, input.time, database.streams.now_ms())?;
    let mut export = Export::begin(database, &table.record, request);
    export.work.format = input.format;
    (export.work.time_ms, export.work.period) = items.times(input.time);
    let snapshot = items.snapshot(database)?;
    export.work.before = Some(database.streams.number());
    export.begin_job(database, &change)?;
    drop(change);
    let answer = export.answer(database);
    export.submit(database, Plan { table, destination: input.destination, snapshot, items });
    Ok(answer)
}

/// Begins exports anew whose server has ended. Their tables are exported as they were when it was asked for; where
/// their history no longer tells, exports fail.
pub(super) fn resume(database: &Inner) -> Result<()> {
    for export in Export::orphans(database)? {
        match export.plan_again(database) {
            Ok(plan) => export.submit(database, plan),
            Err(_) => {
                database.submit(Box::new(move |database| {
                    let Some(job) = export.hold(database)? else { return Ok(()) };
                    export.end(database, Err(Failure::interrupted()), job)
                }));
            }
        }
    }
    Ok(())
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DescribeExportInput::decode(&fields)?;
    let export = Export::find(database, "DescribeExport", input.export_arn, input.id)?;
    Ok(export.ok_or_else(|| message::export_not_found(input.export_arn))?.answer(database))
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListExportsInput::decode(&fields);
    let after = paging::decode_token(input.next_token)?;
    // As on AWS, exports of a deleted table are listed only in the list of all exports.
    let table_id =
        input.table_arn.map(|arn| database.catalog.find(arn).map(|table| table.record.id.clone()));
    let wanted =
        |export: &Export| table_id.as_ref().is_none_or(|id| id.as_ref() == Some(&export.table_id));
    let (page, last) = Export::page(database, input.limit, after, wanted)?;
    let summary = |export: &Export| ExportSummary {
        export_arn: export.arn(database),
        status: export.status(),
        is_incremental: export.work.period.is_some(),
    };
    let summaries: Vec<_> = page.iter().map(summary).collect();
    let token = last.as_deref().map(paging::token);
    Ok(ExportSummary::encode_page(&summaries, token.as_deref()))
}

/// Whether objects are encrypted if the request does not say how.
fn is_encrypted(database: &Inner) -> bool {
    database.options.buckets.as_ref().is_some_and(|buckets| buckets.encrypts())
}

/// A time as manifests have it.
fn timestamp(ms: u64) -> Value {
    json!(format!("{}Z", label(ms)))
}

impl Export {
    /// Does it in the background.
    fn submit(mut self, database: &Inner, plan: Plan) {
        database.submit(Box::new(move |database| {
            let Some(job) = self.hold(database)? else { return Ok(()) };
            let outcome = self.run(database, &plan);
            if database.background.is_ending() && outcome.is_err() {
                return Ok(());
            }
            self.end(database, outcome, job)
        }));
    }

    /// What is to be done, by the request that was stored.
    fn plan_again(&self, database: &Inner) -> Result<Plan> {
        let request = self.request.to_string();
        let body = Body::parse(Operation::ExportTableToPointInTime, request.as_bytes())?;
        let fields = body.fields();
        let input = ExportTableToPointInTimeInput::decode(&fields)?;
        let change = database.change()?;
        let table = database.catalog.find(&self.table);
        let table = table.filter(|table| table.record.id == self.table_id);
        let table = table.ok_or_else(|| message::table_not_found(&self.table))?;
        let time = self.work.period.map_or(input.time, Period::asked);
        let now_ms = database.streams.now_ms();
        let before = self.work.before.unwrap_or_else(|| number_at(self.started_ms + 1));
        let items = Items::choose(&table, time, now_ms)?.rewound(&table, before, now_ms)?;
        let snapshot = items.snapshot(database)?;
        drop(change);
        Ok(Plan { table, destination: input.destination, snapshot, items })
    }

    fn run(&mut self, database: &Inner, plan: &Plan) -> Result<(), Failure> {
        let bucket = open_destination(database, &plan.destination)?;
        let root = below(&plan.destination.prefix, "AWSDynamoDB");
        let folder = format!("{root}/{}", self.id);
        // The data of incremental exports lie together, so that one import can follow another.
        let data_folder = match self.work.period {
            None => format!("{folder}/data"),
            Some(_) => format!("{root}/data"),
        };
        let view = self.work.period.map(|period| period.view).unwrap_or_default();
        let layout = Layout { folder, data_folder, format: self.work.format, view };
        let is_ending = || database.background.is_ending();
        let files = Files { is_ending: &is_ending, bucket: bucket.as_ref(), layout };
        let summary = |totals: &Totals| self.summary(database, plan, totals);
        let totals = plan.items.write(&plan.table, plan.snapshot.as_ref(), &files, summary)?;
        self.work.items = totals.items;
        self.work.bytes = self.billed_bytes(&totals);
        self.work.manifest = Some(totals.manifest);
        Ok(())
    }

    /// What AWS would charge for: of an incremental export, at least 10 MB.
    fn billed_bytes(&self, totals: &Totals) -> u64 {
        if self.work.period.is_some() { totals.bytes.max(10_000_000) } else { totals.bytes }
    }

    /// What the summary manifest says, without what the files know.
    fn summary(&self, database: &Inner, plan: &Plan, totals: &Totals) -> Map<String, Value> {
        let text = |member: &str| json!(self.request.get(member));
        let encryption = is_encrypted(database).then_some("AES256");
        let encryption = self.request.get("S3SseAlgorithm").and_then(Value::as_str).or(encryption);
        let mut members = vec![
            ("exportArn", json!(self.arn(database))),
            ("startTime", timestamp(self.started_ms)),
            ("endTime", timestamp(database.clock.now_ms())),
            ("tableArn", json!(database.table_arn(&self.table))),
            ("tableId", json!(self.table_id)),
            ("s3Bucket", json!(plan.destination.bucket)),
            ("s3Prefix", text("S3Prefix")),
            ("s3SseAlgorithm", json!(encryption)),
            ("s3SseKmsKeyId", text("S3SseKmsKeyId")),
            ("billedSizeBytes", json!(self.billed_bytes(totals))),
            ("outputFormat", json!(self.work.format.name())),
        ];
        match self.work.period {
            None => members.extend([
                ("version", json!("2020-06-30")),
                ("exportTime", timestamp(self.work.time_ms.unwrap_or(self.started_ms))),
                ("exportType", json!("FULL_EXPORT")),
            ]),
            Some(period) => members.extend([
                ("version", json!("2023-08-01")),
                ("exportFromTime", timestamp(period.from_ms)),
                ("exportToTime", timestamp(period.to_ms)),
                ("outputView", json!(period.view.name())),
                ("exportType", json!("INCREMENTAL_EXPORT")),
            ]),
        }
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn answer(&self, database: &Inner) -> Vec<u8> {
        let Exported { items, bytes, manifest, format, time_ms, period, before: _ } = &self.work;
        let time = match period {
            None => ExportTime::Full(Some(time_ms.unwrap_or(self.started_ms))),
            Some(Period { from_ms, to_ms, view }) => ExportTime::Incremental(ExportPeriod {
                from_ms: *from_ms,
                to_ms: Some(*to_ms),
                view: *view,
            }),
        };
        let arn = self.arn(database);
        let description = ExportDescription {
            details: self.details(&arn),
            table_arn: &database.table_arn(&self.table),
            format: *format,
            time,
            is_encrypted: is_encrypted(database),
            written: manifest.as_deref().map(|manifest| (manifest, *bytes, *items)),
        };
        description.encode()
    }
}
