//! Who we are to Firestore: where that is looked for, what a key file holds, and the signed claim of a service account.
//!
//! A private key is read once and never printed. No request is made here; see `token`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::json;
use superstep_core::error::{Code, Error, Result};

use super::http::is_safe;

const EMULATOR: &str = "FIRESTORE_EMULATOR_HOST";
const KEY_FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const METADATA: &str = "GCE_METADATA_HOST";
/// What a token is good for: reading and writing documents.
const SCOPE: &str = "https://www.googleapis.com/auth/datastore";
/// How long a claim is good for, in seconds; the longest that is allowed.
const AN_HOUR: u64 = 3600;

/// What the user said about credentials.
#[derive(Clone)]
pub(super) enum Choice {
    /// Nothing: the environment says it.
    Environment,
    /// An emulator, which asks for none.
    Emulator(String),
    /// A key file.
    File(PathBuf),
    /// What stands in a key file.
    Text(String),
    /// The service account of the machine.
    Machine,
}

/// Without what is secret.
impl fmt::Debug for Choice {
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

/// Who we are.
#[derive(Debug)]
pub(super) enum Credentials {
    /// Anybody, to the emulator at this address.
    Emulator(String),
    /// A service account.
    Account(Box<Account>),
    /// Whoever this machine is, by the word of its metadata server.
    Machine {
        /// Where that server is.
        host: String,
        /// Where else credentials were looked for, for whoever reads that the server is not there.
        sought: String,
    },
}

impl Choice {
    /// Finds the credentials; `variable` reads the environment.
    ///
    /// # Errors
    /// When a key file is missing or is not one, naming it and who named it.
    pub(super) fn find(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Credentials> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let machine = |sought: &str| Credentials::Machine {
            host: variable(METADATA).unwrap_or_else(|| "metadata.google.internal".to_owned()),
            sought: sought.to_owned(),
        };
        let account = |account| Credentials::Account(Box::new(account));
        match self {
            Self::Emulator(host) => Ok(Credentials::Emulator(host.clone())),
            Self::File(path) => from_file(path, "the options").map(account),
            Self::Text(text) => Account::read(text, "the service account in the options").map(account),
            Self::Machine => Ok(machine("the options ask for the account of this machine")),
            Self::Environment => match (variable(EMULATOR), variable(KEY_FILE)) {
                (Some(host), _) => Ok(Credentials::Emulator(host)),
                (None, Some(path)) => from_file(Path::new(&path), KEY_FILE).map(account),
                (None, None) => Ok(machine(&format!("neither `{EMULATOR}` nor `{KEY_FILE}` is set"))),
            },
        }
    }
}

fn from_file(path: &Path, who: &str) -> Result<Account> {
    let named = format!("the key file `{}`, named by {who},", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(Code::ConfigInvalid, format!("{named} cannot be read: {error}"))
            .help("name the JSON key file of a service account that this process may read")
    })?;
    Account::read(&text, &named)
}

/// A service account: whose it is, who gives tokens for it, and its private key.
pub(super) struct Account {
    pub(super) email: String,
    pub(super) token_uri: String,
    key_id: String,
    key: RsaKeyPair,
}

/// Without the key.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("email", &self.email).field("key", &format_args!("***")).finish_non_exhaustive()
    }
}

/// What a key file holds.
#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl Account {
    /// Reads a key file; `named` is what an error calls it.
    fn read(text: &str, named: &str) -> Result<Self> {
        let broken = |why: &str| {
            Error::new(Code::ConfigInvalid, format!("{named} {why}"))
                .help("make a JSON key for a service account: `gcloud iam service-accounts keys create key.json --iam-account=..`")
        };
        // The text of the error would repeat a piece of the file.
        let file: KeyFile = serde_json::from_str(text).map_err(|_| broken("is not the JSON of a key"))?;
        match file.kind.as_deref() {
            Some("service_account") => {}
            Some(kind) => return Err(broken(&format!("is of the type `{kind}`, and not `service_account`"))),
            None => return Err(broken("has no `type`")),
        }
        let email = file.client_email.ok_or_else(|| broken("has no `client_email`"))?;
        let key = file.private_key.ok_or_else(|| broken("has no `private_key`"))?;
        let key = pair(&key).ok_or_else(|| broken("has a `private_key` that is no RSA key in PKCS #8"))?;
        let token_uri = file.token_uri.unwrap_or_else(|| "https://oauth2.googleapis.com/token".to_owned());
        if !is_safe(&token_uri) {
            return Err(broken("has a `token_uri` that is not encrypted"));
        }
        Ok(Self { email, token_uri, key_id: file.private_key_id.unwrap_or_default(), key })
    }

    /// A signed claim to be this account, for whoever gives tokens.
    pub(super) fn claim(&self) -> Result<String> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let head = json!({ "alg": "RS256", "typ": "JWT", "kid": self.key_id });
        let claims = json!({
            "iss": self.email, "scope": SCOPE, "aud": self.token_uri, "iat": since, "exp": since + AN_HOUR,
        });
        let words = format!("{}.{}", BASE64_URL.encode(head.to_string()), BASE64_URL.encode(claims.to_string()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        let signed = self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), words.as_bytes(), &mut signature);
        signed.map_err(|_| Error::internal("the key of a service account could not sign"))?;
        Ok(format!("{words}.{}", BASE64_URL.encode(signature)))
    }
}

/// The key in a PEM text.
fn pair(text: &str) -> Option<RsaKeyPair> {
    let (_, rest) = text.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (inside, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let inside: String = inside.split_whitespace().collect();
    RsaKeyPair::from_pkcs8(&BASE64.decode(inside).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(choice: &Choice, environment: &[(&str, &str)]) -> Result<Credentials> {
        choice.find(|name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    /// R-FWK-38: the emulator comes first, then the key file, then the machine; what was said in the program comes before.
    #[test]
    fn credentials_are_looked_for_in_order() {
        let all = [(EMULATOR, "here:1"), (KEY_FILE, "/no/such/key.json"), (METADATA, "meta:2")];
        let asked = |choice: &Choice, environment: &[_]| format!("{:?}", find(choice, environment));
        assert_eq!(asked(&Choice::Environment, &all), "Ok(Emulator(\"here:1\"))");
        let missing = find(&Choice::Environment, &all[1..]).unwrap_err();
        assert!(
            missing.message().contains("`/no/such/key.json`, named by GOOGLE_APPLICATION_CREDENTIALS,"),
            "{missing}"
        );
        assert!(asked(&Choice::Environment, &all[2..]).contains("host: \"meta:2\", sought: \"neither `FIRESTORE_"));
        assert!(asked(&Choice::Environment, &[(EMULATOR, "")]).contains("metadata.google.internal"));
        assert!(asked(&Choice::Machine, &all).contains("meta:2"));
        assert_eq!(asked(&Choice::Emulator("there:3".into()), &all), "Ok(Emulator(\"there:3\"))");
    }

    /// R-FWK-38: a broken key is named by what is wrong with it, and nothing of it is repeated.
    #[test]
    fn broken_keys_are_told() {
        for (text, why) in [
            ("so secret", "is not the JSON of a key"),
            (r#"{"client_email":"so secret"}"#, "has no `type`"),
            (r#"{"type":"authorized_user"}"#, "is of the type `authorized_user`"),
            (r#"{"type":"service_account"}"#, "has no `client_email`"),
            (r#"{"type":"service_account","client_email":"a"}"#, "has no `private_key`"),
            (r#"{"type":"service_account","client_email":"a","private_key":"so secret"}"#, "no RSA key"),
        ] {
            let choice = Choice::Text(text.to_owned());
            let error = find(&choice, &[]).unwrap_err();
            assert!(error.message().contains(why), "{text}: {error}");
            assert!(!format!("{error:?} {choice:?}").contains("so secret"), "{error:?}");
            assert_eq!((error.code(), error.is_retryable()), (Code::ConfigInvalid, false));
        }
    }
}
