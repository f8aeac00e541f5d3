//! Names, arguments and descriptions of the five tools, shared by the MCP server and its callers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::tools::ToolSpec;

use crate::types::SourceType;

/// Name of the tool that proposes an action.
pub(crate) const HINT: &str = "generate_action_hint";

/// One of the four searches. Each corresponds to a tool and a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchTool {
    M365,
    Docs,
    Issues,
    Posts,
}

impl SearchTool {
    /// All searches, in the order in which sources are listed.
    pub(crate) const ALL: [Self; 4] = [Self::M365, Self::Docs, Self::Issues, Self::Posts];

    /// Returns the name of the tool.
    pub(crate) const fn tool(self) -> &'static str {
        match self {
            Self::M365 => "search_m365",
            Self::Docs => "search_docs",
            Self::Issues => "search_issues",
            Self::Posts => "search_posts",
        }
    }

    /// Returns the name of the source.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::M365 => "m365",
            Self::Docs => "docs",
            Self::Issues => "issues",
            Self::Posts => "posts",
        }
    }

    /// Returns the source type of its hits.
    pub(crate) const fn kind(self) -> SourceType {
        match self {
            Self::M365 => SourceType::M365,
            Self::Docs => SourceType::Doc,
            Self::Issues => SourceType::Issue,
            Self::Posts => SourceType::Post,
        }
    }

    /// Returns the search with this tool name.
    pub(crate) fn from_tool_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|search| search.tool() == name)
    }

    pub(crate) fn spec(self) -> ToolSpec {
        let description = match self {
            Self::M365 => "Searches files, list items and mail of Microsoft 365. Returns a JSON list of suggestions.",
            Self::Docs => "Searches the documentation. Returns a JSON list of sections.",
            Self::Issues => "Searches issues, solved ones first. Returns a JSON list of suggestions.",
            Self::Posts => "Searches earlier posts of colleagues. Returns a JSON list of posts.",
        };
        ToolSpec::new(self.tool(), description).read_only().idempotent()
    }
}

/// Returns the specification of the tool that proposes an action. The tool is read-only.
pub(crate) fn hint_spec() -> ToolSpec {
    ToolSpec::new(HINT, "Proposes one next action for a post, in one sentence that names one of the results.")
        .read_only()
}

/// Maximum length in characters of the post passed to the hint tool; stored posts are far shorter.
pub(crate) const MAX_POST_CHARS: usize = 4_000;
/// Maximum number of results passed to the hint tool.
pub(crate) const MAX_RESULTS: usize = 50;
/// Maximum length of the title and of the description of a result, in characters.
pub(crate) const MAX_RESULT_CHARS: usize = 2_000;

/// Arguments of `search_m365`, `search_docs` and `search_issues`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    /// A few words to search for, 1 to 200 characters. A longer query is cut at a word boundary.
    pub(crate) query: String,
}

/// Arguments of `search_posts`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PostsArguments {
    /// A few words to search for, 1 to 200 characters. A longer query is cut at a word boundary.
    pub(crate) query: String,
    /// Id of a post to exclude from the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub(crate) exclude_post_id: Option<String>,
}

/// Arguments of `generate_action_hint`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HintArguments {
    /// Text of the post.
    #[schemars(length(min = 1, max = MAX_POST_CHARS))]
    pub(crate) post_text: String,
    /// Results to choose from, best first.
    #[schemars(length(max = MAX_RESULTS))]
    pub(crate) search_results: Vec<SearchResult>,
}

/// A search result with the fields that a hint needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SearchResult {
    /// Title of the result.
    #[schemars(length(max = MAX_RESULT_CHARS))]
    pub(crate) title: String,
    /// Excerpt of the result.
    #[schemars(length(max = MAX_RESULT_CHARS))]
    pub(crate) description: String,
    /// Kind of the result.
    pub(crate) source_type: SourceType,
}

/// Truncates a text to the maximum length of an argument, in characters.
pub(crate) fn truncate(text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}
