//! Reading the JSON of successful replies, which a client trusts less than a server trusts its own tables.

use std::fmt;

use keyloom_core::Item;
use keyloom_core::image::Row;
use keyloom_core::json::{self, Json, JsonObject};

/// A reply that is not what the protocol promises: cut off, or from something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl Malformed {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer is not DynamoDB's: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// The document of a reply.
pub(crate) fn document(body: &[u8]) -> Result<Json<'_>, Malformed> {
    json::parse(body).map_err(|_| Malformed::new("it is not JSON"))
}

pub(crate) fn object<'j, 'a>(json: &'j Json<'a>) -> Result<&'j JsonObject<'a>, Malformed> {
    match json {
        Json::Object(object) => Ok(object),
        _ => Err(Malformed::new("an object was expected")),
    }
}

pub(crate) fn list<'j, 'a>(json: &'j Json<'a>) -> Result<&'j [Json<'a>], Malformed> {
    match json {
        Json::Array(list) => Ok(list),
        _ => Err(Malformed::new("a list was expected")),
    }
}

pub(crate) fn item(json: &Json<'_>) -> Result<Item, Malformed> {
    json::item_from(json).map_err(|error| Malformed::new(error.message()))
}

pub(crate) fn row(json: &Json<'_>) -> Result<Row, Malformed> {
    item(json).map(Row::Item)
}

/// The list in a member, empty if there is no such member.
pub(crate) fn elements<'j, 'a>(
    object: &'j JsonObject<'a>,
    name: &str,
) -> Result<&'j [Json<'a>], Malformed> {
    Ok(object.get(name).map(list).transpose()?.unwrap_or_default())
}

/// The entries of the map in a member; none if there is no such member.
pub(crate) fn entries<'j, 'a>(
    document: &'j Json<'a>,
    name: &str,
) -> Result<impl Iterator<Item = (&'j str, &'j Json<'a>)>, Malformed> {
    let map = object(document)?.get(name).map(object).transpose()?;
    Ok(map.into_iter().flat_map(JsonObject::iter))
}
