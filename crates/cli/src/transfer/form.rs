//! Items as lines: plain JSON, DynamoDB JSON, CSV.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use keyloom_core::json::{write_item, write_list, write_object, write_string};
use keyloom_core::{AttributeValue, Item, Str};

/// The forms of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A plain JSON object per line: texts, numbers, lists; binaries in base64, sets as lists.
    Jsonl,
    /// A line `{"Item": {…}}` with typed values, as exports and the AWS CLI have them.
    DynamodbJson,
    /// Values between commas, with the names of the columns in the first line.
    Csv,
    /// Amazon Ion, as exports have it.
    Ion,
    /// A folder as ExportTableToPointInTime writes it.
    Export,
}

/// Items as the text of a file, page after page.
pub(crate) struct Lines {
    form: Form,
    /// Of CSV; by default those of the first page.
    columns: Option<Vec<String>>,
    has_header: bool,
}

impl Lines {
    pub(crate) fn new(form: Form, columns: Option<Vec<String>>) -> Self {
        Self { form, columns, has_header: false }
    }

    /// Writes a page; refuses an item that has an attribute without a column.
    pub(crate) fn write(
        &mut self,
        keys: &[String],
        items: &[Item],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if self.form != Form::Csv {
            for item in items {
                write_json(self.form, item, out);
            }
            return Ok(());
        }
        let columns = self.columns.get_or_insert_with(|| names_of(keys, items));
        if !self.has_header {
            write_cells(columns.iter().cloned(), out);
            self.has_header = true;
        }
        for item in items {
            write_csv(columns, item, out)
                .map_err(|reason| format!("item `{}`: {reason}", key_text(keys, item)))?;
        }
        Ok(())
    }
}

/// The attributes of items, keys first.
pub(crate) fn names_of<'i>(
    keys: &[String],
    items: impl IntoIterator<Item = &'i Item>,
) -> Vec<String> {
    let others: BTreeSet<&str> = items.into_iter().flat_map(Item::keys).map(Str::as_str).collect();
    let others = others.into_iter().filter(|name| !keys.iter().any(|key| key == name));
    keys.iter().cloned().chain(others.map(str::to_owned)).collect()
}

/// Writes a line of JSON.
pub(crate) fn write_json(form: Form, item: &Item, out: &mut Vec<u8>) {
    if form == Form::DynamodbJson {
        out.extend_from_slice(b"{\"Item\":");
        write_item(item, out);
        out.extend_from_slice(b"}\n");
    } else {
        write_object(item, write_string, write_document, out);
        out.push(b'\n');
    }
}

/// Writes a line of CSV; refuses an attribute that has no column.
fn write_csv(columns: &[String], item: &Item, out: &mut Vec<u8>) -> Result<(), String> {
    if let Some((name, _)) =
        item.iter().find(|(name, _)| !columns.iter().any(|known| known == name.as_str()))
    {
        return Err(format!("there is no column for `{name}`: name the columns with --columns"));
    }
    write_cells(columns.iter().map(|name| item.get(name).map(cell).unwrap_or_default()), out);
    Ok(())
}

/// Whether an item has an empty text, which a cell cannot tell from an attribute that is not there.
pub(crate) fn has_empty_text(item: &Item) -> bool {
    item.iter().any(|(_, value)| value.as_s().is_some_and(str::is_empty))
}

/// Writes the cells of a line.
fn write_cells(cells: impl Iterator<Item = String>, out: &mut Vec<u8>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if cell.contains(['"', ',', '\n', '\r']) {
            out.extend_from_slice(format!("\"{}\"", cell.replace('"', "\"\"")).as_bytes());
        } else {
            out.extend_from_slice(cell.as_bytes());
        }
    }
    out.push(b'\n');
}

fn cell(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.to_string(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::B(bytes) => STANDARD.encode(bytes),
        other => {
            let mut json = Vec::new();
            write_document(other, &mut json);
            String::from_utf8_lossy(&json).into_owned()
        }
    }
}

fn write_document(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => write_string(text, out),
        AttributeValue::N(number) => out.extend_from_slice(number.to_string().as_bytes()),
        AttributeValue::B(bytes) => write_string(&STANDARD.encode(bytes), out),
        AttributeValue::Bool(flag) => out.extend_from_slice(flag.to_string().as_bytes()),
        AttributeValue::Null => out.extend_from_slice(b"null"),
        AttributeValue::Ss(set) => write_list(set, |text, out| write_string(text, out), out),
        AttributeValue::Ns(set) => {
            write_list(
                set,
                |number, out| out.extend_from_slice(number.to_string().as_bytes()),
                out,
            );
        }
        AttributeValue::Bs(set) => {
            write_list(set, |bytes, out| write_string(&STANDARD.encode(bytes), out), out);
        }
        AttributeValue::L(list) => write_list(list, write_document, out),
        AttributeValue::M(map) => write_object(map, write_string, write_document, out),
    }
}

/// A key as people read it.
pub(crate) fn key_text(keys: &[String], item: &Item) -> String {
    let mut text = String::new();
    for name in keys {
        let value = item.get(name).map(cell).unwrap_or_default();
        let between = if text.is_empty() { "" } else { " / " };
        text.push_str(between);
        text.push_str(&value);
    }
    text
}
