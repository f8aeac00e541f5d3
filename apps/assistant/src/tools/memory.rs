//! `search_memory` and `forget_memory`: access of users to the facts about themselves.

use serde_json::{Value, json};
use superstep::store::{Item, SearchOp, SharedStore};
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};

use super::arguments::{number, optional};
use super::caller::Caller;
use super::error::{ambiguous, invalid, unavailable};
use crate::memory::facts_namespace;

/// Default and maximum number of facts.
const FACTS: (usize, usize) = (10, 50);

/// The `search_memory` tool.
pub(super) struct SearchMemory;

/// The `forget_memory` tool.
pub(super) struct DeleteMemory;

impl Tool for SearchMemory {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "query": {"type": "string", "description": "Search terms, a few words (default: the newest facts)."},
            "limit": {"type": "integer", "minimum": 1, "maximum": FACTS.1, "description": "Maximum number of facts."},
        }});
        let about = "Searches the facts about the user from earlier conversations.";
        let spec = ToolSpec::new("search_memory", about).with_input_schema(schema).read_only();
        spec.timeout(super::CALL_TIMEOUT).retries(super::MAX_RETRIES)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::from_invocation(&call)?;
        let limit = number(&call, "limit")?.unwrap_or(FACTS.0).min(FACTS.1);
        let items = find_facts(&caller, optional(&call, "query")?, limit).await?;
        Ok(json!({"facts": items.iter().map(fact).collect::<Vec<_>>()}).into())
    }
}

impl Tool for DeleteMemory {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "key": {"type": "string", "description": "Key of the fact, as returned by search_memory."},
            "query": {"type": "string", "description": "Words of the fact, if its key is not known."},
        }});
        let about = "Deletes one fact about the user permanently.";
        ToolSpec::new("forget_memory", about)
            .with_input_schema(schema)
            .destructive()
            .idempotent()
            .timeout(super::CALL_TIMEOUT)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let caller = Caller::from_invocation(&call)?;
        let store = caller.store()?;
        let key = optional(&call, "key")?.filter(|key| !key.is_empty());
        let item = match (key, optional(&call, "query")?.filter(|query| !query.trim().is_empty())) {
            (Some(key), _) => store.get(facts_namespace(&caller.user), key).await.map_err(store_error)?,
            (None, Some(query)) => single_match(find_facts(&caller, Some(query), FACTS.0).await?)?,
            (None, None) => return Err(invalid("`key` or `query` is missing")),
        };
        let mut forgotten = Vec::new();
        if let Some(item) = item {
            remove(store, &caller.user, &item.key).await?;
            forgotten.push(fact(&item));
        }
        Ok(json!({ "forgotten": forgotten }).into())
    }
}

async fn find_facts(caller: &Caller, query: Option<&str>, limit: usize) -> Result<Vec<Item>, ToolError> {
    let mut search = SearchOp::new(facts_namespace(&caller.user)).limit(limit);
    if let Some(query) = query.filter(|query| !query.trim().is_empty()) {
        search = search.query(query);
    }
    let hits = caller.store()?.search(search).await.map_err(store_error)?;
    Ok(hits.into_iter().map(|hit| hit.item).collect())
}

/// Returns the matching fact, or an error if several match.
fn single_match(mut items: Vec<Item>) -> Result<Option<Item>, ToolError> {
    if items.len() > 1 {
        let texts: Vec<String> = items.iter().map(|item| format!("`{}`: {}", item.key, text(item))).collect();
        return Err(ambiguous(format_args!("{} facts match; use the key of one: {}", items.len(), texts.join("; "))));
    }
    Ok(items.pop())
}

async fn remove(store: &SharedStore, user: &str, key: &str) -> Result<(), ToolError> {
    store.delete(facts_namespace(user), key).await.map_err(store_error)?;
    Ok(())
}

fn fact(item: &Item) -> Value {
    let field = |name: &str| item.value.get(name).cloned().unwrap_or_default();
    json!({"key": item.key, "text": text(item), "source": field("source"), "date": field("date")})
}

fn text(item: &Item) -> &str {
    item.value.get("text").unwrap_or(&item.value).as_str().unwrap_or_default()
}

fn store_error(error: superstep::Error) -> ToolError {
    let failed = unavailable(format_args!("the memory is unavailable: {}", error.message()));
    if error.is_retryable() { failed.retryable() } else { failed }
}
