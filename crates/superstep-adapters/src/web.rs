//! The HTTP client of every door that speaks HTTP: one kind of TLS, and the authorities that the system trusts.

use std::sync::{Arc, OnceLock};

use reqwest::ClientBuilder;
use superstep_core::error::{Code, Error, Result};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A client to be, with nothing set but its encryption.
///
/// # Errors
/// When there is no TLS to be had.
pub(crate) fn builder() -> Result<ClientBuilder> {
    // Reading the authorities of the system takes longer than a request.
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let config = match CONFIG.get() {
        Some(config) => config,
        None => {
            let made = configure()?;
            CONFIG.get_or_init(|| made)
        }
    };
    Ok(reqwest::Client::builder().tls_backend_preconfigured(config.clone()))
}

fn configure() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Without any, an encrypted connection fails and says so; one on this machine needs none.
    let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(Code::ConfigInvalid, format!("no encryption: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
