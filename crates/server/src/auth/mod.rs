//! Authentication with AWS Signature Version 4, in a header or in the query string.
//!
//! A request is checked in two steps, so that an unknown client cannot make the server buffer a
//! body:
//!
//! 1. [`Auth::admit`] checks the headers: the claim is complete and current, and the access key is
//!    known.
//! 2. [`Admission::verify`] checks the signature against the body.
//!
//! The order of the checks and their wording are DynamoDB's.

pub(crate) mod canonical;
mod claim;
mod signature;
mod timestamp;

use std::fmt;
use std::sync::Arc;

use hyper::http::request::Parts;
use keyloom_engine::{Clock, Error};

use crate::access::Identity;
use claim::Claim;
use timestamp::Timestamp;

/// The service in the credential scope; streams are signed for the same one.
pub(crate) const DYNAMODB: &str = "dynamodb";

/// Shorter secrets can be guessed from one signed request.
pub(crate) const MIN_SECRET_BYTES: usize = 16;

/// An access key and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    access_key: String,
    secret_key: String,
}

impl Credentials {
    /// A key pair as configured in an SDK.
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self { access_key: access_key.into(), secret_key: secret_key.into() }
    }

    /// The public access key.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// The headers that sign a GET of a path without a query.
    pub fn sign_get(
        &self,
        region: &str,
        host: &str,
        path: &str,
        now_ms: u64,
    ) -> [(&'static str, String); 2] {
        self.sign_empty("GET", region, host, path, now_ms)
    }

    /// The headers that sign a request without a query and without a body.
    pub fn sign_empty(
        &self,
        method: &str,
        region: &str,
        host: &str,
        path: &str,
        now_ms: u64,
    ) -> [(&'static str, String); 2] {
        self.sign((method, path), region, host, &[], now_ms)
    }

    /// The headers that sign a request without a query: its method and path, and its body.
    pub fn sign(
        &self,
        (method, path): (&str, &str),
        region: &str,
        host: &str,
        body: &[u8],
        now_ms: u64,
    ) -> [(&'static str, String); 2] {
        let time = Timestamp::from_seconds(now_ms / 1000);
        let (stamp, date) = (time.as_str().to_owned(), time.date().to_owned());
        let names = "host;x-amz-date";
        let canonical = format!(
            "{method}\n{path}\n\nhost:{host}\nx-amz-date:{stamp}\n\n{names}\n{}",
            signature::sha256_hex(body)
        );
        let credential = format!("{}/{date}/{region}/{DYNAMODB}/aws4_request", self.access_key);
        let (region, service) = (region.to_owned(), DYNAMODB.to_owned());
        let scope = signature::Scope { time, date, region, service };
        let signature = signature::sign(&self.secret_key, &scope, &canonical);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, \
             Signature={signature}"
        );
        [("x-amz-date", stamp), ("authorization", authorization)]
    }

    pub(crate) fn has_short_secret(&self) -> bool {
        self.secret_key.len() < MIN_SECRET_BYTES
    }

    /// Whether requests can be signed with this key pair.
    pub(crate) fn is_usable(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'/' && byte != b',';
        !self.access_key.is_empty()
            && self.access_key.bytes().all(plain)
            && !self.secret_key.is_empty()
    }
}

/// Never shows the secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?}, …)", self.access_key)
    }
}

/// Refuses a request that is signed for another region than the server's, where `is_checked`. One without a claim is
/// left to [`Auth::admit`].
pub(crate) fn check_region(request: &Parts, region: &str, is_checked: bool) -> Result<(), Error> {
    let Some(claim) = is_checked.then(|| Claim::of(request).ok()).flatten() else { return Ok(()) };
    if claim.scope.region == region {
        return Ok(());
    }
    Err(Error::InvalidSignature(format!(
        "Credential should be scoped to a valid region, not '{}'. This server serves {region}; send the request to the \
         server of the other region.",
        claim.scope.region
    )))
}

/// The authentication policy.
#[derive(Debug)]
pub(crate) enum Auth {
    /// Accepts any signature or none.
    Open,
    /// Requires a signature by one of these keys.
    Signed {
        /// The account's root user, whom no policy limits.
        credentials: Vec<Credentials>,
        /// Users and roles with policies.
        identities: Vec<Arc<Identity>>,
        clock: Arc<dyn Clock>,
    },
}

/// A request whose claim is valid except for its signature, which is not verified yet.
#[derive(Debug)]
pub(crate) struct Admission {
    claim: Claim,
    secret_key: String,
    /// The identity whose policies apply; none for the root user.
    pub(crate) identity: Option<Arc<Identity>>,
    /// The canonical request up to the hash of the body.
    canonical: String,
}

impl Auth {
    /// Whether requests must be signed.
    pub(crate) fn is_signed(&self) -> bool {
        matches!(self, Self::Signed { .. })
    }

    /// Whether requests are judged by policies.
    pub(crate) fn has_identities(&self) -> bool {
        matches!(self, Self::Signed { identities, .. } if !identities.is_empty())
    }

    /// The time that signatures and policies are judged by, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        match self {
            Self::Open => 0,
            Self::Signed { clock, .. } => clock.now_ms(),
        }
    }

    /// Checks the headers of a request to a service. `None` means that nothing is left to verify.
    pub(crate) fn admit(&self, request: &Parts, service: &str) -> Result<Option<Admission>, Error> {
        let Self::Signed { credentials, identities, clock } = self else { return Ok(None) };
        let claim = Claim::of(request)?;
        claim.check(&Timestamp::from_seconds(clock.now_ms() / 1000), service)?;
        let root = credentials.iter().map(|credentials| (credentials, None));
        let users = identities.iter().map(|identity| (&identity.credentials, Some(identity)));
        let known = root.chain(users).find(|(known, _)| known.access_key == claim.access_key);
        let (credentials, identity) = known.ok_or_else(unrecognized_client)?;
        let (secret_key, identity) = (credentials.secret_key.clone(), identity.cloned());
        // Sessions are not supported: these keys are long-term credentials.
        if claim.has_session_token {
            return Err(unrecognized_client());
        }
        claim.check_headers(&request.headers)?;
        let canonical = canonical::request_before_hash(request, &claim.signed_headers);
        Ok(Some(Admission { claim, secret_key, identity, canonical }))
    }
}

impl Admission {
    /// Verifies the signature over this request.
    pub(crate) fn verify(&self, body: &[u8]) -> Result<(), Error> {
        let canonical = format!("{}{}", self.canonical, signature::sha256_hex(body));
        let expected = signature::sign(&self.secret_key, &self.claim.scope, &canonical);
        if signature::equal(&expected, &self.claim.signature) {
            Ok(())
        } else {
            Err(Error::InvalidSignature(
                "The request signature we calculated does not match the signature you provided. \
                 Check your AWS Secret Access Key and signing method. Consult the service \
                 documentation for details."
                    .into(),
            ))
        }
    }
}

fn unrecognized_client() -> Error {
    Error::UnrecognizedClient("The security token included in the request is invalid.".into())
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use keyloom_engine::ManualClock;
    use proptest::prelude::*;

    use super::*;

    /// Fragments of claims, so that random ones get past the first check.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("AWS4-HMAC-SHA256 ".to_owned()),
            Just("Credential=AKID/20261101/eu-west-1/dynamodb/aws4_request".to_owned()),
            Just("SignedHeaders=host;x-amz-date".to_owned()),
            Just("Signature=00".to_owned()),
            Just("X-Amz-Algorithm=AWS4-HMAC-SHA256".to_owned()),
            Just("X-Amz-Credential=AKID%2F20261101%2Fx%2Fdynamodb%2Faws4_request".to_owned()),
            Just("X-Amz-SignedHeaders=host".to_owned()),
            Just("X-Amz-Signature=00".to_owned()),
            Just("X-Amz-Date=20261101T120000Z".to_owned()),
            Just("X-Amz-Expires=99999999999999999999".to_owned()),
            "[A-Za-z0-9%&=;/,+.:~-]{0,12}",
        ]
    }

    proptest! {
        #[test]
        fn random_claims_neither_panic_nor_pass(
            header in proptest::option::of(proptest::collection::vec(piece(), 0..6)),
            query in proptest::collection::vec(piece(), 0..8),
            date in prop_oneof![Just("20261101T120000Z".to_owned()), "[0-9TZ:-]{0,20}"],
        ) {
            let auth = Auth::Signed {
                credentials: vec![Credentials::new("AKID", "secret")],
                identities: Vec::new(),
                clock: Arc::new(ManualClock::at_ms(1_793_534_400_000)),
            };
            let query = query.join("&").replace(' ', "+");
            let mut request = Request::post(format!("/?{query}"));
            request = request.header("host", "localhost").header("x-amz-date", date);
            if let Some(header) = header {
                request = request.header("authorization", header.join(","));
            }
            if let Ok(request) = request.body(()) {
                let admitted = auth.admit(&request.into_parts().0, DYNAMODB);
                let verified = admitted.and_then(|one| one.map_or(Ok(()), |one| one.verify(b"{}")));
                prop_assert!(verified.is_err());
            }
        }
    }
}
