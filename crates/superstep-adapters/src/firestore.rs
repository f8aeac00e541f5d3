//! Values under keys in Firestore, over its REST API: a door for what is built on [`KeyValue`].
//!
//! A key is a document. What the port asks for is in `values`, values that are too long for one document in `parts`; both
//! ask `service`, which tries again and keeps tokens (`token`, from `credentials`). The JSON of Firestore is in `form`,
//! HTTP in `http`, what goes wrong in `trouble`; requests are made on a thread of their own (`crate::room`).
//!
//! Time is the server's: nothing here depends on the clock of this machine being right, but the claim of a service account.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{KeyValue, Put};

mod credentials;
mod form;
mod http;
mod parts;
mod service;
mod token;
mod trouble;
mod values;

pub use parts::Swept;

use credentials::{Choice, Credentials};
use form::Place;
use http::is_safe;
use service::{Clock, Service};
use token::Tokens;
use values::Values;

use crate::remote::Web;
use crate::room::Room;

/// How a database is connected to; see [`Firestore::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    project: String,
    database: String,
    collection: String,
    endpoint: String,
    choice: Choice,
    patience: Duration,
    sweep_after: Duration,
}

impl Options {
    fn new(project: impl Into<String>) -> Self {
        Self {
            project: project.into(),
            database: "(default)".to_owned(),
            collection: "superstep".to_owned(),
            endpoint: "https://firestore.googleapis.com".to_owned(),
            choice: Choice::Environment,
            patience: Duration::from_secs(30),
            sweep_after: Duration::from_secs(3600),
        }
    }

    /// The database of the project. `(default)` unless told.
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.database = database.into();
        self
    }

    /// The collection of the documents, which nothing else may write to; parts of long values are in another, whose name has
    /// `-parts` behind it. `superstep` unless told.
    pub fn collection(mut self, collection: impl Into<String>) -> Self {
        self.collection = collection.into();
        self
    }

    /// An emulator at a host and port, such as `127.0.0.1:8787`. It asks for no credentials.
    pub fn emulator(mut self, host: impl Into<String>) -> Self {
        self.choice = Choice::Emulator(host.into());
        self
    }

    /// The service account whose JSON key is in a file.
    pub fn service_account_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.choice = Choice::File(path.into());
        self
    }

    /// The service account whose JSON key is this text. It is never printed.
    pub fn service_account_json(mut self, text: impl Into<String>) -> Self {
        self.choice = Choice::Text(text.into());
        self
    }

    /// The service account of the machine this runs on, as its metadata server has it; where that server is, the variable
    /// `GCE_METADATA_HOST` may say.
    pub fn ambient(mut self) -> Self {
        self.choice = Choice::Machine;
        self
    }

    /// Another address of the service than `https://firestore.googleapis.com`, such as that of a private endpoint. Tokens
    /// are sent there, so it is encrypted, or on this machine.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = url.into();
        self
    }

    /// How long the service is waited for when it does not answer or asks us to wait, before a call fails. 30 seconds
    /// unless told. A third of it may pass without anything of an answer.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How old parts that nobody refers to must be before [`Firestore::sweep`] removes them. An hour unless told.
    pub fn sweep_after(mut self, age: Duration) -> Self {
        self.sweep_after = age;
        self
    }

    /// Connects: finds the credentials and asks the database once.
    ///
    /// # Errors
    /// When credentials are missing or broken, saying what was looked for where; when project or database are not there or
    /// the account may not use them; when the service cannot be reached within [`Options::patience`].
    pub async fn connect(&self) -> Result<Firestore> {
        let place = Place::new(&self.project, &self.database, &self.collection)?;
        let credentials = self.choice.find(|name| std::env::var(name).ok())?;
        let base = match &credentials {
            Credentials::Emulator(host) => format!("http://{}", host.trim_start_matches("http://")),
            _ if is_safe(&self.endpoint) => self.endpoint.clone(),
            _ => {
                let message = format!("the endpoint `{}` is not encrypted", self.endpoint);
                return Err(Error::new(Code::ConfigInvalid, message).help("write `https://` before it"));
            }
        };
        let service = Arc::new(Service {
            place,
            patience: self.patience,
            base: base.trim_end_matches('/').to_owned(),
            web: Web::new()?,
            tokens: Tokens::new(credentials),
            clock: Clock::default(),
        });
        let room = Room::new("Firestore")?;
        let asked = service.clone();
        room.ask(async move { asked.batch_get(&[asked.place.nothing()], &["key"]).await }).await?;
        Ok(Firestore(Arc::new(Inner { values: Values(service), sweep_after: self.sweep_after, room })))
    }
}

/// Values under keys in a Firestore database. Clones are one and the same store.
///
/// Any number of processes may use one collection. What is put under a new key is put by one of them, also when answers are
/// lost on the way. A value of more than 900 KiB is kept in parts; a process that dies while it writes them leaves parts
/// that nobody refers to, which [`Firestore::sweep`] removes.
///
/// ```no_run
/// use superstep_adapters::firestore::Firestore;
/// use superstep_core::port::{KeyValue, Put};
///
/// # async fn keep() -> superstep_core::error::Result<()> {
/// // By the environment: an emulator, a key file, or the account of the machine.
/// let store = Firestore::connect("my-project").await?;
///
/// let only_new = Put { only_new: true, ..Put::default() };
/// assert!(store.put("orders/1", b"paid", only_new).await?);
/// assert!(!store.put("orders/1", b"paid twice", only_new).await?);
/// assert_eq!(store.list("orders/", None, 10).await?, ["orders/1"]);
///
/// // Or as the program says.
/// let store = Firestore::options("my-project")
///     .database("agents")
///     .collection("threads")
///     .service_account_file("/etc/agents/key.json")
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Firestore(Arc<Inner>);

struct Inner {
    values: Values,
    sweep_after: Duration,
    room: Room,
}

impl Firestore {
    /// Connects to the database `(default)` of a project, with what the environment says: the emulator that
    /// `FIRESTORE_EMULATOR_HOST` names, else the key file that `GOOGLE_APPLICATION_CREDENTIALS` names, else the service
    /// account of the machine.
    ///
    /// # Errors
    /// As [`Options::connect`].
    pub async fn connect(project: &str) -> Result<Self> {
        Self::options(project).connect().await
    }

    /// Connects in another way than the usual.
    pub fn options(project: impl Into<String>) -> Options {
        Options::new(project)
    }

    /// Removes values whose time is over, and parts of values that nobody refers to: those of processes that died while
    /// they wrote, once they are older than [`Options::sweep_after`] by the clock of the server. May run at any time and in
    /// any number of processes; once a day is enough.
    ///
    /// # Errors
    /// When the service cannot be reached. What was removed before stays removed.
    pub async fn sweep(&self) -> Result<Swept> {
        let (values, age) = (self.0.values.clone(), self.0.sweep_after);
        self.0.room.change(async move { parts::sweep(&values, age).await }).await
    }
}

/// Where it is, and nothing of who we are.
impl fmt::Debug for Firestore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Firestore").field(&format_args!("{}", self.0.values.0.name())).finish()
    }
}

/// # Cancel safety
/// What was begun with `put` and `delete` is finished whether somebody waits or not.
impl KeyValue for Firestore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let values = self.get_many(&[key.to_owned()]).await?;
        Ok(values.into_iter().next().flatten())
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
