//! HTTP client of the tools: one TLS implementation, no automatic redirects, and limited body sizes.

use std::sync::Once;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Response, redirect};
use superstep::{Error, ErrorCode, Result};
use tokio_rustls::rustls::crypto::ring;

/// Maximum size of a body in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(9);

/// Creates a client for configured addresses.
pub(crate) fn client() -> Result<Client> {
    build_client(builder())
}

/// Returns the client builder.
pub(super) fn builder() -> ClientBuilder {
    static ENCRYPTION: Once = Once::new();
    // If another crate has already installed a provider, that one is used.
    ENCRYPTION.call_once(|| drop(ring::default_provider().install_default()));
    // A redirect would send credentials to another address.
    Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).redirect(redirect::Policy::none())
}

pub(super) fn build_client(builder: ClientBuilder) -> Result<Client> {
    builder
        .build()
        .map_err(|error| Error::new(ErrorCode::ConfigInvalid, format!("the HTTP client could not be created: {error}")))
}

/// Start of a body.
pub(crate) struct LimitedBody {
    pub(crate) bytes: Vec<u8>,
    /// True if the body is longer.
    pub(crate) is_cut: bool,
}

/// Reads a body up to a maximum size.
pub(crate) async fn body(mut response: Response, max_bytes: usize) -> Result<LimitedBody, String> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => return Ok(LimitedBody { bytes, is_cut: false }),
            Err(error) => return Err(format!("the response ended early: {}", error.without_url())),
        }
        if bytes.len() > max_bytes {
            bytes.truncate(max_bytes);
            return Ok(LimitedBody { bytes, is_cut: true });
        }
    }
}

/// Shortens an external text and removes control characters, which could manipulate a terminal.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(300).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
