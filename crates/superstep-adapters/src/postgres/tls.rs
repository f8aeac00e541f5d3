//! Encrypted connections, and whom they trust.
//!
//! As other clients of PostgreSQL do: `require` encrypts without asking who answers, `verify-ca` wants a certificate from
//! an authority that is trusted, `verify-full` wants it to name the host too.

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
use superstep_core::error::{Code, Error, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Client, Config, NoTls};
use tokio_rustls::{TlsConnector, rustls};

use super::address::Secrecy;
use super::wire::Driver;

/// How connections are encrypted; `None` when they are not.
pub(super) struct Security(Option<Connector>);

impl Security {
    pub(super) fn new(secrecy: &Secrecy) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let names = |checks_name: bool, root: Option<&str>| authority(&provider, checks_name, root);
        let verifier = match secrecy {
            Secrecy::None => return Ok(Self(None)),
            Secrecy::Preferred | Secrecy::Encrypted => Arc::new(Verifier {
                inner: None,
                checks_name: false,
                known: provider.signature_verification_algorithms,
            }),
            Secrecy::Authority(root) => names(false, root.as_deref())?,
            Secrecy::Host(root) => names(true, root.as_deref())?,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal(format!("no encryption: {error}")))?;
        let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Some(Connector { connector: TlsConnector::from(Arc::new(config)), name: None })))
    }

    pub(super) async fn connect(&self, config: &Config) -> Result<(Client, Driver), tokio_postgres::Error> {
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

/// What is wrong with the certificate of a server.
pub(super) fn distrust(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    cause.downcast_ref::<Distrust>().map(|distrust| distrust.0.to_string())
}

fn authority(provider: &Arc<CryptoProvider>, checks_name: bool, root: Option<&str>) -> Result<Arc<Verifier>> {
    let mut roots = RootCertStore::empty();
    let wrong = |what: String| {
        Error::new(Code::ConfigInvalid, what).help("name a file with the certificates of authorities in `sslrootcert`")
    };
    match root.filter(|root| *root != "system") {
        Some(file) => {
            let unread =
                |error: &dyn fmt::Display| wrong(format!("the certificates in `{file}` cannot be read: {error}"));
            for found in CertificateDer::pem_file_iter(file).map_err(|error| unread(&error))? {
                roots.add(found.map_err(|error| unread(&error))?).map_err(|error| unread(&error))?;
            }
        }
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if roots.is_empty() {
        return Err(wrong("there is no authority that a certificate of PostgreSQL could be from".to_owned()));
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let inner = inner.map_err(|error| wrong(format!("the certificates of authorities cannot be used: {error}")))?;
    let known = provider.signature_verification_algorithms;
    Ok(Arc::new(Verifier { inner: Some(inner), checks_name, known }))
}

/// Looks at the certificate of a server as far as was asked for.
#[derive(Debug)]
struct Verifier {
    /// `None` when any certificate will do.
    inner: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    known: WebPkiSupportedAlgorithms,
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
        verify_tls12_signature(message, certificate, signature, &self.known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known.supported_schemes()
    }
}

/// Why a server was not believed. Of a kind of its own: another try would end the same.
#[derive(Debug)]
struct Distrust(rustls::Error);

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Distrust {}

type Reason = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Connector {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
}

impl<S> MakeTlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Self;
    type Error = Reason;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self, Reason> {
        // A socket in a folder has no name, and is never encrypted.
        let name = if domain.is_empty() { None } else { Some(ServerName::try_from(domain.to_owned())?) };
        Ok(Self { connector: self.connector.clone(), name })
    }
}

impl<S> TlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = Reason;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted<S>, Reason>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.name.ok_or("a server without a name")?;
            let connected = self.connector.connect(name, stream).await;
            connected.map(Encrypted).map_err(|error| match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                Some(cause) => Distrust(rustls::Error::clone(cause)).into(),
                None => error.into(),
            })
        })
    }
}

/// The encrypted stream.
struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
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
