//! The section `server`: address, access and limits of the HTTP server.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::layers::Layers;
use super::value::{SettingValue, format_duration};

/// Address, access and limits of the HTTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ServerSettings {
    /// Address on which the server listens.
    pub host: String,
    /// Port; 0 selects a free port.
    pub port: u16,
    /// Behavior if the port is in use.
    pub port_in_use: PortConflictPolicy,
    /// Permitted host names, in addition to loopback names.
    pub allowed_hosts: Vec<String>,
    /// Permitted origins of web pages, in addition to the server's own.
    pub allowed_origins: Vec<String>,
    /// Maximum size of a request body in bytes.
    pub body_limit: u32,
    /// Maximum number of concurrent runs.
    pub max_concurrent_runs: u32,
    /// Time for running supersteps to finish when the server stops.
    #[serde(serialize_with = "as_text")]
    pub drain_timeout: Duration,
    /// Recovery of runs whose server process died.
    pub recovery: RecoveryMode,
}

/// Policy for a port that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum PortConflictPolicy {
    /// The server does not start.
    #[default]
    #[serde(rename = "error")]
    Fail,
    /// The next free port is used.
    #[serde(rename = "next")]
    NextFree,
}

/// Recovery of runs whose server process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum RecoveryMode {
    /// Runs are recovered when the server starts.
    #[default]
    #[serde(rename = "auto")]
    Automatic,
    /// Runs are marked, and recovered on request.
    #[serde(rename = "manual")]
    Manual,
}

fn as_text<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_duration(*duration))
}

impl Layers {
    /// Builds the section `server`.
    pub(crate) fn server(&self) -> Option<ServerSettings> {
        let port_in_use = match self.text("server.port_in_use").as_deref() {
            Some("next") => PortConflictPolicy::NextFree,
            _ => PortConflictPolicy::Fail,
        };
        let recovery = match self.text("server.recovery").as_deref() {
            Some("manual") => RecoveryMode::Manual,
            _ => RecoveryMode::Automatic,
        };
        Some(ServerSettings {
            host: self.text("server.host")?,
            port: u16::try_from(self.count("server.port")?).ok()?,
            port_in_use,
            allowed_hosts: self.texts("server.allowed_hosts")?,
            allowed_origins: self.texts("server.allowed_origins")?,
            body_limit: self.count("server.body_limit")?,
            max_concurrent_runs: self.count("server.max_concurrent_runs")?,
            drain_timeout: self.duration("server.drain_timeout")?,
            recovery,
        })
    }

    fn texts(&self, path: &str) -> Option<Vec<String>> {
        match self.value(path)? {
            SettingValue::Words(texts) => Some(texts.clone()),
            _ => None,
        }
    }
}
