//! Items that a batch left, because nobody had capacity for them, or because the answer had no room.

use keyloom_core::Item;
use keyloom_core::limits::{MAX_BATCH_BYTES, MAX_ITEM_BYTES};
use keyloom_core::size::item_size;

use super::described::Described;
use super::exchange::Point;
use super::touches::values;

/// What a batch gets of one partition at most.
const MAX_PARTITION_BYTES: usize = 1 << 20;

/// Whether an answer that found these items, each with its table, had room for one more. An item that it left all the
/// same was refused.
pub(super) fn has_room<'i>(
    found: impl Iterator<Item = (&'i str, &'i Item)>,
    left: &Point<'_>,
    table: &Described,
) -> bool {
    let partition = |item: &Item| values(&table.schema.key.hash, item);
    let own = partition(left.key);
    let (mut all, mut beside) = (0, 0);
    for (name, item) in found {
        let bytes = item_size(item);
        all += bytes;
        if name == left.table && partition(item) == own {
            beside += bytes;
        }
    }
    all + MAX_ITEM_BYTES <= MAX_BATCH_BYTES && beside + MAX_ITEM_BYTES <= MAX_PARTITION_BYTES
}

#[cfg(test)]
mod tests {
    use keyloom_core::capacity::ReadMode;

    use super::super::exchange::State;
    use super::*;
    use crate::item;

    #[test]
    fn there_is_room_unless_the_answer_is_full_or_has_enough_of_the_partition() {
        let table = Described::example();
        let text = "x".repeat(300_000);
        let item = |pk: &str, sk: &str| item! { "pk" => pk, "sk" => sk, "text" => text.clone() };
        let has_room_for = |left: &Item, found: &[Item]| {
            let point = Point::read("t", left, ReadMode::Eventual, State::Unknown);
            has_room(found.iter().map(|item| ("t", item)), &point, &table)
        };
        let (a, b) = (item! { "pk" => "A", "sk" => "9" }, item! { "pk" => "B", "sk" => "9" });
        let two = [item("A", "1"), item("A", "2"), item("B", "1")];
        assert!(has_room_for(&a, &two) && has_room_for(&b, &two));
        let three = [item("A", "1"), item("A", "2"), item("A", "3"), item("B", "1")];
        assert!(!has_room_for(&a, &three) && has_room_for(&b, &three));
        let full: Vec<Item> = (0..55).map(|number| item(&format!("{number}"), "1")).collect();
        assert!(!has_room_for(&a, &full));
    }
}
