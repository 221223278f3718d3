//! Tags of tables.

use serde_json::json;

use crate::{Fixture, table};

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/music";

#[test]
fn tags_are_added_replaced_removed_and_listed_in_pages() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({"Tags": [{"Key": "k00", "Value": "first"}]})));
    let tags: Vec<_> = (0..25).map(|n| json!({"Key": format!("k{n:02}"), "Value": "v"})).collect();
    f.ok("TagResource", json!({"ResourceArn": ARN, "Tags": tags}));
    f.ok("UntagResource", json!({"ResourceArn": ARN, "TagKeys": ["k01", "nobody"]}));
    let mut keys = Vec::new();
    let mut body = json!({"ResourceArn": ARN});
    loop {
        let page = f.ok("ListTagsOfResource", body.clone());
        for tag in page["Tags"].as_array().unwrap() {
            assert_eq!(tag["Value"], "v");
            keys.push(tag["Key"].as_str().unwrap().to_owned());
        }
        match page.get("NextToken") {
            Some(token) => body["NextToken"] = token.clone(),
            None => break,
        }
    }
    assert_eq!(keys.len(), 24);
    assert!(!keys.contains(&"k01".to_owned()));
}

#[test]
fn what_cannot_be_tagged_is_refused() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    let missing = "arn:aws:dynamodb:us-east-1:000000000000:table/missing";
    let tag = json!([{"Key": "a", "Value": "b"}]);
    let many: Vec<_> = (0..51).map(|n| json!({"Key": format!("k{n}"), "Value": "v"})).collect();
    for (operation, body, code, message) in [
        ("TagResource", json!({}), "ValidationException", "Invalid TableArn"),
        (
            "TagResource",
            json!({"ResourceArn": "not-a-valid-arn", "Tags": tag}),
            "ValidationException",
            "One or more parameter values were invalid: ARNs must start with 'arn:': not-a-valid-arn",
        ),
        (
            "TagResource",
            json!({"ResourceArn": ARN}),
            "ValidationException",
            "1 validation error detected: Value null at 'tags' failed to satisfy constraint: Member \
             must not be null",
        ),
        (
            "TagResource",
            json!({"ResourceArn": ARN, "Tags": []}),
            "ValidationException",
            "Atleast one Tag needs to be provided as Input.",
        ),
        (
            "TagResource",
            json!({"ResourceArn": missing, "Tags": tag}),
            "ResourceNotFoundException",
            "Requested resource not found: ResourcArn: \
             arn:aws:dynamodb:us-east-1:000000000000:table/missing not found",
        ),
        (
            "TagResource",
            json!({"ResourceArn": ARN, "Tags": many}),
            "ValidationException",
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ),
        (
            "UntagResource",
            json!({"ResourceArn": ARN, "TagKeys": []}),
            "ValidationException",
            "Atleast one Tag Key needs to be provided as Input.",
        ),
        (
            "UntagResource",
            json!({"ResourceArn": missing, "TagKeys": ["a"]}),
            "ResourceNotFoundException",
            "Requested resource not found",
        ),
        (
            "ListTagsOfResource",
            json!({"ResourceArn": missing}),
            "AccessDeniedException",
            "User: arn:aws:iam::000000000000:root is not authorized to perform: \
             dynamodb:ListTagsOfResource on resource: \
             arn:aws:dynamodb:us-east-1:000000000000:table/missing",
        ),
        (
            "ListTagsOfResource",
            json!({"ResourceArn": ARN, "NextToken": "?"}),
            "ValidationException",
            "Invalid NextToken",
        ),
    ] {
        let found = f.err(operation, body);
        assert_eq!((found.0.as_str(), found.1.as_str()), (code, message));
    }
}
