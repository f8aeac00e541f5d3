//! State of the graph: fields and reducers. Field names are camelCase wherever a state is serialized.
//!
//! The table of posts is not part of the state: the agent searches it and never writes to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{Error, ErrorCode, GraphState, Messages, Result};

use crate::prompt;
use crate::types::CombinedSuggestionsResponse;

/// State of the suggestions graph.
#[derive(GraphState, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[state(name = "suggestions", rename_all = "camelCase")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuggestionsState {
    /// System prompt, post, model messages and tool messages.
    #[reduce(messages)]
    pub messages: Messages,
    /// Number of model calls. Each round adds one.
    #[reduce(add)]
    pub llm_call_count: u32,
    /// Response of a finished run: the output of the graph.
    pub response: Option<CombinedSuggestionsResponse>,
    /// Status of each searched source (`m365`, `docs`, `issues`, `posts`).
    #[reduce(merge)]
    pub tool_status: BTreeMap<String, SourceStatus>,
}

/// Combined status of all searches of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceStatus {
    /// At least one search returned results.
    Ok,
    /// The source was searched and returned no results.
    Empty,
    /// The source could not be searched, or its response was invalid.
    Error,
}

impl SuggestionsState {
    /// Creates the input for a post: system prompt and post. `locale` is the language of the reader, if known.
    ///
    /// ```
    /// use superstep_suggestions::SuggestionsState;
    /// assert!(SuggestionsState::initial_state("How do I roll back?", &["aks".to_owned()], None).is_ok());
    /// assert_eq!(SuggestionsState::initial_state(" ", &[], None).unwrap_err().code(), superstep::ErrorCode::InputInvalid);
    /// ```
    ///
    /// # Errors
    /// Returns an error if the post has no text.
    pub fn initial_state(text: &str, tags: &[String], locale: Option<&str>) -> Result<SuggestionsStateUpdate> {
        let text = text.trim();
        if text.is_empty() {
            return Err(no_text_error());
        }
        Ok(Self::input().messages(vec![prompt::system(locale), prompt::user(text, tags)]))
    }
}

/// Returns the error for a post without text.
pub(crate) fn no_text_error() -> Error {
    Error::new(ErrorCode::InputInvalid, "the post has no text").with_help("enter the text of the post")
}
