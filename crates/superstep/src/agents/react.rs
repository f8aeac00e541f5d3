//! The ReAct agent: a model that is called until its response contains no tool calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::build::{self, AgentParts};
use super::call_chain::{MiddlewareChain, wrap_tool};
use super::hooks::Hooks;
use super::middleware::{DynMiddleware, HookPoint, Middleware};
use super::model_node::{AgentModelNode, SystemPrompt};
use super::state::AgentState;
use super::structured_response::{ResponseStrategy, StructuredResponse};
use crate::core::port::SharedCheckpointer;
use crate::models::SharedModel;
use crate::tools::{SharedTool, ToolNode, ToolSet};
use crate::{CompiledGraph, Error, ErrorCode, JsonSchema, Result, SharedStore};

/// Default number of corrections of an invalid structured response, per turn.
const DEFAULT_FORMAT_RETRIES: u32 = 2;

/// Default maximum number of model calls per turn.
const DEFAULT_MAX_ITERATIONS: u32 = 25;

/// Creates an agent that calls `model`, runs the `tools` that the model requests, and repeats this until the model
/// responds without tool calls.
///
/// ```
/// use superstep::agents::react_agent;
/// use superstep::models::ScriptedModel;
/// use superstep::tools::ToolSet;
///
/// let agent = react_agent(ScriptedModel::new(["Noon."]), ToolSet::default()).system_prompt("You know the time.").compile()?;
/// let done = agent.invoke("How late is it?").wait_blocking()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "Noon.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn react_agent(model: impl Into<SharedModel>, tools: impl Into<ToolSet>) -> ReactAgent {
    ReactAgent {
        model: model.into(),
        tools: tools.into(),
        name: None,
        prompt: None,
        structured: None,
        response_strategy: None,
        max_format_retries: DEFAULT_FORMAT_RETRIES,
        max_iterations: DEFAULT_MAX_ITERATIONS,
        middlewares: Vec::new(),
        checkpointer: None,
        store: None,
        settings: Box::new(|node| node),
    }
}

/// Builder of an agent. Created by [`react_agent`].
#[must_use = "an agent cannot run until it is compiled"]
pub struct ReactAgent {
    model: SharedModel,
    tools: ToolSet,
    name: Option<String>,
    prompt: Option<SystemPrompt>,
    structured: Option<StructuredResponse>,
    response_strategy: Option<ResponseStrategy>,
    max_format_retries: u32,
    max_iterations: u32,
    middlewares: Vec<Arc<dyn DynMiddleware>>,
    checkpointer: Option<SharedCheckpointer>,
    store: Option<SharedStore>,
    settings: Box<dyn FnOnce(ToolNode) -> ToolNode + Send>,
}

impl ReactAgent {
    /// Sets the name of the graph and of the model's messages. Default: `agent`, with unnamed messages.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the system prompt, which precedes the conversation in each request. The prompt is not part of the state.
    pub fn system_prompt(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.system_prompt_with(move |_| text.clone())
    }

    /// Sets a function that builds the system prompt from the state for each model call.
    pub fn system_prompt_with(mut self, prompt: impl Fn(&AgentState) -> String + Send + Sync + 'static) -> Self {
        self.prompt = Some(Arc::new(prompt));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Into<SharedTool>) -> Self {
        self.tools = self.tools.with_tool(tool);
        self
    }

    /// Adds middleware. The first middleware is the outermost.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middlewares.push(Arc::new(middleware));
        self
    }

    /// Requires a structured response of type `T`. The response is validated and stored in
    /// [`AgentState::structured_response`]. After an invalid response the model receives the validation error and is
    /// called again, up to [`max_format_retries`](Self::max_format_retries) times; then the run fails.
    pub fn response_format<T: JsonSchema + DeserializeOwned>(mut self) -> Self {
        self.structured = Some(StructuredResponse::for_type::<T>());
        self
    }

    /// Sets how the model returns the structured response of [`response_format`](Self::response_format). Default: by
    /// response format if the model supports a schema, otherwise by a tool.
    pub fn response_strategy(mut self, strategy: ResponseStrategy) -> Self {
        self.response_strategy = Some(strategy);
        self
    }

    /// Sets how often per turn the model may correct an invalid structured response. Default: 2.
    pub fn max_format_retries(mut self, times: u32) -> Self {
        self.max_format_retries = times;
        self
    }

    /// Sets the maximum number of model calls per turn. Default: 25, minimum: 1.
    ///
    /// The last call is sent without tools, so that the model responds with the information that it has. The same
    /// happens if a run has too few supersteps left for another iteration. Each visit of an agent that is a node of
    /// another graph starts with a new count.
    pub fn max_iterations(mut self, iterations: u32) -> Self {
        self.max_iterations = iterations.max(1);
        self
    }

    /// Configures the tool node: error handling, approval policy, timeouts.
    ///
    /// ```
    /// # use superstep::models::ScriptedModel;
    /// use std::time::Duration;
    /// use superstep::agents::react_agent;
    /// use superstep::prelude::*;
    /// use superstep::tools::{ToolErrorHandling, ToolPolicy};
    ///
    /// /// Deletes a file.
    /// #[tool(destructive)]
    /// async fn delete(path: String) -> String { format!("{path} is gone") }
    ///
    /// # let model = ScriptedModel::new(["Nothing to do."]);
    /// let agent = react_agent(model, [delete()])
    ///     .tool_node(|node| node.error_handling(ToolErrorHandling::Propagate).policy(ToolPolicy::allow(["delete"])).timeout(Duration::from_secs(5)))
    ///     .compile()?;
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn tool_node(mut self, settings: impl FnOnce(ToolNode) -> ToolNode + Send + 'static) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// Sets the default checkpointer of runs.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Sets the long-term store, which tools and hooks access through [`crate::TaskContext::store`].
    pub fn store(mut self, store: impl Into<SharedStore>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// Builds and compiles the agent.
    ///
    /// # Errors
    /// Returns an error if two tools or two middlewares have the same name, if a hook may jump to tools and the agent
    /// has none, or if the structured response is not an object.
    pub fn compile(self) -> Result<CompiledGraph<AgentState>> {
        self.compile_with_context()
    }

    /// Builds and compiles the agent for nodes and tools with a run context.
    ///
    /// # Errors
    /// Same as [`compile`](Self::compile).
    pub fn compile_with_context<C: Send + Sync + 'static>(self) -> Result<CompiledGraph<AgentState, C>> {
        self.check()?;
        let has_tools = self.tools.has_sources() || self.tools.static_specs().next().is_some();
        let has_direct = self.tools.has_sources() || self.tools.static_specs().any(|spec| spec.return_direct);
        let tool_chain = self.middleware_chain(|hooks| hooks.wrap_tool_call);
        let handles_approval = self.middlewares.iter().any(|middleware| middleware.hooks().handles_tool_approval);
        let tools = self.tools.clone().map(move |tool| wrap_tool(tool, &tool_chain, handles_approval));
        let per_iteration = 2 + self.count(HookPoint::BeforeModel) + self.count(HookPoint::AfterModel);
        let outside_loop = self.count(HookPoint::BeforeAgent) + self.count(HookPoint::AfterAgent);
        let after_model = self.count(HookPoint::AfterModel) + self.count(HookPoint::AfterAgent);
        let model_chain = self.middleware_chain(|hooks| hooks.wrap_model_call);
        let tools = has_tools.then(|| (self.settings)(ToolNode::new(tools)));
        let model = AgentModelNode {
            middleware_chain: model_chain,
            model: self.model,
            static_tool_specs: (!self.tools.has_sources()).then(|| self.tools.static_specs().cloned().collect()),
            tools: self.tools,
            prompt: self.prompt,
            structured: self
                .structured
                .map(|structured| structured.with(self.response_strategy, self.max_format_retries)),
            agent_name: self.name.clone(),
            max_iterations: self.max_iterations,
            supersteps_per_iteration: per_iteration + after_model,
        };
        // Jumps of hooks lengthen an iteration; the recursion limit still stops endless loops.
        let supersteps =
            self.max_iterations.saturating_add(2).saturating_mul(2 * per_iteration).saturating_add(outside_loop);
        let (middlewares, checkpointer, store) = (self.middlewares, self.checkpointer, self.store);
        let name = self.name.unwrap_or_else(|| "agent".to_owned());
        build::compile(AgentParts {
            name,
            model,
            tools,
            middlewares,
            checkpointer,
            store,
            recursion_limit: supersteps,
            has_return_direct: has_direct,
        })
    }

    fn middleware_chain(&self, has: impl Fn(&Hooks) -> bool) -> MiddlewareChain {
        self.middlewares.iter().filter(|middleware| has(&middleware.hooks())).cloned().collect()
    }

    fn count(&self, point: HookPoint) -> u32 {
        let hooks = self.middlewares.iter().filter(|middleware| point.is_enabled(&middleware.hooks()));
        u32::try_from(hooks.count()).unwrap_or(u32::MAX)
    }

    /// Checks the configuration before anything runs.
    fn check(&self) -> Result<()> {
        let duplicate = |kind: &str, name: &str| {
            Err(Error::new(ErrorCode::InvalidGraph, format!("the agent has two {kind} named `{name}`"))
                .with_help("give each a unique name"))
        };
        let mut names = BTreeSet::new();
        if let Some(spec) = self.tools.static_specs().find(|spec| !names.insert(spec.name.as_str())) {
            return duplicate("tools", &spec.name);
        }
        let mut names = BTreeSet::new();
        if let Some(middleware) = self.middlewares.iter().find(|middleware| !names.insert(middleware.name())) {
            return duplicate("middlewares", middleware.name());
        }
        self.structured.as_ref().and_then(StructuredResponse::schema_error).map_or(Ok(()), Err)
    }
}
