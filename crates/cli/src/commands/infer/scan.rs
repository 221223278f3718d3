//! Items of a table: all of them, or a sample from everywhere.
//!
//! A sample is some segments of a parallel scan, read to their end: partition keys are divided among segments by a hash, so
//! that each segment is a random share of them. The beginnings of segments would not do, because servers may keep
//! partitions in the order of their keys: they all begin with the same kind of item.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use keyloom_core::Item;
use keyloom_design::infer::Sampler;

use crate::output::Failure;
use crate::progress::Progress;
use crate::transfer::place::{Place, Target};

/// How many segments are read at once, and how many a sample begins with.
const READERS: u32 = 4;
/// How many segments are read at most where the first ones have too few items: a few partitions may have most of them.
const MAX_SEGMENTS: u32 = 32;
/// The most segments that a scan can have.
const MOST_SEGMENTS: u64 = 1_000_000;

/// Segments of a scan.
struct Part {
    /// How many the table is divided into.
    total: u32,
    chosen: Vec<u32>,
    /// The most items that are taken of one.
    most_of_each: u64,
}

/// Reads a table: as a whole, or a sample of so many items.
pub(super) fn read(
    place: &Place,
    target: &Target,
    (is_whole, sample): (bool, u64),
    sampler: &mut Sampler,
) -> Result<(), Failure> {
    let expected = if is_whole { target.items } else { sample as usize };
    let mut progress = Progress::new("reading items", expected);
    let mut take =
        |part: &Part, sampler: &mut Sampler| read_part(place, target, part, sampler, &mut progress);
    if is_whole {
        return take(&whole(sample), sampler);
    }
    let total = segments(target.items as u64, sample);
    let share = sample.div_ceil(u64::from(READERS));
    let mut order = spread(total, MAX_SEGMENTS);
    let rest = order.split_off(order.len().min(READERS as usize));
    take(&Part { total, chosen: order, most_of_each: share.saturating_mul(2) }, sampler)?;
    for chosen in rest.chunks(READERS as usize) {
        if sampler.read() >= sample / 2 {
            return Ok(());
        }
        take(&Part { total, chosen: chosen.to_vec(), most_of_each: share }, sampler)?;
    }
    if sampler.read() < sample / 2 && total > MAX_SEGMENTS {
        // Nearly all items are in a few partitions: the beginnings of larger segments reach some of them.
        let chosen = (0..MAX_SEGMENTS).collect();
        let most_of_each = sample.div_ceil(u64::from(MAX_SEGMENTS));
        return take(&Part { total: MAX_SEGMENTS, chosen, most_of_each }, sampler);
    }
    Ok(())
}

/// All segments. A table that had few items when they were last counted may have many by now, so that no segment is read
/// beyond what the whole table should have.
fn whole(most: u64) -> Part {
    Part { total: READERS, chosen: (0..READERS).collect(), most_of_each: most }
}

/// Into how many segments a table is divided, so that a few of them have the sample.
fn segments(items: u64, sample: u64) -> u32 {
    let wanted = items.saturating_mul(u64::from(READERS)) / sample.max(1);
    u32::try_from(wanted.clamp(u64::from(READERS), MOST_SEGMENTS)).unwrap_or(READERS)
}

/// So many of all segments, far from each other.
fn spread(total: u32, count: u32) -> Vec<u32> {
    let count = u64::from(count.min(total));
    let place = |at: u64| u32::try_from(at * u64::from(total) / count.max(1)).unwrap_or(0);
    // The first ones are spread as well as all of them.
    let step = (count / u64::from(READERS)).max(1);
    let mut order: Vec<u32> =
        (0..step).flat_map(|from| (from..count).step_by(step as usize)).map(place).collect();
    order.dedup();
    order
}

/// Reads segments, several at once.
fn read_part(
    place: &Place,
    target: &Target,
    part: &Part,
    sampler: &mut Sampler,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let (send, pages) = sync_channel::<Result<Vec<Item>, String>>(8);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                loop {
                    let Some(segment) = part.chosen.get(next.fetch_add(1, Ordering::Relaxed))
                    else {
                        return;
                    };
                    let mut left = part.most_of_each;
                    let scan = target.client.scan().segment(*segment, part.total);
                    let limit = usize::try_from(left).ok().filter(|limit| *limit < 1_000_000);
                    let scan = match limit {
                        Some(limit) => scan.limit(limit),
                        None => scan,
                    };
                    for page in scan.pages() {
                        let page = page.map(|page| page.items).map_err(|error| error.to_string());
                        let count = page.as_ref().map_or(u64::MAX, |items| items.len() as u64);
                        left = left.saturating_sub(count);
                        if send.send(page).is_err() {
                            return;
                        }
                        if left == 0 {
                            break;
                        }
                    }
                }
            });
        }
        drop(send);
        for page in pages {
            for item in page.map_err(|reason| place.failed(&reason))? {
                sampler.add(&item);
            }
            progress.at(sampler.read() as usize);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use keyloom::{Database, TableClient, item};
    use keyloom_design::infer::Sampler;

    use super::{READERS, read, segments, spread};
    use crate::endpoint::Reach;
    use crate::transfer::place::Place;

    #[test]
    fn a_table_that_has_more_items_than_it_says_is_not_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let database = Database::open(path).unwrap();
        let table = TableClient::new(database, "notes");
        table.create().unwrap();
        table
            .batch_put((0..400).map(|at| item! { "pk" => format!("A#{at}"), "sk" => "B" }))
            .unwrap();
        drop(table);
        let place = Place::open(path, &Reach::default(), false).unwrap();
        let mut target = place.table("notes").unwrap().unwrap();
        // AWS counts every six hours.
        target.items = 0;
        for (most, expected) in [(10, 40), (u64::MAX, 400)] {
            let mut sampler = Sampler::new(&target.keys);
            read(&place, &target, (true, most), &mut sampler).unwrap();
            assert_eq!(sampler.read(), expected, "of each segment at most {most}");
        }
    }

    #[test]
    fn segments_are_many_enough_and_spread() {
        assert_eq!(segments(1_000_000, 10_000), 400);
        assert_eq!(segments(0, 10_000), READERS);
        assert_eq!(segments(u64::MAX, 1), 1_000_000);
        assert_eq!(spread(400, 32).get(..5), Some(&[0, 100, 200, 300, 12][..]));
        for total in [4, 5, 31, 32, 33, 1_000_000] {
            let mut all = spread(total, 32);
            assert_eq!(all.len(), total.min(32) as usize, "{total}");
            assert!(all.iter().all(|one| *one < total), "{total}");
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), total.min(32) as usize, "{total}");
        }
    }
}
