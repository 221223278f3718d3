//! Random values: keys from small domains, items around them.

use keyloom_core::{ScalarType, TableSchema};
use serde_json::{Value, json};

use super::schema::INDEXABLE;
use super::{Workload, set};

/// Strings whose order as bytes, as UTF-16 and as escaped keys differs.
const STRINGS: [&str; 9] =
    ["a", "b", "aa", "ab", "a\u{0}", "a\u{0}b", "\u{ff5e}", "\u{10000}", "Z"];
const NUMBERS: [&str; 10] =
    ["-100", "-1.5", "-1", "0", "0.001", "1", "2", "10", "100", "12345678901234567890.5"];
/// Base64 of 00, 00 00, 01 02, ff, ff 00.
const BINARIES: [&str; 5] = ["AA==", "AAA=", "AQI=", "/w==", "/wA="];

impl Workload {
    /// A value for a key attribute, in DynamoDB JSON.
    pub(super) fn scalar(&mut self, kind: ScalarType) -> Value {
        match kind {
            ScalarType::S => json!({"S": self.rng.pick(&STRINGS)}),
            ScalarType::N => json!({"N": self.rng.pick(&NUMBERS)}),
            ScalarType::B => json!({"B": self.rng.pick(&BINARIES)}),
        }
    }

    /// A key of the table; rarely one that does not fit.
    pub(super) fn key(&mut self, schema: &TableSchema) -> Value {
        let mut key = self.valid_key(schema);
        if self.rng.chance(1) {
            let wrong = match self.rng.below(3) {
                0 => ("pk", json!({"S": ""})),
                1 => ("pk", json!({"BOOL": true})),
                _ => ("extra", json!({"S": "x"})),
            };
            set(&mut key, wrong.0, wrong.1);
        }
        key
    }

    pub(super) fn valid_key(&mut self, schema: &TableSchema) -> Value {
        let mut key = json!({});
        for attribute in schema.key.attributes() {
            // Few partitions, so that queries find something.
            let value = match attribute.name.as_str() {
                "pk" => self.partition(attribute.kind),
                _ => self.scalar(attribute.kind),
            };
            set(&mut key, &attribute.name, value);
        }
        key
    }

    /// A value for a partition key: one of four, or always the same where items are large, so that
    /// they make pages of 1 MB.
    pub(super) fn partition(&mut self, kind: ScalarType) -> Value {
        match kind {
            ScalarType::S if self.large => json!({"S": "a"}),
            ScalarType::N if self.large => json!({"N": "0"}),
            ScalarType::B if self.large => json!({"B": "AA=="}),
            ScalarType::S => json!({"S": self.rng.pick(&["a", "aa", "a\u{0}", "\u{10000}"])}),
            ScalarType::N => json!({"N": self.rng.pick(&["-1", "0", "1", "10"])}),
            ScalarType::B => json!({"B": self.rng.pick(&["AA==", "AAA=", "AQI=", "/w=="])}),
        }
    }

    /// An item with a valid key; now and then an index key of the wrong type.
    pub(super) fn item(&mut self, schema: &TableSchema) -> Value {
        let mut item = self.valid_item(schema);
        if self.rng.chance(2) {
            let (name, _) = *self.rng.pick(&INDEXABLE);
            let value = self.rng.pick(&[json!({"BOOL": true}), json!({"S": ""})]).clone();
            set(&mut item, name, value);
        }
        item
    }

    pub(super) fn valid_item(&mut self, schema: &TableSchema) -> Value {
        let mut item = self.valid_key(schema);
        for (name, kind) in INDEXABLE {
            if self.rng.chance(70) {
                let value = self.scalar(kind);
                set(&mut item, name, value);
            }
        }
        for name in ["n", "tags", "l", "doc", "t"] {
            if self.rng.chance(60) {
                let value = self.payload(name);
                set(&mut item, name, value);
            }
        }
        item
    }

    /// A value for an attribute that is no key.
    pub(super) fn payload(&mut self, name: &str) -> Value {
        match name {
            "n" => json!({"N": self.rng.pick(&NUMBERS)}),
            "tags" => {
                let tags = ["red", "green", "blue", ""];
                let first = self.rng.below(tags.len());
                let count = 1 + self.rng.below(2);
                let chosen = tags.iter().cycle().skip(first).take(count);
                json!({"SS": chosen.collect::<Vec<_>>()})
            }
            "l" => json!({"L": [{"N": "1"}, {"S": "x"}, {"NULL": true}]}),
            "doc" => json!({"M": {"x": {"N": "1"}, "y": {"L": [{"BOOL": false}]}}}),
            _ => json!({"S": "t".repeat(self.text_length())}),
        }
    }

    fn text_length(&mut self) -> usize {
        let percent = self.rng.below(100);
        match percent {
            0..3 if self.large => 409_000 + self.rng.below(1200),
            0..80 if self.large => 150_000 + self.rng.below(200_000),
            0..12 => 900 + self.rng.below(5000),
            _ => self.rng.below(30),
        }
    }
}
