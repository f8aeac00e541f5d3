//! Tools of MCP servers.

use serde_json::json;
use superstep::mcp::{Server, linked};
use superstep::tool::{Invocation, Tool, ToolSpec};
use superstep::{ToolError, ToolOutput};
use superstep_assistant::tools::{ServerSettings, Via, joined, tools_of_server};

use super::{call, caller, plain};

struct Named(&'static str, bool);

impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let spec = ToolSpec::new(self.0, "Does something.");
        if self.1 { spec.read_only() } else { spec }
    }

    async fn call(&self, _call: Invocation) -> Result<ToolOutput, ToolError> {
        Ok(json!({"said": self.0}).into())
    }
}

fn settings(toml: &str) -> ServerSettings {
    toml::from_str(toml).unwrap()
}

/// R-PLN-55: tools of a configured server are there beside the others, and one that does not only read asks first.
#[tokio::test]
async fn tools_of_a_server_are_added() {
    let server =
        Server::new("library", "1.0").tools([Named("search", true), Named("now", true), Named("order", false)]);
    let library = settings("name = 'library'\nurl = 'https://library.example.com/mcp'");
    let more = tools_of_server(&library, linked(&server).await.unwrap()).await.unwrap();
    let all = joined(plain(), more.clone()).unwrap();
    let said = call(&all, "library_search", json!({}), &caller(&[], &[])).await.unwrap();
    assert_eq!(said, json!({"said": "search"}));
    let spec = |name: &str| all.iter().find(|tool| tool.spec().name == name).unwrap().spec().clone();
    assert!(spec("library_order").annotations.destructive);
    assert!(!spec("library_search").annotations.destructive && spec("library_search").annotations.read_only);
    assert!(call(&all, "now", json!({}), &caller(&[], &[])).await.unwrap()["utc"].is_string(), "ours stays ours");
    assert!(joined(all, more).unwrap_err().message().contains("library_"));
    let trusted = settings("name = 'library'\nurl = 'https://x'\ntrusted = true");
    let more = tools_of_server(&trusted, linked(&server).await.unwrap()).await.unwrap();
    assert!(more.iter().all(|tool| !tool.spec().annotations.destructive));
}

/// R-PLN-55: with another list of tools than the approved one a server is not used.
#[tokio::test]
async fn only_the_approved_list_is_used() {
    let server = Server::new("library", "1.0").tools([Named("search", true)]);
    let approved = linked(&server).await.unwrap().tools_hash().await.unwrap();
    let pinned = settings(&format!("name = 'library'\ncommand = 'x'\npin = '{approved}'"));
    assert!(matches!(pinned.via, Via::Program { .. }));
    assert_eq!(tools_of_server(&pinned, linked(&server).await.unwrap()).await.unwrap().len(), 1);
    server.add_tool(Named("delete_everything", false)).await.unwrap();
    assert!(tools_of_server(&pinned, linked(&server).await.unwrap()).await.is_err());
}
