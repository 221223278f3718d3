//! Writing JSON objects.

use keyloom_core::{AttributeValue, Item, Str, json};

/// An object under construction.
pub(crate) struct Object {
    out: Vec<u8>,
    empty: bool,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self { out: vec![b'{'], empty: true }
    }

    /// Starts a member; its value comes next.
    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        json::write_string(name, &mut self.out);
        self.out.push(b':');
        &mut self.out
    }

    pub(crate) fn string(&mut self, name: &str, value: &str) {
        json::write_string(value, self.name(name));
    }

    pub(crate) fn optional_string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.string(name, value);
        }
    }

    pub(crate) fn number(&mut self, name: &str, value: usize) {
        self.name(name).extend_from_slice(value.to_string().as_bytes());
    }

    pub(crate) fn boolean(&mut self, name: &str, value: bool) {
        self.name(name).extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(crate) fn item(&mut self, name: &str, item: &Item) {
        json::write_item(item, self.name(name));
    }

    /// `ExpressionAttributeNames`, unless there are none.
    pub(crate) fn names(&mut self, names: Option<&[(Str, Str)]>) {
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            self.object("ExpressionAttributeNames", |object| {
                for (short, long) in names {
                    object.string(short, long);
                }
            });
        }
    }

    /// `ExpressionAttributeValues`, unless there are none.
    pub(crate) fn values(&mut self, values: Option<&[(Str, AttributeValue)]>) {
        if let Some(values) = values.filter(|values| !values.is_empty()) {
            self.object("ExpressionAttributeValues", |object| {
                for (short, value) in values {
                    json::write_value(value, object.name(short));
                }
            });
        }
    }

    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::new();
        fill(&mut inner);
        let bytes = inner.finish();
        self.name(name).extend_from_slice(&bytes);
    }

    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        elements: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Self, T),
    ) {
        let out = self.name(name);
        out.push(b'[');
        let mut first = true;
        for element in elements {
            if !first {
                out.push(b',');
            }
            first = false;
            let mut inner = Self::new();
            fill(&mut inner, element);
            out.extend_from_slice(&inner.finish());
        }
        out.push(b']');
    }

    pub(crate) fn items<'i>(&mut self, name: &str, items: impl IntoIterator<Item = &'i Item>) {
        let out = self.name(name);
        out.push(b'[');
        for (position, item) in items.into_iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            json::write_item(item, out);
        }
        out.push(b']');
    }

    pub(crate) fn strings<'s>(&mut self, name: &str, texts: impl IntoIterator<Item = &'s str>) {
        let out = self.name(name);
        out.push(b'[');
        for (position, text) in texts.into_iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            json::write_string(text, out);
        }
        out.push(b']');
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}
