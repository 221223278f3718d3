//! Settling: the assembled design is checked as a whole; keys that are hot are spread, indexes hold what is read.

use std::time::Instant;

use crate::check::{CheckReport, check_quickly};
use crate::cost::Prices;
use crate::draft::ProjectionDraft;
use crate::model::{Design, Field};
use crate::source::Spanned;

use super::assemble::{Finish, assemble};
use super::open::Open;
use super::solve::Chosen;

/// Rules that a shard can satisfy.
const HEAT: [&str; 8] = ["P01", "P02", "P03", "P04", "P08", "P11", "P12", "I06"];
/// The numbers of shards that are tried.
const SHARDS: [u32; 6] = [4, 8, 16, 32, 64, 128];
/// How often a design is changed before it is left as it is.
const MOST_CHANGES: usize = 24;

/// How far a design is from what is wanted: patterns not proven, errors, hot keys, other warnings.
type Distance = (usize, usize, usize);

fn distance(report: Option<&CheckReport>) -> Distance {
    let Some(report) = report else { return (usize::MAX, usize::MAX, usize::MAX) };
    let hot = report.findings.iter().filter(|finding| HEAT.contains(&finding.rule)).count();
    let errors = report.findings.iter();
    let errors = errors.filter(|finding| finding.severity == crate::Severity::Error).count();
    (report.unproven().count(), errors, hot)
}

fn checked(
    open: &Open,
    chosen: &[Chosen],
    finish: &Finish,
    prices: &Prices,
) -> Option<CheckReport> {
    let (design, _) = assemble(open, chosen, finish).resolve();
    Some(check_quickly(design?, prices))
}

/// What is wished of indexes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    /// Local ones where they will do.
    pub(super) local: bool,
    /// Over fields themselves where they can be.
    pub(super) native: bool,
}

/// The choice with its hot keys spread, and what its indexes hold.
pub(super) fn settle(
    open: &Open,
    mut chosen: Vec<Chosen>,
    mut finish: Finish,
    wishes: Wishes,
    prices: &Prices,
    deadline: Instant,
) -> (Vec<Chosen>, Finish) {
    for _ in 0..MOST_CHANGES {
        let report = checked(open, &chosen, &finish, prices);
        let now = distance(report.as_ref());
        let Some(report) = report.filter(|_| now.2 > 0) else { break };
        match cooler(open, &chosen, &finish, prices, &report, deadline) {
            Some(better) => chosen = better,
            None => break,
        }
    }
    if wishes.native {
        make_native(open, &chosen, &mut finish, prices);
    }
    invert(open, &chosen, &mut finish, prices);
    project(open, &chosen, &mut finish, prices);
    (chosen, finish)
}

/// The choice with one view spread over shards, if that helps and there is time to find it.
fn cooler(
    open: &Open,
    chosen: &[Chosen],
    finish: &Finish,
    prices: &Prices,
    report: &CheckReport,
    deadline: Instant,
) -> Option<Vec<Chosen>> {
    let now = distance(Some(report));
    for finding in report.findings.iter().filter(|finding| HEAT.contains(&finding.rule)) {
        for (at, one) in chosen.iter().enumerate() {
            let name =
                open.draft.entities.get(one.position).map(|entity| entity.name.value.as_str());
            let told = format!("`{}`", name.unwrap_or_default());
            let about = name == Some(finding.subject.as_str())
                || finding.message.contains(&told)
                || finding.subject.contains('.');
            if !about {
                continue;
            }
            for place in 0..=one.indexes.len() {
                for shards in SHARDS {
                    // Each of them checks the whole design.
                    if Instant::now() >= deadline {
                        return None;
                    }
                    let mut tried = chosen.to_vec();
                    let Some(own) = tried.get_mut(at) else { continue };
                    let view = match place.checked_sub(1) {
                        None => Some(&mut own.table),
                        Some(index) => own.indexes.get_mut(index),
                    };
                    let Some(view) =
                        view.filter(|view| view.kept.is_none() && view.shards < shards)
                    else {
                        continue;
                    };
                    view.shards = shards;
                    let after = distance(checked(open, &tried, finish, prices).as_ref());
                    if after < now {
                        return Some(tried);
                    }
                }
            }
        }
    }
    None
}

/// Indexes over fields themselves, wherever every pattern stays proven and none is hot.
fn make_native(open: &Open, chosen: &[Chosen], finish: &mut Finish, prices: &Prices) {
    let Some(mut report) = checked(open, chosen, finish, prices) else { return };
    for one in chosen {
        for number in 0..one.indexes.len() {
            let mut tried = finish.clone();
            tried.native.push((one.position, number));
            let Some(after) = checked(open, chosen, &tried, prices) else { continue };
            if distance(Some(&after)) <= distance(Some(&report)) {
                (*finish, report) = (tried, after);
            }
        }
    }
}

/// Every index of every table, by name.
fn indexes(report: &CheckReport) -> Vec<(String, String)> {
    let tables = report.design.iter().flat_map(Design::tables);
    tables
        .flat_map(|table| {
            let named = table.secondary().iter().filter_map(|index| index.name.clone());
            named.map(|name| (table.name.clone(), name))
        })
        .collect()
}

/// An index over the table's own keys the other way round needs no attributes of its own; it holds every item. It is taken
/// where every pattern stays proven and it costs less, or as much and no item more.
fn invert(open: &Open, chosen: &[Chosen], finish: &mut Finish, prices: &Prices) {
    let Some(mut report) = checked(open, chosen, finish, prices) else { return };
    for place in indexes(&report) {
        let whole = report.design.as_ref().is_some_and(|design| holds_all(design, &place));
        let mut tried = finish.clone();
        tried.inverted.push(place);
        let Some(after) = checked(open, chosen, &tried, prices) else { continue };
        let (old, new) = (report.bill.total.on_demand, after.bill.total.on_demand);
        let worth = new < old || whole && new <= old;
        if worth && distance(Some(&after)) <= distance(Some(&report)) {
            (*finish, report) = (tried, after);
        }
    }
}

/// Whether every entity of a table is in an index.
fn holds_all(design: &Design, (table, index): &(String, String)) -> bool {
    let table = design.tables().iter().find(|it| it.name == *table);
    table.is_some_and(|table| {
        let Some(index) = table.index(index) else { return false };
        design.entities_in(table).all(|entity| entity.index_key(index).is_some())
    })
}

/// Indexes hold what patterns return, where every pattern that reads them says what it wants and that is cheaper.
fn project(open: &Open, chosen: &[Chosen], finish: &mut Finish, prices: &Prices) {
    let Some(mut report) = checked(open, chosen, finish, prices) else { return };
    for (table, index) in indexes(&report) {
        let Some(names) = wanted(&report, &table, &index) else { continue };
        let projection = if names.is_empty() {
            ProjectionDraft::Keys
        } else {
            ProjectionDraft::Include(names.into_iter().map(Spanned::free).collect())
        };
        let mut tried = finish.clone();
        tried.projections.push((table, index, projection));
        let Some(after) = checked(open, chosen, &tried, prices) else { continue };
        let cheaper = after.bill.total.on_demand <= report.bill.total.on_demand;
        if cheaper && distance(Some(&after)) <= distance(Some(&report)) {
            (*finish, report) = (tried, after);
        }
    }
}

/// The attributes that patterns want of an index, unless one of them wants everything.
fn wanted(report: &CheckReport, table: &str, index: &str) -> Option<Vec<String>> {
    let design = report.design.as_ref()?;
    let mut names: Vec<String> = Vec::new();
    for plan in &report.plans {
        let reads = plan
            .reads
            .iter()
            .filter(|read| read.table.name == table && read.index().name.as_deref() == Some(index));
        let access = design.access(&plan.name)?;
        for read in reads {
            if access.returns.is_empty() || access.via.is_some() {
                return None;
            }
            let filtered = read.filter.iter().map(|term| &term.field);
            for name in access.returns.iter().chain(filtered) {
                let stored = read
                    .entities
                    .iter()
                    .any(|entity| entity.field(name).is_some_and(Field::is_stored));
                if stored && !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Options, choices, open::open, places, solve};
    use super::*;
    use crate::source::Source;

    const HOT: &str = "[entity.Event]\ncount = 100_000\nsize = \"400 B\"\n[entity.Event.fields]\n\
        event_id = \"ulid\"\nkind = { type = \"string\", values = [\"click\", \"view\"] }\nat = \"datetime\"\n\
        [access.latest]\nfind = \"Event\"\nwhere = \"kind = ?\"\norder = \"at desc\"\nlimit = 20\n\
        [write.note]\nentity = \"Event\"\nrate = \"4000/s\"\n";

    #[test]
    fn shards_are_looked_for_only_while_there_is_time() {
        let (prices, later) = (Prices::default(), Instant::now() + Duration::from_mins(10));
        let wishes = Wishes { local: false, native: false };
        let open = open(&Source::new("hot.toml", HOT), &Options::default()).unwrap();
        let places = places(&open.tables[0], &open.design, 0);
        let solved = [solve(&open, 0, &places, wishes, &prices, later).unwrap()];
        let (_, chosen) = choices(&open, &solved, later).remove(0);
        let finish = Finish::default();
        let report = checked(&open, &chosen, &finish, &prices).unwrap();
        let found = |deadline| cooler(&open, &chosen, &finish, &prices, &report, deadline);
        assert!(found(later).is_some());
        assert!(found(Instant::now()).is_none());
    }
}
