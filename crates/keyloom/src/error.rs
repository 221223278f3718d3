//! The errors of this crate. Each message names what failed and how to fix it.

use std::fmt;

use keyloom_core::Item;
use keyloom_keys::BuildError;

/// The result of all functions in this crate that access a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The database refused the request; the code and the sentence are DynamoDB's.
    Database(keyloom_core::Error),
    /// A value cannot be stored as an item, or an item cannot be read as this type.
    Item {
        /// The entity or type.
        entity: &'static str,
        /// What is wrong.
        error: ItemError,
    },
    /// A key cannot be built from an entity's fields.
    Key {
        /// The name of the entity.
        entity: String,
        /// The key attribute.
        attribute: String,
        /// What is wrong.
        error: Box<BuildError>,
    },
    /// A field that a primary key needs has no value.
    KeyFieldAbsent {
        /// The name of the entity.
        entity: String,
        /// The key attribute.
        attribute: String,
        /// The name of the field.
        field: String,
    },
    /// An access pattern cannot be run with these inputs.
    Pattern {
        /// The name of the pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// The design is wrong, or the tables in the database are not those of the design.
    Design(String),
    /// An item with this key exists already.
    AlreadyExists {
        /// The name of the entity.
        entity: &'static str,
        /// The primary key.
        key: String,
    },
    /// No item has this key.
    NotFound {
        /// The name of the entity.
        entity: &'static str,
        /// The primary key.
        key: String,
    },
    /// Another item has the same value of a unique field.
    NotUnique {
        /// The name of the entity.
        entity: &'static str,
        /// The rule: the fields that are unique together.
        rule: String,
    },
    /// A field that never changes would get another value.
    Immutable {
        /// The name of the entity.
        entity: &'static str,
        /// The primary key.
        key: String,
        /// The field, or one of several.
        field: String,
    },
    /// The item changed between reading and writing.
    Conflict {
        /// The name of the entity.
        entity: &'static str,
        /// The primary key.
        key: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// Parts of a batch were not processed, however often they were tried.
    Unprocessed(Box<Unprocessed>),
    /// No answer came from the endpoint.
    Transport(TransportError),
    /// A cursor that is damaged, or that belongs to another query.
    Cursor(String),
    /// Region, credentials or endpoint are missing or invalid.
    Config(String),
    /// A migration cannot continue; the text says why, and how to resolve it.
    Migration(String),
    /// The migration was switched between reading its marker and the write, so nothing was written.
    /// [`During`](crate::migrate::During) tries again by itself.
    Switched,
}

/// What was left of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unprocessed {
    /// How often it was tried.
    pub attempts: u32,
    /// The puts that were not done: table and item.
    pub puts: Vec<(String, Item)>,
    /// The deletes that were not done: table and key.
    pub deletes: Vec<(String, Item)>,
    /// The reads that were not done: table and key.
    pub gets: Vec<(String, Item)>,
    /// What the last attempt failed with, if it was an error and not an answer.
    pub cause: Option<String>,
}

impl Unprocessed {
    /// How many requests are left.
    pub fn len(&self) -> usize {
        self.puts.len() + self.deletes.len() + self.gets.len()
    }

    /// Whether no entry was left unprocessed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An endpoint that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// The operation that was called.
    pub operation: &'static str,
    /// How often it was tried.
    pub attempts: u32,
    /// Whether the request may have been carried out although no answer came.
    pub outcome_unknown: bool,
    /// What happened, in the words of the HTTP client.
    pub reason: String,
}

/// Why a value is not an item, or an item not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemError {
    path: String,
    reason: String,
}

impl ItemError {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self { path: String::new(), reason: reason.to_string() }
    }

    /// The same error, one level further out.
    pub(crate) fn inside(mut self, name: &str) -> Self {
        self.path =
            if self.path.is_empty() { name.to_owned() } else { format!("{name}.{}", self.path) };
        self
    }
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.reason)
        } else {
            write!(f, "attribute `{}`: {}", self.path, self.reason)
        }
    }
}

impl std::error::Error for ItemError {}

impl serde::ser::Error for ItemError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(reason)
    }
}

impl serde::de::Error for ItemError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(reason)
    }
}

impl Error {
    /// The database's error, if it is one.
    pub fn as_database(&self) -> Option<&keyloom_core::Error> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }

    /// Whether a condition was false.
    pub fn is_condition_failed(&self) -> bool {
        matches!(self, Self::Database(keyloom_core::Error::ConditionalCheckFailed { .. }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::Item { entity, error } => write!(f, "`{entity}`: {error}"),
            Self::Key { entity, attribute, error } => {
                write!(f, "key `{attribute}` of `{entity}`: {error}")
            }
            Self::KeyFieldAbsent { entity, attribute, field } => write!(
                f,
                "key `{attribute}` of `{entity}` needs field `{field}`, which has no value: give it one"
            ),
            Self::Pattern { pattern, reason } => write!(f, "access pattern `{pattern}`: {reason}"),
            Self::Design(reason) => f.write_str(reason),
            Self::AlreadyExists { entity, key } => {
                write!(f, "a `{entity}` with the key {key} exists already")
            }
            Self::NotFound { entity, key } => {
                write!(f, "there is no `{entity}` with the key {key}")
            }
            Self::NotUnique { entity, rule } => {
                write!(f, "another `{entity}` has the same value of `{rule}`")
            }
            Self::Immutable { entity, key, field } => write!(
                f,
                "`{field}` of `{entity}` is immutable, and the item with the key {key} has another value: write a new item, or take `immutable` from the field"
            ),
            Self::Conflict { entity, key, attempts } => write!(
                f,
                "the `{entity}` with the key {key} was changed by others in each of {attempts} attempts: read it again"
            ),
            Self::Unprocessed(left) => {
                write!(
                    f,
                    "{} of a batch were not processed in {} attempts; the error holds them",
                    left.len(),
                    left.attempts
                )?;
                left.cause.iter().try_for_each(|cause| write!(f, " (last: {cause})"))
            }
            Self::Transport(error) => error.fmt(f),
            Self::Cursor(reason) => write!(f, "cursor: {reason}"),
            Self::Config(reason) | Self::Migration(reason) => f.write_str(reason),
            Self::Switched => f.write_str(
                "a migration moved programs to the other form of the items in this moment, and nothing was written: try again",
            ),
        }
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, attempts, reason, outcome_unknown } = self;
        write!(f, "{operation}: no answer in {attempts} attempt(s): {reason}")?;
        if *outcome_unknown {
            f.write_str("; it may have been carried out all the same")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Item { error, .. } => Some(error),
            Self::Key { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<keyloom_core::Error> for Error {
    fn from(error: keyloom_core::Error) -> Self {
        Self::Database(error)
    }
}
