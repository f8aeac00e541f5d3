//! The HTTP client of the tools: one kind of TLS, no redirects of its own, and bodies of a bounded size.

use std::sync::Once;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Response, redirect};
use superstep::{Code, Error, Result};
use tokio_rustls::rustls::crypto::ring;

/// The largest body that is read.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a request may take.
const TIME: Duration = Duration::from_secs(9);

/// A client for addresses of the configuration.
pub(crate) fn client() -> Result<Client> {
    built(builder())
}

/// A client to be.
pub(super) fn builder() -> ClientBuilder {
    static ENCRYPTION: Once = Once::new();
    // Somebody else may have chosen before, and that is as good.
    ENCRYPTION.call_once(|| drop(ring::default_provider().install_default()));
    // A redirect would take what says who we are along to another address.
    Client::builder().connect_timeout(CONNECT).timeout(TIME).redirect(redirect::Policy::none())
}

pub(super) fn built(builder: ClientBuilder) -> Result<Client> {
    builder.build().map_err(|error| Error::new(Code::ConfigInvalid, format!("no client for HTTP: {error}")))
}

/// The beginning of a body.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// There is more.
    pub(crate) is_cut: bool,
}

/// Reads a body up to a size.
pub(crate) async fn body(mut response: Response, most: usize) -> Result<Body, String> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => return Ok(Body { bytes, is_cut: false }),
            Err(error) => return Err(format!("the answer broke off: {}", error.without_url())),
        }
        if bytes.len() > most {
            bytes.truncate(most);
            return Ok(Body { bytes, is_cut: true });
        }
    }
}

/// The beginning of a text of somebody else, which cannot steer a terminal.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(300).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
