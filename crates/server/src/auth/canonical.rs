//! The canonical request: the normalised form that both sides hash.

use std::fmt::Write as _;

use hyper::http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The canonical request up to the hash of its body, which comes last.
pub(super) fn request_before_hash(request: &Parts, signed_headers: &[String]) -> String {
    let mut canonical = String::with_capacity(512);
    // Only the path "/", or one without escapes, gets here.
    let path = request.uri.path();
    let query = canonical_query(request.uri.query().unwrap_or_default());
    let _ = write!(canonical, "{}\n{path}\n{query}\n", request.method);
    for name in signed_headers {
        canonical += name;
        canonical.push(':');
        push_header_values(&mut canonical, request, name);
        canonical.push('\n');
    }
    let _ = write!(canonical, "\n{}\n", signed_headers.join(";"));
    canonical
}

/// The values of a header in the order sent, joined by commas, with runs of spaces folded.
fn push_header_values(out: &mut String, request: &Parts, name: &str) {
    let mut values = request.headers.get_all(name).iter().peekable();
    // HTTP/2 carries the host in the URI.
    if name == "host" && values.peek().is_none() {
        *out += request.uri.authority().map_or("", |authority| authority.as_str());
    }
    for (position, value) in values.enumerate() {
        if position > 0 {
            out.push(',');
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        for (place, word) in text.split(' ').filter(|word| !word.is_empty()).enumerate() {
            if place > 0 {
                out.push(' ');
            }
            *out += word;
        }
    }
}

/// What SigV4 escapes: everything but the unreserved characters of RFC 3986.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The query string sorted and escaped canonically, without the signature itself.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = pairs(query)
        .filter(|(name, _)| *name != "X-Amz-Signature")
        .map(|(name, value)| (escape(&unescape(name)), escape(&unescape(value))))
        .collect();
    pairs.sort_unstable();
    let joined: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    joined.join("&")
}

/// The decoded names and values of the query string.
pub(crate) fn query_parameters(query: &str) -> Vec<(String, String)> {
    let plain = |text| String::from_utf8_lossy(&unescape(text)).into_owned();
    pairs(query).map(|(name, value)| (plain(name), plain(value))).collect()
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn unescape(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

fn escape(plain: &[u8]) -> String {
    percent_encode(plain, &ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn canonical(request: hyper::http::request::Builder, signed: &[&str]) -> String {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let signed: Vec<String> = signed.iter().map(|name| (*name).to_owned()).collect();
        request_before_hash(&parts, &signed)
    }

    #[test]
    fn queries_are_sorted_and_escaped_once() {
        let table = [
            ("", ""),
            ("b=2&a=1", "a=1&b=2"),
            ("a=b&a=a", "a=a&a=b"),
            ("flag", "flag="),
            ("a=%2f%2F", "a=%2F%2F"),
            ("a=x/y+z", "a=x%2Fy%2Bz"),
            ("a=100%", "a=100%25"),
            ("X-Amz-Signature=1&a=~", "a=~"),
            ("a=b=c", "a=b%3Dc"),
        ];
        for (query, expected) in table {
            assert_eq!(canonical_query(query), expected, "{query}");
        }
    }

    #[test]
    fn headers_are_joined_and_their_spaces_folded() {
        let request = Request::builder()
            .header("host", "example.com")
            .header("my-header", "  a   b ")
            .header("my-header", "c");
        let expected = "GET\n/\n\nhost:example.com\nmy-header:a b,c\n\nhost;my-header\n";
        assert_eq!(canonical(request, &["host", "my-header"]), expected);
    }

    #[test]
    fn the_host_may_be_in_the_uri() {
        let request = Request::builder().uri("http://example.com:8000/");
        assert_eq!(canonical(request, &["host"]), "GET\n/\n\nhost:example.com:8000\n\nhost\n");
    }
}
