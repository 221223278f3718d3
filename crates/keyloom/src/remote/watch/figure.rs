//! Numbers that an endpoint states, kept within what can be true.
//!
//! They are added up, multiplied by what a sample stands for and looped over, so what no endpoint can mean (less than
//! nothing, or more than a service could hold) must not come further than this.

use keyloom_core::capacity::Units;
use keyloom_core::json::Json;

/// What one request takes of a table or index at most: several times what the largest batch of writes does.
const MOST_UNITS: u64 = 1_000_000;
/// The bytes that one request is billed for at most: far more than any answer has.
const MOST_BILLED_BYTES: u64 = 1 << 30;
/// Whatever else is counted: floats are exact up to here.
const MOST: u64 = 1 << 53;

/// Capacity units, which come in halves.
pub(super) fn units(stated: &Json<'_>) -> Option<Units> {
    let halves = (number(stated)? * 2.0).round();
    Some(Units::halves(within(halves, 2 * MOST_UNITS)))
}

/// Bytes that a request is billed for: whole numbers, written as floats.
pub(super) fn billed_bytes(stated: &Json<'_>) -> Option<u64> {
    Some(within(number(stated)?, MOST_BILLED_BYTES))
}

/// How many, or how much.
pub(super) fn count(stated: &Json<'_>) -> Option<u64> {
    Some(within(number(stated)?, MOST))
}

/// A limit; −1 stands for none.
pub(super) fn limit(stated: &Json<'_>) -> Option<u64> {
    number(stated).filter(|limit| *limit >= 0.0).map(|limit| within(limit, MOST))
}

/// Milliseconds of a time in seconds.
pub(super) fn milliseconds(stated: &Json<'_>) -> Option<u64> {
    Some(within(number(stated)? * 1000.0, MOST))
}

fn number(stated: &Json<'_>) -> Option<f64> {
    match stated {
        Json::Number(number) => number.as_f64(),
        _ => None,
    }
}

fn within(stated: f64, most: u64) -> u64 {
    // What is negative, or not a number, becomes nothing.
    (stated as u64).min(most)
}

#[cfg(test)]
mod tests {
    use keyloom_core::json;

    use super::*;

    #[test]
    fn what_cannot_be_true_becomes_what_can() {
        let read = |text: &str| {
            let stated = json::parse(text.as_bytes()).unwrap();
            (units(&stated).map(Units::as_halves), billed_bytes(&stated), limit(&stated))
        };
        let most = (Some(2 * MOST_UNITS), Some(MOST_BILLED_BYTES));
        for (text, (units, bytes, limit)) in [
            ("0.5", (Some(1), Some(0), Some(0))),
            ("12", (Some(24), Some(12), Some(12))),
            ("-1", (Some(0), Some(0), None)),
            ("-1e300", (Some(0), Some(0), None)),
            ("1e12", (most.0, most.1, Some(1_000_000_000_000))),
            ("1e300", (most.0, most.1, Some(MOST))),
            ("1e999", (most.0, most.1, Some(MOST))),
            (r#""12""#, (None, None, None)),
            ("null", (None, None, None)),
        ] {
            assert_eq!(read(text), (units, bytes, limit), "{text}");
        }
        let stated = json::parse(b"1e300").unwrap();
        assert_eq!((count(&stated), milliseconds(&stated)), (Some(MOST), Some(MOST)));
    }
}
