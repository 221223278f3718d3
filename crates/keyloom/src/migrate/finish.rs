//! The ends of a migration: the switch, the way back, and the end of the old form.

use keyloom_api::transactions::{TransactAction, TransactEdit};
use keyloom_core::{AttributeValue, Item};
use keyloom_design::migration::{Fate, ItemMap, MARK, Manner, Mapped};

use super::apply::{action, amend};
use super::backfill::key_of;
use super::follow::Follower;
use super::mark::{Mark, Origin};
use super::state::{Phase, Side, State};
use super::sweep::change;
use super::{Problem, Runner, stream};
use crate::error::{Error, Result};
use crate::expression::{self, presence};

/// What the end of a migration left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contracted {
    /// Tables that the design does not have, which can be deleted.
    pub tables: Vec<String>,
    /// Items that were left, because their other form does not exist.
    pub left: Vec<Problem>,
}

/// How often what is left of a form is looked at again.
const LOOKS: usize = 10;

impl Runner<'_> {
    /// Moves programs to the new form. All changes are carried over and every item is compared first. Programs that know
    /// nothing of the migration must have stopped writing the old form.
    pub fn switch(&mut self) -> Result<()> {
        self.catch_up()?;
        if (self.state.side, self.state.phase) != (Side::Old, Phase::Follow) {
            return Err(self.wrong_phase("switch"));
        }
        let verification = self.verify()?;
        if let Some(problem) = verification.problems.first() {
            return Err(Error::Migration(format!(
                "{} items are not as they should be, so nothing was switched; the first: {problem}",
                verification.problems.len()
            )));
        }
        self.turn(Side::New)
    }

    /// Moves programs from one form to the other: first they wait, then everything is carried over, then they go on there.
    fn turn(&mut self, side: Side) -> Result<()> {
        let migration = self.migration;
        self.enter(Phase::Switch)?;
        // Nobody who heeds the fences writes now: what was written before is all there is.
        let generation = self.state.generation;
        self.state.phase = Phase::Follow;
        self.catch_up()?;
        if self.state.generation != generation {
            return Err(Error::Migration(
                "the stream lost records meanwhile, and everything was copied again: switch once more".into(),
            ));
        }
        self.state.phase = Phase::Switch;
        let (map, _) = migration.maps(side);
        let prefix = Self::direction(side);
        Follower::begin(&migration.service, &migration.record, &self.fence(0), prefix, map)?;
        self.state = State { side, verified_ms: None, ..self.state.clone() };
        self.enter(Phase::Follow)
    }

    /// Leads back to the old design: everything that was written in the new form since the switch is carried back, then the
    /// new form is removed.
    pub fn rollback(&mut self) -> Result<Contracted> {
        if self.state.phase == Phase::Switch {
            self.enter(Phase::Follow)?;
        }
        match (self.state.side, self.state.phase) {
            (_, Phase::Contract | Phase::Contracted | Phase::RolledBack) => {
                return Err(self.wrong_phase("roll back"));
            }
            (Side::New, _) => {
                if let Some(reason) = self.migration.plan.one_way.first() {
                    return Err(Error::Migration(format!(
                        "there is no way back after the switch: {reason}"
                    )));
                }
                self.catch_up()?;
                self.turn(Side::Old)?;
                self.enter(Phase::Rollback)?;
            }
            (Side::Old, Phase::Rollback) => {}
            (Side::Old, _) => self.enter(Phase::Rollback)?,
        }
        let (forward, backward) = (&self.migration.plan.forward, &self.migration.plan.backward);
        let mut ended = Contracted::default();
        for _ in 0..LOOKS {
            ended = Contracted::default();
            self.remove_form(backward, forward, &mut ended)?;
            if ended.left.is_empty() {
                break;
            }
        }
        self.remove_attributes(forward, forward)?;
        self.remove_marks(backward)?;
        self.finish(Phase::RolledBack)?;
        Ok(ended)
    }

    /// Ends the migration: the old form goes, and what was kept in the items.
    pub fn contract(&mut self) -> Result<Contracted> {
        if self.state.phase != Phase::Contract {
            self.catch_up()?;
            if (self.state.side, self.state.phase) != (Side::New, Phase::Follow) {
                return Err(self.wrong_phase("contract"));
            }
            self.enter(Phase::Contract)?;
        }
        let (forward, backward) = (&self.migration.plan.forward, &self.migration.plan.backward);
        let mut ended = Contracted::default();
        self.remove_form(forward, backward, &mut ended)?;
        for _ in 0..LOOKS {
            if ended.left.is_empty() {
                break;
            }
            // The other form may have been deleted a moment ago: then the stream tells.
            self.follow_deletions()?;
            ended = Contracted::default();
            self.remove_form(forward, backward, &mut ended)?;
        }
        self.remove_attributes(forward, backward)?;
        self.remove_marks(forward)?;
        self.finish(Phase::Contracted)?;
        Ok(ended)
    }

    /// Reads the streams to their ends.
    fn follow_deletions(&mut self) -> Result<()> {
        loop {
            let round = self.round()?;
            if round.caught_up || round.gap {
                return Ok(());
            }
        }
    }

    fn wrong_phase(&self, what: &str) -> Error {
        let (phase, side) = (self.state.phase.as_str(), self.state.side.as_str());
        let way_out = match (self.state.side, what) {
            _ if self.state.phase.is_over() => "it is over",
            (Side::Old, "contract") => "`keyloom migrate switch` comes first",
            (Side::New, "switch") => "programs use the new form already",
            _ => "`keyloom migrate run` comes first",
        };
        Error::Migration(format!(
            "there is nothing to {what}: the migration is in its phase `{phase}`, programs use the {side} form; {way_out}"
        ))
    }

    /// Visits all items of a table, page by page.
    fn each_page(&self, table: &str, mut visit: impl FnMut(Vec<Item>) -> Result<()>) -> Result<()> {
        let mut after = None;
        loop {
            let page = self.migration.service.scan(table, None, after)?;
            visit(page.items)?;
            after = page.last_key;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Removes the items that `map` reads, as far as what they become is there. A table that no design needs any more goes
    /// as a whole, which is its owner's decision.
    fn remove_form(&self, map: &ItemMap, other: &ItemMap, ended: &mut Contracted) -> Result<()> {
        let plan = &self.migration.plan;
        let kept =
            if std::ptr::eq(map, &raw const plan.forward) { plan.new_design() } else { plan.old() };
        for table in map.sources() {
            if !kept.tables().iter().any(|kept| kept.name == table.name) {
                ended.tables.push(table.name.clone());
                continue;
            }
            self.each_page(&table.name, |items| {
                for item in items.iter().filter(|item| other.is_made(&table.name, item)) {
                    self.remove_item(map, &table.name, item, ended)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn remove_item(
        &self,
        map: &ItemMap,
        table: &str,
        item: &Item,
        ended: &mut Contracted,
    ) -> Result<()> {
        let key = key_of(map, table, item);
        let delete = action(table, TransactEdit::Delete(key.clone()), expression::unchanged(item));
        let at = Origin { table: table.to_owned(), key };
        // What a migration has made is a copy, and what it was made from counts.
        if self.state.phase == Phase::Rollback && Mark::of(item).is_some() {
            return self.remove_or_leave(vec![delete], &at, ended);
        }
        let others: Vec<Mapped> = match map.fate(table, item) {
            Ok(Fate::Mapped(mapped)) if !mapped.is_empty() => mapped,
            _ => {
                ended.left.push(Problem::differs(&at, "has no other form"));
                return Ok(());
            }
        };
        let keys: Vec<_> = others.iter().map(|new| (new.table.clone(), new.key.clone())).collect();
        let found = self.migration.service.get_many(&keys)?;
        if found.iter().any(Option::is_none) {
            ended.left.push(Problem::differs(&at, "was left: its other form does not exist"));
            return Ok(());
        }
        let exists = |(table, key): (String, Item)| {
            let first = key.keys().next().map(ToString::to_string).unwrap_or_default();
            action(&table, TransactEdit::Check(key), presence(&first, true))
        };
        let mut actions: Vec<TransactAction> = keys.into_iter().map(exists).collect();
        actions.push(delete);
        self.remove_or_leave(actions, &at, ended)
    }

    fn remove_or_leave(
        &self,
        actions: Vec<TransactAction>,
        at: &Origin,
        ended: &mut Contracted,
    ) -> Result<()> {
        if !change(&self.writer(1), actions)? {
            ended.left.push(Problem::differs(at, "was left: it changed meanwhile"));
        }
        Ok(())
    }

    /// Removes the attributes that `unwanted` makes from the items that stay in place.
    fn remove_attributes(&self, forward: &ItemMap, unwanted: &ItemMap) -> Result<()> {
        let amended = |route: &&keyloom_design::migration::Route| route.manner == Manner::Amend;
        let mut names: Vec<(String, Vec<String>)> = Vec::new();
        for route in unwanted.routes().iter().filter(amended) {
            names.push((route.from.name.clone(), route.added()));
        }
        if names.iter().all(|(_, added)| added.is_empty()) {
            return Ok(());
        }
        for table in forward.sources() {
            self.each_page(&table.name, |items| {
                for item in &items {
                    let Some(entity) = unwanted.entity_of(&table.name, item) else { continue };
                    let added = names
                        .iter()
                        .filter(|(name, _)| *name == entity)
                        .flat_map(|(_, added)| added);
                    let there: Vec<_> = added.filter(|name| item.contains_key(name)).collect();
                    if !there.is_empty() {
                        let gone = there.into_iter().map(|name| (name.clone(), None));
                        self.amend_item(forward, &table.name, item, gone)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Removes the marks from the items that `map` has made; tombstones go.
    fn remove_marks(&self, map: &ItemMap) -> Result<()> {
        for table in map.targets() {
            self.each_page(&table.name, |items| {
                for item in &items {
                    let Some(mark) = Mark::of(item) else { continue };
                    if mark.gone {
                        let key = key_of(map, &table.name, item);
                        let delete = TransactEdit::Delete(key);
                        let actions = vec![action(&table.name, delete, mark.is_there())];
                        change(&self.writer(1), actions)?;
                    } else {
                        self.amend_item(map, &table.name, item, [(MARK.to_owned(), None)])?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn amend_item(
        &self,
        map: &ItemMap,
        table: &str,
        item: &Item,
        changes: impl IntoIterator<Item = (String, Option<AttributeValue>)>,
    ) -> Result<()> {
        let key = key_of(map, table, item);
        let first = key.keys().next().map(ToString::to_string).unwrap_or_default();
        let amended = amend(table, &key, changes, presence(&first, true))?;
        // What is not there any more needs nothing.
        change(&self.writer(1), vec![amended]).map(drop)
    }

    /// Turns off what was turned on, and gives the tables free.
    fn finish(&mut self, phase: Phase) -> Result<()> {
        let migration = self.migration;
        let (service, record) = (&migration.service, &migration.record);
        for table in &self.state.streams {
            stream::turn_off(service, table)?;
        }
        for kind in ["SHARD#", "STREAM#", "SEGMENT#"] {
            record.clear(service, &self.fence(0), kind)?;
        }
        for table in migration.tables() {
            record.release(service, table)?;
        }
        self.enter(phase)
    }
}
