//! Verify: every item is compared with its counterpart in the other form.
//!
//! Writes continue meanwhile, so a difference may be a change that has not been copied yet. Differences are checked
//! again after the stream has been followed to its end, and must then be zero.

use std::collections::BTreeMap;

use keyloom_core::{AttributeValue, Item};
use keyloom_design::evaluate::Row;
use keyloom_design::migration::{Fate, ItemMap, Mapped, MigrationPlan};
use keyloom_keys::stable_hash;

use super::backfill::key_of;
use super::mark::{Mark, Origin, is_tombstone, unmarked};
use super::patterns::{self, Place, Sample, Unlike};
use super::service::Service;
use super::{Problem, key_label};
use crate::error::Result;

/// What a comparison of all items found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// Items compared, and checksums, by table and segment.
    pub ranges: Vec<Range>,
    /// Items that are not what they should be, also after they were looked at again.
    pub problems: Vec<Problem>,
    /// Differences that went away when they were looked at again.
    pub settled: u64,
    /// Calls of patterns that both designs have, answered by both.
    pub calls: u64,
}

/// One part of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The name of the table.
    pub table: String,
    /// The number of the segment.
    pub segment: u32,
    /// How many items were read.
    pub items: u64,
    /// The sum of the hashes of what should be there.
    pub expected: u64,
    /// The sum of the hashes of what is there.
    pub found: u64,
}

impl Verification {
    /// Whether everything is as it should be.
    pub fn is_right(&self) -> bool {
        self.problems.is_empty()
    }

    /// How many items were compared.
    pub fn items(&self) -> u64 {
        self.ranges.iter().map(|range| range.items).sum()
    }
}

/// How often differences are looked at again.
const LOOKS: usize = 20;
const SEGMENTS: u32 = 8;
/// The most differences that are looked at while programs wait.
const MOST_AT_ONCE: usize = 1_000;

/// Who accompanies a comparison, which may take hours.
pub(super) trait Companion {
    /// So many more items were looked at.
    fn looked_at(&mut self, items: usize) -> Result<()>;

    /// Differences will be looked at again: changes may be carried over now.
    fn between(&mut self) -> Result<()>;
}

/// Compares all items of one direction, and the patterns that both designs have.
pub(super) fn verify<'m>(
    service: &'m Service,
    (map, inverse): (&'m ItemMap, &'m ItemMap),
    plan: &'m MigrationPlan,
    companion: &mut dyn Companion,
) -> Result<Compared<'m>> {
    let check = Check { service, map, inverse, plan };
    let (mut ranges, mut sample) = (Vec::new(), Sample::default());
    let mut doubtful: BTreeMap<String, Doubt> = BTreeMap::new();
    for table in map.sources() {
        for segment in 0..SEGMENTS {
            let range = Range { table: table.name.clone(), segment, ..Range::default() };
            ranges.push(check.sources(range, &mut sample, &mut doubtful, companion)?);
        }
    }
    for table in map.targets() {
        check.targets(&table.name, &mut doubtful, companion)?;
    }
    let is_dead = |table: &str, item: &Item| check.is_dead(table, item);
    let place = Place { service, forward: &plan.forward, is_dead: &is_dead };
    let (calls, unlike) = patterns::compare(place, &patterns::asked(plan), &sample, companion)?;
    let first = doubtful.len() + unlike.len();
    Ok(Compared { check, ranges, calls, doubtful, unlike, first })
}

/// What a comparison found, and what is still in doubt.
pub(super) struct Compared<'m> {
    check: Check<'m>,
    ranges: Vec<Range>,
    calls: u64,
    doubtful: BTreeMap<String, Doubt>,
    unlike: Vec<Unlike<'m>>,
    /// How many differences there were at first.
    first: usize,
}

impl Compared<'_> {
    /// Whether nothing is in doubt.
    pub(super) fn is_right(&self) -> bool {
        self.doubtful.is_empty() && self.unlike.is_empty()
    }

    /// Whether there is something that no change on its way can explain, or too much to look at while nobody writes.
    pub(super) fn differs_for_good(&self) -> bool {
        let left = self.doubtful.len() + self.unlike.len();
        left > MOST_AT_ONCE || self.doubtful.values().any(|doubt| doubt.has_no_form)
    }

    /// Looks at differences again and again, until there is none or they stay.
    pub(super) fn settle(&mut self, companion: &mut dyn Companion) -> Result<()> {
        for _ in 0..LOOKS {
            if self.is_right() {
                break;
            }
            companion.between()?;
            self.look_again(companion)?;
        }
        Ok(())
    }

    /// Looks at differences again.
    pub(super) fn look_again(&mut self, companion: &mut dyn Companion) -> Result<()> {
        let mut left = BTreeMap::new();
        for (label, doubt) in std::mem::take(&mut self.doubtful) {
            if let Some(doubt) = self.check.again(doubt)? {
                left.insert(label, doubt);
            }
            companion.looked_at(1)?;
        }
        self.doubtful = left;
        let check = &self.check;
        let is_dead = |table: &str, item: &Item| check.is_dead(table, item);
        let place =
            Place { service: check.service, forward: &check.plan.forward, is_dead: &is_dead };
        for call in std::mem::take(&mut self.unlike) {
            self.unlike.extend(call.again(place)?);
            companion.looked_at(0)?;
        }
        Ok(())
    }

    /// What is said of it in the end.
    pub(super) fn into_verification(self) -> Verification {
        let settled = (self.first - self.doubtful.len() - self.unlike.len()) as u64;
        let items = self.doubtful.into_values().map(|doubt| doubt.problem);
        let problems = items.chain(self.unlike.into_iter().map(|call| call.problem)).collect();
        Verification { ranges: self.ranges, problems, settled, calls: self.calls }
    }
}

/// An item that did not fit.
struct Doubt {
    /// Whether it is a source or a target.
    is_source: bool,
    at: Origin,
    problem: Problem,
    /// Whether it has no other form at all.
    has_no_form: bool,
}

struct Check<'m> {
    service: &'m Service,
    map: &'m ItemMap,
    inverse: &'m ItemMap,
    plan: &'m MigrationPlan,
}

impl Check<'_> {
    /// Whether each source has its other form.
    fn sources(
        &self,
        mut range: Range,
        sample: &mut Sample,
        doubtful: &mut BTreeMap<String, Doubt>,
        companion: &mut dyn Companion,
    ) -> Result<Range> {
        let mut after = None;
        loop {
            let table = range.table.as_str();
            let page = self.service.scan(table, Some((range.segment, SEGMENTS)), after)?;
            companion.looked_at(page.items.len())?;
            let mut wanted: Vec<(Origin, Mapped, Item)> = Vec::new();
            for item in page.items {
                let at = Origin { table: table.to_owned(), key: key_of(self.map, table, &item) };
                match self.map.fate(table, &item) {
                    Ok(Fate::Mapped(mapped)) => {
                        range.items += u64::from(!mapped.is_empty());
                        if !self.is_dead(table, &item) {
                            sample.offer(|| self.old_row(table, &item));
                        }
                        wanted
                            .extend(mapped.into_iter().map(|new| (at.clone(), new, item.clone())));
                    }
                    Ok(Fate::Made) => {}
                    Ok(Fate::Unknown) if self.is_dead(table, &item) => {}
                    Ok(Fate::Unknown) => {
                        doubt(doubtful, true, &at, Problem::unknown(&at)).has_no_form = true;
                    }
                    Err(error) => {
                        let problem = Problem::unmappable(&at, &error);
                        doubt(doubtful, true, &at, problem).has_no_form = true;
                    }
                }
            }
            let keys: Vec<_> =
                wanted.iter().map(|(_, new, _)| (new.table.clone(), new.key.clone())).collect();
            let found = self.service.get_many(&keys)?;
            for ((at, new, item), found) in wanted.into_iter().zip(found) {
                range.expected = range.expected.wrapping_add(digest(&new.item));
                let problem = self.judge(&at, &new, &item, found.as_ref());
                let is = if problem.is_none() {
                    digest(&new.item)
                } else {
                    found.as_ref().map_or(0, digest)
                };
                range.found = range.found.wrapping_add(is);
                if let Some(problem) = problem {
                    doubt(doubtful, true, &at, problem);
                }
            }
            after = page.last_key;
            if after.is_none() {
                return Ok(range);
            }
        }
    }

    /// The values of an item as the old design has them.
    fn old_row(&self, table: &str, item: &Item) -> Option<Row> {
        let forward = &self.plan.forward;
        if std::ptr::eq(self.map, forward) {
            return forward.row(table, item);
        }
        let before = self.map.counterpart(table, item).ok()??;
        forward.row(&before.table, &before.item)
    }

    /// Whether each target has an origin.
    fn targets(
        &self,
        table: &str,
        doubtful: &mut BTreeMap<String, Doubt>,
        companion: &mut dyn Companion,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let page = self.service.scan(table, None, after)?;
            companion.looked_at(page.items.len())?;
            let made = page.items.into_iter().filter(|item| self.map.is_made(table, item));
            let mut claims: Vec<(Item, Vec<(String, Item)>)> = Vec::new();
            for item in made.filter(|item| !is_tombstone(item) && !self.is_dead(table, item)) {
                let origins = self.origins(table, &item);
                claims.push((item, origins));
            }
            let keys: Vec<_> = claims.iter().flat_map(|(_, origins)| origins.clone()).collect();
            let mut found = self.service.get_many(&keys)?.into_iter();
            for (item, origins) in claims {
                let key = key_of(self.map, table, &item);
                let at = Origin { table: table.to_owned(), key };
                let images: Vec<Option<Item>> = found.by_ref().take(origins.len()).collect();
                if !self.is_claimed(&at, &origins, &images) {
                    doubt(doubtful, false, &at, Problem::orphan(&at));
                }
            }
            after = page.last_key;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Where an item may have come from.
    fn origins(&self, table: &str, item: &Item) -> Vec<(String, Item)> {
        if let Some(mark) = Mark::of(item) {
            return vec![(mark.from.table, mark.from.key)];
        }
        match self.inverse.fate(table, item) {
            Ok(Fate::Mapped(mapped)) => {
                mapped.into_iter().map(|new| (new.table, new.key)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_claimed(&self, at: &Origin, origins: &[(String, Item)], images: &[Option<Item>]) -> bool {
        origins.iter().zip(images).any(|((table, _), image)| {
            let Some(image) = image else { return false };
            match self.map.fate(table, image) {
                Ok(Fate::Mapped(mapped)) => {
                    mapped.iter().any(|new| new.table == at.table && new.key == at.key)
                }
                _ => false,
            }
        })
    }

    /// What is wrong with the other form of an item.
    fn judge(
        &self,
        at: &Origin,
        new: &Mapped,
        source: &Item,
        found: Option<&Item>,
    ) -> Option<Problem> {
        if self.is_dead(&at.table, source) {
            return None;
        }
        if let Some(amendment) = &new.amendment {
            let lacking = amendment.changes.first();
            return lacking.map(|(name, _)| Problem::differs(at, &format!("lacks `{name}`")));
        }
        let there = format!("`{}` in table `{}`", key_label(&new.key), new.table);
        match found.filter(|found| !is_tombstone(found)) {
            None => Some(Problem::differs(at, &format!("{there} is missing"))),
            Some(found) => {
                let is = unmarked(found.clone());
                let differs = is != new.item;
                differs.then(|| {
                    Problem::differs(
                        at,
                        &format!("{there} has another {}", difference(&is, &new.item)),
                    )
                })
            }
        }
    }

    /// Looks again; returns the doubt if it stays.
    fn again(&self, doubt: Doubt) -> Result<Option<Doubt>> {
        let Doubt { is_source, at, has_no_form, .. } = doubt;
        let Some(item) = self.service.get(&at.table, &at.key)? else { return Ok(None) };
        let problem =
            if is_source { self.source_again(&at, &item)? } else { self.target_again(&at, &item)? };
        Ok(problem.map(|problem| Doubt { is_source, at, problem, has_no_form }))
    }

    fn source_again(&self, at: &Origin, item: &Item) -> Result<Option<Problem>> {
        let mapped = match self.map.fate(&at.table, item) {
            Ok(Fate::Mapped(mapped)) => mapped,
            Ok(Fate::Made) => return Ok(None),
            Ok(Fate::Unknown) => return Ok(Some(Problem::unknown(at))),
            Err(error) => return Ok(Some(Problem::unmappable(at, &error))),
        };
        for new in mapped {
            let found = self.service.get(&new.table, &new.key)?;
            if let Some(problem) = self.judge(at, &new, item, found.as_ref()) {
                return Ok(Some(problem));
            }
        }
        Ok(None)
    }

    fn target_again(&self, at: &Origin, item: &Item) -> Result<Option<Problem>> {
        if is_tombstone(item) || self.is_dead(&at.table, item) {
            return Ok(None);
        }
        let origins = self.origins(&at.table, item);
        let images = self.service.get_many(&origins)?;
        Ok((!self.is_claimed(at, &origins, &images)).then(|| Problem::orphan(at)))
    }

    /// Whether an item's time to live is over: each form is removed when its turn comes.
    fn is_dead(&self, table: &str, item: &Item) -> bool {
        let tables = self.map.sources().iter().chain(self.map.targets());
        let mut named = tables.filter(|known| known.name == table);
        let Some(name) = named.find_map(|table| table.ttl.as_ref()) else { return false };
        let Some(AttributeValue::N(expires)) = item.get(name) else { return false };
        let expires = expires.to_i64().unwrap_or(i64::MAX);
        // Soon is as good as over: the other form may go first.
        let soon_s = self.service.clock.now_ms() / 1000 + 1;
        expires > 0 && expires.cast_unsigned() <= soon_s
    }
}

fn doubt<'d>(
    doubtful: &'d mut BTreeMap<String, Doubt>,
    is_source: bool,
    at: &Origin,
    problem: Problem,
) -> &'d mut Doubt {
    let label = format!("{is_source} {}", at.text());
    let doubt = Doubt { is_source, at: at.clone(), problem, has_no_form: false };
    doubtful.entry(label).or_insert(doubt)
}

/// The first attribute in which two items differ.
fn difference(a: &Item, b: &Item) -> String {
    let mut names = a.keys().chain(b.keys());
    let name = names.find(|name| a.get(name) != b.get(name));
    name.map_or_else(|| "value".to_owned(), |name| format!("`{name}`"))
}

/// A hash of an item; equal for equal items.
fn digest(item: &Item) -> u64 {
    let plain = unmarked(item.clone());
    let parts: Vec<String> =
        plain.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    stable_hash(&parts)
}
