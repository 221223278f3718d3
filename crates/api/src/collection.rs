//! `ItemCollectionMetrics`: which item collection a write touched, and how large it is.

use keyloom_core::{AttributeValue, Str};

use crate::JsonWriter;

const GIB: u64 = 1024 * 1024 * 1024;

/// An item collection that a write touched.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemCollectionMetrics {
    /// The table that the collection belongs to.
    pub table_name: Str,
    /// The partition key's name and value.
    pub key: (Str, AttributeValue),
    /// The size of its items and of their entries in local indexes.
    pub bytes: u64,
}

impl ItemCollectionMetrics {
    /// Writes `ItemCollectionMetrics`, if there are any.
    pub(crate) fn write(json: &mut JsonWriter, metrics: Option<&Self>) {
        if let Some(metrics) = metrics {
            json.structure("ItemCollectionMetrics", |json| metrics.write_members(json));
        }
    }

    fn write_members(&self, json: &mut JsonWriter) {
        let (name, value) = &self.key;
        json.structure("ItemCollectionKey", |json| json.attribute(name, value));
        // AWS estimates between two whole gigabytes; ours is measured, and shown in the same form.
        let lower = self.bytes / GIB;
        let range = format_args!("[{:.1},{:.1}]", lower as f64, (lower + 1) as f64);
        json.display("SizeEstimateRangeGB", range);
    }
}

/// Writes the collections of a batch or transaction, by table.
pub(crate) fn write_collections(json: &mut JsonWriter, collections: &[ItemCollectionMetrics]) {
    if collections.is_empty() {
        return;
    }
    json.structure("ItemCollectionMetrics", |json| {
        let mut names: Vec<&str> = collections.iter().map(|one| one.table_name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let of_table = collections.iter().filter(|metrics| metrics.table_name == name);
            json.list(name, of_table, |json, metrics| {
                json.nested(|json| metrics.write_members(json));
            });
        }
    });
}
