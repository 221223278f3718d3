//! Signatures (SigV4), in headers and in query strings: whatever is claimed, nobody gets in who does not know
//! the secret.

#![no_main]

use keyloom_server::fuzzing::is_admitted;
use libfuzzer_sys::fuzz_target;

/// The first byte says which of these the text is added to, so that a claim gets past the first checks.
const STARTS: [&str; 3] = [
    "",
    "/\nhost: localhost\nx-amz-date: 20261101T120000Z\nx-amz-target: DynamoDB_20120810.ListTables\n\
     authorization: AWS4-HMAC-SHA256 Credential=AKID/20261101/eu-west-1/dynamodb/aws4_request, \
     SignedHeaders=host;x-amz-date;x-amz-target, Signature=",
    "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261101%2Feu-west-1%2Fdynamodb%2F\
     aws4_request&X-Amz-Date=20261101T120000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&",
];

fuzz_target!(|data: &[u8]| {
    let [start, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let start = STARTS[usize::from(*start) % STARTS.len()];
    assert!(!is_admitted(&format!("{start}{text}"), b"{}"));
});
