//! Tools of an MCP server as tools of this library: their specification, their results, and the hash of a list.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use superstep_core::canonical::sort_keys;
use superstep_core::error::Result;
use superstep_core::port::{SharedTool, Tool, ToolInvocation};
use superstep_core::tool::{ToolAnnotations, ToolError, ToolOutput, ToolSpec};

use super::client::McpClient;
use super::{content, error};

/// Maximum length of a tool name that all model providers accept.
const MAX_TOOL_NAME: usize = 64;

/// A tool of a server.
struct RemoteTool {
    client: McpClient,
    /// Name of the tool on the server.
    name: String,
    spec: ToolSpec,
}

impl Tool for RemoteTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        self.client.verify().await?;
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(call.args);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let connection = self.client.connection();
        let response = connection.request(request, &call.progress).await?;
        let output = output(connection.server(), response);
        Ok(output.ok_or_else(|| error::invalid_response_error(connection.server(), "tools/call"))?)
    }
}

/// Converts the result of a call; `None` if the response has another form.
fn output(server: &str, response: ServerResult) -> Option<ToolOutput> {
    let mut response = match response {
        ServerResult::CustomResult(_) | ServerResult::CallToolResult(_) => serde_json::to_value(response).ok()?,
        _ => return None,
    };
    let blocks = match response.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        None if response.get("structuredContent").is_some() => Vec::new(),
        _ => return None,
    };
    let structured = response.get_mut("structuredContent").map(Value::take).filter(|value| !value.is_null());
    let mut output = match &structured {
        // Models see only text, so structured content without text is serialized.
        Some(structured) if blocks.is_empty() => ToolOutput::new(structured.to_string()),
        _ => ToolOutput::new(content::read(blocks)),
    };
    output.is_error = response["isError"] == true;
    output.artifact = structured;
    output.metadata.insert("mcp_server".to_owned(), json!(server));
    if let Some(meta) = response.get_mut("_meta").map(Value::take).filter(|meta| !meta.is_null()) {
        output.metadata.insert("mcp_meta".to_owned(), meta);
    }
    Some(output)
}

/// Converts a list of tools; each gets a name that model providers accept.
///
/// # Errors
/// Returns an error if two tools would have the same name.
pub(super) fn shared(client: &McpClient, listed: Vec<rmcp::model::Tool>) -> Result<Vec<SharedTool>> {
    let mut names = BTreeMap::new();
    let mut tools = Vec::with_capacity(listed.len());
    for tool in listed {
        let spec = spec(&tool);
        if let Some(other) = names.insert(spec.name.clone(), tool.name.clone()) {
            let server = client.connection().server();
            let reason =
                format!("has the tools `{other}` and `{}`, which both map to the name `{}`", tool.name, spec.name);
            return Err(error::server_error(server, reason));
        }
        tools.push(SharedTool::from(RemoteTool { client: client.clone(), name: tool.name.into_owned(), spec }));
    }
    Ok(tools)
}

fn spec(tool: &rmcp::model::Tool) -> ToolSpec {
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let schema = Value::Object(Map::clone(&tool.input_schema));
    let mut spec = ToolSpec::new(name(&tool.name), description).with_input_schema(schema);
    spec.output_schema = tool.output_schema.as_ref().map(|schema| Arc::new(Value::Object(Map::clone(schema))));
    let hints = tool.annotations.as_ref();
    let read_only = hints.is_some_and(|hints| hints.read_only_hint == Some(true));
    // As the protocol defines it: a tool without hints may be destructive, so it needs an approval.
    let destructive = !read_only && hints.is_none_or(|hints| hints.destructive_hint != Some(false));
    let idempotent = hints.is_some_and(|hints| hints.idempotent_hint == Some(true));
    spec.annotations = ToolAnnotations { read_only, idempotent, destructive };
    spec
}

/// Converts a name: MCP allows more characters in tool names than model providers do.
fn name(name: &str) -> String {
    let is_accepted = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().take(MAX_TOOL_NAME).map(|letter| if is_accepted(letter) { letter } else { '_' }).collect()
}

/// Returns the hash of a list of tools, which does not depend on their order.
pub(super) fn tools_hash(listed: &[rmcp::model::Tool]) -> String {
    let mut tools: Vec<(&str, String)> = listed
        .iter()
        .map(|tool| {
            let definition = json!({
                "name": tool.name, "title": tool.title, "description": tool.description, "annotations": tool.annotations,
                "input": *tool.input_schema, "output": tool.output_schema.as_deref(),
            });
            (tool.name.as_ref(), sort_keys(definition).to_string())
        })
        .collect();
    tools.sort();
    let mut hasher = Sha256::new();
    for (_, text) in tools {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(value: Value) -> rmcp::model::Tool {
        serde_json::from_value(value).unwrap()
    }

    /// R-FWK-82, R-FWK-86: hints of a server become annotations; a tool without hints may be destructive.
    #[test]
    fn hints_become_annotations() {
        let annotations = |hints: Value| {
            spec(&tool(json!({"name": "a", "inputSchema": {"type": "object"}, "annotations": hints}))).annotations
        };
        assert_eq!(annotations(json!({})), ToolAnnotations { destructive: true, ..ToolAnnotations::default() });
        assert_eq!(annotations(json!({"destructiveHint": false})), ToolAnnotations::default());
        assert!(spec(&tool(json!({"name": "a", "inputSchema": {"type": "object"}}))).annotations.destructive);
        let all = annotations(json!({"idempotentHint": true, "destructiveHint": true}));
        assert!(!all.read_only && all.idempotent && all.destructive);
        let read = annotations(json!({"readOnlyHint": true, "destructiveHint": true}));
        assert!(read.read_only && !read.destructive);
    }

    /// R-FWK-82: every tool gets a name that model providers accept.
    #[test]
    fn tool_names_are_made_valid() {
        assert_eq!(name("files/read.text v2"), "files_read_text_v2");
        assert_eq!(name(&"x".repeat(100)).len(), MAX_TOOL_NAME);
    }

    /// R-FWK-82: the hash depends on the content of every tool and not on their order.
    #[test]
    fn the_hash_of_a_list_depends_on_its_tools_only() {
        let one = || tool(json!({"name": "a", "description": "x", "inputSchema": {"b": 1, "a": 2}}));
        let two = || tool(json!({"name": "b", "inputSchema": {}}));
        assert_eq!(tools_hash(&[one(), two()]), tools_hash(&[two(), one()]));
        assert_eq!(tools_hash(&[]).len(), 64);
        let other = tool(json!({"name": "a", "description": "y", "inputSchema": {"b": 1, "a": 2}}));
        assert_ne!(tools_hash(&[one(), two()]), tools_hash(&[other, two()]));
        assert_ne!(tools_hash(&[one()]), tools_hash(&[one(), two()]));
    }
}
