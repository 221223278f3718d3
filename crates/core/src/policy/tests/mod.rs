//! Policies by example: `cases.txt` has policies and requests with their verdicts, this file runs them.
//!
//! A block of the file begins with `source:`, the documentation that the cases follow, in words. Then come
//! policies (`identity:` and `resource:`, which may go on over several lines) and requests:
//!
//! ```text
//! GetItem table/music leading=alice tag.tenant=acme => allowed
//! ```

mod refusals;

use super::*;

const CASES: &str = include_str!("cases.txt");
const ACCOUNT: &str = "123456789012";

/// The policies of a block, and where they come from.
#[derive(Default)]
struct Block {
    source: String,
    identity: Vec<Policy>,
    resource: Option<Policy>,
}

fn arn(resource: &str) -> String {
    if resource.starts_with("arn:") {
        return resource.to_owned();
    }
    format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:{resource}")
}

fn list(text: &str) -> Known<Vec<String>> {
    match text {
        "?" => Known::Unknown,
        "" => Known::Is(Vec::new()),
        text => Known::Is(text.split(',').map(str::to_owned).collect()),
    }
}

/// Judges a request such as `GetItem table/music leading=alice`.
fn judge(line: &str, block: &Block) -> Verdict {
    let mut words = line.split_whitespace();
    let action = words.next().unwrap();
    let action =
        if action.contains(':') { action.to_owned() } else { format!("dynamodb:{action}") };
    let mut access = Access { action, resource: arn(words.next().unwrap()), ..Access::default() };
    let mut who = Principal {
        arn: format!("arn:aws:iam::{ACCOUNT}:user/alice"),
        user_id: "AIDAALICE".into(),
        tags: Vec::new(),
    };
    let mut how = Circumstances {
        now_ms: 1_794_963_723_000,
        source_ip: Some("203.0.113.7".parse().unwrap()),
        region: "us-east-1".into(),
        ..Circumstances::default()
    };
    for word in words {
        let (name, value) = word.split_once('=').unwrap();
        let text = || Some(value.to_owned());
        match name {
            "as" if value.starts_with("arn:") => who.arn = value.into(),
            "as" => who.arn = format!("arn:aws:iam::{ACCOUNT}:{value}"),
            "leading" => access.leading_keys = list(value),
            "attributes" => access.attributes = list(value),
            "select" => access.select = text(),
            "returns" => access.return_values = text(),
            "capacity" => access.return_consumed_capacity = text(),
            "enclosing" => access.enclosing_operation = text(),
            "fullscan" if value == "?" => access.full_table_scan = Known::Unknown,
            "fullscan" => access.full_table_scan = Known::Is(value == "true"),
            "ip" => how.source_ip = Some(value.parse().unwrap()),
            "now" => how.now_ms = u64::try_from(time::parse(value).unwrap()).unwrap() * 1000,
            "tls" => how.is_encrypted = value == "true",
            "agent" => how.user_agent = text(),
            "region" => how.region = value.into(),
            _ => match name.split_once('.') {
                Some(("tag", tag)) => who.tags.push((tag.into(), value.into())),
                Some(("request", tag)) => {
                    access.tags.get_or_insert_default().push((tag.into(), value.into()));
                }
                _ => panic!("unknown word {word}"),
            },
        }
    }
    let request = Request { access: &access, principal: &who, circumstances: &how };
    decide(&request, &block.identity, block.resource.as_ref())
}

fn verdict(text: &str) -> Verdict {
    match text {
        "allowed" => Verdict::Allowed,
        "explicit identity" => Verdict::ExplicitDeny(PolicyType::Identity),
        "explicit resource" => Verdict::ExplicitDeny(PolicyType::Resource),
        "implicit identity" => Verdict::ImplicitDeny(PolicyType::Identity),
        "implicit resource" => Verdict::ImplicitDeny(PolicyType::Resource),
        other => panic!("unknown verdict {other}"),
    }
}

fn add_policy(block: &mut Block, kind: &str, text: &str) {
    // Most cases are about something else than the frame of the document.
    let text = match text.trim() {
        text if text.contains("\"Statement\"") => text.to_owned(),
        text => format!(r#"{{"Version": "2012-10-17", "Statement": [{text}]}}"#),
    };
    let wrong = |error: PolicyError| -> Policy { panic!("{}: {error}\n{text}", block.source) };
    match kind {
        "identity" => {
            let policy = Policy::identity(&text).unwrap_or_else(wrong);
            block.identity.push(policy);
        }
        _ => block.resource = Some(Policy::resource(&text).unwrap_or_else(wrong)),
    }
}

#[test]
fn requests_are_judged_as_documented() {
    let (mut cases, mut failures) = (0, Vec::new());
    let mut block = Block::default();
    let mut policy: Option<(&str, String)> = None;
    for line in CASES.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if line.starts_with(' ') {
            policy.as_mut().unwrap().1.push_str(line);
            continue;
        }
        if let Some((kind, text)) = policy.take() {
            add_policy(&mut block, kind, &text);
        }
        if let Some(source) = line.strip_prefix("source:") {
            block = Block { source: source.trim().into(), ..Block::default() };
        } else if let Some(text) = line.strip_prefix("identity:") {
            policy = Some(("identity", text.into()));
        } else if let Some(text) = line.strip_prefix("resource:") {
            policy = Some(("resource", text.into()));
        } else {
            let (request, expected) = line.split_once("=>").unwrap();
            let (found, expected) = (judge(request, &block), verdict(expected.trim()));
            cases += 1;
            if found != expected {
                failures.push(format!("{}\n  {line}\n  but {found:?}", block.source));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {cases}:\n{}", failures.len(), failures.join("\n"));
    assert!(cases >= 150, "{cases} cases");
}
