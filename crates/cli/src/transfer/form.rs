//! Items as lines: plain JSON, DynamoDB JSON, CSV.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use keyloom_core::json::{write_item, write_string};
use keyloom_core::{AttributeValue, Item};

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

/// Writes a line of JSON.
pub(crate) fn write_json(form: Form, item: &Item, out: &mut Vec<u8>) {
    if form == Form::DynamodbJson {
        out.extend_from_slice(b"{\"Item\":");
        write_item(item, out);
        out.extend_from_slice(b"}\n");
    } else {
        write_map(item, out);
        out.push(b'\n');
    }
}

/// Writes a line of CSV; refuses an attribute that has no column.
pub(crate) fn write_csv(columns: &[String], item: &Item, out: &mut Vec<u8>) -> Result<(), String> {
    if let Some((name, _)) =
        item.iter().find(|(name, _)| !columns.iter().any(|known| known == name.as_str()))
    {
        return Err(format!("there is no column for `{name}`: name the columns with --columns"));
    }
    write_cells(columns.iter().map(|name| item.get(name).map(cell).unwrap_or_default()), out);
    Ok(())
}

/// Writes the cells of a line.
pub(crate) fn write_cells(cells: impl Iterator<Item = String>, out: &mut Vec<u8>) {
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
        AttributeValue::M(map) => write_map(map, out),
    }
}

fn write_list<T>(list: &[T], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, one) in list.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(one, out);
    }
    out.push(b']');
}

fn write_map(map: &Item, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (name, value)) in map.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write_document(value, out);
    }
    out.push(b'}');
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
