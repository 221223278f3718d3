//! Tests: tables at random times, and changes between random times, against a log of all operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::image;
use keyloom_store::{Bytes, Direction, KeyRange, MemoryStore, Store};

use super::reader::ItemChange;
use super::{Changes, DAY_MS, Past, TableAt, number_at, record_key};
use crate::layout;

const TABLE: u32 = 3;
const HISTORY: u32 = 4;
const FIRST_MS: u64 = 20_000 * DAY_MS;
const SPAN_MS: u64 = 5 * DAY_MS;

/// What each item became, and when.
type Story = BTreeMap<Bytes, Vec<(u64, Option<Bytes>)>>;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A table whose items were written at random, as the executor of writes records it.
fn written(random: &mut Random, writes: u64) -> (Arc<MemoryStore>, Story) {
    let store = Arc::new(MemoryStore::new());
    let mut story = Story::new();
    let mut times: Vec<u64> = (0..writes).map(|_| FIRST_MS + random.below(SPAN_MS)).collect();
    times.sort_unstable();
    for (count, time_ms) in times.into_iter().enumerate() {
        let number = number_at(time_ms) + count as u64;
        // Of one length, so that none is the beginning of another.
        let item = Bytes::from(format!("item{:03}", random.below(60)));
        let value = (random.below(4) > 0).then(|| image_of(random, count));
        let versions = story.entry(item.clone()).or_default();
        let before = versions.last().and_then(|(_, value)| value.clone());
        versions.push((number, value.clone()));
        let mut transaction = store.begin(&[]).unwrap();
        let key = [layout::entries(TABLE).as_slice(), &item].concat();
        match value.clone() {
            Some(value) => transaction.put(key.into(), value),
            None => transaction.delete(key.into()),
        }
        let record = record_key(HISTORY, &item, number);
        let before = super::value(before.as_ref(), value.as_ref(), number);
        transaction.put(record.into(), before);
        transaction.commit().unwrap();
    }
    (store, story)
}

/// A stored item: often most of it is as in all others.
fn image_of(random: &mut Random, count: usize) -> Bytes {
    let text =
        if random.below(5) > 0 { "as ever ".repeat(20) } else { format!("{count} ").repeat(30) };
    let attributes = [("n".into(), (count as i64).into()), ("text".into(), text.as_str().into())];
    image::encode(&attributes.into_iter().collect()).into()
}

/// What an item was before a number.
fn was(versions: &[(u64, Option<Bytes>)], before: u64) -> Option<Bytes> {
    let last = versions.iter().rev().find(|(number, _)| *number < before);
    last.and_then(|(_, value)| value.clone())
}

fn table_at(story: &Story, before: u64) -> Vec<(Bytes, Bytes)> {
    let items = story.iter();
    items.filter_map(|(item, versions)| Some((item.clone(), was(versions, before)?))).collect()
}

fn random_past(random: &mut Random) -> Past {
    let time_ms = FIRST_MS - DAY_MS / 2 + random.below(SPAN_MS + DAY_MS);
    Past { history: HISTORY, before: number_at(time_ms / 1000 * 1000) }
}

#[test]
fn a_table_at_a_time_is_what_was_written_before_it() {
    let mut random = Random(1);
    let (store, story) = written(&mut random, 2000);
    let snapshot = store.snapshot().unwrap();
    for _ in 0..200 {
        let past = random_past(&mut random);
        let at = TableAt::past(snapshot.as_ref(), TABLE, past).unwrap();
        let items: Vec<(Bytes, Bytes)> = at.items().map(Result::unwrap).collect();
        assert_eq!(items, table_at(&story, past.before), "{past:?}");
    }
    let present = TableAt::present(snapshot.as_ref(), TABLE);
    assert_eq!(present.chunk(1000).unwrap(), table_at(&story, u64::MAX));
}

#[test]
fn chunks_are_the_same_items() {
    let mut random = Random(2);
    let (store, story) = written(&mut random, 1000);
    let snapshot = store.snapshot().unwrap();
    for size in [1, 2, 7, 60] {
        let past = random_past(&mut random);
        let mut at = TableAt::past(snapshot.as_ref(), TABLE, past).unwrap();
        let mut items = Vec::new();
        loop {
            let chunk = at.chunk(size).unwrap();
            let Some((last, _)) = chunk.last() else { break };
            assert_eq!(at.chunk(size).unwrap(), chunk, "it can be read again");
            at.advance(last.clone());
            items.extend(chunk);
        }
        assert_eq!(items, table_at(&story, past.before));
    }
}

#[test]
fn changes_between_two_times_are_those_that_were_made() {
    let mut random = Random(3);
    let (store, story) = written(&mut random, 400);
    let snapshot = store.snapshot().unwrap();
    for _ in 0..200 {
        let (one, other) = (random_past(&mut random), random_past(&mut random));
        let (from, to) = if one.before <= other.before { (one, other) } else { (other, one) };
        let changes = Changes::between(snapshot.as_ref(), TABLE, from, to).unwrap();
        let changes: Vec<ItemChange> = changes.items().map(Result::unwrap).collect();
        let expected = story.iter().filter_map(|(item, versions)| {
            let inside = |number: &u64| (from.before..to.before).contains(number);
            let last = versions.iter().rev().find(|(number, _)| inside(number))?;
            Some(ItemChange {
                item: item.clone(),
                old: was(versions, from.before),
                new: was(versions, to.before),
                written_ms: Past { history: HISTORY, before: last.0 }.time_ms(),
            })
        });
        assert_eq!(changes, expected.collect::<Vec<_>>(), "{from:?} {to:?}");
    }
}

/// The bed has differences, long chains of them and whole images in between.
#[test]
fn most_records_are_differences() {
    let (store, _) = written(&mut Random(5), 2000);
    let snapshot = store.snapshot().unwrap();
    let range = KeyRange::prefix(&layout::history(HISTORY));
    let values: Vec<Bytes> =
        snapshot.scan(range, Direction::Forward).map(|entry| entry.unwrap().1).collect();
    let differences = values.iter().filter(|value| image::is_difference(value)).count();
    assert!((500..900).contains(&differences), "{differences}");
}

/// A difference whose next image is gone, or is of another item, is damage.
#[test]
fn a_difference_from_what_is_not_there_is_an_error() {
    let one = image_of(&mut Random(6), 1);
    let difference = image::difference(&one, &one).unwrap();
    for item in ["item000", "item999"] {
        let (store, _) = written(&mut Random(4), 100);
        let mut transaction = store.begin(&[]).unwrap();
        let entry = [layout::entries(TABLE).as_slice(), item.as_bytes()].concat();
        transaction.delete(entry.into());
        let record = record_key(HISTORY, item.as_bytes(), number_at(FIRST_MS + SPAN_MS));
        transaction.put(record.into(), difference.clone().into());
        transaction.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let past = Past { history: HISTORY, before: number_at(FIRST_MS) };
        let at = TableAt::past(snapshot.as_ref(), TABLE, past).unwrap();
        assert!(at.chunk(1000).is_err(), "{item}");
    }
}

/// Damage is an error, not a table that never was.
#[test]
fn a_record_that_cannot_be_read_is_an_error() {
    let (store, _) = written(&mut Random(4), 100);
    let mut transaction = store.begin(&[]).unwrap();
    let mut key = record_key(HISTORY, b"item000", number_at(FIRST_MS + SPAN_MS));
    key.truncate(key.len() - 3);
    transaction.put(key.into(), Bytes::new());
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let past = Past { history: HISTORY, before: number_at(FIRST_MS) };
    let at = TableAt::past(snapshot.as_ref(), TABLE, past).unwrap();
    assert!(at.items().any(|item| item.is_err()));
    assert!(at.chunk(1000).is_err());
}
