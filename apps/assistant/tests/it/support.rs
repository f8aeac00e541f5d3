//! What the tests share: a desk with a script in place of a model and tools that say what they are told to.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use superstep::core::port::{BoxFuture, SharedCheckpointer};
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Reply, Request, Scripted, SharedModel};
use superstep::store::{MemoryStore, SharedStore};
use superstep::tool::{Invocation, SharedTool, Tool, ToolSpec};
use superstep::{Compiled, HistoryQuery, Memory, Outcome, Result, ToolError, ToolOutput};
use superstep_assistant::policy::Policy;
use superstep_assistant::profile::Profiles;
use superstep_assistant::prompt::{Ask, Task};
use superstep_assistant::{Assistant, Desk, draw};

/// A language model that follows a script. (A script by itself counts as rules.)
#[derive(Clone)]
pub(crate) struct Provider(pub(crate) Scripted);

impl Model for Provider {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "provider", ModelKind::Remote)
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut answer = SharedModel::from(self.0.clone()).answer(request, out).await?;
        answer.model = self.info();
        Ok(answer)
    }
}

/// The asks of one task that a script heard.
pub(crate) fn asks(script: &Scripted, task: Task) -> Vec<Ask> {
    script.requests().iter().filter_map(Ask::read).filter(|ask| ask.task == task).collect()
}

type Work = dyn Fn(Map<String, Value>) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool that does what it is told to, and counts.
#[derive(Clone)]
pub(crate) struct Fake {
    spec: ToolSpec,
    work: Arc<Work>,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    /// Takes anything, and gives what `work` makes of it.
    pub(crate) fn new(
        name: &str,
        work: impl Fn(&Map<String, Value>) -> Result<Value, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self::later(name, move |args| {
            let done = work(&args);
            Box::pin(async move { done })
        })
    }

    /// The same for work that takes its time.
    pub(crate) fn later(
        name: &str,
        work: impl Fn(Map<String, Value>) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync + 'static,
    ) -> Self {
        let spec = ToolSpec::new(name, format!("Does {name}.")).with_input(json!({ "type": "object" })).read_only();
        Self { spec, work: Arc::new(work), calls: Arc::default() }
    }

    /// Gives this, whatever it is asked.
    pub(crate) fn giving(name: &str, value: Value) -> Self {
        Self::new(name, move |_| Ok(value.clone()))
    }

    pub(crate) fn spec(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// What it was called with.
    pub(crate) fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap().clone()
    }
}

impl Tool for Fake {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        self.calls.lock().unwrap().push(Value::Object(call.args.clone()));
        Ok((self.work)(call.args).await?.into())
    }
}

pub(crate) fn policy() -> Policy {
    Policy::parse(include_str!("../../sample/policy.toml")).unwrap()
}

pub(crate) fn profiles() -> Profiles {
    Profiles::parse(include_str!("../../sample/profiles.json")).unwrap()
}

pub(crate) fn desk(model: impl Into<SharedModel>, tools: impl IntoIterator<Item = Fake>) -> Desk {
    let tools: Vec<SharedTool> = tools.into_iter().map(Into::into).collect();
    Desk::new(model, tools, policy(), profiles())
}

/// A plan of these calls, as a model writes it: id, tool, arguments, what it depends on.
pub(crate) fn plan(calls: &[(&str, &str, Value, &[&str])]) -> Reply {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, tool, args, after)| json!({ "id": id, "tool": tool, "args": args, "depends_on": after }))
        .collect();
    Reply::text(json!({ "next_step": "tool_use", "tool_calls": calls, "why": "a test" }).to_string())
}

/// A plan without tools.
pub(crate) fn no_tools() -> Reply {
    Reply::text(r#"{"next_step":"generate","tool_calls":[],"why":"nothing to look up"}"#)
}

/// The graph, with everything in memory.
pub(crate) struct Room {
    pub(crate) graph: Compiled<Assistant, Desk>,
    pub(crate) store: MemoryStore,
}

impl Room {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::new();
        Self { graph: assistant(Memory::new(), store.clone()), store }
    }

    /// Asks something as `ana`, on thread `t`.
    pub(crate) async fn ask(&self, desk: &Desk, text: &str) -> Result<Outcome<Assistant>> {
        self.graph.run(Assistant::open(desk, "ana", text)?).thread("t").context(desk.clone()).await
    }

    pub(crate) async fn answer(&self, desk: &Desk, answer: Value) -> Result<Outcome<Assistant>> {
        self.graph.resume("t", answer).context(desk.clone()).await
    }

    /// Which nodes were due after each checkpoint, oldest first; the last is none.
    pub(crate) async fn due(&self) -> Vec<String> {
        let mut all = self.graph.threads().history("t", &HistoryQuery::default()).await.unwrap();
        all.reverse();
        all.iter().map(|saved| saved.next.join("+")).collect()
    }

    /// Asks, and gives the events as JSON beside the end.
    pub(crate) async fn watch(&self, desk: &Desk, text: &str) -> (Vec<Value>, Result<Outcome<Assistant>>) {
        let run = self.graph.run(Assistant::open(desk, "ana", text).unwrap()).thread("t").context(desk.clone());
        let mut stream = run.stream_events();
        let mut told = Vec::new();
        while let Some(event) = stream.next().await {
            told.push(serde_json::to_value(&event).unwrap());
        }
        (told, stream.finish().await)
    }
}

pub(crate) fn assistant(
    disk: impl Into<SharedCheckpointer>,
    store: impl Into<SharedStore>,
) -> Compiled<Assistant, Desk> {
    let mut graph = draw();
    graph.checkpointer(disk).store(store);
    graph.compile().unwrap()
}

/// The events of a kind, with the node they come from.
pub(crate) fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<(&'a str, &'a Value)> {
    let of = events.iter().filter(|event| event["event"] == kind);
    of.map(|event| (event["metadata"]["node"].as_str().unwrap_or_default(), &event["data"])).collect()
}

/// The text of the last message.
pub(crate) fn last(state: &Assistant) -> String {
    state.messages.last().unwrap().text().into_owned()
}

/// Rows as `bq_query` gives them.
pub(crate) fn rows(columns: &[&str], rows: Value) -> Value {
    let count = rows.as_array().map_or(0, Vec::len);
    json!({ "columns": columns, "rows": rows, "count": count, "truncated": false, "sql": "select" })
}

/// A passage as `search_docs` gives it.
pub(crate) fn passage(text: &str) -> Value {
    json!({ "passages": [{ "text": text, "source": "orders-and-shipping.md#late-orders", "title": "Orders" }] })
}
