//! Access keys: an id, a secret, an optional session token and their expiry.

use std::fmt;

use keyloom_core::json::{self, Json, JsonObject};
use keyloom_keys::Timestamp;

use super::xml::text_of;

/// An access key.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: String,
    pub(super) session_token: Option<String>,
    /// When a short-lived key ends, in milliseconds since 1970.
    pub(super) expires_ms: Option<u64>,
}

impl Credentials {
    /// A long-lived access key.
    pub fn new(access_key_id: impl Into<String>, secret_access_key: impl Into<String>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: None,
            expires_ms: None,
        }
    }

    /// The token of a short-lived access key.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<String>) -> Self {
        self.session_token = Some(token.into());
        self
    }
}

/// Which names a source uses for the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Containers and instances: `Token`.
    Metadata,
    /// The output of a program: `SessionToken`.
    Process,
}

impl Credentials {
    /// Reads the JSON that programs and metadata services answer with.
    pub(super) fn from_json(text: &[u8], dialect: Dialect) -> Result<Self, String> {
        let Ok(Json::Object(object)) = json::parse(text) else {
            return Err("the answer is not a JSON object".into());
        };
        let token = match dialect {
            Dialect::Metadata => "Token",
            Dialect::Process => "SessionToken",
        };
        let needed = |name: &str| {
            member(&object, name).ok_or_else(|| match member(&object, "Message") {
                Some(message) => format!("the answer has no `{name}`: {message}"),
                None => format!("the answer has no `{name}`"),
            })
        };
        let expires_ms = match member(&object, "Expiration") {
            Some(text) => Some(millis(&text)?),
            None => None,
        };
        Ok(Self {
            access_key_id: needed("AccessKeyId")?,
            secret_access_key: needed("SecretAccessKey")?,
            session_token: member(&object, token),
            expires_ms,
        })
    }

    /// Reads the XML that the Security Token Service answers with.
    pub(super) fn from_xml(text: &str) -> Result<Self, String> {
        let needed =
            |name: &str| text_of(text, name).ok_or_else(|| format!("no `{name}` in the answer"));
        Ok(Self {
            access_key_id: needed("AccessKeyId")?,
            secret_access_key: needed("SecretAccessKey")?,
            session_token: Some(needed("SessionToken")?),
            expires_ms: Some(millis(&needed("Expiration")?)?),
        })
    }
}

fn member(object: &JsonObject<'_>, name: &str) -> Option<String> {
    match object.get(name) {
        Some(Json::Str(text)) if !text.is_empty() => Some(text.to_string()),
        _ => None,
    }
}

fn millis(time: &str) -> Result<u64, String> {
    // The AWS CLI writes the zone as an offset.
    let utc = time.strip_suffix("+00:00").map(|time| format!("{time}Z"));
    let parsed: Timestamp = utc
        .as_deref()
        .unwrap_or(time)
        .parse()
        .map_err(|_| format!("`{time}` is not a time such as 2024-01-15T10:30:00Z"))?;
    Ok(u64::try_from(parsed.seconds()).unwrap_or(0) * 1000)
}

/// The secret is never shown.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_not_shown() {
        assert!(!format!("{:?}", Credentials::new("id", "hush")).contains("hush"));
    }

    #[test]
    fn answers_are_read_and_what_is_missing_is_named() {
        let both = br#"{"AccessKeyId":"A","SecretAccessKey":"S","Token":"T","SessionToken":"U","Expiration":"1970-01-01T00:01:00+00:00"}"#;
        let metadata = Credentials::from_json(both, Dialect::Metadata).unwrap();
        assert_eq!(metadata.session_token.as_deref(), Some("T"));
        assert_eq!(metadata.expires_ms, Some(60_000));
        let process = Credentials::from_json(both, Dialect::Process).unwrap();
        assert_eq!(process.session_token.as_deref(), Some("U"));
        for (answer, problem) in [
            ("[]", "not a JSON object"),
            (r#"{"AccessKeyId":"A"}"#, "no `SecretAccessKey`"),
            (r#"{"Code":"Failed","Message":"role is gone"}"#, "role is gone"),
            (
                r#"{"AccessKeyId":"A","SecretAccessKey":"S","Expiration":"soon"}"#,
                "`soon` is not a time",
            ),
        ] {
            let error = Credentials::from_json(answer.as_bytes(), Dialect::Process).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
