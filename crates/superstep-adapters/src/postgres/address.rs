//! Where the server is and how it is spoken to: the address a user gives, read once, shown without its password.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::Options;

/// The longest name PostgreSQL keeps.
const LONGEST_NAME: usize = 63;

/// A server, and the schema in it.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Arc<Config>,
    /// The schema, quoted.
    pub(super) schema: Arc<str>,
    /// How long a server that is away is waited for.
    pub(super) patience: Duration,
}

impl Address {
    pub(super) fn new(url: &str, options: &Options) -> Result<Self> {
        // What was given may hold a password, so it is not repeated.
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let reason = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            Error::new(Code::ConfigInvalid, format!("the address of PostgreSQL cannot be read{reason}"))
                .help("write `postgres://user:password@host:5432/database`")
        })?;
        check_encryption(&config)?;
        check_schema(&options.schema)?;
        if config.get_application_name().is_none() {
            config.application_name("superstep");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        // A connection that a router forgot is noticed, also while an answer is awaited.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(15));
        }
        if config.get_keepalives_idle() > Duration::from_secs(60) {
            config.keepalives_idle(Duration::from_secs(30)).keepalives_interval(Duration::from_secs(5));
        }
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let schema = format!("\"{}\"", options.schema).into();
        Ok(Self { config: Arc::new(config), schema, patience: options.patience })
    }

    /// Whether what is said can be read on the way.
    pub(super) fn is_readable(&self) -> bool {
        self.config.get_hosts().iter().any(|host| match host {
            Host::Tcp(name) => {
                let is_own = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
                name != "localhost" && !is_own
            }
            #[cfg(unix)]
            Host::Unix(_) => false,
        })
    }
}

fn check_encryption(config: &Config) -> Result<()> {
    if !matches!(config.get_ssl_mode(), SslMode::Disable | SslMode::Prefer) {
        let message = "the address of PostgreSQL asks for encryption with `sslmode`, which this store cannot do yet";
        return Err(Error::new(Code::ConfigInvalid, message)
            .help("lead the connection through a tunnel or a pooler that encrypts, and say `sslmode=disable`"));
    }
    Ok(())
}

fn check_schema(schema: &str) -> Result<()> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_valid = schema.bytes().next().is_some_and(is_letter)
        && schema.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && schema.len() <= LONGEST_NAME
        && !schema.starts_with("pg_");
    if is_valid {
        return Ok(());
    }
    Err(Error::new(Code::ConfigInvalid, format!("`{schema}` is not the name of a schema for checkpoints"))
        .help(format!("a name has up to {LONGEST_NAME} of `a-z 0-9 _`, does not begin with a digit nor with `pg_`")))
}

/// Host, port, database and schema; never the user's password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`")?;
        for (place, host) in self.config.get_hosts().iter().enumerate() {
            let ports = self.config.get_ports();
            let port = ports.get(place).or(ports.first()).copied().unwrap_or(5432);
            let comma = if place > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        write!(f, "/{database}`, schema `{}`", self.schema.trim_matches('"'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address> {
        Address::new(url, &Options::default())
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = address("postgres://me:secret@db.example:6432/work").unwrap();
        assert_eq!(shown.to_string(), "`db.example:6432/work`, schema `superstep`");
        assert!(shown.is_readable() && !address("postgres://me@localhost/work").unwrap().is_readable());
        let error = address("postgres://me:secret@host:port/work").err().unwrap();
        assert_eq!((error.code(), error.to_string().contains("secret")), (Code::ConfigInvalid, false));
    }

    #[test]
    fn encryption_is_never_left_out_in_silence() {
        for mode in ["require", "verify-full", "verify-ca"] {
            let error = address(&format!("postgres://me@host/work?sslmode={mode}")).err().unwrap();
            assert_eq!((error.code(), error.message().contains("sslmode")), (Code::ConfigInvalid, true), "{error}");
        }
    }

    #[test]
    fn a_schema_has_a_plain_name() {
        for name in ["", "1a", "pg_a", "a\"b", "A", "a-b", &"a".repeat(64)] {
            let error = Address::new("postgres://me@host/work", &Options::default().schema(name)).err().unwrap();
            assert_eq!(error.code(), Code::ConfigInvalid, "{name}");
        }
    }
}
