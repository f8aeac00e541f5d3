//! A [`KeyValue`] adapter for Firestore over its REST API.
//!
//! One key is one document. `key_value` implements the operations of the port, `chunked_values` stores values that are
//! too long for one document; both send requests through `client`, which retries. `token_cache` manages access tokens,
//! using `credentials`. The JSON format of Firestore is in `documents`, HTTP in `http`, errors in `error`; requests run
//! on a dedicated thread (`crate::http::io_thread`).
//!
//! Expiry uses the clock of the server. Only the signed claim of a service account depends on the clock of this
//! machine.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{KeyValue, PutOptions};

mod chunked_values;
mod client;
mod credentials;
mod documents;
mod error;
mod http;
mod key_value;
mod token_cache;

pub use chunked_values::SweepReport;

use client::{FirestoreClient, ServerClock};
use credentials::{CredentialSource, Credentials};
use documents::DocumentPaths;
use http::is_safe;
use key_value::KeyValueOps;
use token_cache::TokenCache;

use crate::http::io_thread::IoThread;
use crate::http::request::HttpClients;

/// Connection settings of a database; see [`FirestoreKeyValue::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct FirestoreOptions {
    project: String,
    database: String,
    collection: String,
    endpoint: String,
    credentials: CredentialSource,
    retry_timeout: Duration,
    orphan_age: Duration,
}

impl FirestoreOptions {
    fn new(project: impl Into<String>) -> Self {
        Self {
            project: project.into(),
            database: "(default)".to_owned(),
            collection: "superstep".to_owned(),
            endpoint: "https://firestore.googleapis.com".to_owned(),
            credentials: CredentialSource::Environment,
            retry_timeout: Duration::from_secs(30),
            orphan_age: Duration::from_secs(3600),
        }
    }

    /// Sets the database of the project. Default: `(default)`.
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.database = database.into();
        self
    }

    /// Sets the collection of the documents, which no other program may write. Parts of long values are stored in a
    /// second collection with the suffix `-parts`. Default: `superstep`.
    pub fn collection(mut self, collection: impl Into<String>) -> Self {
        self.collection = collection.into();
        self
    }

    /// Connects to an emulator at a host and port, such as `127.0.0.1:8787`. An emulator needs no credentials.
    pub fn emulator(mut self, host: impl Into<String>) -> Self {
        self.credentials = CredentialSource::Emulator(host.into());
        self
    }

    /// Uses the service account whose JSON key is in a file.
    pub fn service_account_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.credentials = CredentialSource::File(path.into());
        self
    }

    /// Uses the service account whose JSON key is this text. The text never appears in debug output or errors.
    pub fn service_account_json(mut self, text: impl Into<String>) -> Self {
        self.credentials = CredentialSource::Text(text.into());
        self
    }

    /// Uses the service account of the machine, read from its metadata server. The variable `GCE_METADATA_HOST`
    /// overrides the address of that server.
    pub fn default_service_account(mut self) -> Self {
        self.credentials = CredentialSource::Machine;
        self
    }

    /// Sets the address of the service, for example of a private endpoint. Default:
    /// `https://firestore.googleapis.com`. Access tokens are sent to this address, so it must use HTTPS or be on this
    /// machine.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = url.into();
        self
    }

    /// Sets the time after which a call fails if the service does not respond or asks the client to wait. Default: 30
    /// seconds. A single request fails after a third of this time without a response.
    pub fn retry_timeout(mut self, timeout: Duration) -> Self {
        self.retry_timeout = timeout;
        self
    }

    /// Sets the minimum age of unreferenced parts that [`FirestoreKeyValue::sweep`] removes. Default: one hour.
    pub fn orphan_age(mut self, age: Duration) -> Self {
        self.orphan_age = age;
        self
    }

    /// Finds the credentials and connects by reading the database once.
    ///
    /// # Errors
    /// Returns an error if the credentials are missing or invalid (the error names the sources that were checked), if
    /// the project or the database does not exist, if the account has no access, or if the service cannot be reached
    /// within [`FirestoreOptions::retry_timeout`].
    pub async fn connect(&self) -> Result<FirestoreKeyValue> {
        let paths = DocumentPaths::new(&self.project, &self.database, &self.collection)?;
        let credentials = self.credentials.resolve(|name| std::env::var(name).ok())?;
        let base = match &credentials {
            Credentials::Emulator(host) => format!("http://{}", host.trim_start_matches("http://")),
            _ if is_safe(&self.endpoint) => self.endpoint.clone(),
            _ => {
                let message = format!("the endpoint `{}` does not use HTTPS", self.endpoint);
                return Err(Error::new(ErrorCode::ConfigInvalid, message).with_help("use an `https://` address"));
            }
        };
        let service = Arc::new(FirestoreClient {
            paths,
            retry_timeout: self.retry_timeout,
            base: base.trim_end_matches('/').to_owned(),
            web: HttpClients::new()?,
            tokens: TokenCache::new(credentials),
            clock: ServerClock::default(),
        });
        let io_thread = IoThread::new("Firestore")?;
        let client = service.clone();
        io_thread.read(async move { client.batch_get(&[client.paths.absent_document()], &["key"]).await }).await?;
        Ok(FirestoreKeyValue(Arc::new(FirestoreInner {
            values: KeyValueOps(service),
            sweep_after: self.orphan_age,
            io_thread,
        })))
    }
}

/// A [`KeyValue`] store in a Firestore database. Clones share one store.
///
/// Any number of processes may use one collection. Of several processes that put the same new key, exactly one
/// succeeds, even if responses are lost. A value of more than 900 KiB is stored in parts; a process that dies while
/// it writes them leaves unreferenced parts, which [`FirestoreKeyValue::sweep`] removes.
///
/// ```no_run
/// use superstep_adapters::firestore::FirestoreKeyValue;
/// use superstep_core::port::{KeyValue, PutOptions};
///
/// # async fn example() -> superstep_core::error::Result<()> {
/// // Uses the environment: an emulator, a key file, or the service account of the machine.
/// let store = FirestoreKeyValue::connect("my-project").await?;
///
/// let only_new = PutOptions { if_absent: true, ..PutOptions::default() };
/// assert!(store.put("orders/1", b"paid", only_new).await?);
/// assert!(!store.put("orders/1", b"paid twice", only_new).await?);
/// assert_eq!(store.list("orders/", None, 10).await?, ["orders/1"]);
///
/// // Or uses explicit settings.
/// let store = FirestoreKeyValue::options("my-project")
///     .database("agents")
///     .collection("threads")
///     .service_account_file("/etc/agents/key.json")
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FirestoreKeyValue(Arc<FirestoreInner>);

struct FirestoreInner {
    values: KeyValueOps,
    sweep_after: Duration,
    io_thread: IoThread,
}

impl FirestoreKeyValue {
    /// Connects to the database `(default)` of a project with credentials from the environment: the emulator in
    /// `FIRESTORE_EMULATOR_HOST`, else the key file in `GOOGLE_APPLICATION_CREDENTIALS`, else the service account of
    /// the machine.
    ///
    /// # Errors
    /// Returns the errors of [`FirestoreOptions::connect`].
    pub async fn connect(project: &str) -> Result<Self> {
        Self::options(project).connect().await
    }

    /// Returns connection settings that the caller can change before connecting.
    pub fn options(project: impl Into<String>) -> FirestoreOptions {
        FirestoreOptions::new(project)
    }

    /// Removes expired values and unreferenced parts. Parts are unreferenced if a process died while it wrote a value;
    /// they are removed once they are older than [`FirestoreOptions::orphan_age`] by the clock of the server. The sweep
    /// may run at any time and in any number of processes; once a day is enough.
    ///
    /// # Errors
    /// Returns an error if the service cannot be reached. Values removed before the error stay removed.
    pub async fn sweep(&self) -> Result<SweepReport> {
        let (values, age) = (self.0.values.clone(), self.0.sweep_after);
        self.0.io_thread.write(async move { chunked_values::sweep(&values, age).await }).await
    }
}

/// Shows the address of the database and no credentials.
impl fmt::Debug for FirestoreKeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FirestoreKeyValue").field(&format_args!("{}", self.0.values.0.name())).finish()
    }
}

/// # Cancel safety
/// A `put` or `delete` that has started is completed even if its future is dropped.
impl KeyValue for FirestoreKeyValue {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let values = self.get_many(&[key.to_owned()]).await?;
        Ok(values.into_iter().next().flatten())
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
