//! Writes, uniqueness rules, relationships and suppressions.

use std::sync::Arc;

use keyloom_core::limits::MAX_BATCH_WRITE_REQUESTS;

use super::Entity;
use crate::draft::Rate;
use crate::source::{Span, Spanned};

/// A write the program makes.
#[derive(Clone, Debug)]
pub struct Write {
    /// The write's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// What is written, and how.
    pub members: Vec<Member>,
    /// What it does.
    pub kind: WriteKind,
    /// How many items of each member one call writes.
    pub items: u64,
    /// Lists and sets that get one more element with every call.
    pub appends: Vec<Spanned<String>>,
    /// The fields an update sets.
    pub sets: Vec<Spanned<String>>,
    /// The fields the caller knows.
    pub given: Vec<String>,
    /// How often it is made.
    pub rate: Option<Rate>,
    /// Whether the program reads the item first.
    pub reads_first: bool,
    /// A hand-written update expression.
    pub expression: Option<UpdateExpression>,
    /// What it is for.
    pub description: String,
}

/// One entity of a write.
#[derive(Clone, Debug)]
pub struct Member {
    /// The entity that is written.
    pub entity: Arc<Entity>,
    /// What is done with it: in a transaction something of its own, if the design says so.
    pub kind: WriteKind,
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
    /// Writes several items at once, all or none. Of a member: puts or updates it, as `sets` tells.
    Transact,
    /// Only looks whether a condition holds: a member of a transaction.
    Check,
}

impl Write {
    /// The entities written or checked.
    pub fn entities(&self) -> impl DoubleEndedIterator<Item = &Arc<Entity>> {
        self.members.iter().map(|member| &member.entity)
    }

    /// The requests of one call: puts and deletes go 25 to a batch, a transaction is one.
    pub fn requests(&self) -> u64 {
        let each = |member: &Member| match member.kind {
            WriteKind::Put | WriteKind::Delete if self.items > 1 => {
                self.items.div_ceil(MAX_BATCH_WRITE_REQUESTS as u64)
            }
            _ => self.items,
        };
        match self.kind {
            WriteKind::Transact => 1,
            _ => self.members.iter().map(each).sum(),
        }
    }
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
            Self::Check => "check",
        }
    }
}

/// A hand-written update expression with its names.
#[derive(Clone, Debug)]
pub struct UpdateExpression {
    /// The expression as the file has it.
    pub text: Spanned<String>,
    /// `#s` and what it stands for.
    pub names: Vec<(String, String)>,
}

/// Fields that no two items of an entity share.
#[derive(Clone, Debug)]
pub struct UniqueRule {
    /// The rule's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The entity that it is about.
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
    /// The relationship's name.
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

/// A finding that the design accepts.
#[derive(Clone, Debug)]
pub struct Allow {
    /// Where it stands.
    pub span: Span,
    /// The id of the rule.
    pub rule: String,
    /// The subject; every one if absent.
    pub subject: Option<String>,
    /// Why the finding is accepted.
    pub reason: String,
}
