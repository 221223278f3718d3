//! The state of a migration, kept in the database itself so that any machine can resume it.
//!
//! The table [`TABLE`] holds, for each migration, one item with its phase, one for each segment of the backfill, one
//! for each shard of a stream that is followed, and the fences: copies of the runner's number that every write
//! checks. There are several fences, so that parallel writes do not contend for one item.

use keyloom_api::JsonWriter;
use keyloom_api::items::ConditionInput;
use keyloom_api::transactions::{TransactAction, TransactEdit};
use keyloom_core::error::{CancellationCode, CancellationReason};
use keyloom_core::expr::{Condition, Path};
use keyloom_core::{AttributeValue, Error as Refusal, Item};

use super::apply::{action, amend};
use super::service::{Refused, Service};
use crate::error::{Error, Result};
use crate::expression::{self, presence};

/// The table of all migrations.
pub(super) const TABLE: &str = "keyloom_migrations";
/// How many fences there are, and so how many writers at once.
pub(super) const FENCES: u32 = 32;
const PHASE: &str = "PHASE";
/// The attribute with what the runner says of its work.
const TOLD: &str = "told";

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Tables and streams are made.
    Expand,
    /// All items are copied, while changes are followed.
    Backfill,
    /// What a backfill leaves behind is removed.
    Sweep,
    /// Changes are followed.
    Follow,
    /// Reads and writes move to the other form; programs that know both wait.
    Switch,
    /// The old form is removed.
    Contract,
    /// The new form is removed.
    Rollback,
    /// The new design is the only one.
    Contracted,
    /// The old design is the only one.
    RolledBack,
}

impl Phase {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Expand, "expand"),
        (Self::Backfill, "backfill"),
        (Self::Sweep, "sweep"),
        (Self::Follow, "follow"),
        (Self::Switch, "switch"),
        (Self::Contract, "contract"),
        (Self::Rollback, "rollback"),
        (Self::Contracted, "contracted"),
        (Self::RolledBack, "rolled back"),
    ];

    /// The name in texts.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(phase, _)| *phase == self).map_or("", |(_, name)| name)
    }

    /// Whether nothing is left to do.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Contracted | Self::RolledBack)
    }
}

/// Which form programs read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The old one.
    Old,
    /// The new one.
    New,
}

impl Side {
    /// `old` or `new`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }

    /// The side that an attribute names.
    pub(super) fn read(item: &Item, name: &str) -> Option<Self> {
        match item.get(name)?.as_s()? {
            "old" => Some(Self::Old),
            "new" => Some(Self::New),
            _ => None,
        }
    }
}

/// What a runner tells of its work, every few seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Items read by the backfill, by all runners.
    pub items: u64,
    /// Items that it read in a second, lately; none at first.
    pub items_per_s: Option<u64>,
    /// Changes carried over by this runner.
    pub changes: u64,
    /// How old the last change was when it was read, in milliseconds; zero if there was none left.
    pub lag_ms: u64,
    /// Units read and written by this runner, without those of indexes.
    pub units: (u64, u64),
    /// Items that this runner could not move.
    pub problems: u64,
}

impl Told {
    fn value(&self) -> AttributeValue {
        let mut item = Item::new();
        item.insert("items", number(self.items));
        if let Some(rate) = self.items_per_s {
            item.insert("items_per_s", number(rate));
        }
        item.insert("changes", number(self.changes));
        item.insert("lag_ms", number(self.lag_ms));
        item.insert("read_units", number(self.units.0));
        item.insert("write_units", number(self.units.1));
        item.insert("problems", number(self.problems));
        AttributeValue::M(item)
    }

    fn read(value: &AttributeValue) -> Option<Self> {
        let item = value.as_m()?;
        Some(Self {
            items: unsigned(item, "items")?,
            items_per_s: unsigned(item, "items_per_s"),
            changes: unsigned(item, "changes")?,
            lag_ms: unsigned(item, "lag_ms")?,
            units: (unsigned(item, "read_units")?, unsigned(item, "write_units")?),
            problems: unsigned(item, "problems")?,
        })
    }
}

/// What is known of a migration as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) side: Side,
    /// The number of the runner.
    pub(super) epoch: u64,
    /// How often items were copied from the beginning.
    pub(super) generation: u64,
    pub(super) started_ms: u64,
    /// When the runner was last heard of.
    pub(super) seen_ms: u64,
    /// When every item was last found right.
    pub(super) verified_ms: Option<u64>,
    /// Tables whose streams the migration turned on.
    pub(super) streams: Vec<String>,
    /// The form that is read during a switch, once nothing is written any more and both are the same.
    pub(super) reads: Option<Side>,
    /// For how long programs may rely on what they have read of the marker.
    pub(super) fresh_ms: u64,
    /// What the runner last said of its work.
    pub(super) told: Option<Told>,
}

impl State {
    pub(super) fn begin(now_ms: u64, fresh_ms: u64) -> Self {
        Self {
            phase: Phase::Expand,
            side: Side::Old,
            epoch: 0,
            generation: 1,
            started_ms: now_ms,
            seen_ms: 0,
            verified_ms: None,
            streams: Vec::new(),
            reads: None,
            fresh_ms,
            told: None,
        }
    }

    /// The state, if the item of this name has it.
    pub(super) fn of(name: &str, item: &Item) -> Option<Self> {
        (name == PHASE).then(|| Self::read(item)).flatten()
    }

    /// The form that is written; none while a switch waits for everything to be carried over.
    fn writes(&self) -> Option<Side> {
        (self.phase != Phase::Switch).then_some(self.side)
    }

    fn item(&self, id: &str) -> Item {
        let mut item = key(id, PHASE);
        item.insert("phase", self.phase.as_str());
        item.insert("side", self.side.as_str());
        item.insert("epoch", number(self.epoch));
        item.insert("generation", number(self.generation));
        item.insert("started_ms", number(self.started_ms));
        item.insert("seen_ms", number(self.seen_ms));
        if let Some(verified_ms) = self.verified_ms {
            item.insert("verified_ms", number(verified_ms));
        }
        let streams = self.streams.iter().map(|name| name.as_str().into());
        item.insert("streams", AttributeValue::L(streams.collect()));
        if let Some(reads) = self.reads {
            item.insert("reads", reads.as_str());
        }
        item.insert("fresh_ms", number(self.fresh_ms));
        if let Some(told) = &self.told {
            item.insert(TOLD, told.value());
        }
        item
    }

    fn read(item: &Item) -> Option<Self> {
        let name = item.get("phase")?.as_s()?;
        let number = |name: &str| unsigned(item, name);
        let streams = item.get("streams").and_then(AttributeValue::as_l).unwrap_or_default();
        Some(Self {
            phase: Phase::ALL.iter().find(|(_, known)| *known == name)?.0,
            side: Side::read(item, "side")?,
            epoch: number("epoch")?,
            generation: number("generation")?,
            started_ms: number("started_ms")?,
            seen_ms: number("seen_ms")?,
            verified_ms: number("verified_ms"),
            streams: streams.iter().filter_map(|name| name.as_s().map(str::to_owned)).collect(),
            reads: Side::read(item, "reads"),
            fresh_ms: number("fresh_ms").unwrap_or(0),
            told: item.get(TOLD).and_then(Told::read),
        })
    }
}

/// The demand that this runner is still the one.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    id: String,
    epoch: u64,
    slot: u32,
}

impl Fence {
    pub(super) fn new(id: &str, epoch: u64, slot: u32) -> Self {
        Self { id: id.to_owned(), epoch, slot: slot % FENCES }
    }

    /// The action to add to a transaction, as its last.
    pub(super) fn check(&self) -> TransactAction {
        action(TABLE, TransactEdit::Check(fence_key(&self.id, self.slot)), is_epoch(self.epoch))
    }
}

/// Whether a transaction failed because of its last action, the fence.
pub(super) fn judge(reasons: &[CancellationReason]) -> Result<()> {
    match reasons.last() {
        Some(reason) if reason.code == CancellationCode::ConditionalCheckFailed => Err(replaced()),
        _ => Ok(()),
    }
}

/// The outcome of a transaction whose only condition is the fence.
fn done(written: Result<(), Refused>) -> Result<()> {
    match written {
        Ok(()) => Ok(()),
        Err(Refused::Canceled(reasons)) => {
            judge(&reasons)?;
            Err(Refused::Canceled(reasons).into())
        }
        Err(refused) => Err(refused.into()),
    }
}

fn replaced() -> Error {
    Error::Migration(
        "another runner has taken over this migration; `keyloom migrate status` shows how far it is".into(),
    )
}

/// The items of one migration.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) id: String,
}

impl Record {
    /// The state, if the migration was begun.
    pub(super) fn load(&self, service: &Service) -> Result<Option<State>> {
        match service.get(TABLE, &key(&self.id, PHASE)) {
            Ok(item) => Ok(item.as_ref().and_then(State::read)),
            Err(Error::Database(Refusal::ResourceNotFound(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the table, unless it is there.
    pub(super) fn create_table(service: &Service) -> Result<()> {
        let mut body = JsonWriter::object();
        body.string("TableName", TABLE);
        body.objects("AttributeDefinitions", ["pk", "sk"], |object, name| {
            object.string("AttributeName", name);
            object.string("AttributeType", "S");
        });
        body.objects("KeySchema", [("pk", "HASH"), ("sk", "RANGE")], |object, (name, kind)| {
            object.string("AttributeName", name);
            object.string("KeyType", kind);
        });
        body.string("BillingMode", "PAY_PER_REQUEST");
        match service.call("CreateTable", &body.finish()) {
            Ok(_) => crate::tables::await_active(&service.backend, &service.retry, TABLE),
            Err(Error::Database(Refusal::ResourceInUse(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes this runner the one that may write, and returns the state with its number.
    pub(super) fn take_over(&self, service: &Service, state: &State) -> Result<State> {
        let next = State {
            epoch: state.epoch + 1,
            seen_ms: service.clock.now_ms(),
            told: None,
            ..state.clone()
        };
        let known = if state.epoch == 0 { presence("pk", false) } else { is_epoch(state.epoch) };
        let mut actions = vec![action(TABLE, TransactEdit::Put(next.item(&self.id)), known)];
        actions.extend(self.fences(&next));
        match service.write_once(actions) {
            Ok(()) => Ok(next),
            Err(Refused::Canceled(reasons))
                if reasons.iter().any(|r| r.code == CancellationCode::ConditionalCheckFailed) =>
            {
                Err(replaced())
            }
            Err(refused) => Err(refused.into()),
        }
    }

    /// The fences, which also tell programs that know both designs which form to use.
    fn fences(&self, state: &State) -> Vec<TransactAction> {
        let epoch = number(state.epoch);
        let fence = |slot| {
            let mut item = fence_key(&self.id, slot);
            item.insert("epoch", epoch.clone());
            item.insert("side", state.writes().map_or("none", Side::as_str));
            item.insert("reads", state.reads.unwrap_or(state.side).as_str());
            item.insert("fresh_ms", number(state.fresh_ms));
            action(TABLE, TransactEdit::Put(item), expression::when(None))
        };
        (0..FENCES).map(fence).collect()
    }

    /// Writes the state, if this runner is still the one.
    pub(super) fn save(&self, service: &Service, state: &State) -> Result<()> {
        let mine = is_epoch(state.epoch);
        let mut actions = vec![action(TABLE, TransactEdit::Put(state.item(&self.id)), mine)];
        actions.extend(self.fences(state));
        match service.write(actions) {
            Ok(()) => Ok(()),
            Err(Refused::Canceled(reasons))
                if reasons.iter().any(|r| r.code == CancellationCode::ConditionalCheckFailed) =>
            {
                Err(replaced())
            }
            Err(refused) => Err(refused.into()),
        }
    }

    /// Writes items of this migration, if this runner is still the one.
    pub(super) fn put(service: &Service, fence: &Fence, items: &[Item]) -> Result<()> {
        for part in items.chunks(90) {
            let put = |item: &Item| {
                action(TABLE, TransactEdit::Put(item.clone()), expression::when(None))
            };
            let mut actions: Vec<TransactAction> = part.iter().map(put).collect();
            actions.push(fence.check());
            done(service.write(actions))?;
        }
        Ok(())
    }

    /// Deletes all items of this migration whose names begin so.
    pub(super) fn clear(&self, service: &Service, fence: &Fence, beginning: &str) -> Result<()> {
        let keys: Vec<Item> = self
            .list(service, beginning)?
            .iter()
            .filter_map(|item| Some(key(&self.id, item.get("sk")?.as_s()?)))
            .collect();
        for part in keys.chunks(90) {
            let delete = |key: &Item| {
                action(TABLE, TransactEdit::Delete(key.clone()), expression::when(None))
            };
            let mut actions: Vec<TransactAction> = part.iter().map(delete).collect();
            actions.push(fence.check());
            done(service.write(actions))?;
        }
        Ok(())
    }

    /// The items of this migration whose names begin so, in order.
    pub(super) fn list(&self, service: &Service, beginning: &str) -> Result<Vec<Item>> {
        service.list(TABLE, &self.id, beginning)
    }

    /// An item of this migration.
    pub(super) fn named(&self, name: &str) -> Item {
        key(&self.id, name)
    }

    /// The migration of an item of the table, and the item's name in it.
    pub(super) fn name_of(item: &Item) -> Option<(&str, &str)> {
        Some((item.get("pk")?.as_s()?, item.get("sk")?.as_s()?))
    }

    /// The name of the migration that moves items of a table, if there is one.
    pub(super) fn claimed_by(service: &Service, table: &str) -> Result<Option<String>> {
        let claim = service.get(TABLE, &key(&format!("table {table}"), "CLAIM"))?;
        Ok(claim.and_then(|claim| claim.get("id")?.as_s().map(str::to_owned)))
    }

    /// Claims a table, so that no other migration moves its items at the same time.
    pub(super) fn claim(&self, service: &Service, table: &str) -> Result<()> {
        let mut item = key(&format!("table {table}"), "CLAIM");
        item.insert("id", self.id.as_str());
        let id = expression::equal("id", self.id.as_str().into());
        let free = Condition::NotExists(Path::attribute("pk"));
        let condition = expression::when(Some(Condition::Or(vec![free, id])));
        match service.write(vec![action(TABLE, TransactEdit::Put(item), condition)]) {
            Ok(()) => Ok(()),
            Err(Refused::Canceled(_)) => Err(Error::Migration(format!(
                "another migration moves items of table `{table}`: contract it or roll it back first"
            ))),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Gives a table free.
    pub(super) fn release(&self, service: &Service, table: &str) -> Result<()> {
        let key = key(&format!("table {table}"), "CLAIM");
        let condition = expression::when(Some(expression::equal("id", self.id.as_str().into())));
        match service.write(vec![action(TABLE, TransactEdit::Delete(key), condition)]) {
            Ok(()) | Err(Refused::Canceled(_)) => Ok(()),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Says that this runner has ended: another one need not wait until it was silent for so long.
    pub(super) fn leave(&self, service: &Service, state: &State, silence_ms: u64) -> Result<()> {
        let seen_ms = service.clock.now_ms().saturating_sub(silence_ms);
        let seen = [("seen_ms".to_owned(), Some(number(seen_ms)))];
        let left = amend(TABLE, &key(&self.id, PHASE), seen, is_epoch(state.epoch))?;
        match service.write(vec![left]) {
            // Another runner has taken over, and is there.
            Ok(()) | Err(Refused::Canceled(_)) => Ok(()),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Says that this runner is alive, and what it has done.
    pub(super) fn beat(
        &self,
        service: &Service,
        state: &mut State,
        told: impl FnOnce() -> Told,
    ) -> Result<()> {
        let now_ms = service.clock.now_ms();
        let since_ms = now_ms.saturating_sub(state.seen_ms);
        if since_ms < 5_000 {
            return Ok(());
        }
        let mut told = told();
        told.items_per_s = state
            .told
            .as_ref()
            .map(|before| told.items.saturating_sub(before.items).saturating_mul(1000) / since_ms);
        let seen =
            [("seen_ms".to_owned(), Some(number(now_ms))), (TOLD.to_owned(), Some(told.value()))];
        (state.seen_ms, state.told) = (now_ms, Some(told));
        let beat = amend(TABLE, &key(&self.id, PHASE), seen, is_epoch(state.epoch))?;
        match service.write(vec![beat]) {
            Ok(()) => Ok(()),
            Err(Refused::Canceled(_)) => Err(replaced()),
            Err(refused) => Err(refused.into()),
        }
    }
}

/// A number of an item.
fn unsigned(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n()?.to_i64().and_then(|number| u64::try_from(number).ok())
}

/// A number as an attribute.
pub(super) fn number(value: u64) -> AttributeValue {
    AttributeValue::from(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The condition that no other runner has taken over.
fn is_epoch(epoch: u64) -> ConditionInput {
    expression::when(Some(expression::equal("epoch", number(epoch))))
}

fn key(id: &str, name: &str) -> Item {
    let mut item = Item::new();
    item.insert("pk", id);
    item.insert("sk", name);
    item
}

/// Each fence has a partition of its own: every write checks one, of the migration and of programs that know it.
pub(super) fn fence_key(id: &str, slot: u32) -> Item {
    key(&format!("{id} fence {:02}", slot % FENCES), "FENCE")
}
