//! Credentials for Firestore: their sources, the format of a key file, and the signed claim of a service account.
//!
//! A private key is read once and never printed. No request is sent here; see `token_cache`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::json;
use superstep_core::error::{Error, ErrorCode, Result};

use super::http::is_safe;

const EMULATOR_VARIABLE: &str = "FIRESTORE_EMULATOR_HOST";
const KEY_FILE_VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const METADATA_VARIABLE: &str = "GCE_METADATA_HOST";
/// OAuth scope of the tokens: reading and writing documents.
const SCOPE: &str = "https://www.googleapis.com/auth/datastore";
/// Lifetime of a claim in seconds; the longest that Google accepts.
const MAX_CLAIM_SECONDS: u64 = 3600;

/// Source of the credentials, as set in the options.
#[derive(Clone)]
pub(super) enum CredentialSource {
    /// The environment variables decide.
    Environment,
    /// An emulator, which needs no credentials.
    Emulator(String),
    /// Path of a key file.
    File(PathBuf),
    /// Content of a key file.
    Text(String),
    /// The service account of the machine.
    Machine,
}

/// Hides the content of a key file.
impl fmt::Debug for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("Environment"),
            Self::Emulator(host) => write!(f, "Emulator({host})"),
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Text(_) => f.write_str("Text(***)"),
            Self::Machine => f.write_str("Machine"),
        }
    }
}

/// Resolved credentials.
#[derive(Debug)]
pub(super) enum Credentials {
    /// No credentials, for the emulator at this address.
    Emulator(String),
    /// A service account with its key.
    Account(Box<ServiceAccount>),
    /// The service account of the machine, whose tokens come from its metadata server.
    Machine {
        /// Host of the metadata server.
        host: String,
        /// The sources that were checked before, for the error if there is no metadata server.
        checked_sources: String,
    },
}

impl CredentialSource {
    /// Resolves the credentials; `variable` reads the environment.
    ///
    /// # Errors
    /// Returns an error if a key file is missing or invalid, with its path and the setting that named it.
    pub(super) fn resolve(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Credentials> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let machine = |checked_sources: &str| Credentials::Machine {
            host: variable(METADATA_VARIABLE).unwrap_or_else(|| "metadata.google.internal".to_owned()),
            checked_sources: checked_sources.to_owned(),
        };
        let account = |account| Credentials::Account(Box::new(account));
        match self {
            Self::Emulator(host) => Ok(Credentials::Emulator(host.clone())),
            Self::File(path) => from_file(path, "the options").map(account),
            Self::Text(text) => ServiceAccount::read(text, "the service account in the options").map(account),
            Self::Machine => Ok(machine("the options select the service account of the machine")),
            Self::Environment => match (variable(EMULATOR_VARIABLE), variable(KEY_FILE_VARIABLE)) {
                (Some(host), _) => Ok(Credentials::Emulator(host)),
                (None, Some(path)) => from_file(Path::new(&path), KEY_FILE_VARIABLE).map(account),
                (None, None) => Ok(machine(&format!("neither `{EMULATOR_VARIABLE}` nor `{KEY_FILE_VARIABLE}` is set"))),
            },
        }
    }
}

fn from_file(path: &Path, source: &str) -> Result<ServiceAccount> {
    let description = format!("the key file `{}`, set by {source},", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorCode::ConfigInvalid, format!("{description} cannot be read: {error}"))
            .with_help("set the path of a service account JSON key file that this process can read")
    })?;
    ServiceAccount::read(&text, &description)
}

/// A service account: its email address, the URI that issues its tokens, and its private key.
pub(super) struct ServiceAccount {
    pub(super) email: String,
    pub(super) token_uri: String,
    key_id: String,
    key: RsaKeyPair,
}

/// Hides the private key.
impl fmt::Debug for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccount")
            .field("email", &self.email)
            .field("key", &format_args!("***"))
            .finish_non_exhaustive()
    }
}

/// The JSON of a key file.
#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl ServiceAccount {
    /// Parses a key file; `description` names its source in errors.
    fn read(text: &str, description: &str) -> Result<Self> {
        let invalid_key_error = |reason: &str| {
            Error::new(ErrorCode::ConfigInvalid, format!("{description} {reason}")).with_help(
                "create a JSON key for a service account: `gcloud iam service-accounts keys create key.json \
                 --iam-account=..`",
            )
        };
        // The error of serde would quote a part of the file.
        let file: KeyFile = serde_json::from_str(text).map_err(|_| invalid_key_error("is not a JSON key"))?;
        match file.kind.as_deref() {
            Some("service_account") => {}
            Some(kind) => return Err(invalid_key_error(&format!("has type `{kind}` instead of `service_account`"))),
            None => return Err(invalid_key_error("has no `type`")),
        }
        let email = file.client_email.ok_or_else(|| invalid_key_error("has no `client_email`"))?;
        let key = file.private_key.ok_or_else(|| invalid_key_error("has no `private_key`"))?;
        let key = parse_key_pair(&key)
            .ok_or_else(|| invalid_key_error("has a `private_key` that is not an RSA key in PKCS #8"))?;
        let token_uri = file.token_uri.unwrap_or_else(|| "https://oauth2.googleapis.com/token".to_owned());
        if !is_safe(&token_uri) {
            return Err(invalid_key_error("has a `token_uri` that does not use HTTPS"));
        }
        Ok(Self { email, token_uri, key_id: file.private_key_id.unwrap_or_default(), key })
    }

    /// Returns a signed JWT that proves to the token issuer that the caller is this account.
    pub(super) fn signed_jwt(&self) -> Result<String> {
        let issued_at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let header = json!({ "alg": "RS256", "typ": "JWT", "kid": self.key_id });
        let claims = json!({
            "iss": self.email, "scope": SCOPE, "aud": self.token_uri,
            "iat": issued_at, "exp": issued_at + MAX_CLAIM_SECONDS,
        });
        let signing_input =
            format!("{}.{}", BASE64_URL.encode(header.to_string()), BASE64_URL.encode(claims.to_string()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        let signed = self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signing_input.as_bytes(), &mut signature);
        signed.map_err(|_| Error::internal("signing with the key of a service account failed"))?;
        Ok(format!("{signing_input}.{}", BASE64_URL.encode(signature)))
    }
}

/// Parses the RSA key pair of a PEM text in PKCS #8.
fn parse_key_pair(text: &str) -> Option<RsaKeyPair> {
    let (_, rest) = text.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let body: String = body.split_whitespace().collect();
    RsaKeyPair::from_pkcs8(&BASE64.decode(body).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(source: &CredentialSource, environment: &[(&str, &str)]) -> Result<Credentials> {
        source.resolve(|name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    /// R-FWK-38: options win over the environment; the order in the environment is emulator, key file, machine.
    #[test]
    fn credential_sources_are_checked_in_order() {
        let all =
            [(EMULATOR_VARIABLE, "here:1"), (KEY_FILE_VARIABLE, "/no/such/key.json"), (METADATA_VARIABLE, "meta:2")];
        let resolved = |source: &CredentialSource, environment: &[_]| format!("{:?}", find(source, environment));
        assert_eq!(resolved(&CredentialSource::Environment, &all), "Ok(Emulator(\"here:1\"))");
        let missing = find(&CredentialSource::Environment, &all[1..]).unwrap_err();
        assert!(missing.message().contains("`/no/such/key.json`, set by GOOGLE_APPLICATION_CREDENTIALS,"), "{missing}");
        assert!(
            resolved(&CredentialSource::Environment, &all[2..])
                .contains("host: \"meta:2\", checked_sources: \"neither `FIRESTORE_")
        );
        assert!(
            resolved(&CredentialSource::Environment, &[(EMULATOR_VARIABLE, "")]).contains("metadata.google.internal")
        );
        assert!(resolved(&CredentialSource::Machine, &all).contains("meta:2"));
        assert_eq!(resolved(&CredentialSource::Emulator("there:3".into()), &all), "Ok(Emulator(\"there:3\"))");
    }

    /// R-FWK-38: the error of an invalid key file names the defect and quotes nothing of the file.
    #[test]
    fn invalid_keys_are_reported() {
        for (text, expected) in [
            ("so secret", "is not a JSON key"),
            (r#"{"client_email":"so secret"}"#, "has no `type`"),
            (r#"{"type":"authorized_user"}"#, "has type `authorized_user`"),
            (r#"{"type":"service_account"}"#, "has no `client_email`"),
            (r#"{"type":"service_account","client_email":"a"}"#, "has no `private_key`"),
            (r#"{"type":"service_account","client_email":"a","private_key":"so secret"}"#, "not an RSA key"),
        ] {
            let source = CredentialSource::Text(text.to_owned());
            let error = find(&source, &[]).unwrap_err();
            assert!(error.message().contains(expected), "{text}: {error}");
            assert!(!format!("{error:?} {source:?}").contains("so secret"), "{error:?}");
            assert_eq!((error.code(), error.is_retryable()), (ErrorCode::ConfigInvalid, false));
        }
    }
}
