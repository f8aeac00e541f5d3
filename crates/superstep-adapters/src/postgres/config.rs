//! Connection configuration: the URL of the user, parsed once and displayed without its password.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::PostgresOptions;
use super::statements::Statements;
use super::tls::Tls;

/// Maximum length of an identifier in PostgreSQL, in bytes.
const MAX_NAME_BYTES: usize = 63;

/// A server and a schema.
#[derive(Clone)]
pub(super) struct PgConfig {
    pub(super) config: Arc<Config>,
    /// Quoted name of the schema.
    pub(super) schema: Arc<str>,
    /// Time after which a call fails if the server is unreachable.
    pub(super) retry_timeout: Duration,
    pub(super) statements: Arc<Statements>,
    tls_mode: TlsMode,
    pub(super) tls: Arc<Tls>,
}

/// TLS requirements. The text is the path of a file with CA certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TlsMode {
    None,
    /// TLS if the server offers it.
    Preferred,
    /// TLS without a check of the certificate.
    Encrypted,
    /// TLS with a certificate of a trusted CA.
    VerifyCa(Option<String>),
    /// TLS with a certificate of a trusted CA for this host.
    VerifyFull(Option<String>),
}

impl TlsMode {
    fn new(mode: Option<&str>, root: Option<String>) -> Result<Self> {
        Ok(match mode {
            Some("disable") => Self::None,
            None | Some("prefer" | "allow") => Self::Preferred,
            // Like other clients: a given root certificate is checked.
            Some("require") if root.is_some() => Self::VerifyCa(root),
            Some("require") => Self::Encrypted,
            Some("verify-ca") => Self::VerifyCa(root),
            Some("verify-full") => Self::VerifyFull(root),
            Some(other) => {
                return Err(Error::new(ErrorCode::ConfigInvalid, format!("`{other}` is not an `sslmode`"))
                    .with_help("use `disable`, `prefer`, `require`, `verify-ca` or `verify-full`"));
            }
        })
    }

    fn mode(&self) -> SslMode {
        match self {
            Self::None => SslMode::Disable,
            Self::Preferred => SslMode::Prefer,
            _ => SslMode::Require,
        }
    }
}

/// Removes the settings from a URL that its parser does not support; returns the remaining URL, `sslmode` and
/// `sslrootcert`.
fn extract_settings(url: &str) -> (String, Option<String>, Option<String>) {
    let (mut mode, mut root) = (None, None);
    let mut is_other = |setting: &str| match setting.split_once('=') {
        Some(("sslmode", value)) => {
            mode = Some(value.to_owned());
            false
        }
        Some(("sslrootcert", value)) => {
            root = Some(value.trim_matches('\'').to_owned());
            false
        }
        _ => true,
    };
    let remaining = if url.contains("://") {
        let (front, settings) = url.split_once('?').unwrap_or((url, ""));
        let others: Vec<&str> = settings.split('&').filter(|setting| is_other(setting)).collect();
        let (separator, others) = (if others.concat().is_empty() { "" } else { "?" }, others.join("&"));
        root = root.map(|root| percent_decode(&root));
        format!("{front}{separator}{others}")
    } else {
        url.split(' ').filter(|setting| is_other(setting)).collect::<Vec<_>>().join(" ")
    };
    (remaining, mode, root)
}

/// Decodes percent-encoded text.
fn percent_decode(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let code = (*byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl PgConfig {
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Self> {
        // The URL may contain a password, so the error does not repeat it.
        let (url, mode, root) = extract_settings(url);
        let tls_mode = TlsMode::new(mode.as_deref(), root)?;
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let reason = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            Error::new(ErrorCode::ConfigInvalid, format!("the URL of PostgreSQL is invalid{reason}"))
                .with_help("use `postgres://user:password@host:5432/database`")
        })?;
        config.ssl_mode(tls_mode.mode());
        check_schema(&options.schema)?;
        if config.get_application_name().is_none() {
            config.application_name("superstep");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        // Detects a connection that a router dropped, also while a response is pending.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(15));
        }
        if config.get_keepalives_idle() > Duration::from_secs(60) {
            config.keepalives_idle(Duration::from_secs(30)).keepalives_interval(Duration::from_secs(5));
        }
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let schema: Arc<str> = format!("\"{}\"", options.schema).into();
        let statements = Arc::new(Statements::new(&schema));
        let (tls, retry_timeout) = (Arc::new(Tls::new(&tls_mode)?), options.retry_timeout);
        Ok(Self { config: Arc::new(config), schema, retry_timeout, statements, tls_mode, tls })
    }

    /// Returns true if the connection to a remote host may be unencrypted.
    pub(super) fn is_unencrypted(&self) -> bool {
        let is_open = matches!(self.tls_mode, TlsMode::None | TlsMode::Preferred);
        is_open
            && self.config.get_hosts().iter().any(|host| match host {
                Host::Tcp(name) => {
                    let is_loopback = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
                    name != "localhost" && !is_loopback
                }
                #[cfg(unix)]
                Host::Unix(_) => false,
            })
    }
}

fn check_schema(schema: &str) -> Result<()> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_valid = schema.bytes().next().is_some_and(is_letter)
        && schema.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && schema.len() <= MAX_NAME_BYTES
        && !schema.starts_with("pg_");
    if is_valid {
        return Ok(());
    }
    Err(Error::new(ErrorCode::ConfigInvalid, format!("`{schema}` is not a valid schema name"))
        .with_help(format!("use up to {MAX_NAME_BYTES} of `a-z 0-9 _`, without a digit or `pg_` at the beginning")))
}

/// Shows host, port, database and schema, never the password.
impl fmt::Display for PgConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`")?;
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let ports = self.config.get_ports();
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            let comma = if index > 0 { "," } else { "" };
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

    fn address(url: &str) -> Result<PgConfig> {
        PgConfig::new(url, &PostgresOptions::default())
    }

    #[test]
    fn display_hides_the_password() {
        let config = address("postgres://me:secret@db.example:6432/work").unwrap();
        assert_eq!(config.to_string(), "`db.example:6432/work`, schema `superstep`");
        assert!(config.is_unencrypted() && !address("postgres://me@localhost/work").unwrap().is_unencrypted());
        let error = address("postgres://me:secret@host:port/work").err().unwrap();
        assert_eq!((error.code(), error.to_string().contains("secret")), (ErrorCode::ConfigInvalid, false));
    }

    #[test]
    fn ssl_mode_settings_are_parsed() {
        let tls_mode = |settings: &str| {
            let (remaining, mode, root) = extract_settings(&format!("postgres://me@host/work{settings}"));
            assert!(remaining.parse::<Config>().is_ok(), "{remaining}");
            TlsMode::new(mode.as_deref(), root)
        };
        let file = || Some("/a b.crt".to_owned());
        for (settings, expected) in [
            ("", TlsMode::Preferred),
            ("?sslmode=disable&application_name=a", TlsMode::None),
            ("?application_name=a&sslmode=require", TlsMode::Encrypted),
            ("?sslmode=require&sslrootcert=%2Fa%20b.crt", TlsMode::VerifyCa(file())),
            ("?sslmode=verify-ca", TlsMode::VerifyCa(None)),
            ("?sslrootcert=/a%20b.crt&sslmode=verify-full", TlsMode::VerifyFull(file())),
        ] {
            assert_eq!(tls_mode(settings).unwrap(), expected, "{settings}");
        }
        assert_eq!(tls_mode("?sslmode=maybe").unwrap_err().code(), ErrorCode::ConfigInvalid);
        let (remaining, mode, root) = extract_settings("host=a sslmode=verify-full sslrootcert='/a.crt' user=b");
        assert_eq!(
            (&*remaining, mode.as_deref(), root.as_deref()),
            ("host=a user=b", Some("verify-full"), Some("/a.crt"))
        );
    }

    #[test]
    fn invalid_schema_names_are_rejected() {
        for name in ["", "1a", "pg_a", "a\"b", "A", "a-b", &"a".repeat(64)] {
            let error =
                PgConfig::new("postgres://me@host/work", &PostgresOptions::default().schema(name)).err().unwrap();
            assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{name}");
        }
    }
}
