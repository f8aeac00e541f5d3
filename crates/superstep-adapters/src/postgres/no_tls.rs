//! Connections without TLS, for programs built without `postgres-tls`.

use superstep_core::error::{Error, ErrorCode, Result};
use tokio_postgres::{Client, Config, NoTls};

use super::config::TlsMode;
use super::connection::ConnectionDriver;

/// TLS configuration of a program without TLS.
pub(super) struct Tls;

impl Tls {
    pub(super) fn new(mode: &TlsMode) -> Result<Self> {
        if matches!(mode, TlsMode::None | TlsMode::Preferred) {
            return Ok(Self);
        }
        let message = "`sslmode` requires TLS, but this program is built without TLS";
        Err(Error::new(ErrorCode::ConfigInvalid, message)
            .with_help("enable the feature `postgres-tls`, or use a tunnel and `sslmode=disable`"))
    }

    pub(super) async fn connect(&self, config: &Config) -> Result<(Client, ConnectionDriver), tokio_postgres::Error> {
        let (client, connection) = config.connect(NoTls).await?;
        Ok((client, Box::pin(connection)))
    }
}

/// Returns the reason why a certificate is not trusted.
pub(super) fn certificate_error(_: &(dyn std::error::Error + 'static)) -> Option<String> {
    None
}
