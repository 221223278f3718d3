//! One entity at a time: its views, what they serve, and the covers.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::cost::Prices;
use crate::draft::KeyDraft;
use crate::model::{Entity, Field};

use super::Refusal;
use super::change::easier;
use super::cover::{Cover, Item, Problem};
use super::demand::{Demand, demands};
use super::layout::Place;
use super::open::{Open, pieces};
use super::prove::{Judge, Price, Role, Service};
use super::settle::Wishes;
use super::view::{Kept, View, is_possible, views};

/// An entity with every way to serve its demands.
pub(super) struct Solved {
    /// Its position in the draft.
    pub(super) position: usize,
    /// What is asked of it and can be served.
    pub(super) demands: Vec<Demand>,
    /// The views that the covers speak of.
    tables: Vec<View>,
    indexes: Vec<View>,
    /// The covering problem.
    pub(super) problem: Problem,
    /// The fewest indexes that were found to do.
    pub(super) fewest: usize,
    /// No design of the family has fewer.
    pub(super) at_least: usize,
    /// Whether the search came to its end.
    pub(super) is_complete: bool,
    /// Branches that were looked at to show it.
    pub(super) steps: u64,
    /// What cannot be served.
    pub(super) refused: Vec<Refusal>,
}

/// The views of an entity that were chosen.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// The entity's position in the draft.
    pub(super) position: usize,
    /// The table's own keys.
    pub(super) table: View,
    /// The indexes of the solution.
    pub(super) indexes: Vec<View>,
}

impl Solved {
    /// The views of a cover.
    pub(super) fn chosen(&self, cover: &Cover) -> Option<Chosen> {
        let index = |at: &usize| self.indexes.get(*at).cloned();
        Some(Chosen {
            position: self.position,
            table: self.tables.get(cover.table)?.clone(),
            indexes: cover.indexes.iter().map(index).collect::<Option<_>>()?,
        })
    }
}

/// Finds the views and covers of an entity; `places` are those of the file's tables, for keys that stay.
pub(super) fn solve(
    open: &Open,
    position: usize,
    places: &[Place],
    wishes: Wishes,
    prices: &Prices,
    deadline: Instant,
) -> Option<Solved> {
    let entity = open.design.entities().get(position)?;
    let table = open.tables.iter().find(|table| table.name.value == entity.table.name)?;
    let asked = demands(&open.design, &open.draft, entity);
    let tenant = table.tenant.as_ref().map(|name| name.value.as_str());
    let kept = kept_views(entity, open.kept.get(position)?, places);
    let judge = |demands: &[Demand], view: &View, role: Role| {
        let judge = Judge { draft: &open.draft, table, entity, position, demands, prices };
        judge.service(view, role)
    };
    let (links, refused) = links(open, entity);
    let (mut candidates, mut is_whole) = views(entity, &asked, tenant);
    candidates.retain(|view| is_possible(entity, view));
    let mut own: Vec<(View, Service)> = Vec::new();
    let is_found = |view: &View| {
        let mut fields = view.fields();
        fields.all(|part| links.iter().all(|names| names.contains(&part.field)))
    };
    let mut own_views = table_views(entity, &candidates, &kept);
    own_views.retain(|view| view.kept.is_some() || is_found(view));
    for view in own_views {
        if Instant::now() > deadline && !own.is_empty() {
            is_whole = false;
            break;
        }
        let service = judge(&asked, &view, Role::Table).unwrap_or_else(|| idle(asked.len()));
        own.push((view, service));
    }
    let mut others: Vec<(View, Service)> = Vec::new();
    let fixed =
        kept.iter().filter(|view| view.kept.as_ref().is_some_and(|kept| kept.index.is_some()));
    for view in fixed {
        let service = judge(&asked, view, Role::Index).unwrap_or_else(|| idle(asked.len()));
        others.push((view.clone(), service));
    }
    let given = (0..others.len()).collect();
    for view in candidates {
        if Instant::now() > deadline && is_all_served(&others, &asked) {
            is_whole = false;
            break;
        }
        others.extend(judge(&asked, &view, Role::Index).map(|service| (view, service)));
    }
    let mut solved = Solved {
        position,
        demands: asked,
        tables: own.iter().map(|(view, _)| view.clone()).collect(),
        indexes: others.iter().map(|(view, _)| view.clone()).collect(),
        problem: Problem {
            demands: 0,
            tables: own
                .iter()
                .map(|(view, service)| item(entity, view, service, Role::Table))
                .collect(),
            indexes: others
                .iter()
                .map(|(view, service)| item(entity, view, service, Role::Index))
                .collect(),
            given,
            prefers_local: wishes.local,
        },
        fewest: 0,
        at_least: 0,
        is_complete: is_whole,
        steps: 0,
        refused,
    };
    solved.problem.demands = solved.demands.len();
    solved.drop_unserved(open, prices);
    solved.count(deadline);
    Some(solved)
}

/// Whether some index serves each demand that an index can serve.
fn is_all_served(indexes: &[(View, Service)], demands: &[Demand]) -> bool {
    let serves = |at: usize| {
        let reads = |service: &Service| service.reads.get(at).is_some_and(Option::is_some);
        indexes.iter().any(|(_, service)| reads(service))
    };
    demands.iter().enumerate().all(|(at, demand)| demand.alone.consistent || serves(at))
}

/// What may be the table's own keys: the kept ones, or every view that can hold the identity.
fn table_views(entity: &Entity, candidates: &[View], kept: &[View]) -> Vec<View> {
    let own = kept.iter().filter_map(|view| Some((view, view.kept.as_ref()?)));
    let Some((view, fixed)) = own.clone().find(|(_, kept)| kept.index.is_none()) else {
        let plain = candidates.iter().filter(|view| view.when.is_none());
        let all: BTreeSet<View> = plain.map(|view| view.identified(entity)).collect();
        return all.into_iter().collect();
    };
    if fixed.range.is_some() {
        return vec![view.clone()];
    }
    // The sort key is open: every chain under the kept partition key.
    let fields = |view: &View| {
        let mut names: Vec<String> = view.hash.iter().map(|part| part.field.clone()).collect();
        names.sort();
        names
    };
    let alike = candidates.iter().filter(|it| it.when.is_none() && fields(it) == fields(view));
    let mut all: Vec<View> =
        alike.map(|it| View { kept: Some(fixed.clone()), ..it.identified(entity) }).collect();
    all.push(view.identified(entity));
    all
}

/// The views that the file has and that stay.
fn kept_views(entity: &Entity, kept: &[KeyDraft], places: &[Place]) -> Vec<View> {
    let mut found = Vec::new();
    for place in places {
        let key = |name: &str| kept.iter().find(|key| key.attribute.value == name);
        let Some(hash) = key(&place.hash) else { continue };
        let range = place.range.as_deref().and_then(key);
        let parts = |key: &KeyDraft| {
            let pieces = pieces(&key.template.value).into_iter();
            let parts = pieces.map(|(name, form)| super::view::Part {
                field: name.to_owned(),
                form: form.filter(|_| entity.field(name).is_some()).map(str::to_owned),
            });
            parts.collect::<Vec<_>>()
        };
        found.push(View {
            hash: parts(hash),
            range: range.map(parts).unwrap_or_default(),
            when: hash.when.as_ref().map(|text| text.value.clone()),
            shards: 1,
            kept: Some(Kept {
                index: place.index.clone(),
                hash: hash.template.value.clone(),
                range: range.map(|key| key.template.value.clone()),
            }),
        });
    }
    found
}

/// A view that serves nothing: the table's own keys must be something.
fn idle(demands: usize) -> Service {
    Service { reads: vec![None; demands], upkeep: 0.0 }
}

fn item(entity: &Entity, view: &View, service: &Service, role: Role) -> Item {
    // Every key costs writes, also where no rate is declared; and one key for everything is a hot one.
    let least = if role == Role::Index { 1e-3 } else { 0.0 };
    let is_one_key = view.hash.is_empty() && view.kept.is_none() && view.when.is_none();
    let least = if is_one_key { least + 1e-2 } else { least };
    // A key of many values is less likely to be hot than one of few, where nothing is known of the load.
    let is_fine =
        view.hash.iter().any(|part| entity.field(&part.field).is_some_and(Field::is_identifier));
    let least = if is_fine { least } else { least + 4e-3 };
    // Of two that cost the same, the sparse one: it holds less than the figures tell.
    let least = if view.when.is_some() { least / 2.0 } else { least };
    Item {
        group: group(view),
        upkeep: service.upkeep + least,
        reads: service.reads.iter().map(|read| read.map(Price::figure)).collect(),
    }
}

/// A number that views with one partition key share.
fn group(view: &View) -> u64 {
    let text = format!("{:?} {:?}", view.hash, view.kept.as_ref().map(|kept| &kept.hash));
    keyloom_core::hash::fnv1a(text.as_bytes())
}

impl Solved {
    /// Takes out what no view serves, with the smallest change that helps; then what only the table's own keys serve, where
    /// they cannot serve all of it.
    fn drop_unserved(&mut self, open: &Open, prices: &Prices) {
        let items = |problem: &Problem, demand: usize| {
            problem.tables.iter().chain(&problem.indexes).any(|item| item.serves(demand))
        };
        let lost: Vec<usize> =
            (0..self.problem.demands).filter(|&at| !items(&self.problem, at)).collect();
        for at in lost.into_iter().rev() {
            if let Some(demand) = self.remove(at) {
                let change = change(open, self.position, &demand, prices);
                let reason = if demand.pinned.is_empty() && demand.then.is_empty() {
                    "it pins no field that a key could hold".to_owned()
                } else {
                    "no key that Keyloom can write proves it".to_owned()
                };
                self.refused.push(Refusal { pattern: demand.pattern, reason, change });
            }
        }
        let only_own =
            |problem: &Problem, at: usize| !problem.indexes.iter().any(|item| item.serves(at));
        loop {
            let own: Vec<usize> =
                (0..self.problem.demands).filter(|&at| only_own(&self.problem, at)).collect();
            let together =
                self.problem.tables.iter().any(|item| own.iter().all(|&at| item.serves(at)));
            let Some(&last) = own.last().filter(|_| !together) else { break };
            if let Some(demand) = self.remove(last) {
                let reason = "only the table's own keys could serve it, and they serve other patterns that need them".to_owned();
                let change = demand.alone.consistent.then(|| "drop `consistent = true`".to_owned());
                self.refused.push(Refusal { pattern: demand.pattern, reason, change });
            }
        }
    }

    fn remove(&mut self, at: usize) -> Option<Demand> {
        let items = self.problem.tables.iter_mut().chain(&mut self.problem.indexes);
        for item in items.filter(|item| at < item.reads.len()) {
            item.reads.remove(at);
        }
        self.problem.demands -= 1;
        (at < self.demands.len()).then(|| self.demands.remove(at))
    }

    fn count(&mut self, deadline: Instant) {
        let (fewest, steps, complete) = self.problem.fewest(deadline);
        let bound = fewest.unwrap_or(self.problem.demands);
        self.steps = steps;
        if complete {
            self.fewest = bound;
        } else {
            let greedy = self.problem.greedy();
            self.fewest = greedy.map_or(self.problem.demands, |cover| cover.indexes.len());
        }
        // Keys that were not looked at might serve more.
        self.at_least = match (self.is_complete, complete) {
            (true, true) => bound,
            (true, false) => bound.max(self.problem.apart().len().saturating_sub(1)),
            (false, _) => self.problem.given.len(),
        };
        self.is_complete &= complete;
    }
}

/// Whether some view serves a demand on an entity of a design.
fn is_served(open: &Open, position: usize, demand: &Demand, prices: &Prices) -> bool {
    let Some(entity) = open.design.entities().get(position) else { return false };
    let Some(table) = open.tables.iter().find(|it| it.name.value == entity.table.name) else {
        return false;
    };
    let tenant = table.tenant.as_ref().map(|name| name.value.as_str());
    let demands = std::slice::from_ref(demand);
    let judge = Judge { draft: &open.draft, table, entity, position, demands, prices };
    let (possible, _) = views(entity, demands, tenant);
    possible.iter().filter(|view| is_possible(entity, view)).any(|view| {
        [Role::Table, Role::Index].into_iter().any(|role| judge.service(view, role).is_some())
    })
}

/// The smallest change that makes a demand provable.
fn change(open: &Open, position: usize, demand: &Demand, prices: &Prices) -> Option<String> {
    let fields = &open.draft.entities.get(position)?.fields;
    let found = easier(demand, fields).into_iter().find(|one| match &one.field {
        None => is_served(open, position, &one.demand, prices),
        Some(field) => open
            .with_field(position, field.clone())
            .is_some_and(|open| is_served(&open, position, &one.demand, prices)),
    });
    found.map(|one| one.change)
}

/// The links by whose fields items of an entity are found, as names of their fields; and what they cannot find.
fn links(open: &Open, entity: &Entity) -> (Vec<Vec<String>>, Vec<Refusal>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for access in open.design.accesses().iter().filter(|access| access.finds(entity)) {
        let Some(link) = &access.via else { continue };
        let names: Vec<String> = link.fields.iter().map(|field| field.name.clone()).collect();
        let lacking: Vec<&str> = entity
            .unique_by
            .iter()
            .filter(|name| !names.contains(name))
            .map(String::as_str)
            .collect();
        if lacking.is_empty() {
            found.push(names);
        } else {
            let (own, missing) = (&entity.name, lacking.join("`, `"));
            refused.push(Refusal {
                pattern: access.name.clone(),
                reason: format!(
                    "`{}` does not tell which `{own}` it names: it has no `{missing}`",
                    link.name
                ),
                change: Some(format!("add `{missing}` to the fields of `{}`", link.name)),
            });
        }
    }
    (found, refused)
}
