//! The items of tables: copied, made equal, compared; several parts of tables at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyloom::{AttributeValue, Item, ItemKey, TableClient};
use keyloom_core::json;
use keyloom_core::size::item_size;
use serde_json::Value as Json;

use super::checksum::Checksums;
use super::state::StateFile;
use crate::output::Failure;
use crate::progress::Progress;
use crate::transfer::form::key_text;
use crate::transfer::place::Target;

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// A table on both sides.
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) from: Target,
    pub(crate) to: Target,
    /// The attribute that says when an item expires: one that has may be gone on one side only.
    pub(crate) expiry: Option<String>,
}

/// How fast may be read.
pub(crate) struct Pace {
    megabytes_per_second: Option<u64>,
    bytes: AtomicU64,
    begun: Instant,
}

impl Pace {
    pub(crate) fn new(megabytes_per_second: Option<u64>) -> Self {
        Self { megabytes_per_second, bytes: AtomicU64::new(0), begun: Instant::now() }
    }

    /// Waits as long as these items take at the wanted rate.
    pub(crate) fn spend(&self, items: &[Item]) {
        let read: usize = items.iter().map(item_size).sum();
        let bytes = self.bytes.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
        if let Some(rate) = self.megabytes_per_second {
            let due = Duration::from_secs_f64(bytes as f64 / (rate as f64 * 1e6));
            std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
        }
    }
}

/// Work on parts of tables, several at once.
pub(crate) struct Crew<'a> {
    pub(crate) pairs: &'a [Pair],
    pub(crate) workers: usize,
    pub(crate) pace: &'a Pace,
}

impl Crew<'_> {
    /// Does something with every part of every table; `done` counts items for the progress.
    fn each(
        &self,
        what: &'static str,
        parts: Vec<(&Pair, usize)>,
        work: impl Fn(&Pair, usize, &AtomicU64, &AtomicBool) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let total: usize = self.pairs.iter().map(|pair| pair.from.items).sum();
        let queue = Mutex::new(VecDeque::from(parts));
        let (failed, is_over) = (Mutex::new(None), AtomicBool::new(false));
        let (done, busy) = (AtomicU64::new(0), AtomicU64::new(self.workers as u64));
        let run = || {
            while !is_over.load(Ordering::Relaxed) {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some((pair, part)) = next else { break };
                if let Err(failure) = work(pair, part, &done, &is_over) {
                    is_over.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                }
            }
            busy.fetch_sub(1, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(run);
            }
            let mut progress = Progress::new(what, total);
            while busy.load(Ordering::Relaxed) > 0 {
                std::thread::sleep(LOOK.min(Duration::from_millis(20)));
                progress.at(done.load(Ordering::Relaxed) as usize);
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Copies what the state says is not copied yet.
    pub(crate) fn copy(&self, state: &StateFile) -> Result<(), Failure> {
        let mut parts = Vec::new();
        for pair in self.pairs {
            let open = state.look(|state| {
                let segments = state.tables.get(&pair.name).map(|table| table.segments.as_slice());
                let open = segments.unwrap_or_default().iter().enumerate();
                open.filter(|(_, part)| !part.is_done).map(|(at, _)| at).collect::<Vec<_>>()
            });
            parts.extend(open.into_iter().map(|at| (pair, at)));
        }
        self.each("copying", parts, |pair, at, done, is_over| {
            let (mut segment, of) = state.look(|state| {
                let segments = state.tables.get(&pair.name).map(|table| table.segments.as_slice());
                let segments = segments.unwrap_or_default();
                (segments.get(at).cloned().unwrap_or_default(), segments.len())
            });
            done.fetch_add(segment.items, Ordering::Relaxed);
            let after = segment.after.as_ref().map(key_of).transpose()?;
            let scan = part_of(&pair.from.client, at, of).after(after);
            for page in scan.pages() {
                let page = page.map_err(|error| failed(pair, &error))?;
                self.pace.spend(&page.items);
                segment.items += page.items.len() as u64;
                done.fetch_add(page.items.len() as u64, Ordering::Relaxed);
                put(pair, page.items)?;
                segment.is_done = page.last_key.is_none();
                segment.after = page.last_key.as_ref().map(json_of);
                state.note(|state| {
                    let table = state.tables.get_mut(&pair.name);
                    if let Some(kept) = table.and_then(|table| table.segments.get_mut(at)) {
                        kept.clone_from(&segment);
                    }
                })?;
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
            Ok(())
        })?;
        state.change(|state| state.is_copied = true)
    }

    /// Makes the target equal item by item: what differs is written, what the source does not have is removed.
    pub(crate) fn repair(&self) -> Result<(), Failure> {
        let of = self.workers;
        let parts = self.pairs.iter().flat_map(|pair| (0..of).map(move |at| (pair, at))).collect();
        self.each("repairing", parts, |pair, at, done, _| {
            for page in part_of(&pair.from.client, at, of).consistent().pages() {
                let page = page.map_err(|error| failed(pair, &error))?;
                self.pace.spend(&page.items);
                done.fetch_add(page.items.len() as u64, Ordering::Relaxed);
                let there = found(pair, &pair.to.client, &page.items)?;
                let pairs = page.items.into_iter().zip(there);
                let differing = pairs.filter(|(item, there)| there.as_ref() != Some(item));
                put(pair, differing.map(|(item, _)| item).collect())?;
            }
            for page in part_of(&pair.to.client, at, of).consistent().pages() {
                let page = page.map_err(|error| failed(pair, &error))?;
                let there = found(pair, &pair.from.client, &page.items)?;
                for (item, _) in page.items.iter().zip(there).filter(|(_, there)| there.is_none()) {
                    let key = item_key(pair, item)?;
                    // What was found may be a moment old.
                    let source = pair.from.client.get_consistent(key.clone());
                    if source.map_err(|error| failed(pair, &error))?.is_none() {
                        pair.to.client.delete(key).map_err(|error| failed(pair, &error))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Counts and checksums of both sides, by table.
    pub(crate) fn compare(&self, now_s: u64) -> Result<BTreeMap<String, [Checksums; 2]>, Failure> {
        let of = self.workers;
        let parts = self.pairs.iter().flat_map(|pair| (0..of).map(move |at| (pair, at))).collect();
        let sums: Mutex<BTreeMap<String, [Checksums; 2]>> = Mutex::default();
        self.each("comparing", parts, |pair, at, done, _| {
            let partition = pair.from.keys.first().map_or("", String::as_str);
            let mut both = [Checksums::default(), Checksums::default()];
            for (side, sum) in [&pair.from, &pair.to].into_iter().zip(&mut both) {
                for page in part_of(&side.client, at, of).consistent().pages() {
                    let page = page.map_err(|error| failed(pair, &error))?;
                    self.pace.spend(&page.items);
                    if std::ptr::eq(side, &raw const pair.from) {
                        done.fetch_add(page.items.len() as u64, Ordering::Relaxed);
                    }
                    let lives = |item: &&Item| !has_expired(item, pair.expiry.as_deref(), now_s);
                    page.items.iter().filter(lives).for_each(|item| sum.add(partition, item));
                }
            }
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            let all = sums.entry(pair.name.clone()).or_default();
            all.iter_mut().zip(&both).for_each(|(all, part)| all.merge(part));
            Ok(())
        })?;
        Ok(sums.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether an item has expired by the caller's clock.
fn has_expired(item: &Item, attribute: Option<&str>, now_s: u64) -> bool {
    match attribute.and_then(|attribute| item.get(attribute)) {
        // A minute for clocks that differ.
        Some(AttributeValue::N(at)) => {
            at.to_string().parse::<f64>().is_ok_and(|at| at < now_s as f64 + 60.0)
        }
        _ => false,
    }
}

fn part_of(client: &TableClient, at: usize, of: usize) -> keyloom::RawScan<'_> {
    if of == 1 { client.scan() } else { client.scan().segment(at as u32, of as u32) }
}

/// Writes items; one that is refused is named.
pub(super) fn put(pair: &Pair, items: Vec<Item>) -> Result<(), Failure> {
    if items.is_empty() || pair.to.client.batch_put(items.iter().cloned()).is_ok() {
        return Ok(());
    }
    for item in items {
        let label = key_text(&pair.from.keys, &item);
        pair.to.client.put(item).map_err(|error| {
            Failure::refused(format_args!("table `{}`, item `{label}`: {error}", pair.name))
        })?;
    }
    Ok(())
}

/// The items of the same keys on one side.
fn found(pair: &Pair, client: &TableClient, items: &[Item]) -> Result<Vec<Option<Item>>, Failure> {
    let keys = items.iter().map(|item| item_key(pair, item)).collect::<Result<Vec<_>, _>>()?;
    client.batch_get(keys).map_err(|error| failed(pair, &error))
}

/// The key of an item.
pub(super) fn item_key(pair: &Pair, item: &Item) -> Result<ItemKey, Failure> {
    let value = |name: &String| item.get(name).cloned();
    match pair.from.keys.as_slice() {
        [partition] => value(partition).map(ItemKey::from),
        [partition, sort] => value(partition)
            .zip(value(sort))
            .map(|(partition, sort)| ItemKey::pair(partition, sort)),
        _ => None,
    }
    .ok_or_else(|| failed(pair, &"an item without its key was read"))
}

pub(super) fn failed(pair: &Pair, error: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format_args!("table `{}`: {error}", pair.name))
}

fn json_of(key: &Item) -> Json {
    let mut text = Vec::new();
    json::write_item(key, &mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

fn key_of(stored: &Json) -> Result<Item, Failure> {
    let text = stored.to_string();
    let parsed = json::parse(text.as_bytes()).and_then(|parsed| json::item_from(&parsed));
    parsed.map_err(|error| {
        Failure::refused(format_args!("the state of the copy: {}", error.message()))
    })
}
