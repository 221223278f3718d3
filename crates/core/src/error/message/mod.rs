//! The sentences DynamoDB says, word for word where AWS's wording is known.

pub mod expression;
pub mod legacy;
pub mod partiql;
pub mod schema;
pub mod value;
pub mod vector;

use super::{CancellationReason, Error};

/// A condition was false.
pub const CONDITIONAL_REQUEST_FAILED: &str = "The conditional request failed";

/// The message of a cancelled transaction lists every action's code.
pub fn transaction_canceled(reasons: &[CancellationReason]) -> String {
    let codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
    format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    )
}

/// A table that a data operation names does not exist.
pub fn table_not_found() -> Error {
    Error::ResourceNotFound("Requested resource not found".into())
}
