//! Copies a whole database from one store to another, of any kind.
//!
//! A pass goes through both stores, several workers at once ([`walk`]), and writes the differences, so it can be
//! interrupted and repeated at any time. Until the copy is complete, the target has a mark that prevents it from being
//! opened as a database. The mark also holds the progress of the current pass, and is written in the same commit as the
//! copied entries.
//!
//! If the source is in use, passes are repeated until it no longer is; the last pass makes both equal, which is
//! verified by a checksum of every range.

mod walk;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_store::{Bytes, CommitError, Direction, KeyRange, Store, StoreError, Submission};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::walk::{CHUNK, Chunk, Part, Walk};
use crate::counting;
use crate::layout::{self, Meaning};

/// How many chunks of a worker are under way to the target.
const UNDER_WAY: usize = 4;

/// A copy that is being made.
pub struct Copy<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    mark: Mark,
    workers: usize,
}

/// What is stored in the target of a copy that is not finished.
#[derive(Serialize, Deserialize)]
struct Mark {
    /// The name of the source.
    source: String,
    /// The last key that the pass under way has dealt with, where one worker made it.
    after: Option<String>,
    /// What the pass under way has before it: the key behind which a part begins, and its last one.
    #[serde(default)]
    parts: Vec<(Option<String>, Option<String>)>,
}

/// What a pass has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass {
    /// Entries of the source that were read.
    pub entries: u64,
    /// The bytes of these entries.
    pub bytes: u64,
    /// Entries that were missing in the target or differed.
    pub written: u64,
    /// Entries of the target that the source does not have.
    pub removed: u64,
    /// Whether it went through the whole source, not only through the rest of it.
    pub is_whole: bool,
}

/// What was found by comparing source and target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Entries of the source.
    pub entries: u64,
    /// Ranges of keys, each with a checksum of its own.
    pub ranges: usize,
    /// The beginnings of the ranges that differ.
    pub different: Vec<Vec<u8>>,
}

/// Why a copy cannot go on.
#[derive(Debug)]
pub enum CopyError {
    /// A store failed.
    Store(StoreError),
    /// The target must not be written.
    Refused(String),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Refused(reason) => f.write_str(reason),
        }
    }
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<'a> Copy<'a> {
    /// Begins a copy from the store of this name, or resumes it. Refuses a target that has something
    /// else.
    pub fn begin(
        from: &'a dyn Store,
        to: &'a dyn Store,
        source: &str,
        workers: usize,
    ) -> Result<Self, CopyError> {
        if unfinished(from)?.is_some() {
            let reason = "the source is itself an unfinished copy: finish it first";
            return Err(CopyError::Refused(reason.into()));
        }
        let copy = |mark| Self { from, to, mark, workers };
        match unfinished(to)? {
            Some(mark) if mark.source == source => return Ok(copy(mark)),
            Some(mark) => {
                let reason = format!("the target holds an unfinished copy of {}", mark.source);
                return Err(CopyError::Refused(reason));
            }
            None => {}
        }
        if to.snapshot()?.scan(KeyRange::all(), Direction::Forward).next().is_some() {
            let reason = "the target is not empty, and nothing says that it is a copy of the source: \
                          name an empty one";
            return Err(CopyError::Refused(reason.into()));
        }
        let copy = copy(Mark { source: source.into(), after: None, parts: Vec::new() });
        copy.change(Some(copy.mark.encode()))?;
        Ok(copy)
    }

    /// Makes the target what the source is: from where the last pass was stopped, or everything.
    /// `progress` is called after each chunk.
    pub fn pass(&mut self, progress: impl FnMut(&Pass) + Send) -> Result<Pass, CopyError> {
        let parts = self.mark.parts();
        let is_whole = parts == [Part::default()];
        let walk = Walk::new(self.from, parts)?;
        let passing = Passing {
            copy: self,
            walk: &walk,
            told: Mutex::new((Pass { is_whole, ..Pass::default() }, progress)),
        };
        walk.run(self.workers, || passing.work())?;
        let (pass, _) = passing.told.into_inner();
        (self.mark.after, self.mark.parts) = (None, Vec::new());
        Ok(pass)
    }

    /// What is to be written so that the target has this chunk and nothing else in its range.
    fn differences(
        &self,
        part: &Part,
        chunk: &[(Bytes, Bytes)],
    ) -> Result<BTreeMap<Bytes, Option<Bytes>>, StoreError> {
        let mut range = part.range();
        if let Some((last, _)) = chunk.last() {
            range.upper = Bound::Included(last.clone());
        }
        let copied = chunk.iter().filter(|(key, _)| is_copied(key)).cloned();
        let mut changes: BTreeMap<Bytes, Option<Bytes>> =
            copied.map(|(key, value)| (key, Some(value))).collect();
        let snapshot = self.to.late_snapshot()?;
        for entry in snapshot.page(range, Direction::Forward, CHUNK) {
            let (key, value) = entry?;
            if &*key == layout::COPYING_KEY {
                continue;
            }
            let key = key.into_bytes();
            if changes.get(&key).is_some_and(|wanted| wanted.as_ref() == Some(&value)) {
                changes.remove(&key);
            } else {
                changes.entry(key).or_insert(None);
            }
        }
        Ok(changes)
    }

    fn submit(
        &self,
        changes: BTreeMap<Bytes, Option<Bytes>>,
        mark: &Mark,
    ) -> Result<Submission, CopyError> {
        let mut transaction = self.to.begin(&[])?;
        for (key, value) in changes {
            match value {
                Some(value) => transaction.put(key, value),
                None => transaction.delete(key),
            }
        }
        transaction.put(layout::COPYING_KEY.into(), mark.encode());
        known(transaction.submit())
    }

    /// Compares the checksums of all ranges of source and target.
    pub fn compare(&self) -> Result<Comparison, CopyError> {
        let (from, to) = std::thread::scope(|scope| {
            let from = scope.spawn(|| checksums(self.from, self.workers));
            (from.join(), checksums(self.to, self.workers))
        });
        let from = from.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let to = to?;
        let beginnings = from.keys().chain(to.keys().filter(|key| !from.contains_key(*key)));
        let different = beginnings.filter(|key| from.get(*key) != to.get(*key)).cloned();
        Ok(Comparison {
            entries: from.values().map(|(entries, _)| entries).sum(),
            ranges: from.len(),
            different: different.collect(),
        })
    }

    /// Lets databases open the target.
    pub fn finish(self) -> Result<(), CopyError> {
        if self.to.is_shared() {
            // A store of one process is counted when it is opened.
            counting::count_anew(self.to).map_err(|error| CopyError::Refused(error.message()))?;
        }
        self.change(None)
    }

    /// Sets or removes the mark. Servers that have the target open learn of it.
    fn change(&self, mark: Option<Bytes>) -> Result<(), CopyError> {
        let mut change = self.to.exclusive()?;
        match mark {
            Some(mark) => change.put(layout::COPYING_KEY.into(), mark),
            None => change.delete(layout::COPYING_KEY.into()),
        }
        known(change.commit()).map(drop)
    }
}

/// A pass, as its workers see it.
struct Passing<'a, 'b, P> {
    copy: &'a Copy<'b>,
    walk: &'a Walk<'b>,
    /// What was done, and who is told of it.
    told: Mutex<(Pass, P)>,
}

impl<P: FnMut(&Pass)> Passing<'_, '_, P> {
    /// Copies parts until none is left.
    fn work(&self) -> Result<(), CopyError> {
        let mut under_way: VecDeque<Submission> = VecDeque::new();
        while let Some(id) = self.walk.take()? {
            while let Some((part, chunk)) = self.walk.read(id)? {
                let changes = self.copy.differences(&part, &chunk)?;
                under_way.push_back(self.advance(id, chunk, changes)?);
                while under_way.len() > UNDER_WAY
                    && let Some(oldest) = under_way.pop_front()
                {
                    known(oldest.wait())?;
                }
            }
        }
        under_way.into_iter().try_for_each(|submission| known(submission.wait()))
    }

    /// Submits what differs in a chunk, with the mark that says so. Marks are submitted in their order.
    fn advance(
        &self,
        id: usize,
        mut chunk: Chunk,
        mut changes: BTreeMap<Bytes, Option<Bytes>>,
    ) -> Result<Submission, CopyError> {
        let mut parts = self.walk.parts();
        if let Some(part) = parts.advance(id, &mut chunk) {
            changes.retain(|key, _| part.has(key));
        }
        let (pass, progress) = &mut *self.told.lock();
        pass.count(&chunk, &changes);
        let mark = self.copy.mark.with(parts.left());
        let submission = self.copy.submit(changes, &mark)?;
        drop(parts);
        self.walk.tell();
        progress(pass);
        Ok(submission)
    }
}

impl Mark {
    fn encode(&self) -> Bytes {
        // Two strings are always JSON.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// The same with these parts left.
    fn with<'a>(&self, left: impl Iterator<Item = &'a Part>) -> Self {
        let text = |key: &Option<Bytes>| key.as_ref().map(|key| BASE64.encode(key));
        let parts = left.map(|part| (text(&part.after), text(&part.end))).collect();
        Self { source: self.source.clone(), after: None, parts }
    }

    /// What is left; everything, where no pass is under way.
    fn parts(&self) -> Vec<Part> {
        let key = |text: &Option<String>| {
            text.as_ref().and_then(|text| BASE64.decode(text).ok()).map(Bytes::from)
        };
        if self.parts.is_empty() {
            return vec![Part { after: key(&self.after), end: None }];
        }
        self.parts.iter().map(|(after, end)| Part { after: key(after), end: key(end) }).collect()
    }
}

impl Pass {
    fn count(&mut self, chunk: &[(Bytes, Bytes)], changes: &BTreeMap<Bytes, Option<Bytes>>) {
        self.entries += chunk.len() as u64;
        self.bytes +=
            chunk.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum::<u64>();
        let written = changes.values().flatten().count();
        self.written += written as u64;
        self.removed += (changes.len() - written) as u64;
    }
}

/// The source of the unfinished copy that a store holds, for people.
pub(crate) fn unfinished_source(store: &dyn Store) -> Result<Option<String>, StoreError> {
    Ok(unfinished(store)?.map(|mark| mark.source))
}

fn unfinished(store: &dyn Store) -> Result<Option<Mark>, StoreError> {
    let Some(mark) = store.get(layout::COPYING_KEY)? else { return Ok(None) };
    serde_json::from_slice(&mark).map(Some).map_err(|error| StoreError::Engine {
        action: "read the mark of an unfinished copy".into(),
        detail: error.to_string(),
    })
}

/// Whether a copy has this. Counts are each store's own, and so are the servers on it and what they do.
fn is_copied(key: &[u8]) -> bool {
    let is_own = matches!(
        layout::meaning(key),
        Some(Meaning::Counts | Meaning::Counter | Meaning::Coordination)
    );
    !is_own && key != layout::COPYING_KEY
}

/// Entries and checksum of each range: of each keyspace's items, and of each kind of record.
type Checksums = BTreeMap<Vec<u8>, (u64, u64)>;

fn checksums(store: &dyn Store, workers: usize) -> Result<Checksums, StoreError> {
    let walk = Walk::new(store, vec![Part::default()])?;
    let sum = || -> Result<Checksums, StoreError> {
        let mut ranges = Checksums::new();
        while let Some(id) = walk.take()? {
            while let Some((_, mut chunk)) = walk.read(id)? {
                walk.parts().advance(id, &mut chunk);
                walk.tell();
                for (key, value) in chunk.iter().filter(|(key, _)| is_copied(key)) {
                    add(&mut ranges, layout::range_of(key), (1, checksum(key, value)));
                }
            }
        }
        Ok(ranges)
    };
    let mut ranges = Checksums::new();
    for (range, sum) in walk.run(workers, sum)?.into_iter().flatten() {
        add(&mut ranges, &range, sum);
    }
    Ok(ranges)
}

/// The checksum of an entry. Those of a range are added, in whatever order they were read.
fn checksum(key: &[u8], value: &[u8]) -> u64 {
    let mut checksum = DefaultHasher::new();
    for part in [key, value] {
        checksum.write_usize(part.len());
        checksum.write(part);
    }
    checksum.finish()
}

fn add(ranges: &mut Checksums, range: &[u8], (entries, checksum): (u64, u64)) {
    let sum = match ranges.get_mut(range) {
        Some(sum) => sum,
        None => ranges.entry(range.to_vec()).or_default(),
    };
    *sum = (sum.0 + entries, sum.1.wrapping_add(checksum));
}

/// The outcome of a write to a target without other writers.
fn known<T>(outcome: Result<T, CommitError>) -> Result<T, CopyError> {
    outcome.map_err(|error| CopyError::Store(StoreError::from(error)))
}
