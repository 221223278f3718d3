//! What a database's refusal means: one table of SQLSTATEs.

use std::io;
use std::sync::Arc;

use tokio_postgres::Error;
use tokio_rustls::rustls;

use crate::StoreError;

/// Why a statement failed, by what to do about it.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    /// One of our own checks failed: look who conflicts, or whether the epoch is over.
    Look,
    /// Another transaction was in the way; nothing of this one happened.
    Conflict,
    /// An earlier statement of the transaction failed, and that one's error counts.
    Aborted,
    /// The connection is gone or must not be used again. Whether a COMMIT under way took place is
    /// not known; nothing else did.
    Lost(Arc<str>),
    /// The database does not accept work now; try again later.
    Busy(Arc<str>),
    /// Trying again will not help.
    Failed(StoreError),
}

impl Trouble {
    /// The trouble as the error of a read or of a write that surely did not happen.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Failed(error) => error,
            Self::Lost(cause) | Self::Busy(cause) => StoreError::Unreachable { cause },
            Self::Look | Self::Conflict | Self::Aborted => StoreError::Unreachable {
                cause: "other transactions were in the way each time".into(),
            },
        }
    }

    /// Whether the same may succeed soon.
    pub(super) fn is_passing(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// The connection did not answer in time.
pub(super) fn timed_out() -> Trouble {
    Trouble::Lost("the database did not answer in time".into())
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            // What the driver says has no credentials in it; its source says what happened.
            let source = std::error::Error::source(&error);
            let detail = source.map(|source| format!(": {source}")).unwrap_or_default();
            let text = format!("{error}{detail}");
            if is_final(&error.to_string(), source) {
                return Self::Failed(failed(text));
            }
            return Self::Lost(text.into());
        };
        let code = refusal.code().code();
        let text = format!("{} ({code})", refusal.message());
        match code {
            "22012" | "23505" => Self::Look,
            "40001" | "40P01" | "55P03" => Self::Conflict,
            "25P02" => Self::Aborted,
            "57P03" | "53300" | "25006" => Self::Busy(text.into()),
            "40003" | "57P01" | "57P02" | "57014" | "25P03" => Self::Lost(text.into()),
            code if code.starts_with("08") => Self::Lost(text.into()),
            _ => Self::Failed(failed(text)),
        }
    }
}

fn failed(detail: String) -> StoreError {
    StoreError::Engine { action: "use the database".into(), detail }
}

/// Whether the driver has refused to go on, so that another attempt would end the same way: a login
/// without a password, a certificate that does not pass, a server without TLS where it is required.
/// The driver tells its kinds of errors apart only by their texts.
fn is_final(text: &str, source: Option<&(dyn std::error::Error + 'static)>) -> bool {
    if text.starts_with("invalid configuration") || text.starts_with("authentication error") {
        return true;
    }
    let broken = source.and_then(|source| source.downcast_ref::<io::Error>());
    let refusal = broken.and_then(io::Error::get_ref);
    let is_refusal = |refusal: &(dyn std::error::Error + Send + Sync + 'static)| {
        matches!(refusal.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
    };
    text.starts_with("error performing TLS handshake")
        && (broken.is_none() || refusal.is_some_and(is_refusal))
}
