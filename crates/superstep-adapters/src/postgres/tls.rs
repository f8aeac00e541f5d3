//! TLS connections and their certificate checks.
//!
//! Follows other PostgreSQL clients: `require` encrypts without checking the certificate, `verify-ca` requires a
//! certificate of a trusted CA, `verify-full` additionally checks the host name.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use superstep_core::error::{Error, ErrorCode, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Client, Config, NoTls};
use tokio_rustls::{TlsConnector, rustls};

use super::config::TlsMode;
use super::connection::ConnectionDriver;

/// TLS configuration; `None` disables TLS.
pub(super) struct Tls(Option<TlsConnectorWithName>);

impl Tls {
    pub(super) fn new(mode: &TlsMode) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let verifier_for = |checks_name: bool, root: Option<&str>| ca_verifier(&provider, checks_name, root);
        let verifier = match mode {
            TlsMode::None => return Ok(Self(None)),
            TlsMode::Preferred | TlsMode::Encrypted => Arc::new(Verifier {
                inner: None,
                checks_name: false,
                algorithms: provider.signature_verification_algorithms,
            }),
            TlsMode::VerifyCa(root) => verifier_for(false, root.as_deref())?,
            TlsMode::VerifyFull(root) => verifier_for(true, root.as_deref())?,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal(format!("failed to initialize TLS: {error}")))?;
        let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Some(TlsConnectorWithName { connector: TlsConnector::from(Arc::new(config)), name: None })))
    }

    pub(super) async fn connect(&self, config: &Config) -> Result<(Client, ConnectionDriver), tokio_postgres::Error> {
        match &self.0 {
            Some(connector) => {
                let (client, connection) = config.connect(connector.clone()).await?;
                Ok((client, Box::pin(connection)))
            }
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                Ok((client, Box::pin(connection)))
            }
        }
    }
}

/// Returns the reason why a certificate is not trusted.
pub(super) fn certificate_error(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    cause.downcast_ref::<UntrustedCertificate>().map(|untrusted| untrusted.0.to_string())
}

fn ca_verifier(provider: &Arc<CryptoProvider>, checks_name: bool, root: Option<&str>) -> Result<Arc<Verifier>> {
    let mut roots = RootCertStore::empty();
    let config_error = |message: String| {
        Error::new(ErrorCode::ConfigInvalid, message).with_help("set `sslrootcert` to a file with CA certificates")
    };
    match root.filter(|root| *root != "system") {
        Some(file) => {
            let unreadable = |error: &dyn fmt::Display| {
                config_error(format!("the certificates in `{file}` cannot be read: {error}"))
            };
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
                roots.add(certificate.map_err(|error| unreadable(&error))?).map_err(|error| unreadable(&error))?;
            }
        }
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if roots.is_empty() {
        return Err(config_error("no CA certificate to check the certificate of PostgreSQL".to_owned()));
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let inner = inner.map_err(|error| config_error(format!("the CA certificates are invalid: {error}")))?;
    let algorithms = provider.signature_verification_algorithms;
    Ok(Arc::new(Verifier { inner: Some(inner), checks_name, algorithms }))
}

/// Certificate verifier for the configured mode.
#[derive(Debug)]
struct Verifier {
    /// `None` if any certificate is accepted.
    inner: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// A rejected certificate. A separate type, because a retry would fail in the same way.
#[derive(Debug)]
struct UntrustedCertificate(rustls::Error);

impl fmt::Display for UntrustedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UntrustedCertificate {}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct TlsConnectorWithName {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
}

impl<S> MakeTlsConnect<S> for TlsConnectorWithName
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = TlsStreamWrapper<S>;
    type TlsConnect = Self;
    type Error = BoxError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self, BoxError> {
        // A Unix socket has no host name and is never encrypted.
        let name = if domain.is_empty() { None } else { Some(ServerName::try_from(domain.to_owned())?) };
        Ok(Self { connector: self.connector.clone(), name })
    }
}

impl<S> TlsConnect<S> for TlsConnectorWithName
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = TlsStreamWrapper<S>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TlsStreamWrapper<S>, BoxError>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.name.ok_or("the server has no host name")?;
            let connected = self.connector.connect(name, stream).await;
            connected.map(TlsStreamWrapper).map_err(|error| {
                match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                    Some(cause) => UntrustedCertificate(rustls::Error::clone(cause)).into(),
                    None => error.into(),
                }
            })
        })
    }
}

/// The TLS stream.
struct TlsStreamWrapper<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for TlsStreamWrapper<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStreamWrapper<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStreamWrapper<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
