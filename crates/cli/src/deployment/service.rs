//! Requests to a DynamoDB endpoint.

use std::fmt;

use keyloom::remote::Remote;
use keyloom_core::Operation;
use serde_json::Value as Json;

/// What an endpoint says to a request that it does not know.
pub(super) const UNKNOWN_OPERATION: &str = "UnknownOperationException";

/// Something that answers DynamoDB requests.
pub(crate) trait Service {
    /// Makes one request.
    fn call(&self, operation: Operation, body: &Json) -> Result<Json, Refused>;
}

/// Why a request has no answer.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// The error's name, such as `ResourceNotFoundException`; empty if no answer came.
    pub(crate) code: String,
    /// The operation that was refused.
    pub(crate) operation: Operation,
    /// What was said.
    pub(crate) message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation.name(), self.message)
    }
}

impl Service for Remote {
    fn call(&self, operation: Operation, body: &Json) -> Result<Json, Refused> {
        let refused =
            |code: &str, message: String| Refused { code: code.to_owned(), operation, message };
        let answer = self.call(operation.name(), body.to_string().as_bytes()).map_err(|error| {
            let code = match &error {
                keyloom::Error::Database(error) => error.code(),
                _ => "",
            };
            refused(code, error.to_string())
        })?;
        serde_json::from_slice(&answer)
            .map_err(|error| refused("", format!("the answer is not JSON: {error}")))
    }
}

/// A member of an answer, such as `/Table/TableStatus`; null where there is none.
pub(super) fn member<'j>(value: &'j Json, path: &str) -> &'j Json {
    static NOTHING: Json = Json::Null;
    value.pointer(path).unwrap_or(&NOTHING)
}
