//! Types of search results and responses, used by tools, HTTP API and MCP clients.
//!
//! Their JSON is a contract with pages and other programs: camelCase names and no omitted lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// All suggestions for a post.
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
    /// Source of the suggestions.
    pub source: ResponseSource,
    /// Sources that could not be searched: `m365`, `docs`, `issues`, `posts`.
    pub unavailable_sources: Vec<String>,
}

/// Source of suggestions. There is only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResponseSource {
    /// The tools of the MCP server.
    #[default]
    Mcp,
}

/// One search result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSuggestion {
    /// Title of the result.
    pub title: String,
    /// URL of the result.
    pub url: String,
    /// Excerpt that fits the query best.
    #[serde(default)]
    pub description: String,
    /// Kind of the result.
    pub source_type: SourceType,
    /// Part of Microsoft 365 that contains the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<M365Source>,
    /// Availability of the result.
    #[serde(default)]
    pub status: Availability,
}

/// Kind of a search result.
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
    /// Files of a user.
    Onedrive,
    /// Files and lists of a team.
    Sharepoint,
    /// Mail.
    Email,
}

/// Availability of a search result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Availability {
    /// The result can be opened.
    #[default]
    Available,
    /// The result does not exist or cannot be reached.
    Unavailable,
}

/// A post in a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostSummary {
    /// Id of the post.
    pub id: String,
    /// Id of the author.
    pub author_id: String,
    /// Display name of the author.
    pub author_name: String,
    /// Text of the post.
    pub text: String,
    /// Topics of the post.
    pub tags: Vec<String>,
    /// Purpose of the post.
    pub mode: Mode,
    /// Latitude in degrees north.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat: Option<f64>,
    /// Longitude in degrees east.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lng: Option<f64>,
    /// Creation time of the post.
    #[schemars(with = "String")]
    pub created_at: Time,
    /// Expiry time of the post.
    #[schemars(with = "String")]
    pub expires_at: Time,
    /// Number of interested users.
    pub interested_count: u64,
    /// Number of users who take part.
    pub join_count: u64,
}

/// Purpose of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// The author asks a question.
    #[default]
    Question,
    /// The author offers something.
    Offer,
    /// The author announces an event.
    Event,
}

/// Embedding of a post, held in memory only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostEmbedding {
    /// Id of the post.
    pub post_id: String,
    /// Vector of the embedding.
    pub vector: Vec<f32>,
    /// Text that was embedded.
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
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Question, Self::Offer, Self::Event].into_iter().find(|mode| mode.name() == name)
    }
}
