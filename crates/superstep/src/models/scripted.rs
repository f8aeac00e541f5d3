//! A test model that returns scripted replies and records its requests.

use std::sync::{Arc, Mutex};

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo, ModelKind};
use superstep_core::port::{ChunkSender, Model};

use super::ScriptedReply;
use crate::engine::context::lock;

type MatchFn = Arc<dyn Fn(&ChatRequest) -> bool + Send + Sync>;

/// A model that returns replies in the order of a script. Clones share the script.
///
/// Cases ([`when`](Self::when)) are checked first and apply to every matching request; other requests take the next
/// reply of the script. If there is none, the call fails.
///
/// ```
/// use serde_json::json;
/// use superstep::models::{ModelExt, ScriptedReply, ScriptedModel, user_message_contains};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let model = ScriptedModel::new([ScriptedReply::tool_call("weather", json!({ "city": "Paris" }))])
///     .then("It rains.")
///     .when(user_message_contains("hello"), "Hello!");
///
/// assert_eq!(model.complete("What about Paris?").await?.message.tool_calls[0].name, "weather");
/// assert_eq!(model.complete("Hello, you").await?.message.text(), "Hello!");
/// assert_eq!(model.complete("So?").await?.message.text(), "It rains.");
/// assert_eq!(model.requests().len(), 3);
/// assert!(model.complete("And now?").await.is_err());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    name: Arc<str>,
    state: Arc<Mutex<ScriptState>>,
}

#[derive(Default)]
struct ScriptState {
    script: Vec<ScriptStep>,
    next: usize,
    cases: Vec<(MatchFn, ScriptStep)>,
    requests: Vec<ChatRequest>,
}

#[derive(Clone)]
enum ScriptStep {
    Reply(Box<ScriptedReply>),
    Function(Arc<dyn Fn(&ChatRequest) -> ScriptedReply + Send + Sync>),
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self { name: "script".into(), state: Arc::default() }
    }
}

impl ScriptedModel {
    /// Creates a model with these replies, in this order.
    pub fn new<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        replies.into_iter().fold(Self::default(), Self::then)
    }

    /// Sets the name, to distinguish several models: `scripted/<name>`.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a reply at the end of the script.
    #[must_use]
    pub fn then(self, reply: impl Into<ScriptedReply>) -> Self {
        self.add(ScriptStep::Reply(Box::new(reply.into())))
    }

    /// Adds a reply, created from the request, at the end of the script.
    #[must_use]
    pub fn then_with(self, reply: impl Fn(&ChatRequest) -> ScriptedReply + Send + Sync + 'static) -> Self {
        self.add(ScriptStep::Function(Arc::new(reply)))
    }

    /// Adds a reply for every request that matches, independent of the script. The first case that matches applies.
    #[must_use]
    pub fn when(
        self,
        matches: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        reply: impl Into<ScriptedReply>,
    ) -> Self {
        lock(&self.state).cases.push((Arc::new(matches), ScriptStep::Reply(Box::new(reply.into()))));
        self
    }

    /// Returns all requests so far, of all clones.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        lock(&self.state).requests.clone()
    }

    /// Returns the number of unused replies of the script.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let state = lock(&self.state);
        state.script.len() - state.next
    }

    fn add(self, step: ScriptStep) -> Self {
        lock(&self.state).script.push(step);
        self
    }

    /// Records the request and returns its script step.
    fn next_step(&self, request: &ChatRequest) -> Result<ScriptStep> {
        // Cases are functions of the application, which may call methods of this model: they run without the lock.
        let cases = {
            let mut state = lock(&self.state);
            state.requests.push(request.clone());
            state.cases.clone()
        };
        if let Some((_, step)) = cases.into_iter().find(|(matches, _)| matches(request)) {
            return Ok(step);
        }
        let mut state = lock(&self.state);
        let step = state.script.get(state.next).cloned().ok_or_else(|| self.script_exhausted(&state, request))?;
        state.next += 1;
        Ok(step)
    }

    fn script_exhausted(&self, state: &ScriptState, request: &ChatRequest) -> Error {
        let last = request.messages.last().map(|message| message.text().chars().take(80).collect::<String>());
        let fact = format!(
            "model `scripted/{}`: no reply left after {}; request {} (`{}`) requires one more",
            self.name,
            state.script.len(),
            state.requests.len(),
            last.unwrap_or_default(),
        );
        Error::new(ErrorCode::ConfigInvalid, fact).with_help(
            "add a reply to the script, or call the model \
             less often",
        )
    }
}

impl Model for ScriptedModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("scripted", self.name.clone(), ModelKind::Rules)
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let reply = match self.next_step(request)? {
            ScriptStep::Reply(reply) => *reply,
            ScriptStep::Function(reply) => reply(request),
        };
        reply.send(request, self.info(), out).await
    }
}
