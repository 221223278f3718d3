//! What makes an online change impossible, each with the way out.

use std::fmt;

use super::pattern::finds;
use super::route::{Manner, Route};
use crate::check::CheckReport;
use crate::diff::{self, Hazard};
use crate::model::{Design, Entity, Field, FieldKind, Index};
use crate::plan::{Plan, meets};

/// Something that makes an online change impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The entity or table.
    pub subject: String,
    /// What is in the way.
    pub reason: String,
    /// What to change.
    pub way_out: String,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.subject, self.reason, self.way_out)
    }
}

/// Tables that cannot become what the new design says.
pub(super) fn of_tables(old: &Design, new: &Design, routes: &[Route]) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    for table in new.tables() {
        let Some(before) = old.tables().iter().find(|before| before.name == table.name) else {
            continue;
        };
        let used = routes.iter().any(|route| route.to.table.name == table.name);
        if let Some(why) = diff::rebuilt(before, table).filter(|_| used) {
            obstacles.push(Obstacle {
                subject: format!("table `{}`", table.name),
                reason: why,
                way_out:
                    "give the table another name in the new design, and its items are copied there"
                        .into(),
            });
        }
    }
    obstacles
}

/// What a single route cannot do in its table.
pub(super) fn of_route(route: &Route, old: &Design) -> Vec<Obstacle> {
    let (from, to) = (&route.from, &route.to);
    let mut obstacles = Vec::new();
    let mut add = |reason: String| {
        let way_out = elsewhere(to);
        obstacles.push(Obstacle { subject: format!("`{}`", to.name), reason, way_out });
    };
    match route.manner {
        Manner::Keep => {}
        Manner::Amend => {
            // A key that is rewritten must be nothing else: a field of that name would be lost.
            let is_field = |entity: &Entity, name: &str| {
                entity.field(name).is_some()
                    || entity.key(name).is_some_and(|key| key.shape.is_native())
            };
            for name in &route.rewritten {
                if let Some(field) = only_in(from, name).or_else(|| only_in(to, name)) {
                    add(format!(
                        "`{name}` would have another value, and `{field}` is stored nowhere else"
                    ));
                }
                if is_field(from, name) || is_field(to, name) {
                    add(format!(
                        "`{name}` would have another value, and it is a field that programs of both designs read",
                    ));
                }
            }
            if from.table.type_attribute == to.table.type_attribute
                && from.name != to.name
                && let Some(attribute) = &to.table.type_attribute
            {
                add(format!(
                    "`{attribute}` would name another entity, and programs of both designs read it"
                ));
            }
            for field in diff::retyped_fields(from, to) {
                add(format!(
                    "`{field}` would have another type, and programs of both designs read it"
                ));
            }
        }
        Manner::Copy => {
            let taken = old.entities_in(&to.table).find(|entity| may_share_key(entity, to));
            if let Some(entity) = taken {
                add(format!("a new item could have the primary key of an old `{}`", entity.name));
            }
        }
    }
    obstacles
}

/// A field that is stored in an index key and nowhere else.
fn only_in<'e>(entity: &'e Entity, attribute: &str) -> Option<&'e str> {
    let in_primary: Vec<&str> = entity.primary_key().fields().collect();
    let fields = entity.key(attribute)?.shape.template().fields();
    let lost = |name: &&str| {
        let field = entity.field(name);
        let calculated = field.is_some_and(|field| matches!(field.kind, FieldKind::Shard(_)));
        !calculated && !field.is_some_and(Field::is_stored) && !in_primary.contains(name)
    };
    fields.into_iter().find(lost)
}

/// The way out of everything that is wrong with two forms in one table.
fn elsewhere(to: &Entity) -> String {
    format!(
        "put `{}` into a table of another name in the new design, or give the attribute another name",
        to.name
    )
}

/// Whether one primary key may belong to both entities.
fn may_share_key(a: &Entity, b: &Entity) -> bool {
    let (a, b) = (a.primary_key(), b.primary_key());
    a.parts().zip(b.parts()).all(|(a, b)| {
        let (a, b) = (a.shape.template().language(), b.shape.template().language());
        a.shared_text(&b).is_some()
    })
}

/// A hazard without which the change is impossible, not just doubtful.
pub(super) fn of_hazard(route: &Route, hazard: &Hazard) -> Option<Obstacle> {
    let Hazard::NoValue { attribute, field } = hazard else { return None };
    Some(Obstacle {
        subject: format!("`{}`", route.to.name),
        reason: format!("`{attribute}` needs `{field}`, which stored items do not have"),
        way_out: format!(
            "store `{field}` in the items first, make it optional if the key is an index's, or say `was = \"…\"` if it had another name"
        ),
    })
}

/// Reads of either design that would meet the other's form of an item.
pub(super) fn of_reads(old: &CheckReport, new: &CheckReport, routes: &[Route]) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    for route in routes.iter().filter(|route| route.manner != Manner::Keep) {
        let to = &route.to;
        for (plans, is_old) in [(&old.plans, true), (&new.plans, false)] {
            for plan in plans.iter().filter(|plan| disturbs(plan, route, is_old)) {
                let which = if is_old { ("new", "old") } else { ("old", "new") };
                obstacles.push(Obstacle {
                    subject: format!("`{}`", to.name),
                    reason: format!(
                        "the pattern \"{}\" of the {} design would read items in their {} form",
                        plan.name, which.1, which.0
                    ),
                    way_out: elsewhere(to),
                });
            }
        }
    }
    obstacles
}

/// Whether a plan of one design reads items in the other's form, in an index where that is not what its own design says.
fn disturbs(plan: &Plan, route: &Route, is_old: bool) -> bool {
    let (entity, own) = if is_old { (&route.to, &route.from) } else { (&route.from, &route.to) };
    plan.reads.iter().filter(|read| read.table.name == entity.table.name).any(|read| {
        // After the switch no item has the old value of a key that was rewritten; before it, what an old pattern misses is a
        // gap, not a stranger.
        let mut keys = read.index().hash.iter().chain(&read.index().range);
        if keys.any(|key| route.rewritten.contains(&key.name))
            && (!is_old || finds(read, &route.from))
        {
            return false;
        }
        let same = |index: &Index| match (entity.index_key(index), own.index_key(index)) {
            (Some(a), Some(b)) => {
                a.parts().zip(b.parts()).all(|(a, b)| diff::same_key(entity, a, own, b))
            }
            _ => false,
        };
        let same = |index: &Index| own.table.name == entity.table.name && same(index);
        let index = entity.table.indexes.iter().find(|index| index.name == read.index().name);
        index.is_some_and(|index| !same(index) && meets(read, entity, index))
    })
}
