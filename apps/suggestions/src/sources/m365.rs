//! Microsoft 365 as a source: Microsoft Graph, a synchronised folder, or not configured.

mod graph;
mod mail;
mod mirror;

use superstep::Result;
use superstep::settings::Secret;

use super::document::SourceDocument;
use super::settings::M365Settings;
use super::unavailable::SourceUnavailable;
use crate::types::McpSuggestion;

pub(crate) use mail::Mail;

pub(super) const SOURCE: &str = "m365";

/// Result of a search whose parts can fail independently.
#[derive(Debug, Clone, Default)]
pub struct M365SearchResult {
    /// Results of the successful parts.
    pub suggestions: Vec<McpSuggestion>,
    /// Parts that failed, each with the reason.
    pub failed: Vec<SourceUnavailable>,
}

impl M365SearchResult {
    /// Returns the results. If there are none and a part failed, returns the failure, because "nothing found" would
    /// be wrong.
    ///
    /// # Errors
    /// Returns the most useful failure: one that the user or administrator can fix comes before one that is
    /// temporary.
    pub fn into_result(self) -> Result<Vec<McpSuggestion>, SourceUnavailable> {
        match self.failed.into_iter().min_by_key(|failed| failed.kind) {
            Some(failed) if self.suggestions.is_empty() => Err(failed),
            _ => Ok(self.suggestions),
        }
    }
}

impl From<SourceUnavailable> for M365SearchResult {
    fn from(unavailable: SourceUnavailable) -> Self {
        Self { suggestions: Vec::new(), failed: vec![unavailable] }
    }
}

/// Backend of the search.
pub(super) enum M365Backend {
    NotConfigured,
    Mirror(std::sync::Arc<mirror::Mirror>),
    Graph(graph::GraphClient),
}

impl M365Backend {
    pub(super) fn open(settings: &M365Settings) -> Result<Self> {
        Ok(match settings {
            M365Settings::None => Self::NotConfigured,
            M365Settings::Mirror { folder, mail } => {
                Self::Mirror(std::sync::Arc::new(mirror::Mirror::open(folder.as_deref(), mail.as_deref())?))
            }
            M365Settings::Graph { base_url } => Self::Graph(graph::GraphClient::open(base_url)?),
        })
    }

    pub(super) async fn search(&self, query: &str, token: Option<&Secret>, limit: usize) -> M365SearchResult {
        match self {
            Self::NotConfigured => not_configured().into(),
            Self::Graph(graph) => graph.search_all_kinds(query, token, limit).await,
            Self::Mirror(mirror) => {
                let (mirror, query) = (mirror.clone(), query.to_owned());
                match super::run_blocking(SOURCE, move || mirror.search(&query, limit)).await {
                    Ok(suggestions) => M365SearchResult { suggestions, failed: Vec::new() },
                    Err(failed) => failed.into(),
                }
            }
        }
    }

    /// Returns a file or mail of the mirror. Microsoft Graph results are opened on the web instead.
    pub(super) fn read(&self, file: &str, number: usize) -> Option<SourceDocument> {
        match self {
            Self::Mirror(mirror) => mirror.read(file, number),
            Self::NotConfigured | Self::Graph(_) => None,
        }
    }

    pub(super) fn missing(&self) -> Option<SourceUnavailable> {
        matches!(self, Self::NotConfigured).then(not_configured)
    }

    pub(super) fn skipped(&self) -> Vec<String> {
        match self {
            Self::Mirror(mirror) => mirror.skipped(),
            Self::NotConfigured | Self::Graph(_) => Vec::new(),
        }
    }

    pub(super) fn refresh(&self) -> Result<()> {
        match self {
            Self::Mirror(mirror) => mirror.refresh(),
            Self::NotConfigured | Self::Graph(_) => Ok(()),
        }
    }
}

fn not_configured() -> SourceUnavailable {
    SourceUnavailable::not_configured(SOURCE, "neither Microsoft Graph nor a synchronised folder is configured")
}
