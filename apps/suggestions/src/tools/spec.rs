//! The five tools: their names, arguments and words, the same for the server that has them and for who calls them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::tool::ToolSpec;

use crate::types::SourceType;

/// The name of the tool that proposes an action.
pub(crate) const HINT: &str = "generate_action_hint";

/// A search, which is a tool and a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    M365,
    Docs,
    Issues,
    Posts,
}

impl Search {
    /// In the order in which sources are named.
    pub(crate) const ALL: [Self; 4] = [Self::M365, Self::Docs, Self::Issues, Self::Posts];

    /// The name of the tool.
    pub(crate) const fn tool(self) -> &'static str {
        match self {
            Self::M365 => "search_m365",
            Self::Docs => "search_docs",
            Self::Issues => "search_issues",
            Self::Posts => "search_posts",
        }
    }

    /// The name of the source.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::M365 => "m365",
            Self::Docs => "docs",
            Self::Issues => "issues",
            Self::Posts => "posts",
        }
    }

    /// What its hits are.
    pub(crate) const fn kind(self) -> SourceType {
        match self {
            Self::M365 => SourceType::M365,
            Self::Docs => SourceType::Doc,
            Self::Issues => SourceType::Issue,
            Self::Posts => SourceType::Post,
        }
    }

    /// The search that a tool of this name is.
    pub(crate) fn of_tool(name: &str) -> Option<Self> {
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

/// What is told of the tool that proposes an action; it changes nothing.
pub(crate) fn hint_spec() -> ToolSpec {
    ToolSpec::new(HINT, "Proposes one next action for a post, in one sentence that names one of the results.")
        .read_only()
}

/// How much of a post a hint is made of, in characters; posts of people are far shorter.
pub(crate) const LONGEST_POST: usize = 4_000;
/// How many results a hint may be made of.
pub(crate) const MOST_RESULTS: usize = 50;
/// The longest title and description of a result.
pub(crate) const LONGEST_RESULT: usize = 2_000;

/// The arguments of `search_m365`, `search_docs` and `search_issues`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    /// A few words to search for, 1 to 200 characters; what is longer is cut at a word.
    pub(crate) query: String,
}

/// The arguments of `search_posts`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PostsArguments {
    /// A few words to search for, 1 to 200 characters; what is longer is cut at a word.
    pub(crate) query: String,
    /// A post that is not wanted among the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub(crate) exclude_post_id: Option<String>,
}

/// The arguments of `generate_action_hint`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HintArguments {
    /// What the post says.
    #[schemars(length(min = 1, max = LONGEST_POST))]
    pub(crate) post_text: String,
    /// The results to choose from, the best first.
    #[schemars(length(max = MOST_RESULTS))]
    pub(crate) search_results: Vec<SearchResult>,
}

/// A result, as far as a hint needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SearchResult {
    /// What it is called.
    #[schemars(length(max = LONGEST_RESULT))]
    pub(crate) title: String,
    /// What it says.
    #[schemars(length(max = LONGEST_RESULT))]
    pub(crate) description: String,
    /// What it is.
    pub(crate) source_type: SourceType,
}

/// As much of a text as an argument takes.
pub(crate) fn fitting(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
