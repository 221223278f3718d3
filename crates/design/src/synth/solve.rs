//! One entity at a time: its views, what they serve, and the covers.

use std::time::Instant;

use crate::cost::Prices;
use crate::draft::KeyDraft;
use crate::model::Entity;

use super::Refusal;
use super::cover::{Cover, Item, Problem};
use super::demand::{Demand, demands};
use super::layout::Place;
use super::open::{Open, pieces};
use super::prove::{Judge, Price, Role, Service};
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
    /// The fewest indexes it needs, or a lower bound if time ended the search.
    pub(super) fewest: usize,
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
    /// The indexes.
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
    let mut candidates = views(entity, &asked, tenant);
    candidates.retain(|view| is_possible(entity, view));
    let mut own: Vec<(View, Service)> = Vec::new();
    let table_views = table_views(entity, &candidates, &kept);
    for view in table_views {
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
        others.extend(judge(&asked, &view, Role::Index).map(|service| (view, service)));
    }
    let mut solved = Solved {
        position,
        demands: asked,
        tables: own.iter().map(|(view, _)| view.clone()).collect(),
        indexes: others.iter().map(|(view, _)| view.clone()).collect(),
        problem: Problem {
            demands: 0,
            tables: own.iter().map(|(view, service)| item(view, service, Role::Table)).collect(),
            indexes: others
                .iter()
                .map(|(view, service)| item(view, service, Role::Index))
                .collect(),
            given,
        },
        fewest: 0,
        is_complete: true,
        steps: 0,
        refused: Vec::new(),
    };
    solved.problem.demands = solved.demands.len();
    solved.drop_unserved(open, entity, |demands, view, role| judge(demands, view, role));
    solved.count(deadline);
    Some(solved)
}

/// What may be the table's own keys: the kept ones, or every view that can hold the identity.
fn table_views(entity: &Entity, candidates: &[View], kept: &[View]) -> Vec<View> {
    let own = kept.iter().filter_map(|view| Some((view, view.kept.as_ref()?)));
    let Some((view, fixed)) = own.clone().find(|(_, kept)| kept.index.is_none()) else {
        let mut all: Vec<View> = Vec::new();
        for view in candidates.iter().filter(|view| view.when.is_none()) {
            let whole = view.identified(entity);
            if !all.contains(&whole) {
                all.push(whole);
            }
        }
        return all;
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

fn item(view: &View, service: &Service, role: Role) -> Item {
    // A key is work for whoever writes it, also where no rate says so; and one key for everything is a hot one.
    let least = if role == Role::Index { 1e-3 } else { 0.0 };
    let least = if view.hash.is_empty() && view.kept.is_none() { least + 1e-2 } else { least };
    Item {
        upkeep: service.upkeep + least,
        reads: service.reads.iter().map(|read| read.map(Price::figure)).collect(),
    }
}

impl Solved {
    /// Takes out what no view serves, with the smallest change that helps; then what only the table's own keys serve, where
    /// they cannot serve all of it.
    fn drop_unserved(
        &mut self,
        open: &Open,
        entity: &Entity,
        judge: impl Fn(&[Demand], &View, Role) -> Option<Service>,
    ) {
        let items = |problem: &Problem, demand: usize| {
            problem.tables.iter().chain(&problem.indexes).any(|item| item.serves(demand))
        };
        let lost: Vec<usize> =
            (0..self.problem.demands).filter(|&at| !items(&self.problem, at)).collect();
        for at in lost.into_iter().rev() {
            if let Some(demand) = self.remove(at) {
                let change = relaxed(&demand)
                    .into_iter()
                    .find(|(_, easier)| is_served(open, entity, easier, &judge))
                    .map(|(change, _)| change);
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
        self.fewest = fewest.unwrap_or(self.problem.demands);
        if !complete {
            self.fewest = self.fewest.max(self.problem.apart().len().saturating_sub(1));
        }
        (self.steps, self.is_complete) = (steps, complete);
    }
}

fn is_served(
    open: &Open,
    entity: &Entity,
    demand: &Demand,
    judge: &impl Fn(&[Demand], &View, Role) -> Option<Service>,
) -> bool {
    let tenant = open.tables.iter().find(|table| table.name.value == entity.table.name);
    let tenant = tenant.and_then(|table| table.tenant.as_ref()).map(|name| name.value.as_str());
    let demand = std::slice::from_ref(demand);
    let possible = views(entity, demand, tenant);
    possible.iter().filter(|view| is_possible(entity, view)).any(|view| {
        [Role::Table, Role::Index].into_iter().any(|role| judge(demand, view, role).is_some())
    })
}

/// The demand with one wish less, the smallest change first.
fn relaxed(demand: &Demand) -> Vec<(String, Demand)> {
    let mut all = Vec::new();
    let mut with = |change: &str, edit: &dyn Fn(&mut Demand)| {
        let mut easier = demand.clone();
        edit(&mut easier);
        all.push((change.to_owned(), easier));
    };
    if demand.alone.consistent {
        with("drop `consistent = true`", &|it| it.alone.consistent = false);
    }
    if !demand.filters && demand.alone.limit.is_none() {
        with(
            "say `keeps`, the share of read items that a filter keeps, to accept a filter",
            &|it| {
                it.filters = true;
            },
        );
    }
    if demand.alone.order.is_some() {
        with("drop `order`", &|it| {
            it.alone.order = None;
            it.then.clear();
        });
    }
    if demand.alone.limit.is_some() {
        with("drop `limit`, and say `keeps` to accept a filter", &|it| {
            it.alone.limit = None;
            it.filters = true;
        });
        with("drop `limit` and `order`, and say `keeps` to accept a filter", &|it| {
            it.alone.limit = None;
            it.alone.order = None;
            it.then.clear();
            it.filters = true;
        });
    }
    all
}
