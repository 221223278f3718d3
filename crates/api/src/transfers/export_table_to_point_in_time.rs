//! ExportTableToPointInTime.

use keyloom_core::Result;
use keyloom_core::error::transfer as message;
use serde::{Deserialize, Serialize};

use super::Destination;
use crate::Fields;

/// The input of ExportTableToPointInTime.
#[derive(Clone, Debug)]
pub struct ExportTableToPointInTimeInput<'a> {
    /// The ARN of the table.
    pub table_arn: &'a str,
    /// Where the objects go.
    pub destination: Destination,
    /// How items are written.
    pub format: ExportFormat,
    /// Which items are written.
    pub time: ExportTime,
    /// Whether the request has a `FilterSpecification`.
    pub has_filter: bool,
}

/// `ExportFormat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportFormat {
    /// `DYNAMODB_JSON`.
    #[default]
    DynamoDbJson,
    /// `ION`.
    Ion,
}

impl ExportFormat {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::DynamoDbJson => "DYNAMODB_JSON",
            Self::Ion => "ION",
        }
    }

    /// How the names of data files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::DynamoDbJson => "json.gz",
            Self::Ion => "ion.gz",
        }
    }
}

/// Which items an export has. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportTime {
    /// The table as it was, or as it is.
    Full(Option<u64>),
    /// What was changed.
    Incremental(ExportPeriod),
}

/// `IncrementalExportSpecification`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportPeriod {
    /// The first millisecond.
    pub from_ms: u64,
    /// The millisecond behind the last; now, without it.
    pub to_ms: Option<u64>,
    /// What is written of each change.
    pub view: ExportView,
}

/// `ExportViewType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportView {
    /// `NEW_IMAGE`.
    NewImage,
    /// `NEW_AND_OLD_IMAGES`.
    #[default]
    NewAndOldImages,
}

impl ExportView {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewImage => "NEW_IMAGE",
            Self::NewAndOldImages => "NEW_AND_OLD_IMAGES",
        }
    }
}

impl<'a> ExportTableToPointInTimeInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let destination = Destination::decode(fields, "S3Prefix")?;
        let format = match fields.string("ExportFormat") {
            Some("ION") => ExportFormat::Ion,
            _ => ExportFormat::DynamoDbJson,
        };
        let is_full = fields.string("ExportType").map(|kind| kind == "FULL_EXPORT");
        let specification = fields.structure("IncrementalExportSpecification");
        let time = match (is_full, specification) {
            (None, Some(_)) => return Err(message::export_type_missing()),
            (Some(true), Some(_)) => return Err(message::incremental_specification_unexpected()),
            (Some(false), None) => return Err(message::incremental_specification_missing()),
            (Some(false), Some(specification)) => {
                let from_ms = time_ms(&specification, "ExportFromTime");
                if fields.has("ExportTime") {
                    return Err(message::export_time_unexpected());
                }
                ExportTime::Incremental(ExportPeriod {
                    from_ms: from_ms.ok_or_else(message::export_from_missing)?,
                    to_ms: time_ms(&specification, "ExportToTime"),
                    view: view(&specification),
                })
            }
            (None | Some(true), None) => ExportTime::Full(time_ms(fields, "ExportTime")),
        };
        let table_arn = fields.string("TableArn").unwrap_or_default();
        check_table(table_arn)?;
        let has_filter = fields.has("FilterSpecification");
        Ok(Self { table_arn, destination, format, time, has_filter })
    }
}

fn view(fields: &Fields<'_>) -> ExportView {
    match fields.string("ExportViewType") {
        Some("NEW_IMAGE") => ExportView::NewImage,
        _ => ExportView::NewAndOldImages,
    }
}

fn time_ms(fields: &Fields<'_>, member: &str) -> Option<u64> {
    fields.decimal(member).map(|seconds| (seconds * 1000.0) as u64)
}

/// The ARN of a table, not its name and not that of an index.
fn check_table(arn: &str) -> Result<()> {
    if !arn.starts_with("arn:") {
        return Err(message::table_arn_missing());
    }
    match arn.split_once(":table/") {
        Some((_, table)) if !table.contains('/') => Ok(()),
        _ => Err(message::table_arn_invalid()),
    }
}
