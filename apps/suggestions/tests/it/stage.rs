//! What the tests of the agent share: the question, a server that does as it is told, and a look at events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use superstep::core::message::{Role, ToolStatus};
use superstep::core::port::{Invocation, Tool};
use superstep::mcp::{Client, Server, linked};
use superstep::model::{Reply, Request, SharedModel};
use superstep::tool::ToolSpec;
use superstep::{Compiled, Message, Run, ToolError, ToolOutput};
use superstep_suggestions::sources::Sources;
use superstep_suggestions::{Context, Suggestions};

pub(crate) const QUESTION: &str = "How do I roll back a failed AKS deployment?";
/// The post of the sample that asks it.
pub(crate) const POST: &str = "p042";
pub(crate) const SEARCHES: [&str; 4] = ["search_m365", "search_docs", "search_issues", "search_posts"];
pub(crate) const HINT: &str = "generate_action_hint";

/// A context with a server of its own over these sources.
pub(crate) async fn on(sources: &Sources, model: impl Into<SharedModel>) -> Context {
    Context::new(POST).model(model).connected(sources.clone(), None).await.unwrap()
}

/// A run for the question.
pub(crate) fn asked(graph: &Compiled<Suggestions, Context>, context: Context) -> Run<Suggestions, Context> {
    graph.run(Suggestions::open(QUESTION, &[], None).unwrap()).context(context)
}

/// A reply that searches.
pub(crate) fn search(calls: &[(&str, &str)]) -> Reply {
    calls.iter().fold(Reply::text(""), |reply, (tool, query)| reply.and_call(*tool, json!({ "query": query })))
}

/// Everything that searches have returned, each as often as it was returned, as an answer.
pub(crate) fn everything(request: &Request) -> Value {
    let mut answer = json!({ "m365": [], "docs": [], "issues": [], "posts": [] });
    for message in request.messages.iter().filter(|message| message.role == Role::Tool) {
        let source = message.name.as_deref().unwrap().trim_start_matches("search_").to_owned();
        if let (Some(list), Ok(found)) =
            (answer[&source].as_array_mut(), serde_json::from_str::<Vec<Value>>(&message.text()))
        {
            list.extend(found);
        }
    }
    answer
}

/// The events of a run as JSON, and its end.
pub(crate) async fn watch<S: superstep::State, C: Send + Sync + 'static>(
    run: Run<S, C>,
) -> (Vec<Value>, superstep::Result<superstep::Outcome<S>>) {
    let (mut stream, mut told) = (run.stream_events(), Vec::new());
    while let Some(event) = stream.next().await {
        told.push(serde_json::to_value(&event).unwrap());
    }
    (told, stream.finish().await)
}

/// What was warned of, in the order of the events.
pub(crate) fn warned(told: &[Value]) -> Vec<String> {
    let is_warning = |event: &&Value| event["event"] == "on_custom_event" && event["name"] == "on_warning";
    told.iter().filter(is_warning).map(|event| event["data"]["message"].as_str().unwrap().to_owned()).collect()
}

/// The tool messages of a state as tool, status, text.
pub(crate) fn tool_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<(String, bool, String)> {
    let tools = messages.into_iter().filter(|message| message.role == Role::Tool);
    tools
        .map(|tool| (tool.name.clone().unwrap(), tool.status == ToolStatus::Success, tool.text().into_owned()))
        .collect()
}

/// What a tool of a [`Fake`] does.
#[derive(Clone)]
pub(crate) enum Does {
    Says(String),
    Fails(String),
    Hangs,
}

/// An MCP server that does as it is told, and keeps what it was asked. Searches find nothing unless told.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    does: BTreeMap<String, Does>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Fake {
    pub(crate) fn says(self, tool: &str, what: &Value) -> Self {
        self.does(tool, Does::Says(what.to_string()))
    }

    pub(crate) fn does(mut self, tool: &str, does: Does) -> Self {
        self.does.insert(tool.to_owned(), does);
        self
    }

    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn server(&self) -> Server {
        let tools = SEARCHES.into_iter().chain([HINT]).map(|name| FakeTool { name, fake: self.clone() });
        Server::new("fake", "1").tools(tools)
    }

    pub(crate) async fn client(&self) -> Client {
        linked(&self.server()).await.unwrap()
    }

    /// A context with this server.
    pub(crate) async fn with(&self, model: impl Into<SharedModel>) -> Context {
        Context::new(POST).model(model).mcp_client(self.client().await)
    }
}

struct FakeTool {
    name: &'static str,
    fake: Fake,
}

impl Tool for FakeTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name, "As told.").with_input(json!({ "type": "object" })).read_only()
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        self.fake.asked.lock().unwrap().push((self.name.to_owned(), Value::Object(call.args)));
        match self.fake.does.get(self.name) {
            Some(Does::Says(text)) => Ok(text.as_str().into()),
            Some(Does::Fails(text)) => Err(ToolError::new(text.as_str())),
            Some(Does::Hangs) => std::future::pending().await,
            None if self.name == HINT => Ok("".into()),
            None => Ok("[]".into()),
        }
    }
}

/// A suggestion as a search returns it.
pub(crate) fn hit(kind: &str, title: &str, url: &str, description: &str) -> Value {
    json!({ "title": title, "url": url, "description": description, "sourceType": kind, "status": "available" })
}

/// A post as a search returns it.
pub(crate) fn a_post(id: &str, text: &str) -> Value {
    json!({
        "id": id, "authorId": "u1", "authorName": "Ada", "text": text, "tags": [], "mode": "question",
        "createdAt": "2026-03-01T09:30:00Z", "expiresAt": "2026-03-08T09:30:00Z", "interestedCount": 0, "joinCount": 0,
    })
}

/// A Microsoft Graph that answers searches for files with one status and body, and those for mail with another.
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
