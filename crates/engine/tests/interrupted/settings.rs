//! Settings that are made in one commit: acknowledged, they are there.

use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::{Scenario, filled, indexed, ok};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/music";

/// Runs a change, and has `show` look at it: what it shows after the change is what it shows after any
/// kill that came later than the answer.
fn is_kept(operation: &str, body: &Value, show: &str, shown: &Value) {
    let before = filled(&indexed());
    let look = |db: &Database| {
        let mut shown = ok(db, show, shown.clone());
        // What moves by itself.
        if let Some(table) = shown.get_mut("Table").and_then(Value::as_object_mut) {
            table.remove("TableSizeBytes");
        }
        shown
    };
    let old = look(&crate::open(&before.fork().into(), None));
    Scenario {
        before,
        buckets: None,
        act: |db: &Database| {
            ok(db, operation, body.clone());
            look(db)
        },
        check: |db: &Database, new: Option<Value>| match new {
            Some(new) => assert_eq!(look(db), new, "{operation}"),
            None => assert_eq!(look(db), old, "{operation}"),
        },
    }
    .run();
}

#[test]
fn what_is_set_stays_set() {
    let name = json!({"TableName": "music"});
    let tags = json!([{"Key": "a", "Value": "b"}]);
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": ARN,
        }],
    });
    for (operation, body, show, shown) in [
        (
            "TagResource",
            json!({"ResourceArn": ARN, "Tags": tags}),
            "ListTagsOfResource",
            json!({"ResourceArn": ARN}),
        ),
        (
            "UpdateTable",
            json!({"TableName": "music", "DeletionProtectionEnabled": true}),
            "DescribeTable",
            name.clone(),
        ),
        (
            "UpdateTable",
            json!({"TableName": "music", "StreamSpecification": {"StreamEnabled": false}}),
            "DescribeTable",
            name.clone(),
        ),
        (
            "UpdateContributorInsights",
            json!({"TableName": "music", "ContributorInsightsAction": "ENABLE"}),
            "DescribeContributorInsights",
            name.clone(),
        ),
        (
            "PutResourcePolicy",
            json!({"ResourceArn": ARN, "Policy": policy.to_string()}),
            "GetResourcePolicy",
            json!({"ResourceArn": ARN}),
        ),
    ] {
        // A policy that is not there cannot be shown.
        if operation == "PutResourcePolicy" {
            policy_is_kept(&body, &shown);
        } else {
            is_kept(operation, &body, show, &shown);
        }
    }
}

fn policy_is_kept(body: &Value, shown: &Value) {
    Scenario {
        before: filled(&indexed()),
        buckets: None,
        act: |db: &Database| {
            ok(db, "PutResourcePolicy", body.clone());
            ok(db, "GetResourcePolicy", shown.clone())
        },
        check: |db: &Database, new: Option<Value>| {
            if let Some(new) = new {
                assert_eq!(ok(db, "GetResourcePolicy", shown.clone()), new);
            }
        },
    }
    .run();
}
