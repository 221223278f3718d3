//! The final steps of a migration: switch, rollback, and removal of the old form (contract).

use keyloom_api::transactions::{TransactAction, TransactEdit};
use keyloom_core::{AttributeValue, Item};
use keyloom_design::migration::{Fate, ItemMap, MARK, Manner, Mapped};

use super::apply::{Change, Writer, action, amend};
use super::backfill::key_of;
use super::follow::Follower;
use super::mark::{Mark, Origin, Version, unchanged};
use super::state::{Phase, Side, State};
use super::sweep::change;
use super::verify::{Companion, Compared};
use super::{FRESH_MS, Problem, Runner, stream};
use crate::error::{Error, Result};
use crate::expression::presence;

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
const MOST_ROUNDS: usize = 1_000;

impl Runner<'_> {
    /// Moves programs to the new form. All changes are carried over and every item is compared first. Programs that know
    /// nothing of the migration must have stopped writing the old form.
    pub fn switch(&mut self) -> Result<()> {
        self.catch_up()?;
        if (self.state.side, self.state.phase) != (Side::Old, Phase::Follow) {
            return Err(self.wrong_phase("switch"));
        }
        let compared = self.compare()?;
        if compared.differs_for_good() {
            return Err(Self::not_right(compared));
        }
        self.turn(Side::New, Some(compared))
    }

    /// Why a switch does not happen.
    fn not_right(compared: Compared<'_>) -> Error {
        let problems = compared.into_verification().problems;
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        Error::Migration(format!(
            "{} items are not as they should be, so nothing was switched; the first: {first}",
            problems.len(),
        ))
    }

    /// Moves programs from one form to the other. First nobody writes; everything is carried over, so that both forms are
    /// the same; then everybody reads the other form, and when nobody can be reading the first one any more, writes go
    /// on there.
    fn turn(&mut self, side: Side, compared: Option<Compared<'_>>) -> Result<()> {
        let migration = self.migration;
        let (map, _) = migration.maps(side);
        if migration.follows(side) {
            // While programs still write: it takes seconds.
            self.turn_streams_on(map)?;
        }
        self.enter(Phase::Switch)?;
        // Programs that know both designs wait until it is done.
        migration.service.pace.hurry(true);
        let turned = self.turn_now(side, compared);
        migration.service.pace.hurry(false);
        turned
    }

    fn turn_now(&mut self, side: Side, compared: Option<Compared<'_>>) -> Result<()> {
        let migration = self.migration;
        let (map, _) = migration.maps(side);
        self.wait_for_the_unaware();
        // Nobody who heeds the fences writes now: what was written before is all there is.
        let generation = self.state.generation;
        self.state.phase = Phase::Follow;
        self.catch_up_fully()?;
        if self.state.generation != generation {
            return Err(Error::Migration(
                "the stream lost records meanwhile, and everything was copied again: switch once more".into(),
            ));
        }
        self.state.phase = Phase::Switch;
        // What is written all the time can be compared only now.
        if let Some(mut compared) = compared {
            compared.look_again(self)?;
            if !compared.is_right() {
                self.stay()?;
                return Err(Self::not_right(compared));
            }
        }
        let prefix = Self::direction(side);
        if migration.follows(side) {
            Follower::begin(&migration.service, &migration.record, &self.fence(0), prefix, map)?;
        }
        self.state.reads = Some(side);
        migration.record.save(&migration.service, &self.state)?;
        self.wait_for_readers();
        self.state = State { side, reads: None, verified_ms: None, ..self.state.clone() };
        self.enter(Phase::Follow)
    }

    /// Programs that looked before there was a marker rely on that for a while, and their writes demand nothing.
    fn wait_for_the_unaware(&self) {
        let begun_ms = self.migration.service.clock.now_ms().saturating_sub(self.state.started_ms);
        let relied_ms = if self.state.fresh_ms == 0 { 0 } else { FRESH_MS };
        let left = std::time::Duration::from_millis(relied_ms.saturating_sub(begun_ms));
        std::thread::sleep(left);
    }

    /// Waits until every program that knows both forms has looked at the marker again.
    fn wait_for_readers(&self) {
        std::thread::sleep(std::time::Duration::from_millis(self.state.fresh_ms));
    }

    /// A switch that was interrupted did not happen: programs go on with the form that they had.
    pub(super) fn stay(&mut self) -> Result<()> {
        if self.state.reads.take().is_some() {
            let migration = self.migration;
            migration.record.save(&migration.service, &self.state)?;
            self.wait_for_readers();
        }
        self.enter(Phase::Follow)
    }

    /// Leads back to the old design: everything that was written in the new form since the switch is carried back, then the
    /// new form is removed.
    pub fn rollback(&mut self) -> Result<Contracted> {
        if self.state.phase == Phase::Switch {
            self.stay()?;
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
                self.turn(Side::Old, None)?;
                self.enter(Phase::Rollback)?;
            }
            (Side::Old, Phase::Rollback) => {}
            (Side::Old, _) => self.enter(Phase::Rollback)?,
        }
        let migration = self.migration;
        let (forward, backward) = (&migration.plan.forward, &migration.plan.backward);
        let mut ended = Contracted::default();
        for _ in 0..LOOKS {
            ended = Contracted::default();
            self.remove_form(backward, forward, &mut ended)?;
            if ended.left.is_empty() {
                break;
            }
        }
        self.restore_keys()?;
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
        let migration = self.migration;
        let (forward, backward) = (&migration.plan.forward, &migration.plan.backward);
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
        // Where programs write all the time, there is always one more.
        for _ in 0..MOST_ROUNDS {
            let round = self.round()?;
            if round.caught_up || round.gap {
                break;
            }
        }
        Ok(())
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

    /// Visits all items of a table, one by one.
    fn each_item(
        &mut self,
        table: &str,
        mut visit: impl FnMut(&Self, &Item) -> Result<()>,
    ) -> Result<()> {
        self.each_page(table, |runner, items| {
            for item in &items {
                visit(runner, item)?;
                runner.looked_at(1)?;
            }
            Ok(())
        })
    }

    /// Visits all items of a table, page by page.
    fn each_page(
        &mut self,
        table: &str,
        mut visit: impl FnMut(&mut Self, Vec<Item>) -> Result<()>,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let page = self.migration.service.scan(table, None, after)?;
            visit(self, page.items)?;
            after = page.last_key;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Removes the items that `map` reads, as far as what they become is there. A table that no design needs any more goes
    /// as a whole, which is its owner's decision.
    fn remove_form(
        &mut self,
        map: &ItemMap,
        other: &ItemMap,
        ended: &mut Contracted,
    ) -> Result<()> {
        let plan = &self.migration.plan;
        let kept =
            if std::ptr::eq(map, &raw const plan.forward) { plan.new_design() } else { plan.old() };
        for table in map.sources() {
            if !kept.tables().iter().any(|kept| kept.name == table.name) {
                ended.tables.push(table.name.clone());
                continue;
            }
            self.each_item(&table.name, |runner, item| {
                if other.is_made(&table.name, item) {
                    runner.remove_item(map, &table.name, item, ended)?;
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
        let delete = action(table, TransactEdit::Delete(key.clone()), unchanged(item));
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

    /// Gives the index keys that were rewritten in place their old values. Programs write the old form meanwhile: what has
    /// changed in between is looked at again.
    fn restore_keys(&mut self) -> Result<()> {
        let migration = self.migration;
        let undo = &migration.plan.undo;
        if undo.routes().iter().all(|route| route.rewritten.is_empty()) {
            return Ok(());
        }
        let writer = Writer { map: undo, ..self.writer(1) };
        let version = Version::backfilled(self.state.generation);
        for table in undo.sources() {
            for _ in 0..LOOKS {
                let mut restored = 0;
                self.each_page(&table.name, |runner, items| {
                    let mut changes = Vec::new();
                    for item in &items {
                        let key = key_of(undo, &table.name, item);
                        let at = Origin { table: table.name.clone(), key };
                        // What has no old form was named by the comparison before the switch.
                        let Ok(Fate::Mapped(mapped)) = undo.fate(&table.name, item) else {
                            continue;
                        };
                        let amended = mapped.into_iter().filter(|new| new.amendment.is_some());
                        changes
                            .extend(amended.filter_map(|new| Change::of(new, item, &at, &version)));
                    }
                    restored += changes.len();
                    writer.write(changes)?;
                    runner.looked_at(items.len())
                })?;
                if restored == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes the attributes that `unwanted` makes from the items that stay in place.
    fn remove_attributes(&mut self, forward: &ItemMap, unwanted: &ItemMap) -> Result<()> {
        let amended = |route: &&keyloom_design::migration::Route| route.manner == Manner::Amend;
        let mut names: Vec<(String, Vec<String>)> = Vec::new();
        for route in unwanted.routes().iter().filter(amended) {
            names.push((route.from.name.clone(), route.added()));
        }
        if names.iter().all(|(_, added)| added.is_empty()) {
            return Ok(());
        }
        for table in forward.sources() {
            self.each_item(&table.name, |runner, item| {
                let Some(entity) = unwanted.entity_of(&table.name, item) else { return Ok(()) };
                let added = names.iter().filter(|(name, _)| *name == entity);
                let added = added.flat_map(|(_, added)| added);
                let there: Vec<_> = added.filter(|name| item.contains_key(name)).collect();
                if there.is_empty() {
                    return Ok(());
                }
                let gone = there.into_iter().map(|name| (name.clone(), None));
                runner.amend_item(forward, &table.name, item, gone)
            })?;
        }
        Ok(())
    }

    /// Removes the marks from the items that `map` has made; tombstones go.
    fn remove_marks(&mut self, map: &ItemMap) -> Result<()> {
        for table in map.targets() {
            self.each_item(&table.name, |runner, item| {
                let Some(mark) = Mark::of(item) else { return Ok(()) };
                if !mark.gone {
                    return runner.amend_item(map, &table.name, item, [(MARK.to_owned(), None)]);
                }
                let delete = TransactEdit::Delete(key_of(map, &table.name, item));
                let actions = vec![action(&table.name, delete, mark.is_there())];
                change(&runner.writer(1), actions).map(drop)
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
