//! Models of other tools, read into a design and written from one.
//!
//! What a format cannot carry is reported line by line ([`Lost`]), never dropped in silence.

mod table;

use serde_json::Value as Json;

use crate::draft::TableDraft;

/// Something that the other side has no word for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// What it is.
    pub what: String,
    /// Why it is not carried over.
    pub why: String,
}

impl Lost {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// A table from a CreateTable request or the answer of DescribeTable; none if it has no keys.
pub fn described_table(description: &Json) -> Option<TableDraft> {
    table::table(description, "table", &mut Vec::new())
}

/// A member that is a text.
fn text<'j>(json: &'j Json, member: &str) -> Option<&'j str> {
    json.get(member).and_then(Json::as_str)
}

/// The elements of a member that is a list.
fn list<'j>(json: &'j Json, member: &str) -> impl Iterator<Item = &'j Json> {
    json.get(member).and_then(Json::as_array).into_iter().flatten()
}
