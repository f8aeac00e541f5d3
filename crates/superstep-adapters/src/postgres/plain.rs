//! Connections without encryption, for programs that are built without `postgres-tls`.

use superstep_core::error::{Code, Error, Result};
use tokio_postgres::{Client, Config, NoTls};

use super::address::Secrecy;
use super::wire::Driver;

pub(super) struct Security;

impl Security {
    pub(super) fn new(secrecy: &Secrecy) -> Result<Self> {
        if matches!(secrecy, Secrecy::None | Secrecy::Preferred) {
            return Ok(Self);
        }
        let message =
            "the address of PostgreSQL asks for encryption with `sslmode`, which this program is built without";
        Err(Error::new(Code::ConfigInvalid, message).help(
            "switch the feature `postgres-tls` on; or lead the connection through a tunnel and say `sslmode=disable`",
        ))
    }

    pub(super) async fn connect(&self, config: &Config) -> Result<(Client, Driver), tokio_postgres::Error> {
        let (client, connection) = config.connect(NoTls).await?;
        Ok((client, Box::pin(connection)))
    }
}

/// What is wrong with the certificate of a server.
pub(super) fn distrust(_: &(dyn std::error::Error + 'static)) -> Option<String> {
    None
}
