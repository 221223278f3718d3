//! Signatures. Those here were made by botocore, for noon of 1 November 2026.

use std::sync::Arc;

use keyloom_engine::ManualClock;
use keyloom_server::{Config, Credentials, RunningServer, Server};

use crate::client::{Client, Echo, Response, config};

const NOON: u64 = 1_793_534_400;
const DATE: &str = "20261101T120000Z";
const BODY: &str = "{\"TableName\":\"t\"}";
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261101/eu-west-1/dynamodb/\
    aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
    Signature=df0721f16718194b14881309f4c1ae562e4d52803d23594164f99e454ca65e6b";
const PRESIGNED: &str = "/?TableName=t&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=\
    AKIDEXAMPLE%2F20261101%2Feu-west-1%2Fdynamodb%2Faws4_request&X-Amz-Date=20261101T120000Z\
    &X-Amz-Expires=3600&X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-target\
    &X-Amz-Signature=1f8c19734eff454b91a0bfa93470ae2c52427d2a1b892039ccacc95fedef0bb1";

/// A server that knows AWS's example key, at a time.
fn server_at(seconds: u64) -> RunningServer {
    let credentials = vec![
        Credentials::new("OTHER", "secret"),
        Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    ];
    let clock = Arc::new(ManualClock::at_ms(seconds * 1000));
    Server::start(Config { credentials, clock, ..config() }, Echo).unwrap()
}

fn server() -> RunningServer {
    server_at(NOON)
}

/// A request whose parts a test can bend.
#[derive(Clone)]
struct Signed {
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Signed {
    fn unsigned() -> Self {
        let headers = vec![
            ("host", "localhost:8000".to_owned()),
            ("x-amz-target", "DynamoDB_20120810.DescribeTable".to_owned()),
            ("content-type", "application/x-amz-json-1.0".to_owned()),
        ];
        Self { path: "/".into(), headers, body: BODY.into() }
    }

    fn by_header() -> Self {
        Self::unsigned().with("x-amz-date", DATE).with("authorization", AUTHORIZATION)
    }

    fn by_query() -> Self {
        Self { path: PRESIGNED.into(), body: String::new(), ..Self::unsigned() }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn ask(&self, server: &RunningServer) -> Response {
        let headers: Vec<String> =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        Client::connect(server.addr()).ask(format!(
            "POST {} HTTP/1.1\r\n{}content-length: {}\r\n\r\n{}",
            self.path,
            headers.concat(),
            self.body.len(),
            self.body
        ))
    }

    #[track_caller]
    fn is_refused(&self, server: &RunningServer, code: &str, message: &str) {
        let response = self.ask(server);
        assert_eq!(response.status, 400);
        assert_eq!(response.error(), format!("com.amazon.coral.service#{code}"));
        assert!(response.text().contains(message), "{}", response.text());
    }
}

const MISMATCH: &str = "The request signature we calculated does not match the signature you \
    provided. Check your AWS Secret Access Key and signing method. Consult the service \
    documentation for details.";

#[test]
fn good_signatures_are_accepted() {
    let server = server();
    let response = Signed::by_header().ask(&server);
    assert_eq!((response.status, response.text()), (200, BODY));
    assert_eq!(Signed::by_query().ask(&server).status, 200);
}

#[test]
fn whatever_is_changed_after_signing_is_refused() {
    let server = server();
    let body = Signed { body: "{\"TableName\":\"u\"}".into(), ..Signed::by_header() };
    let longer = Signed { body: "{}".into(), ..Signed::by_query() };
    let query = Signed { path: "/?a=b".into(), ..Signed::by_header() };
    let presigned = Signed { path: PRESIGNED.replace("=t&", "=u&"), ..Signed::by_query() };
    let other_key = AUTHORIZATION.replace("AKIDEXAMPLE", "OTHER");
    let longest = AUTHORIZATION.replace("Signature=d", "Signature=0");
    for changed in [
        body,
        longer,
        query,
        presigned,
        Signed::by_header().with("x-amz-target", "DynamoDB_20120810.DeleteTable"),
        Signed::by_header().with("host", "elsewhere"),
        Signed::by_header().with("authorization", &other_key),
        Signed::by_header().with("authorization", &longest),
        Signed::by_header().with("authorization", &format!("{AUTHORIZATION}0")),
    ] {
        changed.is_refused(&server, "InvalidSignatureException", MISMATCH);
    }
}

/// Valid, and signed for the host alone: who sees the URL could choose what it does.
const PRESIGNED_HOST: &str = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=\
    AKIDEXAMPLE%2F20261101%2Feu-west-1%2Fdynamodb%2Faws4_request&X-Amz-Date=20261101T120000Z\
    &X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=7f867ed8d47036ee29ea1a2880763bafd2c973767053309659430ccb4ba2f117";

#[test]
fn an_aws_header_that_is_not_signed_is_refused() {
    let server = server();
    let message = "'x-amz-target' must be a 'SignedHeader'";
    let presigned = Signed { path: PRESIGNED_HOST.into(), ..Signed::by_query() };
    presigned.is_refused(&server, "InvalidSignatureException", message);
    // Neither may a header be added to what is signed, by either way.
    let message = "'x-amz-meta' must be a 'SignedHeader'";
    for request in [Signed::by_header(), Signed::by_query()] {
        let more = request.with("x-amz-meta", "more");
        more.is_refused(&server, "InvalidSignatureException", message);
    }
    // What proxies and browsers add has no meaning to AWS.
    let traced = Signed::by_header().with("x-amzn-trace-id", "Root=1").with("x-other", "1");
    assert_eq!(traced.ask(&server).status, 200);
}

#[test]
fn a_missing_signature_is_named() {
    let server = server();
    let message = "Request is missing Authentication Token";
    for request in [
        Signed::unsigned(),
        Signed::unsigned().with("authorization", "Basic dXNlcjpwYXNz"),
        Signed::unsigned().with("authorization", "AWS4"),
    ] {
        request.is_refused(&server, "MissingAuthenticationTokenException", message);
    }
}

#[test]
fn an_incomplete_signature_lists_what_it_lacks() {
    let server = server();
    Signed::unsigned().with("authorization", "AWS4-").is_refused(
        &server,
        "IncompleteSignatureException",
        "Authorization header requires 'Credential' parameter. Authorization header requires \
         'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. \
         Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. \
         Authorization=AWS4-",
    );
    let bare = Signed { path: "/?X-Amz-Algorithm=a&X-Amz-Date=d".into(), ..Signed::unsigned() };
    bare.is_refused(
        &server,
        "IncompleteSignatureException",
        "AWS query-string parameters must include 'X-Amz-Credential'. AWS query-string parameters \
         must include 'X-Amz-Signature'. AWS query-string parameters must include \
         'X-Amz-SignedHeaders'. Re-examine the query-string parameters.",
    );
    let twice = Signed { path: "/?X-Amz-Algorithm".into(), ..Signed::by_header() };
    let message = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as \
                   HTTP header.";
    twice.is_refused(&server, "InvalidSignatureException", message);
}

#[test]
fn a_malformed_claim_is_told_what_is_wrong_with_it() {
    let server = server();
    let scoped = |from: &str, to: &str| {
        Signed::by_header().with("authorization", &AUTHORIZATION.replace(from, to))
    };
    let (invalid, incomplete) = ("InvalidSignatureException", "IncompleteSignatureException");
    for (request, code, message) in [
        (Signed::by_header().with("x-amz-date", "201"), incomplete, "Got '201'"),
        (scoped("host;", ""), invalid, "'Host' must be a 'SignedHeader'"),
        (scoped("SHA256", "SHA1"), incomplete, "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA1'"),
        (scoped("/eu-west-1", ""), incomplete, "Credential must have exactly 5 slash-delimited"),
        (scoped("dynamodb", "s3"), invalid, "scoped to correct service: 'dynamodb'"),
        (scoped("aws4_request", "aws3"), invalid, "valid terminator: 'aws4_request', not 'aws3'"),
        (scoped("/20261101", "/20261031"), invalid, "'20261031' != '20261101', from '20261101T"),
    ] {
        request.is_refused(&server, code, message);
    }
}

#[test]
fn an_unknown_key_and_a_session_are_not_recognized() {
    let server = server();
    let message = "The security token included in the request is invalid.";
    let unknown = AUTHORIZATION.replace("AKIDEXAMPLE", "AKIDUNKNOWN");
    for request in [
        Signed::by_header().with("authorization", &unknown),
        Signed::by_header().with("x-amz-security-token", "token"),
    ] {
        request.is_refused(&server, "UnrecognizedClientException", message);
    }
}

#[test]
fn a_signature_holds_for_a_quarter_of_an_hour_around_its_time() {
    for edge in [server_at(NOON - 900), server_at(NOON + 900)] {
        assert_eq!(Signed::by_header().ask(&edge).status, 200);
    }
    Signed::by_header().is_refused(
        &server_at(NOON + 901),
        "InvalidSignatureException",
        "Signature expired: 20261101T120000Z is now earlier than 20261101T120001Z \
         (20261101T121501Z - 15 min.)",
    );
    Signed::by_header().is_refused(
        &server_at(NOON - 901),
        "InvalidSignatureException",
        "Signature not yet current: 20261101T120000Z is still later than 20261101T115959Z \
         (20261101T114459Z + 15 min.)",
    );
}

#[test]
fn a_presigned_request_holds_as_long_as_it_says() {
    assert_eq!(Signed::by_query().ask(&server_at(NOON + 3600)).status, 200);
    let late = server_at(NOON + 3601);
    Signed::by_query().is_refused(&late, "InvalidSignatureException", "Signature expired");
    let long = Signed { path: PRESIGNED.replace("=3600", "=604801"), ..Signed::by_query() };
    long.is_refused(&server(), "InvalidSignatureException", "must be less than a week");
}

#[test]
fn an_unknown_operation_is_told_before_a_missing_signature() {
    let request = Signed::unsigned().with("x-amz-target", "DynamoDB_20120810.ListTable");
    request.is_refused(&server(), "UnknownOperationException", "");
}

#[test]
fn a_refusal_reaches_a_client_that_is_still_sending_and_leaves_the_connection_open() {
    let server = server();
    let mut client = Client::connect(server.addr());
    for size in [10, 100_000, 10_000_000] {
        let response = client.ask(crate::client::post("PutItem", &"x".repeat(size)));
        assert_eq!(response.status, 400);
        assert!(response.error().ends_with("MissingAuthenticationTokenException"));
    }
}

#[test]
fn health_and_preflight_need_no_signature() {
    let server = server();
    for request in [
        "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "OPTIONS / HTTP/1.1\r\nhost: localhost\r\norigin: y\r\n\r\n",
    ] {
        assert_eq!(Client::connect(server.addr()).ask(request).status, 200);
    }
}

/// A signature for one service is refused by another, in any of their protocols.
#[cfg(feature = "insights")]
#[test]
fn a_signature_is_good_for_its_service_only() {
    let server = server();
    let monitoring = AUTHORIZATION.replace("/dynamodb/", "/monitoring/");
    let of_dynamodb = "Credential should be scoped to correct service: 'dynamodb'.";
    Signed::by_header().with("authorization", &monitoring).is_refused(
        &server,
        "InvalidSignatureException",
        of_dynamodb,
    );
    let path = "/service/GraniteServiceVersion20100801/operation/DescribeInsightRules";
    let target = "GraniteServiceVersion20100801.DescribeInsightRules";
    let form = "application/x-www-form-urlencoded";
    let body = "Action=DescribeInsightRules&Version=2010-08-01".to_owned();
    for request in [
        Signed { path: path.into(), ..Signed::by_header() },
        Signed::by_header().with("x-amz-target", target),
        Signed { body, ..Signed::by_header().with("content-type", form) },
    ] {
        let response = request.ask(&server);
        let text = String::from_utf8_lossy(&response.body);
        assert_eq!(response.status, 400, "{text}");
        let wanted = "Credential should be scoped to correct service: 'monitoring'.";
        assert!(text.contains(wanted) && text.contains("InvalidSignature"), "{text}");
        let response = request.with("authorization", &monitoring).ask(&server);
        let text = String::from_utf8_lossy(&response.body);
        assert!(!text.contains(wanted) && text.contains("does not match"), "{text}");
    }
}
