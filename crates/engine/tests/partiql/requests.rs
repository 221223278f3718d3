//! The shape of requests: lengths, parameters, enumerations.

use serde_json::json;

use super::{Fixture, n, s};

#[test]
fn requests_break_the_model_in_its_words() {
    let f = Fixture::new();
    let detected = "1 validation error detected: Value ";
    let constraint = "failed to satisfy constraint: Member must";
    for (operation, body, expected) in [
        (
            "ExecuteStatement",
            json!({}),
            format!("{detected}null at 'statement' {constraint} not be null"),
        ),
        (
            "ExecuteStatement",
            json!({ "Statement": "" }),
            format!(
                "{detected}'' at 'statement' {constraint} have length greater than or equal to 1"
            ),
        ),
        (
            "ExecuteStatement",
            json!({ "Statement": "SELECT * FROM music", "Limit": 0 }),
            format!("{detected}'0' at 'limit' {constraint} have value greater than or equal to 1"),
        ),
        (
            "ExecuteStatement",
            json!({ "Statement": "SELECT * FROM music", "Parameters": [] }),
            format!(
                "{detected}'[]' at 'parameters' {constraint} have length greater than or equal to 1"
            ),
        ),
        (
            "ExecuteStatement",
            json!({ "Statement": "SELECT * FROM music", "ReturnConsumedCapacity": "SOME" }),
            format!(
                "{detected}'SOME' at 'returnConsumedCapacity' {constraint} satisfy enum value set: [INDEXES, TOTAL, NONE]"
            ),
        ),
        (
            "BatchExecuteStatement",
            json!({ "Statements": [] }),
            format!(
                "{detected}'[]' at 'statements' {constraint} have length greater than or equal to 1"
            ),
        ),
        (
            "BatchExecuteStatement",
            json!({ "Statements": [{}] }),
            format!("{detected}null at 'statements.1.member.statement' {constraint} not be null"),
        ),
        (
            "ExecuteTransaction",
            json!({ "TransactStatements": [] }),
            format!(
                "{detected}'[]' at 'transactStatements' {constraint} have length greater than or equal to 1"
            ),
        ),
        (
            "ExecuteTransaction",
            json!({ "TransactStatements": [{ "Statement": "x" }], "ClientRequestToken": "" }),
            format!(
                "{detected}'' at 'clientRequestToken' {constraint} have length greater than or equal to 1"
            ),
        ),
    ] {
        assert_eq!(f.err(operation, body), ("ValidationException".into(), expected));
    }
    let long = json!({ "Statement": "x".repeat(8193) });
    let (_, message) = f.err("ExecuteStatement", long);
    assert!(message.ends_with("Member must have length less than or equal to 8192"), "{message}");
    let many: Vec<_> = (0..26).map(|_| json!({ "Statement": "x" })).collect();
    let (_, message) = f.err("BatchExecuteStatement", json!({ "Statements": many }));
    assert!(message.ends_with("Member must have length less than or equal to 25"), "{message}");
}

#[test]
fn parameters_are_read_before_the_statement() {
    let f = Fixture::new();
    let duplicates =
        "One or more parameter values were invalid: Input collection [a, a] contains duplicates.";
    let set = json!([{ "SS": ["a", "a"] }]);
    let body = json!({ "Statement": "UPDATE music SET WHERE", "Parameters": set });
    assert_eq!(f.err("ExecuteStatement", body).1, duplicates);
    let body = json!({ "TransactStatements": [
        { "Statement": "UPDATE music SET y = ? WHERE pk = 'a' AND sk = '1'", "Parameters": [n(1)] },
        { "Statement": "INSERT INTO music VALUE {'pk': 'b', 'sk': '1', 'x': ?}", "Parameters": set },
    ] });
    assert_eq!(f.err("ExecuteTransaction", body).1, duplicates);
    let body = json!({ "Statements": [
        { "Statement": "UPDATE music SET y = ? WHERE pk = 'a' AND sk = '1'", "Parameters": [{ "SS": [] }] },
    ] });
    let reply = f.ok("BatchExecuteStatement", body);
    let error = &reply["Responses"][0]["Error"];
    assert_eq!(error["Code"], "ValidationError");
    assert_eq!(
        error["Message"],
        "One or more parameter values were invalid: An string set  may not be empty"
    );
    let body =
        json!({ "Statement": "SELECT * FROM music WHERE pk = ?", "Parameters": [{ "B": 5 }] });
    assert_eq!(f.err("ExecuteStatement", body).0, "SerializationException");
}

#[test]
fn parameters_stand_for_values() {
    let f = Fixture::new();
    f.seed("a", "1", json!({ "x": n(1) }));
    let run = |statement: &str, parameters| {
        f.ok("ExecuteStatement", json!({ "Statement": statement, "Parameters": parameters }))
    };
    let reply = run(
        "SELECT * FROM music WHERE pk = ? AND sk = ? AND x IN [?, 2]",
        json!([s("a"), s("1"), n(1)]),
    );
    assert_eq!(reply["Items"].as_array().unwrap().len(), 1);
    let reply = run("SELECT * FROM music WHERE pk = ? AND sk = '?'", json!([s("a")]));
    assert_eq!(reply["Items"], json!([]));
    let body =
        json!({ "Statement": "SELECT * FROM music WHERE pk = ?", "Parameters": [s("a"), s("b")] });
    assert_eq!(
        f.err("ExecuteStatement", body).1,
        "Number of parameters in request and statement don't match."
    );
    let body = json!({ "Statement": "SELECT * FROM music WHERE pk = ?", "Parameters": [{ "N": "1e99999999999" }] });
    assert_eq!(
        f.err("ExecuteStatement", body).1,
        "The parameter cannot be converted to a numeric value: 1e99999999999"
    );
}
