//! Entities: kinds of items, with their keys in the table and in each index.

use std::sync::Arc;

use keyloom_keys::FieldType;

use super::{Escape, Field, FieldKind, Index, Table};
use crate::condition::Condition;
use crate::key::{KeyTemplate, Piece, may_hold_separator};
use crate::mutation::{Mutation, is_on};
use crate::source::Span;

/// A kind of item.
#[derive(Clone, Debug)]
pub struct Entity {
    /// The entity's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The entities of the design before, whose items become these; one of the same name if empty.
    pub was: Vec<String>,
    /// The table it lives in.
    pub table: Arc<Table>,
    /// The entity's fields.
    pub fields: Vec<Field>,
    /// The fields that make an item unique, if the design says so.
    pub unique_by: Vec<String>,
    /// The key attributes it writes.
    pub keys: Vec<EntityKey>,
    /// What it is.
    pub description: String,
    /// How many and how large.
    pub volume: Volume,
}

/// How many items there are and how large they are, as far as it was declared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Volume {
    /// The number of items.
    pub count: Option<f64>,
    /// The average size in bytes.
    pub size: Option<f64>,
    /// The greatest size in bytes.
    pub max_size: Option<f64>,
    /// Growth of the count per month.
    pub growth: Option<f64>,
    /// Growth of each item's size per month.
    pub size_growth: Option<f64>,
    /// Seconds after which an item expires.
    pub lives: Option<f64>,
}

/// One key attribute of an entity.
#[derive(Clone, Debug)]
pub struct EntityKey {
    /// The key attribute that the template fills.
    pub attribute: String,
    /// Where it is declared.
    pub span: Span,
    /// Where its value comes from.
    pub shape: KeyShape,
    /// The condition under which it is written.
    pub when: Option<Condition>,
}

impl EntityKey {
    /// Whether the value of a field can be read from the key: the key can be parsed, and writes all of the field.
    pub fn tells(&self, field: &Field) -> bool {
        let template = self.shape.template();
        let mut loose = template.field_pieces().filter(|piece| may_hold_separator(piece.format()));
        let parses = template.escape() != Escape::None || loose.next().is_none();
        let mut own = template.field_pieces().filter(|piece| piece.name() == field.name);
        own.any(|piece| self.shape.is_native() || parses && field.is_told_by(piece.format()))
    }
}

/// Where the value of a key attribute comes from.
#[derive(Clone, Debug)]
pub enum KeyShape {
    /// Built from a template.
    Template(KeyTemplate),
    /// The field of the same name, in its own type.
    Native(KeyTemplate),
}

impl KeyShape {
    /// The template; a native key is the template of its one field.
    pub fn template(&self) -> &KeyTemplate {
        match self {
            Self::Template(template) | Self::Native(template) => template,
        }
    }

    /// Whether the attribute is the field itself.
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Native(_))
    }
}

/// An entity's key in one index: a part for every key attribute.
#[derive(Clone, Debug)]
pub struct IndexKey<'a> {
    /// The partition key parts.
    pub hash: Vec<&'a EntityKey>,
    /// The sort key parts.
    pub range: Vec<&'a EntityKey>,
}

impl<'a> IndexKey<'a> {
    /// All parts, partition first.
    pub fn parts(&self) -> impl Iterator<Item = &'a EntityKey> + '_ {
        self.hash.iter().chain(&self.range).copied()
    }

    /// The fields of all parts, in order.
    pub fn fields(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.parts().flat_map(|part| part.shape.template().fields())
    }

    /// The fields of the partition key.
    pub fn hash_fields(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.hash.iter().flat_map(|part| part.shape.template().fields())
    }

    /// The pieces of the sort key, in order.
    pub fn range_pieces(&self) -> impl Iterator<Item = &'a Piece> + '_ {
        self.range.iter().flat_map(|part| part.shape.template().pieces())
    }
}

impl Entity {
    /// The fields whose values spread an index's items over partition keys: not a shard that follows from the others, of which
    /// each value of those has one.
    pub fn spreading_fields<'a>(&self, key: &IndexKey<'a>) -> impl Iterator<Item = &'a str> {
        let all: Vec<&'a str> = key.hash_fields().collect();
        let follows = |name: &str| match self.field(name).map(|field| &field.kind) {
            Some(FieldKind::Shard(shards)) => {
                !shards.by.is_empty() && shards.by.iter().all(|by| all.contains(&by.as_str()))
            }
            _ => false,
        };
        let spreading: Vec<&'a str> = all.iter().copied().filter(|name| !follows(name)).collect();
        spreading.into_iter()
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The key attribute with this name, if the entity writes it.
    pub fn key(&self, attribute: &str) -> Option<&EntityKey> {
        self.keys.iter().find(|key| key.attribute == attribute)
    }

    /// Its key in an index of its table, unless it is not in that index.
    pub fn index_key(&self, index: &Index) -> Option<IndexKey<'_>> {
        let parts = |attributes: &[super::KeyAttribute]| -> Option<Vec<&EntityKey>> {
            attributes.iter().map(|attribute| self.key(&attribute.name)).collect()
        };
        Some(IndexKey { hash: parts(&index.hash)?, range: parts(&index.range)? })
    }

    /// Its key in the table.
    pub fn primary_key(&self) -> IndexKey<'_> {
        self.index_key(self.table.primary())
            .unwrap_or(IndexKey { hash: Vec::new(), range: Vec::new() })
    }

    /// The fields of the primary key, once each.
    pub fn identity(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.primary_key().fields() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The index through which a link item leads to items of this entity: the table itself if the link has
    /// every field of the primary key, else the first index whose key it has and that holds every item.
    pub fn reached_from(&self, link: &Self) -> Option<&Index> {
        let (primary, others) = self.table.indexes.split_first()?;
        let knows_all = |index: &Index| {
            self.index_key(index)
                .is_some_and(|key| key.fields().all(|name| self.is_told_by(link, name)))
        };
        if knows_all(primary) {
            return Some(primary);
        }
        others.iter().find(|index| knows_all(index) && self.is_always_in(index))
    }

    /// Whether a link item tells the value of a field: it has the field, or all that a shard is calculated from.
    pub fn is_told_by(&self, link: &Self, name: &str) -> bool {
        match self.field(name).map(|field| &field.kind) {
            Some(FieldKind::Shard(shards)) if !shards.by.is_empty() => {
                shards.by.iter().all(|by| self.has_same(link, by))
            }
            // A random shard is stored in keys only.
            Some(FieldKind::Shard(_)) => link.identity().contains(&name),
            _ => self.has_same(link, name),
        }
    }

    /// Whether a value that a link item has in a field can be the value of this entity's field of that name: they are
    /// compared alike, and the link keeps a time as finely as the keys here do.
    fn has_same(&self, link: &Self, name: &str) -> bool {
        let (Some(own), Some(other)) = (self.field(name), link.field(name)) else { return false };
        let ((class, _), (other_class, precision)) =
            (own.comparison_class(), other.comparison_class());
        let pieces = self.keys.iter().flat_map(|key| key.shape.template().field_pieces());
        let finest = pieces
            .filter(|piece| piece.name() == name)
            .filter_map(|piece| piece.format().precision())
            .max();
        let whole = |field: &Field| {
            matches!(&field.kind, FieldKind::Scalar(format)
                if !matches!(format.kind(), FieldType::Decimal { .. }))
        };
        // A number with a fraction is written otherwise, also where it is a whole one.
        let numbers =
            class != "number" || own.type_name() == other.type_name() || whole(own) && whole(other);
        let alike = (class == other_class && numbers) || own.is_text() && other.is_text();
        alike && (class != "time" || precision >= finest || is_on(Mutation::LinksTellMoments))
    }

    /// Whether every item of this entity has an entry in an index.
    fn is_always_in(&self, index: &Index) -> bool {
        self.index_key(index).is_some_and(|key| {
            let present = |name: &str| self.field(name).is_some_and(|field| !field.optional);
            key.parts().all(|part| part.when.is_none()) && key.fields().all(present)
        })
    }
}

/// Whether two references are to the same entity.
pub(crate) fn same(a: &Entity, b: &Entity) -> bool {
    a.name == b.name
}
