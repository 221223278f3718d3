//! Items that a batch left, because nobody had capacity for them, or because the answer had no room.

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_core::Item;
use keyloom_core::limits::{MAX_BATCH_BYTES, MAX_ITEM_BYTES};
use keyloom_core::size::item_size;

use super::described::Described;
use super::touches::values;

/// What a batch gets of one partition at most.
const MAX_PARTITION_BYTES: usize = 1 << 20;

/// What an answer has read, measured once.
#[derive(Default)]
pub(super) struct Filled<'t> {
    bytes: usize,
    /// By table and partition; only of tables that are described.
    partitions: HashMap<(&'t str, Vec<u8>), usize>,
}

impl<'t> Filled<'t> {
    /// The items that an answer found: their tables, their keys, and what they take of its room.
    pub(super) fn with<'i>(
        found: impl Iterator<Item = (&'t str, &'i Item, usize)>,
        describe: impl Fn(&str) -> Option<Arc<Described>>,
    ) -> Self {
        let mut filled = Self::default();
        let mut tables: HashMap<&str, Option<Arc<Described>>> = HashMap::new();
        for (name, key, bytes) in found {
            filled.bytes += bytes;
            let table = tables.entry(name).or_insert_with(|| describe(name));
            if let Some(partition) = table.as_ref().and_then(|table| partition(table, key)) {
                *filled.partitions.entry((name, partition)).or_default() += bytes;
            }
        }
        filled
    }

    /// Whether there was room for one more, whatever its size. What was left all the same was refused.
    pub(super) fn has_room(&self, name: &'t str, key: &Item, table: &Described) -> bool {
        let own = partition(table, key).and_then(|own| self.partitions.get(&(name, own)));
        let beside = own.copied().unwrap_or(0);
        self.bytes + MAX_ITEM_BYTES <= MAX_BATCH_BYTES
            && beside + MAX_ITEM_BYTES <= MAX_PARTITION_BYTES
    }
}

fn partition(table: &Described, key: &Item) -> Option<Vec<u8>> {
    values(&table.schema.key.hash, key)
}

/// What an item takes of an answer's room, which counts whole items: one that a projection has cut may be as large as any.
pub(super) fn room_of(found: &Item, is_projected: bool) -> usize {
    if is_projected { MAX_ITEM_BYTES } else { item_size(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item;

    #[test]
    fn there_is_room_unless_the_answer_is_full_or_has_enough_of_the_partition() {
        let table = Described::example();
        let text = "x".repeat(300_000);
        let item = |pk: &str, sk: &str| item! { "pk" => pk, "sk" => sk, "text" => text.clone() };
        let has_room_for = |left: &Item, found: &[Item], is_projected: bool| {
            let found = found.iter().map(|item| ("t", item, room_of(item, is_projected)));
            Filled::with(found, |_| Some(Arc::clone(&table))).has_room("t", left, &table)
        };
        let (a, b) = (item! { "pk" => "A", "sk" => "9" }, item! { "pk" => "B", "sk" => "9" });
        let two = [item("A", "1"), item("A", "2"), item("B", "1")];
        assert!(has_room_for(&a, &two, false) && has_room_for(&b, &two, false));
        let three = [item("A", "1"), item("A", "2"), item("A", "3"), item("B", "1")];
        assert!(!has_room_for(&a, &three, false) && has_room_for(&b, &three, false));
        let full: Vec<Item> = (0..55).map(|number| item(&format!("{number}"), "1")).collect();
        assert!(!has_room_for(&a, &full, false));
        // Of each of these the answer shows a few bytes, and nobody says what they were.
        let small = |count| -> Vec<Item> {
            (0..count).map(|number| item! { "pk" => format!("{number}"), "sk" => "1" }).collect()
        };
        assert!(!has_room_for(&a, &small(42), true) && has_room_for(&a, &small(42), false));
        assert!(has_room_for(&a, &small(20), true));
    }
}
