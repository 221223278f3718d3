//! Errors as JSON bodies, and JSON bodies as errors.

use keyloom_core::Error;
use keyloom_core::error::{CancellationCode, CancellationReason, Throttled};
use keyloom_core::json::{self, Json, JsonObject};

use crate::json::JsonWriter;

/// The body that states an error.
pub fn body_of(error: &Error) -> Vec<u8> {
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
        Error::UnknownOperation(message) if message.is_empty() => {}
        _ => json.string("message", &error.message()),
    }
    json.finish()
}

/// The error that a reply with a status other than 200 states.
pub fn error_from(status: u16, body: &[u8]) -> Error {
    let document = json::parse(body);
    let Ok(Json::Object(object)) = &document else {
        let start = String::from_utf8_lossy(body.get(..body.len().min(200)).unwrap_or(body));
        return unnamed(status, format!("status {status} without an error body: {start}"));
    };
    let text = |name| match object.get(name) {
        Some(Json::Str(text)) => Some(text.to_string()),
        _ => None,
    };
    let message = text("message").or_else(|| text("Message")).unwrap_or_default();
    let name = text("__type").unwrap_or_default();
    let code = name.rsplit('#').next().unwrap_or_default();
    named(status, code, message, object)
}

/// The error of one statement of a batch, which has a shorter code.
pub fn statement_error(stated: &JsonObject<'_>) -> Error {
    let text = |name| match stated.get(name) {
        Some(Json::Str(text)) => text.to_string(),
        _ => String::new(),
    };
    let (code, message) = (text("Code"), text("Message"));
    let name = match code.as_str() {
        "ValidationError" => "ValidationException".to_owned(),
        "ThrottlingError" => "ThrottlingException".to_owned(),
        "InternalServerError" | "RequestLimitExceeded" => code,
        other => format!("{other}Exception"),
    };
    named(400, &name, message, stated)
}

/// The error with this name, and what else is stated of it.
fn named(status: u16, code: &str, message: String, object: &JsonObject<'_>) -> Error {
    match code {
        "ConditionalCheckFailedException" => {
            Error::ConditionalCheckFailed { item: object.get("Item").and_then(item) }
        }
        "TransactionCanceledException" => Error::TransactionCanceled(reasons(object, &message)),
        "ProvisionedThroughputExceededException" => {
            Error::ProvisionedThroughputExceeded(throttled(object, message))
        }
        "ThrottlingException" | "Throttling" => Error::Throttling(throttled(object, message)),
        "RequestLimitExceeded" => Error::RequestLimitExceeded(throttled(object, message)),
        _ => plain(code, message)
            .unwrap_or_else(|(code, message)| unnamed(status, format!("{code}: {message}"))),
    }
}

/// The errors that carry a message and nothing else.
fn plain(code: &str, message: String) -> Result<Error, (&str, String)> {
    Ok(match code {
        "ValidationException" => Error::Validation(message),
        "SerializationException" => Error::Serialization(message),
        "UnknownOperationException" => Error::UnknownOperation(message),
        "TransactionConflictException" => Error::TransactionConflict(message),
        "TransactionInProgressException" => Error::TransactionInProgress(message),
        "IdempotentParameterMismatchException" => Error::IdempotentParameterMismatch(message),
        "DuplicateItemException" => Error::DuplicateItem(message),
        "ResourceNotFoundException" => Error::ResourceNotFound(message),
        "ResourceInUseException" => Error::ResourceInUse(message),
        "LimitExceededException" => Error::LimitExceeded(message),
        "ItemCollectionSizeLimitExceededException" => {
            Error::ItemCollectionSizeLimitExceeded(message)
        }
        "MissingAuthenticationTokenException" | "MissingAuthenticationToken" => {
            Error::MissingAuthenticationToken(message)
        }
        "UnrecognizedClientException" => Error::UnrecognizedClient(message),
        "InvalidSignatureException" => Error::InvalidSignature(message),
        "IncompleteSignatureException" => Error::IncompleteSignature(message),
        "AccessDeniedException" => Error::AccessDenied(message),
        "RequestEntityTooLargeException" => Error::RequestEntityTooLarge(message),
        "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => {
            Error::InternalServer(message)
        }
        _ => return Err((code, message)),
    })
}

/// An error whose code has no variant here: a 5xx may be retried, a refused request may not.
fn unnamed(status: u16, message: String) -> Error {
    match status {
        500.. => Error::InternalServer(message),
        429 => Error::Throttling(Throttled { message, reasons: Vec::new() }),
        _ => Error::Validation(message),
    }
}

fn item(json: &Json<'_>) -> Option<keyloom_core::Item> {
    json::item_from(json).ok()
}

fn throttled(object: &JsonObject<'_>, message: String) -> Throttled {
    let mut reasons = Vec::new();
    // `ThrottlingException` spells its member differently from the others.
    let told = object.get("ThrottlingReasons").or_else(|| object.get("throttlingReasons"));
    if let Some(Json::Array(list)) = told {
        for reason in list {
            let Json::Object(reason) = reason else { continue };
            let text = |name| match reason.get(name) {
                Some(Json::Str(text)) => text.to_string(),
                _ => String::new(),
            };
            reasons.push((text("reason"), text("resource")));
        }
    }
    Throttled { message, reasons }
}

fn reasons(object: &JsonObject<'_>, message: &str) -> Vec<CancellationReason> {
    let Some(Json::Array(list)) = object.get("CancellationReasons") else {
        return reasons_in(message);
    };
    list.iter()
        .map(|reason| {
            let Json::Object(reason) = reason else { return CancellationReason::default() };
            let text = |name| match reason.get(name) {
                Some(Json::Str(text)) => Some(text.to_string()),
                _ => None,
            };
            CancellationReason {
                code: code(text("Code").as_deref().unwrap_or_default()),
                message: text("Message"),
                item: reason.get("Item").and_then(item),
            }
        })
        .collect()
}

/// Some implementations put the reasons into the sentence only: `… for specific reasons [A, B]`.
fn reasons_in(message: &str) -> Vec<CancellationReason> {
    let list = message.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']'));
    list.map(|(list, _)| list)
        .unwrap_or_default()
        .split(',')
        .map(|name| CancellationReason { code: code(name.trim()), message: None, item: None })
        .collect()
}

fn code(name: &str) -> CancellationCode {
    const CODES: [CancellationCode; 8] = [
        CancellationCode::ConditionalCheckFailed,
        CancellationCode::ItemCollectionSizeLimitExceeded,
        CancellationCode::TransactionConflict,
        CancellationCode::ProvisionedThroughputExceeded,
        CancellationCode::ThrottlingError,
        CancellationCode::ValidationError,
        CancellationCode::DuplicateItem,
        CancellationCode::ResourceNotFound,
    ];
    match name {
        "None" | "" => CancellationCode::None,
        _ => CODES
            .into_iter()
            .find(|code| code.as_str() == name)
            // An unknown reason must not look like success.
            .unwrap_or(CancellationCode::ValidationError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_survive_the_round_trip_through_their_body() {
        let reasons = vec![("TableReadKeyRangeThroughputExceeded".into(), "arn".into())];
        let item = [("a", "b")].into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        for error in [
            Error::validation("no"),
            Error::Serialization("no".into()),
            Error::ConditionalCheckFailed { item: Some(item) },
            Error::Throttling(Throttled { message: "slow".into(), reasons: reasons.clone() }),
            Error::ProvisionedThroughputExceeded(Throttled { message: "slow".into(), reasons }),
            Error::TransactionCanceled(vec![
                CancellationReason::default(),
                CancellationReason {
                    code: CancellationCode::TransactionConflict,
                    message: Some("busy".into()),
                    item: None,
                },
            ]),
            Error::InternalServer("broken".into()),
        ] {
            assert_eq!(error_from(error.status(), &body_of(&error)), error);
        }
    }

    #[test]
    fn error_bodies_become_the_errors_they_state() {
        let throttled = br#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow","throttlingReasons":[{"reason":"TableReadKeyRangeThroughputExceeded","resource":"arn"}]}"#;
        match error_from(400, throttled) {
            Error::Throttling(throttled) => {
                assert_eq!(throttled.reasons.len(), 1);
                assert_eq!(throttled.message, "slow");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            error_from(400, br#"{"__type":"x#ValidationException","message":"no"}"#),
            Error::validation("no")
        );
        assert!(matches!(error_from(503, b"<html>"), Error::InternalServer(_)));
        assert!(
            matches!(error_from(400, br#"{"__type":"x#Strange","message":"m"}"#), Error::Validation(m) if m == "Strange: m")
        );
    }

    #[test]
    fn cancellation_reasons_are_found_in_the_list_or_in_the_sentence() {
        let listed = br#"{"__type":"a#TransactionCanceledException","Message":"x","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"a":{"S":"b"}}}]}"#;
        let Error::TransactionCanceled(reasons) = error_from(400, listed) else { panic!() };
        assert_eq!(reasons[1].code, CancellationCode::ConditionalCheckFailed);
        assert!(reasons[1].item.is_some());
        let said = br#"{"__type":"a#TransactionCanceledException","message":"cancelled, for specific reasons [None, TransactionConflict]"}"#;
        let Error::TransactionCanceled(reasons) = error_from(400, said) else { panic!() };
        assert_eq!(reasons[1].code, CancellationCode::TransactionConflict);
    }
}
