//! Protection against web pages: checks the `Host` and the `Origin` of a request.
//!
//! A server without credentials trusts whoever can connect, including its user's browser, which
//! sends requests on behalf of any page. Two rules keep foreign pages out:
//!
//! - **Origin.** Browsers send the origin of the page. Pages of this machine are allowed, and those
//!   listed in [`Cors`]; others are refused before anything is executed, because a request can do
//!   harm even if its response is never shown.
//! - **Host.** A page can make its own name resolve to this machine (DNS rebinding), which makes it
//!   same-origin with the server. So a server on a loopback address accepts only loopback names and
//!   the configured ones.
//!
//! With credentials, a page without a signature can do nothing, and nothing is refused here;
//! responses are still shown only to allowed origins.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use hyper::Version;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

/// Origins that may send requests besides those of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// Whether every origin is allowed.
    pub any: bool,
    /// The origins that are allowed.
    pub origins: Vec<Origin>,
}

/// An origin as browsers write it: `https://app.example.com`, `http://10.0.0.7:3000`, or `null` for
/// pages without one, such as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

/// The text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnOrigin;

impl fmt::Display for NotAnOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "it must be an origin such as https://app.example.com or http://localhost:3000, \
             without a path; `null` for pages without one, `*` for all",
        )
    }
}

impl std::error::Error for NotAnOrigin {}

impl FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        if text == "null" {
            return Ok(Self(text.to_owned()));
        }
        let (scheme, authority) = text.split_once("://").ok_or(NotAnOrigin)?;
        let is_scheme =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
            return Err(NotAnOrigin);
        }
        let scheme = scheme.to_ascii_lowercase();
        let (host, port) = split_port(authority).ok_or(NotAnOrigin)?;
        let host = host.to_ascii_lowercase();
        // Browsers omit the scheme's default port.
        Ok(Self(match (scheme.as_str(), port) {
            (_, None) | ("http", Some(80)) | ("https", Some(443)) => format!("{scheme}://{host}"),
            (_, Some(port)) => format!("{scheme}://{host}:{port}"),
        }))
    }
}

impl Cors {
    /// Parses a list of origins; `*` allows all.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, NotAnOrigin> {
        let mut cors = Self::default();
        for text in texts {
            match text {
                "*" => cors.any = true,
                _ => cors.origins.push(text.parse()?),
            }
        }
        Ok(cors)
    }

    fn allows(&self, origin: &str) -> bool {
        self.any || is_loopback_origin(origin) || self.origins.iter().any(|one| one.0 == origin)
    }
}

/// Whether an origin is on this machine.
fn is_loopback_origin(origin: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.and_then(split_port).is_some_and(|(host, _)| is_loopback_host(host))
}

/// Splits an authority into host and port; `None` if it is malformed.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, rest) = authority.split_at_checked(end)?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        // `Host: localhost:` is unusual but valid.
        Some("") => None,
        Some(port) => Some(port.parse().ok()?),
        None => return None,
    };
    is_host.then_some((host, port))
}

/// Whether a host is this machine, independent of DNS.
fn is_loopback_host(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = address.and_then(|text| text.parse::<Ipv6Addr>().ok()) {
        return IpAddr::V6(address).to_canonical().is_loopback();
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return address.is_loopback();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let ends_in = |end: &str| {
        let at = name.len().checked_sub(end.len());
        at.and_then(|at| name.get(at..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    name.eq_ignore_ascii_case("localhost") || ends_in(".localhost")
}

/// The origins and hosts that this server accepts.
#[derive(Debug)]
pub(crate) struct OriginPolicy {
    cors: Cors,
    /// Host names accepted besides loopback ones; `None` accepts any.
    hosts: Option<Vec<String>>,
    /// Whether requests must be signed.
    are_signed: bool,
}

/// The origin of an accepted request, which decides the CORS headers of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// Not sent by a page.
    NotAPage,
    /// A page that may read the response: the value for its browser.
    Page(HeaderValue),
    /// A page that may not read the response.
    ForeignPage,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Sent by a page of this origin.
    Origin(String),
    /// Addressed to another host.
    Host(String),
    /// No host, or two different ones.
    NoHost,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => write!(
                f,
                "Requests from the origin {origin} are not allowed. To allow them, start the server \
                 with --cors {origin}"
            ),
            Self::Host(host) => write!(
                f,
                "This server listens on a loopback address without credentials and accepts only \
                 loopback names, not the host {host}, as protection against DNS rebinding. Use \
                 localhost or 127.0.0.1, or start the server with --advertise HOST:PORT, or with \
                 credentials"
            ),
            Self::NoHost => f.write_str("The request must have one Host header"),
        }
    }
}

impl OriginPolicy {
    /// `hosts` are additional names of a server on a loopback address; other servers accept any
    /// name.
    pub(crate) fn new(cors: Cors, hosts: Option<Vec<String>>, are_signed: bool) -> Self {
        Self { cors, hosts, are_signed }
    }

    /// Checks the head of a request.
    pub(crate) fn check_request(&self, head: &Parts) -> Result<RequestOrigin, Refusal> {
        if !self.are_signed && self.hosts.is_some() {
            self.check_host(head)?;
        }
        if !head.headers.contains_key(header::ORIGIN) {
            return Ok(RequestOrigin::NotAPage);
        }
        self.check_origin(&head.headers)
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<RequestOrigin, Refusal> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (first, second) = (origins.next(), origins.next());
        let text = first.and_then(|origin| origin.to_str().ok()).unwrap_or_default();
        match first {
            Some(origin) if second.is_none() && self.cors.allows(text) => {
                let shown =
                    if self.cors.any { HeaderValue::from_static("*") } else { origin.clone() };
                Ok(RequestOrigin::Page(shown))
            }
            _ if self.are_signed => Ok(RequestOrigin::ForeignPage),
            _ => Err(Refusal::Origin(printable(text))),
        }
    }

    /// Every host in the request must be accepted: the header, and the URI of a request in absolute
    /// form or of HTTP/2. HTTP/1.0 allows requests without a host; browsers do not send them.
    fn check_host(&self, head: &Parts) -> Result<(), Refusal> {
        let mut hosts = head.headers.get_all(header::HOST).iter();
        let (first, second) = (hosts.next(), hosts.next());
        let authority = head.uri.authority().map(Authority::as_str);
        if second.is_some() {
            return Err(Refusal::NoHost);
        }
        if let Some(host) = first {
            self.check(host.to_str().map_err(|_| Refusal::Host("?".to_owned()))?)?;
        }
        match authority {
            Some(authority) => self.check(authority),
            None if first.is_none() && head.version > Version::HTTP_10 => Err(Refusal::NoHost),
            None => Ok(()),
        }
    }

    fn check(&self, authority: &str) -> Result<(), Refusal> {
        let ours = self.hosts.as_deref().unwrap_or_default();
        let is_ours = |host: &str| ours.iter().any(|one| one.eq_ignore_ascii_case(host));
        match split_port(authority) {
            Some((host, _)) if is_loopback_host(host) || is_ours(host) => Ok(()),
            _ => Err(Refusal::Host(printable(authority))),
        }
    }
}

/// The host of a configured `HOST:PORT`.
pub(crate) fn host_of(endpoint: &str) -> String {
    split_port(endpoint).map_or(endpoint, |(host, _)| host).to_ascii_lowercase()
}

/// Client text, escaped and shortened for an error message.
fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    text.chars().take(100).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn head(version: Version, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::post(uri).version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn open() -> OriginPolicy {
        OriginPolicy::new(Cors::default(), Some(vec!["db.test".into()]), false)
    }

    #[test]
    fn loopback_hosts_are_recognised() {
        for host in [
            "localhost",
            "LocalHost:8000",
            "localhost.",
            "a.b.localhost:1",
            "127.0.0.1",
            "127.9.8.7:80",
            "[::1]",
            "[::1]:8000",
            "[::ffff:127.0.0.1]:8000",
            "db.test:9",
            "DB.TEST",
        ] {
            let checked = open().check_request(&head(Version::HTTP_11, "/", &[("host", host)]));
            assert_eq!(checked, Ok(RequestOrigin::NotAPage), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "evil.test:8000",
            "localhost.evil.test",
            "evil-localhost",
            "127.0.0.1.evil.test",
            "0.0.0.0",
            "[::]",
            "10.0.0.1",
            "[::1].evil.test",
            "localhost:80:80",
            "user@localhost",
            "localhost@evil.test",
            "localhost/",
            "xdb.test",
        ] {
            let checked = open().check_request(&head(Version::HTTP_11, "/", &[("host", host)]));
            assert_eq!(checked, Err(Refusal::Host(host.to_owned())), "{host}");
        }
    }

    #[test]
    fn every_host_of_a_request_is_checked() {
        let evil = Err(Refusal::Host("evil.test".to_owned()));
        let ok = Ok(RequestOrigin::NotAPage);
        for (version, uri, headers, expected) in [
            (Version::HTTP_11, "http://evil.test/", &[("host", "localhost")][..], &evil),
            (Version::HTTP_11, "http://localhost/", &[("host", "evil.test")], &evil),
            (Version::HTTP_2, "http://evil.test/", &[], &evil),
            (Version::HTTP_2, "http://localhost/", &[("host", "evil.test")], &evil),
            (Version::HTTP_2, "http://localhost:1/", &[], &ok),
            (Version::HTTP_10, "/", &[], &ok),
            (Version::HTTP_10, "/", &[("host", "evil.test")], &evil),
            (Version::HTTP_11, "/", &[], &Err(Refusal::NoHost)),
            (Version::HTTP_2, "/", &[], &Err(Refusal::NoHost)),
            (
                Version::HTTP_11,
                "/",
                &[("host", "localhost"), ("host", "localhost")],
                &Err(Refusal::NoHost),
            ),
        ] {
            assert_eq!(
                open().check_request(&head(version, uri, headers)),
                *expected,
                "{uri} {headers:?}"
            );
        }
        // Requests that need a signature may use any name.
        let signed = OriginPolicy::new(Cors::default(), Some(Vec::new()), true);
        let named = OriginPolicy::new(Cors::default(), None, false);
        for policy in [signed, named] {
            let checked =
                policy.check_request(&head(Version::HTTP_11, "/", &[("host", "evil.test")]));
            assert_eq!(checked, ok);
        }
    }

    fn origin(policy: &OriginPolicy, origin: &str) -> Result<RequestOrigin, Refusal> {
        policy.check_request(&head(
            Version::HTTP_11,
            "/",
            &[("host", "localhost"), ("origin", origin)],
        ))
    }

    fn page(shown: &str) -> RequestOrigin {
        RequestOrigin::Page(HeaderValue::from_str(shown).unwrap())
    }

    #[test]
    fn loopback_and_listed_origins_are_allowed() {
        let cors = Cors::of(["HTTPS://App.Example.com:443", "null"]).unwrap();
        let policy = OriginPolicy::new(cors, Some(Vec::new()), false);
        for text in [
            "http://localhost:3000",
            "https://localhost",
            "http://127.0.0.1:1",
            "http://[::1]:5173",
            "http://app.localhost",
            "https://app.example.com",
            "null",
        ] {
            assert_eq!(origin(&policy, text), Ok(page(text)), "{text}");
        }
        for text in [
            "",
            "http://evil.test",
            "http://localhost.evil.test",
            "http://evil.test#http://localhost",
            "http://app.example.com",
            "https://app.example.com:8443",
            "https://app.example.com.evil.test",
            "file://localhost",
            "chrome-extension://abc",
            "http://localhost:x",
        ] {
            assert_eq!(origin(&policy, text), Err(Refusal::Origin(text.into())), "{text}");
        }
        assert!(origin(&open(), "null").is_err());
        let twice = [("host", "localhost"), ("origin", "null"), ("origin", "null")];
        assert!(policy.check_request(&head(Version::HTTP_11, "/", &twice)).is_err());
        let any = OriginPolicy::new(Cors::of(["*"]).unwrap(), Some(Vec::new()), false);
        assert_eq!(origin(&any, "http://evil.test"), Ok(page("*")));
        let signed = OriginPolicy::new(Cors::default(), None, true);
        assert_eq!(origin(&signed, "http://evil.test"), Ok(RequestOrigin::ForeignPage));
    }

    #[test]
    fn malformed_origins_are_refused() {
        for text in [
            "",
            "example.com",
            "https://",
            "https://a.b/path",
            "https://a.b/",
            "https://a b",
            "https://a.b:x",
            "://a.b",
            "https://*.a.b",
        ] {
            assert_eq!(text.parse::<Origin>(), Err(NotAnOrigin), "{text}");
        }
    }
}
