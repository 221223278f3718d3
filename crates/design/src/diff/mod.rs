//! Two versions of a design compared: what changes for stored items, tables, indexes and access patterns.
//!
//! 1. [`tables`]: tables and indexes that are created, changed, rebuilt or removed.
//! 2. [`entities`]: what must happen to the items that are stored already; [`hazards`]: what could go wrong;
//!    [`narrowing`]: values that a field no longer takes.
//! 3. [`patterns`]: access patterns gained, lost, dearer or no longer proven.
//! 4. [`steps`]: the changes in the order in which they can be made, one index at a time.
//! 5. [`report`]: the comparison for people and for programs.
//!
//! Tables, indexes, entities, fields and patterns are matched by name; an entity that is gone and one that is new with
//! the same primary key are one that was renamed.

mod entities;
mod hazards;
mod narrowing;
mod patterns;
mod report;
mod steps;
mod tables;

pub use self::entities::{AttributeChange, Effort, EntityDiff, ItemChange, KeyChange, KeyMove};
pub(crate) use self::entities::{
    between_entities, is_renamed, renamed_fields, retyped_fields, same_key,
};
pub use self::hazards::Hazard;
pub(crate) use self::hazards::tells;
pub use self::patterns::{PatternChange, PatternDiff, PatternSide};
pub use self::report::{human, json, markdown};
pub use self::steps::Step;
pub(crate) use self::tables::rebuilt;
pub use self::tables::{IndexChange, IndexDiff, SettingChange, TableChange, TableDiff};

use crate::check::CheckReport;
use crate::cost::Prices;

/// What changes from one design to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignDiff {
    /// Every table of either design.
    pub tables: Vec<TableDiff>,
    /// Every entity of either design.
    pub entities: Vec<EntityDiff>,
    /// Every access pattern of either design.
    pub patterns: Vec<PatternDiff>,
    /// The changes in an order in which they can be made.
    pub steps: Vec<Step>,
    /// The cost of the change, as far as counts are declared.
    pub effort: Effort,
}

impl DesignDiff {
    /// Whether stored items, tables, indexes and patterns are all as they were.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(TableDiff::is_unchanged)
            && self.entities.iter().all(EntityDiff::is_unchanged)
            && self.patterns.iter().all(|pattern| pattern.change == PatternChange::Same)
    }

    /// Whether the change needs a decision first: a value that no stored item has, keys that could collide.
    pub fn has_hazards(&self) -> bool {
        self.entities.iter().any(|entity| !entity.hazards.is_empty())
    }
}

/// Compares two checked designs.
pub fn compare(old: &CheckReport, new: &CheckReport, prices: &Prices) -> DesignDiff {
    let (Some(before), Some(after)) = (&old.design, &new.design) else {
        return DesignDiff::default();
    };
    let tables = tables::compare(before, after);
    let entities = entities::compare(before, after, &tables);
    let effort = entities::total(before, &entities, prices);
    let steps = steps::order(&tables, &entities);
    DesignDiff { patterns: patterns::compare(old, new), tables, entities, steps, effort }
}

/// A thing of one design, of the other, or of both.
#[derive(Clone, Copy, Debug)]
enum Pair<'a, T> {
    Both(&'a T, &'a T),
    Added(&'a T),
    Removed(&'a T),
}

/// Pairs the things of two lists by name: those of the new list in its order, then those that are gone.
fn paired<'a, T>(old: &'a [T], new: &'a [T], name: impl Fn(&T) -> &str) -> Vec<Pair<'a, T>> {
    let find = |list: &'a [T], wanted: &str| list.iter().find(|item| name(item) == wanted);
    let kept = new.iter().map(|after| match find(old, name(after)) {
        Some(before) => Pair::Both(before, after),
        None => Pair::Added(after),
    });
    let gone = old.iter().filter(|item| find(new, name(item)).is_none());
    kept.chain(gone.map(Pair::Removed)).collect()
}
