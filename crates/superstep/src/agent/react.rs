//! The agent that reasons and acts: a model that is asked until it wants no more tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::around::{Around, surrounded};
use super::draw::{self, Parts};
use super::hook::Hooks;
use super::middleware::{Erased, Middleware, When};
use super::model_node::{ModelNode, SystemPrompt};
use super::state::AgentState;
use super::structured::{AnswerBy, Structured};
use crate::core::port::SharedCheckpointer;
use crate::model::SharedModel;
use crate::tool::{SharedTool, ToolNode, Tools};
use crate::{Code, Compiled, Error, JsonSchema, Result, SharedStore};

/// How often the model is told that its answer is wrong unless something else is said.
const CORRECTIONS: u32 = 2;

/// How often the model is asked in a turn unless something else is said.
const ROUNDS: u32 = 25;

/// An agent that asks `model`, runs the `tools` it asks for, and asks again until it answers.
///
/// ```
/// use superstep::agent::react_agent;
/// use superstep::model::Scripted;
/// use superstep::tool::Tools;
///
/// let agent = react_agent(Scripted::new(["Noon."]), Tools::default()).system_prompt("You know the time.").compile()?;
/// let done = agent.run("How late is it?").wait()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "Noon.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn react_agent(model: impl Into<SharedModel>, tools: impl Into<Tools>) -> ReactAgent {
    ReactAgent {
        model: model.into(),
        tools: tools.into(),
        name: None,
        prompt: None,
        structured: None,
        answer_by: None,
        corrections: CORRECTIONS,
        max_rounds: ROUNDS,
        middlewares: Vec::new(),
        checkpointer: None,
        store: None,
        settings: Box::new(|node| node),
    }
}

/// An agent in the making. Made by [`react_agent`].
#[must_use = "an agent runs once it is compiled"]
pub struct ReactAgent {
    model: SharedModel,
    tools: Tools,
    name: Option<String>,
    prompt: Option<SystemPrompt>,
    structured: Option<Structured>,
    answer_by: Option<AnswerBy>,
    corrections: u32,
    max_rounds: u32,
    middlewares: Vec<Arc<dyn Erased>>,
    checkpointer: Option<SharedCheckpointer>,
    store: Option<SharedStore>,
    settings: Box<dyn FnOnce(ToolNode) -> ToolNode + Send>,
}

impl ReactAgent {
    /// The name of the graph, and of the speaker in what the model says. `agent` unless told, and then of no speaker.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What the model is told to be, in front of the conversation. It is no part of the state.
    pub fn system_prompt(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.system_prompt_with(move |_| text.clone())
    }

    /// What the model is told to be, made of the state each time it is asked.
    pub fn system_prompt_with(mut self, prompt: impl Fn(&AgentState) -> String + Send + Sync + 'static) -> Self {
        self.prompt = Some(Arc::new(prompt));
        self
    }

    /// Adds a tool to those it was made with.
    pub fn tool(mut self, tool: impl Into<SharedTool>) -> Self {
        self.tools = self.tools.and(tool);
        self
    }

    /// Adds something that stands around the loop. The first is the outermost.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middlewares.push(Arc::new(middleware));
        self
    }

    /// The answer must be a `T`. It is checked, and is in [`AgentState::structured`]. A model that gets it wrong is told
    /// what is wrong and asked again, as often as [`corrections`](Self::corrections) says; then the run fails.
    pub fn answer_as<T: JsonSchema + DeserializeOwned>(mut self) -> Self {
        self.structured = Some(Structured::of::<T>());
        self
    }

    /// How the model is asked for the answer of [`answer_as`](Self::answer_as): by its format where it can be held to
    /// one, unless told.
    pub fn answer_by(mut self, by: AnswerBy) -> Self {
        self.answer_by = Some(by);
        self
    }

    /// How often in a turn the model is told that its answer is wrong; twice unless told.
    pub fn corrections(mut self, times: u32) -> Self {
        self.corrections = times;
        self
    }

    /// How often the model is asked in a turn; 25 times unless told, and once at least.
    ///
    /// The last time it is asked without tools, so that it answers with what it knows. So it is where a run has no
    /// supersteps left for another round. As a node of another graph, an agent begins anew with each visit, and so does
    /// this count.
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.max_rounds = rounds.max(1);
        self
    }

    /// Settings of the node that runs the tools: what becomes of failures, which tools need a person's word, times.
    ///
    /// ```
    /// # use superstep::model::Scripted;
    /// use std::time::Duration;
    /// use superstep::agent::react_agent;
    /// use superstep::prelude::*;
    /// use superstep::tool::{Errors, Policy};
    ///
    /// /// Deletes a file.
    /// #[tool(destructive)]
    /// async fn delete(path: String) -> String { format!("{path} is gone") }
    ///
    /// # let model = Scripted::new(["Nothing to do."]);
    /// let agent = react_agent(model, [delete()])
    ///     .tool_node(|node| node.errors(Errors::Propagate).policy(Policy::allow(["delete"])).timeout(Duration::from_secs(5)))
    ///     .compile()?;
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn tool_node(mut self, settings: impl FnOnce(ToolNode) -> ToolNode + Send + 'static) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// Where threads are kept, for runs that do not say otherwise.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// The long-term store, which tools and hooks have as [`crate::Cx::store`].
    pub fn store(mut self, store: impl Into<SharedStore>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// The agent, ready to run.
    ///
    /// # Errors
    /// When two tools or two middlewares have the same name, a hook may jump to tools that are not there, or the answer
    /// is no object.
    pub fn compile(self) -> Result<Compiled<AgentState>> {
        self.compile_for()
    }

    /// The agent for graphs and tools that have a context.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_for<C: Send + Sync + 'static>(self) -> Result<Compiled<AgentState, C>> {
        self.check()?;
        let has_tools = self.tools.has_sources() || self.tools.given().next().is_some();
        let has_direct = self.tools.has_sources() || self.tools.given().any(|spec| spec.return_direct);
        let around = self.around(|hooks| hooks.wrap_tool);
        let judges = self.middlewares.iter().any(|middleware| middleware.hooks().judges_tools);
        let tools = self.tools.clone().map(move |tool| surrounded(tool, &around, judges));
        let round = 2 + self.count(When::BeforeModel) + self.count(When::AfterModel);
        let ends = self.count(When::BeforeAgent) + self.count(When::AfterAgent);
        let after = self.count(When::AfterModel) + self.count(When::AfterAgent);
        let around = self.around(|hooks| hooks.wrap_model);
        let tools = has_tools.then(|| (self.settings)(ToolNode::new(tools)));
        let model = ModelNode {
            around,
            model: self.model,
            fixed: (!self.tools.has_sources()).then(|| self.tools.given().cloned().collect()),
            tools: self.tools,
            prompt: self.prompt,
            structured: self.structured.map(|structured| structured.with(self.answer_by, self.corrections)),
            speaker: self.name.clone(),
            max_rounds: self.max_rounds,
            round_length: round + after,
        };
        // Jumps of hooks make a round longer; what loops without end is stopped all the same.
        let supersteps = self.max_rounds.saturating_add(2).saturating_mul(2 * round).saturating_add(ends);
        let (middlewares, checkpointer, store) = (self.middlewares, self.checkpointer, self.store);
        let name = self.name.unwrap_or_else(|| "agent".to_owned());
        draw::compile(Parts { name, model, tools, middlewares, checkpointer, store, supersteps, has_direct })
    }

    fn around(&self, has: impl Fn(&Hooks) -> bool) -> Around {
        self.middlewares.iter().filter(|middleware| has(&middleware.hooks())).cloned().collect()
    }

    fn count(&self, when: When) -> u32 {
        let hooks = self.middlewares.iter().filter(|middleware| when.is_in(&middleware.hooks()));
        u32::try_from(hooks.count()).unwrap_or(u32::MAX)
    }

    /// Says what is wrong before anything runs.
    fn check(&self) -> Result<()> {
        let twice = |what: &str, name: &str| {
            Err(Error::new(Code::InvalidGraph, format!("two {what} of the agent are called `{name}`"))
                .help("give one another name"))
        };
        let mut known = BTreeSet::new();
        if let Some(spec) = self.tools.given().find(|spec| !known.insert(spec.name.as_str())) {
            return twice("tools", &spec.name);
        }
        let mut known = BTreeSet::new();
        if let Some(middleware) = self.middlewares.iter().find(|middleware| !known.insert(middleware.name())) {
            return twice("middlewares", middleware.name());
        }
        self.structured.as_ref().and_then(Structured::problem).map_or(Ok(()), Err)
    }
}
