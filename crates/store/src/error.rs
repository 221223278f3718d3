//! What can go wrong in a store, and what a caller may conclude from it.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::files::is_full;

/// Why a store could not do what it was asked.
///
/// Cheap to clone: one failed sync is reported to every transaction that waited for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused an operation on a file.
    Io {
        /// What the store was doing, such as `sync the log`.
        action: String,
        /// The operating system's answer.
        source: Arc<io::Error>,
    },
    /// Stored bytes are not what was written.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where and how it is damaged.
        detail: String,
    },
    /// An earlier write or sync failed, so the store accepts no more writes.
    Poisoned {
        /// The failure that poisoned the store.
        cause: Arc<str>,
    },
    /// There is no room on the disk. Nothing was written, and writes are accepted again when there is.
    Full {
        /// What was refused for lack of room.
        cause: Arc<str>,
    },
    /// The store was opened only to be read.
    ReadOnly {
        /// The store's directory.
        path: PathBuf,
    },
    /// The store's directory was removed, moved or replaced while the store was open.
    Displaced {
        /// Where it was.
        path: PathBuf,
    },
    /// Another process has the store open.
    InUse {
        /// The store's directory.
        path: PathBuf,
    },
    /// The directory holds something that this version cannot read.
    Format {
        /// The file that tells the format.
        path: PathBuf,
        /// What was found and what was expected.
        detail: String,
    },
    /// A key or value is outside the limits that every store honours.
    Limit {
        /// The limit and the offending length.
        detail: String,
    },
    /// The storage engine failed for a reason of its own.
    Engine {
        /// What the store was doing.
        action: String,
        /// The engine's words.
        detail: String,
    },
}

impl StoreError {
    /// What the operating system's refusal means, after saying what was being done.
    pub(crate) fn io(action: impl Into<String>, source: io::Error) -> Self {
        if is_full(&source) {
            return Self::Full { cause: format!("could not {}: {source}", action.into()).into() };
        }
        Self::lasting_io(action, source)
    }

    /// A refusal that does not pass, whatever the reason: such as a failed sync.
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
                 reopen it to go on from what is durable"
            ),
            Self::Full { cause } => write!(
                f,
                "the disk is full ({cause}); nothing was written, and writes are accepted again when \
                 there is room"
            ),
            Self::ReadOnly { path } => {
                write!(f, "{} was opened only to be read", path.display())
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

/// Why a commit did not answer "ok".
#[derive(Debug, Clone)]
pub enum CommitError {
    /// Another transaction got in the way; nothing was written. Try again from the start.
    Conflict,
    /// The store refused; nothing was written, and trying again will not help.
    Failed(StoreError),
    /// Nobody knows whether it was written. Find out by reading; never guess.
    Unknown(StoreError),
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("another transaction got in the way; try again"),
            Self::Failed(error) => write!(f, "nothing was written: {error}"),
            Self::Unknown(error) => write!(f, "it is not known whether this was written: {error}"),
        }
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Conflict => None,
            Self::Failed(error) | Self::Unknown(error) => Some(error),
        }
    }
}

/// For those who only read: what they have seen is durable, or they must not rely on it.
impl From<CommitError> for StoreError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Failed(error) | CommitError::Unknown(error) => error,
            CommitError::Conflict => Self::Poisoned { cause: "a read met a conflict".into() },
        }
    }
}
