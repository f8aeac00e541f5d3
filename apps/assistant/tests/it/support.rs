//! Shared test support: a run context with a scripted model and scripted tools.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use superstep::core::port::{BoxFuture, SharedCheckpointer};
use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, ScriptedModel, ScriptedReply, SharedModel,
};
use superstep::store::{MemoryStore, SharedStore};
use superstep::tools::{SharedTool, Tool, ToolInvocation, ToolSpec};
use superstep::{CompiledGraph, HistoryQuery, MemoryCheckpointer, Outcome, Result, ToolError, ToolOutput};
use superstep_assistant::policy::Policy;
use superstep_assistant::profile::Profiles;
use superstep_assistant::prompt::{ModelTask, TaskPrompt};
use superstep_assistant::{AgentState, AssistantContext, state_graph};

/// A language model that follows a script. (A script itself counts as a rule model.)
#[derive(Clone)]
pub(crate) struct Provider(pub(crate) ScriptedModel);

impl Model for Provider {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "provider", ModelKind::Remote)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut answer = SharedModel::from(self.0.clone()).generate(request, out).await?;
        answer.model = self.info();
        Ok(answer)
    }
}

/// Returns the inputs for one task that a script received.
pub(crate) fn prompts_for(script: &ScriptedModel, task: ModelTask) -> Vec<TaskPrompt> {
    script.requests().iter().filter_map(TaskPrompt::from_request).filter(|prompt| prompt.task == task).collect()
}

type ToolFn = dyn Fn(Map<String, Value>) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool with scripted behaviour that records its calls.
#[derive(Clone)]
pub(crate) struct Fake {
    spec: ToolSpec,
    behavior: Arc<ToolFn>,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    /// Creates a tool that accepts any arguments and returns the result of `behavior`.
    pub(crate) fn new(
        name: &str,
        behavior: impl Fn(&Map<String, Value>) -> Result<Value, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self::with_future(name, move |args| {
            let result = behavior(&args);
            Box::pin(async move { result })
        })
    }

    /// Creates a tool with asynchronous behaviour.
    pub(crate) fn with_future(
        name: &str,
        behavior: impl Fn(Map<String, Value>) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync + 'static,
    ) -> Self {
        let spec =
            ToolSpec::new(name, format!("Does {name}.")).with_input_schema(json!({ "type": "object" })).read_only();
        Self { spec, behavior: Arc::new(behavior), calls: Arc::default() }
    }

    /// Creates a tool that always returns this value.
    pub(crate) fn returning(name: &str, value: Value) -> Self {
        Self::new(name, move |_| Ok(value.clone()))
    }

    pub(crate) fn spec(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// Returns the arguments of all calls.
    pub(crate) fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap().clone()
    }
}

impl Tool for Fake {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        self.calls.lock().unwrap().push(Value::Object(call.args.clone()));
        Ok((self.behavior)(call.args).await?.into())
    }
}

pub(crate) fn policy() -> Policy {
    Policy::parse(include_str!("../../sample/policy.toml")).unwrap()
}

pub(crate) fn profiles() -> Profiles {
    Profiles::parse(include_str!("../../sample/profiles.json")).unwrap()
}

pub(crate) fn test_context(model: impl Into<SharedModel>, tools: impl IntoIterator<Item = Fake>) -> AssistantContext {
    let tools: Vec<SharedTool> = tools.into_iter().map(Into::into).collect();
    AssistantContext::new(model, tools, policy(), profiles())
}

/// Returns a plan as a model response: id, tool, arguments, dependencies.
pub(crate) fn plan(calls: &[(&str, &str, Value, &[&str])]) -> ScriptedReply {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, tool, args, after)| json!({ "id": id, "tool": tool, "args": args, "depends_on": after }))
        .collect();
    ScriptedReply::text(json!({ "next_step": "tool_use", "tool_calls": calls, "why": "a test" }).to_string())
}

/// Returns a plan without tools.
pub(crate) fn no_tools() -> ScriptedReply {
    ScriptedReply::text(r#"{"next_step":"generate","tool_calls":[],"why":"nothing to look up"}"#)
}

/// The graph, with everything in memory.
pub(crate) struct TestHarness {
    pub(crate) graph: CompiledGraph<AgentState, AssistantContext>,
    pub(crate) store: MemoryStore,
}

impl TestHarness {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::new();
        Self { graph: assistant(MemoryCheckpointer::new(), store.clone()), store }
    }

    /// Runs a message of `ana` on thread `t`.
    pub(crate) async fn send(&self, context: &AssistantContext, text: &str) -> Result<Outcome<AgentState>> {
        self.graph.invoke(AgentState::turn_input(context, "ana", text)?).thread("t").context(context.clone()).await
    }

    pub(crate) async fn answer(&self, context: &AssistantContext, answer: Value) -> Result<Outcome<AgentState>> {
        self.graph.resume("t", answer).context(context.clone()).await
    }

    /// Returns the next tasks after each checkpoint, oldest first; after the last there are none.
    pub(crate) async fn next_tasks(&self) -> Vec<String> {
        let mut history = self.graph.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap();
        history.reverse();
        history.iter().map(|checkpoint| checkpoint.next.join("+")).collect()
    }

    /// Runs a message and returns the events as JSON with the outcome.
    pub(crate) async fn watch(
        &self,
        context: &AssistantContext,
        text: &str,
    ) -> (Vec<Value>, Result<Outcome<AgentState>>) {
        let run = self
            .graph
            .invoke(AgentState::turn_input(context, "ana", text).unwrap())
            .thread("t")
            .context(context.clone());
        let mut stream = run.stream_events();
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(serde_json::to_value(&event).unwrap());
        }
        (events, stream.finish().await)
    }
}

pub(crate) fn assistant(
    checkpointer: impl Into<SharedCheckpointer>,
    store: impl Into<SharedStore>,
) -> CompiledGraph<AgentState, AssistantContext> {
    let mut graph = state_graph();
    graph.checkpointer(checkpointer).store(store);
    graph.compile().unwrap()
}

/// Returns the events of a kind, with the node that emitted them.
pub(crate) fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<(&'a str, &'a Value)> {
    let matching = events.iter().filter(|event| event["event"] == kind);
    matching.map(|event| (event["metadata"]["node"].as_str().unwrap_or_default(), &event["data"])).collect()
}

/// Returns the text of the last message.
pub(crate) fn last(state: &AgentState) -> String {
    state.messages.last().unwrap().text().into_owned()
}

/// Builds a result of `bq_query`.
pub(crate) fn rows(columns: &[&str], rows: Value) -> Value {
    let count = rows.as_array().map_or(0, Vec::len);
    json!({ "columns": columns, "rows": rows, "count": count, "truncated": false, "sql": "select" })
}

/// Builds a result of `search_docs`.
pub(crate) fn passage(text: &str) -> Value {
    json!({ "passages": [{ "text": text, "source": "orders-and-shipping.md#late-orders", "title": "Orders" }] })
}
