//! A tool of a server as a tool of ours: what is told of it, what it gives, and the mark of a whole list.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use superstep_core::canonical::sorted;
use superstep_core::error::Result;
use superstep_core::port::{Invocation, SharedTool, Tool};
use superstep_core::tool::{Annotations, ToolError, ToolOutput, ToolSpec};

use super::client::Client;
use super::{content, trouble};

/// The longest name a model may call a tool by.
const NAME: usize = 64;

/// A tool at the other end.
struct RemoteTool {
    client: Client,
    /// What the server calls it.
    name: String,
    spec: ToolSpec,
}

impl Tool for RemoteTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        self.client.verify().await?;
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(call.args);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let connection = self.client.connection();
        let answer = connection.ask(request, &call.progress).await?;
        let output = output(connection.server(), answer);
        Ok(output.ok_or_else(|| trouble::nonsense(connection.server(), "tools/call"))?)
    }
}

/// What a call gives; `None` for something that is no answer to a call.
fn output(server: &str, answer: ServerResult) -> Option<ToolOutput> {
    let mut answer = match answer {
        ServerResult::CustomResult(_) | ServerResult::CallToolResult(_) => serde_json::to_value(answer).ok()?,
        _ => return None,
    };
    let blocks = match answer.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        None if answer.get("structuredContent").is_some() => Vec::new(),
        _ => return None,
    };
    let structured = answer.get_mut("structuredContent").map(Value::take).filter(|value| !value.is_null());
    let mut output = match &structured {
        // A model that cannot see the structure sees its text.
        Some(structured) if blocks.is_empty() => ToolOutput::new(structured.to_string()),
        _ => ToolOutput::new(content::read(blocks)),
    };
    output.is_error = answer["isError"] == true;
    output.artifact = structured;
    output.metadata.insert("mcp_server".to_owned(), json!(server));
    if let Some(meta) = answer.get_mut("_meta").map(Value::take).filter(|meta| !meta.is_null()) {
        output.metadata.insert("mcp_meta".to_owned(), meta);
    }
    Some(output)
}

/// The tools of a list, each under a name that a model may call it by.
///
/// # Errors
/// When two would have the same name.
pub(super) fn shared(client: &Client, listed: Vec<rmcp::model::Tool>) -> Result<Vec<SharedTool>> {
    let mut names = BTreeMap::new();
    let mut tools = Vec::with_capacity(listed.len());
    for tool in listed {
        let spec = spec(&tool);
        if let Some(other) = names.insert(spec.name.clone(), tool.name.clone()) {
            let server = client.connection().server();
            let what = format!("has the tools `{other}` and `{}`, and both would be called `{}`", tool.name, spec.name);
            return Err(trouble::failed(server, what));
        }
        tools.push(SharedTool::from(RemoteTool { client: client.clone(), name: tool.name.into_owned(), spec }));
    }
    Ok(tools)
}

fn spec(tool: &rmcp::model::Tool) -> ToolSpec {
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let schema = Value::Object(Map::clone(&tool.input_schema));
    let mut spec = ToolSpec::new(name(&tool.name), description).with_input(schema);
    spec.output_schema = tool.output_schema.as_ref().map(|schema| Arc::new(Value::Object(Map::clone(schema))));
    let hints = tool.annotations.as_ref();
    let read_only = hints.is_some_and(|hints| hints.read_only_hint == Some(true));
    // As the protocol has it: what says nothing of itself may destroy something, so a person is asked first.
    let destructive = !read_only && hints.is_none_or(|hints| hints.destructive_hint != Some(false));
    let idempotent = hints.is_some_and(|hints| hints.idempotent_hint == Some(true));
    spec.annotations = Annotations { read_only, idempotent, destructive };
    spec
}

/// MCP allows more letters in a name than models do.
fn name(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().take(NAME).map(|letter| if fits(letter) { letter } else { '_' }).collect()
}

/// The mark of a list of tools: the same for the same tools, in whatever order they are listed.
pub(super) fn mark(listed: &[rmcp::model::Tool]) -> String {
    let mut tools: Vec<(&str, String)> = listed
        .iter()
        .map(|tool| {
            let known = json!({
                "name": tool.name, "title": tool.title, "description": tool.description, "annotations": tool.annotations,
                "input": *tool.input_schema, "output": tool.output_schema.as_deref(),
            });
            (tool.name.as_ref(), sorted(known).to_string())
        })
        .collect();
    tools.sort();
    let mut hasher = Sha256::new();
    for (_, text) in tools {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().fold(String::new(), |mut mark, byte| {
        let _ = write!(mark, "{byte:02x}");
        mark
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(value: Value) -> rmcp::model::Tool {
        serde_json::from_value(value).unwrap()
    }

    /// R-FWK-82, R-FWK-86: what a server says of a tool is known; one that says nothing of itself may destroy something.
    #[test]
    fn hints_become_annotations() {
        let annotations = |hints: Value| {
            spec(&tool(json!({"name": "a", "inputSchema": {"type": "object"}, "annotations": hints}))).annotations
        };
        assert_eq!(annotations(json!({})), Annotations { destructive: true, ..Annotations::default() });
        assert_eq!(annotations(json!({"destructiveHint": false})), Annotations::default());
        assert!(spec(&tool(json!({"name": "a", "inputSchema": {"type": "object"}}))).annotations.destructive);
        let all = annotations(json!({"idempotentHint": true, "destructiveHint": true}));
        assert!(!all.read_only && all.idempotent && all.destructive);
        let read = annotations(json!({"readOnlyHint": true, "destructiveHint": true}));
        assert!(read.read_only && !read.destructive);
    }

    /// R-FWK-82: a model can call every tool, whatever its server calls it.
    #[test]
    fn names_are_made_to_fit() {
        assert_eq!(name("files/read.text v2"), "files_read_text_v2");
        assert_eq!(name(&"x".repeat(100)).len(), NAME);
    }

    /// R-FWK-82: the mark depends on every word of every tool, and on no order.
    #[test]
    fn the_mark_of_a_list_changes_with_its_tools_only() {
        let one = || tool(json!({"name": "a", "description": "x", "inputSchema": {"b": 1, "a": 2}}));
        let two = || tool(json!({"name": "b", "inputSchema": {}}));
        assert_eq!(mark(&[one(), two()]), mark(&[two(), one()]));
        assert_eq!(mark(&[]).len(), 64);
        let other = tool(json!({"name": "a", "description": "y", "inputSchema": {"b": 1, "a": 2}}));
        assert_ne!(mark(&[one(), two()]), mark(&[other, two()]));
        assert_ne!(mark(&[one()]), mark(&[one(), two()]));
    }
}
