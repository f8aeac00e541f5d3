//! Service accounts: the key is generated for the test, and OpenSSL verifies the signature of the claim.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use superstep_adapters::firestore::FirestoreKeyValue;
use superstep_core::port::{KeyValue, PutOptions};
use superstep_core::testing::block_on;

use super::PROJECT;
use crate::server::{ProxyAction, ReceivedRequest, Server};

/// A temporary folder with a key pair.
struct Keys(PathBuf);

impl Keys {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-account-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let keys = Self(folder);
        keys.openssl(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "private.pem"]);
        keys.openssl(&["pkey", "-in", "private.pem", "-pubout", "-out", "public.pem"]);
        keys
    }

    fn openssl(&self, words: &[&str]) {
        let mut openssl = Command::new("openssl");
        openssl.args(words).current_dir(&self.0).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(openssl.status().unwrap().success(), "openssl {words:?}");
    }

    fn private(&self) -> String {
        std::fs::read_to_string(self.0.join("private.pem")).unwrap()
    }

    /// Returns the JSON of a key file with the token issuer at this address.
    fn file(&self, tokens: &str) -> String {
        let file = json!({
            "type": "service_account", "project_id": PROJECT, "private_key_id": "number-1",
            "private_key": self.private(), "client_email": "robot@example.org",
            "token_uri": format!("http://{tokens}/token"),
        });
        file.to_string()
    }

    /// Verifies a signed claim and returns its header and its claims.
    fn claims(&self, claim: &str) -> (Value, Value) {
        let (words, signature) = claim.rsplit_once('.').unwrap();
        std::fs::write(self.0.join("words"), words).unwrap();
        std::fs::write(self.0.join("signature"), BASE64.decode(signature).unwrap()).unwrap();
        self.openssl(&["dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "words"]);
        let (head, claims) = words.split_once('.').unwrap();
        let read = |text: &str| serde_json::from_slice(&BASE64.decode(text).unwrap()).unwrap();
        (read(head), read(claims))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Starts a server that issues numbered tokens and accepts only those from `good` on.
fn service(good: usize) -> Server {
    let mut issued = 0;
    Server::start(None, move |request| {
        let respond = |status: u16, body: &Value| ProxyAction::Answer(status, String::new(), body.to_string());
        if request.is("/token") {
            issued += 1;
            return respond(200, &json!({ "access_token": format!("token-{issued}"), "expires_in": 3600 }));
        }
        if !(good..=issued).any(|number| request.head.contains(&format!("authorization: bearer token-{number}\r\n"))) {
            return respond(401, &json!({ "error": { "status": "UNAUTHENTICATED", "message": "old" } }));
        }
        let time = "2026-01-01T00:00:00.5Z";
        match request.is("commit") {
            true => respond(200, &json!({ "commitTime": time })),
            false => respond(200, &json!([{ "missing": "it", "readTime": time }])),
        }
    })
}

fn claim(request: &ReceivedRequest) -> String {
    let text = request.text();
    let claim = text.strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
    claim.unwrap().to_owned()
}

/// R-FWK-38: a service account signs a claim for document access only, and its token is used until it expires.
#[test]
fn a_service_account_signs_for_its_token() {
    let (keys, server) = (Keys::new(), service(1));
    let options = FirestoreKeyValue::options(PROJECT).endpoint(format!("http://{}", server.address));
    let text = options.clone().service_account_json(keys.file(&server.address));
    assert!(!format!("{text:?}").contains("PRIVATE"), "{text:?}");
    let store = block_on(text.connect()).unwrap();
    assert!(!format!("{store:?}").contains("robot"), "{store:?}");
    for number in 0..5 {
        assert!(block_on(store.put(&number.to_string(), b"1", PutOptions { if_absent: true, ttl: None })).unwrap());
    }
    let requests = server.received("/token");
    assert_eq!(requests.len(), 1, "more than one token was requested");
    let (head, claims) = keys.claims(&claim(&requests[0]));
    assert_eq!(head, json!({ "alg": "RS256", "typ": "JWT", "kid": "number-1" }));
    assert_eq!(claims["iss"], "robot@example.org");
    assert_eq!(claims["aud"], format!("http://{}/token", server.address));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/datastore");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);

    let path = keys.0.join("key.json");
    std::fs::write(&path, keys.file(&server.address)).unwrap();
    block_on(options.clone().service_account_file(&path).connect()).unwrap();
    assert_eq!(server.received("/token").len(), 2);
    let error = block_on(options.service_account_file(keys.0.join("none.json")).connect()).unwrap_err();
    assert!(error.message().contains("none.json") && !error.is_retryable(), "{error}");
}

/// R-FWK-38: a rejected token is renewed once.
#[test]
fn a_rejected_token_is_renewed_once() {
    let keys = Keys::new();
    let connect = |server: &Server| {
        let options = FirestoreKeyValue::options(PROJECT).endpoint(format!("http://{}", server.address));
        block_on(options.service_account_json(keys.file(&server.address)).connect())
    };
    let server = service(2);
    connect(&server).unwrap();
    assert_eq!(server.received("/token").len(), 2);
    let server = service(99);
    let error = connect(&server).unwrap_err();
    assert!(error.message().contains("rejected the access token") && !error.is_retryable(), "{error}");
    assert_eq!(server.received("/token").len(), 2);
}

/// R-FWK-38: an account without a token is reported with the reason, and the error contains no key.
#[test]
fn a_revoked_key_is_reported() {
    let keys = Keys::new();
    let body = json!({ "error": "invalid_grant", "error_description": "Invalid JWT Signature." });
    let server = Server::start(None, move |_| ProxyAction::Answer(400, String::new(), body.to_string()));
    let options = FirestoreKeyValue::options(PROJECT).service_account_json(keys.file(&server.address));
    let error = block_on(options.connect()).unwrap_err();
    let text = format!("{error:?}");
    assert!(text.contains("`robot@example.org`") && text.contains("Invalid JWT Signature."), "{text}");
    assert!(!error.is_retryable() && server.received("/token").len() == 1);
    let secret = keys.private().lines().nth(1).unwrap().to_owned();
    assert!(!text.contains(&secret) && !text.contains(&claim(&server.received("/token")[0])), "{text}");

    let plain = FirestoreKeyValue::options(PROJECT)
        .endpoint("http://example.org")
        .service_account_json(keys.file("127.0.0.1:1"));
    let error = block_on(plain.connect()).unwrap_err();
    assert!(error.message().contains("`http://example.org` does not use HTTPS"), "{error}");
}
