//! Sharded counters, for rates above one partition's limit: each increment goes to a random shard, and the total is
//! the sum of all.

use std::marker::PhantomData;

use keyloom_api::items::UpdateItemInput;
use keyloom_core::{AttributeValue, Item, Number};
use keyloom_keys::Value;
use serde::Serialize;

use crate::design::Design;
use crate::entity::{Entity, entity_model};
use crate::error::{Error, ItemError, Result};
use crate::expression::Changes;
use crate::item::to_value;
use crate::key_value::{KeyValue, owned};

use super::{Table, get_all};

/// An entity that counts: its items are the shards of counters. The derive implements it for entities with
/// `#[field(counter)]`.
pub trait Tallied: Entity {
    /// The field that counts.
    const COUNT: &'static str;
    /// The field that holds the number of the shard.
    const SHARD: &'static str;
    /// How many shards are written.
    const SHARDS: u32;
    /// How many shards may hold counts.
    const MOST_SHARDS: u32;
}

/// One counter in all of its shards: the fields of the key without the shard. `YourEntity::tally(…)` makes it.
///
/// ```
/// # use keyloom::prelude::*;
/// #[keyloom::design(table(sites, PK, SK))]
/// mod sites {
///     use super::*;
///
///     #[derive(Entity, Serialize, Deserialize)]
///     #[entity(PK = "VIEWS#{page}#{shard}", SK = "COUNT")]
///     pub struct Views {
///         pub page: String,
///         #[field(type = "shard", shards = 8)]
///         pub shard: u32,
///         #[field(counter)]
///         pub count: u64,
///     }
/// }
/// use sites::*;
///
/// # fn main() -> keyloom::Result<()> {
/// let sites = Sites::open(Database::memory())?;
/// for _ in 0..10 {
///     sites.count(Views::tally("home"), 1)?;
/// }
/// assert_eq!(sites.total(Views::tally("home"))?, 10);
/// # Ok(())
/// # }
/// ```
#[must_use = "a tally is given to `Table::count` or `Table::total`"]
pub struct Tally<E> {
    fields: Vec<Field>,
    failed: Option<Error>,
    entity: PhantomData<fn() -> E>,
}

struct Field {
    name: &'static str,
    stored: Option<AttributeValue>,
    in_keys: Option<Value<'static>>,
}

impl<E: Tallied> Tally<E> {
    /// A counter without key fields yet. The derive's `tally` calls this.
    #[expect(clippy::new_without_default, reason = "an empty tally is no use to people")]
    pub fn new() -> Self {
        Self { fields: Vec::new(), failed: None, entity: PhantomData }
    }

    /// The value of a key field. The derive's `tally` calls this.
    pub fn with<T: Serialize + KeyValue>(mut self, name: &'static str, value: &T) -> Self {
        match to_value(value) {
            Ok(stored) => self.fields.push(Field { name, stored, in_keys: owned(value) }),
            Err(error) => {
                let error = error.inside(name);
                self.failed.get_or_insert(Error::Item { entity: E::NAME, error });
            }
        }
        self
    }

    fn value(&self, name: &str, shard: u32) -> Option<Value<'static>> {
        if name == E::SHARD {
            return Some(Value::from(shard));
        }
        self.fields.iter().find(|field| field.name == name)?.in_keys.clone()
    }

    /// The update that adds to a shard, and makes it if it is not there.
    fn update(&self, shard: u32, by: i64) -> Result<UpdateItemInput> {
        let model = entity_model::<E>()?;
        let mut changes = Changes::default();
        let key = model.key_item(|name| self.value(name, shard))?;
        for (attribute, value) in model.index_keys(|name| self.value(name, shard))? {
            changes.assign(attribute, Some(value));
        }
        let shard = (E::SHARD, Some(Number::from(shard).into()));
        let stored = self.fields.iter().map(|field| (field.name, field.stored.clone()));
        for (name, value) in stored.chain([shard]).chain([model.type_name()].into_iter().flatten())
        {
            if let Some(value) =
                value.filter(|_| !key.contains_key(name) && !model.is_key_only(name))
            {
                changes.assign(name, Some(value));
            }
        }
        for (name, by) in std::iter::once((E::COUNT, by)).chain(E::VERSION.map(|name| (name, 1))) {
            changes.add(name, by);
        }
        Ok(UpdateItemInput {
            table_name: model.table().to_owned(),
            key,
            update: changes.finish()?,
            ..UpdateItemInput::default()
        })
    }
}

impl<D: Design> Table<D> {
    /// Adds to a counter, in one of its shards. When the answer of an endpoint is lost, it is not sent again: the error
    /// says that it may have been counted.
    pub fn count<E: Tallied<Design = D>>(&self, tally: Tally<E>, by: i64) -> Result<()> {
        if let Some(error) = tally.failed {
            return Err(error);
        }
        // Without randomness all additions go to one shard: slower, but correct.
        let shard = (getrandom::u64().unwrap_or(0) % u64::from(E::SHARDS.max(1))) as u32;
        let input = tally.update(shard, by)?;
        self.retry.run("UpdateItem", false, |_| self.backend.update_item(input.clone())).map(drop)
    }

    /// The sum of a counter's shards. They are read one after the other while others may count.
    pub fn total<E: Tallied<Design = D>>(&self, tally: Tally<E>) -> Result<i64> {
        self.sum(tally, false)
    }

    /// The sum of a counter's shards, each as of its latest addition.
    pub fn total_consistent<E: Tallied<Design = D>>(&self, tally: Tally<E>) -> Result<i64> {
        self.sum(tally, true)
    }

    fn sum<E: Tallied<Design = D>>(&self, tally: Tally<E>, consistent: bool) -> Result<i64> {
        if let Some(error) = tally.failed {
            return Err(error);
        }
        let model = entity_model::<E>()?;
        let key = |shard| {
            let key = model.key_item(|name| tally.value(name, shard))?;
            Ok((model.table().to_owned(), key))
        };
        let keys: Vec<(String, Item)> = (0..E::MOST_SHARDS).map(key).collect::<Result<_>>()?;
        let shards = get_all(&self.backend, &self.retry, &keys, consistent)?;
        shards.iter().flatten().try_fold(0i64, |total, shard| {
            let count = count_in::<E>(shard)?;
            total.checked_add(count).ok_or_else(|| {
                not_countable::<E>(&format!("{total} and {count} are more than an `i64` holds"))
            })
        })
    }
}

/// The count of a shard; none before its first addition.
fn count_in<E: Tallied>(shard: &Item) -> Result<i64> {
    let Some(stored) = shard.get(E::COUNT) else { return Ok(0) };
    let AttributeValue::N(number) = stored else {
        return Err(not_countable::<E>(&"a shard holds something that is no number"));
    };
    number.to_i64().ok_or_else(|| {
        not_countable::<E>(&format!("a shard holds {number}, which is no whole number of an `i64`"))
    })
}

fn not_countable<E: Tallied>(reason: &dyn std::fmt::Display) -> Error {
    Error::Item { entity: E::NAME, error: ItemError::new(reason).inside(E::COUNT) }
}
