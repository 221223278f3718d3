//! The signature: a chain of HMACs from the secret to the request.

use hmac::{Hmac, KeyInit, Mac};
use keyloom_core::hex::Hex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::timestamp::Timestamp;

/// The scope of a signing key.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) time: Timestamp,
    pub(super) date: String,
    pub(super) region: String,
    pub(super) service: String,
}

/// The signature of a canonical request, in hexadecimal.
pub(super) fn sign(secret_key: &str, scope: &Scope, canonical: &str) -> String {
    let to_sign = format!(
        "AWS4-HMAC-SHA256\n{}\n{}/{}/{}/aws4_request\n{}",
        scope.time.as_str(),
        scope.date,
        scope.region,
        scope.service,
        sha256_hex(canonical.as_bytes())
    );
    Hex(&hmac(&signing_key(secret_key, scope), to_sign.as_bytes())).to_string()
}

/// The key for one day, region and service.
fn signing_key(secret_key: &str, scope: &Scope) -> [u8; 32] {
    let start = format!("AWS4{secret_key}");
    let date = hmac(start.as_bytes(), scope.date.as_bytes());
    let region = hmac(&date, scope.region.as_bytes());
    let service = hmac(&region, scope.service.as_bytes());
    hmac(&service, b"aws4_request")
}

/// Compares two signatures in constant time.
pub(super) fn equal(expected: &str, given: &str) -> bool {
    expected.as_bytes().ct_eq(given.as_bytes()).into()
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Hex(&Sha256::digest(bytes)).to_string()
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn scope(service: &str) -> Scope {
        let time = Timestamp::parse("20150830T123600Z").unwrap();
        let (date, region) = (time.date().to_owned(), "us-east-1".to_owned());
        Scope { time, date, region, service: service.to_owned() }
    }

    /// From AWS's description of the signing process.
    #[test]
    fn the_signing_key_is_the_published_one() {
        let key = signing_key(SECRET, &scope("iam"));
        assert_eq!(
            Hex(&key).to_string(),
            "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
        );
    }

    /// `get-vanilla` and `get-vanilla-query-order-key-case` of AWS's test suite.
    #[test]
    fn published_requests_have_their_published_signatures() {
        let table = [
            ("", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "Param1=value1&Param2=value2",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
        ];
        for (query, signature) in table {
            let canonical = format!(
                "GET\n/\n{query}\nhost:example.amazonaws.com\nx-amz-date:20150830T123600Z\n\n\
                 host;x-amz-date\n{EMPTY}"
            );
            assert_eq!(sign(SECRET, &scope("service"), &canonical), signature);
        }
    }

    #[test]
    fn signatures_are_equal_only_as_a_whole() {
        assert!(equal("abc", "abc"));
        for other in ["", "ab", "abd", "abcd", "ABC"] {
            assert!(!equal("abc", other));
        }
    }
}
