//! A store that remembers what a kill would leave after each of its commits.

use std::sync::Mutex;

use keyloom_store::{
    CommitError, Exclusive, MemoryStore, Submission, Transaction, Wrapped, Wrapper,
};

/// A store in memory with its states so far.
pub(crate) type Recorder = Wrapped<MemoryStore, Kills>;

/// What was there after each commit.
#[derive(Debug, Default)]
pub(crate) struct Kills(Mutex<Vec<MemoryStore>>);

impl Kills {
    fn remember(&self, store: &MemoryStore) {
        self.0.lock().unwrap().push(store.fork());
    }

    /// What was there after each commit, the first one first.
    pub(crate) fn kills(&self) -> Vec<MemoryStore> {
        self.0.lock().unwrap().iter().map(MemoryStore::fork).collect()
    }
}

impl Wrapper<MemoryStore> for Kills {
    fn submit(
        &self,
        store: &MemoryStore,
        transaction: Box<dyn Transaction + '_>,
    ) -> Result<Submission, CommitError> {
        let submission = transaction.submit()?;
        // A store in memory has made it visible already; whoever waits for it finds it so.
        assert!(submission.is_durable());
        self.remember(store);
        Ok(submission)
    }

    fn commit(
        &self,
        store: &MemoryStore,
        change: Box<dyn Exclusive + '_>,
    ) -> Result<u64, CommitError> {
        let epoch = change.commit()?;
        self.remember(store);
        Ok(epoch)
    }
}
