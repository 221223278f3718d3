//! Counts and checksums of tables, by ranges of their partition keys' hashes.
//!
//! A checksum is a sum over items, so the order in which two databases return them does not matter; how a number
//! is written or a set is sorted does not matter either.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use keyloom::{AttributeValue, Item};

/// How many ranges a table is compared by.
pub(crate) const RANGES: usize = 64;

/// Count and checksum of each range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksums(Vec<(u64, u64)>);

impl Default for Checksums {
    fn default() -> Self {
        Self(vec![(0, 0); RANGES])
    }
}

impl Checksums {
    /// Counts an item of a table whose partition key is called so.
    pub(crate) fn add(&mut self, partition: &str, item: &Item) {
        let mut hasher = DefaultHasher::new();
        if let Some(value) = item.get(partition) {
            hash_value(value, &mut hasher);
        }
        let range = (hasher.finish() % RANGES as u64) as usize;
        if let Some((count, sum)) = self.0.get_mut(range) {
            *count += 1;
            *sum = sum.wrapping_add(hash_item(item));
        }
    }

    /// Takes what another part of the same table has.
    pub(crate) fn merge(&mut self, other: &Self) {
        for ((count, sum), (more, further)) in self.0.iter_mut().zip(&other.0) {
            *count += more;
            *sum = sum.wrapping_add(*further);
        }
    }

    /// How many items there are.
    pub(crate) fn items(&self) -> u64 {
        self.0.iter().map(|(count, _)| count).sum()
    }

    /// How many ranges differ.
    pub(crate) fn different(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).filter(|(one, another)| one != another).count()
    }
}

fn hash_item(item: &Item) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_map(item, &mut hasher);
    hasher.finish()
}

fn hash_map(map: &Item, hasher: &mut DefaultHasher) {
    let mut members: Vec<(&str, &AttributeValue)> =
        map.iter().map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_by_key(|(name, _)| *name);
    hasher.write_usize(members.len());
    for (name, value) in members {
        hash_bytes(name.as_bytes(), hasher);
        hash_value(value, hasher);
    }
}

fn hash_bytes(bytes: &[u8], hasher: &mut DefaultHasher) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// The elements of a set in one order.
fn hash_set(kind: u8, mut elements: Vec<Vec<u8>>, hasher: &mut DefaultHasher) {
    elements.sort();
    hasher.write_u8(kind);
    hasher.write_usize(elements.len());
    for element in &elements {
        hash_bytes(element, hasher);
    }
}

fn hash_value(value: &AttributeValue, hasher: &mut DefaultHasher) {
    let mut scalar = |kind: u8, bytes: &[u8]| {
        hasher.write_u8(kind);
        hash_bytes(bytes, hasher);
    };
    match value {
        AttributeValue::S(text) => scalar(b'S', text.as_bytes()),
        AttributeValue::N(number) => scalar(b'N', number.to_string().as_bytes()),
        AttributeValue::B(bytes) => scalar(b'B', bytes),
        AttributeValue::Bool(flag) => scalar(b'?', &[u8::from(*flag)]),
        AttributeValue::Null => scalar(b'0', &[]),
        AttributeValue::Ss(set) => {
            hash_set(b's', set.iter().map(|text| text.as_bytes().to_vec()).collect(), hasher);
        }
        AttributeValue::Ns(set) => {
            let numbers = set.iter().map(|number| number.to_string().into_bytes());
            hash_set(b'n', numbers.collect(), hasher);
        }
        AttributeValue::Bs(set) => {
            hash_set(b'b', set.clone(), hasher);
        }
        AttributeValue::L(list) => {
            hasher.write_u8(b'L');
            hasher.write_usize(list.len());
            for element in list {
                hash_value(element, hasher);
            }
        }
        AttributeValue::M(map) => {
            hasher.write_u8(b'M');
            hash_map(map, hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::json;

    use super::*;

    fn item(text: &str) -> Item {
        json::item_from(&json::parse(text.as_bytes()).unwrap_or(json::Json::Null))
            .unwrap_or_default()
    }

    fn sums(items: &[&str]) -> Checksums {
        let mut sums = Checksums::default();
        for text in items {
            sums.add("id", &item(text));
        }
        sums
    }

    #[test]
    fn the_order_of_items_attributes_and_sets_does_not_matter_and_everything_else_does() {
        let one = r#"{"id":{"S":"a"},"n":{"N":"1.0"},"s":{"SS":["x","y"]},"m":{"M":{"p":{"BOOL":true},"q":{"NULL":true}}}}"#;
        let same = r#"{"m":{"M":{"q":{"NULL":true},"p":{"BOOL":true}}},"s":{"SS":["y","x"]},"n":{"N":"1"},"id":{"S":"a"}}"#;
        let other = r#"{"id":{"S":"b"}}"#;
        assert_eq!(sums(&[one, other]), sums(&[other, same]));
        assert_eq!(sums(&[one, other]).items(), 2);
        for changed in [
            r#"{"id":{"S":"a"},"n":{"N":"2"},"s":{"SS":["x","y"]},"m":{"M":{"p":{"BOOL":true},"q":{"NULL":true}}}}"#,
            r#"{"id":{"S":"a"},"n":{"S":"1"},"s":{"SS":["x","y"]},"m":{"M":{"p":{"BOOL":true},"q":{"NULL":true}}}}"#,
            r#"{"id":{"S":"a"},"n":{"N":"1"},"s":{"SS":["x"]},"m":{"M":{"p":{"BOOL":true},"q":{"NULL":true}}}}"#,
            r#"{"id":{"S":"a"},"n":{"N":"1"},"s":{"L":[{"S":"x"},{"S":"y"}]},"m":{"M":{"p":{"BOOL":true},"q":{"NULL":true}}}}"#,
            r#"{"id":{"S":"a"},"n":{"N":"1"},"s":{"SS":["x","y"]},"m":{"M":{"p":{"BOOL":false},"q":{"NULL":true}}}}"#,
        ] {
            assert_eq!(sums(&[one, other]).different(&sums(&[changed, other])), 1, "{changed}");
        }
        assert_eq!(sums(&[one, one]).different(&sums(&[one])), 1);
    }
}
