//! TLS with rustls, from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::StartError;

/// The paths of certificate and key, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by its chain.
    pub certificate: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Reads the files. Clients may choose HTTP/2 in the handshake.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, StartError> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unusable(&self.certificate, &error))?;
        if chain.is_empty() {
            let why = "it holds no certificate (-----BEGIN CERTIFICATE-----)";
            return Err(StartError::Tls(self.certificate.clone(), why.into()));
        }
        let key =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| StartError::Tls(self.key.clone(), error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn unusable(path: &Path, error: &pem::Error) -> StartError {
    let why = match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it holds no PEM section of the right kind".to_owned(),
        other => format!("it is not valid PEM ({other})"),
    };
    StartError::Tls(path.to_owned(), why)
}
