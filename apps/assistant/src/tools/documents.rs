//! `search_docs`: searches the organisation's documents and returns passages.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};
use superstep_documents::{Documents, Passage};

use super::arguments::{number, required};
use super::error::unavailable;

/// Default and maximum number of passages.
const PASSAGES: (usize, usize) = (5, 20);

/// The `search_docs` tool.
pub(super) struct SearchDocs(pub(super) Arc<Documents>);

impl Tool for SearchDocs {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
            "query": {"type": "string", "description": "Search terms, a few words."},
            "limit": {"type": "integer", "minimum": 1, "maximum": PASSAGES.1, "description": "Maximum number of passages."},
        }});
        let about = "Searches the organisation's documents. Returns the best matching passages, with their sources.";
        let spec = ToolSpec::new("search_docs", about).with_input_schema(schema).read_only();
        spec.timeout(super::CALL_TIMEOUT).retries(super::MAX_RETRIES)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let query = required(&call, "query")?.to_owned();
        let limit = number(&call, "limit")?.unwrap_or(PASSAGES.0).min(PASSAGES.1);
        let documents = self.0.clone();
        // Changed files are read again during the search.
        let passages = tokio::task::spawn_blocking(move || documents.passages(&query, limit)).await;
        let passages = passages.map_err(|_| unavailable("the documents could not be searched"))?;
        let passage = |passage: &Passage| json!({"text": passage.text, "source": passage.source, "title": passage.title, "heading": passage.heading});
        Ok(json!({"passages": passages.iter().map(passage).collect::<Vec<Value>>()}).into())
    }
}
