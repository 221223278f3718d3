//! Writes, uniqueness rules, relationships and suppressions.

use std::sync::Arc;

use super::Entity;
use crate::draft::Rate;
use crate::source::{Span, Spanned};

/// A write the program makes.
#[derive(Clone, Debug)]
pub struct Write {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The entities written.
    pub entities: Vec<Arc<Entity>>,
    /// What it does.
    pub kind: WriteKind,
    /// The fields an update sets.
    pub sets: Vec<Spanned<String>>,
    /// The fields the caller knows.
    pub given: Vec<String>,
    /// How often.
    pub rate: Option<Rate>,
    /// Whether the program reads the item first.
    pub reads_first: bool,
    /// A hand-written update expression.
    pub expression: Option<UpdateExpression>,
    /// What it is for.
    pub description: String,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Writes the whole item.
    Put,
    /// Writes the whole item if there is none.
    Create,
    /// Changes some attributes.
    Update,
    /// Removes the item.
    Delete,
    /// Writes several items at once, all or none.
    Transact,
}

impl WriteKind {
    /// The word in design files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Transact => "transact",
        }
    }
}

/// A hand-written update expression with its names.
#[derive(Clone, Debug)]
pub struct UpdateExpression {
    /// The text.
    pub text: Spanned<String>,
    /// `#s` and what it stands for.
    pub names: Vec<(String, String)>,
}

/// Fields that no two items of an entity share.
#[derive(Clone, Debug)]
pub struct UniqueRule {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The entity.
    pub entity: Arc<Entity>,
    /// The fields, unique together.
    pub fields: Vec<String>,
    /// The entity whose items guard the rule.
    pub by: Option<Arc<Entity>>,
}

/// How many of each side belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationshipKind {
    /// One and one.
    OneToOne,
    /// One and many.
    OneToMany,
    /// Many and many, through link items.
    ManyToMany,
}

/// A relationship between two entities; each direction asked for becomes an access pattern.
#[derive(Clone, Debug)]
pub struct Relationship {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The one side.
    pub from: Arc<Entity>,
    /// The other side.
    pub to: Arc<Entity>,
    /// How many of each.
    pub kind: RelationshipKind,
    /// The link items.
    pub through: Option<Arc<Entity>>,
}

/// A suppression.
#[derive(Clone, Debug)]
pub struct Allow {
    /// Where it stands.
    pub span: Span,
    /// The rule.
    pub rule: String,
    /// The subject; every one if absent.
    pub subject: Option<String>,
    /// Why.
    pub reason: String,
}
