//! Values under keys in S3, or in whatever speaks its protocol: a door for what is built on [`KeyValue`].
//!
//! A key is an object in a folder of a bucket (`address`). What the port asks for is in `values`, which asks `service`, which
//! signs (`sign`), tries again and knows the time of the server (`clock`). What stands in objects and answers is in `form`, what
//! goes wrong in `trouble`; requests are made on a thread of their own (`crate::room`).
//!
//! Putting a new key is a put under the condition that there is none (`If-None-Match`); where one has lapsed, that it is still
//! the same (`If-Match`). Putting without that and deleting have no condition: of a request whose connection broke nobody
//! knows when the server will be done with it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::port::{KeyValue, Put};

mod address;
mod clock;
mod form;
mod service;
mod sign;
mod trouble;
mod values;

use address::Place;
use clock::Clock;
use service::Service;
use sign::{Credentials, Signer};
use values::Values;

use crate::remote::Web;
use crate::room::Room;

const REGION: &str = "AWS_REGION";
const ENDPOINT: &str = "AWS_ENDPOINT_URL";

/// How a bucket is connected to; see [`S3::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    bucket: String,
    folder: String,
    region: Option<String>,
    endpoint: Option<String>,
    is_in_path: Option<bool>,
    allows_http: bool,
    credentials: Option<Credentials>,
    patience: Duration,
}

impl Options {
    fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            folder: "superstep".to_owned(),
            region: None,
            endpoint: None,
            is_in_path: None,
            allows_http: false,
            credentials: None,
            patience: Duration::from_secs(30),
        }
    }

    /// The folder of the bucket that the objects are in, which nothing else may write to; beside it is a small object whose
    /// name has `.check` behind it. `superstep` unless told; up to 128 of `A-Z a-z 0-9 _ . : / -`.
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = folder.into();
        self
    }

    /// The region of the bucket. What `AWS_REGION` says unless told, else `us-east-1`.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Another service than Amazon's, such as `http://127.0.0.1:9000`. What `AWS_ENDPOINT_URL` says unless told. It is
    /// encrypted, or on this machine; see [`Options::allow_http`].
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// Whether the bucket is in the path of an address (`host/bucket/..`) and not in the name of its host
    /// (`bucket.host/..`). In the name for Amazon and in the path for other endpoints, unless told.
    pub fn path_style(mut self, is_in_path: bool) -> Self {
        self.is_in_path = Some(is_in_path);
        self
    }

    /// Allows an endpoint on another machine that is not encrypted. Values can be read on the way; the secret is not sent.
    pub fn allow_http(mut self) -> Self {
        self.allows_http = true;
        self
    }

    /// The access key: its id and its secret, which is never printed. What `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN` say unless told.
    pub fn credentials(mut self, key_id: impl Into<String>, secret: impl Into<String>) -> Self {
        self.credentials = Some(Credentials { key_id: key_id.into(), secret: secret.into(), token: None });
        self
    }

    /// An access key of a session, with its token; neither it nor the secret is ever printed.
    pub fn session(self, key_id: impl Into<String>, secret: impl Into<String>, token: impl Into<String>) -> Self {
        let credentials = Credentials { key_id: key_id.into(), secret: secret.into(), token: Some(token.into()) };
        Self { credentials: Some(credentials), ..self }
    }

    /// How long the service is waited for when it does not answer or asks us to wait, before a call fails. 30 seconds
    /// unless told. One request may take a third of it.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Connects: finds the credentials, asks the bucket, and sees that the server puts under conditions.
    ///
    /// # Errors
    /// When credentials are missing or not taken; when the bucket is not there or may not be used; when the server is one that
    /// does not look at conditions; when it cannot be reached within [`Options::patience`].
    pub async fn connect(&self) -> Result<S3> {
        let values = Values(Arc::new(self.service(|name| std::env::var(name).ok())?));
        let room = Room::new("S3")?;
        let asked = values.clone();
        room.change(async move { asked.try_out().await }).await?;
        Ok(S3(Arc::new(Inner { values, room })))
    }

    /// All it takes to ask; `variable` reads the environment.
    fn service(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Service> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let region = self.region.clone().or_else(|| variable(REGION)).unwrap_or_else(|| "us-east-1".to_owned());
        let place = Place {
            bucket: self.bucket.clone(),
            folder: self.folder.clone(),
            region: region.clone(),
            endpoint: self.endpoint.clone().or_else(|| variable(ENDPOINT)),
            is_in_path: self.is_in_path,
            allows_http: self.allows_http,
        };
        let address = place.address()?;
        let credentials = match &self.credentials {
            Some(credentials) => credentials.clone(),
            None => Credentials::from_environment(variable)?,
        };
        let signer = Signer { credentials, region, host: address.host.clone() };
        Ok(Service { address, patience: self.patience, signer, web: Web::new()?, clock: Clock::default() })
    }
}

/// Values under keys in a bucket. Clones are one and the same store.
///
/// Any number of processes may use one folder. What is put under a new key is put by one of them, also when answers are lost on
/// the way. What lapses does so by the clock of the server, and its object stays until the key is put or deleted.
///
/// ```no_run
/// use superstep_adapters::s3::S3;
/// use superstep_core::port::{KeyValue, Put};
///
/// # async fn keep() -> superstep_core::error::Result<()> {
/// // By the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and so on.
/// let store = S3::connect("my-bucket").await?;
///
/// let only_new = Put { only_new: true, ..Put::default() };
/// assert!(store.put("orders/1", b"paid", only_new).await?);
/// assert!(!store.put("orders/1", b"paid twice", only_new).await?);
/// assert_eq!(store.list("orders/", None, 10).await?, ["orders/1"]);
///
/// // Or as the program says: here a MinIO of one's own.
/// let store = S3::options("my-bucket")
///     .endpoint("http://127.0.0.1:9000")
///     .credentials("minio", std::fs::read_to_string("/run/secrets/minio").unwrap())
///     .folder("agents")
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct S3(Arc<Inner>);

struct Inner {
    values: Values,
    room: Room,
}

impl S3 {
    /// Connects to a bucket with what the environment says.
    ///
    /// # Errors
    /// As [`Options::connect`].
    pub async fn connect(bucket: &str) -> Result<Self> {
        Self::options(bucket).connect().await
    }

    /// Connects in another way than the usual.
    pub fn options(bucket: impl Into<String>) -> Options {
        Options::new(bucket)
    }
}

/// Where it is, and nothing of who we are.
impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3").field(&format_args!("{}", self.0.values.0.address.spoken())).finish()
    }
}

/// # Cancel safety
/// What was begun with `put` and `delete` is finished whether somebody waits or not.
impl KeyValue for S3 {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let (values, key) = (self.0.values.clone(), key.to_owned());
        self.0.room.ask(async move { values.get(&key).await }).await
    }

    async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let (values, keys) = (self.0.values.clone(), keys.to_vec());
        self.0.room.ask(async move { values.get_many(&keys).await }).await
    }

    async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
        let (values, key, value) = (self.0.values.clone(), key.to_owned(), value.to_vec());
        self.0.room.change(async move { values.put(&key, &value, put).await }).await
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        let (values, keys) = (self.0.values.clone(), keys.to_vec());
        self.0.room.change(async move { values.delete(&keys).await }).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let (values, prefix, after) = (self.0.values.clone(), prefix.to_owned(), after.map(ToOwned::to_owned));
        self.0.room.ask(async move { values.list(&prefix, after.as_deref(), limit).await }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-40: what the program says comes before what the environment says.
    #[test]
    fn the_environment_says_what_the_program_does_not() {
        let environment = [
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "so secret"),
            (REGION, "eu-west-1"),
            (ENDPOINT, "http://localhost:1"),
        ];
        let read = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let service = Options::new("blobs").service(read).unwrap();
        assert_eq!(service.address.spoken(), "http://localhost:1/blobs/superstep");
        assert_eq!((&*service.signer.region, &*service.signer.credentials.key_id), ("eu-west-1", "id"));
        let told = Options::new("blobs").region("auto").endpoint("https://r2").session("me", "so secret", "token");
        let service = told.service(read).unwrap();
        assert_eq!(service.address.spoken(), "https://r2/blobs/superstep");
        assert_eq!((&*service.signer.region, &*service.signer.credentials.key_id), ("auto", "me"));
        assert!(!format!("{told:?}").contains("secret") && !format!("{told:?}").contains("token"), "{told:?}");
        let service = told.service(|_| None).unwrap();
        assert_eq!(service.signer.credentials.token.as_deref(), Some("token"));
        assert!(Options::new("blobs").service(|name| read(name).map(|_| String::new())).is_err());
    }
}
