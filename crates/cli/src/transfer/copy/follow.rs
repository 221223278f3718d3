//! Following: the changes in the source's streams, carried over to the target.
//!
//! Streams are read from the oldest record that they have; what is older than the copy is passed over. Every record leads
//! to the item as it was then, and the last one to the item as it is: whatever was copied in between is made right.

use std::collections::{BTreeMap, HashMap};

use keyloom::ItemKey;
use keyloom::streams::{Listed, Record, Stream, Streams};
use keyloom_core::Error as Refusal;

use super::items::{Pair, failed, item_key};
use super::state::{Position, StateFile};
use crate::output::Failure;
use crate::transfer::place::Place;

/// Records that are older than the copy by this much are in what was read, whatever the clocks say.
const MARGIN_S: f64 = 300.0;

/// A stream keeps its records for a day; an hour less is safe.
const KEPT_MS: u64 = 23 * 3_600_000;

/// What a round of reading has brought.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Changes that were carried over.
    pub(crate) changes: u64,
    /// Whether there was nothing more to read.
    pub(crate) caught_up: bool,
    /// Whether records are gone that were not read.
    pub(crate) has_gap: bool,
    /// When the last change was made, in seconds since 1970.
    pub(crate) newest_s: f64,
}

/// Follows the streams of tables.
pub(crate) struct Follower<'a> {
    pairs: &'a [Pair],
    streams: Streams,
    state: &'a StateFile,
    /// The stream of each table.
    of: BTreeMap<String, Stream>,
    /// Where to go on in a shard.
    iterators: HashMap<(String, String), String>,
    shards: HashMap<String, Vec<Listed>>,
}

/// The streams of tables; refuses tables without one.
pub(crate) fn streams_of(
    place: &Place,
    tables: &[String],
) -> Result<BTreeMap<String, Stream>, Failure> {
    let (streams, mut of, mut without) = (place.streams(), BTreeMap::new(), Vec::new());
    for name in tables {
        match streams.of(name).map_err(|error| place.failed(&error))? {
            Some(stream) => drop(of.insert(name.clone(), stream)),
            None => without.push(format!("`{name}`")),
        }
    }
    if without.is_empty() {
        return Ok(of);
    }
    Err(Failure::refused(format_args!(
        "--follow reads streams, and these tables of the source have none: {}. Turn them on with UpdateTable \
         (StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES), or copy without --follow",
        without.join(", ")
    )))
}

impl<'a> Follower<'a> {
    /// Follows these streams.
    pub(crate) fn new(
        pairs: &'a [Pair],
        streams: Streams,
        of: BTreeMap<String, Stream>,
        state: &'a StateFile,
    ) -> Self {
        Self { pairs, streams, state, of, iterators: HashMap::new(), shards: HashMap::new() }
    }

    /// Forgets all positions: the target is about to be made equal in another way.
    pub(crate) fn start_over(&mut self, now_ms: u64) -> Result<(), Failure> {
        self.iterators.clear();
        self.shards.clear();
        self.state.change(|state| {
            (state.began_ms, state.must_repair) = (now_ms, true);
            state.tables.values_mut().for_each(|table| table.shards.clear());
        })
    }

    /// Reads every shard once.
    pub(crate) fn round(&mut self, now_ms: u64) -> Result<Round, Failure> {
        let mut round = Round { caught_up: true, ..Round::default() };
        for pair in self.pairs {
            let Some(stream) = self.of.get(&pair.name).cloned() else { continue };
            match self.round_of(pair, &stream, now_ms, &mut round) {
                Ok(()) => {}
                Err(keyloom::Error::Database(
                    Refusal::TrimmedDataAccess(_) | Refusal::ResourceNotFound(_),
                )) => return Ok(Round { has_gap: true, ..round }),
                Err(error) => return Err(failed(pair, &error)),
            }
            if round.has_gap {
                return Ok(round);
            }
        }
        Ok(round)
    }

    fn round_of(
        &mut self,
        pair: &Pair,
        stream: &Stream,
        now_ms: u64,
        round: &mut Round,
    ) -> keyloom::Result<()> {
        let (mut positions, began_ms) = self.positions(pair);
        if !self.shards.contains_key(&pair.name) {
            let listed = self.streams.shards(&stream.arn)?;
            let is_listed = |id: &String| listed.iter().any(|shard| shard.id == *id);
            let lost = positions.iter().any(|(id, at)| !at.is_done && !is_listed(id));
            let is_late = positions.is_empty() && now_ms.saturating_sub(began_ms) > KEPT_MS;
            if lost || is_late {
                round.has_gap = true;
                return Ok(());
            }
            positions.retain(|id, _| is_listed(id));
            self.shards.insert(pair.name.clone(), listed);
        }
        let shards = self.shards.get(&pair.name).cloned().unwrap_or_default();
        for shard in &shards {
            let is_done = |id: &str| positions.get(id).is_some_and(|at| at.is_done);
            let waits = |parent: &String| {
                shards.iter().any(|shard| shard.id == *parent) && !is_done(parent)
            };
            if is_done(&shard.id) || shard.parent.as_ref().is_some_and(waits) {
                continue;
            }
            let mut at = positions.get(&shard.id).cloned().unwrap_or_default();
            self.read(pair, stream, &shard.id, &mut at, began_ms, round)?;
            positions.insert(shard.id.clone(), at);
        }
        Ok(())
    }

    fn positions(&self, pair: &Pair) -> (BTreeMap<String, Position>, u64) {
        self.state.look(|state| {
            let table = state.tables.get(&pair.name);
            (table.map(|table| table.shards.clone()).unwrap_or_default(), state.began_ms)
        })
    }

    /// Reads some records of a shard and carries them over.
    fn read(
        &mut self,
        pair: &Pair,
        stream: &Stream,
        shard: &str,
        at: &mut Position,
        began_ms: u64,
        round: &mut Round,
    ) -> keyloom::Result<()> {
        let place = (pair.name.clone(), shard.to_owned());
        let records = match self.iterators.remove(&place) {
            Some(iterator) => match self.streams.go_on(&iterator) {
                Err(keyloom::Error::Database(Refusal::ExpiredIterator(_))) => {
                    self.streams.read(&stream.arn, shard, at.after.as_deref())?
                }
                records => records?,
            },
            None => self.streams.read(&stream.arn, shard, at.after.as_deref())?,
        };
        let since_s = began_ms as f64 / 1000.0 - MARGIN_S;
        let later = records.records.iter().filter(|record| record.created_s >= since_s);
        let later: Vec<&Record> = later.collect();
        carry(pair, stream, &later)?;
        round.changes += later.len() as u64;
        if let Some(last) = records.records.last() {
            at.after = Some(last.sequence.clone());
            round.newest_s = round.newest_s.max(last.created_s);
            round.caught_up = false;
        }
        if let Some(next) = records.next {
            self.iterators.insert(place, next);
        } else {
            at.is_done = true;
            // Its children are to be found.
            self.shards.remove(&pair.name);
            round.caught_up = false;
        }
        let (noted, name) = (at.clone(), &pair.name);
        let kept = self.state.note(|state| {
            if let Some(table) = state.tables.get_mut(name) {
                table.shards.insert(shard.to_owned(), noted);
            }
        });
        kept.map_err(|failure| keyloom::Error::Config(format!("{failure:?}")))
    }
}

/// Makes the target's items what these records say, one after the other.
fn carry(pair: &Pair, stream: &Stream, records: &[&Record]) -> keyloom::Result<()> {
    let has_images = stream.view.starts_with("NEW_");
    let mut batch = pair.to.client.batch();
    for record in records {
        let key: ItemKey = item_key(pair, &record.keys)
            .map_err(|_| keyloom::Error::Config("a record has no key".into()))?;
        // Without images the item as it is now does: later records lead to the same.
        let image = if has_images {
            record.new.clone()
        } else {
            pair.from.client.get_consistent(key.clone())?
        };
        batch = match image {
            Some(image) => batch.put(image),
            None => batch.delete(key),
        };
    }
    batch.run()
}
