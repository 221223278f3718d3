//! Settings of a table that CreateTable and UpdateTable take: its stream and its encryption.

use keyloom_core::Result;
use keyloom_core::error::request;
use serde::{Deserialize, Serialize};

use crate::Fields;

/// What shall become of a table's stream.
#[derive(Clone, Debug)]
pub enum StreamChange {
    /// A new stream of this view type.
    Begin(String),
    /// No stream.
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
    /// `KMS` or `AES256`.
    pub kind: String,
    /// The key's ARN, if it is not the service's own.
    pub key_arn: Option<String>,
}

impl Encryption {
    /// Decodes `SSESpecification`, or the member that overrides it.
    pub fn decode(fields: &Fields<'_>, member: &str) -> Option<Self> {
        let encryption = fields.structure(member)?;
        Some(Self {
            enabled: encryption.boolean("Enabled").unwrap_or(false),
            kind: encryption.string("SSEType").unwrap_or("KMS").to_owned(),
            key_arn: encryption.owned_string("KMSMasterKeyId"),
        })
    }
}
