//! Policies: any text is refused or can be evaluated, and what a database accepts it stores as it is.

#![no_main]

use std::sync::LazyLock;

use keyloom_core::json::{self, Json};
use keyloom_core::policy::{Access, Circumstances, Known, Policy, Principal, Request, decide};
use keyloom_engine::Database;
use libfuzzer_sys::fuzz_target;

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";

/// A database with a table, of which every policy gets its own fork.
static DATABASE: LazyLock<Database> = LazyLock::new(|| {
    let database = Database::memory();
    let body = r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]}"#;
    assert_eq!(database.call("DynamoDB_20120810.CreateTable", body.as_bytes()).status, 200);
    database
});

/// Evaluates a policy on a request that has a value for most keys.
fn evaluate(identity: &[Policy], resource: Option<&Policy>) {
    let access = Access {
        action: "dynamodb:GetItem".into(),
        resource: ARN.into(),
        leading_keys: Known::Is(vec!["acme#1".into(), "*".into()]),
        attributes: Known::Unknown,
        ..Access::default()
    };
    let principal = Principal {
        arn: "arn:aws:iam::000000000000:user/acme".into(),
        user_id: "AIDA".into(),
        tags: vec![("tenant".into(), "acme".into())],
    };
    let circumstances =
        Circumstances { source_ip: Some([127, 0, 0, 1].into()), ..Circumstances::default() };
    let request =
        Request { access: &access, principal: &principal, circumstances: &circumstances };
    decide(&request, identity, resource);
}

fuzz_target!(|text: &str| {
    if let Ok(policy) = Policy::identity(text) {
        evaluate(&[policy], None);
    }
    let parsed = Policy::resource(text);
    if let Ok(policy) = &parsed {
        evaluate(&[], Some(policy));
    }
    let database = DATABASE.fork().expect("a database in memory forks");
    let mut policy = Vec::new();
    json::write_string(text, &mut policy);
    let policy = String::from_utf8(policy).expect("JSON is text");
    let body = format!(r#"{{"ResourceArn":"{ARN}","Policy":{policy}}}"#);
    let reply = database.call("DynamoDB_20120810.PutResourcePolicy", body.as_bytes());
    assert!(reply.status == 200 || reply.status == 400, "{}", reply.status);
    assert!(parsed.is_ok() || reply.status == 400, "only what can be evaluated is accepted");
    let body = format!(r#"{{"ResourceArn":"{ARN}"}}"#);
    let kept = database.call("DynamoDB_20120810.GetResourcePolicy", body.as_bytes());
    assert_eq!(kept.status, reply.status, "what was accepted is kept, and nothing else");
    let parsed = json::parse(&kept.body).expect("the database answers with JSON");
    if let (200, Json::Object(members)) = (kept.status, &parsed) {
        let shown = members.iter().find(|(name, _)| *name == "Policy").map(|(_, value)| value);
        assert!(matches!(shown, Some(Json::Str(shown)) if *shown == text));
    }
});
