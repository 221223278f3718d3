//! Bytes in, bytes out: request bodies to fields, results to JSON.
//!
//! `SerializationException` arises only here: a field of the wrong JSON type is refused before any
//! rule of the API is looked at, as on AWS.

mod constraints;
mod fields;
mod writer;

pub(crate) use constraints::Constraints;
pub(crate) use fields::{Fields, ItemField};
pub(crate) use writer::JsonWriter;

use keyloom_core::Error;

/// What goes back over the wire: an HTTP status and a JSON body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A successful reply with this body.
    pub(crate) fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, body }
    }
}

impl From<&Error> for Reply {
    fn from(error: &Error) -> Self {
        let mut json = JsonWriter::object();
        json.string("__type", &format!("{}#{}", error.namespace(), error.code()));
        match error {
            Error::TransactionCanceled(reasons) => {
                // The API model spells this one member with a capital.
                json.string("Message", &error.message());
                json.list("CancellationReasons", reasons, |json, reason| {
                    json.nested(|json| {
                        json.string("Code", reason.code.as_str());
                        json.optional_string("Message", reason.message.as_deref());
                        json.optional_item("Item", reason.item.as_ref());
                    });
                });
            }
            Error::ConditionalCheckFailed { item } => {
                json.string("message", &error.message());
                json.optional_item("Item", item.as_ref());
            }
            Error::ProvisionedThroughputExceeded(throttled)
            | Error::Throttling(throttled)
            | Error::RequestLimitExceeded(throttled) => {
                json.string("message", &error.message());
                // AWS's own model spells this one member of this one exception differently.
                let member = match error {
                    Error::Throttling(_) => "throttlingReasons",
                    _ => "ThrottlingReasons",
                };
                json.list(member, &throttled.reasons, |json, (reason, resource)| {
                    json.nested(|json| {
                        json.string("reason", reason);
                        json.string("resource", resource);
                    });
                });
            }
            // Serialization failures are raised before the service's own shape applies.
            Error::Serialization(message) => json.string("Message", message),
            _ => json.string("message", &error.message()),
        }
        Self { status: error.status(), body: json.finish() }
    }
}
