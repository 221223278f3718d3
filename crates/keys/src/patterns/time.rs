//! Time series and expiry.

use super::PatternError;
use crate::error::BuildError;
use crate::format::{FieldFormat, FieldType};
use crate::time::Timestamp;
use crate::value::Value;

/// The length of the time bucket that shares one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// One hour, written `2024-12-01-14`.
    Hour,
    /// One day, written `2024-12-01`.
    Day,
    /// One month, written `2024-12`.
    Month,
}

/// The time bucket that contains an instant, in UTC.
///
/// ```
/// use keyloom_keys::{Timestamp, patterns::{Granularity, time_series_key}};
///
/// let at: Timestamp = "2024-12-01T14:30:00Z".parse()?;
/// assert_eq!(time_series_key(at, Granularity::Hour)?, "2024-12-01-14");
/// assert_eq!(time_series_key(at, Granularity::Day)?, "2024-12-01");
/// assert_eq!(time_series_key(at, Granularity::Month)?, "2024-12");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn time_series_key(at: Timestamp, granularity: Granularity) -> Result<String, PatternError> {
    let format = FieldFormat::bare(match granularity {
        Granularity::Hour => FieldType::Hour,
        Granularity::Day => FieldType::Date,
        Granularity::Month => FieldType::Month,
    });
    Ok(format.encode(&Value::Time(at)).map_err(|error| BuildError::value("at", error))?)
}

/// The value of a TTL attribute: whole seconds since 1970. Deletion happens hours or days later, so readers still have to
/// filter out expired items.
///
/// ```
/// use keyloom_keys::{Timestamp, patterns::ttl_timestamp};
///
/// assert_eq!(ttl_timestamp("2024-12-01T00:00:00.999Z".parse()?), 1_733_011_200);
/// # Ok::<(), keyloom_keys::ValueError>(())
/// ```
pub fn ttl_timestamp(expires_at: Timestamp) -> i64 {
    expires_at.seconds()
}
