//! Transactions while a migration runs.

use super::{At, During, Was};
use crate::design::Design;
use crate::entity::Entity;
use crate::error::Result;
use crate::table::Transaction;

/// Writes that are done together or not at all, in the form that is written then.
#[must_use = "nothing is written until `commit`"]
pub struct DuringTransaction<'t, O, N> {
    during: &'t During<O, N>,
    writes: Vec<Box<dyn Both<O, N> + 't>>,
}

/// One write of a transaction, in either form.
trait Both<O, N> {
    fn in_old<'t>(
        &self,
        during: &During<O, N>,
        into: Transaction<'t, O>,
    ) -> Result<Transaction<'t, O>>;
    fn in_new<'t>(&self, into: Transaction<'t, N>) -> Transaction<'t, N>;
}

enum Act<'e, E: Entity> {
    Put(&'e E),
    Create(&'e E),
    Delete(E),
}

impl<O: Design, N: Design, E: Was<O> + Entity<Design = N>> Both<O, N> for Act<'_, E> {
    fn in_old<'t>(
        &self,
        during: &During<O, N>,
        into: Transaction<'t, O>,
    ) -> Result<Transaction<'t, O>> {
        Ok(match self {
            Self::Put(entity) => into.put(&during.before(*entity)?),
            Self::Create(entity) => into.create(&during.before(*entity)?),
            Self::Delete(entity) => into.delete(during.before(entity)?.key()),
        })
    }

    fn in_new<'t>(&self, into: Transaction<'t, N>) -> Transaction<'t, N> {
        match self {
            Self::Put(entity) => into.put(*entity),
            Self::Create(entity) => into.create(*entity),
            Self::Delete(entity) => into.delete(entity.key()),
        }
    }
}

impl<'t, O: Design, N: Design> DuringTransaction<'t, O, N> {
    pub(super) fn new(during: &'t During<O, N>) -> Self {
        Self { during, writes: Vec::new() }
    }

    /// Writes an item, in place of any with the same key.
    pub fn put<E: Was<O> + Entity<Design = N>>(mut self, entity: &'t E) -> Self {
        self.writes.push(Box::new(Act::Put(entity)));
        self
    }

    /// Writes an item unless one with the same key exists.
    pub fn create<E: Was<O> + Entity<Design = N>>(mut self, entity: &'t E) -> Self {
        self.writes.push(Box::new(Act::Create(entity)));
        self
    }

    /// Deletes an item that was read before.
    pub fn delete<E: Was<O> + Entity<Design = N>>(mut self, entity: E) -> Self {
        self.writes.push(Box::new(Act::Delete(entity)));
        self
    }

    /// Does all of it, or nothing.
    pub fn commit(self) -> Result<()> {
        self.during.write(|at| match at {
            At::Old(table) => {
                let mut all = table.transaction();
                for write in &self.writes {
                    all = write.in_old(self.during, all)?;
                }
                all.commit()
            }
            At::New(table) => {
                let all = table.transaction();
                self.writes.iter().fold(all, |all, write| write.in_new(all)).commit()
            }
        })
    }
}
