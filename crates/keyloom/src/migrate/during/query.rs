//! Queries while a migration runs: sent in the form that is currently read, with results converted to the new form.

use std::marker::PhantomData;

use keyloom_core::Item;

use super::{During, WasAccess};
use crate::design::{Design, model};
use crate::error::{Error, Result};
use crate::migrate::Side;
use crate::query::{Access, Cursor, Output, Page, Query};

/// The pages of an answer, in whichever form they are read.
type Pages<'q, T> = Box<dyn Iterator<Item = Result<Page<T>>> + 'q>;

/// A query while a migration runs; nothing is sent until the answer is taken.
#[must_use = "nothing is sent until the answer is taken"]
pub struct DuringQuery<'t, O, N, A> {
    during: &'t During<O, N>,
    access: A,
    limit: Option<usize>,
    take: Option<usize>,
    consistent: bool,
    after: Option<Cursor>,
}

impl<'t, O, N, A> DuringQuery<'t, O, N, A> {
    pub(super) fn new(during: &'t During<O, N>, access: A) -> Self {
        Self { during, access, limit: None, take: None, consistent: false, after: None }
    }
}

impl<O: Design, N: Design, A: WasAccess<O> + Access<Design = N>> DuringQuery<'_, O, N, A> {
    /// The size of a page: how many entries one request evaluates at most.
    pub fn limit(mut self, entries: usize) -> Self {
        self.limit = Some(entries);
        self
    }

    /// How many items are wanted in all, whatever the pattern states.
    pub fn take(mut self, items: usize) -> Self {
        self.take = Some(items);
        self
    }

    /// Reads as of the latest write. Global indexes cannot.
    pub fn consistent(mut self) -> Self {
        self.consistent = true;
        self
    }

    /// Continues after a page. A cursor from before the switch is refused after it: begin again.
    pub fn after<'c>(mut self, cursor: impl Into<Option<&'c Cursor>>) -> Self {
        self.after = cursor.into().cloned();
        self
    }

    /// All items. If programs move to the other form meanwhile, they are read once more.
    pub fn collect(self) -> Result<Vec<A::Output>> {
        loop {
            let (side, mut all) = (self.side()?, Vec::new());
            for page in self.pages(side)? {
                all.extend(page?.items);
            }
            if self.side()? == side {
                return Ok(all);
            }
        }
    }

    /// The first item, if there is one.
    pub fn first(self) -> Result<Option<A::Output>> {
        Ok(self.take(1).collect()?.into_iter().next())
    }

    /// One page: `limit` items if a limit is set, else as many as one request brings.
    pub fn page(self) -> Result<Page<A::Output>> {
        loop {
            let side = self.side()?;
            let page = self.pages(side)?.next();
            if self.side()? == side {
                return page.unwrap_or(Ok(Page { items: Vec::new(), cursor: None }));
            }
        }
    }

    fn side(&self) -> Result<Side> {
        Ok(self.during.shared.marker.look()?.reads)
    }

    fn pages(&self, side: Side) -> Result<Pages<'_, A::Output>> {
        let during = self.during;
        match side {
            Side::New => {
                let pages = self.asked(Query::new(&during.new, &self.access)).pages()?;
                Ok(Box::new(pages))
            }
            Side::Old => {
                let name = <A::Before as Access>::NAME;
                if let Some(gap) = during.shared.plan.gaps.iter().find(|gap| gap.pattern == name) {
                    return Err(Error::Migration(format!(
                        "it is answered after the switch: {gap}"
                    )));
                }
                let query = self.asked(Query::new(&during.old, self.access.before()));
                let pages = query.pages_as::<Raw<<A::Before as Access>::Output>>()?;
                Ok(Box::new(pages.map(move |page| {
                    let page = page?;
                    let items = page.items.into_iter();
                    let items = items.map(|raw| during.output::<A>(&raw.0));
                    Ok(Page { items: items.collect::<Result<_>>()?, cursor: page.cursor })
                })))
            }
        }
    }

    fn asked<'q, D: Design, B: Access<Design = D>>(
        &self,
        mut query: Query<'q, D, B>,
    ) -> Query<'q, D, B> {
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        if let Some(items) = self.take {
            query = query.take(items);
        }
        if self.consistent {
            query = query.consistent();
        }
        query.after(self.after.as_ref())
    }
}

impl<O: Design, N: Design> During<O, N> {
    /// An item that an old pattern found, as the new pattern hands it out.
    fn output<A: WasAccess<O>>(&self, item: &Item) -> Result<A::Output> {
        let (pattern, _) = model::<O>()?.pattern(<A::Before as Access>::NAME)?;
        let forward = &self.shared.plan.forward;
        let tables = pattern.find.iter().map(|entity| entity.table.name.as_str());
        let is_of = |table: &&str| forward.entity_of(table, item).is_some();
        let table = tables.clone().find(is_of).or_else(|| tables.clone().next());
        A::Output::from_item(Self::counterpart(forward, table.unwrap_or_default(), item)?)
    }
}

/// An item as it is stored, which expires like the type that it belongs to.
struct Raw<T>(Item, PhantomData<fn() -> T>);

impl<T: Output> Output for Raw<T> {
    fn from_item(item: Item) -> Result<Self> {
        Ok(Self(item, PhantomData))
    }

    fn is_expired(item: &Item, now_seconds: u64) -> bool {
        T::is_expired(item, now_seconds)
    }
}
