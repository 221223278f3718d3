//! Changes the keys of stored items while programs use them.
//!
//! The designs before and after define a mapping from old items to new ones ([`MigrationPlan`]). A migration writes
//! the new form of every item beside the old one, keeps both in sync while programs continue, and removes the old
//! form at the end:
//!
//! 1. **expand**: tables and the streams of the old form are made.
//! 2. **backfill**: every item is written in its new form, while changes are followed. A write never replaces anything
//!    newer ([`mark`]); a deletion leaves a tombstone for as long as a late copy could bring the item back.
//! 3. **sweep**: tombstones go.
//! 4. **follow**: changes are carried over from the stream, for as long as it takes.
//! 5. **verify**: every item is compared with what it should be.
//! 6. **switch**: programs use the new form from now on. Its changes are carried back, so that a rollback loses nothing.
//! 7. **contract**: the old form goes, and everything that the migration kept in the items.
//!
//! Until then, **rollback** returns to the old design alone. All state is in the database ([`state`]): a migration
//! can be resumed on any machine, and a runner that has been replaced can no longer write.
//!
//! ```
//! use keyloom::migrate::{Migration, Side};
//! use keyloom::{Backend, Database, TableClient, item};
//!
//! let old = r#"
//!     [table.notes]
//!     partition_key = "pk"
//!     sort_key = "sk"
//!     [entity.Note]
//!     pk = "USER#{user}"
//!     sk = "NOTE#{number}"
//!     [entity.Note.fields]
//!     user = "string"
//!     number = { type = "u32", plain = true }
//! "#;
//! // Numbers that sort: another table, because the keys of both forms could be the same.
//! let new = old.replace("table.notes", "table.notes2").replace(", plain = true", ", width = 6");
//!
//! let backend = Backend::from(Database::memory());
//! let notes = TableClient::new(backend.clone(), "notes");
//! notes.create()?;
//! notes.put(item! { "pk" => "USER#ann", "sk" => "NOTE#7", "user" => "ann", "number" => 7 })?;
//!
//! let migration = Migration::from_toml(backend.clone(), old, &new)?;
//! let mut runner = migration.runner(false)?;
//! runner.catch_up()?;
//! runner.switch()?;
//! assert_eq!(migration.status()?.map(|status| status.side), Some(Side::New));
//! let moved = TableClient::new(backend, "notes2").get(("USER#ann", "NOTE#000007"))?;
//! assert_eq!(moved.and_then(|note| note.get("number").cloned()), Some(7.into()));
//! runner.contract()?;
//! # Ok::<(), keyloom::Error>(())
//! ```

mod apply;
mod backfill;
mod capacity;
mod during;
mod finish;
mod follow;
mod mark;
mod marker;
mod pace;
mod patterns;
mod runner;
pub(crate) mod service;
mod state;
mod status;
pub(crate) mod stream;
mod sweep;
mod verify;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyloom_api::clock::Clock;
use keyloom_core::Item;
use keyloom_design::cost::Prices;
use keyloom_design::migration::{ItemMap, Unmappable};
use keyloom_design::{CheckReport, check_text};

pub use self::during::{During, DuringQuery, DuringTransaction, Was, WasAccess};
pub use self::finish::Contracted;
pub use self::pace::Rate;
pub use self::runner::{Progress, Runner, Step};
pub use self::state::{Phase, Side, Told};
pub use self::status::{CopiedTable, Recorded, Status};
pub use self::verify::{Range, Verification};
pub use keyloom_design::migration::MigrationPlan;

use self::capacity::Capacity;
use self::mark::Origin;
use self::pace::Pace;
use self::service::Service;
use self::state::{Record, State};
use self::verify::Companion;
use crate::backend::Backend;
use crate::design::Design;
use crate::error::{Error, Result};

/// Sees every request of a migration before it is sent, and may refuse it: for tests, and for pauses.
pub trait Watch: Send + Sync {
    /// A request is about to be made.
    fn before(&self, operation: &'static str) -> Result<()>;
}

/// A callback for the progress of a migration.
type Hearer = Box<dyn Fn(&Progress) + Send + Sync>;

/// A change from one design to another, in one database.
pub struct Migration {
    service: Service,
    plan: MigrationPlan,
    record: Record,
    segments: u32,
    fresh_ms: u64,
    /// Entities that the new design does not have, on purpose.
    left_behind: Vec<String>,
    accepts_gaps: bool,
    /// Whether one that was rolled back begins anew.
    begins_again: bool,
    told: Option<Hearer>,
}

/// How often the capacity of the tables is looked at, where the rate is a share of it.
const CAPACITY_MS: u64 = 60_000;
/// For how long programs rely on what they have read of the marker, unless the migration says otherwise.
const FRESH_MS: u64 = 1_000;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The item as text.
    pub item: String,
    /// What is wrong.
    pub reason: String,
}

impl Problem {
    fn unknown(at: &Origin) -> Self {
        Self { item: at.text(), reason: "is of no entity of either design".into() }
    }

    fn unmappable(at: &Origin, error: &Unmappable) -> Self {
        Self { item: at.text(), reason: error.reason.clone() }
    }

    fn differs(at: &Origin, reason: &str) -> Self {
        Self { item: at.text(), reason: reason.to_owned() }
    }

    fn orphan(at: &Origin) -> Self {
        Self { item: at.text(), reason: "is there, and what it was made from is not".into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.item, self.reason)
    }
}

/// A comparison without a runner.
struct Alone<'c> {
    migration: &'c Migration,
    state: State,
    paced_ms: u64,
    looked_at: u64,
    between: &'c mut dyn FnMut() -> Result<()>,
}

impl Companion for Alone<'_> {
    fn looked_at(&mut self, items: usize) -> Result<()> {
        self.looked_at += items as u64;
        self.migration.tell(&Progress {
            phase: self.state.phase,
            side: self.state.side,
            items: 0,
            looked_at: self.looked_at,
            segments: (0, 0),
            changes: 0,
            lag_s: 0.0,
            units: self.migration.service.pace.spent(),
            problems: 0,
        });
        self.migration.keep_pace_up(&mut self.paced_ms)
    }

    fn between(&mut self) -> Result<()> {
        (self.between)()
    }
}

/// A primary key for people.
fn key_label(key: &Item) -> String {
    crate::entity::key_text(key)
}

impl Migration {
    /// A migration between two checked designs. Nothing is asked of the database yet.
    pub fn new(backend: impl Into<Backend>, old: &CheckReport, new: &CheckReport) -> Result<Self> {
        let usable = |report: &CheckReport| report.is_whole && report.design.is_some();
        let plan = MigrationPlan::between(old, new).filter(|_| usable(old) && usable(new));
        let plan = plan.ok_or_else(|| Error::Design("one of the designs is not usable".into()))?;
        let record = Record { id: plan.id() };
        Ok(Self {
            service: Service::new(backend.into()),
            plan,
            record,
            segments: 16,
            fresh_ms: FRESH_MS,
            left_behind: Vec::new(),
            accepts_gaps: false,
            begins_again: false,
            told: None,
        })
    }

    /// The migration from the design `O` to the design `N` of this program; [`During`] is its client.
    pub fn between<O: Design, N: Design>(backend: impl Into<Backend>) -> Result<Self> {
        Self::from_toml(backend, O::TOML, N::TOML)
    }

    /// A migration between two design files.
    pub fn from_toml(backend: impl Into<Backend>, old: &str, new: &str) -> Result<Self> {
        let prices = Prices::default();
        Self::new(backend, &check_text("old", old, &prices), &check_text("new", new, &prices))
    }

    /// How fast it may go; without a limit unless said here.
    #[must_use]
    pub fn with_rate(mut self, rate: Rate) -> Self {
        let fixed_page = self.service.pace.fixed_page;
        self.service.pace = Pace::at(rate);
        self.service.pace.fixed_page = fixed_page;
        self
    }

    /// Looks at the capacity of the tables, if the rate is a share of it: it may be changed at any time.
    fn keep_pace(&self) -> Result<()> {
        let pace = &self.service.pace;
        if !pace.is_share() {
            return Ok(());
        }
        let mut tables = Vec::new();
        for table in self.tables() {
            let capacity = Capacity::of(&self.service, table)?;
            tables.extend(capacity.map(|capacity| (table.to_owned(), capacity)));
        }
        pace.set(&tables)
    }

    /// The same, if the last time was a minute ago.
    fn keep_pace_up(&self, last_ms: &mut u64) -> Result<()> {
        let now_ms = self.service.clock.now_ms();
        if now_ms.saturating_sub(*last_ms) < CAPACITY_MS {
            return Ok(());
        }
        *last_ms = now_ms;
        self.keep_pace()
    }

    /// Sets the progress callback, called many times per second, also during comparisons and the removal of a form.
    #[must_use]
    pub fn telling(mut self, told: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.told = Some(Box::new(told));
        self
    }

    fn tell(&self, progress: &Progress) {
        if let Some(told) = &self.told {
            told(progress);
        }
    }

    /// Entities of the old design that the new one does not have, on purpose: their items stay where they are.
    #[must_use]
    pub fn leaving_behind(mut self, entities: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.left_behind.extend(entities.into_iter().map(Into::into));
        self
    }

    /// Accepts that patterns of the old design miss items until the switch: [`MigrationPlan::gaps`].
    #[must_use]
    pub fn accepting_gaps(mut self) -> Self {
        self.accepts_gaps = true;
        self
    }

    /// Begins anew, if it was rolled back; without this, what was rolled back is over.
    #[must_use]
    pub fn beginning_again(mut self) -> Self {
        self.begins_again = true;
        self
    }

    /// For how long programs that know both designs may rely on what they have read of the marker, one second unless said
    /// here. A switch takes so much longer. It holds from the beginning of a migration to its end; zero is for migrations
    /// of which no program knows.
    #[must_use]
    pub fn with_marker_age(mut self, most: Duration) -> Self {
        self.fresh_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Whether it may begin: nothing is in the way, and what needs the operator's word has it.
    pub fn may_begin(&self) -> Result<()> {
        self.is_possible()?;
        let mut lost = self.plan.left_behind.iter();
        if let Some(name) = lost.find(|name| !self.left_behind.contains(name)) {
            return Err(Error::Migration(format!(
                "the new design has no `{name}`, and no program of it would see its items again: if that is meant, say that \
                 `{name}` is left behind; if it has another name there, say `was = \"{name}\"`"
            )));
        }
        match self.plan.gaps.first().filter(|_| !self.accepts_gaps) {
            Some(gap) => Err(Error::Migration(format!(
                "{gap}: accept that, or give the new key another attribute and index"
            ))),
            None => Ok(()),
        }
    }

    fn is_possible(&self) -> Result<()> {
        match self.plan.obstacles.first() {
            Some(obstacle) => {
                Err(Error::Migration(format!("there is no way to migrate online: {obstacle}")))
            }
            None => Ok(()),
        }
    }

    /// Into how many parts each table is divided for the backfill.
    #[must_use]
    pub fn with_segments(mut self, segments: u32) -> Self {
        self.segments = segments.clamp(1, 10_000);
        self
    }

    /// The most items that are read at once.
    #[must_use]
    pub fn with_page_items(mut self, items: usize) -> Self {
        self.service.pace.fixed_page = Some(items.max(1));
        self
    }

    /// An observer of every request.
    #[must_use]
    pub fn with_watch(mut self, watch: Arc<dyn Watch>) -> Self {
        self.service.watch = Some(watch);
        self
    }

    /// Replaces the clock, for tests.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.service.clock = clock;
        self
    }

    /// What happens to the items.
    pub fn plan(&self) -> &MigrationPlan {
        &self.plan
    }

    /// Compares all items, without writing anything; `between` is called before differences are looked at again, and should
    /// give a runner the time to carry changes over.
    pub fn verify(&self, between: &mut dyn FnMut() -> Result<()>) -> Result<Verification> {
        let begun = self.record.load(&self.service)?;
        let state = begun.ok_or_else(Self::not_begun)?;
        self.keep_pace()?;
        let paced_ms = self.service.clock.now_ms();
        let mut alone = Alone { migration: self, state, paced_ms, looked_at: 0, between };
        let maps = self.maps(alone.state.side);
        let mut compared = verify::verify(&self.service, maps, &self.plan, &mut alone)?;
        compared.settle(&mut alone)?;
        Ok(compared.into_verification())
    }

    /// Begins the migration or goes on with it. A runner that was heard of in the last minute is replaced only if `take_over`
    /// says so: it cannot write any more then.
    pub fn runner(&self, take_over: bool) -> Result<Runner<'_>> {
        Runner::new(self, take_over)
    }

    fn not_begun() -> Error {
        Error::Migration(
            "this migration was not begun here; `keyloom migrate run` begins it".into(),
        )
    }

    /// From the form that programs use to the other, and back.
    fn maps(&self, side: Side) -> (&ItemMap, &ItemMap) {
        match side {
            Side::Old => (&self.plan.forward, &self.plan.backward),
            Side::New => (&self.plan.backward, &self.plan.forward),
        }
    }

    /// Whether changes of the form in use are carried over: where there is no way back, there is nothing to carry back.
    fn follows(&self, side: Side) -> bool {
        side == Side::Old || self.plan.one_way.is_empty()
    }

    /// Every table whose items are read or written.
    fn tables(&self) -> Vec<&str> {
        let map = &self.plan.forward;
        let mut names: Vec<&str> =
            map.sources().iter().chain(map.targets()).map(|table| table.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
