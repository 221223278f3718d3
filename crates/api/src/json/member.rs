//! Members of JSON that another program wrote: what is missing or of another type reads as absent.
//!
//! Numbers are kept within what can be true. They are added up, multiplied by sample weights and looped over, so a negative
//! or absurdly large one must not get further than this file.

use keyloom_core::Item;
use keyloom_core::capacity::Units;
use keyloom_core::json::{self, Json, JsonObject};

/// The most units of one table or index that a request can take: several times the largest batch of writes.
const MOST_UNITS: u64 = 1_000_000;
/// The most of anything else: floats are exact up to here.
const MOST: u64 = 1 << 53;
/// The longest list that is read, several times what AWS allows for indexes, keys and statements.
pub const MAX_LISTED: usize = 512;

/// The text of a member.
pub fn text<'j>(of: &'j JsonObject<'_>, member: &str) -> Option<&'j str> {
    match of.get(member) {
        Some(Json::Str(text)) => Some(text),
        _ => None,
    }
}

/// Whether a member is `true`.
pub fn flag(of: &JsonObject<'_>, member: &str) -> bool {
    matches!(of.get(member), Some(Json::Bool(true)))
}

/// The object of a member.
pub fn object<'j, 'a>(of: &'j JsonObject<'a>, member: &str) -> Option<&'j JsonObject<'a>> {
    of.get(member).and_then(as_object)
}

/// The members of an object within an object.
pub fn entries<'j, 'a>(
    of: &'j JsonObject<'a>,
    member: &str,
) -> impl Iterator<Item = (&'j str, &'j Json<'a>)> {
    object(of, member).into_iter().flat_map(JsonObject::iter)
}

/// The objects of a list.
pub fn objects<'j, 'a>(
    of: &'j JsonObject<'a>,
    member: &str,
) -> impl Iterator<Item = &'j JsonObject<'a>> {
    let list = match of.get(member) {
        Some(Json::Array(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().take(MAX_LISTED).filter_map(as_object)
}

/// A value that is an object.
pub fn as_object<'j, 'a>(json: &'j Json<'a>) -> Option<&'j JsonObject<'a>> {
    match json {
        Json::Object(object) => Some(object),
        _ => None,
    }
}

/// The item of a member, in DynamoDB JSON.
pub fn item(of: &JsonObject<'_>, member: &str) -> Option<Item> {
    of.get(member).and_then(|stated| json::item_from(stated).ok())
}

/// Capacity units, which come in halves.
pub fn units(of: &JsonObject<'_>, member: &str) -> Option<Units> {
    number(of, member, 2.0).map(|halves| Units::halves(halves.min(2 * MOST_UNITS)))
}

/// A number of items or bytes.
pub fn count(of: &JsonObject<'_>, member: &str) -> Option<u64> {
    number(of, member, 1.0)
}

/// A number times a factor, rounded; zero if it is negative.
pub fn number(of: &JsonObject<'_>, member: &str, factor: f64) -> Option<u64> {
    match of.get(member) {
        // The cast turns negative numbers and NaN into zero.
        Some(Json::Number(number)) => Some(((number.as_f64()? * factor).round() as u64).min(MOST)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_cannot_be_true_are_clamped() {
        for (text, expected) in [
            ("0.5", Some((1, 1))),
            ("12", Some((24, 12))),
            ("-1", Some((0, 0))),
            ("-1e300", Some((0, 0))),
            ("1e12", Some((2 * MOST_UNITS, 1_000_000_000_000))),
            ("1e300", Some((2 * MOST_UNITS, MOST))),
            ("1e999", Some((2 * MOST_UNITS, MOST))),
            (r#""12""#, None),
            ("null", None),
        ] {
            let body = format!(r#"{{"n":{text}}}"#);
            let Ok(Json::Object(of)) = json::parse(body.as_bytes()) else { panic!("{body}") };
            let read = units(&of, "n").map(Units::as_halves).zip(count(&of, "n"));
            assert_eq!(read, expected, "{text}");
        }
    }
}
