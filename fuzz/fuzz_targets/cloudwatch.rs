//! CloudWatch's protocols: CBOR, JSON and forms. Whatever the body, there is an answer that is not the
//! server's fault, and a value of CBOR that was read can be written and read again.

#![no_main]

use std::sync::LazyLock;

use keyloom_engine::Database;
use keyloom_server::fuzzing::ask_cloudwatch;
use libfuzzer_sys::fuzz_target;

/// The second byte chooses one of these.
const OPERATIONS: [&str; 3] = ["DescribeInsightRules", "GetInsightRuleReport", "ListMetrics"];

static DATABASE: LazyLock<Database> = LazyLock::new(Database::memory);

fuzz_target!(|data: &[u8]| {
    let [protocol, operation, body @ ..] = data else { return };
    let operation = OPERATIONS[usize::from(*operation) % OPERATIONS.len()];
    assert!(ask_cloudwatch(*protocol, operation, body, &DATABASE));
});
