//! RestoreTableToPointInTime.

use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::Fields;
use crate::tables::dynamodb_resource;

use super::RestoreTarget;

/// The input of RestoreTableToPointInTime.
#[derive(Clone, Debug)]
pub struct RestoreTableToPointInTimeInput<'a> {
    /// The name or ARN of the table that is restored.
    pub source: &'a str,
    /// Whether the request names an encryption, which it must if the source is in another region.
    pub names_encryption: bool,
    /// What of it is restored.
    pub time: RestoreTime,
    /// The new table.
    pub target: RestoreTarget,
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RestoreTime {
    /// The latest that there is.
    Latest,
    /// So many seconds after 1970.
    Seconds(f64),
}

impl<'a> RestoreTableToPointInTimeInput<'a> {
    /// Decodes the request, which must have a source and a time.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let (arn, name) = (fields.string("SourceTableArn"), fields.string("SourceTableName"));
        if arn.is_some() && name.is_some() {
            return Err(message::restore_source_ambiguous());
        }
        if let Some(arn) = arn {
            check_arn(arn)?;
        }
        let source = arn.or(name).ok_or_else(message::restore_source_missing)?;
        let is_latest = fields.boolean("UseLatestRestorableTime").unwrap_or(false);
        let time = match fields.decimal("RestoreDateTime") {
            Some(_) if is_latest => return Err(message::restore_time_ambiguous()),
            Some(seconds) => RestoreTime::Seconds(seconds),
            None if is_latest => RestoreTime::Latest,
            None => return Err(message::restore_time_missing()),
        };
        let names_encryption = fields.has("SSESpecificationOverride");
        Ok(Self { source, names_encryption, time, target: RestoreTarget::decode(fields)? })
    }
}

/// Refuses what is not the ARN of a table, wherever that is.
fn check_arn(arn: &str) -> Result<()> {
    let resource = dynamodb_resource(arn);
    let is_arn = arn.starts_with("arn:");
    let resource =
        resource.map_err(|error| if is_arn { message::restore_source_invalid() } else { error })?;
    let name = resource.strip_prefix("table/").filter(|name| !name.contains('/'));
    name.map(drop).ok_or_else(message::restore_source_invalid)
}
