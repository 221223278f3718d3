//! Goes through all entries of a store with several workers.
//!
//! Nobody knows beforehand where the entries are, so the keys are shared out while they are read: a worker that has
//! nothing to do takes the upper half of what another one still has before it.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_store::{Bytes, Direction, Expected, KeyRange, Store, StoreError};
use parking_lot::{Condvar, Mutex, MutexGuard};

/// How much is read together.
pub(super) const CHUNK: Expected = Expected { entries: 1000, bytes: 1 << 20 };

/// Entries that were read together.
pub(super) type Chunk = Vec<(Bytes, Bytes)>;

/// How often a half of a part is halved again to find one with entries in it.
const HALVINGS: usize = 24;

/// A range of keys: behind the first, up to the last, which belongs to it. None is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) after: Option<Bytes>,
    pub(super) end: Option<Bytes>,
}

impl Part {
    pub(super) fn range(&self) -> KeyRange {
        KeyRange {
            lower: self.after.clone().map_or(Bound::Unbounded, Bound::Excluded),
            upper: self.end.clone().map_or(Bound::Unbounded, Bound::Included),
        }
    }

    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.end.as_ref().is_none_or(|end| key <= end.as_ref())
    }
}

/// The number of a part.
type Id = usize;

/// The parts that are left.
pub(super) struct Parts {
    left: BTreeMap<Id, Worked>,
    next: Id,
    /// Whether a worker has failed: the others stop.
    is_stopped: bool,
}

struct Worked {
    part: Part,
    /// Whether a worker has it.
    is_taken: bool,
    /// Whether there was more than a chunk in it when it was last looked at.
    is_long: bool,
}

impl Parts {
    pub(super) fn left(&self) -> impl Iterator<Item = &Part> {
        self.left.values().map(|worked| &worked.part)
    }

    fn add(&mut self, part: Part, is_taken: bool) -> Id {
        self.next += 1;
        self.left.insert(self.next, Worked { part, is_taken, is_long: false });
        self.next
    }

    /// Notes that the entries of a part up to the last of these were dealt with, and leaves those that belong to the part
    /// still. The part is over if there are none, or if others have taken what follows.
    pub(super) fn advance(&mut self, id: Id, chunk: &mut Chunk) -> Option<Part> {
        let worked = self.left.get_mut(&id)?;
        let (part, read) = (worked.part.clone(), chunk.len());
        chunk.retain(|(key, _)| part.has(key));
        match chunk.last() {
            Some((last, _)) if chunk.len() == read => {
                worked.part.after = Some(last.clone());
                let bytes: usize = chunk.iter().map(|(key, value)| key.len() + value.len()).sum();
                worked.is_long = read >= CHUNK.entries || bytes >= CHUNK.bytes;
            }
            _ => drop(self.left.remove(&id)),
        }
        Some(part)
    }
}

/// A walk through a store.
pub(super) struct Walk<'a> {
    store: &'a dyn Store,
    parts: Mutex<Parts>,
    changed: Condvar,
    /// Its last key, as far as that is known.
    last: Bytes,
}

impl<'a> Walk<'a> {
    /// Goes through these parts.
    pub(super) fn new(store: &'a dyn Store, parts: Vec<Part>) -> Result<Self, StoreError> {
        let snapshot = store.late_snapshot()?;
        let last = snapshot.scan(KeyRange::all(), Direction::Backward).next().transpose()?;
        let mut left = Parts { left: BTreeMap::new(), next: 0, is_stopped: false };
        for part in parts {
            left.add(part, false);
        }
        let last = last.map(|(key, _)| key.into_bytes()).unwrap_or_default();
        Ok(Self { store, parts: Mutex::new(left), changed: Condvar::new(), last })
    }

    /// Has so many workers work until nothing is left or one of them fails.
    pub(super) fn run<T: Send, E: Send + From<StoreError>>(
        &self,
        workers: usize,
        work: impl Fn() -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let worker = || {
            let _stop = StopOnFailure(self);
            work()
        };
        let done: Vec<Result<T, E>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(worker)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T, E>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        done.into_iter().collect()
    }

    /// The parts, for their owner to advance.
    pub(super) fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock()
    }

    /// Says that parts have advanced.
    pub(super) fn tell(&self) {
        self.changed.notify_all();
    }

    /// A part to work on; none if nothing is left.
    pub(super) fn take(&self) -> Result<Option<Id>, StoreError> {
        let mut parts = self.parts.lock();
        loop {
            if parts.is_stopped || parts.left.is_empty() {
                return Ok(None);
            }
            if let Some((id, worked)) = parts.left.iter_mut().find(|(_, worked)| !worked.is_taken) {
                worked.is_taken = true;
                return Ok(Some(*id));
            }
            let Some((&id, worked)) = parts.left.iter_mut().find(|(_, worked)| worked.is_long)
            else {
                self.changed.wait(&mut parts);
                continue;
            };
            worked.is_long = false;
            let whole = worked.part.clone();
            let cut = MutexGuard::unlocked(&mut parts, || self.cut(&whole))?;
            if let Some(cut) = cut
                && let Some(worked) = parts.left.get_mut(&id)
                // Its worker has gone on meanwhile.
                && worked.part.after.as_ref().is_none_or(|after| *after < cut)
                && worked.part.has(&cut)
            {
                let end = worked.part.end.replace(cut.clone());
                return Ok(Some(parts.add(Part { after: Some(cut), end }, true)));
            }
        }
    }

    /// What is left of a part, and its next entries; none if it is over.
    pub(super) fn read(&self, id: Id) -> Result<Option<(Part, Chunk)>, StoreError> {
        let parts = self.parts.lock();
        let Some(worked) = parts.left.get(&id).filter(|_| !parts.is_stopped) else {
            return Ok(None);
        };
        let part = worked.part.clone();
        drop(parts);
        let snapshot = self.store.late_snapshot()?;
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        for entry in snapshot.page(part.range(), Direction::Forward, CHUNK) {
            let (key, value) = entry?;
            let key = key.into_bytes();
            bytes += key.len() + value.len();
            chunk.push((key, value));
            if chunk.len() >= CHUNK.entries || bytes >= CHUNK.bytes {
                break;
            }
        }
        drop(snapshot);
        Ok(Some((part, chunk)))
    }

    /// Where a part can be cut so that there are entries behind the cut.
    fn cut(&self, part: &Part) -> Result<Option<Bytes>, StoreError> {
        let after = part.after.clone().unwrap_or_default();
        let mut end = part.end.clone().unwrap_or_else(|| self.last.clone());
        for _ in 0..HALVINGS {
            let Some(middle) = middle(&after, &end) else { return Ok(None) };
            let upper = Part { after: Some(middle.clone()), end: part.end.clone() };
            if self.store.late_snapshot()?.scan(upper.range(), Direction::Forward).next().is_some()
            {
                return Ok(Some(middle));
            }
            end = middle;
        }
        Ok(None)
    }
}

/// Stops all workers when one of them ends early, by an error or a panic.
struct StopOnFailure<'a, 'b>(&'a Walk<'b>);

impl Drop for StopOnFailure<'_, '_> {
    fn drop(&mut self) {
        let mut parts = self.0.parts.lock();
        // A worker ends well only when nothing is left.
        parts.is_stopped |= !parts.left.is_empty();
        drop(parts);
        self.0.changed.notify_all();
    }
}

/// A key about half way between two, less than the second; none if they are too close.
fn middle(after: &[u8], end: &[u8]) -> Option<Bytes> {
    let common = after.iter().zip(end).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *to = *from;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(after), number(end));
    let middle = low + high.checked_sub(low)? / 2;
    let common = end.get(..common)?;
    (middle > low).then(|| [common, &middle.to_be_bytes()].concat().into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use keyloom_store::MemoryStore;

    use super::*;

    #[test]
    fn a_middle_lies_between() {
        for (after, end) in
            [(&b""[..], &b"b"[..]), (b"a", b"b"), (b"user#0001", b"user#0009"), (b"a", b"a\x01")]
        {
            let middle = middle(after, end).unwrap();
            assert!(
                after < middle.as_ref() && middle.as_ref() < end,
                "{after:?} {middle:?} {end:?}"
            );
        }
        assert_eq!(middle(b"a", b"a"), None);
        assert_eq!(middle(b"abcdefgh\x00", b"abcdefgh\x00\x00\x00\x00\x00\x00\x00\x00\x01"), None);
    }

    #[test]
    fn workers_go_through_everything_once_and_share_it() {
        let store = MemoryStore::new();
        // Most of it close together.
        let key = |n: usize| match n % 100 {
            0 => format!("other {n}"),
            _ => format!("table 1/user#{n:08}"),
        };
        for first in (0..60_000).step_by(1000) {
            let mut transaction = store.begin(&[]).unwrap();
            (first..first + 1000).for_each(|n| transaction.put(key(n).into(), "v".into()));
            transaction.commit().unwrap();
        }
        let walk = Walk::new(&store, vec![Part::default()]).unwrap();
        let begun = AtomicUsize::new(0);
        let work = || -> Result<Vec<Bytes>, StoreError> {
            let mut found = Vec::new();
            while let Some(id) = walk.take()? {
                begun.fetch_add(1, Ordering::SeqCst);
                while let Some((_, mut chunk)) = walk.read(id)? {
                    walk.parts().advance(id, &mut chunk);
                    walk.tell();
                    found.extend(chunk.into_iter().map(|(key, _)| key));
                    // The first goes on when another one has taken a half from it.
                    let end = Instant::now() + Duration::from_mins(1);
                    while begun.load(Ordering::SeqCst) < 2 && Instant::now() < end {
                        std::thread::yield_now();
                    }
                }
            }
            Ok(found)
        };
        let mut found: Vec<Bytes> = walk.run(4, work).unwrap().concat();
        found.sort();
        let mut expected: Vec<Bytes> = (0..60_000).map(|n| key(n).into()).collect();
        expected.sort();
        assert!(found == expected, "{} of {} entries", found.len(), expected.len());
        assert!(begun.into_inner() > 1, "one worker did it all");
    }

    #[test]
    fn a_worker_that_fails_stops_the_others() {
        let store = MemoryStore::new();
        let mut transaction = store.begin(&[]).unwrap();
        (0..5000).for_each(|n| transaction.put(format!("{n:05}").into(), "v".into()));
        transaction.commit().unwrap();
        let walk = Walk::new(&store, vec![Part::default()]).unwrap();
        let work = || -> Result<(), StoreError> {
            match walk.take()? {
                Some(_) => Err(StoreError::Limit { detail: "on purpose".into() }),
                None => Ok(()),
            }
        };
        assert!(walk.run(3, work).is_err());
    }
}
