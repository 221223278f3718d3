//! DynamoDB JSON: one object with the member `Item` per line.

use std::io::Read;

use keyloom_core::error::transfer as message;
use keyloom_core::json::{self, Json};
use keyloom_core::{Item, Str};

use super::input::Input;
use super::lines::{Line, Lines};
use super::{Fault, Row, shown};

/// Reads items from DynamoDB JSON, a line at a time.
pub(super) struct JsonRows<R>(Lines<R>);

impl<R: Read> JsonRows<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Self(Lines::of(input))
    }

    pub(super) fn line(&self) -> u64 {
        self.0.number()
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row>, Fault> {
        let Some(Line { bytes, text, .. }) = self.0.next_line()? else { return Ok(None) };
        let line = match text {
            Ok(line) => line,
            Err(error) => return Ok(Some(Row { bytes, item: Err(error), beside: None })),
        };
        let (item, beside) = match json::parse(line) {
            Ok(document) => (item(&document), beside(&document)),
            Err(error) if is_json(line) => (Err(error), None),
            // AWS reads no line behind one that is not JSON.
            Err(_) => return Err(Fault::malformed("a line is not JSON")),
        };
        Ok(Some(Row { bytes, item, beside }))
    }
}

/// Whether a line is JSON by its grammar, however deep it is nested and whatever its escapes stand for.
fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

fn item(document: &Json<'_>) -> keyloom_core::Result<Item> {
    let item = match document {
        Json::Object(line) => line.get("Item").map(json::item_from).transpose()?,
        _ => None,
    };
    item.ok_or_else(message::row_without_item)
}

fn beside(document: &Json<'_>) -> Option<Str> {
    let Json::Object(line) = document else { return None };
    line.iter().map(|(name, _)| name).find(|name| *name != "Item").map(shown)
}
