//! Writes JSON objects straight into a byte buffer.

use std::fmt::Display;
use std::io::Write as _;

use keyloom_core::image::Row;
use keyloom_core::{AttributeValue, Item, Result, json};

/// A JSON object being written. Members appear in the order of the calls.
#[derive(Debug)]
pub struct JsonWriter {
    out: Vec<u8>,
    /// Whether the object being written has no member yet.
    first: bool,
}

impl JsonWriter {
    /// Starts the outermost object.
    pub fn object() -> Self {
        Self::object_of(0)
    }

    /// Starts the outermost object, with room for so much beside a few small members.
    pub fn object_of(bytes: usize) -> Self {
        let mut out = Vec::with_capacity(256 + bytes);
        out.push(b'{');
        Self { out, first: true }
    }

    /// Ends the outermost object.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    /// Writes a member's name and colon.
    pub fn key(&mut self, name: &str) -> &mut Self {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        json::write_string(name, &mut self.out);
        self.out.push(b':');
        self
    }

    /// The buffer, for writers that append a value after [`JsonWriter::key`].
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// A member that is a string.
    pub fn string(&mut self, name: &str, value: &str) {
        self.key(name);
        json::write_string(value, &mut self.out);
    }

    /// A member that is a string, unless it is absent.
    pub fn optional_string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.string(name, value);
        }
    }

    /// A member that is a whole number.
    pub fn integer(&mut self, name: &str, value: impl Into<i128>) {
        self.key(name);
        self.out.extend_from_slice(value.into().to_string().as_bytes());
    }

    /// A number that may have a fraction, such as capacity units or seconds with milliseconds.
    pub fn decimal(&mut self, name: &str, value: f64) {
        self.key(name);
        self.out.extend_from_slice(format!("{value:?}").as_bytes());
    }

    /// A point in time, in seconds with milliseconds.
    pub fn seconds(&mut self, name: &str, ms: u64) {
        self.decimal(name, ms as f64 / 1000.0);
    }

    /// A point in time, unless it is absent.
    pub fn optional_seconds(&mut self, name: &str, ms: Option<u64>) {
        if let Some(ms) = ms {
            self.seconds(name, ms);
        }
    }

    /// A member that is a boolean.
    pub fn boolean(&mut self, name: &str, value: bool) {
        self.key(name);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// A member that is a boolean, unless it is absent.
    pub fn optional_boolean(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.boolean(name, value);
        }
    }

    /// A member that is written only if it is true.
    pub fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.boolean(name, true);
        }
    }

    /// A member that is an item.
    pub fn item(&mut self, name: &str, value: &Item) {
        self.key(name);
        json::write_item(value, &mut self.out);
    }

    /// A member that is an item, unless it is absent.
    pub fn optional_item(&mut self, name: &str, value: Option<&Item>) {
        if let Some(value) = value {
            self.item(name, value);
        }
    }

    /// A member that is a number, or other JSON that its type prints.
    pub fn display(&mut self, name: &str, value: impl Display) {
        self.key(name);
        // Writing to a vector does not fail.
        let _ = write!(self.out, "{value}");
    }

    /// A member that is a row.
    pub fn row(&mut self, name: &str, row: &Row) -> Result<()> {
        self.key(name);
        row.write_json(&mut self.out)
    }

    /// A member that is a list of rows.
    pub fn rows(&mut self, name: &str, rows: &[Row]) -> Result<()> {
        self.try_list(name, rows, |json, row| row.write_json(&mut json.out))
    }

    /// A member that is a list of objects, each with its `Item` if there is one.
    pub fn optional_rows(&mut self, name: &str, rows: &[Option<Row>]) -> Result<()> {
        self.try_list(name, rows, |json, row| {
            json.try_nested(|json| row.as_ref().map_or(Ok(()), |row| json.row("Item", row)))
        })
    }

    /// A member that is a list, of which an element may fail; nothing is written behind that one.
    pub fn try_list<T>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        self.list(name, values, |json, value| {
            if outcome.is_ok() {
                outcome = write(json, value);
            }
        });
        outcome
    }

    /// An object as a list element, of which a member may fail.
    pub fn try_nested(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        self.nested(|json| outcome = write(json));
        outcome
    }

    /// An attribute value, tagged with its type.
    pub fn attribute(&mut self, name: &str, value: &AttributeValue) {
        self.key(name);
        json::write_value(value, &mut self.out);
    }

    /// A member that was stored as JSON.
    pub fn stored(&mut self, name: &str, value: &serde_json::Value) {
        self.key(name);
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    /// Members that were stored as JSON, under their names.
    pub fn stored_members<'a>(
        &mut self,
        members: impl IntoIterator<Item = (&'a String, &'a serde_json::Value)>,
    ) {
        for (name, value) in members {
            self.stored(name, value);
        }
    }

    /// A member that is an object.
    pub fn structure(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.key(name);
        self.nested(write);
    }

    /// An object as a list element.
    pub fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        self.first = true;
        write(self);
        self.out.push(b'}');
        self.first = false;
    }

    /// A member that is a list; `write` appends one element.
    pub fn list<T>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Self, T),
    ) {
        self.key(name);
        self.elements(values, write);
    }

    /// A member that is a list of objects; `write` writes the members of one.
    pub fn objects<T>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.list(name, values, |json, value| json.nested(|json| write(json, value)));
    }

    /// A list as a value of its own.
    pub fn elements<T>(
        &mut self,
        values: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.out.push(b'[');
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(self, value);
        }
        self.out.push(b']');
        self.first = false;
    }

    /// A member that is a list of strings.
    pub fn strings<S: AsRef<str>>(&mut self, name: &str, values: impl IntoIterator<Item = S>) {
        self.list(name, values, |json, value| json::write_string(value.as_ref(), &mut json.out));
    }

    /// A member that is a list of items.
    pub fn items<'a>(&mut self, name: &str, items: impl IntoIterator<Item = &'a Item>) {
        self.list(name, items, |json, item| json::write_item(item, &mut json.out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_members_at_every_depth() {
        let mut json = JsonWriter::object();
        json.string("a", "x\"y");
        json.structure("b", |json| {
            json.integer("c", 1);
            json.boolean("d", true);
        });
        json.strings("e", ["f", "g"]);
        json.structure("h", |_| {});
        json.list("i", [1, 2], |json, n| json.nested(|json| json.decimal("n", f64::from(n))));
        let text = String::from_utf8(json.finish()).unwrap();
        assert_eq!(
            text,
            r#"{"a":"x\"y","b":{"c":1,"d":true},"e":["f","g"],"h":{},"i":[{"n":1.0},{"n":2.0}]}"#
        );
    }
}
