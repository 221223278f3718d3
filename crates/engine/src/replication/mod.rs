//! Global tables: one table replicated in several regions, each served by its own database.
//!
//! Every region accepts writes. A replicated table stores with each item the [`Version`] of its last write: a number
//! that rises with time, and the region. The table's stream has the writes of this region; a link per table and
//! region ([`link`]) sends them to the other database, which applies a write only if its version is greater than the
//! stored one ([`receive`]). So all regions converge, in whatever order writes arrive: the last writer wins. A
//! deleted item leaves a tombstone with its version for [`KEPT_TOMBSTONES_MS`], so that no older write recreates it.
//!
//! Each region sends only its own writes to every other region, so there are no loops. A link
//! stores its position after each batch; sending a write twice is harmless. A link begins by copying the table, and
//! starts over if the records it needs have been trimmed, or if the other side has lost the table or was restored
//! from an older backup, which it checks every second ([`probe`], [`lineage`]). A copy can bring writes which their own
//! region has lost; it gets them, and copies the table on to the others ([`returned`]). Settings that AWS synchronizes
//! between regions are replicated as well; the last change wins ([`settings`]).
//!
//! The list of a table's regions is a map that the regions exchange ([`Members`]); here, too, the last change of each
//! entry wins. Version numbers come from the [stream's sequence](crate::stream::Sequencer), which every region
//! advances past each number it receives: a write that follows another has the greater number, even if the clocks
//! differ.
//!
//! The engine itself does no networking: [`Peers`] delivers the messages ([`message`]).

mod changes;
mod departure;
mod lineage;
mod link;
mod message;
mod notes;
mod probe;
mod receive;
mod returned;
mod runner;
mod settings;
mod tombstones;
mod version;

use std::collections::BTreeMap;
use std::fmt;

use keyloom_core::Error;
use serde::{Deserialize, Serialize};

pub(crate) use departure::{alongside as departures_alongside, end as departures_end};
pub(crate) use lineage::{Lineage, begin as begin_lineage};
pub(crate) use link::{LinkState, POSITIONS, forget as forget_links, link_state};
pub(crate) use notes::Notes;
pub(crate) use receive::{VIEW, call as receive};
pub(crate) use runner::{run_once, start};
pub(crate) use settings::{has_same_settings, note_change as note_settings};
pub(crate) use tombstones::remove_old as remove_old_tombstones;
pub(crate) use version::{Version, is_stale, next_version, staged};

/// What the target of every message between databases begins with; the name of the message follows.
pub const REPLICATION_TARGET: &str = "KeyloomReplication_20261118.";

/// How long the version of a removed item is kept. A region that was away for longer is copied anew, and items that
/// were removed meanwhile may come back from it.
pub(crate) const KEPT_TOMBSTONES_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The kinds of resources in which the links keep what they must not forget.
pub(crate) const RESOURCES: [&str; 6] = [
    POSITIONS,
    departure::KIND,
    lineage::OPENINGS,
    lineage::HEARD,
    returned::KIND,
    returned::TAKEN,
];

/// The databases of other regions.
pub trait Peers: fmt::Debug + Send + Sync {
    /// The regions that can be reached, by configuration.
    fn regions(&self) -> Vec<String>;

    /// Sends a message to a region and waits for the answer, not for long. `target` is what
    /// [`Database::call`](crate::Database::call) of the other database takes.
    fn send(&self, region: &str, target: &str, body: &[u8]) -> Result<Vec<u8>, PeerError>;

    /// The database is being closed: [`Peers::send`] gives up soon, since that waits for it. What was not answered is
    /// sent again when the database is opened.
    fn stop(&self) {}
}

/// Why a message was not accepted.
#[derive(Debug)]
pub enum PeerError {
    /// No answer came; the message may have arrived.
    Unreachable(String),
    /// The other database refused it.
    Refused(Error),
}

/// What makes a table a global table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replication {
    /// The same in all regions, and in no other table.
    pub(crate) group: String,
    /// All regions that have or had the table, this one included.
    pub(crate) members: Members,
    /// When and where the settings that all regions share were last changed; none if never.
    #[serde(default)]
    pub(crate) settings: Option<Version>,
}

/// The regions of a global table.
pub(crate) type Members = BTreeMap<String, Member>;

/// Whether a region has the table, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// When that was decided, as a sequence number.
    pub(crate) at: u64,
    pub(crate) present: bool,
}

impl Replication {
    /// The other regions that have the table.
    pub(crate) fn others<'a>(&'a self, own: &'a str) -> impl Iterator<Item = &'a str> {
        let present = self.members.iter().filter(|(_, member)| member.present);
        present.map(|(region, _)| region.as_str()).filter(move |region| *region != own)
    }

    /// Whether the region has the table.
    pub(crate) fn has(&self, region: &str) -> bool {
        self.members.get(region).is_some_and(|member| member.present)
    }
}

/// Merges the newer entries of `from`; returns whether anything changed.
pub(crate) fn merge(members: &mut Members, from: &Members) -> bool {
    let before = members.clone();
    for (region, theirs) in from {
        let ours = members.entry(region.clone()).or_insert(*theirs);
        if (theirs.at, !theirs.present) > (ours.at, !ours.present) {
            *ours = *theirs;
        }
    }
    *members != before
}

/// The greatest number in the map.
pub(crate) fn latest(members: &Members) -> u64 {
    members.values().map(|member| member.at).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_converge_in_any_order() {
        let map = |entries: &[(&str, u64, bool)]| -> Members {
            let entry = |(region, at, present): &(&str, u64, bool)| {
                ((*region).to_owned(), Member { at: *at, present: *present })
            };
            entries.iter().map(entry).collect()
        };
        let a = map(&[("x", 1, true), ("y", 5, false)]);
        let b = map(&[("x", 1, false), ("y", 4, true), ("z", 2, true)]);
        let (mut ab, mut ba) = (a.clone(), b.clone());
        assert!(merge(&mut ab, &b) && merge(&mut ba, &a));
        assert_eq!(ab, ba);
        assert_eq!(ab, map(&[("x", 1, false), ("y", 5, false), ("z", 2, true)]));
        assert!(!merge(&mut ab, &a));
    }
}
