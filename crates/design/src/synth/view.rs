//! Views: ways to lay one entity's items into partitions and sort them, enumerated from what patterns ask.
//!
//! A pattern is served where the partition key holds only fields that it pins, and the sort key begins with the rest of
//! them, in any order, followed by its range or its order. So the partition keys are the sets of pinned fields, and the sort
//! keys the chains that several patterns agree on.

use std::collections::BTreeSet;

use crate::model::{Entity, FieldKind, KeyType};

use super::demand::{Demand, can_be_key};

/// A field in a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// The name of the field.
    pub(super) field: String,
    /// How it is written there, if otherwise than the field itself.
    pub(super) form: Option<String>,
}

/// A way to lay out the items of an entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct View {
    /// The partition key's fields; none puts all items under one key.
    pub(super) hash: Vec<Part>,
    /// The sort key's fields.
    pub(super) range: Vec<Part>,
    /// The condition that items in it satisfy.
    pub(super) when: Option<String>,
    /// Over how many partitions each key is spread.
    pub(super) shards: u32,
    /// Templates that the file has and that stay.
    pub(super) kept: Option<Kept>,
}

/// Templates that stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kept {
    /// The index; none for the table.
    pub(super) index: Option<String>,
    /// The partition key's template.
    pub(super) hash: String,
    /// The sort key's, unless it is open.
    pub(super) range: Option<String>,
}

/// The most fields that a partition key is tried with. It loses nothing: a field at the front of the sort key serves whatever
/// it serves in the partition key.
const MOST_HASH_FIELDS: usize = 4;
/// The most sort keys tried for one partition key: patterns that pin many fields agree in many orders.
const MOST_CHAINS: usize = 400;
/// The most views of one entity. Each demand has one of its own among them.
const MOST_VIEWS: usize = 2_000;

impl Part {
    fn plain(field: &str) -> Self {
        Self { field: field.to_owned(), form: None }
    }

    /// As a template writes it.
    pub(super) fn text(&self) -> String {
        match &self.form {
            Some(form) => format!("{{{}:{form}}}", self.field),
            None => format!("{{{}}}", self.field),
        }
    }
}

impl View {
    /// Everything under one key.
    pub(super) fn constant() -> Self {
        Self { hash: Vec::new(), range: Vec::new(), when: None, shards: 1, kept: None }
    }

    /// The fields in it.
    pub(super) fn fields(&self) -> impl Iterator<Item = &Part> {
        self.hash.iter().chain(&self.range)
    }

    /// Whether its keys must be attributes of their own, because a template cannot write one of its fields.
    pub(super) fn is_native(&self, entity: &Entity) -> bool {
        self.fields().any(|part| {
            entity
                .field(&part.field)
                .is_some_and(|field| matches!(field.kind, FieldKind::Number | FieldKind::Binary))
        })
    }

    /// With the fields of the identity that are not in it at its end, so that no two items share the key.
    pub(super) fn identified(&self, entity: &Entity) -> Self {
        let mut view = self.clone();
        for name in &entity.unique_by {
            let told = view.fields().any(|part| part.field == *name && part.form.is_none());
            if !told {
                view.range.retain(|part| part.field != *name);
                view.range.push(Part::plain(name));
            }
        }
        view
    }
}

/// The type of a native key attribute that is this field.
pub(super) fn native_type(entity: &Entity, name: &str) -> Option<KeyType> {
    match entity.field(name)?.kind {
        FieldKind::Number => Some(KeyType::N),
        FieldKind::Binary => Some(KeyType::B),
        FieldKind::Scalar(_) => Some(KeyType::S),
        _ => None,
    }
}

/// Every view that may serve a demand of the entity, and whether that is all of them.
pub(super) fn views(
    entity: &Entity,
    demands: &[Demand],
    tenant: Option<&str>,
) -> (Vec<View>, bool) {
    let mut all: BTreeSet<View> = BTreeSet::new();
    let mut is_whole = true;
    all.extend(demands.iter().map(|demand| direct(entity, demand, tenant)));
    let mut sparse: BTreeSet<Vec<(String, String)>> = BTreeSet::new();
    sparse.insert(Vec::new());
    sparse.extend(demands.iter().map(|demand| demand.stated.clone()));
    for stated in &sparse {
        let own: Vec<Need> = demands
            .iter()
            .filter(|demand| stated.iter().all(|it| demand.stated.contains(it)))
            .map(|demand| Need::of(demand, stated))
            .collect();
        let when: Vec<&str> = stated.iter().map(|(_, text)| text.as_str()).collect();
        let when = (!when.is_empty()).then(|| when.join(" and "));
        for hash in hashes(entity, &own, tenant) {
            let (chains, whole) = chains(&hash, &own);
            is_whole &= whole;
            for range in chains {
                if all.len() >= MOST_VIEWS {
                    is_whole = false;
                    break;
                }
                let view = View {
                    hash: hash.clone(),
                    range: range.iter().map(|(name, desc)| part(entity, name, *desc)).collect(),
                    when: when.clone(),
                    shards: 1,
                    kept: None,
                };
                all.insert(view);
            }
        }
    }
    let identity = identity_view(entity, tenant);
    all.insert(identity);
    (all.into_iter().collect(), is_whole)
}

/// The view that serves one demand and thinks of no other.
fn direct(entity: &Entity, demand: &Demand, tenant: Option<&str>) -> View {
    let need = Need::of(demand, &[]);
    let first = need.pinned.iter().find(|name| Some(name.as_str()) == tenant);
    let hash = first.or(need.pinned.first()).map(|name| Part::plain(name));
    let rest = need.pinned.iter().filter(|name| hash.as_ref().is_none_or(|it| it.field != **name));
    let then = need.then.iter().map(|(name, desc)| part(entity, name, *desc));
    let range = rest.map(|name| Part::plain(name)).chain(then).collect();
    View { hash: hash.into_iter().collect(), range, ..View::constant() }
}

/// What is asked for by the identity alone.
fn identity_view(entity: &Entity, tenant: Option<&str>) -> View {
    let mut hash: Vec<Part> = entity.unique_by.iter().map(|name| Part::plain(name)).collect();
    hash.sort_by_key(|part| Some(part.field.as_str()) != tenant);
    View { hash, ..View::constant() }
}

fn part(entity: &Entity, name: &str, desc: bool) -> Part {
    let form = desc.then(|| entity.field(name).map(|field| format!("{}:desc", field.type_name())));
    Part { field: name.to_owned(), form: form.flatten() }
}

/// A demand with the conditions taken off that `when` states.
struct Need {
    pinned: Vec<String>,
    then: Vec<(String, bool)>,
    period: Option<String>,
}

impl Need {
    fn of(demand: &Demand, stated: &[(String, String)]) -> Self {
        let is_stated = |name: &String| stated.iter().any(|(field, _)| field == name);
        // One direction is the key's own; a field that goes the other way is written reversed.
        let first = demand.then.first().is_some_and(|(_, desc)| *desc);
        Self {
            pinned: demand.pinned.iter().filter(|name| !is_stated(name)).cloned().collect(),
            then: demand.then.iter().map(|(name, desc)| (name.clone(), *desc != first)).collect(),
            period: demand.period.clone(),
        }
    }
}

/// The partition keys: every set of fields that some demand pins.
fn hashes(entity: &Entity, needs: &[Need], tenant: Option<&str>) -> Vec<Vec<Part>> {
    let mut sets: BTreeSet<Vec<Part>> = BTreeSet::new();
    for need in needs {
        let mut pinned = need.pinned.clone();
        pinned.truncate(8);
        for bits in 0_u32..1 << pinned.len() {
            let chosen =
                |(at, name): (usize, &String)| (bits >> at & 1 == 1).then(|| Part::plain(name));
            let set: Vec<Part> = pinned.iter().enumerate().filter_map(chosen).collect();
            if set.len() > MOST_HASH_FIELDS || set.is_empty() && !need.pinned.is_empty() {
                continue;
            }
            if let Some(time) = &need.period {
                for form in ["month", "date"] {
                    let mut spread = set.clone();
                    spread.push(Part { field: time.clone(), form: Some(form.to_owned()) });
                    sets.insert(arranged(entity, spread, tenant));
                }
            }
            sets.insert(arranged(entity, set, tenant));
        }
    }
    let guarded = |set: &Vec<Part>| {
        tenant.is_none_or(|tenant| set.first().is_some_and(|part| part.field == tenant))
    };
    sets.into_iter().filter(guarded).collect()
}

/// The tenant first, then in the order of the declaration, periods last.
fn arranged(entity: &Entity, mut set: Vec<Part>, tenant: Option<&str>) -> Vec<Part> {
    let place = |name: &str| entity.fields.iter().position(|field| field.name == name);
    set.sort_by_key(|part| {
        (Some(part.field.as_str()) != tenant, part.form.is_some(), place(&part.field))
    });
    set
}

type Chain = Vec<(String, bool)>;

/// The sort keys that at least one need agrees with, and every longer one that others agree with too.
fn chains(hash: &[Part], needs: &[Need]) -> (Vec<Chain>, bool) {
    let in_hash = |name: &str| hash.iter().any(|part| part.field == name && part.form.is_none());
    let mut states = Vec::new();
    for need in needs {
        let fits = hash.iter().all(|part| {
            need.pinned.contains(&part.field) || need.period.as_ref() == Some(&part.field)
        });
        if fits {
            let open = need.pinned.iter().filter(|name| !in_hash(name)).cloned().collect();
            let then = need.then.iter().filter(|(name, _)| !in_hash(name)).cloned().collect();
            states.push(State { open, then });
        }
    }
    let mut found = Vec::new();
    grow(&mut Vec::new(), &states, &mut found);
    let is_whole = found.len() < MOST_CHAINS;
    (found, is_whole)
}

/// What a need still asks of the rest of the sort key.
#[derive(Clone)]
struct State {
    open: Vec<String>,
    then: Chain,
}

impl State {
    fn is_done(&self) -> bool {
        self.open.is_empty() && self.then.is_empty()
    }

    fn next(&self) -> Vec<(String, bool)> {
        if self.open.is_empty() {
            return self.then.first().cloned().into_iter().collect();
        }
        self.open.iter().map(|name| (name.clone(), false)).collect()
    }

    /// What is left after a field, unless the need does not agree with it.
    fn after(&self, step: &(String, bool)) -> Option<Self> {
        if self.is_done() {
            return Some(self.clone());
        }
        let mut left = self.clone();
        if let Some(at) = left.open.iter().position(|name| *name == step.0) {
            left.open.remove(at);
            return Some(left);
        }
        if left.open.is_empty() && left.then.first() == Some(step) {
            left.then.remove(0);
            return Some(left);
        }
        None
    }
}

fn grow(chain: &mut Chain, states: &[State], found: &mut Vec<Chain>) {
    if found.len() >= MOST_CHAINS {
        return;
    }
    if states.iter().any(State::is_done) || states.is_empty() {
        found.push(chain.clone());
    }
    let mut steps: Vec<(String, bool)> = Vec::new();
    for step in states.iter().flat_map(State::next) {
        if !steps.contains(&step) && chain.iter().all(|(name, _)| *name != step.0) {
            steps.push(step);
        }
    }
    for step in steps {
        let left: Vec<State> = states.iter().filter_map(|state| state.after(&step)).collect();
        chain.push(step);
        grow(chain, &left, found);
        chain.pop();
    }
}

/// Whether every field of a view can stand in a key.
pub(super) fn is_possible(entity: &Entity, view: &View) -> bool {
    view.fields().all(|part| can_be_key(entity, &part.field))
}
