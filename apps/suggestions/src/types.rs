//! Types of search results and responses, used by tools, HTTP API and MCP clients.
//!
//! Their JSON is a contract with pages and other programs: camelCase names and no omitted lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// Everything that is suggested for a post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CombinedSuggestionsResponse {
    /// Files, list items and mail of Microsoft 365.
    pub m365: Vec<McpSuggestion>,
    /// Sections of the documentation.
    pub docs: Vec<McpSuggestion>,
    /// Issues of the tracker.
    pub issues: Vec<McpSuggestion>,
    /// Earlier posts.
    pub posts: Vec<PostSummary>,
    /// One next action, in one sentence.
    pub action_hint: Option<String>,
    /// What the suggestions came through.
    pub source: ResponseSource,
    /// The sources that could not be searched: `m365`, `docs`, `issues`, `posts`.
    pub unavailable_sources: Vec<String>,
}

/// What suggestions came through; there is one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResponseSource {
    /// The tools of the MCP server.
    #[default]
    Mcp,
}

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSuggestion {
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What it says, where it fits best.
    #[serde(default)]
    pub description: String,
    /// Which search found it.
    pub source_type: SourceType,
    /// Which part of Microsoft 365 it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<M365Source>,
    /// Whether it can be opened.
    #[serde(default)]
    pub status: Availability,
}

/// What a suggestion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SourceType {
    /// A file, a list item or a mail of Microsoft 365.
    M365,
    /// A section of the documentation.
    Doc,
    /// An issue.
    Issue,
    /// A post.
    Post,
}

/// A part of Microsoft 365.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum M365Source {
    /// Files of a person.
    Onedrive,
    /// Files and lists of a team.
    Sharepoint,
    /// Mail.
    Email,
}

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Availability {
    /// It is.
    #[default]
    Available,
    /// It is not, or cannot be asked.
    Unavailable,
}

/// A post as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostSummary {
    /// Its id.
    pub id: String,
    /// Who wrote it.
    pub author_id: String,
    /// The name of who wrote it.
    pub author_name: String,
    /// What it says.
    pub text: String,
    /// What it is about.
    pub tags: Vec<String>,
    /// What it is for.
    pub mode: Mode,
    /// Where: degrees north.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat: Option<f64>,
    /// Where: degrees east.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lng: Option<f64>,
    /// When it was written.
    #[schemars(with = "String")]
    pub created_at: Time,
    /// When it is gone.
    #[schemars(with = "String")]
    pub expires_at: Time,
    /// How many are interested.
    pub interested_count: u64,
    /// How many take part.
    pub join_count: u64,
}

/// What a post is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Somebody asks.
    #[default]
    Question,
    /// Somebody offers.
    Offer,
    /// Something takes place.
    Event,
}

/// The vector of a post, kept in memory only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostEmbedding {
    /// Whose it is.
    pub post_id: String,
    /// Its numbers.
    pub vector: Vec<f32>,
    /// The text it was made of.
    pub text: String,
}

impl Default for CombinedSuggestionsResponse {
    /// Returns an empty response, which is valid.
    fn default() -> Self {
        Self {
            m365: Vec::new(),
            docs: Vec::new(),
            issues: Vec::new(),
            posts: Vec::new(),
            action_hint: None,
            source: ResponseSource::Mcp,
            unavailable_sources: Vec::new(),
        }
    }
}

impl SourceType {
    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::M365 => "m365",
            Self::Doc => "doc",
            Self::Issue => "issue",
            Self::Post => "post",
        }
    }
}

impl Mode {
    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Offer => "offer",
            Self::Event => "event",
        }
    }

    /// Parses the JSON name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Question, Self::Offer, Self::Event].into_iter().find(|mode| mode.name() == name)
    }
}
