//! What every reply says of a backup.

use serde::{Deserialize, Serialize};

use crate::JsonWriter;

/// The origin of a backup. The engine stores it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackupType {
    /// Made by a request.
    #[default]
    User,
    /// The deletion of a table with point-in-time recovery.
    System,
}

impl BackupType {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::System => "SYSTEM",
        }
    }
}

/// `BackupDetails`.
#[derive(Clone, Debug)]
pub struct BackupDetails<'a> {
    /// The backup's ARN.
    pub arn: String,
    /// The backup's name.
    pub name: &'a str,
    /// The size of its items.
    pub size_bytes: i64,
    /// The status that the operation reports.
    pub status: &'static str,
    /// The origin of the backup.
    pub kind: BackupType,
    /// When it was requested.
    pub created_ms: u64,
    /// When it goes by itself, if it does.
    pub expires_ms: Option<u64>,
    /// Why it cannot be made; AWS has no such member.
    pub failure: Option<&'a str>,
}

impl BackupDetails<'_> {
    pub(super) fn write(&self, json: &mut JsonWriter) {
        json.string("BackupArn", &self.arn);
        json.string("BackupName", self.name);
        json.integer("BackupSizeBytes", self.size_bytes);
        json.string("BackupStatus", self.status);
        json.string("BackupType", self.kind.as_str());
        json.seconds("BackupCreationDateTime", self.created_ms);
        json.optional_seconds("BackupExpiryDateTime", self.expires_ms);
        json.optional_string("FailureMessage", self.failure);
    }
}
