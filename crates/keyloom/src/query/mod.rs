//! Queries by access pattern.
//!
//! 1. [`Query`] holds the pattern, its inputs and what the caller wants: page size, number of items, where to go on.
//! 2. [`runner`] runs the plan of a pattern without types: the planner turns pattern and inputs into reads, one, or one for
//!    each shard, period or entity.
//! 3. [`stream`] follows one read page by page; [`merge`] merges the streams in the requested order.
//! 4. [`hydrate`] fetches the items themselves when the reads only lead to them.

mod bounds;
mod cursor;
mod explain;
mod hydrate;
mod merge;
mod request;
mod runner;
mod stream;

use keyloom_core::Item;
use keyloom_keys::Value;

pub use cursor::Cursor;
pub(crate) use cursor::Seal;
pub use explain::Explanation;
pub use runner::{PlanAnswer, PlanPage, PlanRunner, ReadTrace};

use crate::design::{Design, earlier, model};
use crate::error::Result;
use crate::table::Table;
use runner::{Planned, RowPages, Settings};

/// An access pattern with its inputs. The derive inside a `design` module implements it.
pub trait Access {
    /// The design it belongs to.
    type Design: Design;
    /// What it finds: an entity, or an enum of several.
    type Output: Output;
    /// Its name in the design.
    const NAME: &'static str;

    /// The inputs by name; those without a value are left out.
    fn inputs(&self) -> Vec<(&'static str, Option<Value<'static>>)>;
}

impl<A: Access> Access for &A {
    type Design = A::Design;
    type Output = A::Output;
    const NAME: &'static str = A::NAME;

    fn inputs(&self) -> Vec<(&'static str, Option<Value<'static>>)> {
        (**self).inputs()
    }
}

/// What a query returns: an entity, or an enum of several. The derives implement it.
pub trait Output: Sized {
    /// Reads an item.
    fn from_item(item: Item) -> Result<Self>;

    /// Whether the item's time to live has passed.
    fn is_expired(item: &Item, now_seconds: u64) -> bool;
}

/// A page of items, and the cursor of the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Where the next page starts; none after the last one.
    pub cursor: Option<Cursor>,
}

/// A query that was not sent yet.
///
/// ```
/// # use keyloom::prelude::*;
/// # #[keyloom::design(table(notes, PK, SK))]
/// # mod notes {
/// #     use super::*;
/// #     #[derive(Entity, Serialize, Deserialize, Debug, PartialEq)]
/// #     #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
/// #     pub struct Note { pub user: String, pub number: u32 }
/// #     #[derive(Access)]
/// #     #[access(find = Note, order = "number")]
/// #     pub struct NotesOf { pub user: String }
/// # }
/// # use notes::*;
/// # fn main() -> keyloom::Result<()> {
/// let notes = Notes::open(Database::memory())?;
/// for number in 0..5 {
///     notes.put(&Note { user: "ann".into(), number })?;
/// }
/// let all = || notes.query(NotesOf { user: "ann".into() });
/// assert_eq!(all().collect()?.len(), 5);
/// // `take` counts items; `limit` is only the size of a page.
/// assert_eq!(all().limit(2).take(3).collect()?.len(), 3);
/// let first = all().limit(2).page()?;
/// let second = all().limit(2).after(first.cursor.as_ref()).page()?;
/// assert_eq!(second.items[0].number, 2);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until the answer is taken"]
pub struct Query<'t, D, A> {
    table: &'t Table<D>,
    access: A,
    limit: Option<usize>,
    take: Take,
    consistent: bool,
    after: Option<Cursor>,
}

/// How many items are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Take {
    /// As many as the pattern states.
    AsDeclared,
    /// At most so many items.
    Items(usize),
    /// All there are.
    All,
}

impl<'t, D: Design, A: Access<Design = D>> Query<'t, D, A> {
    pub(crate) fn new(table: &'t Table<D>, access: A) -> Self {
        let take = Take::AsDeclared;
        Self { table, access, limit: None, take, consistent: false, after: None }
    }

    /// The size of a page: how many entries one request evaluates at most.
    pub fn limit(mut self, entries: usize) -> Self {
        self.limit = Some(entries.max(1));
        self
    }

    /// How many items are wanted in all, whatever the pattern states.
    pub fn take(mut self, items: usize) -> Self {
        self.take = Take::Items(items);
        self
    }

    /// All items, whatever the pattern states.
    pub fn all(mut self) -> Self {
        self.take = Take::All;
        self
    }

    /// Reads as of the latest write. Global indexes cannot.
    pub fn consistent(mut self) -> Self {
        self.consistent = true;
        self
    }

    /// Continues after a page.
    pub fn after<'c>(mut self, cursor: impl Into<Option<&'c Cursor>>) -> Self {
        self.after = cursor.into().cloned();
        self
    }

    /// How the query would be read, without sending anything.
    pub fn explain(&self) -> Result<Explanation> {
        let planned = self.plan()?;
        Ok(Explanation::new(&planned, self.settings(&planned)))
    }

    /// One page: `limit` items if a limit is set, else as many as one request returns.
    pub fn page(self) -> Result<Page<A::Output>> {
        let mut pages = self.pages()?;
        pages.next().unwrap_or(Ok(Page { items: Vec::new(), cursor: None }))
    }

    /// All pages, each read when the iterator reaches it.
    pub fn pages(self) -> Result<Pages<'t, D, A::Output>> {
        self.pages_as()
    }

    /// All pages, with their items converted.
    pub(crate) fn pages_as<T: Output>(self) -> Result<Pages<'t, D, T>> {
        let planned = self.plan()?;
        let settings = self.settings(&planned);
        let fingerprint = planned.fingerprint();
        let positions = match &self.after {
            Some(_) if !planned.pattern.alternatives.is_empty() => {
                return Err(Cursor::of_alternatives());
            }
            Some(cursor) => {
                let seal = &self.table.cursor_seal;
                let positions = cursor.positions(fingerprint, planned.reads.len(), seal)?;
                bounds::check(&planned.reads, &positions)?;
                Some(positions)
            }
            None => None,
        };
        let want = match self.take {
            Take::All => usize::MAX,
            Take::Items(items) => items,
            // Paging through by cursors means all of them.
            Take::AsDeclared if self.limit.is_some() || self.after.is_some() => usize::MAX,
            Take::AsDeclared => planned.pattern.limit.map_or(usize::MAX, |limit| limit as usize),
        };
        let runner = PlanRunner::new(&self.table.backend, &self.table.retry);
        Ok(Pages {
            table: self.table,
            rows: RowPages::new(runner, planned, settings, positions, want),
            page_size: self.limit,
            fingerprint,
            output: std::marker::PhantomData,
        })
    }

    /// All items, one after the other; pages are read as they are needed.
    pub fn items(self) -> Result<impl Iterator<Item = Result<A::Output>> + use<'t, D, A>> {
        Ok(self.pages()?.flat_map(|page| match page {
            Ok(page) => page.items.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        }))
    }

    /// Reads all pages and returns their items.
    pub fn collect(self) -> Result<Vec<A::Output>> {
        let mut all = Vec::new();
        for page in self.pages()? {
            all.extend(page?.items);
        }
        Ok(all)
    }

    /// The first item, if there is one.
    pub fn first(self) -> Result<Option<A::Output>> {
        Ok(self.take(1).collect()?.into_iter().next())
    }

    fn plan(&self) -> Result<Planned<'static>> {
        let (pattern, plan) = model::<D>()?.pattern(A::NAME)?;
        let inputs = self.access.inputs().into_iter();
        let inputs = inputs.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        Planned::new(pattern, plan, inputs, earlier::<D>()?)
    }

    fn settings(&self, planned: &Planned<'_>) -> Settings {
        let declared = planned.settings();
        let is_declared =
            self.take == Take::AsDeclared && self.limit.is_none() && self.after.is_none();
        let wanted = match self.take {
            Take::Items(items) => Some(items.max(1)),
            Take::AsDeclared => declared.page_size,
            Take::All => None,
        };
        Settings {
            page_size: self.limit.or(wanted),
            is_one_page: declared.is_one_page && is_declared,
            consistent: self.consistent,
        }
    }
}

/// The pages of a query.
pub struct Pages<'t, D, T> {
    table: &'t Table<D>,
    rows: RowPages<'t>,
    page_size: Option<usize>,
    fingerprint: u64,
    output: std::marker::PhantomData<fn() -> T>,
}

impl<D: Design, T: Output> Pages<'_, D, T> {
    fn next_page(&mut self) -> Result<Page<T>> {
        let hides = self.table.hides_expired();
        let now = if hides { crate::table::now_seconds() } else { 0 };
        let keep = |row: &Item| !(hides && T::is_expired(row, now));
        let rows = self.rows.next_page(self.page_size, None, keep)?;
        let items = rows.into_iter().map(T::from_item).collect::<Result<_>>()?;
        let cursor = (!self.rows.merge.is_done()).then(|| {
            Cursor::new(self.fingerprint, &self.rows.merge.positions(), &self.table.cursor_seal)
        });
        Ok(Page { items, cursor })
    }
}

impl<D: Design, T: Output> Iterator for Pages<'_, D, T> {
    type Item = Result<Page<T>>;

    fn next(&mut self) -> Option<Result<Page<T>>> {
        if self.rows.is_ended() {
            return None;
        }
        let page = self.next_page();
        if page.is_err() {
            self.rows.end();
        }
        Some(page)
    }
}

#[cfg(test)]
mod tests;
