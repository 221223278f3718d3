//! Where objects are read from and written to.

use keyloom_core::Result;
use keyloom_core::error::transfer as message;

use crate::Fields;

/// The objects that a transfer reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    pub(super) fn decode(fields: &Fields<'_>) -> Self {
        Self {
            bucket: fields.owned_string("S3Bucket").unwrap_or_default(),
            owner: fields.owned_string("S3BucketOwner"),
            prefix: fields.owned_string("S3KeyPrefix").unwrap_or_default(),
        }
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
    /// Decodes `S3Bucket`, `S3BucketOwner`, the prefix in a member, and the encryption.
    pub(super) fn decode(fields: &Fields<'_>, prefix: &str) -> Result<Self> {
        let key = fields.owned_string("S3SseKmsKeyId");
        let encryption = match (fields.string("S3SseAlgorithm"), key) {
            (Some("KMS"), key) => Some(Encryption::Kms(key)),
            // Only one kind of encryption takes a key.
            (_, Some(_)) => return Err(message::encryption_key_unexpected()),
            (Some(_), None) => Some(Encryption::Aes256),
            (None, None) => None,
        };
        Ok(Self {
            bucket: fields.owned_string("S3Bucket").unwrap_or_default(),
            owner: fields.owned_string("S3BucketOwner"),
            prefix: fields.owned_string(prefix).unwrap_or_default(),
            encryption,
        })
    }
}
