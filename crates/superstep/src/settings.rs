//! Settings: `superstep.toml`, the environment variables `SUPERSTEP_*` that win over it, flags that win over both.
//!
//! `table` lists every setting, `value` says what each may be, `layers` lays the sources over each other, `resolve`
//! follows references to secrets, `section` builds the typed sections, `page` writes the page of the book. All of it is
//! pure but `load`. No message, explanation or serialised form holds the text of a secret.

use std::collections::BTreeMap;

use serde::Serialize;
use superstep_core::error::{Code, Error, Result};

mod layers;
mod load;
mod page;
mod resolve;
mod secret;
mod section;
mod server;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use crate::durability::Durability;
pub use page::reference;
pub use secret::{Guarded, Secret};
pub use section::{Checkpoints, GraphKind, GraphSource, Limits, McpServer, Model, Stores};
pub use server::{PortInUse, ResumeRuns, Server};
pub use source::{Explained, Origin, Sources};

use layers::Layers;

/// Everything that can be set, checked.
///
/// ```
/// use superstep::settings::{Settings, Sources};
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
/// let sources = Sources::new().toml("superstep.toml", file).environment(environment);
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
    /// The graphs that can be run by name.
    pub graphs: BTreeMap<String, GraphSource>,
    /// The models that can be asked by name.
    pub models: BTreeMap<String, Model>,
    /// Where threads are kept.
    pub stores: Stores,
    /// The MCP servers whose tools can be used.
    pub servers: BTreeMap<String, McpServer>,
    /// Where our own server listens.
    pub server: Server,
    /// How much a run may use.
    pub limits: Limits,
    #[serde(skip)]
    explained: Vec<Explained>,
}

impl Settings {
    /// Reads settings from texts; the same texts give the same settings.
    ///
    /// # Errors
    /// `ConfigInvalid` with every problem of every source: unknown keys with the nearest known one, values that do not
    /// fit, references that lead nowhere. Places are named, values are not.
    pub fn parse(sources: &Sources<'_>) -> Result<Self> {
        let mut layers = Layers::read(sources);
        layers.resolve(sources);
        let (graphs, models, servers) = (layers.graphs(), layers.models(), layers.servers());
        let (stores, server, limits) = (layers.stores(), layers.server(), layers.limits());
        if !layers.problems.is_empty() {
            return Err(Error::listing(Code::ConfigInvalid, "the configuration is not valid", layers.problems)
                .help("a flag wins over the environment, the environment over the file"));
        }
        let (Some(stores), Some(server), Some(limits)) = (stores, server, limits) else {
            return Err(Error::internal("a section of the settings is missing without a problem that says why"));
        };
        let explained = layers.explain();
        Ok(Self { graphs, models, stores, servers, server, limits, explained })
    }

    /// Every setting with what holds and where it came from, by key; secrets are shown as `***`.
    ///
    /// ```
    /// # use superstep::settings::{Settings, Sources};
    /// let settings = Settings::parse(&Sources::new().flags([("server.port", "80")]))?;
    /// let port = settings.explain().iter().find(|row| row.key == "server.port").expect("it was set");
    /// assert_eq!(format!("{} from {}", port.value, port.origin), "80 from flag `server.port`");
    /// # Ok::<(), superstep_core::error::Error>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> &[Explained] {
        &self.explained
    }
}

impl Layers {
    fn explain(&self) -> Vec<Explained> {
        let is_unset = |key: &&table::Key| !key.path.contains('<') && !self.entries.contains_key(key.path);
        let unset = table::KEYS.iter().filter(is_unset).map(|key| {
            let value = "none".to_owned();
            Explained { key: key.path.to_owned(), value, origin: Origin::Default }
        });
        let set = self.entries.iter().filter_map(|(key, entry)| {
            let value = entry.value.as_ref()?.shown();
            Some(Explained { key: key.clone(), value, origin: entry.origin.clone() })
        });
        let mut rows: Vec<Explained> = unset.chain(set).collect();
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    }
}
