//! Who a browser may ask for: the `Host` and the `Origin` of a request.
//!
//! A server that needs no credentials trusts whoever can connect, and so its user's browser, which asks
//! on behalf of any page. Two rules keep strange pages out:
//!
//! - **Origin.** Browsers name the page that asks. Pages of this machine may ask, and those that
//!   [`Cors`] names; others are refused before anything is executed, because a request can do harm
//!   even if its answer is never shown.
//! - **Host.** A page can have its own name resolve to this machine (DNS rebinding), and then it is of
//!   one origin with the server. So a server on a loopback address answers to loopback names and to those
//!   that it was given, and to no others.
//!
//! With credentials, a page that has none can do nothing, and nothing is refused here; its answers are
//! still shown to allowed pages only.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use hyper::Version;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

/// The pages that may ask besides those of this machine: their origins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// Pages of any origin.
    pub any: bool,
    /// Pages of these origins.
    pub origins: Vec<Origin>,
}

/// An origin as browsers write it: `https://app.example.com`, `http://10.0.0.7:3000`, or `null` for pages
/// that have none, such as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

/// Text that is no origin.
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
        // Browsers leave out the port that the scheme has anyway.
        Ok(Self(match (scheme.as_str(), port) {
            (_, None) | ("http", Some(80)) | ("https", Some(443)) => format!("{scheme}://{host}"),
            (_, Some(port)) => format!("{scheme}://{host}:{port}"),
        }))
    }
}

impl Cors {
    /// Reads a list of origins, of which `*` is all of them.
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

/// Whether a page is one of this machine.
fn is_loopback_origin(origin: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.and_then(split_port).is_some_and(|(host, _)| is_loopback_host(host))
}

/// A host and the port behind it; none if it is neither a name nor an address.
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
        // `Host: localhost:` is odd and allowed.
        Some("") => None,
        Some(port) => Some(port.parse().ok()?),
        None => return None,
    };
    is_host.then_some((host, port))
}

/// Whether a host is this machine, whatever a name server says.
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

/// Who may ask this server, by what their browser says.
#[derive(Debug)]
pub(crate) struct Visitors {
    cors: Cors,
    /// The host names that it answers to besides loopback ones; any, if none are listed.
    hosts: Option<Vec<String>>,
    /// Whether a signature is asked for anyway.
    are_signed: bool,
}

/// What the answer tells a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// No page asks.
    NoPage,
    /// A page that may see the answer: what to say to its browser.
    Page(HeaderValue),
    /// A page that may not see the answer.
    Stranger,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A page of this origin asks.
    Origin(String),
    /// It is for another host.
    Host(String),
    /// It does not say what host it is for, or says two things.
    NoHost,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => write!(
                f,
                "Pages of the origin {origin} may not ask this server. To allow them, start it with \
                 --cors {origin}"
            ),
            Self::Host(host) => write!(
                f,
                "This server listens on a loopback address without credentials, and answers to \
                 loopback names only, not to the host {host}: a page could have named it so. Ask \
                 localhost or 127.0.0.1, or start the server with --advertise HOST:PORT, or with \
                 credentials"
            ),
            Self::NoHost => f.write_str("The request must have one Host header"),
        }
    }
}

impl Visitors {
    /// `hosts` are the further names of a server on a loopback address; other servers have any name.
    pub(crate) fn new(cors: Cors, hosts: Option<Vec<String>>, are_signed: bool) -> Self {
        Self { cors, hosts, are_signed }
    }

    /// Judges a request by its head.
    pub(crate) fn judge(&self, head: &Parts) -> Result<Visitor, Refusal> {
        if !self.are_signed && self.hosts.is_some() {
            self.check_host(head)?;
        }
        if !head.headers.contains_key(header::ORIGIN) {
            return Ok(Visitor::NoPage);
        }
        self.judge_origin(&head.headers)
    }

    fn judge_origin(&self, headers: &HeaderMap) -> Result<Visitor, Refusal> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (first, second) = (origins.next(), origins.next());
        let text = first.and_then(|origin| origin.to_str().ok()).unwrap_or_default();
        match first {
            Some(origin) if second.is_none() && self.cors.allows(text) => {
                let shown =
                    if self.cors.any { HeaderValue::from_static("*") } else { origin.clone() };
                Ok(Visitor::Page(shown))
            }
            _ if self.are_signed => Ok(Visitor::Stranger),
            _ => Err(Refusal::Origin(printable(text))),
        }
    }

    /// Every host that the request names must be one of ours: the header and the URI of a request in
    /// absolute form or of HTTP/2. HTTP/1.0 has requests without a host, browsers do not send them.
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

/// The host of a `HOST:PORT` that was given to the server.
pub(crate) fn host_of(endpoint: &str) -> String {
    split_port(endpoint).map_or(endpoint, |(host, _)| host).to_ascii_lowercase()
}

/// As much of a stranger's text as fits into a sentence.
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

    fn open() -> Visitors {
        Visitors::new(Cors::default(), Some(vec!["db.test".into()]), false)
    }

    #[test]
    fn loopback_hosts_are_told_from_others() {
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
            let judged = open().judge(&head(Version::HTTP_11, "/", &[("host", host)]));
            assert_eq!(judged, Ok(Visitor::NoPage), "{host}");
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
            let judged = open().judge(&head(Version::HTTP_11, "/", &[("host", host)]));
            assert_eq!(judged, Err(Refusal::Host(host.to_owned())), "{host}");
        }
    }

    #[test]
    fn every_host_of_a_request_counts() {
        let evil = Err(Refusal::Host("evil.test".to_owned()));
        let ok = Ok(Visitor::NoPage);
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
            assert_eq!(open().judge(&head(version, uri, headers)), *expected, "{uri} {headers:?}");
        }
        // What can only be asked with a signature may have any name.
        let signed = Visitors::new(Cors::default(), Some(Vec::new()), true);
        let named = Visitors::new(Cors::default(), None, false);
        for visitors in [signed, named] {
            let judged = visitors.judge(&head(Version::HTTP_11, "/", &[("host", "evil.test")]));
            assert_eq!(judged, ok);
        }
    }

    fn origin(visitors: &Visitors, origin: &str) -> Result<Visitor, Refusal> {
        visitors.judge(&head(Version::HTTP_11, "/", &[("host", "localhost"), ("origin", origin)]))
    }

    fn page(shown: &str) -> Result<Visitor, Refusal> {
        Ok(Visitor::Page(HeaderValue::from_str(shown).unwrap()))
    }

    #[test]
    fn pages_of_this_machine_and_of_those_listed_may_ask() {
        let cors = Cors::of(["HTTPS://App.Example.com:443", "null"]).unwrap();
        let visitors = Visitors::new(cors, Some(Vec::new()), false);
        for text in [
            "http://localhost:3000",
            "https://localhost",
            "http://127.0.0.1:1",
            "http://[::1]:5173",
            "http://app.localhost",
            "https://app.example.com",
            "null",
        ] {
            assert_eq!(origin(&visitors, text), page(text), "{text}");
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
            assert_eq!(origin(&visitors, text), Err(Refusal::Origin(text.into())), "{text}");
        }
        assert!(origin(&open(), "null").is_err());
        let twice = [("host", "localhost"), ("origin", "null"), ("origin", "null")];
        assert!(visitors.judge(&head(Version::HTTP_11, "/", &twice)).is_err());
        let any = Visitors::new(Cors::of(["*"]).unwrap(), Some(Vec::new()), false);
        assert_eq!(origin(&any, "http://evil.test"), page("*"));
        let signed = Visitors::new(Cors::default(), None, true);
        assert_eq!(origin(&signed, "http://evil.test"), Ok(Visitor::Stranger));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
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
