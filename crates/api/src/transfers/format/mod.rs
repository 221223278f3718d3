//! The formats in which items are exported and imported: DynamoDB JSON, Amazon Ion and CSV.
//!
//! A [`RowReader`] takes the decompressed bytes of one object and gives its rows one by one, each an item or the
//! reason why it is none. It never holds more than one row, and a row has a limit, so an object may be of any size.

mod csv;
mod input;
mod ion_reader;
mod ion_value;
mod ion_writer;
mod json_lines;
mod lines;

use std::io::{self, Read};

use keyloom_core::{Error, Item, Str};

pub use csv::{CsvKeys, CsvOptions};
pub use ion_writer::{ION_VERSION, write_item as write_ion_item, write_number as write_ion_number};
pub use lines::{Line, Lines};

use csv::CsvRows;
use input::Input;
use ion_reader::IonRows;
use json_lines::JsonRows;

/// More than any item needs, however it is written: 400 KB with every character escaped are 2.4 MB. What a longer row
/// holds is not kept, and the row is an error.
const MAX_ROW_BYTES: usize = 4 * 1024 * 1024;

/// How long the end of such a row is looked for.
const MAX_SKIPPED_BYTES: usize = 64 * 1024 * 1024;

/// `InputFormat`, with what its reader has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// One JSON object per line.
    DynamoDbJson,
    /// Ion text.
    Ion,
    /// Comma-separated values, or separated by something else.
    Csv(CsvOptions),
}

/// A row of an object.
#[derive(Debug)]
pub struct Row {
    /// How many bytes it took, decompressed.
    pub bytes: u64,
    /// The item; or why the row has none, in which case the next one may.
    pub item: Result<Item, Error>,
    /// The name of the first member that stands beside `Item`.
    pub beside: Option<Str>,
}

/// Why no further row of an object can be read.
#[derive(Debug)]
pub enum Fault {
    /// The bytes could not be had.
    Io(io::Error),
    /// They are not of the format, so the start of the next row is unknown.
    Malformed(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Fault {
    fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}

/// Reads the rows of one object.
pub struct RowReader<R>(Kind<R>);

enum Kind<R> {
    Json(JsonRows<R>),
    Ion(IonRows<R>),
    Csv(CsvRows<R>),
}

impl<R: Read> RowReader<R> {
    /// A reader of an object in a format. CSV has no types: `keys` says those of the key attributes.
    pub fn new(format: &InputFormat, keys: &CsvKeys, content: R) -> Self {
        let input = Input::new(content);
        Self(match format {
            InputFormat::DynamoDbJson => Kind::Json(JsonRows::new(input)),
            InputFormat::Ion => Kind::Ion(IonRows::new(input)),
            InputFormat::Csv(options) => Kind::Csv(CsvRows::new(input, options, keys)),
        })
    }

    /// The next row; none at the end of the object. After a fault there is nothing more to read.
    pub fn next_row(&mut self) -> Result<Option<Row>, Fault> {
        match &mut self.0 {
            Kind::Json(rows) => rows.next_row(),
            Kind::Ion(rows) => rows.next_row(),
            Kind::Csv(rows) => rows.next_row(),
        }
    }

    /// The number of the line where the last row begins, from 1.
    pub fn line(&self) -> u64 {
        match &self.0 {
            Kind::Json(rows) => rows.line(),
            Kind::Ion(rows) => rows.line(),
            Kind::Csv(rows) => rows.line(),
        }
    }
}

/// The item in DynamoDB JSON, by the rules of every other request.
fn item_of(json: &[u8]) -> Result<Item, Error> {
    keyloom_core::json::item_from(&keyloom_core::json::parse(json)?)
}

/// A name for messages, cut to a length that fits in a line.
fn shown(name: &str) -> Str {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests;
