//! RestoreTableToPointInTime.

use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::Fields;

use super::RestoreTarget;

/// The input of RestoreTableToPointInTime.
#[derive(Clone, Debug)]
pub struct RestoreTableToPointInTimeInput<'a> {
    /// The name or ARN of the table that is restored.
    pub source: &'a str,
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
        let source = fields.string("SourceTableArn").or(fields.string("SourceTableName"));
        let source = source.ok_or_else(message::restore_source_missing)?;
        let is_latest = fields.boolean("UseLatestRestorableTime").unwrap_or(false);
        let time = match fields.decimal("RestoreDateTime") {
            Some(_) if is_latest => return Err(message::restore_time_ambiguous()),
            Some(seconds) => RestoreTime::Seconds(seconds),
            None if is_latest => RestoreTime::Latest,
            None => return Err(message::restore_time_missing()),
        };
        Ok(Self { source, time, target: RestoreTarget::decode(fields) })
    }
}
