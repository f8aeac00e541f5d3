//! `local/rules`: decides what to search for without a language model, and asks for the same tools.
//!
//! Expands the question by a list of words that people edit and by words that stand together in the documents, searches
//! everywhere with each query, asks for a hint, and answers in JSON. Knows no meaning, and never says that it does.

use serde_json::json;
use superstep::core::message::{Role, ToolCall};
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Reply, Request, Rules};
use superstep::{Error, Message, Result};

use crate::format::{Found, Results};
use crate::prompt::{self, Post};
use crate::sources::{Limits, Sources, trim};
use crate::tools::{HINT, LONGEST_POST, Search, fitting};

/// What people read about who decided.
pub const LABEL: &str = "keyword planner, no language model";

/// The keyword planner.
#[derive(Debug, Clone)]
pub struct Planner(Sources);

/// The keyword planner over the words of these sources.
#[must_use]
pub fn planner(sources: Sources) -> Planner {
    Planner(sources)
}

impl Model for Planner {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", "rules", ModelKind::Rules)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let (sources, asked) = (self.0.clone(), request.clone());
        // It looks into the index, and so may wait for whoever reads files into it.
        let reply = tokio::task::spawn_blocking(move || next(&sources, &asked)).await;
        let reply = reply.map_err(|error| Error::internal(format!("the keyword planner failed: {error}")))?;
        Rules::new("rules").otherwise(reply).answer(request, out).await
    }
}

/// The searches first, then the hint, then the answer; the answer at once where no tools are left.
fn next(sources: &Sources, request: &Request) -> Reply {
    let messages: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
    let post = prompt::post(messages.iter().copied());
    let has = |tool: &str| request.tools.iter().any(|spec| spec.name == tool);
    let was_asked = |of: &dyn Fn(&str) -> bool| {
        messages.iter().any(|message| message.role == Role::Tool && message.name.as_deref().is_some_and(of))
    };
    if !was_asked(&|name| Search::of_tool(name).is_some()) {
        let calls = searches(sources, &post, has);
        if !calls.is_empty() {
            return Message::assistant("").with_tool_calls(calls).into();
        }
    }
    let results = Found::of(&messages).merged();
    let hinted = results.for_hint();
    if has(HINT) && !hinted.is_empty() && !was_asked(&|name| name == HINT) {
        return Reply::call(HINT, json!({ "postText": fitting(&post.text, LONGEST_POST), "searchResults": hinted }));
    }
    let response = cut(results, sources.limits()).response();
    Reply::text(serde_json::to_string(&response).unwrap_or_default())
}

/// Every search there is with every query.
fn searches(sources: &Sources, post: &Post, has: impl Fn(&str) -> bool) -> Vec<ToolCall> {
    let asked = format!("{} {}", post.text, post.tags.join(" "));
    let mut queries = sources.words().queries(&asked);
    if queries.is_empty() {
        // Signs only: searched for as they are.
        queries.extend(trim(&asked).map(|query| query.text));
    }
    let searches = Search::ALL.into_iter().filter(|search| has(search.tool()));
    let call = |search: Search, query: &String| ToolCall::new("", search.tool(), json!({ "query": query }));
    searches.flat_map(|search| queries.iter().map(move |query| call(search, query))).collect()
}

/// As much as one search gives, though there were several.
fn cut(mut results: Results, limits: &Limits) -> Results {
    results.m365.truncate(limits.m365);
    results.docs.truncate(limits.docs);
    results.issues.truncate(limits.issues);
    results.posts.truncate(limits.posts);
    results
}
