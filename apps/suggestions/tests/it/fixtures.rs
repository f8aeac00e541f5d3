//! Fixtures of the agent tests: the question, a scripted MCP server, and helpers for events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use superstep::core::message::{Role, ToolStatus};
use superstep::core::port::{Tool, ToolInvocation};
use superstep::mcp::{McpClient, McpServer, connect_in_process};
use superstep::models::{ChatRequest, ScriptedReply, SharedModel};
use superstep::tools::ToolSpec;
use superstep::{CompiledGraph, Message, RunBuilder, ToolError, ToolOutput};
use superstep_suggestions::sources::Sources;
use superstep_suggestions::{SuggestionsContext, SuggestionsState};

pub(crate) const QUESTION: &str = "How do I roll back a failed AKS deployment?";
/// Id of the sample post with the question.
pub(crate) const POST: &str = "p042";
pub(crate) const SEARCHES: [&str; 4] = ["search_m365", "search_docs", "search_issues", "search_posts"];
pub(crate) const HINT: &str = "generate_action_hint";

/// Creates a context with a new MCP server over these sources.
pub(crate) async fn context_on(sources: &Sources, model: impl Into<SharedModel>) -> SuggestionsContext {
    SuggestionsContext::new(POST).model(model).connect_mcp(sources.clone(), None).await.unwrap()
}

/// Starts a run for the question.
pub(crate) fn invoke_question(
    graph: &CompiledGraph<SuggestionsState, SuggestionsContext>,
    context: SuggestionsContext,
) -> RunBuilder<SuggestionsState, SuggestionsContext> {
    graph.invoke(SuggestionsState::initial_state(QUESTION, &[], None).unwrap()).context(context)
}

/// Creates a reply with search calls.
pub(crate) fn search(calls: &[(&str, &str)]) -> ScriptedReply {
    calls
        .iter()
        .fold(ScriptedReply::text(""), |reply, (tool, query)| reply.and_tool_call(*tool, json!({ "query": query })))
}

/// Returns all search results of a request, with duplicates, in the format of an answer.
pub(crate) fn all_results(request: &ChatRequest) -> Value {
    let mut answer = json!({ "m365": [], "docs": [], "issues": [], "posts": [] });
    for message in request.messages.iter().filter(|message| message.role == Role::Tool) {
        let source = message.name.as_deref().unwrap().trim_start_matches("search_").to_owned();
        if let (Some(list), Ok(items)) =
            (answer[&source].as_array_mut(), serde_json::from_str::<Vec<Value>>(&message.text()))
        {
            list.extend(items);
        }
    }
    answer
}

/// Collects the events of a run as JSON, and its result.
pub(crate) async fn watch<S: superstep::GraphState, C: Send + Sync + 'static>(
    run: RunBuilder<S, C>,
) -> (Vec<Value>, superstep::Result<superstep::Outcome<S>>) {
    let (mut stream, mut events) = (run.stream_events(), Vec::new());
    while let Some(event) = stream.next().await {
        events.push(serde_json::to_value(&event).unwrap());
    }
    (events, stream.finish().await)
}

/// Returns the warnings among the events, in order.
pub(crate) fn warnings_of(events: &[Value]) -> Vec<String> {
    let is_warning = |event: &&Value| event["event"] == "on_custom_event" && event["name"] == "on_warning";
    events.iter().filter(is_warning).map(|event| event["data"]["message"].as_str().unwrap().to_owned()).collect()
}

/// Returns the tool messages as name, success and text.
pub(crate) fn tool_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<(String, bool, String)> {
    let tools = messages.into_iter().filter(|message| message.role == Role::Tool);
    tools
        .map(|tool| (tool.name.clone().unwrap(), tool.status == ToolStatus::Success, tool.text().into_owned()))
        .collect()
}

/// Behaviour of a tool of a [`Fake`].
#[derive(Clone)]
pub(crate) enum Behaviour {
    Replies(String),
    Fails(String),
    Hangs,
}

/// A scripted MCP server that records its calls. By default, searches return empty lists.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    behaviours: BTreeMap<String, Behaviour>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Fake {
    pub(crate) fn replies(self, tool: &str, value: &Value) -> Self {
        self.behaves(tool, Behaviour::Replies(value.to_string()))
    }

    pub(crate) fn behaves(mut self, tool: &str, behaviour: Behaviour) -> Self {
        self.behaviours.insert(tool.to_owned(), behaviour);
        self
    }

    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().unwrap().clone()
    }

    pub(crate) fn server(&self) -> McpServer {
        let tools = SEARCHES.into_iter().chain([HINT]).map(|name| FakeTool { name, fake: self.clone() });
        McpServer::new("fake", "1").tools(tools)
    }

    pub(crate) async fn client(&self) -> McpClient {
        connect_in_process(&self.server()).await.unwrap()
    }

    /// Creates a context with this server.
    pub(crate) async fn with(&self, model: impl Into<SharedModel>) -> SuggestionsContext {
        SuggestionsContext::new(POST).model(model).mcp_client(self.client().await)
    }
}

struct FakeTool {
    name: &'static str,
    fake: Fake,
}

impl Tool for FakeTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name, "Scripted.").with_input_schema(json!({ "type": "object" })).read_only()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        self.fake.calls.lock().unwrap().push((self.name.to_owned(), Value::Object(call.args)));
        match self.fake.behaviours.get(self.name) {
            Some(Behaviour::Replies(text)) => Ok(text.as_str().into()),
            Some(Behaviour::Fails(text)) => Err(ToolError::new(text.as_str())),
            Some(Behaviour::Hangs) => std::future::pending().await,
            None if self.name == HINT => Ok("".into()),
            None => Ok("[]".into()),
        }
    }
}

/// Returns a suggestion as a search tool returns it.
pub(crate) fn hit(kind: &str, title: &str, url: &str, description: &str) -> Value {
    json!({ "title": title, "url": url, "description": description, "sourceType": kind, "status": "available" })
}

/// Returns a post as the search tool returns it.
pub(crate) fn post_json(id: &str, text: &str) -> Value {
    json!({
        "id": id, "authorId": "u1", "authorName": "Ada", "text": text, "tags": [], "mode": "question",
        "createdAt": "2026-03-01T09:30:00Z", "expiresAt": "2026-03-08T09:30:00Z", "interestedCount": 0, "joinCount": 0,
    })
}

/// Starts a Microsoft Graph server with one fixed response for file searches and another for mail searches.
pub(crate) async fn microsoft_graph(files: (StatusCode, Value), mail: (StatusCode, Value)) -> String {
    let answer = move |Json(body): Json<Value>| {
        let is_mail = body["requests"][0]["entityTypes"] == json!(["message"]);
        let (status, answer) = if is_mail { mail.clone() } else { files.clone() };
        async move { (status, Json(answer)) }
    };
    let app = Router::new().route("/v1.0/search/query", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}
