//! Settings that are kept beside a table and shown again.

use serde_json::{Value, json};

use crate::{Fixture, create_index, describe, table};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/music";
const MISSING: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/missing";
const KINESIS: &str = "arn:aws:kinesis:us-east-1:000000000000:stream/changes";

fn fixture() -> Fixture {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    f
}

#[test]
fn limits_and_endpoints() {
    let f = Fixture::new();
    let limits = f.ok("DescribeLimits", json!({}));
    assert_eq!(limits["AccountMaxReadCapacityUnits"], 80_000);
    assert_eq!(limits["TableMaxWriteCapacityUnits"], 40_000);
    let endpoints = f.ok("DescribeEndpoints", json!({}));
    let only = json!([{"Address": "localhost:8000", "CachePeriodInMinutes": 1440}]);
    assert_eq!(endpoints["Endpoints"], only);
}

#[test]
fn policies_have_revisions() {
    let f = fixture();
    let policy = policy("dynamodb:GetItem");
    let not_found = |operation: &str, body: Value| {
        assert_eq!(f.err(operation, body).0, "PolicyNotFoundException", "{operation}");
    };
    not_found("GetResourcePolicy", json!({"ResourceArn": ARN}));
    let put = |more: Value| {
        let mut body = json!({"ResourceArn": ARN, "Policy": policy});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    not_found("PutResourcePolicy", put(json!({"ExpectedRevisionId": "1"})));
    let first = f.ok("PutResourcePolicy", put(json!({"ExpectedRevisionId": "NO_POLICY"})));
    let again = f.ok("PutResourcePolicy", put(json!({})));
    assert_eq!(first, again, "the same policy is the same revision");
    not_found("PutResourcePolicy", put(json!({"ExpectedRevisionId": "NO_POLICY"})));
    let shown = f.ok("GetResourcePolicy", json!({"ResourceArn": ARN}));
    assert_eq!((&shown["Policy"], &shown["RevisionId"]), (&json!(policy), &first["RevisionId"]));
    let other = f.ok("PutResourcePolicy", put(json!({"Policy": self::policy("dynamodb:Query")})));
    assert_ne!(first, other);
    not_found(
        "DeleteResourcePolicy",
        json!({"ResourceArn": ARN, "ExpectedRevisionId": first["RevisionId"]}),
    );
    assert_eq!(f.ok("DeleteResourcePolicy", json!({"ResourceArn": ARN})), other);
    assert_eq!(f.ok("DeleteResourcePolicy", json!({"ResourceArn": ARN})), json!({}));
    let refused = |body: Value| f.err("PutResourcePolicy", body).0;
    assert_eq!(refused(put(json!({"Policy": "no json"}))), "ValidationException");
    let unknown = policy.replace("\"Allow\"", "\"Allow\",\"Condition\":{\"StringIs\":{}}");
    assert_eq!(
        f.err("PutResourcePolicy", put(json!({"Policy": unknown}))).1,
        "One or more parameter values were invalid: Invalid policy document: Statement[0].Condition.StringIs: \
         there is no such condition operator"
    );
    assert_eq!(refused(put(json!({"ResourceArn": MISSING}))), "ResourceNotFoundException");
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(20 * 1024));
    let (code, text) = f.err("PutResourcePolicy", put(json!({"Policy": long})));
    assert_eq!(code, "ValidationException");
    assert!(text.ends_with("Maximum policy size of 20480 bytes exceeded"), "{text}");
}

/// A policy that lets everyone do this.
fn policy(action: &str) -> String {
    let statement = json!({"Effect": "Allow", "Principal": "*", "Action": action, "Resource": "*"});
    json!({"Version": "2012-10-17", "Statement": [statement]}).to_string()
}

#[test]
fn a_stream_has_a_policy_of_its_own() {
    let f = Fixture::new();
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    f.ok(
        "CreateTable",
        table("music", json!({"StreamSpecification": stream, "ResourcePolicy": policy("*")})),
    );
    assert_eq!(f.ok("GetResourcePolicy", json!({"ResourceArn": ARN}))["Policy"], policy("*"));
    let arn = describe(&f.db, "music")["LatestStreamArn"].clone();
    let body = json!({"ResourceArn": arn});
    assert_eq!(f.err("GetResourcePolicy", body.clone()).0, "PolicyNotFoundException");
    let records = policy("dynamodb:GetRecords");
    let elsewhere = arn.as_str().unwrap().replace("us-east-1", "eu-west-1");
    let (_, text) =
        f.err("PutResourcePolicy", json!({"ResourceArn": elsewhere, "Policy": records}));
    assert!(text.contains("Invalid resource Arn: "), "{text}");
    // What a table's policy may be about is not what a stream's may be about.
    for action in ["dynamodb:GetItem", "dynamodb:ListStreams"] {
        let (_, text) =
            f.err("PutResourcePolicy", json!({"ResourceArn": arn, "Policy": policy(action)}));
        assert!(text.ends_with(&format!("action names are invalid: \"{action}\"")), "{text}");
    }
    f.ok("PutResourcePolicy", json!({"ResourceArn": arn, "Policy": records}));
    assert_eq!(f.ok("GetResourcePolicy", body)["Policy"], records);
    let gone = json!({"ResourceArn": format!("{ARN}/stream/2000-01-01T00:00:00.000")});
    assert_eq!(f.err("GetResourcePolicy", gone).0, "ResourceNotFoundException");
}

#[test]
fn insights_are_switched_per_table_and_index() {
    let f = fixture();
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.tidy();
    let status = |body: Value| f.ok("DescribeContributorInsights", body);
    assert_eq!(status(json!({"TableName": "music"}))["ContributorInsightsStatus"], "DISABLED");
    let enable = json!({"TableName": "music", "ContributorInsightsAction": "ENABLE"});
    assert_eq!(f.ok("UpdateContributorInsights", enable)["ContributorInsightsStatus"], "ENABLING");
    f.ok(
        "UpdateContributorInsights",
        json!({
            "TableName": "music", "IndexName": "by-g", "ContributorInsightsAction": "ENABLE",
            "ContributorInsightsMode": "THROTTLED_KEYS",
        }),
    );
    let own = status(json!({"TableName": "music"}));
    assert_eq!(own["ContributorInsightsStatus"], "ENABLED");
    assert_eq!(own["ContributorInsightsRuleList"].as_array().unwrap().len(), 4);
    let index = status(json!({"TableName": "music", "IndexName": "by-g"}));
    assert_eq!(index["ContributorInsightsMode"], "THROTTLED_KEYS");
    assert_eq!(index["ContributorInsightsRuleList"].as_array().unwrap().len(), 1);
    let first = f.ok("ListContributorInsights", json!({"MaxResults": 1}));
    assert_eq!(first["ContributorInsightsSummaries"].as_array().unwrap().len(), 1);
    let rest = f.ok("ListContributorInsights", json!({"NextToken": first["NextToken"]}));
    assert_eq!(rest["ContributorInsightsSummaries"][0]["IndexName"], "by-g");
    assert!(rest.get("NextToken").is_none());
    for body in [
        json!({"TableName": "missing", "ContributorInsightsAction": "ENABLE"}),
        json!({"TableName": "music", "IndexName": "missing", "ContributorInsightsAction": "ENABLE"}),
    ] {
        assert_eq!(f.err("UpdateContributorInsights", body).0, "ResourceNotFoundException");
    }
}

#[test]
fn kinesis_destinations_are_refused_with_the_reason() {
    let f = fixture();
    let body = json!({"TableName": "music", "StreamArn": KINESIS});
    let (code, text) = f.err("EnableKinesisStreamingDestination", body.clone());
    assert_eq!(code, "ValidationException");
    assert!(text.contains("sends nothing to Kinesis"), "{text}");
    for operation in ["DisableKinesisStreamingDestination", "UpdateKinesisStreamingDestination"] {
        assert_eq!(f.err(operation, body.clone()).0, "ResourceNotFoundException", "{operation}");
    }
    let shown = f.ok("DescribeKinesisStreamingDestination", json!({"TableName": "music"}));
    assert_eq!(shown["KinesisDataStreamDestinations"], json!([]));
    let missing = json!({"TableName": "missing"});
    let refused = f.err("DescribeKinesisStreamingDestination", missing).0;
    assert_eq!(refused, "ResourceNotFoundException");
}

#[test]
fn replicas_need_a_server_for_their_region() {
    let f = fixture();
    let updates = json!([{"Create": {"RegionName": "eu-west-1"}}]);
    let (code, text) =
        f.err("UpdateTable", json!({"TableName": "music", "ReplicaUpdates": updates}));
    assert_eq!(code, "ValidationException");
    assert!(text.contains("--replica eu-west-1=URL"), "{text}");
    assert!(describe(&f.db, "music").get("Replicas").is_none());
}
