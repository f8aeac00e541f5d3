//! Settings: the file `superstep.toml`, environment variables `SUPERSTEP_*`, and command-line flags, in ascending
//! precedence.
//!
//! `keys` declares every setting, `value` parses single values, `layers` merges the sources, `resolve` resolves
//! references to secrets, `sections` builds the typed sections, `reference` generates the page of the book. All modules
//! except `load` are free of I/O. No message, explanation or serialized form contains the text of a secret.

use std::collections::BTreeMap;

use serde::Serialize;
use superstep_core::error::{Error, ErrorCode, Result};

mod keys;
mod layers;
mod load;
mod reference;
mod resolve;
mod secret;
mod sections;
mod server;
mod source;
#[cfg(test)]
mod tests;
mod value;

pub use crate::engine::durability::Durability;
pub use reference::reference;
pub use secret::{MaybeSecret, Secret};
pub use sections::{
    CheckpointerSettings, GraphFileFormat, GraphSource, LimitSettings, McpServerSettings, ModelSettings,
    StorageSettings,
};
pub use server::{PortConflictPolicy, RecoveryMode, ServerSettings};
pub use source::{ExplainedSetting, SettingOrigin, SettingsSources};

use layers::Layers;

/// All settings, validated.
///
/// ```
/// use superstep::settings::{Settings, SettingsSources};
///
/// let file = r#"
/// [models.fast]
/// provider = "openai"
/// model = "llama-3.1-8b-instant"
/// api_key = "env:GROQ_API_KEY"
///
/// [limits]
/// recursion_limit = 40
/// "#;
/// let environment = [("GROQ_API_KEY", "gsk-1234"), ("SUPERSTEP_LIMITS__RECURSION_LIMIT", "50")];
/// let sources = SettingsSources::new().toml("superstep.toml", file).environment(environment);
///
/// let settings = Settings::parse(&sources)?;
/// assert_eq!(settings.limits.recursion_limit, 50);
/// assert!(!format!("{settings:?}").contains("gsk-1234"));
///
/// let settings = Settings::parse(&sources.flags([("limits.recursion_limit", "60")]))?;
/// assert_eq!(settings.limits.recursion_limit, 60);
/// # Ok::<(), superstep_core::error::Error>(())
/// ```
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Settings {
    /// Graphs that can be run by name.
    pub graphs: BTreeMap<String, GraphSource>,
    /// Models that can be called by name.
    pub models: BTreeMap<String, ModelSettings>,
    /// Storage of threads.
    pub storage: StorageSettings,
    /// MCP servers whose tools can be used.
    pub mcp_servers: BTreeMap<String, McpServerSettings>,
    /// Settings of the HTTP server.
    pub server: ServerSettings,
    /// Limits of a run.
    pub limits: LimitSettings,
    #[serde(skip)]
    explained: Vec<ExplainedSetting>,
}

impl Settings {
    /// Parses settings from texts. The result depends on the texts only.
    ///
    /// # Errors
    /// Returns `ConfigInvalid` with every problem of every source: unknown keys with the nearest known one, invalid
    /// values, unresolved references. Messages contain locations, but no values.
    pub fn parse(sources: &SettingsSources<'_>) -> Result<Self> {
        let mut layers = Layers::read(sources);
        layers.resolve(sources);
        let (graphs, models, mcp_servers) = (layers.graphs(), layers.models(), layers.mcp_servers());
        let (storage, server, limits) = (layers.storage(), layers.server(), layers.limits());
        if !layers.diagnostics.is_empty() {
            return Err(Error::with_diagnostics(
                ErrorCode::ConfigInvalid,
                "the configuration is invalid",
                layers.diagnostics,
            )
            .with_help("flags override environment variables, environment variables override the file"));
        }
        let (Some(storage), Some(server), Some(limits)) = (storage, server, limits) else {
            return Err(Error::internal("a missing section always has a diagnostic"));
        };
        let explained = layers.explain();
        Ok(Self { graphs, models, storage, mcp_servers, server, limits, explained })
    }

    /// Returns every setting with its effective value and origin, sorted by key. Secrets are displayed as `***`.
    ///
    /// ```
    /// # use superstep::settings::{Settings, SettingsSources};
    /// let settings = Settings::parse(&SettingsSources::new().flags([("server.port", "80")]))?;
    /// let port = settings.explain().iter().find(|row| row.key == "server.port").expect("it was set");
    /// assert_eq!(format!("{} from {}", port.value, port.origin), "80 from flag `server.port`");
    /// # Ok::<(), superstep_core::error::Error>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> &[ExplainedSetting] {
        &self.explained
    }
}

impl Layers {
    fn explain(&self) -> Vec<ExplainedSetting> {
        let is_unset = |key: &&keys::SettingKey| !key.path.contains('<') && !self.entries.contains_key(key.path);
        let unset = keys::KEYS.iter().filter(is_unset).map(|key| {
            let value = "none".to_owned();
            ExplainedSetting { key: key.path.to_owned(), value, origin: SettingOrigin::Default }
        });
        let set = self.entries.iter().filter_map(|(key, entry)| {
            let value = entry.value.as_ref()?.display();
            Some(ExplainedSetting { key: key.clone(), value, origin: entry.origin.clone() })
        });
        let mut rows: Vec<ExplainedSetting> = unset.chain(set).collect();
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    }
}
