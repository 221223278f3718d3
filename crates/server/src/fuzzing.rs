//! Doors for the fuzz targets: parsers that meet a stranger's bytes and that nobody else calls from
//! outside.

use std::sync::Arc;

use hyper::Request;
use hyper::http::request::Parts;
use keyloom_engine::{Database, ManualClock};

use crate::auth::{Auth, Credentials, DYNAMODB};
use crate::cloudwatch;

/// The headers and the path of a request, a line each, path first; none if they are not HTTP.
fn head(text: &str) -> Option<Parts> {
    let mut lines = text.lines();
    let mut request = Request::post(lines.next()?);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name.trim(), value.trim());
    }
    request.body(()).ok().map(|request| request.into_parts().0)
}

/// Judges the signature of a request whose sender does not know the secret, and says whether it got
/// past.
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

/// Reads a request to CloudWatch in one of its protocols, answers it and writes the answer. What CBOR has
/// read it must be able to write and to read again.
pub fn ask_cloudwatch(protocol: u8, operation: &str, body: &[u8], database: &Database) -> bool {
    cloudwatch::fuzzing::ask(protocol, operation, body, database)
}
