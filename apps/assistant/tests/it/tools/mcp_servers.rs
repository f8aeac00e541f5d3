//! Tools of MCP servers.

use serde_json::json;
use superstep::mcp::{McpServer, connect_in_process};
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::tools::{Tool, ToolAnnotations, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};
use superstep_assistant::AssistantContext;
use superstep_assistant::policy::Policy;
use superstep_assistant::tools::{
    McpServerSettings, McpTransport, connect_servers, tools_of_server, with_external_tools,
};

use super::{call, caller, plain};
use crate::support::{TestHarness, last, plan, profiles};

struct Named(&'static str, bool);

impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let spec = ToolSpec::new(self.0, "Does something.");
        if self.1 { spec.read_only() } else { spec }
    }

    async fn call(&self, _call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        Ok(json!({"said": self.0}).into())
    }
}

/// A tool with these annotations.
struct Hinted(ToolAnnotations);

impl Tool for Hinted {
    fn spec(&self) -> ToolSpec {
        let mut spec = ToolSpec::new("tool", "Does something.");
        spec.annotations = self.0;
        spec
    }

    async fn call(&self, _call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        Ok(json!({}).into())
    }
}

/// Returns the HTTP server `library`.
fn library(url: &str, trusted: bool) -> McpServerSettings {
    let transport = McpTransport::Http { url: url.to_owned(), allow: vec!["127.0.0.1".to_owned()] };
    McpServerSettings { name: "library".to_owned(), transport, tool_list_hash: None, trusted }
}

/// R-PLN-55: tools of a configured server are added to the others, with the server's name as prefix.
#[tokio::test]
async fn tools_of_a_server_are_added() {
    let server = McpServer::new("library", "1.0").tools([Named("search", true), Named("now", true)]);
    let library = library("https://library.example.com/mcp", false);
    let more = tools_of_server(&library, connect_in_process(&server).await.unwrap()).await.unwrap();
    let all = with_external_tools(plain(), more.clone()).unwrap();
    let output = call(&all, "library_search", json!({}), &caller(&[], &[])).await.unwrap();
    assert_eq!(output, json!({"said": "search"}));
    assert!(call(&all, "now", json!({}), &caller(&[], &[])).await.unwrap()["utc"].is_string(), "ours stays ours");
    assert!(with_external_tools(all, more).unwrap_err().message().contains("library_"));
}

/// R-PLN-55, R-PLN-32: the annotations of a server never reduce protection, unless the configuration trusts the
/// server.
#[tokio::test]
async fn annotations_of_untrusted_servers_do_not_reduce_protection() {
    for hints in 0..8_u8 {
        let annotations =
            ToolAnnotations { read_only: hints & 1 > 0, idempotent: hints & 2 > 0, destructive: hints & 4 > 0 };
        let server = McpServer::new("library", "1.0").tools([Hinted(annotations)]);
        for trusted in [false, true] {
            let tools = tools_of_server(&library("https://x", trusted), connect_in_process(&server).await.unwrap())
                .await
                .unwrap();
            let effective = tools[0].spec().annotations;
            let cautious = ToolAnnotations { destructive: true, ..ToolAnnotations::default() };
            match trusted {
                false => assert_eq!(effective, cautious, "{annotations:?}"),
                true => assert_eq!(
                    (effective.read_only, effective.idempotent),
                    (annotations.read_only, annotations.idempotent),
                    "{annotations:?}"
                ),
            }
            assert!(
                effective.destructive || trusted && (!annotations.destructive || annotations.read_only),
                "{annotations:?}"
            );
        }
    }
}

/// R-PLN-55, R-PLN-32: a configured server over HTTP is used in a turn: its tool is planned, needs approval
/// although the server declares it read-only, and then runs. The policy may require approval for tools of a trusted
/// server as well.
#[tokio::test]
async fn a_configured_server_is_used_in_a_turn() {
    let server = McpServer::new("library", "1.0").tools([Named("search", true)]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().nest_service("/mcp", server.http_service().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let rules = include_str!("../../../sample/policy.toml").replace("tools = [\"bq_query\"", "tools = [\"library_*\"");
    let strict = rules.replace("destructive = [", "destructive = [\"library_search\", ");
    for (rules, trusted, asks_first) in [(&rules, false, true), (&rules, true, false), (&strict, true, true)] {
        let library = library(&format!("http://{address}/mcp"), trusted);
        let tools = connect_servers(&[library], |_| None).await.unwrap();
        let script =
            ScriptedModel::new([plan(&[("c1", "library_search", json!({}), &[])]), ScriptedReply::text("Found [1].")]);
        let context = AssistantContext::new(script, tools, Policy::parse(rules).unwrap(), profiles());
        let harness = TestHarness::new();
        let mut outcome = harness.send(&context, "Find it").await.unwrap();
        assert_eq!(outcome.interrupts().len(), usize::from(asks_first), "{trusted}");
        if asks_first {
            outcome = harness.answer(&context, json!({ "decision": "allow_once" })).await.unwrap();
        }
        assert_eq!(outcome.state.tool_outputs[0].text(), r#"{"said":"search"}"#);
        assert_eq!(last(&outcome.state), "Found [1].");
    }
    serving.abort();
}

/// R-PLN-55: a server whose tool list differs from the approved one is rejected.
#[tokio::test]
async fn a_changed_tool_list_is_rejected() {
    let server = McpServer::new("library", "1.0").tools([Named("search", true)]);
    let approved = connect_in_process(&server).await.unwrap().tools_hash().await.unwrap();
    let pinned = McpServerSettings { tool_list_hash: Some(approved), ..library("https://x", false) };
    assert_eq!(tools_of_server(&pinned, connect_in_process(&server).await.unwrap()).await.unwrap().len(), 1);
    server.add_tool(Named("delete_everything", false)).await.unwrap();
    assert!(tools_of_server(&pinned, connect_in_process(&server).await.unwrap()).await.is_err());
}
