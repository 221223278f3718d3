//! The untyped runner of plans: inputs in, rows out. Typed queries wrap it, and `keyloom try` tests it.
//!
//! The reads of a plan become streams of pages ([`stream`](super::stream)), which are merged in the requested order
//! ([`merge`](super::merge)); if rows contain only keys, the items are fetched ([`hydrate`](super::hydrate)).

use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_api::parameters::ReturnConsumedCapacity;
use keyloom_api::queries::QueryInput;
use keyloom_core::Item;
use keyloom_core::capacity::{ReadMode, Units, read_units};
use keyloom_core::size::item_size;
use keyloom_design::evaluate::Inputs;
use keyloom_design::model::Access as Pattern;
use keyloom_design::plan::{ConcreteRead, Plan};

use super::bounds;
use super::cursor::{Cursor, Seal};
use super::hydrate;
use super::merge::Merge;
use super::stream::Position;
use crate::backend::{Backend, RawPage};
use crate::design::Model;
use crate::error::{Error, Result};
use crate::retry::Retry;

/// Runs access patterns as planned, without types.
///
/// ```
/// use keyloom::designs::{Design, cost::Prices, plan::plan};
/// use keyloom::{Backend, Database, PlanRunner, Retry, TableClient, Value, item};
///
/// let (design, _) = Design::parse("notes.toml", r#"
///     [table.notes]
///     partition_key = "pk"
///     sort_key = "sk"
///     [entity.Note]
///     pk = "USER#{user}"
///     sk = "NOTE#{number}"
///     [entity.Note.fields]
///     user = "string"
///     number = "u32"
///     [access.NotesOf]
///     find = "Note"
///     where = "user = ?"
/// "#);
/// let design = design.expect("it is a design");
/// let backend = Backend::from(Database::memory());
/// let notes = TableClient::new(backend.clone(), "notes");
/// notes.create()?;
/// notes.put(item! { "pk" => "USER#ann", "sk" => "NOTE#0000000001", "user" => "ann", "number" => 1 })?;
///
/// let (plans, retry) = (plan(&design, &Prices::default()), Retry::default());
/// let inputs = [("user".to_owned(), Value::from("ann".to_owned()))].into();
/// let runner = PlanRunner::new(&backend, &retry);
/// let answer = runner.run(&design.accesses()[0], &plans[0], &inputs)?;
/// assert_eq!(answer.items.len(), 1);
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PlanRunner<'b> {
    pub(super) backend: &'b Backend,
    pub(super) retry: &'b Retry,
    /// The sum of consumed read units in halves, if it is counted.
    meter: Option<&'b AtomicU64>,
}

/// One page of the answer to an access pattern.
#[derive(Clone, Debug, Default)]
pub struct PlanPage {
    /// The items, in the order asked for.
    pub items: Vec<Item>,
    /// Where the next page begins; none if this is the last.
    pub cursor: Option<Cursor>,
    /// The read units that were consumed, as the database states them for queries; for items that are read by their
    /// whole keys, as their sizes say.
    pub units: Units,
}

/// What one call of an access pattern returned, and how.
#[derive(Clone, Debug, Default)]
pub struct PlanAnswer {
    /// The items, in the order asked for.
    pub items: Vec<Item>,
    /// The reads of the first step.
    pub reads: Vec<ReadTrace>,
    /// The rows that a second step followed, request round by request round; empty without a second step.
    pub followed: Vec<Vec<Item>>,
}

/// The progress of one read of the first step.
#[derive(Clone, Debug)]
pub struct ReadTrace {
    /// The read as it was sent.
    pub read: ConcreteRead,
    /// How many entries each of its pages evaluated.
    pub pages: Vec<usize>,
    /// Whether it was read to its end.
    pub is_done: bool,
}

impl<'b> PlanRunner<'b> {
    /// A runner over a backend.
    pub fn new(backend: &'b Backend, retry: &'b Retry) -> Self {
        Self { backend, retry, meter: None }
    }

    /// Calls a pattern and reads one page of at most `size` items of its answer, from where `after` stands. A pattern
    /// with `or` has no further pages: it is read in one go.
    pub fn run_page(
        &self,
        pattern: &Pattern,
        plan: &Plan,
        inputs: &Inputs,
        (size, after): (usize, Option<&Cursor>),
    ) -> Result<PlanPage> {
        let planned = Planned::new(pattern, plan, inputs.clone(), &[])?;
        let fingerprint = planned.fingerprint();
        let positions = match after {
            Some(_) if !pattern.alternatives.is_empty() => return Err(Cursor::of_alternatives()),
            Some(cursor) => {
                let positions =
                    cursor.positions(fingerprint, planned.reads.len(), &Seal::default())?;
                bounds::check(&planned.reads, &positions)?;
                Some(positions)
            }
            None => None,
        };
        let settings = Settings { page_size: Some(size.max(1)), ..planned.settings() };
        let halves = AtomicU64::new(0);
        let runner = PlanRunner { meter: Some(&halves), ..*self };
        let mut rows = RowPages::new(runner, planned, settings, positions, usize::MAX);
        let items = rows.next_page(Some(size.max(1)), None, |_| true)?;
        let has_more = !rows.merge.is_done() && pattern.alternatives.is_empty();
        let cursor =
            has_more.then(|| Cursor::new(fingerprint, &rows.merge.positions(), &Seal::default()));
        let units = Units::halves(halves.load(Ordering::Relaxed));
        Ok(PlanPage { items, cursor, units })
    }

    /// Sends a query and adds its units, if they are counted.
    pub(super) fn query(self, mut input: QueryInput) -> Result<RawPage> {
        if self.meter.is_some() {
            input.read.return_consumed_capacity = ReturnConsumedCapacity::Total;
        }
        let page = self.retry.run("Query", true, |_| self.backend.query(&input))?;
        self.count(page.units);
        Ok(page)
    }

    /// Counts a read by a whole key.
    pub(super) fn count_item(self, item: Option<&Item>, consistent: bool) {
        let mode = if consistent { ReadMode::Strong } else { ReadMode::Eventual };
        self.count(read_units(item.map_or(0, item_size), mode));
    }

    fn count(self, units: Units) {
        if let Some(meter) = self.meter {
            meter.fetch_add(units.as_halves(), Ordering::Relaxed);
        }
    }

    /// Calls a pattern once and reads to the end of the answer. Fails with [`Error::Pattern`] if the inputs do not fit.
    pub fn run(&self, pattern: &Pattern, plan: &Plan, inputs: &Inputs) -> Result<PlanAnswer> {
        let planned = Planned::new(pattern, plan, inputs.clone(), &[])?;
        let settings = planned.settings();
        self.answer(planned, settings)
    }

    /// The careless way, for showing what it gets wrong: the limit goes out with every request, also behind a filter, and
    /// one page of each is the answer.
    pub fn run_with_limit_sent_along(
        &self,
        pattern: &Pattern,
        plan: &Plan,
        inputs: &Inputs,
    ) -> Result<PlanAnswer> {
        let planned = Planned::new(pattern, plan, inputs.clone(), &[])?;
        let settings = Settings { is_one_page: true, ..planned.settings() };
        self.answer(planned, settings)
    }

    fn answer(&self, planned: Planned<'_>, settings: Settings) -> Result<PlanAnswer> {
        let want = planned.pattern.limit.map_or(usize::MAX, |limit| limit as usize);
        let mut rows = RowPages::new(*self, planned, settings, None, want);
        let mut answer = PlanAnswer::default();
        while !rows.is_ended() {
            let page = rows.next_page(None, Some(&mut answer.followed), |_| true)?;
            answer.items.extend(page);
        }
        answer.reads = rows.merge.traces();
        Ok(answer)
    }
}

/// The options for every read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How many entries one request evaluates at most.
    pub(crate) page_size: Option<usize>,
    /// Whether one page of each read is the answer, whatever a filter leaves of it.
    pub(crate) is_one_page: bool,
    pub(crate) consistent: bool,
}

impl Settings {
    /// The limit of a request. With a filter, a page of the size wanted would bring too little.
    pub(super) fn limit_of(&self, read: &ConcreteRead) -> Option<usize> {
        self.page_size.filter(|_| read.filter.is_empty() || self.is_one_page)
    }
}

/// A pattern with its reads, inputs filled in.
pub(crate) struct Planned<'d> {
    pub(crate) pattern: &'d Pattern,
    pub(crate) plan: &'d Plan,
    pub(crate) reads: Vec<ConcreteRead>,
    /// Whether some of the reads are those of earlier numbers of shards.
    pub(crate) is_resharded: bool,
    /// The design with earlier numbers of shards.
    pub(crate) earlier: &'d [Model],
    pub(super) inputs: Inputs,
}

impl<'d> Planned<'d> {
    pub(super) fn new(
        pattern: &'d Pattern,
        plan: &'d Plan,
        inputs: Inputs,
        earlier: &'d [Model],
    ) -> Result<Self> {
        let wrong = |reason| Error::Pattern { pattern: pattern.name.clone(), reason };
        if plan.reads.is_empty() && plan.raw.is_none() {
            let reason = "no index serves this pattern; `keyloom check` says why";
            return Err(wrong(reason.to_owned()));
        }
        let mut reads = plan.first_reads(pattern, &inputs).map_err(wrong)?;
        let present = reads.len();
        for epoch in earlier {
            let (pattern, plan) = epoch.pattern(&pattern.name)?;
            for read in plan.first_reads(pattern, &inputs).map_err(wrong)? {
                if !reads.contains(&read) {
                    reads.push(read);
                }
            }
        }
        let is_resharded = reads.len() > present;
        Ok(Self { pattern, plan, reads, is_resharded, earlier, inputs })
    }

    /// As the pattern states it. A request that was written by hand has its limit in it: what its page brings is the answer.
    pub(super) fn settings(&self) -> Settings {
        let page_size = self.pattern.limit.map(|limit| limit as usize);
        let is_one_page = self.plan.raw.is_some() && page_size.is_some();
        Settings { page_size, is_one_page, consistent: false }
    }

    /// Identifies this query, so that a cursor of another query is refused.
    pub(super) fn fingerprint(&self) -> u64 {
        let inputs: Vec<String> =
            self.inputs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut parts = vec![self.pattern.name.as_str()];
        parts.extend(inputs.iter().map(String::as_str));
        keyloom_keys::stable_hash(&parts)
    }
}

/// The answer of a plan, page by page.
pub(super) struct RowPages<'q> {
    runner: PlanRunner<'q>,
    planned: Planned<'q>,
    pub(super) merge: Merge,
    is_one_page: bool,
    consistent: bool,
    /// How many more items are wanted.
    want: usize,
    is_ended: bool,
}

impl<'q> RowPages<'q> {
    pub(super) fn new(
        runner: PlanRunner<'q>,
        planned: Planned<'q>,
        settings: Settings,
        positions: Option<Vec<Position>>,
        want: usize,
    ) -> Self {
        let merge = Merge::new(&planned, settings, positions);
        let Settings { is_one_page, consistent, .. } = settings;
        Self { runner, planned, merge, is_one_page, consistent, want, is_ended: want == 0 }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// The next items that `keep` lets through: so many if a size is given, else as many as one round of requests brings.
    pub(super) fn next_page(
        &mut self,
        size: Option<usize>,
        mut followed: Option<&mut Vec<Vec<Item>>>,
        keep: impl Fn(&Item) -> bool,
    ) -> Result<Vec<Item>> {
        let is_sized = size.is_some() || self.want != usize::MAX;
        let size = size.unwrap_or(usize::MAX).min(self.want);
        let mut items = Vec::new();
        while items.len() < size {
            let wanted = if is_sized { size - items.len() } else { usize::MAX };
            let rows = self.merge.rows(self.runner, wanted)?;
            if rows.is_empty() {
                break;
            }
            if let (Some(followed), Some(_)) = (&mut followed, &self.planned.plan.hydrate) {
                followed.push(rows.clone());
            }
            let rows = hydrate::items(self.runner, &self.planned, self.consistent, rows)?;
            items.extend(rows.into_iter().filter(|row| keep(row)));
            if !is_sized {
                break;
            }
        }
        // Several items may hang on one row; a page may be larger for it, but not the answer.
        items.truncate(self.want);
        self.want = self.want.saturating_sub(items.len());
        self.is_ended = self.is_one_page || self.merge.is_done() || self.want == 0;
        Ok(items)
    }

    /// Marks an answer that failed as ended.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }
}
