//! The state of a run: its fields and how they fold. Names are camelCase wherever a state leaves the process.
//!
//! The application's own table of posts is not here: the agent searches it and never writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{Code, Error, Messages, Result, State};

use crate::prompt;
use crate::types::CombinedSuggestionsResponse;

/// What was said, how often the model was asked, and what came of it.
#[derive(State, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[state(name = "suggestions", rename_all = "camelCase")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Suggestions {
    /// The system prompt, the post, what the model said and what the tools gave.
    #[reduce(messages)]
    pub messages: Messages,
    /// How often the model was asked; each round adds one.
    #[reduce(add)]
    pub llm_call_count: u32,
    /// What is suggested, once the run is over: the output.
    pub response: Option<CombinedSuggestionsResponse>,
    /// How the searches of each source (`m365`, `docs`, `issues`, `posts`) went.
    #[reduce(merge)]
    pub tool_status: BTreeMap<String, SourceStatus>,
}

/// How the searches of a source went, all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceStatus {
    /// Something was found.
    Ok,
    /// It could be searched, and nothing was found.
    Empty,
    /// It could not be searched, or gave something that is no result.
    Error,
}

impl Suggestions {
    /// The input for a post: the system prompt and what the post says. `locale` is the language of who reads the answer,
    /// where it is known.
    ///
    /// ```
    /// use superstep_suggestions::Suggestions;
    /// assert!(Suggestions::open("How do I roll back?", &["aks".to_owned()], None).is_ok());
    /// assert_eq!(Suggestions::open(" ", &[], None).unwrap_err().code(), superstep::Code::InputInvalid);
    /// ```
    ///
    /// # Errors
    /// When the post has no text.
    pub fn open(text: &str, tags: &[String], locale: Option<&str>) -> Result<SuggestionsUpdate> {
        let text = text.trim();
        if text.is_empty() {
            return Err(without_text());
        }
        Ok(Self::input().messages(vec![prompt::system(locale), prompt::user(text, tags)]))
    }
}

/// Refuses a post that says nothing.
pub(crate) fn without_text() -> Error {
    Error::new(Code::InputInvalid, "the post has no text").help("say in a sentence what is asked")
}
