//! Errors of a store, and what a caller may conclude from each.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a store operation failed.
///
/// Cheap to clone: one failed sync is reported to every transaction in its group.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system failed a file operation.
    Io {
        /// The operation, such as `sync the log`.
        action: String,
        /// The operating system's error.
        source: Arc<io::Error>,
    },
    /// Stored bytes are not what was written.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where and how it is damaged.
        detail: String,
    },
    /// An earlier write or sync failed, so the store no longer accepts writes.
    Poisoned {
        /// The failure that poisoned the store.
        cause: Arc<str>,
    },
    /// The disk is full. Nothing was written; writes are accepted again once there is space.
    Full {
        /// The operation that failed for lack of space.
        cause: Arc<str>,
    },
    /// The store was opened read-only.
    ReadOnly {
        /// The store's directory.
        path: PathBuf,
    },
    /// The store's directory was removed, moved or replaced while the store was open.
    Displaced {
        /// The directory's original path.
        path: PathBuf,
    },
    /// Another process has the store open.
    InUse {
        /// The store's directory.
        path: PathBuf,
    },
    /// The directory has a format that this version cannot read.
    Format {
        /// The file that states the format.
        path: PathBuf,
        /// What was found and what was expected.
        detail: String,
    },
    /// A key or value is outside the limits that every store honours.
    Limit {
        /// The limit and the offending length.
        detail: String,
    },
    /// The database cannot be reached, or is too busy. It is tried again with the next operation.
    Unreachable {
        /// What happened, without credentials.
        cause: Arc<str>,
    },
    /// The storage engine failed for another reason.
    Engine {
        /// What the store was doing.
        action: String,
        /// The engine's error message.
        detail: String,
    },
}

impl StoreError {
    /// Wraps an I/O error; a full disk becomes [`StoreError::Full`].
    pub(crate) fn io(action: impl Into<String>, source: io::Error) -> Self {
        if is_full(&source) {
            return Self::Full { cause: format!("could not {}: {source}", action.into()).into() };
        }
        Self::lasting_io(action, source)
    }

    /// Wraps an I/O error that is permanent whatever its kind, such as a failed sync.
    pub(crate) fn lasting_io(action: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action: action.into(), source: Arc::new(source) }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, source } => write!(f, "could not {action}: {source}"),
            Self::Corrupt { path, detail } => write!(f, "{} is damaged: {detail}", path.display()),
            Self::Poisoned { cause } => write!(
                f,
                "the store accepts no more writes because an earlier one failed ({cause}); \
                 reopen it to continue from the durable state"
            ),
            Self::Full { cause } => write!(
                f,
                "the disk is full ({cause}); nothing was written, and writes are accepted again when \
                 space is available"
            ),
            Self::ReadOnly { path } => {
                write!(f, "{} was opened read-only", path.display())
            }
            Self::Displaced { path } => write!(
                f,
                "{} is not the directory that was opened: it was removed, moved or replaced; \
                 put it back and restart",
                path.display()
            ),
            Self::InUse { path } => write!(
                f,
                "{} is open in another process; close that one or choose another directory",
                path.display()
            ),
            Self::Format { path, detail } => write!(f, "{}: {detail}", path.display()),
            Self::Limit { detail } => f.write_str(detail),
            Self::Unreachable { cause } => {
                write!(f, "the database cannot be used now: {cause}; nothing is lost, try again")
            }
            Self::Engine { action, detail } => write!(f, "could not {action}: {detail}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

/// Whether an operation failed because the disk is full, which may be temporary.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Why a commit did not succeed.
#[derive(Debug, Clone)]
pub enum CommitError {
    /// The transaction conflicts with another one; nothing was written. Retry from the start.
    Conflict,
    /// The epoch that the transaction expected is over; nothing was written. Read again what the
    /// epoch stands for, then retry from the start.
    Stale,
    /// The store refused the writes; nothing was written, and a retry will not help.
    Failed(StoreError),
    /// It is not known whether the writes are durable. Find out by reading; never guess.
    Unknown(StoreError),
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("conflict with another transaction; retry"),
            Self::Stale => f.write_str("the tables were changed meanwhile; reload them and retry"),
            Self::Failed(error) => write!(f, "nothing was written: {error}"),
            Self::Unknown(error) => write!(f, "the outcome of the write is unknown: {error}"),
        }
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Conflict | Self::Stale => None,
            Self::Failed(error) | Self::Unknown(error) => Some(error),
        }
    }
}

/// For read-only transactions: what they have read is durable, or must not be relied on.
impl From<CommitError> for StoreError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Failed(error) | CommitError::Unknown(error) => error,
            CommitError::Conflict | CommitError::Stale => {
                Self::Poisoned { cause: "a read conflicted with a failed write".into() }
            }
        }
    }
}
