//! A checked design: every name is resolved, every template is parsed, every condition is understood.
//!
//! Made from a [`Draft`](crate::draft::Draft) by `Draft::resolve`, or from text by [`Design::parse`].

mod access;
mod entity;
mod field;
mod table;
mod write;

use std::collections::HashMap;
use std::sync::Arc;

pub use self::access::{Access, End, Input, InputRole, Operand, OrderBy, Question, RawRead, Test};
pub(crate) use self::entity::same;
pub use self::entity::{Entity, EntityKey, IndexKey, KeyShape, Volume};
pub use self::field::{Field, FieldKind, Shards};
pub use self::table::{
    Billing, Escape, Index, IndexKind, KeyAttribute, KeyType, Projection, StreamView, Table,
    TableClass,
};
pub use self::write::{
    Allow, Member, Relationship, RelationshipKind, UniqueRule, UpdateExpression, Write, WriteKind,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Source;

/// A checked design.
#[derive(Clone, Debug)]
pub struct Design {
    pub(crate) source: Source,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) entities: Vec<Arc<Entity>>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) writes: Vec<Write>,
    pub(crate) uniques: Vec<UniqueRule>,
    pub(crate) relationships: Vec<Relationship>,
    pub(crate) allows: Vec<Allow>,
    /// Declared counts of entities that one field identifies, by that field.
    pub(crate) identified: HashMap<String, f64>,
}

impl Design {
    /// Reads a design file. The design is absent when an error makes it meaningless; the diagnostics
    /// list everything that is wrong, in the order of the file.
    pub fn parse(file_name: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let (design, diagnostics) = Self::read(file_name, text);
        let usable = diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error);
        (Some(design).filter(|_| usable), diagnostics)
    }

    /// Reads a design file as far as it can be understood: what has an error, and what depends on it, is
    /// left out. The diagnostics list everything that is wrong, in the order of the file.
    pub fn read(file_name: &str, text: &str) -> (Self, Vec<Diagnostic>) {
        Self::read_changed(file_name, text, |_| {})
    }

    /// As [`Design::read`], with a change of what the file says: other volumes, say.
    pub fn read_changed(
        file_name: &str,
        text: &str,
        change: impl FnOnce(&mut crate::draft::Draft),
    ) -> (Self, Vec<Diagnostic>) {
        let source = Source::new(file_name, text);
        let (mut draft, mut diagnostics) = crate::syntax::read(&source);
        change(&mut draft);
        let (design, more) = crate::resolve::resolve(draft, source);
        diagnostics.extend(more);
        diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        (design, diagnostics)
    }

    /// The file it came from; empty for a design built by code.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The design's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has no name but that of its file.
    pub fn has_file_name(&self) -> bool {
        self.name == crate::resolve::design_name(&self.source)
    }

    /// What the design is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The tables, in the order of the file.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// The entities, in the order of the file.
    pub fn entities(&self) -> &[Arc<Entity>] {
        &self.entities
    }

    /// The access patterns, in the order of the file; those that relationships imply come last.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// The writes that the design declares.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The uniqueness rules.
    pub fn uniques(&self) -> &[UniqueRule] {
        &self.uniques
    }

    /// The relationships that the design declares.
    pub fn relationships(&self) -> &[Relationship] {
        &self.relationships
    }

    /// The findings that the design accepts, with reasons.
    pub fn allows(&self) -> &[Allow] {
        &self.allows
    }

    /// The entity with this name.
    pub fn entity(&self, name: &str) -> Option<&Arc<Entity>> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The access pattern with this name.
    pub fn access(&self, name: &str) -> Option<&Access> {
        self.accesses.iter().find(|access| access.name == name)
    }

    /// The entities that live in a table.
    pub fn entities_in<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Arc<Entity>> {
        self.entities.iter().filter(move |entity| entity.table.name == table.name)
    }
}
