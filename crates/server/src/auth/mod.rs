//! Who may ask: AWS Signature Version 4, in a header or in the query string.
//!
//! A request is judged in two steps, so that a stranger cannot make the server hold a body:
//!
//! 1. [`Auth::admit`], on the headers alone: is there a claim, is it complete, is it of this hour,
//!    is the access key known?
//! 2. [`Admission::verify`], with the body: does the signature fit?
//!
//! The order of the checks and their wording are DynamoDB's.

mod canonical;
mod claim;
mod signature;
mod timestamp;

use std::fmt;

use hyper::http::request::Parts;
use keyloom_engine::Error;

use claim::Claim;
use timestamp::Timestamp;

/// The service a credential must be scoped to; streams are signed for the same one.
const SERVICE: &str = "dynamodb";

/// An access key and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    access_key: String,
    secret_key: String,
}

impl Credentials {
    /// A pair of keys as an SDK is configured with.
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self { access_key: access_key.into(), secret_key: secret_key.into() }
    }

    /// The public half.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// Whether a request could ever be signed with them.
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

/// Who may ask.
#[derive(Debug)]
pub(crate) enum Auth {
    /// Anyone, with any signature or none.
    Open,
    /// Holders of one of these keys.
    Signed { credentials: Vec<Credentials>, wall_clock: fn() -> u64 },
}

/// A request whose claim stands but for its signature.
#[derive(Debug)]
pub(crate) struct Admission {
    claim: Claim,
    secret_key: String,
    /// The canonical request up to the hash of the body.
    canonical: String,
}

impl Auth {
    /// Judges a request's headers. `None` means that nothing is left to verify.
    pub(crate) fn admit(&self, request: &Parts) -> Result<Option<Admission>, Error> {
        let Self::Signed { credentials, wall_clock } = self else { return Ok(None) };
        let claim = Claim::of(request)?;
        claim.check(&Timestamp::from_seconds(wall_clock()))?;
        let known = credentials.iter().find(|known| known.access_key == claim.access_key);
        let secret_key = known.ok_or_else(unrecognized_client)?.secret_key.clone();
        // Sessions do not exist here: these keys are long-term, as a user's own are.
        if claim.has_session_token {
            return Err(unrecognized_client());
        }
        let canonical = canonical::request_before_hash(request, &claim.signed_headers);
        Ok(Some(Admission { claim, secret_key, canonical }))
    }
}

impl Admission {
    /// Whether the signature is the one that the holder of the secret makes for this request.
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
