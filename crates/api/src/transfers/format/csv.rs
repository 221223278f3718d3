//! CSV: a header, unless the request has one, and a row per item.
//!
//! Values are strings, but for the key attributes of the table and its indexes, which have the types that the table
//! gives them: numbers as they are written, binaries in base64. An empty value is no attribute. Values with
//! delimiters, quotes or line breaks stand in double quotes, and quotes in them are doubled; a quote anywhere else is
//! an error, since the rows behind it could not be told apart.

use std::collections::HashSet;
use std::io::Read;

use keyloom_core::error::transfer as message;
use keyloom_core::json::write_string;
use keyloom_core::{AttributeType, Result, Str};

use super::input::Input;
use super::{Fault, Row, item_of, shown};

/// `InputFormatOptions.Csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// What stands between two values.
    pub delimiter: u8,
    /// The names of the columns; without them, the first row of each object has the names.
    pub header: Option<Vec<Str>>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', header: None }
    }
}

/// The types of key attributes.
pub type CsvKeys = Vec<(Str, AttributeType)>;

/// More columns than an item of 400 KB has attributes that anybody could name.
const MAX_COLUMNS: usize = 10_000;

/// A row: its values, without those that there are no columns for, and how many it has.
struct Record {
    values: Vec<Str>,
    count: usize,
    /// Whether all values are text.
    is_text: bool,
}

/// Reads items from CSV, a row at a time.
pub(super) struct CsvRows<R> {
    input: Input<R>,
    delimiter: u8,
    columns: Option<Vec<Column>>,
    keys: CsvKeys,
}

/// A column: the name of its attribute and the type of its values.
struct Column {
    name: Str,
    kind: AttributeType,
}

impl<R: Read> CsvRows<R> {
    pub(super) fn new(input: Input<R>, options: &CsvOptions, keys: &CsvKeys) -> Self {
        let keys = keys.clone();
        let columns = options.header.as_ref().map(|header| columns(header, &keys));
        Self { input, delimiter: options.delimiter, columns, keys }
    }

    pub(super) fn line(&self) -> u64 {
        self.input.row_line()
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row>, Fault> {
        if self.columns.is_none() {
            // What spreadsheets write in front of UTF-8 is not part of the first name.
            self.input.eat_all("\u{feff}".as_bytes())?;
            let Some(header) = self.record(MAX_COLUMNS)? else { return Ok(None) };
            if self.input.is_too_long() {
                return Err(Fault::malformed("the header has more than 4 MB"));
            }
            self.columns = Some(columns(&check_header(header)?, &self.keys));
        }
        let expected = self.columns.as_ref().map_or(0, Vec::len);
        let Some(record) = self.record(expected)? else { return Ok(None) };
        let bytes = self.input.row_bytes();
        let item = if self.input.is_too_long() {
            Err(message::row_too_long())
        } else {
            self.item(&record).and_then(|json| item_of(&json))
        };
        Ok(Some(Row { bytes, item, beside: None }))
    }

    /// The row as an item in DynamoDB JSON, so that it is judged as every other item is.
    fn item(&self, record: &Record) -> Result<Vec<u8>> {
        let columns = self.columns.as_deref().unwrap_or_default();
        if !record.is_text {
            return Err(message::row_not_text());
        }
        if record.count != columns.len() {
            return Err(message::columns_differ(record.count, columns.len()));
        }
        let pairs = columns.iter().zip(&record.values);
        let mut json = vec![b'{'];
        for (column, value) in pairs.filter(|(_, value)| !value.is_empty()) {
            if json.len() > 1 {
                json.push(b',');
            }
            write_string(&column.name, &mut json);
            json.extend_from_slice(b":{\"");
            json.extend_from_slice(column.kind.as_str().as_bytes());
            json.extend_from_slice(b"\":");
            write_string(value, &mut json);
            json.push(b'}');
        }
        json.push(b'}');
        Ok(json)
    }

    /// The next row that is not an empty line, with at most so many of its values.
    fn record(&mut self, most: usize) -> Result<Option<Record>, Fault> {
        loop {
            self.input.begin_row();
            match self.input.peek()? {
                None => return Ok(None),
                Some(b'\n' | b'\r') => self.input.advance(1)?,
                Some(_) => break,
            }
        }
        let mut record = Record { values: Vec::new(), count: 0, is_text: true };
        loop {
            let value = self.value()?.unwrap_or_else(|| {
                record.is_text = false;
                Str::default()
            });
            record.count += 1;
            if record.count <= most {
                record.values.push(value);
            }
            match self.input.take()? {
                Some(byte) if byte == self.delimiter => {}
                // Of a line that ends with both, the other is taken for an empty line.
                None | Some(b'\n' | b'\r') => return Ok(Some(record)),
                Some(_) => return Err(Fault::malformed("text follows a value in quotes")),
            }
        }
    }

    /// A value; none if it is not UTF-8.
    fn value(&mut self) -> Result<Option<Str>, Fault> {
        let text = if self.input.eat(b'"')? { self.quoted()? } else { self.plain()? };
        Ok(Str::from_utf8(text).ok())
    }

    fn quoted(&mut self) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        loop {
            match self.input.take()? {
                None => return Err(Fault::malformed("a quote is not closed")),
                Some(b'"') if self.input.eat(b'"')? => text.push(b'"'),
                Some(b'"') => return Ok(text),
                Some(_) if self.input.is_too_long() => {}
                Some(byte) => text.push(byte),
            }
        }
    }

    fn plain(&mut self) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        loop {
            match self.input.peek()? {
                None | Some(b'\n' | b'\r') => return Ok(text),
                Some(byte) if byte == self.delimiter => return Ok(text),
                Some(b'"') => {
                    let reason = "a quote stands inside a value: put the value in quotes and double the quote";
                    return Err(Fault::malformed(reason));
                }
                Some(_) if self.input.is_too_long() => {}
                Some(byte) => text.push(byte),
            }
            self.input.advance(1)?;
        }
    }
}

fn columns(names: &[Str], keys: &CsvKeys) -> Vec<Column> {
    let kind = |name: &Str| keys.iter().find(|(key, _)| key == name).map(|(_, kind)| *kind);
    let column =
        |name: &Str| Column { name: name.clone(), kind: kind(name).unwrap_or(AttributeType::S) };
    names.iter().map(column).collect()
}

/// Column names must be distinct.
fn check_header(header: Record) -> Result<Vec<Str>, Fault> {
    if header.count > MAX_COLUMNS {
        let reason = format!("the header has {} columns, more than {MAX_COLUMNS}", header.count);
        return Err(Fault::malformed(reason));
    }
    let names = header.values;
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Fault::malformed(format!(
                "column {} of the header has no name",
                index + 1
            )));
        }
        if !seen.insert(name) {
            let reason = format!("the header has the column '{}' twice", shown(name));
            return Err(Fault::malformed(reason));
        }
    }
    Ok(names)
}
