//! `local/rules`: a rule-based model that chooses searches without a language model and calls the same tools.
//!
//! Expands the question with an editable synonym list and with terms that co-occur in the documents, searches all
//! sources with each query, requests a hint, and answers in JSON. Does not understand meaning and does not claim to.

use serde_json::json;
use superstep::core::message::{Role, ToolCall};
use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, RuleBasedModel, ScriptedReply,
};
use superstep::{Error, Message, Result};

use crate::prompt::{self, PromptPost};
use crate::response_format::{MergedResults, ToolResults};
use crate::sources::{ResultLimits, Sources, normalize_query};
use crate::tools::{HINT, MAX_POST_CHARS, SearchTool, truncate};

/// Label of this model in user interfaces.
pub const LABEL: &str = "keyword planner, no language model";

/// Rule-based model that plans searches by keywords.
#[derive(Debug, Clone)]
pub struct KeywordPlanner(Sources);

/// Creates a keyword planner with the query expander of these sources.
#[must_use]
pub fn planner(sources: Sources) -> KeywordPlanner {
    KeywordPlanner(sources)
}

impl Model for KeywordPlanner {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", "rules", ModelKind::Rules)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let (sources, owned_request) = (self.0.clone(), request.clone());
        // Planning reads the index, which may block while files are being indexed.
        let reply = tokio::task::spawn_blocking(move || next_reply(&sources, &owned_request)).await;
        let reply = reply.map_err(|error| Error::internal(format!("the keyword planner failed: {error}")))?;
        RuleBasedModel::new("rules").default_reply(reply).generate(request, out).await
    }
}

/// Returns the next reply: searches first, then the hint, then the answer. Answers at once if no tools are left.
fn next_reply(sources: &Sources, request: &ChatRequest) -> ScriptedReply {
    let messages: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
    let post = prompt::post(messages.iter().copied());
    let has_tool = |tool: &str| request.tools.iter().any(|spec| spec.name == tool);
    let was_called = |matches: &dyn Fn(&str) -> bool| {
        messages.iter().any(|message| message.role == Role::Tool && message.name.as_deref().is_some_and(matches))
    };
    if !was_called(&|name| SearchTool::from_tool_name(name).is_some()) {
        let calls = searches(sources, &post, has_tool);
        if !calls.is_empty() {
            return Message::assistant("").with_tool_calls(calls).into();
        }
    }
    let results = ToolResults::from_messages(&messages).merged();
    let hint_results = results.for_hint();
    if has_tool(HINT) && !hint_results.is_empty() && !was_called(&|name| name == HINT) {
        return ScriptedReply::tool_call(
            HINT,
            json!({ "postText": truncate(&post.text, MAX_POST_CHARS), "searchResults": hint_results }),
        );
    }
    let response = truncated(results, sources.limits()).response();
    ScriptedReply::text(serde_json::to_string(&response).unwrap_or_default())
}

/// Returns tool calls for every available search with every query.
fn searches(sources: &Sources, post: &PromptPost, has_tool: impl Fn(&str) -> bool) -> Vec<ToolCall> {
    let search_text = format!("{} {}", post.text, post.tags.join(" "));
    let mut queries = sources.query_expander().queries(&search_text);
    if queries.is_empty() {
        // The text contains only symbols: search for it unchanged.
        queries.extend(normalize_query(&search_text).map(|query| query.text));
    }
    let searches = SearchTool::ALL.into_iter().filter(|search| has_tool(search.tool()));
    let call = |search: SearchTool, query: &String| ToolCall::new("", search.tool(), json!({ "query": query }));
    searches.flat_map(|search| queries.iter().map(move |query| call(search, query))).collect()
}

/// Truncates the merged results of several searches to the limits of a single search.
fn truncated(mut results: MergedResults, limits: &ResultLimits) -> MergedResults {
    results.m365.truncate(limits.m365);
    results.docs.truncate(limits.docs);
    results.issues.truncate(limits.issues);
    results.posts.truncate(limits.posts);
    results
}
