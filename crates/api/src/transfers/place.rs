//! Where objects are read from and written to.

use keyloom_core::Result;
use keyloom_core::error::constraint::Constraint;
use keyloom_core::error::transfer as message;

use crate::{Constraints, Fields};

/// The objects that a transfer reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name of the bucket.
    pub bucket: String,
    /// The account that must own it.
    pub owner: Option<String>,
    /// What the keys of its objects begin with.
    pub prefix: String,
}

impl Source {
    /// Decodes `S3Bucket`, `S3BucketOwner` and `S3KeyPrefix`.
    pub(super) fn decode(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> Self {
        let prefix = fields.owned_string("S3KeyPrefix").unwrap_or_default();
        let owner = owner(fields, constraints, path);
        let bucket = bucket(fields, constraints, path);
        constraints.length(&prefix, &format!("{path}s3KeyPrefix"), 0, 1024);
        Self { bucket, owner, prefix }
    }
}

/// Where a transfer writes its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The name of the bucket.
    pub bucket: String,
    /// The account that must own it.
    pub owner: Option<String>,
    /// The prefix, as the request has it.
    pub prefix: String,
    /// How the objects are encrypted; as the bucket does, without it.
    pub encryption: Option<Encryption>,
}

/// `S3SseAlgorithm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// With keys of S3.
    Aes256,
    /// With a key of KMS, or the account's own.
    Kms(Option<String>),
}

impl Destination {
    /// Decodes `S3Bucket`, `S3BucketOwner`, a prefix and the encryption.
    pub(super) fn decode(
        fields: &Fields<'_>,
        constraints: &mut Constraints,
        path: &str,
        (member, member_path): (&str, &str),
    ) -> Self {
        let bucket = bucket(fields, constraints, path);
        let owner = owner(fields, constraints, path);
        let prefix = fields.owned_string(member).unwrap_or_default();
        constraints.length(&prefix, &format!("{path}{member_path}"), 0, 1024);
        let kinds = [("AES256", false), ("KMS", true)];
        let algorithm = fields.string("S3SseAlgorithm");
        let is_kms = constraints.one_of(algorithm, &format!("{path}s3SseAlgorithm"), &kinds);
        let key = fields.owned_string("S3SseKmsKeyId");
        if let Some(key) = &key {
            constraints.length(key, &format!("{path}s3SseKmsKeyId"), 1, 2048);
        }
        let encryption =
            is_kms.map(|is_kms| if is_kms { Encryption::Kms(key) } else { Encryption::Aes256 });
        Self { bucket, owner, prefix, encryption }
    }

    /// Only one kind of encryption takes a key.
    pub(super) fn check_key(&self, fields: &Fields<'_>) -> Result<()> {
        let has_kms = matches!(self.encryption, Some(Encryption::Kms(_)));
        if fields.has("S3SseKmsKeyId") && !has_kms {
            return Err(message::encryption_key_unexpected());
        }
        Ok(())
    }
}

fn owner(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> Option<String> {
    let owner = fields.owned_string("S3BucketOwner")?;
    if owner.len() != 12 || !owner.bytes().all(|byte| byte.is_ascii_digit()) {
        let path = format!("{path}s3BucketOwner");
        constraints.violations().violated(&owner, &path, Constraint::Pattern("[0-9]{12}"));
    }
    Some(owner)
}

/// Letters and digits; points, hyphens and underscores only inside.
fn bucket(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> String {
    let path = format!("{path}s3Bucket");
    let Some(name) = fields.owned_string("S3Bucket") else {
        constraints.required(false, &path);
        return String::new();
    };
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut chars = name.chars();
    if !(name.len() >= 2 && outer(chars.next()) && outer(chars.next_back()) && chars.all(inner)) {
        let pattern = Constraint::Pattern("^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$");
        constraints.violations().violated(&name, &path, pattern);
    }
    constraints.length(&name, &path, 0, 255);
    name
}
