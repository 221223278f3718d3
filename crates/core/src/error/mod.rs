//! One error type over DynamoDB's error codes.
//!
//! All messages are defined here and in the submodules ([`message`]), nowhere else.

pub mod access;
pub mod constraint;
pub mod message;
pub mod request;
pub mod resource;
pub mod stream;
pub mod table;
pub mod throttle;
pub mod transfer;

use std::fmt;

use crate::value::Item;

/// The result of an operation with DynamoDB's errors.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error as DynamoDB reports it.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The request violates a rule of the API.
    Validation(String),
    /// The request's framework-level shape is wrong; the wire type has the coral prefix.
    CoralValidation(String),
    /// The body does not match the operation's shape.
    Serialization(String),
    /// The target names no operation.
    UnknownOperation(String),
    /// A condition was false. `item` is the existing item, when the request asked for it.
    ConditionalCheckFailed {
        /// The existing item, if `ReturnValuesOnConditionCheckFailure` is `ALL_OLD`.
        item: Option<Item>,
    },
    /// A transaction was cancelled; one reason per action.
    TransactionCanceled(Vec<CancellationReason>),
    /// A single-item write conflicts with an ongoing transaction on its item.
    TransactionConflict(String),
    /// A request with the same client token is being executed.
    TransactionInProgress(String),
    /// The same client token was used with other parameters.
    IdempotentParameterMismatch(String),
    /// PartiQL INSERT of an item that exists.
    DuplicateItem(String),
    /// The table, index or stream does not exist.
    ResourceNotFound(String),
    /// The table exists already, or is being changed.
    ResourceInUse(String),
    /// A table of that name does not exist (backup, export and global-table operations).
    TableNotFound(String),
    /// A table of that name exists already (restore).
    TableAlreadyExists(String),
    /// The table is being changed (backup operations).
    TableInUse(String),
    /// The index does not exist.
    IndexNotFound(String),
    /// The backup does not exist.
    BackupNotFound(String),
    /// The backup is being used by another operation.
    BackupInUse(String),
    /// The table cannot be backed up continuously yet.
    ContinuousBackupsUnavailable(String),
    /// Point-in-time recovery is off.
    PointInTimeRecoveryUnavailable(String),
    /// Point-in-time recovery is not possible for that time.
    InvalidRestoreTime(String),
    /// The export does not exist.
    ExportNotFound(String),
    /// An export with that token exists with other parameters.
    ExportConflict(String),
    /// The time of the export is outside the window.
    InvalidExportTime(String),
    /// The import does not exist.
    ImportNotFound(String),
    /// An import with that token exists with other parameters.
    ImportConflict(String),
    /// The resource has no policy.
    PolicyNotFound(String),
    /// The global table does not exist.
    GlobalTableNotFound(String),
    /// The global table exists already.
    GlobalTableAlreadyExists(String),
    /// The replica does not exist.
    ReplicaNotFound(String),
    /// The replica exists already.
    ReplicaAlreadyExists(String),
    /// The request would exceed an account limit.
    LimitExceeded(String),
    /// An item collection exceeded 10 GB.
    ItemCollectionSizeLimitExceeded(String),
    /// Throughput of a table or index was exceeded.
    ProvisionedThroughputExceeded(Throttled),
    /// The request was throttled.
    Throttling(Throttled),
    /// Too many requests for the account.
    RequestLimitExceeded(Throttled),
    /// The shard iterator has expired.
    ExpiredIterator(String),
    /// The requested records have been trimmed.
    TrimmedDataAccess(String),
    /// Credentials are missing.
    MissingAuthenticationToken(String),
    /// The access key is not known.
    UnrecognizedClient(String),
    /// The signature does not match the request.
    InvalidSignature(String),
    /// The signature's headers are incomplete.
    IncompleteSignature(String),
    /// The caller is not authorized.
    AccessDenied(String),
    /// The body is too large.
    RequestEntityTooLarge(String),
    /// The store failed; the outcome of a write is unknown.
    InternalServer(String),
}

/// The outcome of one action of a cancelled transaction.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CancellationReason {
    /// Why the action was cancelled, as a code.
    pub code: CancellationCode,
    /// The message; `None` for [`CancellationCode::None`].
    pub message: Option<String>,
    /// The existing item, if requested.
    pub item: Option<Item>,
}

/// The codes of [`CancellationReason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CancellationCode {
    /// This action did not cause the cancellation.
    #[default]
    None,
    /// Its condition was false.
    ConditionalCheckFailed,
    /// Its item collection would exceed 10 GB.
    ItemCollectionSizeLimitExceeded,
    /// Another request has locked its item.
    TransactionConflict,
    /// Throughput was exceeded.
    ProvisionedThroughputExceeded,
    /// The account was throttled.
    ThrottlingError,
    /// The action is not valid for this item.
    ValidationError,
    /// PartiQL INSERT of an existing item.
    DuplicateItem,
    /// PartiQL: the statement's table does not exist.
    ResourceNotFound,
}

impl CancellationCode {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::ConditionalCheckFailed => "ConditionalCheckFailed",
            Self::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
            Self::TransactionConflict => "TransactionConflict",
            Self::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            Self::ThrottlingError => "ThrottlingError",
            Self::ValidationError => "ValidationError",
            Self::DuplicateItem => "DuplicateItem",
            Self::ResourceNotFound => "ResourceNotFound",
        }
    }
}

/// A throttled request: the message and the machine-readable reasons.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Throttled {
    /// What the answer says.
    pub message: String,
    /// `(reason, resource ARN)` pairs, e.g. `TableWriteKeyRangeThroughputExceeded`.
    pub reasons: Vec<(String, String)>,
}

impl Error {
    /// A [`Error::Validation`] with this message.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::Validation(message.into())
    }

    /// The name of the exception, without its namespace.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) | Self::CoralValidation(_) => "ValidationException",
            Self::Serialization(_) => "SerializationException",
            Self::UnknownOperation(_) => "UnknownOperationException",
            Self::ConditionalCheckFailed { .. } => "ConditionalCheckFailedException",
            Self::TransactionCanceled(_) => "TransactionCanceledException",
            Self::TransactionConflict(_) => "TransactionConflictException",
            Self::TransactionInProgress(_) => "TransactionInProgressException",
            Self::IdempotentParameterMismatch(_) => "IdempotentParameterMismatchException",
            Self::DuplicateItem(_) => "DuplicateItemException",
            Self::ResourceNotFound(_) => "ResourceNotFoundException",
            Self::ResourceInUse(_) => "ResourceInUseException",
            Self::TableNotFound(_) => "TableNotFoundException",
            Self::TableAlreadyExists(_) => "TableAlreadyExistsException",
            Self::TableInUse(_) => "TableInUseException",
            Self::IndexNotFound(_) => "IndexNotFoundException",
            Self::BackupNotFound(_) => "BackupNotFoundException",
            Self::BackupInUse(_) => "BackupInUseException",
            Self::ContinuousBackupsUnavailable(_) => "ContinuousBackupsUnavailableException",
            Self::PointInTimeRecoveryUnavailable(_) => "PointInTimeRecoveryUnavailableException",
            Self::InvalidRestoreTime(_) => "InvalidRestoreTimeException",
            Self::ExportNotFound(_) => "ExportNotFoundException",
            Self::ExportConflict(_) => "ExportConflictException",
            Self::InvalidExportTime(_) => "InvalidExportTimeException",
            Self::ImportNotFound(_) => "ImportNotFoundException",
            Self::ImportConflict(_) => "ImportConflictException",
            Self::PolicyNotFound(_) => "PolicyNotFoundException",
            Self::GlobalTableNotFound(_) => "GlobalTableNotFoundException",
            Self::GlobalTableAlreadyExists(_) => "GlobalTableAlreadyExistsException",
            Self::ReplicaNotFound(_) => "ReplicaNotFoundException",
            Self::ReplicaAlreadyExists(_) => "ReplicaAlreadyExistsException",
            Self::LimitExceeded(_) => "LimitExceededException",
            Self::ItemCollectionSizeLimitExceeded(_) => "ItemCollectionSizeLimitExceededException",
            Self::ProvisionedThroughputExceeded(_) => "ProvisionedThroughputExceededException",
            Self::Throttling(_) => "ThrottlingException",
            Self::RequestLimitExceeded(_) => "RequestLimitExceeded",
            Self::ExpiredIterator(_) => "ExpiredIteratorException",
            Self::TrimmedDataAccess(_) => "TrimmedDataAccessException",
            Self::MissingAuthenticationToken(_) => "MissingAuthenticationTokenException",
            Self::UnrecognizedClient(_) => "UnrecognizedClientException",
            Self::InvalidSignature(_) => "InvalidSignatureException",
            Self::IncompleteSignature(_) => "IncompleteSignatureException",
            Self::AccessDenied(_) => "AccessDeniedException",
            Self::RequestEntityTooLarge(_) => "RequestEntityTooLargeException",
            Self::InternalServer(_) => "InternalServerError",
        }
    }

    /// The namespace before the code in `__type`.
    pub fn namespace(&self) -> &'static str {
        match self {
            Self::Validation(_) | Self::CoralValidation(_) => "com.amazon.coral.validate",
            Self::Serialization(_)
            | Self::UnknownOperation(_)
            | Self::MissingAuthenticationToken(_)
            | Self::UnrecognizedClient(_)
            | Self::InvalidSignature(_)
            | Self::IncompleteSignature(_)
            | Self::AccessDenied(_)
            | Self::RequestEntityTooLarge(_) => "com.amazon.coral.service",
            _ => "com.amazonaws.dynamodb.v20120810",
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::InternalServer(_) => 500,
            Self::RequestEntityTooLarge(_) => 413,
            _ => 400,
        }
    }

    /// The human-readable message.
    pub fn message(&self) -> String {
        match self {
            Self::ConditionalCheckFailed { .. } => message::CONDITIONAL_REQUEST_FAILED.to_owned(),
            Self::TransactionCanceled(reasons) => message::transaction_canceled(reasons),
            Self::ProvisionedThroughputExceeded(throttled)
            | Self::Throttling(throttled)
            | Self::RequestLimitExceeded(throttled) => throttled.message.clone(),
            Self::Validation(text)
            | Self::CoralValidation(text)
            | Self::Serialization(text)
            | Self::UnknownOperation(text)
            | Self::TransactionConflict(text)
            | Self::TransactionInProgress(text)
            | Self::IdempotentParameterMismatch(text)
            | Self::DuplicateItem(text)
            | Self::ResourceNotFound(text)
            | Self::ResourceInUse(text)
            | Self::TableNotFound(text)
            | Self::TableAlreadyExists(text)
            | Self::TableInUse(text)
            | Self::IndexNotFound(text)
            | Self::BackupNotFound(text)
            | Self::BackupInUse(text)
            | Self::ContinuousBackupsUnavailable(text)
            | Self::PointInTimeRecoveryUnavailable(text)
            | Self::InvalidRestoreTime(text)
            | Self::ExportNotFound(text)
            | Self::ExportConflict(text)
            | Self::InvalidExportTime(text)
            | Self::ImportNotFound(text)
            | Self::ImportConflict(text)
            | Self::PolicyNotFound(text)
            | Self::GlobalTableNotFound(text)
            | Self::GlobalTableAlreadyExists(text)
            | Self::ReplicaNotFound(text)
            | Self::ReplicaAlreadyExists(text)
            | Self::LimitExceeded(text)
            | Self::ItemCollectionSizeLimitExceeded(text)
            | Self::ExpiredIterator(text)
            | Self::TrimmedDataAccess(text)
            | Self::MissingAuthenticationToken(text)
            | Self::UnrecognizedClient(text)
            | Self::InvalidSignature(text)
            | Self::IncompleteSignature(text)
            | Self::AccessDenied(text)
            | Self::RequestEntityTooLarge(text)
            | Self::InternalServer(text) => text.clone(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The code is for the wire; in a program, where there is no server, it would only mislead.
            Self::InternalServer(reason) => f.write_str(reason),
            _ => write!(f, "{}: {}", self.code(), self.message()),
        }
    }
}

impl std::error::Error for Error {}
