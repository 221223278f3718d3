//! Responses: status, headers, checksum, encoding.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use keyloom_engine::{Error, Reply};

use crate::encoding::Coding;
use crate::origin::Refusal;
use crate::request_id;
use crate::response_body::ResponseBody;

/// The type of all responses.
pub(crate) type HttpResponse = Response<ResponseBody>;

pub(crate) const X_AMZN_REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const X_AMZ_CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");
/// Sent with a CORS preflight from a public page to a private network.
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("keyloom/", env!("CARGO_PKG_VERSION")));
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-amzn-requestid,x-amz-crc32,x-amzn-errortype,x-amzn-query-error,smithy-protocol,date",
);

/// Smaller bodies are never compressed: they fit into a packet or two, and compressing them would
/// cost more than sending them.
const MIN_PACKED_BYTES: usize = 4096;

/// A response whose buffer is larger than its content by more than this is reallocated, because it
/// is counted by its length.
const MAX_WASTE_BYTES: usize = 16 << 10;

/// The media types of the protocol. The response has the media type of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    /// `application/x-amz-json-1.0`, used by every SDK.
    AmzJson,
    /// `application/json`, for hand-written requests.
    Json,
}

impl MediaType {
    /// Parses a `Content-Type`, ignoring parameters after a semicolon.
    pub(crate) fn of(header: &HeaderValue) -> Option<Self> {
        let text = header.to_str().ok()?;
        match text.split(';').next().unwrap_or_default().trim() {
            "application/x-amz-json-1.0" => Some(Self::AmzJson),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::AmzJson => "application/x-amz-json-1.0",
            Self::Json => "application/json",
        })
    }
}

/// A response without its request id.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    body: Bytes,
    encoding: Encoding,
}

/// The encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// Uncompressed.
    Plain,
    /// Uncompressed; the client accepts this coding.
    MayPack(Coding),
    /// Compressed.
    Packed(Coding),
}

impl Answer {
    /// The engine's reply.
    pub(crate) fn reply(mut reply: Reply, media_type: MediaType) -> Self {
        if reply.body.capacity() - reply.body.len() > MAX_WASTE_BYTES {
            reply.body.shrink_to_fit();
        }
        Self {
            status: StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            content_type: Some(media_type.header()),
            body: reply.body.into(),
            encoding: Encoding::Plain,
        }
    }

    /// An error detected by the server.
    pub(crate) fn error(error: &Error, media_type: MediaType) -> Self {
        Self::reply(Reply::from(error), media_type)
    }

    /// A plain-text page.
    pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, content_type: Some(TEXT), body: body.into(), encoding: Encoding::Plain }
    }

    /// A page of metrics.
    pub(crate) fn metrics(body: String) -> Self {
        Self { content_type: Some(PROMETHEUS), ..Self::text(StatusCode::OK, body) }
    }

    /// A response of another media type.
    pub(crate) fn other(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let content_type = Some(HeaderValue::from_static(content_type));
        Self { content_type, ..Self::text(status, body) }
    }

    /// A JSON page.
    pub(crate) fn json(body: String) -> Self {
        Self { content_type: Some(MediaType::Json.header()), ..Self::text(StatusCode::OK, body) }
    }

    /// DynamoDB's response to a request that is not in its protocol.
    pub(crate) fn not_found() -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            content_type: None,
            body: Bytes::from_static(b"<UnknownOperationException/>\n"),
            encoding: Encoding::Plain,
        }
    }

    /// A status without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, content_type: None, body: Bytes::new(), encoding: Encoding::Plain }
    }

    /// The server has no memory; SDKs retry.
    pub(crate) fn unavailable(media_type: MediaType) -> Self {
        let body = br#"{"__type":"com.amazon.coral.availability#ServiceUnavailableException","message":"The server is out of memory for requests; try again."}"#;
        Self::reply(Reply { status: 503, body: body.to_vec() }, media_type)
    }

    /// The request's origin or host is not allowed.
    pub(crate) fn refused(refusal: &Refusal) -> Self {
        let status = match refusal {
            Refusal::NoHost => StatusCode::BAD_REQUEST,
            Refusal::Host(_) | Refusal::Origin(_) => StatusCode::FORBIDDEN,
        };
        let body = Reply::from(&Error::AccessDenied(refusal.to_string())).body;
        Self { status, ..Self::reply(Reply { status: 403, body }, MediaType::Json) }
    }

    /// Sets the coding that the client accepts.
    pub(crate) fn accept(&mut self, coding: Option<Coding>) {
        if let Some(coding) = coding.filter(|_| self.body.len() >= MIN_PACKED_BYTES) {
            self.encoding = Encoding::MayPack(coding);
        }
    }

    /// The size of a body that is worth compressing.
    pub(crate) fn bytes_to_pack(&self) -> Option<usize> {
        matches!(self.encoding, Encoding::MayPack(_)).then_some(self.body.len())
    }

    /// Compresses the body, unless that would not make it smaller.
    pub(crate) fn pack(mut self) -> Self {
        let Encoding::MayPack(coding) = self.encoding else { return self };
        if let Some(packed) = coding.pack(&self.body) {
            self.body = packed.into();
            self.encoding = Encoding::Packed(coding);
        }
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// Whether the error is a throttle, by the start of its body.
    pub(crate) fn is_throttle(&self) -> bool {
        const CODES: [&[u8]; 3] = [
            b"ThroughputExceededException\"",
            b"#ThrottlingException\"",
            b"#RequestLimitExceeded\"",
        ];
        self.status == StatusCode::BAD_REQUEST && {
            let start = self.body.get(..self.body.len().min(120)).unwrap_or_default();
            CODES.iter().any(|code| start.windows(code.len()).any(|window| window == *code))
        }
    }

    /// The response with its checksum and a new request id. hyper adds length and date.
    pub(crate) fn into_response(self) -> HttpResponse {
        let mut headers = HeaderMap::with_capacity(8);
        if let Some(content_type) = self.content_type {
            headers.insert(header::CONTENT_TYPE, content_type);
        }
        if let Encoding::Packed(coding) = self.encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        // SDKs check the bytes as received, before decompression.
        headers.insert(X_AMZ_CRC32, HeaderValue::from(crc32fast::hash(&self.body)));
        if let Ok(id) = HeaderValue::from_bytes(&request_id::next()) {
            headers.insert(X_AMZN_REQUEST_ID, id);
        }
        headers.insert(header::SERVER, SERVER);
        let mut response = Response::new(ResponseBody::new(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}

/// Lets a page of this origin read the response.
pub(crate) fn allow_origin(response: &mut HttpResponse, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    // Caches must not serve one origin's response to another.
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
}

/// Responds to a CORS preflight.
pub(crate) fn preflight(asked: &HeaderMap) -> HttpResponse {
    let mut response = Answer::empty(StatusCode::OK).into_response();
    let headers = response.headers_mut();
    let pairs = [
        (header::ACCESS_CONTROL_REQUEST_HEADERS, header::ACCESS_CONTROL_ALLOW_HEADERS),
        (header::ACCESS_CONTROL_REQUEST_METHOD, header::ACCESS_CONTROL_ALLOW_METHODS),
    ];
    if asked.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    for (question, answer) in pairs {
        if let Some(value) = asked.get(question) {
            headers.insert(answer, value.clone());
        }
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("172800"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_ignore_parameters_and_nothing_else() {
        let table = [
            ("application/x-amz-json-1.0", Some(MediaType::AmzJson)),
            ("  application/json  ;  charset=utf-8", Some(MediaType::Json)),
            ("application/x-amz-json-1.1", None),
            ("application/jsonx", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(MediaType::of(&HeaderValue::from_static(text)), expected, "{text}");
        }
    }

    /// The checksum that DynamoDB itself sends with this body.
    #[test]
    fn the_checksum_is_of_the_bytes_sent() {
        let response = Answer::not_found().into_response();
        assert_eq!(response.headers()[X_AMZ_CRC32], "3552371480");
        assert_eq!(response.headers()[X_AMZN_REQUEST_ID].len(), 52);
    }

    #[test]
    fn throttles_are_recognised_by_their_type() {
        let answer = |status, body: &str| {
            Answer::reply(Reply { status, body: body.into() }, MediaType::Json).is_throttle()
        };
        let name = "com.amazonaws.dynamodb.v20120810#";
        for code in [
            "ProvisionedThroughputExceededException",
            "ThrottlingException",
            "RequestLimitExceeded",
        ] {
            assert!(answer(400, &format!("{{\"__type\":\"{name}{code}\"}}")), "{code}");
        }
        assert!(!answer(400, &format!("{{\"__type\":\"{name}ValidationException\"}}")));
        assert!(!answer(200, "{\"S\":\"#ThrottlingException\"}"));
    }
}
