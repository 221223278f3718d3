//! What a change of design means for stored items: a function from old items to new ones, and back.
//!
//! 1. [`route`]: which old entity becomes which new one, and in what manner: left alone, amended in place, or copied
//!    under another primary key or into another table.
//! 2. [`map`]: an old item becomes new items. Whatever the designs do not mention is carried along.
//! 3. [`obstacle`]: what makes an online change impossible. Both forms of an item exist side by side while the change
//!    is under way, so no read of either design may meet the other's form.
//! 4. [`pattern`]: patterns that both designs answer alike, and those that miss items for a while.
//! 5. [`identity`]: which migration it is, wherever the designs come from.
//!
//! Nothing here does I/O: the `keyloom` crate moves the items.

mod identity;
mod map;
mod obstacle;
mod pattern;
mod route;

pub use self::map::{Amendment, Fate, ItemMap, MARK, Mapped, Unmappable};
pub use self::obstacle::Obstacle;
pub use self::pattern::{Gap, SharedPattern};
pub use self::route::{Manner, Route};

use crate::check::CheckReport;
use crate::diff::Hazard;
use crate::model::Design;

/// How stored items get from one design to another.
#[derive(Clone, Debug)]
pub struct MigrationPlan {
    /// From old items to new ones.
    pub forward: ItemMap,
    /// From new items to old ones, for the way back after the switch.
    pub backward: ItemMap,
    /// What makes the change impossible; then nothing is begun.
    pub obstacles: Vec<Obstacle>,
    /// What is worth knowing before: by entity.
    pub warnings: Vec<(String, Hazard)>,
    /// Why there is no way back after the switch; empty if there is one.
    pub one_way: Vec<String>,
    /// Old entities whose items stay where they are, because the new design does not have them.
    pub left_behind: Vec<String>,
    /// Patterns of the old design that miss items until the switch.
    pub gaps: Vec<Gap>,
    /// From new items in place to their old index keys, for a rollback.
    pub undo: ItemMap,
    old: Design,
    new: Design,
}

impl MigrationPlan {
    /// Plans the change between two checked designs; nothing if one of them is unusable.
    pub fn between(old: &CheckReport, new: &CheckReport) -> Option<Self> {
        let (before, after) = (old.design.as_ref()?, new.design.as_ref()?);
        let routes = route::between(before, after);
        let mut obstacles = obstacle::of_tables(before, after, &routes);
        let mut warnings = Vec::new();
        for route in &routes {
            obstacles.extend(obstacle::of_route(route, before));
            for hazard in route::hazards(route) {
                match obstacle::of_hazard(route, &hazard) {
                    Some(obstacle) => obstacles.push(obstacle),
                    None => warnings.push((route.to.name.clone(), hazard)),
                }
            }
        }
        obstacles.extend(obstacle::of_reads(old, new, &routes));
        let kept = |name: &str| routes.iter().any(|route| route.from.name == name);
        let left_behind = before.entities().iter().filter(|entity| !kept(&entity.name));
        let left_behind = left_behind.map(|entity| entity.name.clone()).collect();
        let back: Vec<Route> = routes.iter().map(Route::reversed).collect();
        let undone: Vec<Route> = routes.iter().map(Route::undone).collect();
        Some(Self {
            gaps: pattern::gaps(old, &routes),
            undo: ItemMap::new(after, before, undone),
            one_way: route::one_way(&routes),
            forward: ItemMap::new(before, after, routes),
            backward: ItemMap::new(after, before, back),
            obstacles,
            warnings,
            left_behind,
            old: before.clone(),
            new: after.clone(),
        })
    }

    /// The design before.
    pub fn old(&self) -> &Design {
        &self.old
    }

    /// The design after.
    pub fn new_design(&self) -> &Design {
        &self.new
    }

    /// The patterns that both designs have and that ask the same.
    pub fn shared_patterns(&self) -> Vec<SharedPattern<'_>> {
        pattern::shared(&self.old, &self.new, self.forward.routes())
    }

    /// The name of this migration: the same for a design file and a module that says the same.
    pub fn id(&self) -> String {
        identity::of(&self.old, &self.new)
    }

    /// Whether no stored item has to be written.
    pub fn is_empty(&self) -> bool {
        self.forward.routes().iter().all(|route| route.manner == Manner::Keep)
    }
}
