//! The section `server`: where our own server listens, whom it answers and how much it takes on.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::layers::Layers;
use super::value::{Value, show_duration};

/// Where our own server listens, whom it answers and how much it takes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Server {
    /// The address.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// What happens when the port is taken.
    pub port_in_use: PortInUse,
    /// Names it may be asked by, besides those of loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may ask it, besides its own.
    pub allowed_origins: Vec<String>,
    /// Most bytes of the body of a request.
    pub body_limit: u32,
    /// Most runs at once.
    pub max_runs: u32,
    /// How long supersteps may still take when it stops.
    #[serde(serialize_with = "as_text")]
    pub drain: Duration,
    /// What becomes of runs that died with it.
    pub resume: ResumeRuns,
}

/// What happens when the port is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PortInUse {
    /// The server does not start.
    #[default]
    Refuse,
    /// The next free one is taken.
    NextFree,
}

/// What becomes of runs that died with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeRuns {
    /// They are taken up when it starts.
    #[default]
    Automatically,
    /// They are marked, and taken up when somebody asks.
    OnRequest,
}

fn as_text<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&show_duration(*duration))
}

impl Layers {
    /// The section `server`.
    pub(crate) fn server(&self) -> Option<Server> {
        let port_in_use = match self.text("server.port_in_use").as_deref() {
            Some("next") => PortInUse::NextFree,
            _ => PortInUse::Refuse,
        };
        let resume = match self.text("server.resume").as_deref() {
            Some("manual") => ResumeRuns::OnRequest,
            _ => ResumeRuns::Automatically,
        };
        Some(Server {
            host: self.text("server.host")?,
            port: u16::try_from(self.count("server.port")?).ok()?,
            port_in_use,
            allowed_hosts: self.texts("server.allowed_hosts")?,
            allowed_origins: self.texts("server.allowed_origins")?,
            body_limit: self.count("server.body_limit")?,
            max_runs: self.count("server.max_runs")?,
            drain: self.duration("server.drain")?,
            resume,
        })
    }

    fn texts(&self, path: &str) -> Option<Vec<String>> {
        match self.value(path)? {
            Value::Words(texts) => Some(texts.clone()),
            _ => None,
        }
    }
}
