//! A [`KeyValue`] adapter for S3 and servers with an S3-compatible API.
//!
//! A key is an object in a folder of a bucket (`bucket`). `key_value` implements the operations of the port; it sends
//! requests through `client`, which signs them (`sigv4`), retries, and tracks the time of the server (`server_clock`).
//! The format of objects and responses is in `object_format`, errors in `error`; requests run on a dedicated thread
//! (`crate::http::io_thread`).
//!
//! A new key is put with the condition that no object exists (`If-None-Match`), or that an expired object is
//! unchanged (`If-Match`). Other puts and deletes are unconditional: if their connection breaks, the server may
//! execute them at any later time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::port::{KeyValue, PutOptions};

mod bucket;
mod client;
mod error;
mod key_value;
mod object_format;
mod server_clock;
mod sigv4;

use bucket::BucketConfig;
use client::S3Client;
use key_value::KeyValueOps;
use server_clock::ServerClock;
use sigv4::{Credentials, Signer};

use crate::http::io_thread::IoThread;
use crate::http::request::HttpClients;

const REGION: &str = "AWS_REGION";
const ENDPOINT: &str = "AWS_ENDPOINT_URL";

/// Connection settings of a bucket; see [`S3KeyValue::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct S3Options {
    bucket: String,
    folder: String,
    region: Option<String>,
    endpoint: Option<String>,
    path_style: Option<bool>,
    allows_http: bool,
    credentials: Option<Credentials>,
    retry_timeout: Duration,
}

impl S3Options {
    fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            folder: "superstep".to_owned(),
            region: None,
            endpoint: None,
            path_style: None,
            allows_http: false,
            credentials: None,
            retry_timeout: Duration::from_secs(30),
        }
    }

    /// Sets the folder of the objects in the bucket, which no other program may write. A small object with the suffix
    /// `.check` is stored next to it. Default: `superstep`. A folder has up to 128 of the characters `A-Z a-z 0-9 _ .
    /// : / -`.
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Sets the region of the bucket. Default: `AWS_REGION`, else `us-east-1`.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the endpoint of a service other than Amazon S3, such as `http://127.0.0.1:9000`. Default:
    /// `AWS_ENDPOINT_URL`. The endpoint must use HTTPS or be on this machine; see [`S3Options::allow_http`].
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// Selects path-style URLs (`host/bucket/..`) instead of virtual-host style (`bucket.host/..`). Default:
    /// virtual-host style for Amazon, path style for other endpoints.
    pub fn path_style(mut self, is_path_style: bool) -> Self {
        self.path_style = Some(is_path_style);
        self
    }

    /// Allows an unencrypted endpoint on another machine. Values can be read on the network; the secret is not sent.
    pub fn allow_http(mut self) -> Self {
        self.allows_http = true;
        self
    }

    /// Sets the access key: its id and its secret, which never appears in debug output or errors. Default:
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
    pub fn credentials(mut self, key_id: impl Into<String>, secret: impl Into<String>) -> Self {
        self.credentials = Some(Credentials { key_id: key_id.into(), secret: secret.into(), token: None });
        self
    }

    /// Sets the temporary credentials of a session; secret and token never appear in debug output or errors.
    pub fn session(self, key_id: impl Into<String>, secret: impl Into<String>, token: impl Into<String>) -> Self {
        let credentials = Credentials { key_id: key_id.into(), secret: secret.into(), token: Some(token.into()) };
        Self { credentials: Some(credentials), ..self }
    }

    /// Sets the time after which a call fails if the service does not respond or asks the client to wait. Default: 30
    /// seconds. A single request fails after a third of this time without a response.
    pub fn retry_timeout(mut self, retry_timeout: Duration) -> Self {
        self.retry_timeout = retry_timeout;
        self
    }

    /// Finds the credentials, reads the bucket once, and checks that the server supports conditional puts.
    ///
    /// # Errors
    /// Returns an error if the credentials are missing or rejected, if the bucket does not exist or cannot be used,
    /// if the server ignores conditions, or if the server cannot be reached within [`S3Options::retry_timeout`].
    pub async fn connect(&self) -> Result<S3KeyValue> {
        let values = KeyValueOps(Arc::new(self.service(|name| std::env::var(name).ok())?));
        let io_thread = IoThread::new("S3")?;
        let ops = values.clone();
        io_thread.write(async move { ops.probe_conditional_writes().await }).await?;
        Ok(S3KeyValue(Arc::new(S3Inner { values, io_thread })))
    }

    /// Builds the client; `variable` reads the environment.
    fn service(&self, variable: impl Fn(&str) -> Option<String>) -> Result<S3Client> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let region = self.region.clone().or_else(|| variable(REGION)).unwrap_or_else(|| "us-east-1".to_owned());
        let config = BucketConfig {
            bucket: self.bucket.clone(),
            folder: self.folder.clone(),
            region: region.clone(),
            endpoint: self.endpoint.clone().or_else(|| variable(ENDPOINT)),
            is_path_style: self.path_style,
            allows_http: self.allows_http,
        };
        let address = config.address()?;
        let credentials = match &self.credentials {
            Some(credentials) => credentials.clone(),
            None => Credentials::from_environment(variable)?,
        };
        let signer = Signer { credentials, region, host: address.host.clone() };
        Ok(S3Client {
            address,
            retry_timeout: self.retry_timeout,
            signer,
            http_clients: HttpClients::new()?,
            clock: ServerClock::default(),
        })
    }
}

/// A [`KeyValue`] store in a bucket. Clones share one store.
///
/// Any number of processes may use one folder. Of several processes that put the same new key, exactly one succeeds,
/// even if responses are lost. Expiry uses the clock of the server; the object of an expired key stays until the key
/// is put or deleted.
///
/// ```no_run
/// use superstep_adapters::s3::S3KeyValue;
/// use superstep_core::port::{KeyValue, PutOptions};
///
/// # async fn example() -> superstep_core::error::Result<()> {
/// // Uses the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and so on.
/// let store = S3KeyValue::connect("my-bucket").await?;
///
/// let only_new = PutOptions { if_absent: true, ..PutOptions::default() };
/// assert!(store.put("orders/1", b"paid", only_new).await?);
/// assert!(!store.put("orders/1", b"paid twice", only_new).await?);
/// assert_eq!(store.list("orders/", None, 10).await?, ["orders/1"]);
///
/// // Or uses explicit settings, here for a local MinIO server.
/// let store = S3KeyValue::options("my-bucket")
///     .endpoint("http://127.0.0.1:9000")
///     .credentials("minio", std::fs::read_to_string("/run/secrets/minio").unwrap())
///     .folder("agents")
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct S3KeyValue(Arc<S3Inner>);

struct S3Inner {
    values: KeyValueOps,
    io_thread: IoThread,
}

impl S3KeyValue {
    /// Connects to a bucket with settings from the environment.
    ///
    /// # Errors
    /// Returns the errors of [`S3Options::connect`].
    pub async fn connect(bucket: &str) -> Result<Self> {
        Self::options(bucket).connect().await
    }

    /// Returns connection settings that the caller can change before connecting.
    pub fn options(bucket: impl Into<String>) -> S3Options {
        S3Options::new(bucket)
    }
}

/// Shows the address of the bucket and no credentials.
impl fmt::Debug for S3KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3KeyValue").field(&format_args!("{}", self.0.values.0.address.display_name())).finish()
    }
}

/// # Cancel safety
/// A `put` or `delete` that has started is completed even if its future is dropped.
impl KeyValue for S3KeyValue {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let (values, key) = (self.0.values.clone(), key.to_owned());
        self.0.io_thread.read(async move { values.get(&key).await }).await
    }

    async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let (values, keys) = (self.0.values.clone(), keys.to_vec());
        self.0.io_thread.read(async move { values.get_many(&keys).await }).await
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        let (values, key, value) = (self.0.values.clone(), key.to_owned(), value.to_vec());
        self.0.io_thread.write(async move { values.put(&key, &value, put).await }).await
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        let (values, keys) = (self.0.values.clone(), keys.to_vec());
        self.0.io_thread.write(async move { values.delete(&keys).await }).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let (values, prefix, after) = (self.0.values.clone(), prefix.to_owned(), after.map(ToOwned::to_owned));
        self.0.io_thread.read(async move { values.list(&prefix, after.as_deref(), limit).await }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-40: options win over the environment.
    #[test]
    fn options_override_the_environment() {
        let environment = [
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "so secret"),
            (REGION, "eu-west-1"),
            (ENDPOINT, "http://localhost:1"),
        ];
        let read = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let service = S3Options::new("blobs").service(read).unwrap();
        assert_eq!(service.address.display_name(), "http://localhost:1/blobs/superstep");
        assert_eq!((&*service.signer.region, &*service.signer.credentials.key_id), ("eu-west-1", "id"));
        let options = S3Options::new("blobs").region("auto").endpoint("https://r2").session("me", "so secret", "token");
        let service = options.service(read).unwrap();
        assert_eq!(service.address.display_name(), "https://r2/blobs/superstep");
        assert_eq!((&*service.signer.region, &*service.signer.credentials.key_id), ("auto", "me"));
        assert!(!format!("{options:?}").contains("secret") && !format!("{options:?}").contains("token"), "{options:?}");
        let service = options.service(|_| None).unwrap();
        assert_eq!(service.signer.credentials.token.as_deref(), Some("token"));
        assert!(S3Options::new("blobs").service(|name| read(name).map(|_| String::new())).is_err());
    }
}
