//! A database copied table by table, through the operations that every DynamoDB endpoint has.
//!
//! 1. [`settings`]: tables are made as they are in the source.
//! 2. [`items`]: items are copied, several parts of tables at once; [`state`] keeps how far that is.
//! 3. [`follow`]: changes are carried over from the source's streams, until told to stop.
//! 4. [`checksum`]: both sides are compared, and what differs is repaired.

mod checksum;
mod follow;
mod items;
mod settings;
mod state;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use keyloom_api::clock::{Clock as _, SystemClock};

use self::checksum::RANGES;
use self::follow::Follower;
use self::items::{Crew, Pace, Pair};
use self::settings::Settings;
use self::state::{Segment, StateFile, TableState};
use super::place::{Place, Target};
use crate::output::{Failure, Output, warn};

/// How often streams without records are asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the lag is told.
const REPORT: Duration = Duration::from_secs(5);

/// A copy through the operations of both sides.
pub(crate) struct TableCopy<'a> {
    pub(crate) from: &'a Place,
    pub(crate) to: &'a Place,
    /// Only these tables; all of them if there are none.
    pub(crate) tables: &'a [String],
    /// Says when to stop following; none to copy only.
    pub(crate) told: Option<Receiver<()>>,
    /// Megabytes per second.
    pub(crate) rate: Option<u64>,
    pub(crate) workers: usize,
    /// Where the state is kept while the copy is not finished.
    pub(crate) state: PathBuf,
}

impl TableCopy<'_> {
    /// Copies until both sides are equal.
    pub(crate) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        let (from, to, path) = (&self.from.name, &self.to.name, self.state.as_path());
        let (state, goes_on) = StateFile::open(path, from, to, SystemClock.now_ms())?;
        if goes_on {
            output.line(format_args!("going on with the copy of {}", path.display()))?;
        }
        let done = self.run_from(&state, output);
        if done.is_err() {
            let is_begun = state.look(|state| state.tables.values().any(|table| table.is_made));
            if is_begun {
                warn(&format!(
                    "the copy is not finished: the same command goes on with it ({})",
                    path.display()
                ));
            } else {
                // Nothing was made: nothing to go on with.
                state.remove()?;
            }
            return done;
        }
        state.remove()
    }

    fn run_from(&self, state: &StateFile, output: &mut Output) -> Result<(), Failure> {
        self.read_settings(state)?;
        let names: Vec<String> = state.look(|state| state.tables.keys().cloned().collect());
        // Before anything is made.
        let followed = match &self.told {
            Some(told) => Some((follow::streams_of(self.from, &names)?, told)),
            None => None,
        };
        let pairs = self.make_tables(state, output)?;
        let pace = Pace::new(self.rate);
        let crew = Crew { pairs: &pairs, workers: self.workers, pace: &pace };
        if !state.look(|state| state.is_copied) {
            crew.copy(state)?;
        }
        if let Some((streams, told)) = followed {
            let mut follower = Follower::new(&pairs, self.from.streams(), streams, state);
            follow(&mut follower, told, &crew, state, output)?;
        }
        self.make_equal(&crew, state, output)?;
        for pair in &pairs {
            let settings = state
                .look(|state| state.tables.get(&pair.name).map(|table| table.settings.clone()));
            if let Some(settings) = settings {
                settings.finish(self.to, &pair.name, &pair.to.described)?;
            }
        }
        Ok(())
    }

    /// Notes the tables of the source and their settings, once.
    fn read_settings(&self, state: &StateFile) -> Result<(), Failure> {
        if state.look(|state| !state.tables.is_empty()) {
            return Ok(());
        }
        let all = self.from.tables()?;
        let wanted = if self.tables.is_empty() { &all } else { self.tables };
        if let Some(missing) = wanted.iter().find(|name| !all.contains(name)) {
            return Err(self.from.failed(&format_args!(
                "there is no table `{missing}`; there is {}",
                if all.is_empty() { "none".to_owned() } else { all.join(", ") }
            )));
        }
        for name in wanted {
            let Some(table) = self.from.table(name)? else { continue };
            let settings = Settings::of(self.from, name, &table.described)?;
            let table = TableState {
                settings,
                is_made: false,
                segments: vec![Segment::default(); self.workers],
                shards: std::collections::BTreeMap::new(),
            };
            state.note(|state| drop(state.tables.insert(name.clone(), table)))?;
        }
        state.change(|_| ())
    }

    /// Makes the tables that the target does not have.
    fn make_tables(&self, state: &StateFile, output: &mut Output) -> Result<Vec<Pair>, Failure> {
        let tables = state.look(|state| {
            let settings = |(name, table): (&String, &TableState)| {
                (name.clone(), table.settings.clone(), table.is_made)
            };
            state.tables.iter().map(settings).collect::<Vec<_>>()
        });
        // Everything is looked at before anything is made.
        for (name, settings, is_made) in &tables {
            if let Some(there) = self.to.table(name)?
                && !is_made
            {
                self.check_empty(name, settings, &there)?;
            }
        }
        let mut pairs = Vec::new();
        for (name, settings, is_made) in tables {
            let Some(from) = self.from.table(&name)? else {
                return Err(self.from.failed(&format_args!("table `{name}` is gone")));
            };
            let to = match self.to.table(&name)? {
                Some(there) => there,
                None => self.to.create(&name, &settings.create)?,
            };
            if !is_made {
                for note in &settings.notes {
                    warn(&format!("table `{name}`: {note}"));
                }
                state.change(|state| {
                    if let Some(table) = state.tables.get_mut(&name) {
                        table.is_made = true;
                    }
                })?;
                output.line(format_args!("table `{name}`: about {} items", from.items))?;
                output.flush()?;
            }
            pairs.push(Pair { name, from, to, expiry: settings.expiry });
        }
        Ok(pairs)
    }

    /// Refuses a table of the target that is another, or has items.
    fn check_empty(&self, name: &str, settings: &Settings, there: &Target) -> Result<(), Failure> {
        if let Some(difference) = settings.differs_from(&there.described) {
            return Err(self.to.failed(&format_args!(
                "table `{name}` is there, and has {difference}: delete it, or leave it out with --table"
            )));
        }
        let first = there.client.scan().consistent().limit(1).page();
        if !first.map_err(|error| self.to.failed(&error))?.items.is_empty() {
            return Err(self.to.failed(&format_args!(
                "table `{name}` is there, is not empty, and nothing says that it is a copy: delete it, or leave it out \
                 with --table"
            )));
        }
        Ok(())
    }

    /// Compares both sides, and repairs what differs once.
    fn make_equal(
        &self,
        crew: &Crew<'_>,
        state: &StateFile,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if state.look(|state| state.must_repair) {
            crew.repair()?;
        }
        for is_last in [false, true] {
            let sums = crew.compare(SystemClock.now_ms() / 1000)?;
            let differing: Vec<String> = sums
                .iter()
                .filter_map(|(name, [from, to])| match from.different(to) {
                    0 => None,
                    ranges => Some(format!(
                        "table `{name}`: {ranges} of {RANGES} ranges differ, {} items and {}",
                        from.items(),
                        to.items()
                    )),
                })
                .collect();
            if differing.is_empty() {
                let items: u64 = sums.values().map(|[from, _]| from.items()).sum();
                return output.line(format_args!(
                    "{}: {items} items of {} tables copied from {} and compared in {} ranges: all equal",
                    self.to.name,
                    sums.len(),
                    self.from.name,
                    sums.len() * RANGES
                ));
            }
            state.change(|state| state.must_repair = true)?;
            if is_last {
                return Err(Failure::refused(format_args!(
                    "{}. {} is being written: stop its writers and run the same command again, or use --follow",
                    differing.join("; "),
                    self.from.name
                )));
            }
            warn(&format!("{}: they are repaired", differing.join("; ")));
            crew.repair()?;
        }
        Ok(())
    }
}

/// Carries changes over until it is told to stop and has caught up.
fn follow(
    follower: &mut Follower<'_>,
    told: &Receiver<()>,
    crew: &Crew<'_>,
    state: &StateFile,
    output: &mut Output,
) -> Result<(), Failure> {
    let (mut changes, mut reported, mut is_told) = (0, None, false);
    loop {
        if state.look(|state| state.must_repair) {
            crew.repair()?;
            state.change(|state| state.must_repair = false)?;
        }
        let now_ms = SystemClock.now_ms();
        let round = follower.round(now_ms)?;
        changes += round.changes;
        if round.has_gap {
            warn(
                "the streams no longer have all that has changed: the items are compared one by one",
            );
            follower.start_over(now_ms)?;
            continue;
        }
        let is_due = reported.is_none_or(|at| now_ms - at >= REPORT.as_millis() as u64);
        if is_due && !is_told {
            reported = Some(now_ms);
            let lag = if round.caught_up {
                "up to date".to_owned()
            } else {
                format!("{:.0} s behind", (now_ms as f64 / 1000.0 - round.newest_s).max(0.0))
            };
            output.line(format_args!(
                "{changes} changes carried over, {lag}. When nobody writes to the source any more, press Enter"
            ))?;
            output.flush()?;
        }
        if is_told && round.caught_up {
            return Ok(());
        }
        let pause = if round.caught_up { PAUSE } else { Duration::ZERO };
        is_told |= !matches!(told.recv_timeout(pause), Err(RecvTimeoutError::Timeout));
    }
}

/// The file in this folder that keeps the state of a copy, unless another is named.
pub(crate) fn default_state(from: &str, to: &str) -> PathBuf {
    let name = keyloom_keys::stable_hash(&[from, to]);
    Path::new(&format!("keyloom-copy-{name:016x}.json")).to_owned()
}
