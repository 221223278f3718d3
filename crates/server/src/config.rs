//! The configuration of a server, and errors at startup.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use keyloom_engine::{Clock, SystemClock};

use crate::access::Identity;
use crate::auth::{Credentials, MIN_SECRET_BYTES};
use crate::console::ConsoleOptions;
use crate::dispatch::Dispatch;
use crate::limits::Limits;
use crate::origin::Cors;
use crate::tls::TlsFiles;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// The root user's access keys, which no policy limits. Without these and identities, requests need no
    /// valid signature, and only a loopback address is served.
    pub credentials: Vec<Credentials>,
    /// Users and roles whose requests are judged by policies.
    pub identities: Vec<Identity>,
    /// Certificate and key; plain HTTP without them.
    pub tls: Option<TlsFiles>,
    /// An additional address for `GET /metrics` and `GET /health`, without authentication or TLS.
    pub metrics_address: Option<SocketAddr>,
    /// Origins that may send requests besides those of this machine.
    pub cors: Cors,
    /// The endpoints (`HOST:PORT`) by which clients reach the server. On a loopback address without
    /// credentials it accepts only these hosts and loopback names.
    pub advertised: Vec<String>,
    /// The region in the response of `GET /`.
    pub region: String,
    /// Whether requests that are signed for another region are refused: other servers serve those.
    pub is_one_of_several_regions: bool,
    /// How the console under `/keyloom/` is served.
    pub console: ConsoleOptions,
    /// Which thread runs which call.
    pub dispatch: Dispatch,
    /// Limits on what clients may use.
    pub limits: Limits,
    /// Reactor threads; `None` means one per core.
    pub workers: Option<usize>,
    /// The clock against which signatures are checked.
    pub clock: Arc<dyn Clock>,
    /// Makes the process's allocator return its free pages to the system. It is called when these and the
    /// memory in use together exceed [`Limits::memory_bytes`]. Does nothing by default.
    pub purge: fn(),
    /// Called once, a second after the server began to serve: for what would only delay its start. Does
    /// nothing by default.
    pub settled: fn(),
}

impl Default for Config {
    /// Loopback, port 8000, without credentials, for a database in memory.
    fn default() -> Self {
        Self {
            address: ([127, 0, 0, 1], 8000).into(),
            credentials: Vec::new(),
            identities: Vec::new(),
            tls: None,
            metrics_address: None,
            cors: Cors::default(),
            advertised: Vec::new(),
            region: "us-east-1".into(),
            is_one_of_several_regions: false,
            console: ConsoleOptions::default(),
            dispatch: Dispatch::memory(),
            limits: Limits::default(),
            workers: None,
            clock: Arc::new(SystemClock),
            purge: || (),
            settled: || (),
        }
    }
}

impl Config {
    /// Whether requests must be signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.all_credentials().next().is_some()
    }

    fn all_credentials(&self) -> impl Iterator<Item = &Credentials> {
        let identities = self.identities.iter().map(|identity| &identity.credentials);
        self.credentials.iter().chain(identities)
    }

    /// Refuses a configuration that would expose the data to anyone.
    pub fn check(&self) -> Result<(), StartError> {
        let loopback = self.address.ip().to_canonical().is_loopback();
        if !loopback && !self.is_signed() {
            return Err(StartError::OpenToAll(self.address));
        }
        let mut access_keys = BTreeSet::new();
        for credentials in self.all_credentials() {
            let key = credentials.access_key();
            if !credentials.is_usable() {
                return Err(StartError::BadCredentials(key.to_owned()));
            }
            if !access_keys.insert(key) {
                return Err(StartError::RepeatedAccessKey(key.to_owned()));
            }
        }
        if self.limits.memory_bytes < Limits::MIN_MEMORY_BYTES {
            return Err(StartError::LittleMemory(self.limits.memory_bytes));
        }
        Ok(())
    }

    /// Warnings about risky settings, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for short in self.all_credentials().filter(|c| c.has_short_secret()) {
            warnings.push(format!(
                "the secret of the access key {:?} has fewer than {MIN_SECRET_BYTES} characters: anyone who \
                 sees one signed request can guess it",
                short.access_key()
            ));
        }
        let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        if !is_loopback(self.address) && self.tls.is_none() {
            warnings.push(format!(
                "{} is served without TLS: requests are signed, but anyone on the network path can read the \
                 data. Use --tls-cert and --tls-key, or a TLS proxy",
                self.address
            ));
        }
        if let Some(address) = self.metrics_address.filter(|address| !is_loopback(*address)) {
            warnings.push(format!(
                "anyone who can reach {address} can read the metrics, which include table names"
            ));
        }
        warnings
    }
}

/// Why a server did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address is not loopback and no credentials are set.
    OpenToAll(SocketAddr),
    /// An access key or secret key is empty or malformed; holds the access key.
    BadCredentials(String),
    /// Two credentials or identities have this access key.
    RepeatedAccessKey(String),
    /// The memory limit is too low to serve anything; holds the limit.
    LittleMemory(usize),
    /// Another program listens on the address.
    AddressInUse(SocketAddr),
    /// The address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// A TLS file cannot be read or used.
    Tls(PathBuf, String),
    /// The threads could not be started.
    Runtime(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenToAll(address) => write!(
                f,
                "refusing to listen on {address} without credentials: anyone who can reach this \
                 address could read and change the data. Set an access key and a secret key \
                 (--access-key, --secret-key), or listen on 127.0.0.1"
            ),
            Self::BadCredentials(key) => write!(
                f,
                "the credentials with access key {key:?} cannot be used: both keys must be \
                 non-empty, and the access key must be printable ASCII without '/', ',' and spaces"
            ),
            Self::RepeatedAccessKey(key) => write!(f, "the access key {key:?} is given twice"),
            Self::LittleMemory(bytes) => write!(
                f,
                "a memory limit of {} MiB is too low: the largest requests need {} (--memory-limit)",
                bytes >> 20,
                Limits::MIN_MEMORY_BYTES >> 20
            ),
            Self::AddressInUse(address) => write!(
                f,
                "{address} is already in use: stop the program that listens there, or choose \
                 another port (--port; 0 takes any free one)"
            ),
            Self::Listen(address, error) => match error.kind() {
                io::ErrorKind::PermissionDenied => write!(
                    f,
                    "no permission to listen on {address}: ports below 1024 need privileges, \
                     choose a higher one (--port)"
                ),
                io::ErrorKind::AddrNotAvailable => write!(
                    f,
                    "{address} is not an address of this machine: listen on 127.0.0.1, or on \
                     0.0.0.0 for every address (--host)"
                ),
                _ => write!(f, "cannot listen on {address}: {error}"),
            },
            Self::Tls(path, why) => write!(f, "cannot use {} for TLS: {why}", path.display()),
            Self::Runtime(error) => write!(f, "cannot start the server's threads: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen(_, error) | Self::Runtime(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(address: &str) -> Config {
        Config { address: address.parse().unwrap(), ..Config::default() }
    }

    #[test]
    fn an_open_server_serves_loopback_only() {
        for address in ["127.0.0.1:0", "127.9.9.9:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            assert!(config(address).check().is_ok(), "{address}");
        }
        for address in ["0.0.0.0:0", "[::]:0", "192.168.1.2:0", "[::ffff:10.0.0.1]:0"] {
            let error = config(address).check().unwrap_err();
            let text = error.to_string();
            assert!(text.contains("refusing to listen") && text.contains("--access-key"), "{text}");
        }
    }

    #[test]
    fn credentials_allow_every_address() {
        let credentials = vec![Credentials::new("AKID", "secret")];
        assert!(Config { credentials, ..config("0.0.0.0:0") }.check().is_ok());
    }

    #[test]
    fn risky_settings_are_warned_about() {
        let long = Credentials::new("AKID", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        let short = Credentials::new("AKID", "secret");
        let with = |address, credentials: &Credentials| {
            Config { credentials: vec![credentials.clone()], ..config(address) }.warnings()
        };
        assert_eq!(config("127.0.0.1:0").warnings(), [""; 0]);
        assert_eq!(with("127.0.0.1:0", &long), [""; 0]);
        let warned = with("127.0.0.1:0", &short);
        assert!(matches!(warned.as_slice(), [one] if one.contains("\"AKID\" has fewer than 16")));
        assert!(!warned.concat().contains("\"secret\""));
        let warned = with("0.0.0.0:0", &long);
        assert!(matches!(warned.as_slice(), [one] if one.contains("without TLS")), "{warned:?}");
        let metrics_address = Some(([0, 0, 0, 0], 9).into());
        let warned = Config { metrics_address, ..config("127.0.0.1:0") }.warnings();
        assert!(warned.concat().contains("read the metrics"), "{warned:?}");
    }

    #[test]
    fn a_memory_limit_that_is_too_low_is_refused() {
        let limits = Limits { memory_bytes: 10 << 20, ..Limits::default() };
        let error = Config { limits, ..Config::default() }.check().unwrap_err();
        assert!(error.to_string().contains("10 MiB is too low"), "{error}");
    }

    #[test]
    fn unusable_credentials_are_refused() {
        for (access, secret) in [("", "s"), ("a", ""), ("a/b", "s"), ("a b", "s"), ("ä", "s")] {
            let credentials = vec![Credentials::new(access, secret)];
            let error = Config { credentials, ..Config::default() }.check().unwrap_err();
            assert!(matches!(error, StartError::BadCredentials(key) if key == access));
        }
    }
}
