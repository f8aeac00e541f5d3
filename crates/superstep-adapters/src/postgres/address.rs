//! Where the server is and how it is spoken to: the address a user gives, read once, shown without its password.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::Options;
use super::statements::Statements;
use super::tls::Security;

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
    pub(super) statements: Arc<Statements>,
    secrecy: Secrecy,
    pub(super) security: Arc<Security>,
}

/// How far nobody else may know what is said, and who must be at the other end. The text is the file with the
/// certificates of authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Secrecy {
    None,
    /// Encrypted where the server offers it.
    Preferred,
    /// Encrypted, whoever it is.
    Encrypted,
    /// Whoever has a certificate of an authority.
    Authority(Option<String>),
    /// Whoever has a certificate of an authority for this host.
    Host(Option<String>),
}

impl Secrecy {
    fn new(mode: Option<&str>, root: Option<String>) -> Result<Self> {
        Ok(match mode {
            Some("disable") => Self::None,
            None | Some("prefer" | "allow") => Self::Preferred,
            // As other clients: whoever names an authority wants it to be asked.
            Some("require") if root.is_some() => Self::Authority(root),
            Some("require") => Self::Encrypted,
            Some("verify-ca") => Self::Authority(root),
            Some("verify-full") => Self::Host(root),
            Some(other) => {
                return Err(Error::new(Code::ConfigInvalid, format!("`{other}` is no `sslmode`"))
                    .help("it is one of `disable`, `prefer`, `require`, `verify-ca` and `verify-full`"));
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

/// Takes the settings out of an address that its parser does not know: what is left, `sslmode` and `sslrootcert`.
fn take_settings(url: &str) -> (String, Option<String>, Option<String>) {
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
    let left = if url.contains("://") {
        let (front, settings) = url.split_once('?').unwrap_or((url, ""));
        let others: Vec<&str> = settings.split('&').filter(|setting| is_other(setting)).collect();
        let (mark, others) = (if others.concat().is_empty() { "" } else { "?" }, others.join("&"));
        root = root.map(|root| unescape(&root));
        format!("{front}{mark}{others}")
    } else {
        url.split(' ').filter(|setting| is_other(setting)).collect::<Vec<_>>().join(" ")
    };
    (left, mode, root)
}

/// Text with `%2F` and the like as what it stands for.
fn unescape(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let code = (*byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Address {
    pub(super) fn new(url: &str, options: &Options) -> Result<Self> {
        // What was given may hold a password, so it is not repeated.
        let (url, mode, root) = take_settings(url);
        let secrecy = Secrecy::new(mode.as_deref(), root)?;
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let reason = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            Error::new(Code::ConfigInvalid, format!("the address of PostgreSQL cannot be read{reason}"))
                .help("write `postgres://user:password@host:5432/database`")
        })?;
        config.ssl_mode(secrecy.mode());
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
        let schema: Arc<str> = format!("\"{}\"", options.schema).into();
        let statements = Arc::new(Statements::new(&schema));
        let (security, patience) = (Arc::new(Security::new(&secrecy)?), options.patience);
        Ok(Self { config: Arc::new(config), schema, patience, statements, secrecy, security })
    }

    /// Whether what is said may be read on the way.
    pub(super) fn is_readable(&self) -> bool {
        let is_open = matches!(self.secrecy, Secrecy::None | Secrecy::Preferred);
        is_open
            && self.config.get_hosts().iter().any(|host| match host {
                Host::Tcp(name) => {
                    let is_own = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
                    name != "localhost" && !is_own
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
    fn what_is_said_of_encryption_is_understood() {
        let secrecy = |settings: &str| {
            let (left, mode, root) = take_settings(&format!("postgres://me@host/work{settings}"));
            assert!(left.parse::<Config>().is_ok(), "{left}");
            Secrecy::new(mode.as_deref(), root)
        };
        let file = || Some("/a b.crt".to_owned());
        for (settings, meant) in [
            ("", Secrecy::Preferred),
            ("?sslmode=disable&application_name=a", Secrecy::None),
            ("?application_name=a&sslmode=require", Secrecy::Encrypted),
            ("?sslmode=require&sslrootcert=%2Fa%20b.crt", Secrecy::Authority(file())),
            ("?sslmode=verify-ca", Secrecy::Authority(None)),
            ("?sslrootcert=/a%20b.crt&sslmode=verify-full", Secrecy::Host(file())),
        ] {
            assert_eq!(secrecy(settings).unwrap(), meant, "{settings}");
        }
        assert_eq!(secrecy("?sslmode=maybe").unwrap_err().code(), Code::ConfigInvalid);
        let (left, mode, root) = take_settings("host=a sslmode=verify-full sslrootcert='/a.crt' user=b");
        assert_eq!((&*left, mode.as_deref(), root.as_deref()), ("host=a user=b", Some("verify-full"), Some("/a.crt")));
    }

    #[test]
    fn a_schema_has_a_plain_name() {
        for name in ["", "1a", "pg_a", "a\"b", "A", "a-b", &"a".repeat(64)] {
            let error = Address::new("postgres://me@host/work", &Options::default().schema(name)).err().unwrap();
            assert_eq!(error.code(), Code::ConfigInvalid, "{name}");
        }
    }
}
