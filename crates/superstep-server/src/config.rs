//! How the server is set up: where it listens, whom it answers, where it keeps things, how much it takes on.
//!
//! Built from the settings of `superstep.toml` ([`Config::from_settings`]) or by hand. Read once, when the server starts.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use superstep::core::port::SharedCheckpointer;
use superstep::settings::{Checkpoints, PortInUse, ResumeRuns, Settings};
use superstep::store::SharedStore;
use superstep::{Memory, MemoryStore, Result};
use utoipa::ToSchema;

use crate::models::WEIGHTS;

/// How the server is set up.
///
/// ```
/// use superstep_server::{Config, Stores};
/// let config = Config::new(Stores::memory()).port(0).allow_host("studio.example");
/// assert_eq!((config.host.as_str(), config.port), ("127.0.0.1", 0));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The address it listens on.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// What happens when the port is taken.
    pub port_in_use: PortInUse,
    /// Listens on an address others can reach, although nobody has to say who they are.
    pub is_insecure: bool,
    /// Names it may be asked by, besides those of loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may ask it, besides its own.
    pub allowed_origins: Vec<String>,
    /// Where threads, records and values are kept.
    pub stores: Stores,
    /// The models that are set up, for `/api/health`.
    pub models: Vec<ModelNote>,
    /// The file of the page to start from, among those that are built in; a list of the applications unless told.
    pub start_page: Option<String>,
    /// Most bytes of the body of a request.
    pub body_limit: usize,
    /// How long running supersteps may still take at shutdown.
    pub drain: Duration,
    /// What becomes of runs that died with an earlier process.
    pub resume: ResumeRuns,
    /// Most runs at once.
    pub max_runs: usize,
    /// Longest time of one run.
    pub run_timeout: Option<Duration>,
    /// How much of each thread's events is held for readers.
    pub ring: RingSize,
    /// How events are sent to each reader.
    pub pace: Pace,
}

/// How much of each thread's events is held for readers that are a little behind. What is not stored yet is held up to
/// sixteen times as much; a reader that needs what was let go of even then is told to come back.
#[derive(Debug, Clone, Copy)]
pub struct RingSize {
    /// At most this many events.
    pub events: usize,
    /// At most this many bytes.
    pub bytes: usize,
    /// For this long after the end of the run.
    pub stays: Duration,
}

impl Default for RingSize {
    fn default() -> Self {
        Self { events: 4096, bytes: 4 << 20, stays: Duration::from_secs(300) }
    }
}

/// How events are sent to each reader.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// A comment goes out when nothing else did for this long.
    pub heartbeat: Duration,
    /// When a reader that was cut off should come back.
    pub retry: Duration,
    /// At most this many events a second.
    pub per_second: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(15), retry: Duration::from_secs(2), per_second: 5000 }
    }
}

/// A model that is set up, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ModelNote {
    /// The name it is asked by.
    pub name: String,
    /// Who answers.
    pub provider: String,
    /// The name of the model there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it has all it needs to be asked.
    pub is_configured: bool,
}

/// Where threads are kept, and where everything else is.
#[derive(Clone)]
#[non_exhaustive]
pub struct Stores {
    /// Checkpoints and events.
    pub checkpoints: SharedCheckpointer,
    /// Records of runs and threads, and what nodes remember.
    pub items: SharedStore,
    /// What they are, in a word.
    pub kind: &'static str,
}

impl Stores {
    /// Stores for the length of a process.
    #[must_use]
    pub fn memory() -> Self {
        Self { checkpoints: Memory::new().into(), items: MemoryStore::new().into(), kind: "memory" }
    }

    /// Stores in one SQLite file.
    ///
    /// # Errors
    /// When the file cannot be opened or made.
    pub async fn sqlite(path: impl AsRef<Path>) -> Result<Self> {
        let file = superstep::sqlite::Sqlite::open(path)?;
        let items = file.store().await?.into();
        Ok(Self { checkpoints: file.into(), items, kind: "sqlite" })
    }

    /// Stores in one PostgreSQL database.
    ///
    /// # Errors
    /// When the database cannot be reached or prepared.
    pub async fn postgres(url: &str) -> Result<Self> {
        let database = superstep::postgres::Postgres::connect(url).await?;
        let items = database.store().await?.into();
        Ok(Self { checkpoints: database.into(), items, kind: "postgres" })
    }

    /// The stores that the settings name.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub async fn open(checkpoints: &Checkpoints) -> Result<Self> {
        match checkpoints {
            Checkpoints::Sqlite(path) => Self::sqlite(path).await,
            Checkpoints::Postgres(url) => Self::postgres(url.expose()).await,
            _ => Ok(Self::memory()),
        }
    }
}

impl Config {
    /// Loopback, with these stores.
    #[must_use]
    pub fn new(stores: Stores) -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 8123,
            port_in_use: PortInUse::Refuse,
            is_insecure: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            stores,
            models: Vec::new(),
            start_page: None,
            body_limit: 64 << 10,
            drain: Duration::from_secs(8),
            resume: ResumeRuns::Automatically,
            max_runs: 256,
            run_timeout: None,
            ring: RingSize::default(),
            pace: Pace::default(),
        }
    }

    /// What the settings say, with the stores they name opened.
    ///
    /// # Errors
    /// When the stores cannot be opened.
    pub async fn from_settings(settings: &Settings) -> Result<Self> {
        let (stores, server) = (Stores::open(&settings.stores.checkpoints).await?, &settings.server);
        let models = settings.models.iter().map(|(name, model)| ModelNote {
            name: name.clone(),
            provider: model.provider.clone(),
            // Weights are named by their file, which is nobody's business.
            model: model.model.clone().filter(|_| model.provider != WEIGHTS),
            is_configured: model.api_key.is_some() || model.base_url.is_some() || model.provider.contains('/'),
        });
        Ok(Self {
            host: server.host.clone(),
            port: server.port,
            port_in_use: server.port_in_use,
            allowed_hosts: server.allowed_hosts.clone(),
            allowed_origins: server.allowed_origins.clone(),
            models: models.collect(),
            start_page: None,
            body_limit: server.body_limit as usize,
            drain: server.drain,
            resume: server.resume,
            max_runs: server.max_runs as usize,
            run_timeout: settings.limits.run_timeout,
            ..Self::new(stores)
        })
    }

    /// The address it listens on.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// The port; 0 takes a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// One more name it may be asked by.
    #[must_use]
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.allowed_hosts.push(name.into());
        self
    }

    /// One more origin whose pages may ask it.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Listens on an address others can reach, although nobody has to say who they are.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.is_insecure = true;
        self
    }
}
