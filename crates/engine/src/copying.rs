//! Copies of a whole database from one store to another, of whichever kinds.
//!
//! A pass walks through both stores in the order of their keys and writes what differs, so it can be
//! stopped at any time and repeated: what is the same is only read. While a copy is not finished, its
//! target has a mark that keeps every database from opening it. The mark also holds how far the pass
//! under way has come; it is written together with what was copied.
//!
//! The source may be in use. Then passes are repeated until it is not, and the last one makes the two
//! equal, which checksums of every range prove.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_store::{
    Bytes, CommitError, Direction, Expected, KeyRange, Snapshot, Store, StoreError, Submission,
};
use serde::{Deserialize, Serialize};

use crate::counting;
use crate::layout::{self, Meaning};

/// How much is read and written together.
const CHUNK: Expected = Expected { entries: 1000, bytes: 1 << 20 };

/// How many chunks are under way to the target.
const UNDER_WAY: usize = 8;

/// A copy that is being made.
pub struct Copy<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    mark: Mark,
}

/// What is stored in the target of a copy that is not finished.
#[derive(Serialize, Deserialize)]
struct Mark {
    /// The name of the source.
    source: String,
    /// The last key that the pass under way has dealt with.
    after: Option<String>,
}

/// What a pass has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass {
    /// Entries of the source that were read.
    pub entries: u64,
    /// Their bytes.
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
    pub fn begin(from: &'a dyn Store, to: &'a dyn Store, source: &str) -> Result<Self, CopyError> {
        if unfinished(from)?.is_some() {
            let reason = "the source is itself an unfinished copy: finish it first";
            return Err(CopyError::Refused(reason.into()));
        }
        let copy = |mark| Self { from, to, mark };
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
        let copy = copy(Mark { source: source.into(), after: None });
        copy.change(Some(copy.mark.encode()))?;
        Ok(copy)
    }

    /// Makes the target what the source is: from where the last pass was stopped, or everything.
    /// `progress` is called after each chunk.
    pub fn pass(&mut self, mut progress: impl FnMut(&Pass)) -> Result<Pass, CopyError> {
        let mut after = self.mark.position();
        let mut pass = Pass { is_whole: after.is_none(), ..Pass::default() };
        let mut under_way: VecDeque<Submission> = VecDeque::new();
        loop {
            let chunk = self.read(after.as_ref())?;
            let end = chunk.last().map(|(key, _)| key.clone());
            let changes = self.differences(after.as_ref(), &chunk)?;
            pass.count(&chunk, &changes);
            self.mark.after = end.as_ref().map(|key| BASE64.encode(key));
            under_way.push_back(self.submit(changes)?);
            let allowed = if end.is_some() { UNDER_WAY } else { 0 };
            while under_way.len() > allowed
                && let Some(oldest) = under_way.pop_front()
            {
                known(oldest.wait())?;
            }
            progress(&pass);
            if end.is_none() {
                return Ok(pass);
            }
            after = end;
        }
    }

    /// The next entries of the source.
    fn read(&self, after: Option<&Bytes>) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let snapshot = self.from.late_snapshot()?;
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        for entry in snapshot.page(rest(after), Direction::Forward, CHUNK) {
            let (key, value) = entry?;
            let key = key.into_bytes();
            bytes += key.len() + value.len();
            chunk.push((key, value));
            if chunk.len() >= CHUNK.entries || bytes >= CHUNK.bytes {
                break;
            }
        }
        Ok(chunk)
    }

    /// What is to be written so that the target has this chunk and nothing else in its range.
    fn differences(
        &self,
        after: Option<&Bytes>,
        chunk: &[(Bytes, Bytes)],
    ) -> Result<BTreeMap<Bytes, Option<Bytes>>, StoreError> {
        let mut range = rest(after);
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

    fn submit(&self, changes: BTreeMap<Bytes, Option<Bytes>>) -> Result<Submission, CopyError> {
        let mut transaction = self.to.begin(&[])?;
        for (key, value) in changes {
            match value {
                Some(value) => transaction.put(key, value),
                None => transaction.delete(key),
            }
        }
        transaction.put(layout::COPYING_KEY.into(), self.mark.encode());
        known(transaction.submit())
    }

    /// Compares the checksums of all ranges of source and target.
    pub fn compare(&self) -> Result<Comparison, CopyError> {
        let (from, to) = std::thread::scope(|scope| {
            let from = scope.spawn(|| checksums(self.from));
            (from.join(), checksums(self.to))
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

impl Mark {
    fn encode(&self) -> Bytes {
        // Two strings are always JSON.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    fn position(&self) -> Option<Bytes> {
        BASE64.decode(self.after.as_ref()?).ok().map(Bytes::from)
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
    let is_own =
        matches!(layout::meaning(key), Some(Meaning::Counts | Meaning::Counter | Meaning::Office));
    !is_own && key != layout::COPYING_KEY
}

fn rest(after: Option<&Bytes>) -> KeyRange {
    let lower = after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
    KeyRange { lower, upper: Bound::Unbounded }
}

/// Entries and checksum of each range: of each keyspace's items, and of each kind of record.
type Checksums = BTreeMap<Vec<u8>, (u64, u64)>;

fn checksums(store: &dyn Store) -> Result<Checksums, StoreError> {
    let snapshot: Box<dyn Snapshot> = store.snapshot()?;
    let mut ranges: BTreeMap<Vec<u8>, (u64, DefaultHasher)> = BTreeMap::new();
    for entry in snapshot.scan(KeyRange::all(), Direction::Forward) {
        let (key, value) = entry?;
        if !is_copied(&key) {
            continue;
        }
        let (entries, checksum) = ranges.entry(layout::range_of(&key).to_vec()).or_default();
        *entries += 1;
        for part in [&*key, &value] {
            checksum.write_usize(part.len());
            checksum.write(part);
        }
    }
    let finished = |(range, (entries, checksum)): (_, (u64, DefaultHasher))| {
        (range, (entries, checksum.finish()))
    };
    Ok(ranges.into_iter().map(finished).collect())
}

/// The outcome of a write to a target that nobody else writes.
fn known<T>(outcome: Result<T, CommitError>) -> Result<T, CopyError> {
    outcome.map_err(|error| CopyError::Store(StoreError::from(error)))
}
