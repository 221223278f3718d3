//! Which old entity becomes which new one.

use std::sync::Arc;

use crate::diff::{self, Hazard, ItemChange};
use crate::model::{Design, Entity, EntityKey, FieldKind};

/// The way of one entity's items into the new design.
#[derive(Clone, Debug)]
pub struct Route {
    /// What the items are.
    pub from: Arc<Entity>,
    /// What they become.
    pub to: Arc<Entity>,
    /// How the item is mapped.
    pub manner: Manner,
    /// Fields that have another name: before and after.
    pub renames: Vec<(String, String)>,
    /// Fields that go into another item, because the entity is split.
    pub parted: Vec<String>,
    /// Index keys that get another value in place. An attribute has one value, so that both designs cannot have theirs: it
    /// is rewritten on the way there, kept after the switch, and rewritten once more by a rollback.
    pub rewritten: Vec<String>,
}

/// How items get into the new design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// They are what they should be.
    Keep,
    /// They get attributes more, under the same key.
    Amend,
    /// They are written anew, under another key or in another table.
    Copy,
}

impl Route {
    /// The way back.
    pub(super) fn reversed(&self) -> Self {
        Self {
            from: Arc::clone(&self.to),
            to: Arc::clone(&self.from),
            manner: self.manner,
            renames: self.renames.iter().map(|(old, new)| (new.clone(), old.clone())).collect(),
            parted: Vec::new(),
            rewritten: Vec::new(),
        }
    }

    /// The way back for items that stay in place, with the index keys that they had.
    pub(super) fn undone(&self) -> Self {
        Self { rewritten: self.rewritten.clone(), ..self.reversed() }
    }

    /// The name that a field of the target has in the source.
    pub(super) fn source_name<'a>(&'a self, field: &'a str) -> &'a str {
        let renamed = self.renames.iter().find(|(_, new)| new == field);
        renamed.map_or(field, |(old, _)| old.as_str())
    }
}

/// The routes between two designs: by `was`, by name, or because the keys are the same.
pub(super) fn between(old: &Design, new: &Design) -> Vec<Route> {
    let mut routes = Vec::new();
    for to in new.entities() {
        for from in sources(old, new, to) {
            let manner = manner(from, to);
            let is_amended = manner == Manner::Amend;
            routes.push(Route {
                manner,
                renames: diff::renamed_fields(from, to),
                parted: Vec::new(),
                rewritten: if is_amended { rewritten(from, to) } else { Vec::new() },
                from: Arc::clone(from),
                to: Arc::clone(to),
            });
        }
    }
    let all = routes.clone();
    for route in &mut routes {
        route.parted = parted(route, &all);
    }
    routes
}

/// The fields that other parts of a split entity have, and this one has not.
fn parted(route: &Route, all: &[Route]) -> Vec<String> {
    let has = |route: &Route, field: &str| {
        let mut names = route.to.fields.iter().map(|field| route.source_name(&field.name));
        names.any(|name| name == field)
    };
    let parts = || all.iter().filter(|other| other.from.name == route.from.name);
    let names = route.from.fields.iter().map(|field| field.name.as_str());
    let parted = names.filter(|name| !has(route, name) && parts().any(|part| has(part, name)));
    parted.map(str::to_owned).collect()
}

/// The old entities that become a new one.
fn sources<'o>(old: &'o Design, new: &Design, to: &Entity) -> Vec<&'o Arc<Entity>> {
    let named: Vec<_> = to.was.iter().filter_map(|name| old.entity(name)).collect();
    if !named.is_empty() {
        return named;
    }
    if let Some(same) = old.entity(&to.name) {
        return vec![same];
    }
    let gone = |from: &&Arc<Entity>| {
        let claimed = |entity: &&Arc<Entity>| entity.was.contains(&from.name);
        new.entity(&from.name).is_none() && !new.entities().iter().any(|e| claimed(&e))
    };
    old.entities().iter().filter(gone).find(|from| diff::is_renamed(from, to)).into_iter().collect()
}

/// The key attributes of both forms that have another value in the new one.
fn rewritten(from: &Entity, to: &Entity) -> Vec<String> {
    let changed = |key: &&EntityKey| {
        let before = from.key(&key.attribute);
        before.is_some_and(|before| !diff::same_key(from, before, to, key))
    };
    to.keys.iter().filter(changed).map(|key| key.attribute.clone()).collect()
}

fn manner(from: &Entity, to: &Entity) -> Manner {
    match diff::between_entities(from, to).items {
        ItemChange::Untouched | ItemChange::Added | ItemChange::Removed => Manner::Keep,
        ItemChange::Rewritten => Manner::Amend,
        ItemChange::Rekeyed | ItemChange::Moved { .. } => Manner::Copy,
    }
}

/// What may be wrong with stored items.
pub(super) fn hazards(route: &Route) -> Vec<Hazard> {
    diff::between_entities(&route.from, &route.to).hazards
}

/// Why new items do not tell what the old ones were.
pub(super) fn one_way(routes: &[Route]) -> Vec<String> {
    let mut reasons = Vec::new();
    for route in routes.iter().filter(|route| route.manner != Manner::Keep) {
        let (from, to) = (&route.from.name, &route.to.name);
        let among = |name: &dyn Fn(&Route) -> &str, wanted: &str| {
            routes.iter().filter(|other| name(other) == wanted).count()
        };
        if among(&|route| &route.to.name, to) > 1 {
            reasons.push(format!("`{to}` does not tell whether an item was a `{from}`"));
        } else if among(&|route| &route.from.name, from) > 1 {
            reasons
                .push(format!("`{from}` becomes several items, which do not come together again"));
        }
        let back = route.reversed();
        for field in route.from.primary_key().fields() {
            let is_shard = route
                .from
                .field(field)
                .is_some_and(|field| matches!(field.kind, FieldKind::Shard(_)));
            if !is_shard && !diff::tells(&back.from, back.source_name(field)) {
                reasons.push(format!(
                    "`{to}` does not have `{field}`, which the key of `{from}` needs"
                ));
            }
        }
    }
    reasons.dedup();
    reasons
}
