//! Reaching an endpoint: the one place where commands begin to talk to one.
//!
//! The client tries again for a long time when an endpoint stops answering, which is right in the middle of work. At the
//! beginning a refused connection is usually a wrong address: it is reported at once instead of retried.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use clap::Args;
use keyloom::remote::{Endpoint, Remote};

use crate::output::{Failure, remark};

/// How long a server that is being started is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(250);
/// How long one address may take to take a connection.
const CONNECT: Duration = Duration::from_secs(3);

/// How an endpoint is reached.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// AWS region; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Profile in ~/.aws; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

impl Reach {
    /// Whether anything was said.
    pub(crate) fn is_stated(&self) -> bool {
        self.region.is_some() || self.profile.is_some()
    }

    /// A client of `aws`, or of a URL that accepts connections.
    pub(crate) fn connect(&self, place: &str) -> Result<Remote, Failure> {
        let mut endpoint = if place == "aws" { Endpoint::aws() } else { Endpoint::url(place) };
        if let Some(region) = &self.region {
            endpoint = endpoint.region(region);
        }
        if let Some(profile) = &self.profile {
            endpoint = endpoint.profile(profile);
        }
        let remote = Remote::new(endpoint)
            .map_err(|error| Failure::refused(format_args!("{place}: {error}")))?;
        if place != "aws" {
            await_listener(place)?;
        }
        Ok(remote)
    }
}

/// Waits briefly until a URL accepts connections; reports that it waits, and fails with the reason.
pub(crate) fn await_listener(url: &str) -> Result<(), Failure> {
    // A proxy knows addresses that are none here.
    let proxies =
        ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    if proxies.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Ok(());
    }
    let Some(authority) = authority(url) else { return Ok(()) };
    let failed = |error: &dyn std::fmt::Display| {
        Failure::refused(format_args!(
            "{url} does not answer: {error}. Is `keyloom serve` running there?"
        ))
    };
    let begun = Instant::now();
    let mut is_said = false;
    loop {
        let addresses: Vec<SocketAddr> =
            authority.to_socket_addrs().map_err(|error| failed(&error))?.collect();
        let Err(error) = connect(&addresses) else { return Ok(()) };
        let may_come = error.kind() == ErrorKind::ConnectionRefused;
        if !may_come || begun.elapsed() >= PATIENCE {
            return Err(failed(&error));
        }
        if !is_said {
            is_said = true;
            remark(format_args!("waiting for {url}: {error}"));
        }
        std::thread::sleep(BETWEEN);
    }
}

fn connect(addresses: &[SocketAddr]) -> std::io::Result<()> {
    let mut last = std::io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Host and port of a URL; none if it is no URL, which the client reports.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let port = if scheme == "https" { 443 } else { 80 };
    (!host.is_empty()).then(|| if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_of_a_url() {
        for (url, wanted) in [
            ("http://localhost:8000", Some("localhost:8000")),
            ("http://localhost:8000/", Some("localhost:8000")),
            (
                "https://dynamodb.eu-central-1.amazonaws.com",
                Some("dynamodb.eu-central-1.amazonaws.com:443"),
            ),
            ("http://[::1]:8000", Some("[::1]:8000")),
            ("http://[::1]", Some("[::1]:80")),
            ("http://user@host/x", Some("host:80")),
            ("localhost:8000", None),
            ("http://", None),
        ] {
            assert_eq!(authority(url).as_deref(), wanted, "{url}");
        }
    }

    #[test]
    fn nobody_listens_is_said_soon() {
        let begun = Instant::now();
        let failed = await_listener("http://127.0.0.1:1").unwrap_err();
        let Failure::Refused(reason) = failed else { panic!("{failed:?}") };
        assert!(reason.contains("http://127.0.0.1:1 does not answer"), "{reason}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
