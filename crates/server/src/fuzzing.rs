//! Entry points for the fuzz targets: parsers of untrusted bytes that are otherwise private.

use std::sync::Arc;

use hyper::Request;
use hyper::http::request::Parts;
#[cfg(feature = "insights")]
use keyloom_engine::Database;
use keyloom_engine::ManualClock;

use crate::auth::{Auth, Credentials, DYNAMODB};
#[cfg(feature = "insights")]
use crate::insights;

/// Parses the path and the headers of a request, one line each; `None` if they are not valid HTTP.
fn head(text: &str) -> Option<Parts> {
    let mut lines = text.lines();
    let mut request = Request::post(lines.next()?);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name.trim(), value.trim());
    }
    request.body(()).ok().map(|request| request.into_parts().0)
}

/// Verifies the signature of a request whose sender does not know the secret; returns whether it
/// was admitted.
pub fn is_admitted(text: &str, body: &[u8]) -> bool {
    let auth = Auth::Signed {
        credentials: vec![Credentials::new("AKID", "a secret that no fuzzer guesses")],
        identities: Vec::new(),
        clock: Arc::new(ManualClock::at_ms(1_793_534_400_000)),
    };
    let Some(head) = head(text) else { return false };
    match auth.admit(&head, DYNAMODB) {
        Ok(Some(admission)) => admission.verify(body).is_ok(),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// Decodes a request to CloudWatch in one of its protocols, answers it and encodes the response.
/// Decoded CBOR must survive a round trip.
#[cfg(feature = "insights")]
pub fn ask_cloudwatch(protocol: u8, operation: &str, body: &[u8], database: &Database) -> bool {
    insights::fuzzing::ask(protocol, operation, body, database)
}
