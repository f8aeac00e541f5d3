//! Request signatures of version 4 and their credentials.
//!
//! Headers, URL and body are signed. The secret never leaves this module.

use std::fmt;

use jiff::Timestamp;
use ring::{digest, hmac};
use superstep_core::error::{Error, ErrorCode, Result};

use super::bucket::uri_encode;

const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";

/// Credentials of an access key.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) key_id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

/// Hides secret and token.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the credentials from the environment with `variable`.
    ///
    /// # Errors
    /// Returns an error that names the missing variable.
    pub(super) fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let required = |name: &str| {
            variable(name).ok_or_else(|| {
                Error::new(ErrorCode::ConfigInvalid, format!("no credentials for S3: `{name}` is not set"))
                    .with_help(format!("set `{KEY_ID}` and `{SECRET}`, or set both with `credentials`"))
            })
        };
        Ok(Self { key_id: required(KEY_ID)?, secret: required(SECRET)?, token: variable(TOKEN) })
    }
}

/// A request before it is signed.
pub(super) struct Request {
    pub(super) method: &'static str,
    /// Percent-encoded path.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Returns the encoded query in the order required by signatures.
    pub(super) fn query(&self) -> String {
        let pairs =
            self.query.iter().map(|(name, value)| format!("{}={}", uri_encode(name, false), uri_encode(value, false)));
        let mut pairs: Vec<String> = pairs.collect();
        pairs.sort();
        pairs.join("&")
    }
}

/// Signer of requests to one host.
pub(super) struct Signer {
    pub(super) credentials: Credentials,
    pub(super) region: String,
    pub(super) host: String,
}

impl Signer {
    /// Returns the headers of a request at a time, including its signature.
    pub(super) fn signed_headers(&self, request: &Request, at: Timestamp) -> Vec<(&'static str, String)> {
        let (time, body) =
            (at.strftime("%Y%m%dT%H%M%SZ").to_string(), hex(digest::digest(&digest::SHA256, &request.body)));
        let mut headers = request.headers.clone();
        headers.extend([
            ("host", self.host.clone()),
            ("x-amz-content-sha256", body.clone()),
            ("x-amz-date", time.clone()),
        ]);
        headers.extend(self.credentials.token.iter().map(|token| ("x-amz-security-token", token.clone())));
        headers.sort();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
        let canonical_request =
            format!("{}\n{}\n{}\n{lines}\n{names}\n{body}", request.method, request.path, request.query());
        let day = &time[..8];
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let request_hash = hex(digest::digest(&digest::SHA256, canonical_request.as_bytes()));
        let signature = hex(self.sign(day, &format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{request_hash}")));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}",
            self.credentials.key_id
        );
        headers.push(("authorization", authorization));
        headers
    }

    fn sign(&self, day: &str, text: &str) -> hmac::Tag {
        let mut key = format!("AWS4{}", self.credentials.secret).into_bytes();
        for part in [day, &self.region, "s3", "aws4_request"] {
            key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
        }
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), text.as_bytes())
    }
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Credentials of Amazon's documentation.
    fn signer() -> Signer {
        let (key_id, secret) = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let credentials = Credentials { key_id: key_id.to_owned(), secret: secret.to_owned(), token: None };
        Signer { credentials, region: "us-east-1".to_owned(), host: "examplebucket.s3.amazonaws.com".to_owned() }
    }

    fn authorization(signer: &Signer, request: &Request) -> String {
        let signed_headers = signer.signed_headers(request, "2013-05-24T00:00:00Z".parse().unwrap());
        signed_headers.into_iter().find(|(name, _)| *name == "authorization").unwrap().1
    }

    fn get(path: &str, query: &[(&'static str, &str)], headers: &[(&'static str, &str)]) -> Request {
        let own =
            |pairs: &[(&'static str, &str)]| pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Request { method: "GET", path: path.to_owned(), query: own(query), headers: own(headers), body: Vec::new() }
    }

    /// R-FWK-40: the example requests of Amazon's documentation get the documented signatures.
    #[test]
    fn signatures_match_the_documentation() {
        let put = Request {
            method: "PUT",
            path: format!("/{}", uri_encode("test$file.text", true)),
            body: b"Welcome to Amazon S3.".to_vec(),
            ..get("", &[], &[("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")])
        };
        for (request, names, signature) in [
            (
                get("/test.txt", &[], &[("range", "bytes=0-9")]),
                "host;range;x-amz-content-sha256;x-amz-date",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                put,
                "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                get("/", &[("lifecycle", "")], &[]),
                "host;x-amz-content-sha256;x-amz-date",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                get("/", &[("prefix", "J"), ("max-keys", "2")], &[]),
                "host;x-amz-content-sha256;x-amz-date",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
                 SignedHeaders={names},Signature={signature}"
            );
            assert_eq!(authorization(&signer(), &request), expected);
        }
    }

    /// R-FWK-40: a session token is sent and signed; neither the token nor the secret is printed.
    #[test]
    fn session_tokens_are_signed_and_never_printed() {
        let mut signer = signer();
        signer.credentials.token = Some("session".to_owned());
        let request = get("/", &[], &[]);
        let signed_headers = signer.signed_headers(&request, Timestamp::UNIX_EPOCH);
        assert!(signed_headers.contains(&("x-amz-security-token", "session".to_owned())));
        assert!(authorization(&signer, &request).contains("x-amz-date;x-amz-security-token,"));
        let printed = format!("{:?} {signed_headers:?}", signer.credentials);
        assert!(printed.contains("AKIAIOSFODNN7EXAMPLE") && !printed.contains("wJalr"), "{printed}");
        assert!(!format!("{:?}", signer.credentials).contains("session"));
    }

    /// R-FWK-40: missing credentials are reported with the name of the variable.
    #[test]
    fn missing_credentials_are_named() {
        let find = |all: &[(&str, &str)]| {
            let read = |name: &str| all.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            Credentials::from_environment(read)
        };
        let all = [(KEY_ID, "id"), (SECRET, "so secret"), (TOKEN, "session")];
        let credentials = find(&all).unwrap();
        assert_eq!(
            (&*credentials.key_id, &*credentials.secret, credentials.token.as_deref()),
            ("id", "so secret", Some("session"))
        );
        assert!(find(&all[..1]).unwrap_err().message().contains("`AWS_SECRET_ACCESS_KEY` is not set"));
        let error = find(&all[1..]).unwrap_err();
        assert!(error.message().contains("`AWS_ACCESS_KEY_ID` is not set") && !error.to_string().contains("so secret"));
    }
}
