//! The servers of other regions, over HTTP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyloom::Error;
use keyloom::remote::{Credentials, Endpoint, Remote, call_unless};
use keyloom_engine::{PeerError, Peers};

use crate::output::Failure;

/// How long it may take to reach a server, and to get its answer.
const CONNECTED_WITHIN: Duration = Duration::from_secs(2);
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// The argument of `--replica`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replica {
    region: String,
    url: String,
}

/// Parses `REGION=URL` of the command line.
pub(crate) fn replica(text: &str) -> Result<Replica, String> {
    let wrong =
        || "it must be a region and a URL, such as eu-west-1=http://10.0.0.2:8000".to_owned();
    let (region, url) = text.split_once('=').ok_or_else(wrong)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_url = url.starts_with("http://") || url.starts_with("https://");
    if region.is_empty() || !region.chars().all(is_plain) || !is_url {
        return Err(wrong());
    }
    Ok(Replica { region: region.to_owned(), url: url.trim_end_matches('/').to_owned() })
}

/// The servers of other regions.
pub(crate) struct RemotePeers {
    remotes: BTreeMap<String, Remote>,
    is_stopping: AtomicBool,
}

impl RemotePeers {
    /// Servers that are called with these keys, if there are any.
    pub(crate) fn new(
        own: &str,
        replicas: &[Replica],
        keys: Option<(&str, &str)>,
    ) -> Result<Self, Failure> {
        let mut remotes = BTreeMap::new();
        for Replica { region, url } in replicas {
            if region == own {
                let text = format_args!("--replica {region}: that is this server's own --region");
                return Err(Failure::refused(text));
            }
            let (access, secret) = keys.unwrap_or(("local", "local"));
            let endpoint = Endpoint::url(url)
                .region(region)
                .credentials(Credentials::new(access, secret))
                .timeouts(CONNECTED_WITHIN, ANSWERED_WITHIN);
            let wrong =
                |error: Error| Failure::refused(format_args!("--replica {region}={url}: {error}"));
            let remote = Remote::new(endpoint).map_err(wrong)?;
            if remotes.insert(region.clone(), remote).is_some() {
                return Err(Failure::refused(format_args!("--replica {region} is given twice")));
            }
        }
        Ok(Self { remotes, is_stopping: AtomicBool::new(false) })
    }
}

impl Peers for RemotePeers {
    fn regions(&self) -> Vec<String> {
        self.remotes.keys().cloned().collect()
    }

    fn send(&self, region: &str, target: &str, body: &[u8]) -> Result<Vec<u8>, PeerError> {
        let unknown = || PeerError::Unreachable(format!("no server is known for {region}"));
        let remote = self.remotes.get(region).ok_or_else(unknown)?.clone();
        let (target, body) = (target.to_owned(), body.to_owned());
        let is_stopping = || self.is_stopping.load(Ordering::Relaxed);
        let answer = call_unless(is_stopping, move || remote.call_target(&target, &body))
            .map_err(|error| PeerError::Unreachable(format!("no thread can be started: {error}")))?
            .ok_or_else(|| PeerError::Unreachable(format!("{region} has not answered")))?;
        answer.map_err(|error| match error {
            Error::Database(error) => PeerError::Refused(error),
            other => PeerError::Unreachable(other.to_string()),
        })
    }

    fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for RemotePeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.remotes.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_a_region_and_a_url() {
        let read = replica("eu-west-1=https://db.example.com:8000/").unwrap();
        assert_eq!(
            (read.region.as_str(), read.url.as_str()),
            ("eu-west-1", "https://db.example.com:8000")
        );
        for wrong in
            ["", "eu-west-1", "=http://x", "eu-west-1=x:8000", "EU=http://x", "a b=http://x"]
        {
            assert!(replica(wrong).is_err(), "{wrong}");
        }
        let own = RemotePeers::new("a", &[replica("a=http://x").unwrap()], None);
        assert!(own.is_err());
        let twice = [replica("b=http://x").unwrap(), replica("b=http://y").unwrap()];
        assert!(RemotePeers::new("a", &twice, None).is_err());
    }
}
