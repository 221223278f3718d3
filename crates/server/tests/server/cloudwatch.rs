//! CloudWatch on the same address: how its requests are recognised, and who may send them.

use std::sync::Arc;

use keyloom_engine::Database;
use keyloom_engine::insights::InsightRule;
use keyloom_server::{Backend, Credentials, Server};

use crate::client::{Client, Gate, ask, config, counter, echo, post};

const RULES: &str = "/service/GraniteServiceVersion20100801/operation/DescribeInsightRules";

fn typed(path: &str, kind: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn form(body: &str) -> String {
    typed("/", "application/x-www-form-urlencoded; charset=utf-8", body)
}

fn lossy(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

fn json(operation: &str) -> String {
    post(operation, "{}").replace("DynamoDB_20120810", "GraniteServiceVersion20100801")
}

#[test]
fn each_protocol_gets_a_response_in_kind() {
    let server = Server::start(config(), Database::memory()).unwrap();
    let response = ask(&server, json("DescribeInsightRules"));
    assert_eq!((response.status, response.text()), (200, "{\"InsightRules\":[]}"));
    let response = ask(&server, typed(RULES, "application/cbor", ""));
    assert_eq!((response.status, &response.body[..]), (200, &b"\xa1\x6cInsightRules\x80"[..]));
    assert_eq!(response.header("smithy-protocol"), Some("rpc-v2-cbor"));
    let response = ask(&server, form("Action=DescribeInsightRules&Version=2010-08-01"));
    assert_eq!(response.header("content-type"), Some("text/xml"));
    let id = response.header("x-amzn-requestid").unwrap();
    assert!(response.text().contains(&format!("<RequestId>{id}</RequestId>")));
    assert!(response.text().contains("<InsightRules></InsightRules>"), "{}", response.text());
}

#[test]
fn unsupported_operations_name_the_supported_ones() {
    let server = echo();
    let path = RULES.replace("DescribeInsightRules", "PutMetricData");
    for request in [
        json("PutMetricData"),
        typed(&path, "application/cbor", ""),
        form("Action=PutMetricData&Version=2010-08-01"),
    ] {
        let response = ask(&server, &request);
        assert_eq!(response.status, 400, "{request}");
        assert!(lossy(&response.body).contains("GetInsightRuleReport"), "{request}");
    }
    for request in [
        form("Action=ListQueues&Version=2012-11-05"),
        form("hi"),
        typed("/service/Other/operation/DescribeInsightRules", "application/cbor", ""),
        typed(RULES, "application/cbor", "").replace("POST", "PUT"),
    ] {
        let response = ask(&server, &request);
        assert_eq!(response.text(), "<UnknownOperationException/>\n", "{request}");
    }
}

#[test]
fn malformed_requests_are_refused() {
    let server = echo();
    for request in [
        json("DescribeInsightRules").replace("{}", "{["),
        typed(RULES, "application/cbor", "hello"),
        form("Action=GetInsightRuleReport&Version=2010-08-01&Metrics.member.x=Sum"),
    ] {
        assert_eq!(ask(&server, &request).status, 400, "{request}");
    }
    let large = typed(RULES, "application/cbor", &"a".repeat(100_000));
    assert_eq!(ask(&server, large).status, 413);
}

#[test]
fn unsigned_requests_are_refused_in_every_protocol() {
    let credentials = vec![Credentials::new("AKID", "secret")];
    let config = keyloom_server::Config { credentials, ..config() };
    let server = Server::start(config, Database::memory()).unwrap();
    for request in [
        json("DescribeInsightRules"),
        typed(RULES, "application/cbor", ""),
        form("Action=DescribeInsightRules&Version=2010-08-01"),
    ] {
        let response = ask(&server, &request);
        assert_eq!(response.status, 400, "{request}");
        assert!(lossy(&response.body).contains("MissingAuthenticationToken"), "{request}");
    }
}

/// Lists its rules once released.
struct Slow(Arc<Gate>);

impl Backend for Slow {
    fn call(&self, target: &str, body: &[u8]) -> keyloom_engine::Reply {
        self.0.call(target, body)
    }

    fn insight_rules(&self) -> Vec<InsightRule> {
        self.0.call("", b"");
        Vec::new()
    }
}

#[test]
fn every_protocol_is_counted() {
    let (gate, sees_call, opens) = Gate::new();
    let server = Server::start(config(), Slow(gate)).unwrap();
    for request in [
        json("DescribeInsightRules"),
        typed(RULES, "application/cbor", ""),
        form("Action=DescribeInsightRules&Version=2010-08-01"),
    ] {
        let mut client = Client::connect(server.addr());
        client.send(&request);
        sees_call.recv().unwrap();
        assert_eq!(counter(&server, "keyloom_requests_in_flight "), 1, "{request}");
        opens.send(()).unwrap();
        assert_eq!(client.receive().status, 200, "{request}");
    }
    ask(&server, json("PutMetricData"));
    ask(&server, form("Action=ListQueues&Version=2012-11-05"));
    for (operation, status, count) in
        [("CloudWatch", 200, 3), ("CloudWatch", 400, 1), ("Unknown", 404, 1)]
    {
        let row =
            format!("keyloom_requests_total{{operation=\"{operation}\",status=\"{status}\"}} ");
        assert_eq!(counter(&server, &row), count, "{row}");
    }
    assert_eq!(counter(&server, "keyloom_requests_in_flight "), 0);
}
