//! Documents that cannot be evaluated, and what is said of them.

use proptest::prelude::*;

use super::*;

fn refused(policy: Result<Policy, PolicyError>) -> String {
    policy.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

fn statement(elements: &str) -> String {
    format!(r#"{{"Version":"2012-10-17","Statement":[{{{elements}}}]}}"#)
}

/// Documents whose frame is wrong.
const DOCUMENTS: &[(&str, &str)] = &[
    ("", "the document is not JSON"),
    ("[]", "the document is not a JSON object"),
    ("{}", "the element Statement is missing"),
    (r#"{"Statement":[]}"#, "Statement: there must be a statement"),
    (r#"{"Statement":[1]}"#, "Statement[0]: it must be a JSON object"),
    (
        r#"{"Version":"2020-01-01","Statement":[]}"#,
        "Version: '2020-01-01' is not 2012-10-17 or 2008-10-17",
    ),
    (r#"{"Statement":[],"Statements":[]}"#, "the element Statements is not supported here"),
    (r#"{"Id":1,"Statement":[]}"#, "Id: it must be a string"),
];

/// The elements of a statement of an identity's policy.
const STATEMENTS: &[(&str, &str)] = &[
    (r#""Action":"*","Resource":"*","Effect":"Deny","Effect":"Allow""#, ": Effect is there twice"),
    (r#""Action":"*","Resource":"*""#, ": the element Effect is missing"),
    (r#""Effect":"allow","Action":"*","Resource":"*""#, ".Effect: 'allow' is not Allow or Deny"),
    (r#""Effect":"Allow","Resource":"*""#, ": the element Action is missing"),
    (r#""Effect":"Allow","Action":"*""#, ": the element Resource is missing"),
    (r#""Effect":"Allow","Action":[],"Resource":"*""#, ".Action: there must be a value"),
    (r#""Effect":"Allow","Action":["*",1],"Resource":"*""#, ".Action[1]: it must be a string"),
    (
        r#""Effect":"Allow","Action":"GetItem","Resource":"*""#,
        ".Action: 'GetItem' is not an action such as dynamodb:GetItem",
    ),
    (
        r#""Effect":"Allow","Action":"*:*","Resource":"*""#,
        ".Action: '*:*' is not an action such as dynamodb:GetItem",
    ),
    (
        r#""Effect":"Allow","Action":"*","NotAction":"*","Resource":"*""#,
        ": there can be only one of Action and NotAction",
    ),
    (
        r#""Effect":"Allow","Action":"*","Resource":"table/x""#,
        ".Resource: 'table/x' is neither an ARN of six parts nor '*'",
    ),
    (
        r#""Effect":"Allow","Action":"*","Resource":"*:*:*:*:*:*""#,
        ".Resource: '*:*:*:*:*:*' is neither an ARN of six parts nor '*'",
    ),
    (
        r#""Effect":"Allow","Action":"*","Resource":"arn:aws:dynamodb:*:*:table/${aws:x}""#,
        ".Resource: the variable '${aws:x}' is not supported",
    ),
    (
        r#""Effect":"Allow","Action":"*","Resource":"arn:a:d:r:1:table/${aws:username""#,
        ".Resource: the variable in 'arn:a:d:r:1:table/${aws:username' has no closing brace",
    ),
    (
        r#""Effect":"Allow","Action":"*","Resource":"*","Principal":"*""#,
        ".Principal: the policy of an identity names no principals",
    ),
];

#[test]
fn documents_of_another_form_are_refused() {
    for (text, said) in DOCUMENTS {
        assert_eq!(refused(Policy::identity(text)), *said, "{text}");
    }
    for (elements, said) in STATEMENTS {
        let text = statement(elements);
        assert_eq!(refused(Policy::identity(&text)), format!("Statement[0]{said}"), "{text}");
    }
    let allow = r#""Effect":"Allow","Action":"dynamodb:*","Resource":"*""#;
    let twice = format!(r#"{{"Statement":[{{"Sid":"a",{allow}}},{{"Sid":"a",{allow}}}]}}"#);
    assert_eq!(refused(Policy::identity(&twice)), "Statement[1].Sid: 'a' names two statements");
}

/// Conditions of a statement.
const CONDITIONS: &[(&str, &str)] = &[
    ("[]", ": it must be a JSON object"),
    (r#"{"StringEqual":{}}"#, ".StringEqual: there is no such condition operator"),
    (r#"{"stringequals":{}}"#, ".stringequals: there is no such condition operator"),
    (
        r#"{"ForSomeValues:StringEquals":{}}"#,
        ".ForSomeValues:StringEquals: there is no such condition operator",
    ),
    (r#"{"NullIfExists":{}}"#, ".NullIfExists: there is no such condition operator"),
    (r#"{"BinaryEquals":{}}"#, ".BinaryEquals: there is no such condition operator"),
    (r#"{"StringEquals":1}"#, ".StringEquals: it must be a JSON object"),
    (
        r#"{"StringEquals":{"aws:SourceVpc":"v"}}"#,
        ".StringEquals.aws:SourceVpc: the condition key is not supported",
    ),
    (
        r#"{"StringEquals":{"dynamodb:LeadingKey":"v"}}"#,
        ".StringEquals.dynamodb:LeadingKey: the condition key is not supported",
    ),
    (
        r#"{"StringEquals":{"aws:PrincipalTag/":"v"}}"#,
        ".StringEquals.aws:PrincipalTag/: the condition key is not supported",
    ),
    (
        r#"{"StringEquals":{"aws:username":[]}}"#,
        ".StringEquals.aws:username: there must be a value",
    ),
    (
        r#"{"StringEquals":{"aws:username":["a",{}]}}"#,
        ".StringEquals.aws:username[1]: a value must be a string, a number or a boolean",
    ),
    (
        r#"{"StringEquals":{"aws:username":"a","aws:username":"b"}}"#,
        ".StringEquals: aws:username is there twice",
    ),
    (r#"{"StringEquals":{},"StringEquals":{}}"#, ": StringEquals is there twice"),
    (
        r#"{"StringEquals":{"aws:username":"${dynamodb:LeadingKeys}"}}"#,
        ".StringEquals.aws:username: the variable '${dynamodb:LeadingKeys}' has several values and cannot be used",
    ),
    (
        r#"{"StringEquals":{"aws:username":"${aws:userid, x}"}}"#,
        ".StringEquals.aws:username: the default of the variable '${aws:userid, x}' must be in single quotes",
    ),
    (
        r#"{"StringEquals":{"aws:username":"${www.amazon.com:user_id}"}}"#,
        ".StringEquals.aws:username: the variable '${www.amazon.com:user_id}' is not supported",
    ),
    (
        r#"{"NumericEquals":{"aws:EpochTime":"x"}}"#,
        ".NumericEquals.aws:EpochTime: 'x' is not a number",
    ),
    (
        r#"{"DateLessThan":{"aws:CurrentTime":"tomorrow"}}"#,
        ".DateLessThan.aws:CurrentTime: 'tomorrow' is not a date such as 2026-11-18T00:00:00Z",
    ),
    (
        r#"{"Bool":{"aws:SecureTransport":"yes"}}"#,
        ".Bool.aws:SecureTransport: 'yes' is not true or false",
    ),
    (
        r#"{"IpAddress":{"aws:SourceIp":"10.0.0.0/33"}}"#,
        ".IpAddress.aws:SourceIp: '10.0.0.0/33' is not an IP address or a network such as 10.0.0.0/8",
    ),
    (
        r#"{"ArnLike":{"aws:PrincipalArn":"alice"}}"#,
        ".ArnLike.aws:PrincipalArn: 'alice' is neither an ARN of six parts nor '*'",
    ),
];

#[test]
fn conditions_that_cannot_be_evaluated_are_refused() {
    for (condition, said) in CONDITIONS {
        let text = statement(&format!(
            r#""Effect":"Allow","Action":"*","Resource":"*","Condition":{condition}"#
        ));
        let said = format!("Statement[0].Condition{said}");
        assert_eq!(refused(Policy::identity(&text)), said, "{text}");
    }
}

#[test]
fn principals_that_cannot_be_matched_are_refused() {
    for (principal, said) in [
        (r#""Sid":"x""#, ": the element Principal is missing"),
        (r#""Principal":"alice""#, ".Principal: it must be a JSON object"),
        (r#""Principal":{}"#, ".Principal: there must be a principal"),
        (
            r#""Principal":{"Federated":"x"}"#,
            ".Principal: the element Federated is not supported here",
        ),
        (r#""Principal":{"AWS":[]}"#, ".Principal.AWS: there must be a value"),
        (
            r#""Principal":{"AWS":"12345"}"#,
            ".Principal.AWS: '12345' is neither '*', an account number nor the ARN of a user or role",
        ),
        (
            r#""Principal":{"AWS":["*","arn:aws:iam::123456789012:user/*"]}"#,
            ".Principal.AWS[1]: 'arn:aws:iam::123456789012:user/*': wildcards inside a principal are not supported",
        ),
        (
            r#""Principal":"*","NotPrincipal":"*""#,
            ": there can be only one of Principal and NotPrincipal",
        ),
    ] {
        let text =
            statement(&format!(r#"{principal},"Effect":"Allow","Action":"*","Resource":"*""#));
        assert_eq!(refused(Policy::resource(&text)), format!("Statement[0]{said}"), "{text}");
    }
}

/// Pieces of documents, so that random ones get far.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#""Effect":"Allow","#.to_owned()),
        Just(r#""Effect":"Deny","#.to_owned()),
        Just(r#""Action":"dynamodb:*","#.to_owned()),
        Just(r#""NotAction":["*"],"#.to_owned()),
        Just(r#""Resource":"*","#.to_owned()),
        Just(r#""NotResource":"arn:aws:dynamodb:*:*:table/${aws:username}*","#.to_owned()),
        Just(r#""Principal":{"AWS":"123456789012"},"#.to_owned()),
        Just(r#""Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":"#.to_owned()),
        Just("}}".to_owned()),
        "\"[*?${}',:a-z]{0,16}\"",
        r#"[\[\]{}",:]{0,4}"#,
    ]
}

proptest! {
    #[test]
    fn no_document_breaks_the_parser_or_the_judge(
        pieces in proptest::collection::vec(piece(), 0..8),
        leading in "[*?a${}']{0,12}",
    ) {
        let text = format!(r#"{{"Version":"2012-10-17","Statement":{{{}"Sid":"x"}}}}"#, pieces.concat());
        let line = format!("GetItem table/music leading={leading}");
        if let Ok(policy) = Policy::identity(&text) {
            judge(&line, &Block { identity: vec![policy], ..Block::default() });
        }
        if let Ok(policy) = Policy::resource(&text) {
            judge(&line, &Block { resource: Some(policy), ..Block::default() });
        }
    }

    #[test]
    fn wildcards_match_as_a_plain_recursion_does(pattern in "[ab*?]{0,8}", text in "[ab]{0,8}") {
        fn plain(pattern: &[u8], text: &[u8]) -> bool {
            match (pattern.split_first(), text.split_first()) {
                (None, None) => true,
                (Some((b'*', rest)), _) if plain(rest, text) => true,
                (Some((b'*', _)), Some((_, text))) => plain(pattern, text),
                (Some((b'?', rest)), Some((_, text))) => plain(rest, text),
                (Some((one, rest)), Some((other, text))) => one == other && plain(rest, text),
                _ => false,
            }
        }
        let policy = statement(&format!(
            r#""Effect":"Allow","Action":"*","Resource":"*","Condition":{{"StringLike":{{"aws:UserAgent":"{pattern}"}}}}"#
        ));
        let block = Block { identity: vec![Policy::identity(&policy).unwrap()], ..Block::default() };
        let found = judge(&format!("GetItem table/x agent={text}"), &block) == Verdict::Allowed;
        prop_assert_eq!(found, plain(pattern.as_bytes(), text.as_bytes()));
    }
}

#[test]
fn many_wildcards_take_no_time() {
    let pattern = "*a".repeat(2000);
    let policy = statement(&format!(
        r#""Effect":"Allow","Action":"*","Resource":"*","Condition":{{"StringLike":{{"aws:UserAgent":"{pattern}b"}}}}"#
    ));
    let block = Block { identity: vec![Policy::identity(&policy).unwrap()], ..Block::default() };
    let line = format!("GetItem table/x agent={}", "a".repeat(4000));
    assert_ne!(judge(&line, &block), Verdict::Allowed);
}
