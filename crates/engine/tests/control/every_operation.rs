//! Every operation has a handler that looks at its request.

use keyloom_api::Operation;
use serde_json::json;

use crate::{Fixture, call};

#[test]
fn an_empty_request_is_answered_or_refused_by_the_operation_itself() {
    let f = Fixture::new();
    for operation in Operation::ALL {
        let (status, reply) = call(&f.db, operation.name(), &json!({}));
        let code = reply["__type"].as_str().unwrap_or_default();
        assert!(
            status == 200 || code.ends_with("#ValidationException"),
            "{operation:?}: {status} {reply}"
        );
    }
}
