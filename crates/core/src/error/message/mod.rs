//! DynamoDB's messages, verbatim where AWS's wording is known.

pub mod expression;
pub mod legacy;
pub mod partiql;
pub mod schema;
pub mod value;
pub mod vector;

use super::{CancellationReason, Error};

/// A condition was false.
pub const CONDITIONAL_REQUEST_FAILED: &str = "The conditional request failed";

/// The message of a cancelled transaction lists the code of every action.
pub fn transaction_canceled(reasons: &[CancellationReason]) -> String {
    let codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
    format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    )
}

/// The table of a data operation does not exist.
pub fn table_not_found() -> Error {
    Error::ResourceNotFound("Requested resource not found".into())
}
