//! The typed client while a migration runs.
//!
//! The program is written for the new design and also declares the old one: entities and patterns state their former
//! keys. Before the switch, items are read and written in the old form and converted to the new one; after it, no
//! conversion is needed. A write goes to the form that the marker names, in one transaction that checks that the
//! marker is unchanged; the runner copies it to the other form.

mod query;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use keyloom_api::clock::{Clock, SystemClock};
use keyloom_core::Item;
use keyloom_design::migration::{ItemMap, MigrationPlan, Route};
use keyloom_keys::Value;

pub use self::query::DuringQuery;
pub use self::transaction::DuringTransaction;

use super::marker::Marker;
use super::{Migration, Side};
use crate::backend::Backend;
use crate::design::Design;
use crate::entity::{Entity, EntityKey, entity_model, read};
use crate::error::{Error, Result};
use crate::query::Access;
use crate::retry::Retry;
use crate::table::{Becomes, Table};

/// An entity that was another one in the design `O`: `#[entity(was(old::Note))]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it was in the old design",
    label = "nothing is known of its old form",
    note = "write #[entity(was(old::Name))], or use `During::new_tables` for what the old design does not have"
)]
pub trait Was<O: Design>: Entity {
    /// What it was.
    type Before: Entity<Design = O>;
}

/// An access pattern that the design `O` has, too: `#[access(was(old::NotesOf))]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which pattern it was in the old design",
    label = "it cannot be answered before the switch",
    note = "write #[access(was(old::Name))], or ask `During::new_tables` after the switch"
)]
pub trait WasAccess<O: Design>: Access {
    /// The pattern before.
    type Before: Access<Design = O>;

    /// The same question to the old design.
    fn before(&self) -> Self::Before;
}

/// How long a write waits for a switch to end.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(20);

/// The tables of a program while its items move from the design `O` to the design `N`. Cheap to clone.
///
/// Reads are answered from the form that is kept true for programs, whatever the phase; writes go there, too, and wait for
/// the moments of a switch. It can be used before a migration begins, and after it has ended.
///
/// ```
/// use keyloom::migrate::Migration;
/// use keyloom::prelude::*;
///
/// #[keyloom::design(name = OldNotes, table(notes, PK, SK))]
/// mod old {
///     use super::*;
///     #[derive(Entity, Serialize, Deserialize)]
///     #[entity(PK = "USER#{user}", SK = "NOTE#{number}")]
///     pub struct Note { pub user: String, pub number: u32 }
///     #[derive(Access)]
///     #[access(find = Note)]
///     pub struct NotesOf { pub user: String }
/// }
/// #[keyloom::design(name = Notes, table(notes2, PK, SK))]
/// mod new {
///     use super::*;
///     #[derive(Entity, Serialize, Deserialize, Debug, PartialEq)]
///     #[entity(PK = "U#{user}", SK = "N#{number}", was(old::Note))]
///     pub struct Note { pub user: String, pub number: u32 }
///     #[derive(Access)]
///     #[access(find = Note, was(old::NotesOf))]
///     pub struct NotesOf { pub user: String }
/// }
/// use new::{Note, Notes, NotesOf};
///
/// # fn main() -> keyloom::Result<()> {
/// let database = Database::memory();
/// let notes = Notes::during::<old::OldNotes>(&database)?;
/// let note = Note { user: "ann".into(), number: 7 };
/// notes.put(&note)?;
///
/// let migration = Migration::between::<old::OldNotes, Notes>(&database)?;
/// let mut runner = migration.runner(false)?;
/// runner.catch_up()?;
/// assert_eq!(notes.get(note.key())?.as_ref(), Some(&note));
/// runner.switch()?;
/// assert_eq!(notes.query(NotesOf { user: "ann".into() }).collect()?, [note]);
/// # Ok(())
/// # }
/// ```
pub struct During<O, N> {
    old: Table<O>,
    new: Table<N>,
    shared: Arc<Shared>,
}

struct Shared {
    marker: Marker,
    plan: MigrationPlan,
}

impl<O, N> Clone for During<O, N> {
    fn clone(&self) -> Self {
        Self { old: self.old.clone(), new: self.new.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<O, N> std::fmt::Debug for During<O, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("During")
            .field("old", &self.old)
            .field("new", &self.new)
            .finish_non_exhaustive()
    }
}

impl<O: Design, N: Design> During<O, N> {
    pub(crate) fn open(backend: impl Into<Backend>) -> Result<Self> {
        let backend = backend.into();
        let migration = Migration::between::<O, N>(backend.clone())?;
        migration.is_possible()?;
        let Migration { mut service, plan, record, .. } = migration;
        service.retry = Retry::default();
        let tables = plan.forward.sources().iter().chain(plan.forward.targets());
        let tables = tables.map(|table| table.name.clone()).collect();
        let marker = Marker::new(service, record.id, tables);
        Ok(Self {
            old: Table::open(backend.clone())?.with_cursor_scope(Side::Old.as_str()),
            new: Table::open(backend)?.with_cursor_scope(Side::New.as_str()),
            shared: Arc::new(Shared { marker, plan }),
        })
    }

    /// The same tables with other rules for trying again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        (self.old, self.new) = (self.old.with_retry(retry.clone()), self.new.with_retry(retry));
        self
    }

    /// The same tables with signed cursors. Signed or not, a cursor from before the switch is refused after it.
    #[cfg(feature = "signing")]
    #[must_use]
    pub fn with_cursor_key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.old = self.old.with_cursor_key(key.as_ref());
        self.new = self.new.with_cursor_key(key);
        self
    }

    /// Which form is read now.
    pub fn side(&self) -> Result<Side> {
        Ok(self.shared.marker.look_again()?.reads)
    }

    /// The tables of the new design alone: for entities and patterns that the old one does not have.
    pub fn new_tables(&self) -> &Table<N> {
        &self.new
    }

    /// The item with this key. The read may be a moment old.
    pub fn get<K>(&self, key: K) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Was<O> + Entity<Design = N>>,
    {
        self.find(&key, false)
    }

    /// The item with this key, as of the latest write.
    pub fn get_consistent<K>(&self, key: K) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Was<O> + Entity<Design = N>>,
    {
        self.find(&key, true)
    }

    fn find<K>(&self, key: &K, consistent: bool) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Was<O> + Entity<Design = N>>,
    {
        match self.shared.marker.look()?.reads {
            Side::Old => {
                let found = self.find_before(&self.old, key, consistent)?;
                found.map(|(_, after)| read(after)).transpose()
            }
            Side::New => {
                let model = entity_model::<K::Entity>()?;
                let found = self.new.find_by(model, &|name| key.field(name), consistent)?;
                found.map(read).transpose()
            }
        }
    }

    /// Writes an item, in place of any with the same key.
    pub fn put<E: Was<O> + Entity<Design = N>>(&self, entity: &E) -> Result<()> {
        self.write(|side| match side {
            At::Old(table) => table.put(&self.before(entity)?),
            At::New(table) => table.put(entity),
        })
    }

    /// Writes an item unless one with the same key exists: then [`Error::AlreadyExists`].
    pub fn create<E: Was<O> + Entity<Design = N>>(&self, entity: &E) -> Result<()> {
        self.write(|side| match side {
            At::Old(table) => table.create(&self.before(entity)?),
            At::New(table) => table.create(entity),
        })
    }

    /// Reads an item, changes it and writes it back, without losing concurrent changes.
    pub fn update<K>(&self, key: K, mut change: impl FnMut(&mut K::Entity)) -> Result<K::Entity>
    where
        K: EntityKey<Entity: Was<O> + Entity<Design = N>>,
    {
        let missing = || -> Error {
            let made = entity_model::<K::Entity>().and_then(|m| m.key_item(|name| key.field(name)));
            let key = made.map(|key| crate::entity::key_text(&key)).unwrap_or_default();
            Error::NotFound { entity: K::Entity::NAME, key }
        };
        self.write(|side| match side {
            At::Old(table) => {
                let before = self.find_old(table, &key)?.ok_or_else(missing)?;
                let model = entity_model::<<K::Entity as Was<O>>::Before>()?;
                let changed = table.change(model, &before.key(), |stored| {
                    let stored = stored.ok_or_else(missing)?;
                    let mut entity: K::Entity = self.after(model.table(), &model.item(&stored)?)?;
                    change(&mut entity);
                    Ok(Becomes::Write(self.before(&entity)?))
                })?;
                self.after(model.table(), &model.item(&changed.ok_or_else(missing)?)?)
            }
            At::New(table) => {
                let model = entity_model::<K::Entity>()?;
                let changed = table.change(model, &key, |stored| {
                    let mut entity = stored.ok_or_else(missing)?;
                    change(&mut entity);
                    Ok(Becomes::Write(entity))
                })?;
                changed.ok_or_else(missing)
            }
        })
    }

    /// Deletes an item and returns it, if there was one.
    pub fn delete<K>(&self, key: K) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Was<O> + Entity<Design = N>>,
    {
        self.write(|side| match side {
            At::Old(table) => {
                let Some(before) = self.find_old(table, &key)? else { return Ok(None) };
                let deleted = table.delete(before.key())?;
                let model = entity_model::<<K::Entity as Was<O>>::Before>()?;
                deleted.map(|item| self.after(model.table(), &model.item(&item)?)).transpose()
            }
            At::New(table) => {
                let (model, mut deleted) = (entity_model::<K::Entity>()?, None);
                table.change(model, &key, |stored| {
                    deleted = stored;
                    Ok(Becomes::Delete)
                })?;
                Ok(deleted)
            }
        })
    }

    /// Asks an access pattern that both designs have.
    pub fn query<A: WasAccess<O> + Access<Design = N>>(
        &self,
        access: A,
    ) -> DuringQuery<'_, O, N, A> {
        DuringQuery::new(self, access)
    }

    /// Up to 99 writes, all or none.
    pub fn transaction(&self) -> DuringTransaction<'_, O, N> {
        DuringTransaction::new(self)
    }

    /// Writes in the form that is written now; once more if that was another one by then.
    fn write<T>(&self, mut work: impl FnMut(At<'_, O, N>) -> Result<T>) -> Result<T> {
        let (marker, begun) = (&self.shared.marker, SystemClock.ticks());
        let mut seen = marker.look()?;
        loop {
            if let Some(side) = seen.writes {
                let fence = marker.fence(seen);
                let done = match side {
                    Side::Old => work(At::Old(&self.old.clone().with_fence(fence))),
                    Side::New => work(At::New(&self.new.clone().with_fence(fence))),
                };
                match done {
                    Err(Error::Switched) => {}
                    done => return done,
                }
            } else if SystemClock.ticks().saturating_sub(begun) > PATIENCE {
                return Err(Error::Migration(format!(
                    "a switch is under way for more than {} s, and nothing can be written: `keyloom migrate status` tells \
                     whether its runner has stopped; `keyloom migrate run` ends it",
                    PATIENCE.as_secs()
                )));
            } else {
                std::thread::sleep(PAUSE);
            }
            seen = marker.look_again()?;
        }
    }

    /// An entity as the old design has it.
    fn before<E: Was<O>>(&self, entity: &E) -> Result<E::Before> {
        let model = entity_model::<E>()?;
        let backward = &self.shared.plan.backward;
        read(Self::counterpart(backward, model.table(), &model.item(entity)?)?)
    }

    /// An item of the old form as the new design has it.
    fn after<E: Entity>(&self, table: &str, item: &Item) -> Result<E> {
        read(Self::counterpart(&self.shared.plan.forward, table, item)?)
    }

    fn counterpart(map: &ItemMap, table: &str, item: &Item) -> Result<Item> {
        match map.counterpart(table, item) {
            Ok(Some(other)) => Ok(other.item),
            Ok(None) => Err(Error::Migration(format!(
                "an item of table `{table}` has no one form in the other design"
            ))),
            Err(problem) => {
                Err(Error::Migration(format!("it has no form in the other design: {problem}")))
            }
        }
    }

    /// The stored item that a key of the new design leads to in the old form, and its new form.
    fn find_before<K>(
        &self,
        table: &Table<O>,
        key: &K,
        consistent: bool,
    ) -> Result<Option<(Item, Item)>>
    where
        K: EntityKey<Entity: Was<O>>,
    {
        let model = entity_model::<<K::Entity as Was<O>>::Before>()?;
        let routes = self.shared.plan.forward.routes();
        let own = |route: &&Route| {
            route.from.name == model.name() && route.to.name == <K::Entity as Entity>::NAME
        };
        let renames = routes.iter().find(own).map(|route| route.renames.as_slice());
        let field = |name: &str| -> Option<Value<'_>> {
            let renamed = renames.unwrap_or_default().iter().find(|(before, _)| before == name);
            key.field(renamed.map_or(name, |(_, after)| after))
        };
        let Some(before) = table.find_by(model, &field, consistent)? else { return Ok(None) };
        let after = Self::counterpart(&self.shared.plan.forward, model.table(), &before)?;
        // The new key may say more than the old one.
        let new = entity_model::<K::Entity>()?;
        let is_own = new.stored_key(&after) == new.key_item(|name| key.field(name))?;
        Ok(is_own.then_some((before, after)))
    }

    fn find_old<K>(
        &self,
        table: &Table<O>,
        key: &K,
    ) -> Result<Option<<K::Entity as Was<O>>::Before>>
    where
        K: EntityKey<Entity: Was<O>>,
    {
        let found = self.find_before(&table.clone().with_expired(), key, true)?;
        found.map(|(before, _)| read(before)).transpose()
    }
}

/// The tables of the form that is written, every write of which demands that it still is.
enum At<'t, O, N> {
    Old(&'t Table<O>),
    New(&'t Table<N>),
}
