//! Requests without sockets, for the fuzz target.

use hyper::Request;

use super::{SERVICE, Unanswered, Wire, cbor, run};
use crate::backend::Backend;

/// Answers a request in one of the protocols; false if CBOR that was decoded changes when it is encoded and
/// decoded again.
pub(crate) fn ask(protocol: u8, operation: &str, body: &[u8], backend: &dyn Backend) -> bool {
    let wire = match protocol % 3 {
        0 => Wire::Cbor,
        1 => Wire::Json,
        _ => Wire::Query,
    };
    let request = Request::post(format!("/service/{SERVICE}/operation/{operation}"))
        .header("x-amz-target", format!("{SERVICE}.{operation}"))
        .body(());
    let Ok(request) = request else { return true };
    let response = match wire.asked(&request.into_parts().0, body) {
        Ok(asked) => wire.response(&asked.operation, &run(backend, &asked)),
        Err(Unanswered::Error(failure)) => wire.response("", &Err(failure)),
        Err(Unanswered::NotOurs) => return true,
    };
    assert!(response.status().as_u16() < 500, "{response:?}");
    wire != Wire::Cbor || is_stable(body)
}

/// Whether a value of CBOR survives a round trip. Debug texts are compared, because a NaN is unequal to
/// itself.
fn is_stable(body: &[u8]) -> bool {
    let Ok(value) = cbor::decode(body) else { return true };
    let again = cbor::decode(&cbor::encode(&value));
    format!("{:?}", Ok::<_, String>(value)) == format!("{again:?}")
}
