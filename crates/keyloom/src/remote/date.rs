//! The two date formats of SigV4.

use keyloom_keys::{Precision, Timestamp};

/// `20240115T103000Z`, and its first eight characters: the day.
pub(super) fn stamp(now_ms: u64) -> String {
    let time = Timestamp::from_millis(i64::try_from(now_ms).unwrap_or(i64::MAX));
    time.at(Precision::Second).to_string().replace(['-', ':'], "")
}
