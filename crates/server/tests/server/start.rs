//! Startup, and refusals to start.

use std::time::{Duration, Instant};

use keyloom_server::{Config, Credentials, Server, StartError, TlsFiles};

use crate::client::{Echo, config, echo};

#[test]
fn a_server_starts_in_milliseconds() {
    let quickest = (0..5)
        .map(|_| {
            let started = Instant::now();
            drop(echo());
            started.elapsed()
        })
        .min();
    assert!(quickest < Some(Duration::from_millis(100)), "{quickest:?}");
}

#[test]
fn a_port_in_use_is_reported_with_a_remedy() {
    let server = echo();
    let taken = Config { address: server.addr(), ..config() };
    let error = Server::start(taken, Echo).err().unwrap();
    assert!(matches!(error, StartError::AddressInUse(address) if address == server.addr()));
    let text = error.to_string();
    assert!(text.contains(&server.addr().to_string()) && text.contains("--port"), "{text}");
}

#[test]
fn a_server_without_credentials_stays_on_loopback() {
    let everywhere = Config { address: ([0, 0, 0, 0], 0).into(), ..config() };
    let error = Server::start(everywhere.clone(), Echo).err().unwrap();
    assert!(matches!(error, StartError::OpenToAll(_)));
    let credentials = vec![Credentials::new("key", "secret")];
    Server::start(Config { credentials, ..everywhere }, Echo).unwrap();
}

#[test]
fn an_address_of_another_machine_is_explained() {
    let credentials = vec![Credentials::new("key", "secret")];
    let address = ([192, 0, 2, 1], 0).into();
    let error = Server::start(Config { address, credentials, ..config() }, Echo).err().unwrap();
    assert!(error.to_string().contains("not an address of this machine"), "{error}");
}

#[test]
fn unusable_tls_files_are_reported() {
    let missing = std::path::PathBuf::from("no/such/file.pem");
    let tls = Some(TlsFiles { certificate: missing.clone(), key: missing });
    let error = Server::start(Config { tls, ..config() }, Echo).err().unwrap();
    assert!(error.to_string().contains("no/such/file.pem"), "{error}");
    // A file that exists but is not PEM.
    let manifest = std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let tls = Some(TlsFiles { certificate: manifest.clone(), key: manifest });
    let error = Server::start(Config { tls, ..config() }, Echo).err().unwrap();
    assert!(error.to_string().contains("holds no"), "{error}");
}
