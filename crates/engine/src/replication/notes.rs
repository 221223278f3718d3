//! The last error of each link, for DescribeTable.

use std::collections::BTreeMap;

use keyloom_core::Error;
use parking_lot::Mutex;

use super::PeerError;
use super::tombstones::LastRun;

/// The current failures of links, by table and region.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    troubles: Mutex<BTreeMap<(String, String), Trouble>>,
    tombstones: LastRun,
}

/// Why a link is failing.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) reason: String,
    pub(crate) since_ms: u64,
    /// Whether the other region answered, and refused.
    pub(crate) is_refusal: bool,
}

/// Why a step of a link failed.
#[derive(Debug)]
pub(super) enum LinkError {
    /// Of this database.
    Own(Error),
    Peer(PeerError),
}

impl From<Error> for LinkError {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl From<PeerError> for LinkError {
    fn from(error: PeerError) -> Self {
        Self::Peer(error)
    }
}

impl Notes {
    /// Whether it is time to remove old tombstones; if so, that is noted.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        self.tombstones.is_due(now_ms)
    }

    pub(super) fn ok(&self, table: &str, region: &str) {
        self.troubles.lock().remove(&(table.to_owned(), region.to_owned()));
    }

    pub(super) fn failed(&self, table: &str, region: &str, error: &LinkError, now_ms: u64) {
        let (reason, is_refusal) = match error {
            LinkError::Own(error) => (error.message(), false),
            LinkError::Peer(PeerError::Unreachable(reason)) => (reason.clone(), false),
            LinkError::Peer(PeerError::Refused(error)) => (error.message(), true),
        };
        let mut notes = self.troubles.lock();
        let key = (table.to_owned(), region.to_owned());
        let since_ms = notes.get(&key).map_or(now_ms, |trouble| trouble.since_ms);
        notes.insert(key, Trouble { reason, since_ms, is_refusal });
    }

    /// The trouble of a link, if it has any.
    pub(crate) fn of(&self, table: &str, region: &str) -> Option<Trouble> {
        self.troubles.lock().get(&(table.to_owned(), region.to_owned())).cloned()
    }
}
