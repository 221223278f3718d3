//! Configuration of an endpoint: address, region, credentials, timeouts, retries.

use std::sync::Arc;
use std::time::Duration;

use keyloom_core::observation::Observer;

use super::Credentials;
use super::provider::Provider;
use super::source::{Source, places};
use super::surroundings::Surroundings;
use crate::error::{Error, Result};

/// An endpoint to connect to.
///
/// ```no_run
/// use keyloom::remote::{Endpoint, Remote};
///
/// // AWS, with region and credentials from the usual places:
/// let aws = Remote::new(Endpoint::aws())?;
/// // Keyloom's own server, DynamoDB Local, or any other:
/// let local = Remote::new(Endpoint::url("http://localhost:8000"))?;
/// # Ok::<(), keyloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: Option<String>,
    region: Option<String>,
    profile: Option<String>,
    credentials: Option<Credentials>,
    connect_timeout: Duration,
    request_timeout: Duration,
    observer: Option<Arc<dyn Observer>>,
}

/// A fully resolved endpoint.
pub(super) struct Settled {
    pub(super) url: String,
    pub(super) host: String,
    /// URL and host of the streams' service, where that is another one.
    pub(super) streams: Option<(String, String)>,
    pub(super) region: String,
    pub(super) credentials: Provider,
    pub(super) connect_timeout: Duration,
    pub(super) request_timeout: Duration,
    pub(super) observer: Option<Arc<dyn Observer>>,
}

impl Endpoint {
    /// AWS, in the region and with the credentials of the usual places, which [`remote`](crate::remote) lists.
    /// `AWS_ENDPOINT_URL_DYNAMODB` and `AWS_ENDPOINT_URL` lead elsewhere.
    pub fn aws() -> Self {
        Self {
            url: None,
            region: None,
            profile: None,
            credentials: None,
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(15),
            observer: None,
        }
    }

    /// The endpoint at this URL, such as `http://localhost:8000`. If it is without encryption, and environment and profile
    /// have no credentials that can be used, requests are signed as the user `local`.
    pub fn url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::aws() }
    }

    /// The region, whatever the environment says.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// The profile of `~/.aws`, whatever the environment says.
    #[must_use]
    pub fn profile(mut self, profile: impl Into<String>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// The credentials, whatever the environment says.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// How long to wait for a connection, and for the whole answer.
    #[must_use]
    pub fn timeouts(mut self, connect: Duration, request: Duration) -> Self {
        (self.connect_timeout, self.request_timeout) = (connect, request);
        self
    }

    /// Observes requests, as [`Options::observer`](crate::Options::observer) does those of an embedded database. The feature
    /// `observe` has collectors of statistics.
    ///
    /// The observer is told what a request asked for and what its answer states: the operation, the keys, the units that
    /// `ConsumedCapacity` states for each table and index, whether it is a retry, why it was throttled, its latency and its
    /// outcome. The units of a batch are shared evenly among its keys. What no answer states is not worked out: at which key
    /// of an index an entry was written, what a failed condition cost, which keys a PartiQL statement names.
    ///
    /// Sampled requests ask for `ReturnConsumedCapacity` (`TransactWriteItems` always does, because all attempts under one
    /// token need the same body); those that the program writes as JSON ([`Remote::call`]) go out as they are. Each table is
    /// described once, for its key schema. That takes the permission `dynamodb:DescribeTable`; without it requests count, but
    /// not their keys. A client throttles nothing, so partitions are followed only by a monitor that does not enforce limits.
    ///
    /// [`Remote::call`]: super::Remote::call
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    pub(super) fn settle(self) -> Result<Settled> {
        self.settle_in(&Surroundings::real())
    }

    fn settle_in(self, surroundings: &Surroundings) -> Result<Settled> {
        let profile = self.profile.as_deref();
        let url = self
            .url
            .or_else(|| surroundings.variable("AWS_ENDPOINT_URL_DYNAMODB"))
            .or_else(|| surroundings.variable("AWS_ENDPOINT_URL"));
        let region = self.region.or_else(|| surroundings.region(profile));
        let (url, streams, region) = match (url, region) {
            (Some(url), region) => (url, None, region.unwrap_or("us-east-1".into())),
            (None, Some(region)) => {
                let host = format!("dynamodb.{region}.{}", domain(&region));
                let streams = format!("streams.{host}");
                let streams = Some((format!("https://{streams}/"), streams));
                (format!("https://{host}"), streams, region)
            }
            (None, None) => {
                return Err(Error::Config(
                    "no AWS region: set AWS_REGION, add `region` to ~/.aws/config, or name one with Endpoint::region"
                        .into(),
                ));
            }
        };
        let source = match self.credentials {
            Some(given) => Source::Fixed(given),
            // An endpoint without encryption is a developer's: it needs a name, not a secret from afar.
            None if url.starts_with("http://") => {
                let stated = match Source::find_stated(surroundings, profile, &region) {
                    // The profile was not requested explicitly, so an unusable one is ignored.
                    Err(_) if profile.is_none() => None,
                    stated => stated?,
                };
                stated.unwrap_or_else(|| Source::Fixed(Credentials::new("local", "local")))
            }
            None => Source::find(surroundings, profile, &region)?,
        };
        let host = host_of(&url)?;
        Ok(Settled {
            url: format!("{}/", url.trim_end_matches('/')),
            host,
            streams,
            region,
            credentials: Provider::new(source, places(surroundings, profile)),
            connect_timeout: self.connect_timeout,
            request_timeout: self.request_timeout,
            observer: self.observer,
        })
    }
}

/// The domain of AWS's services in a region.
pub(super) fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
}

/// The `Host` header: what stands between the scheme and the path, without the scheme's own port.
fn host_of(url: &str) -> Result<String> {
    let wrong = || {
        Error::Config(format!("`{url}` is not an endpoint: write http://host:port or https://host"))
    };
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let own_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(wrong()),
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || host.contains('@') || !path.is_empty() {
        return Err(wrong());
    }
    Ok(host.strip_suffix(own_port).unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_developers_endpoint_needs_no_profile_that_works() {
        let surroundings = Surroundings::of(
            |name| (name == "HOME").then(|| "/h".to_owned()),
            |path| {
                path.ends_with(".aws/config").then(|| {
                    "[default]\nsso_session = work\n[profile role]\nrole_arn = r".to_owned()
                })
            },
        );
        let local = Endpoint::url("http://localhost:8000");
        let settled = local.clone().settle_in(&surroundings).unwrap();
        let credentials = settled.credentials.credentials(0).unwrap();
        assert_eq!(credentials.access_key_id, "local");
        for named in [local.profile("role"), Endpoint::url("https://x.example").profile("role")] {
            assert!(matches!(named.settle_in(&surroundings), Err(Error::Config(_))));
        }
        assert!(Endpoint::url("https://x.example").settle_in(&surroundings).is_err());
    }

    #[test]
    fn streams_have_a_host_of_their_own_on_aws_only() {
        let surroundings = Surroundings::of(|_| None, |_| None);
        let credentials = Credentials::new("a", "b");
        let aws = Endpoint::aws().region("eu-west-1").credentials(credentials.clone());
        let (url, host) = aws.settle_in(&surroundings).unwrap().streams.unwrap();
        assert_eq!(url, "https://streams.dynamodb.eu-west-1.amazonaws.com/");
        assert_eq!(host, "streams.dynamodb.eu-west-1.amazonaws.com");
        let local = Endpoint::url("http://localhost:8000").credentials(credentials);
        assert_eq!(local.settle_in(&surroundings).unwrap().streams, None);
    }

    #[test]
    fn the_host_is_what_the_client_sends() {
        assert_eq!(host_of("http://localhost:8000").unwrap(), "localhost:8000");
        assert_eq!(host_of("https://x.amazonaws.com:443/").unwrap(), "x.amazonaws.com");
        for wrong in ["localhost:8000", "ftp://x", "http://", "http://a/b", "http://u@h"] {
            assert!(matches!(host_of(wrong), Err(Error::Config(_))), "{wrong}");
        }
    }
}
