//! Settings of a table that CreateTable and UpdateTable take: its stream and its encryption.

use keyloom_core::Result;
use keyloom_core::error::{request, table};
use serde::{Deserialize, Serialize};

use crate::{Fields, JsonWriter};

/// What shall become of a table's stream.
#[derive(Clone, Debug)]
pub enum StreamChange {
    /// A new stream of this view type.
    Begin(String),
    /// The stream is disabled.
    End,
}

impl StreamChange {
    /// Decodes `StreamSpecification`, if the request has one.
    pub(super) fn decode(fields: &Fields<'_>, is_new_table: bool) -> Result<Option<Self>> {
        let Some(stream) = fields.structure("StreamSpecification") else { return Ok(None) };
        let is_enabled = stream.boolean("StreamEnabled").unwrap_or(false);
        match (is_enabled, stream.owned_string("StreamViewType")) {
            (true, Some(view)) => Ok(Some(Self::Begin(view))),
            (true, None) => Err(request::stream_view_missing(is_new_table)),
            (false, Some(_)) => Err(request::stream_view_without_stream(is_new_table)),
            (false, None) => Ok(Some(Self::End)),
        }
    }

    /// The view type of the new stream, if there is to be one.
    pub(super) fn into_view(self) -> Option<String> {
        if let Self::Begin(view) = self { Some(view) } else { None }
    }
}

/// Encryption at rest. The engine stores it as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// Whether a key of the account is used.
    pub enabled: bool,
    /// `KMS`, the only one that AWS takes.
    pub kind: String,
    /// The key's ARN, if it is not the service's own.
    pub key_arn: Option<String>,
}

impl Encryption {
    /// Decodes `SSESpecification`, or the member that overrides it. A type alone means that it is enabled.
    pub fn decode(fields: &Fields<'_>, member: &str) -> Result<Option<Self>> {
        let Some(encryption) = fields.structure(member) else { return Ok(None) };
        let enabled = encryption.boolean("Enabled");
        let (kind, key_arn) =
            (encryption.string("SSEType"), encryption.owned_string("KMSMasterKeyId"));
        if enabled == Some(false) {
            let given = [("SSEType", kind.is_some()), ("KMSMasterKeyId", key_arn.is_some())];
            if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                return Err(table::encryption_disabled_with(name));
            }
        }
        match kind {
            Some("KMS") => {}
            Some(other) => return Err(table::encryption_type_unsupported(other)),
            None if key_arn.is_some() => return Err(table::encryption_key_without_type()),
            None => {}
        }
        let enabled = enabled.unwrap_or(kind.is_some());
        Ok(Some(Self { enabled, kind: "KMS".to_owned(), key_arn }))
    }

    /// Refuses a change that changes nothing: `self` is wanted, `current` is what the table has.
    pub fn check_changes(&self, current: Option<&Self>) -> Result<()> {
        match current.filter(|current| current.enabled) {
            None if !self.enabled => Err(table::encrypted_by_default()),
            // A key that is named by its alias or its id is taken for a new one, as on AWS.
            Some(current)
                if current.key_arn == self.key_arn
                    && self.key_arn.as_ref().is_some_and(|key| key.starts_with("arn:")) =>
            {
                Err(table::encrypted_with_same_key())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn write(&self, json: &mut JsonWriter) {
        json.structure("SSEDescription", |json| {
            json.string("Status", "ENABLED");
            json.string("SSEType", &self.kind);
            json.optional_string("KMSMasterKeyArn", self.key_arn.as_deref());
        });
    }
}
