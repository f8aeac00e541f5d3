//! Configuration of the server: address, access, storage, limits.
//!
//! Built from the settings of `superstep.toml` ([`ServerConfig::from_settings`]) or in code. Read once, when the server
//! starts.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use superstep::core::port::SharedCheckpointer;
use superstep::settings::{CheckpointerSettings, PortConflictPolicy, RecoveryMode, Settings};
use superstep::store::SharedStore;
use superstep::{MemoryCheckpointer, MemoryStore, Result};
use utoipa::ToSchema;

use crate::models::LOCAL_WEIGHTS_PROVIDER;

/// Configuration of the server.
///
/// ```
/// use superstep_server::{ServerConfig, Storage};
/// let config = ServerConfig::new(Storage::memory()).port(0).allow_host("studio.example");
/// assert_eq!((config.host.as_str(), config.port), ("127.0.0.1", 0));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Address the server listens on. Default: `127.0.0.1`.
    pub host: String,
    /// Port the server listens on; 0 picks a free port. Default: 8123.
    pub port: u16,
    /// Behaviour if the port is in use.
    pub port_in_use: PortConflictPolicy,
    /// True if the server may listen on an address that other machines can reach, although it does not authenticate
    /// users.
    pub allow_insecure: bool,
    /// Host names that requests may use, in addition to those of loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may send requests, in addition to the server's own.
    pub allowed_origins: Vec<String>,
    /// Storage of threads, run records and values.
    pub storage: Storage,
    /// Configured models, listed by `/api/health`.
    pub models: Vec<ModelSummary>,
    /// File of the start page, among the files built into the server. Default: a list of the applications.
    pub start_page: Option<String>,
    /// Maximum size of a request body in bytes. Default: 64 KiB.
    pub body_limit: usize,
    /// Time that running supersteps get to finish at shutdown. Default and maximum: 8 seconds.
    pub drain_timeout: Duration,
    /// Handling of runs that an earlier process left unfinished.
    pub recovery: RecoveryMode,
    /// Maximum number of concurrent runs. Default: 256.
    pub max_concurrent_runs: usize,
    /// Maximum duration of one run.
    pub run_timeout: Option<Duration>,
    /// Size of the replay buffer of each thread.
    pub replay_buffer: ReplayBufferConfig,
    /// Heartbeat, reconnect delay and rate of event streams.
    pub sse: SseConfig,
}

/// Size of the replay buffer of each thread, which serves subscribers that are slightly behind. Events that are not
/// persisted yet may take up to sixteen times as much; a subscriber that needs an evicted event is disconnected and has
/// to reconnect.
#[derive(Debug, Clone, Copy)]
pub struct ReplayBufferConfig {
    /// Maximum number of buffered events.
    pub max_events: usize,
    /// Maximum size of the buffered events in bytes.
    pub max_bytes: usize,
    /// Time for which events stay buffered after the end of the run.
    pub retain_after_end: Duration,
}

impl Default for ReplayBufferConfig {
    fn default() -> Self {
        Self { max_events: 4096, max_bytes: 4 << 20, retain_after_end: Duration::from_secs(300) }
    }
}

/// Heartbeat, reconnect delay and rate of server-sent events for each subscriber.
#[derive(Debug, Clone, Copy)]
pub struct SseConfig {
    /// Interval after which a comment is sent if nothing else was sent.
    pub heartbeat_interval: Duration,
    /// Delay after which a disconnected client should reconnect.
    pub reconnect_delay: Duration,
    /// Maximum number of events per second.
    pub max_events_per_second: u32,
}

impl Default for SseConfig {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(15),
            reconnect_delay: Duration::from_secs(2),
            max_events_per_second: 5000,
        }
    }
}

/// A configured model, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ModelSummary {
    /// Name of the model in requests.
    pub name: String,
    /// Provider of the model.
    pub provider: String,
    /// Name of the model at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// True if everything that the model needs is configured, such as its API key.
    pub is_configured: bool,
}

/// Storage of the server: one checkpointer and one store.
#[derive(Clone)]
#[non_exhaustive]
pub struct Storage {
    /// Checkpointer for checkpoints and events.
    pub checkpointer: SharedCheckpointer,
    /// Store for run and thread records and for the long-term memory of nodes.
    pub store: SharedStore,
    /// Name of the backend: `memory`, `sqlite` or `postgres`.
    pub backend: &'static str,
}

impl Storage {
    /// Creates storage that lives as long as the process.
    #[must_use]
    pub fn memory() -> Self {
        Self { checkpointer: MemoryCheckpointer::new().into(), store: MemoryStore::new().into(), backend: "memory" }
    }

    /// Opens storage in one SQLite file, which is created if it is missing.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or created.
    pub async fn sqlite(path: impl AsRef<Path>) -> Result<Self> {
        let file = superstep::sqlite::SqliteCheckpointer::open(path)?;
        let store = file.store().await?.into();
        Ok(Self { checkpointer: file.into(), store, backend: "sqlite" })
    }

    /// Opens storage in one PostgreSQL database.
    ///
    /// # Errors
    /// Returns an error if the database cannot be reached or migrated.
    pub async fn postgres(url: &str) -> Result<Self> {
        let database = superstep::postgres::PostgresCheckpointer::connect(url).await?;
        let store = database.store().await?.into();
        Ok(Self { checkpointer: database.into(), store, backend: "postgres" })
    }

    /// Opens the storage named by the settings.
    ///
    /// # Errors
    /// Returns an error if the storage cannot be opened.
    pub async fn open(settings: &CheckpointerSettings) -> Result<Self> {
        match settings {
            CheckpointerSettings::Sqlite(path) => Self::sqlite(path).await,
            CheckpointerSettings::Postgres(url) => Self::postgres(url.expose()).await,
            _ => Ok(Self::memory()),
        }
    }
}

impl ServerConfig {
    /// Creates a configuration that listens on loopback and uses this storage.
    #[must_use]
    pub fn new(storage: Storage) -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 8123,
            port_in_use: PortConflictPolicy::Fail,
            allow_insecure: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            storage,
            models: Vec::new(),
            start_page: None,
            body_limit: 64 << 10,
            drain_timeout: Duration::from_secs(8),
            recovery: RecoveryMode::Automatic,
            max_concurrent_runs: 256,
            run_timeout: None,
            replay_buffer: ReplayBufferConfig::default(),
            sse: SseConfig::default(),
        }
    }

    /// Creates a configuration from the settings, and opens the storage they name.
    ///
    /// # Errors
    /// Returns an error if the storage cannot be opened.
    pub async fn from_settings(settings: &Settings) -> Result<Self> {
        let (storage, server) = (Storage::open(&settings.storage.checkpointer).await?, &settings.server);
        let models = settings.models.iter().map(|(name, model)| ModelSummary {
            name: name.clone(),
            provider: model.provider.clone(),
            // Local weights are named by their file, and file paths must not be published.
            model: model.model.clone().filter(|_| model.provider != LOCAL_WEIGHTS_PROVIDER),
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
            drain_timeout: server.drain_timeout,
            recovery: server.recovery,
            max_concurrent_runs: server.max_concurrent_runs as usize,
            run_timeout: settings.limits.run_timeout,
            ..Self::new(storage)
        })
    }

    /// Sets the address to listen on.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// Sets the port; 0 picks a free port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Adds a host name that requests may use.
    #[must_use]
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.allowed_hosts.push(name.into());
        self
    }

    /// Adds an origin whose pages may send requests.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Permits listening on an address that other machines can reach, although the server does not authenticate
    /// users.
    #[must_use]
    pub fn allow_insecure(mut self) -> Self {
        self.allow_insecure = true;
        self
    }
}
