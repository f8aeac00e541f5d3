//! Microsoft 365: asked over its interface, or looked up in a synchronised folder, or not there.

mod graph;
mod mail;
mod mirror;

use superstep::Result;
use superstep::settings::Secret;

use super::reading::Reading;
use super::settings::M365;
use super::unavailable::Unavailable;
use crate::types::McpSuggestion;

pub(crate) use mail::Mail;

pub(super) const SOURCE: &str = "m365";

/// What came of a search that has parts.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// What was found.
    pub found: Vec<McpSuggestion>,
    /// Which parts failed, and why.
    pub failed: Vec<Unavailable>,
}

impl Asked {
    /// What was found. When nothing was and a part failed, why: "nothing found" would not be true then.
    ///
    /// # Errors
    /// The reason that tells most: one that a person can do something about, before one that they cannot.
    pub fn into_result(self) -> Result<Vec<McpSuggestion>, Unavailable> {
        match self.failed.into_iter().min_by_key(|failed| failed.kind) {
            Some(failed) if self.found.is_empty() => Err(failed),
            _ => Ok(self.found),
        }
    }
}

impl From<Unavailable> for Asked {
    fn from(unavailable: Unavailable) -> Self {
        Self { found: Vec::new(), failed: vec![unavailable] }
    }
}

/// Where it is searched.
pub(super) enum Search {
    Nowhere,
    Mirror(std::sync::Arc<mirror::Mirror>),
    Graph(graph::Graph),
}

impl Search {
    pub(super) fn open(settings: &M365) -> Result<Self> {
        Ok(match settings {
            M365::None => Self::Nowhere,
            M365::Mirror { folder, mail } => {
                Self::Mirror(std::sync::Arc::new(mirror::Mirror::open(folder.as_deref(), mail.as_deref())?))
            }
            M365::Graph { base_url } => Self::Graph(graph::Graph::open(base_url)?),
        })
    }

    pub(super) async fn ask(&self, query: &str, token: Option<&Secret>, limit: usize) -> Asked {
        match self {
            Self::Nowhere => nowhere().into(),
            Self::Graph(graph) => graph.ask(query, token, limit).await,
            Self::Mirror(mirror) => {
                let (mirror, query) = (mirror.clone(), query.to_owned());
                match super::apart(SOURCE, move || mirror.search(&query, limit)).await {
                    Ok(found) => Asked { found, failed: Vec::new() },
                    Err(failed) => failed.into(),
                }
            }
        }
    }

    /// A file or a mail of the mirror.
    pub(super) fn read(&self, file: &str, number: usize) -> Option<Reading> {
        match self {
            Self::Mirror(mirror) => mirror.read(file, number),
            Self::Nowhere | Self::Graph(_) => None,
        }
    }

    pub(super) fn missing(&self) -> Option<Unavailable> {
        matches!(self, Self::Nowhere).then(nowhere)
    }

    pub(super) fn skipped(&self) -> Vec<String> {
        match self {
            Self::Mirror(mirror) => mirror.skipped(),
            Self::Nowhere | Self::Graph(_) => Vec::new(),
        }
    }

    pub(super) fn refresh(&self) -> Result<()> {
        match self {
            Self::Mirror(mirror) => mirror.refresh(),
            Self::Nowhere | Self::Graph(_) => Ok(()),
        }
    }
}

fn nowhere() -> Unavailable {
    Unavailable::not_configured(SOURCE, "neither Microsoft Graph nor a synchronised folder is set")
}
