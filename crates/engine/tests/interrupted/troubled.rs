//! A store that refuses writes for a while, or has damage somewhere.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use keyloom_store::{
    CommitError, Direction, Entries, Exclusive, Health, KeyRange, MemoryStore, Openings, Snapshot,
    StoreError, Submission, Transaction, Wrapped, Wrapper,
};

/// A store in memory that behaves like one on a disk with troubles.
pub(crate) type Troubled = Wrapped<MemoryStore, Troubles>;

/// What is wrong with the disk.
#[derive(Debug)]
pub(crate) struct Troubles {
    /// How many more commits there is room for; negative when nothing fits any more.
    room: AtomicI64,
    damaged: Mutex<Option<Vec<u8>>>,
}

impl Default for Troubles {
    fn default() -> Self {
        Self { room: AtomicI64::new(i64::MAX), damaged: Mutex::default() }
    }
}

impl Troubles {
    /// The disk is full after so many more commits.
    pub(crate) fn fill_after(&self, commits: i64) {
        self.room.store(commits, Ordering::SeqCst);
    }

    pub(crate) fn make_room(&self) {
        self.room.store(i64::MAX, Ordering::SeqCst);
    }

    /// From now on, whoever reads an entry whose key begins like this meets damage.
    pub(crate) fn damage(&self, prefix: &[u8]) {
        *self.damaged.lock().unwrap() = Some(prefix.to_vec());
    }

    /// Takes room for one commit.
    fn take_room(&self) -> Result<(), CommitError> {
        let take = |room: i64| (room > 0).then_some(room - 1);
        let taken = self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        taken.map(drop).map_err(|_| CommitError::Failed(full()))
    }
}

fn full() -> StoreError {
    StoreError::Engine { action: "write the log".into(), detail: "no space left".into() }
}

impl Wrapper<MemoryStore> for Troubles {
    fn scan<'s>(
        &self,
        inner: &'s dyn Snapshot,
        range: KeyRange,
        direction: Direction,
    ) -> Entries<'s> {
        let damaged = self.damaged.lock().unwrap().clone();
        Box::new(inner.scan(range, direction).map(move |entry| {
            let (key, value) = entry?;
            match &damaged {
                Some(prefix) if key.starts_with(prefix) => Err(StoreError::Corrupt {
                    path: PathBuf::from("tree/tables/7"),
                    detail: "block 3 has another checksum".into(),
                }),
                _ => Ok((key, value)),
            }
        }))
    }

    fn submit(
        &self,
        _: &MemoryStore,
        transaction: Box<dyn Transaction + '_>,
    ) -> Result<Submission, CommitError> {
        self.take_room()?;
        transaction.submit()
    }

    fn commit(&self, _: &MemoryStore, change: Box<dyn Exclusive + '_>) -> Result<u64, CommitError> {
        self.take_room()?;
        change.commit()
    }

    fn health(&self, _: &MemoryStore) -> Health {
        if self.room.load(Ordering::SeqCst) <= 0 {
            Health::ReadOnly { reason: full().to_string(), restart_needed: false }
        } else {
            Health::Ready
        }
    }

    fn openings(&self, _: &MemoryStore) -> Result<Option<Openings>, StoreError> {
        Ok(None)
    }
}
