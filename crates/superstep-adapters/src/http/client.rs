//! The HTTP client that all adapters share: one TLS implementation, with the root certificates of the system.

use std::sync::{Arc, OnceLock};

use reqwest::ClientBuilder;
use superstep_core::error::{Error, ErrorCode, Result};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Returns a client builder with only TLS configured.
///
/// # Errors
/// Returns an error if TLS cannot be initialized.
pub(crate) fn builder() -> Result<ClientBuilder> {
    // Loading the root certificates takes longer than a request, so they are cached.
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let config = match CONFIG.get() {
        Some(config) => config,
        None => {
            let created = configure()?;
            CONFIG.get_or_init(|| created)
        }
    };
    Ok(reqwest::Client::builder().tls_backend_preconfigured(config.clone()))
}

fn configure() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Without root certificates, TLS connections fail with an error; connections on this machine need none.
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("failed to initialize TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
