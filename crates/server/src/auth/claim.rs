//! The claim of a request: access key, scope, time, signed headers, signature.

use std::fmt::Write as _;

use hyper::header::HeaderName;
use hyper::http::HeaderMap;
use hyper::http::request::Parts;
use keyloom_engine::Error;

use super::canonical::query_parameters;
use super::signature::Scope;
use super::timestamp::Timestamp;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// Maximum clock skew of a signature, and the default lifetime of one in a URL.
const SKEW_SECONDS: u64 = 15 * 60;
/// Maximum lifetime of a signature in a URL: a week.
const MAX_EXPIRES_SECONDS: u64 = 604_800;

/// The unverified claim of a request.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) access_key: String,
    pub(super) scope: Scope,
    /// Lower-case and sorted.
    pub(super) signed_headers: Vec<String>,
    pub(super) signature: String,
    pub(super) has_session_token: bool,
    algorithm: String,
    terminator: String,
    /// The lifetime, if given in the query string.
    expires_seconds: Option<u64>,
}

/// The raw fields of a claim.
struct Fields {
    algorithm: String,
    credential: String,
    signed_headers: String,
    signature: String,
    date: String,
    expires: Option<String>,
    has_session_token: bool,
}

impl Claim {
    /// Parses the claim of a request, from its header or its query string.
    pub(super) fn of(request: &Parts) -> Result<Self, Error> {
        let header = text(&request.headers, "authorization");
        let query = query_parameters(request.uri.query().unwrap_or_default());
        let in_query = query.iter().any(|(name, _)| name == "X-Amz-Algorithm");
        let fields = match header {
            Some(_) if in_query => {
                return Err(Error::InvalidSignature(
                    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as \
                     HTTP header."
                        .into(),
                ));
            }
            Some(header) if header.trim().starts_with("AWS4-") => {
                Fields::of_header(header, &request.headers)?
            }
            None if in_query => Fields::of_query(&query)?,
            _ => {
                return Err(Error::MissingAuthenticationToken(
                    "Request is missing Authentication Token".into(),
                ));
            }
        };
        Self::from_fields(fields)
    }

    fn from_fields(fields: Fields) -> Result<Self, Error> {
        let date = Timestamp::parse(&fields.date).or_else(|| Timestamp::parse_http(&fields.date));
        let date = date.ok_or_else(|| {
            Error::IncompleteSignature(format!(
                "Date must be in ISO-8601 'basic format'. Got '{}'. See \
                 http://en.wikipedia.org/wiki/ISO_8601",
                fields.date
            ))
        })?;
        let credential = fields.credential.trim_end_matches('/');
        let parts: Vec<&str> = credential.split('/').collect();
        let [access_key, scope_date, region, service, terminator] = parts.as_slice() else {
            return Err(Error::IncompleteSignature(format!(
                "Credential must have exactly 5 slash-delimited elements, e.g. \
                 keyid/date/region/service/term, got '{}'",
                fields.credential
            )));
        };
        let mut signed_headers: Vec<String> =
            fields.signed_headers.split(';').map(str::to_ascii_lowercase).collect();
        signed_headers.sort_unstable();
        Ok(Self {
            access_key: (*access_key).to_owned(),
            scope: Scope {
                time: date,
                date: (*scope_date).to_owned(),
                region: (*region).to_owned(),
                service: (*service).to_owned(),
            },
            signed_headers,
            signature: fields.signature,
            has_session_token: fields.has_session_token,
            algorithm: fields.algorithm,
            terminator: (*terminator).to_owned(),
            expires_seconds: fields.expires.map(|text| text.parse().unwrap_or(u64::MAX)),
        })
    }

    /// Checks the claim against time and service, before any secret is used.
    pub(super) fn check(&self, now: &Timestamp, service: &str) -> Result<(), Error> {
        self.check_time(now)?;
        if !self.signed_headers.iter().any(|name| name == "host") {
            return Err(Error::InvalidSignature(
                "'Host' must be a 'SignedHeader' in the AWS Authorization.".into(),
            ));
        }
        if self.algorithm != ALGORITHM {
            return Err(Error::IncompleteSignature(format!(
                "Unsupported AWS 'algorithm': '{}' (only AWS4-HMAC-SHA256 for now). ",
                self.algorithm
            )));
        }
        self.check_scope(service)
    }

    /// Whether every header that AWS interprets is signed. An unsigned one could be added or
    /// changed by anyone who sees the request: the target of a presigned URL determines what it
    /// does.
    pub(super) fn check_headers(&self, headers: &HeaderMap) -> Result<(), Error> {
        let is_signed = |name: &str| self.signed_headers.iter().any(|signed| signed == name);
        let mut unsigned = headers.keys().map(HeaderName::as_str);
        match unsigned.find(|name| name.starts_with("x-amz-") && !is_signed(name)) {
            None => Ok(()),
            Some(name) => Err(Error::InvalidSignature(format!(
                "'{name}' must be a 'SignedHeader' in the AWS Authorization: every x-amz- header \
                 of a request must be signed."
            ))),
        }
    }

    fn check_time(&self, now: &Timestamp) -> Result<(), Error> {
        let lasts = self.expires_seconds.unwrap_or(SKEW_SECONDS);
        if lasts > MAX_EXPIRES_SECONDS {
            return Err(Error::InvalidSignature(
                "X-Amz-Expires must be less than a week (in seconds); that is, the given \
                 X-Amz-Expires must be less than 604800 seconds"
                    .into(),
            ));
        }
        let time = &self.scope.time;
        let earliest = Timestamp::from_seconds(now.seconds().saturating_sub(lasts));
        let latest = Timestamp::from_seconds(now.seconds() + SKEW_SECONDS);
        let (time_text, now_text) = (time.as_str(), now.as_str());
        if time.seconds() < earliest.seconds() {
            return Err(Error::InvalidSignature(format!(
                "Signature expired: {time_text} is now earlier than {} ({now_text} - {} min.)",
                earliest.as_str(),
                lasts / 60
            )));
        }
        if time.seconds() > latest.seconds() {
            return Err(Error::InvalidSignature(format!(
                "Signature not yet current: {time_text} is still later than {} ({now_text} + {} \
                 min.)",
                latest.as_str(),
                SKEW_SECONDS / 60
            )));
        }
        Ok(())
    }

    /// Any region is accepted here; [`check_region`](super::check_region) checks it on servers with several regions.
    fn check_scope(&self, service: &str) -> Result<(), Error> {
        let mut faults = Vec::new();
        if self.scope.region.is_empty() {
            faults.push("Credential should be scoped to a valid region, not ''. ".to_owned());
        }
        if self.scope.service != service {
            faults.push(format!("Credential should be scoped to correct service: '{service}'. "));
        }
        if self.terminator != "aws4_request" {
            faults.push(format!(
                "Credential should be scoped with a valid terminator: 'aws4_request', not '{}'. ",
                self.terminator
            ));
        }
        let time = &self.scope.time;
        if self.scope.date != time.date() {
            faults.push(format!(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date \
                 from HTTP: '{}' != '{}', from '{}'.",
                self.scope.date,
                time.date(),
                time.as_str()
            ));
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Error::InvalidSignature(faults.concat().trim_end().to_owned()))
        }
    }
}

impl Fields {
    /// `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`, with the time in a header.
    fn of_header(header: &str, headers: &HeaderMap) -> Result<Self, Error> {
        let mut words = header.split([',', ' ']).filter(|word| !word.is_empty());
        let algorithm = words.next().unwrap_or_default().to_owned();
        let pairs: Vec<(&str, &str)> = words.filter_map(|word| word.split_once('=')).collect();
        let mut missing = String::new();
        let mut take = |name: &str| {
            let found = pairs.iter().find(|(other, value)| *other == name && !value.is_empty());
            if found.is_none() {
                let _ = write!(missing, "Authorization header requires '{name}' parameter. ");
            }
            found.map_or_else(String::new, |(_, value)| (*value).to_owned())
        };
        let (credential, signature, signed_headers) =
            (take("Credential"), take("Signature"), take("SignedHeaders"));
        let date = text(headers, "x-amz-date").or_else(|| text(headers, "date"));
        if date.is_none() {
            missing += "Authorization header requires existence of either a 'X-Amz-Date' or a \
                        'Date' header. ";
        }
        if !missing.is_empty() {
            return Err(Error::IncompleteSignature(format!("{missing}Authorization={header}")));
        }
        Ok(Self {
            algorithm,
            credential,
            signed_headers,
            signature,
            date: date.unwrap_or_default().to_owned(),
            expires: None,
            has_session_token: headers.contains_key("x-amz-security-token"),
        })
    }

    fn of_query(query: &[(String, String)]) -> Result<Self, Error> {
        let find = |name: &str| {
            query.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        let mut missing = String::new();
        let mut take = |name: &str| {
            let found = find(name).unwrap_or_default();
            if found.is_empty() {
                let _ = write!(missing, "AWS query-string parameters must include '{name}'. ");
            }
            found
        };
        let fields = Self {
            algorithm: take("X-Amz-Algorithm"),
            credential: take("X-Amz-Credential"),
            signature: take("X-Amz-Signature"),
            signed_headers: take("X-Amz-SignedHeaders"),
            date: take("X-Amz-Date"),
            expires: find("X-Amz-Expires"),
            has_session_token: find("X-Amz-Security-Token").is_some(),
        };
        if missing.is_empty() {
            Ok(fields)
        } else {
            Err(Error::IncompleteSignature(format!(
                "{missing}Re-examine the query-string parameters."
            )))
        }
    }
}

/// A header as text; one that is not ASCII counts as missing.
fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
