//! Runs a migration step by step; every step can be interrupted and resumed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;

use keyloom_core::Item;
use keyloom_design::migration::ItemMap;

use super::apply::Writer;
use super::backfill::Segment;
use super::follow::{Follower, Round};
use super::state::{Fence, Phase, Record, Side, State, Told};
use super::verify::{Companion, Compared};
use super::{Migration, Problem, Verification, stream, sweep, verify};
use crate::error::{Error, Result};
use crate::tables::create_missing;

/// A runner that was not heard of for so long has stopped.
const SILENCE_MS: u64 = 60_000;
/// Problems that are remembered; the others are counted.
const MOST_PROBLEMS: usize = 100;
/// How often nothing new must be read before everything is.
const QUIET_ROUNDS: usize = 2;
/// Where programs write all the time, so many rounds that leave only this much are enough.
const NEAR_ROUNDS: usize = 50;
const NEAR_S: f64 = 2.0;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    Worked,
    /// Everything that was written has been carried over.
    CaughtUp,
    /// The migration is over.
    Over,
}

/// How far a runner is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The phase of the migration.
    pub phase: Phase,
    /// Which form programs use.
    pub side: Side,
    /// Items read by the backfill.
    pub items: u64,
    /// Items that the work at hand has looked at, where it is a comparison or removes something; else zero.
    pub looked_at: u64,
    /// Segments of the backfill that are finished, and all.
    pub segments: (usize, usize),
    /// Changes carried over by this runner.
    pub changes: u64,
    /// How old the last change was when it was read, in seconds; zero if there is none left.
    pub lag_s: f64,
    /// Units read and written by this runner, without those of indexes.
    pub units: (f64, f64),
    /// Items that cannot be moved.
    pub problems: u64,
}

/// The runner of a migration: the only process that may write for it.
pub struct Runner<'m> {
    pub(super) migration: &'m Migration,
    pub(super) state: State,
    follower: Option<Follower>,
    segments: Option<Vec<Segment>>,
    /// The tables to sweep, and how far the first is.
    sweeps: Option<(Vec<String>, Option<Item>)>,
    problems: Vec<Problem>,
    problem_count: u64,
    changes: u64,
    newest_s: f64,
    /// What the last round left to read was made after this.
    left_since_s: f64,
    /// When the capacity of the tables was last looked at.
    paced_ms: u64,
    looked_at: u64,
}

impl<'m> Runner<'m> {
    pub(super) fn new(migration: &'m Migration, take_over: bool) -> Result<Self> {
        migration.is_possible()?;
        let (service, record) = (&migration.service, &migration.record);
        let now_ms = service.clock.now_ms();
        let state = match record.load(service)? {
            Some(state) if state.phase == Phase::RolledBack && migration.begins_again => {
                migration.may_begin()?;
                let (epoch, generation) = (state.epoch, state.generation + 1);
                State { epoch, generation, ..State::begin(now_ms, migration.fresh_ms) }
            }
            Some(state) => state,
            None => {
                migration.may_begin()?;
                Record::create_table(service)?;
                State::begin(now_ms, migration.fresh_ms)
            }
        };
        let silent_ms = now_ms.saturating_sub(state.seen_ms);
        if !take_over && state.epoch > 0 && silent_ms < SILENCE_MS && !state.phase.is_over() {
            return Err(Error::Migration(format!(
                "a runner of this migration was active {} s ago: stop it, or take over",
                silent_ms / 1000
            )));
        }
        migration.keep_pace()?;
        let state = record.take_over(service, &state)?;
        Ok(Self {
            migration,
            state,
            follower: None,
            segments: None,
            sweeps: None,
            problems: Vec::new(),
            problem_count: 0,
            changes: 0,
            newest_s: 0.0,
            left_since_s: 0.0,
            paced_ms: now_ms,
            looked_at: 0,
        })
    }

    /// Ends, so that the next runner need not take over. One that is dropped without it is taken for a running one for a
    /// minute.
    pub fn leave(self) -> Result<()> {
        let migration = self.migration;
        migration.record.leave(&migration.service, &self.state, SILENCE_MS)
    }

    /// Says that this runner is alive; `items` are those of the backfill, where its segments are with workers.
    fn beat(&mut self, items: Option<u64>) -> Result<()> {
        let (migration, mut progress) = (self.migration, self.progress());
        progress.items = items.unwrap_or(progress.items);
        migration.tell(&progress);
        migration.keep_pace_up(&mut self.paced_ms)?;
        let told = || Told {
            items: progress.items,
            items_per_s: None,
            changes: progress.changes,
            lag_ms: (progress.lag_s * 1000.0) as u64,
            units: (progress.units.0 as u64, progress.units.1 as u64),
            problems: progress.problems,
        };
        migration.record.beat(&migration.service, &mut self.state, told)
    }

    /// Does the next piece of work. Killed at any moment, another runner goes on.
    pub fn step(&mut self) -> Result<Step> {
        self.beat(None)?;
        match self.state.phase {
            Phase::Expand => self.expand(),
            Phase::Backfill => {
                if !self.follow()?.gap {
                    self.copy_page()?;
                }
                Ok(Step::Worked)
            }
            Phase::Sweep => {
                if !self.follow()?.gap {
                    self.sweep_page()?;
                }
                Ok(Step::Worked)
            }
            Phase::Follow => {
                let round = self.follow()?;
                Ok(if round.caught_up && !round.gap { Step::CaughtUp } else { Step::Worked })
            }
            Phase::Switch => self.stay().map(|()| Step::Worked),
            Phase::Contract => self.contract().map(|_| Step::Over),
            Phase::Rollback => self.rollback().map(|_| Step::Over),
            Phase::Contracted | Phase::RolledBack => Ok(Step::Over),
        }
    }

    /// Works until everything that was written has been carried over; where programs never pause, until only the last two
    /// seconds are left.
    pub fn catch_up(&mut self) -> Result<()> {
        let mut rounds = Rounds::default();
        while !rounds.are_enough() {
            let step = self.step()?;
            if step == Step::Over {
                return Ok(());
            }
            rounds.count(step, self.is_near());
        }
        Ok(())
    }

    /// Works until nothing is left to carry over; only ends where there are no writers.
    pub(super) fn catch_up_fully(&mut self) -> Result<()> {
        let mut rounds = Rounds::default();
        while !rounds.are_enough() {
            rounds.count(self.step()?, false);
        }
        Ok(())
    }

    /// Whether the last round left nothing that is older than a moment.
    fn is_near(&self) -> bool {
        let now_s = self.migration.service.clock.now_ms() as f64 / 1000.0;
        self.state.phase == Phase::Follow && now_s - self.left_since_s <= NEAR_S
    }

    /// The same, with so many workers for the backfill; `told` is called with the progress, and stops the work by returning false.
    pub fn catch_up_with(
        &mut self,
        workers: usize,
        told: &(dyn Fn(&Progress) -> bool + Sync),
    ) -> Result<bool> {
        let mut rounds = Rounds::default();
        while !rounds.are_enough() {
            if self.state.phase == Phase::Backfill {
                if !self.backfill_with(workers, told)? {
                    return Ok(false);
                }
                continue;
            }
            let step = self.step()?;
            if step == Step::Over {
                return Ok(true);
            }
            rounds.count(step, self.is_near());
            if !told(&self.progress()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let segments = self.segments.as_deref().unwrap_or_default();
        let now_s = self.migration.service.clock.now_ms() as f64 / 1000.0;
        let lag_s = if self.newest_s > 0.0 { (now_s - self.newest_s).max(0.0) } else { 0.0 };
        Progress {
            phase: self.state.phase,
            side: self.state.side,
            items: segments.iter().map(|segment| segment.items).sum(),
            looked_at: self.looked_at,
            segments: (segments.iter().filter(|segment| segment.is_done).count(), segments.len()),
            changes: self.changes,
            lag_s,
            units: self.migration.service.pace.spent(),
            problems: self.problem_count,
        }
    }

    /// The first items that could not be moved; `verify` finds all.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Compares all items while changes are carried over.
    pub fn verify(&mut self) -> Result<Verification> {
        self.compare().map(Compared::into_verification)
    }

    /// Compares all items; what is left may be what programs write all the time.
    pub(super) fn compare(&mut self) -> Result<Compared<'m>> {
        self.catch_up()?;
        let migration = self.migration;
        let maps = migration.maps(self.state.side);
        self.looked_at = 0;
        let mut compared = verify::verify(&migration.service, maps, &migration.plan, self)?;
        compared.settle(self)?;
        self.looked_at = 0;
        if compared.is_right() {
            self.state.verified_ms = Some(migration.service.clock.now_ms());
            migration.record.save(&migration.service, &self.state)?;
        }
        Ok(compared)
    }

    pub(super) fn map(&self) -> &'m ItemMap {
        self.migration.maps(self.state.side).0
    }

    pub(super) fn fence(&self, slot: u32) -> Fence {
        Fence::new(&self.migration.record.id, self.state.epoch, slot)
    }

    pub(super) fn writer(&self, slot: u32) -> Writer<'m> {
        Writer {
            service: &self.migration.service,
            map: self.map(),
            fence: self.fence(slot),
            tombstones: self.state.phase == Phase::Backfill,
            over_unmarked: self.state.side == Side::New,
            only_deletions: self.state.phase == Phase::Contract,
        }
    }

    /// The name of the direction in the state.
    pub(super) fn direction(side: Side) -> &'static str {
        match side {
            Side::Old => "FORWARD",
            Side::New => "BACKWARD",
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) -> Result<()> {
        let state = State { phase, ..self.state.clone() };
        self.migration.record.save(&self.migration.service, &state)?;
        self.state = state;
        (self.follower, self.segments, self.sweeps) = (None, None, None);
        self.looked_at = 0;
        // Tables may have been made.
        self.migration.keep_pace()
    }

    /// Makes tables, turns on the streams of the form in use, and marks the beginning in them before anything is copied.
    fn expand(&mut self) -> Result<Step> {
        let migration = self.migration;
        let (service, record) = (&migration.service, &migration.record);
        for table in migration.tables() {
            record.claim(service, table)?;
        }
        create_missing(&service.backend, &service.retry, migration.plan.new_design())?;
        for table in self.map().targets() {
            // Turned on before the switch; what would be in the way then is said now.
            stream::with_both_images(service, &table.name)?;
        }
        self.turn_streams_on(self.map())?;
        let fence = self.fence(0);
        let prefix = Self::direction(self.state.side);
        Follower::begin(service, record, &fence, prefix, self.map())?;
        Segment::begin(service, record, &fence, self.map(), migration.segments)?;
        self.enter(Phase::Backfill)?;
        Ok(Step::Worked)
    }

    /// Turns on the streams of the tables that `map` reads, and no others: a stream of the tables that it writes would have
    /// a record of every copy.
    pub(super) fn turn_streams_on(&mut self, map: &ItemMap) -> Result<()> {
        let (service, record) = (&self.migration.service, &self.migration.record);
        for table in map.sources() {
            if stream::find(service, &table.name)?.is_none()
                && !self.state.streams.contains(&table.name)
            {
                // Remembered first, so that it is turned off in the end, whatever happens in between.
                self.state.streams.push(table.name.clone());
                record.save(service, &self.state)?;
            }
            stream::ensure(service, &table.name)?;
        }
        Ok(())
    }

    /// Carries over what has changed. If the stream lost records, everything is copied again.
    fn follow(&mut self) -> Result<Round> {
        let round = self.round()?;
        if round.gap {
            self.state.generation += 1;
            self.enter(Phase::Expand)?;
        }
        Ok(round)
    }

    /// Reads every stream once.
    pub(super) fn round(&mut self) -> Result<Round> {
        let migration = self.migration;
        if !migration.follows(self.state.side) {
            return Ok(Round { caught_up: true, ..Round::default() });
        }
        let mut follower = match self.follower.take() {
            Some(follower) => follower,
            None => Follower::load(
                &migration.service,
                &migration.record,
                self.fence(0),
                Self::direction(self.state.side),
                self.state.generation,
            )?,
        };
        let round = follower.round(&self.writer(0))?;
        self.follower = Some(follower);
        self.changes += round.records as u64;
        self.newest_s = if round.caught_up { 0.0 } else { round.newest_s };
        self.left_since_s = round.left_since_s;
        Ok(round)
    }

    fn load_segments(&mut self) -> Result<Vec<Segment>> {
        match self.segments.take() {
            Some(segments) => Ok(segments),
            None => Segment::load(&self.migration.service, &self.migration.record),
        }
    }

    fn copy_page(&mut self) -> Result<()> {
        let mut segments = self.load_segments()?;
        match segments.iter_mut().find(|segment| !segment.is_done) {
            Some(segment) => {
                let found =
                    segment.page(&self.writer(1), &self.migration.record, self.state.generation)?;
                self.note(found);
                self.segments = Some(segments);
                Ok(())
            }
            None => self.enter(Phase::Sweep),
        }
    }

    fn note(&mut self, found: Vec<Problem>) {
        self.problem_count += found.len() as u64;
        let room = MOST_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(found.into_iter().take(room));
    }

    fn sweep_page(&mut self) -> Result<()> {
        // The first copy leaves nothing but the tombstones of what was deleted meanwhile.
        let left = self.follower.as_ref().is_none_or(Follower::left_tombstones);
        if self.state.generation == 1 && !left {
            return self.enter(Phase::Follow);
        }
        let (mut tables, after) = self.sweeps.take().unwrap_or_else(|| {
            let names = self.map().targets().iter().map(|table| table.name.clone());
            (names.collect(), None)
        });
        let Some(table) = tables.last() else { return self.enter(Phase::Follow) };
        let (writer, generation) = (self.writer(1), self.state.generation);
        let inverse = self.migration.maps(self.state.side).1;
        let next = sweep::page(&writer, inverse, table, generation, after, self)?;
        if next.is_none() {
            tables.pop();
        }
        self.sweeps = Some((tables, next));
        Ok(())
    }

    /// Copies with several workers, while this thread follows. False if `told` stopped it.
    fn backfill_with(
        &mut self,
        workers: usize,
        told: &(dyn Fn(&Progress) -> bool + Sync),
    ) -> Result<bool> {
        let segments = self.load_segments()?;
        let items = segments.iter().map(|segment| segment.items).sum();
        let (done, waiting): (Vec<_>, Vec<_>) =
            segments.into_iter().partition(|segment| segment.is_done);
        let total = done.len() + waiting.len();
        let work = Work {
            waiting: Mutex::new(waiting),
            finished: AtomicU64::new(done.len() as u64),
            items: AtomicU64::new(items),
            problems: Mutex::new(Vec::new()),
            stopped: AtomicBool::new(false),
            follower: std::thread::current(),
        };
        let (record, generation) = (&self.migration.record, self.state.generation);
        let workers = workers.clamp(1, super::state::FENCES as usize - 1);
        let writers: Vec<Writer<'_>> =
            (0..workers).map(|worker| self.writer(worker as u32 + 1)).collect();
        let outcome = std::thread::scope(|scope| {
            let hands: Vec<_> = writers
                .iter()
                .map(|writer| scope.spawn(|| work.run(writer, record, generation)))
                .collect();
            let followed = self.follow_while(&work, total, told);
            work.stopped.fetch_or(!matches!(followed, Ok(Followed::Finished)), Ordering::SeqCst);
            let mut copied = Ok(());
            for hand in hands {
                let ended = hand
                    .join()
                    .unwrap_or_else(|_| Err(Error::Migration("a worker stopped".into())));
                copied = copied.and(ended);
            }
            copied.and(followed)
        })?;
        self.note(work.problems.into_inner().unwrap_or_else(PoisonError::into_inner));
        match outcome {
            Followed::Finished => self.enter(Phase::Sweep).map(|()| true),
            // The phase has changed.
            Followed::Gap => Ok(true),
            Followed::Stopped => Ok(false),
        }
    }

    fn follow_while(
        &mut self,
        work: &Work,
        total: usize,
        told: &(dyn Fn(&Progress) -> bool + Sync),
    ) -> Result<Followed> {
        loop {
            self.beat(Some(work.items.load(Ordering::Relaxed)))?;
            let round = self.follow()?;
            if round.gap {
                return Ok(Followed::Gap);
            }
            let finished = work.finished.load(Ordering::SeqCst) as usize;
            let items = work.items.load(Ordering::Relaxed);
            let progress = Progress { items, segments: (finished, total), ..self.progress() };
            if !told(&progress) {
                return Ok(Followed::Stopped);
            }
            if finished == total || work.stopped.load(Ordering::SeqCst) {
                return Ok(Followed::Finished);
            }
            if round.records == 0 {
                // A worker that has nothing more to do ends the pause.
                std::thread::park_timeout(std::time::Duration::from_millis(100));
            }
        }
    }
}

impl Companion for Runner<'_> {
    fn looked_at(&mut self, items: usize) -> Result<()> {
        self.looked_at += items as u64;
        self.beat(None)
    }

    fn between(&mut self) -> Result<()> {
        self.catch_up()
    }
}

/// Rounds of following, and how many of them were enough.
#[derive(Default)]
struct Rounds {
    quiet: usize,
    near: usize,
}

impl Rounds {
    fn count(&mut self, step: Step, is_near: bool) {
        self.quiet = if step == Step::CaughtUp { self.quiet + 1 } else { 0 };
        self.near = if is_near { self.near + 1 } else { 0 };
    }

    fn are_enough(&self) -> bool {
        self.quiet >= QUIET_ROUNDS || self.near >= NEAR_ROUNDS
    }
}

/// How following beside the workers ended.
enum Followed {
    Finished,
    Gap,
    Stopped,
}

/// What the workers of a backfill share.
struct Work {
    waiting: Mutex<Vec<Segment>>,
    finished: AtomicU64,
    items: AtomicU64,
    problems: Mutex<Vec<Problem>>,
    stopped: AtomicBool,
    /// The thread that follows meanwhile.
    follower: Thread,
}

impl Work {
    fn run(&self, writer: &Writer<'_>, record: &Record, generation: u64) -> Result<()> {
        let copied = self.copy(writer, record, generation);
        self.follower.unpark();
        copied
    }

    /// Copies segments until none is left.
    fn copy(&self, writer: &Writer<'_>, record: &Record, generation: u64) -> Result<()> {
        loop {
            let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut segment) = next else { return Ok(()) };
            while !segment.is_done {
                if self.stopped.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let before = segment.items;
                let found = segment.page(writer, record, generation).inspect_err(|_| {
                    self.stopped.store(true, Ordering::SeqCst);
                })?;
                self.items.fetch_add(segment.items - before, Ordering::Relaxed);
                self.problems.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
            }
            self.finished.fetch_add(1, Ordering::SeqCst);
        }
    }
}
