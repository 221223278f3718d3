//! TLS, with HTTP/1.1 and with HTTP/2.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use keyloom_server::{Config, RunningServer, Server, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::client::{Client, Echo, hasty, post};

/// A server with a self-signed certificate, and that certificate.
fn server(name: &str) -> (RunningServer, CertificateDer<'static>) {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let write = |kind: &str, text: String| -> PathBuf {
        let file = format!("keyloom-{}-{name}-{kind}.pem", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    };
    let files = TlsFiles {
        certificate: write("certificate", signed.cert.pem()),
        key: write("key", signed.signing_key.serialize_pem()),
    };
    let config = Config { tls: Some(files.clone()), ..hasty() };
    let server = Server::start(config, Echo).unwrap();
    std::fs::remove_file(files.certificate).unwrap();
    std::fs::remove_file(files.key).unwrap();
    (server, signed.cert.der().clone())
}

async fn connect(
    server: &RunningServer,
    certificate: &CertificateDer<'static>,
    protocol: &str,
) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(server.addr()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn http1_over_tls() {
    let (server, certificate) = server("http1");
    assert!(server.url().starts_with("https://127.0.0.1:"));
    let mut stream = connect(&server, &certificate, "http/1.1").await;
    let request = post("GetItem", "{}").replace("host:", "connection: close\r\nhost:");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\n{}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn http2_is_chosen_in_the_handshake() {
    let (server, certificate) = server("http2");
    let stream = connect(&server, &certificate, "h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let mut sender = crate::http2::over(stream).await;
    assert_eq!(crate::http2::ask(&mut sender, "{}").await.body(), "{}");
}

#[test]
fn plain_http_and_silence_fail_the_handshake() {
    let (server, _) = server("plain");
    let mut plain = Client::connect(server.addr());
    plain.send(post("GetItem", "{}"));
    assert_eq!(plain.try_receive_raw_status(), None);
    assert!(Client::connect(server.addr()).is_closed());
}
