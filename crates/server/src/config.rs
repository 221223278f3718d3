//! How a server is set up, and why it may refuse to start.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use keyloom_engine::{Clock, SystemClock};

use crate::auth::Credentials;
use crate::dispatch::Dispatch;
use crate::limits::Limits;
use crate::tls::TlsFiles;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes any free one.
    pub address: SocketAddr,
    /// Who may ask. When empty, any or no signature is accepted, and only a loopback address is
    /// served.
    pub credentials: Vec<Credentials>,
    /// Certificate and key; plain HTTP without them.
    pub tls: Option<TlsFiles>,
    /// The region the health check names.
    pub region: String,
    /// Which thread runs which call.
    pub dispatch: Dispatch,
    /// Bounds on what clients may use.
    pub limits: Limits,
    /// Threads of the reactor; `None` is one per core.
    pub workers: Option<usize>,
    /// Signatures are valid around this clock's time.
    pub clock: Arc<dyn Clock>,
}

impl Default for Config {
    /// Loopback, port 8000, open, for a database in memory.
    fn default() -> Self {
        Self {
            address: ([127, 0, 0, 1], 8000).into(),
            credentials: Vec::new(),
            tls: None,
            region: "us-east-1".into(),
            dispatch: Dispatch::memory(),
            limits: Limits::default(),
            workers: None,
            clock: Arc::new(SystemClock),
        }
    }
}

impl Config {
    /// Refuses what would open the data to anyone.
    pub fn check(&self) -> Result<(), StartError> {
        let loopback = self.address.ip().to_canonical().is_loopback();
        if !loopback && self.credentials.is_empty() {
            return Err(StartError::OpenToAll(self.address));
        }
        match self.credentials.iter().find(|c| !c.is_usable()) {
            Some(bad) => Err(StartError::BadCredentials(bad.access_key().to_owned())),
            None => Ok(()),
        }
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
    /// Another program listens there.
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
    fn credentials_open_every_address() {
        let credentials = vec![Credentials::new("AKID", "secret")];
        assert!(Config { credentials, ..config("0.0.0.0:0") }.check().is_ok());
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
