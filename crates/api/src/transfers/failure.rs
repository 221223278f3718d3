//! Why a transfer failed.

use std::io;

use keyloom_core::Error;
use serde::{Deserialize, Serialize};

/// Why a transfer failed, in the words of its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// `FailureCode`, such as `S3NoSuchBucket`.
    pub code: String,
    /// `FailureMessage`.
    pub message: String,
}

impl Failure {
    /// A failure with this code and message.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// The bucket does not exist; `hint` says what to do.
    pub fn no_such_bucket(hint: &str) -> Self {
        Self::new("S3NoSuchBucket", format!("The specified bucket does not exist: {hint}"))
    }

    /// The bucket or the object belongs to another account.
    pub fn access_denied(reason: impl Into<String>) -> Self {
        Self::new("S3AccessDenied", reason)
    }

    /// The database was closed.
    pub fn interrupted() -> Self {
        Self::new("InternalServerError", "The database was closed before this was completed.")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.code(), error.message())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        // S3 itself is never full; no access is denied, either.
        let code = if is_full { "InternalServerError" } else { "S3AccessDenied" };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_denied_access() {
        let code = |kind: io::ErrorKind| Failure::from(io::Error::from(kind)).code;
        assert_eq!(code(io::ErrorKind::StorageFull), "InternalServerError");
        assert_eq!(code(io::ErrorKind::PermissionDenied), "S3AccessDenied");
    }
}
