//! Prebuilt agents: a chat model, its tools, and middleware around both.
//!
//! [`react_agent`] calls a model, runs the tools that the model requests, and repeats this until the model responds
//! without tool calls. [`Middleware`] adds human approval, limits, summaries, or code of the application. An agent is
//! a compiled graph like any other: an agent runs, streams, is checkpointed, has a diagram, and can be a node of
//! another graph, with which the agent shares `messages`.
//!
//! Several agents form a team: in [`supervisor`] one agent calls the others, in [`swarm`] each agent hands off to the
//! next. [`map_reduce`] applies one function or graph to many items, and [`messages_graph`] is a graph whose state is
//! a conversation.
//!
//! All of this uses only the public API of this crate, so an application can build its own agents in the same way.
//!
//! ```
//! use superstep::agents::react_agent;
//! use superstep::models::{ScriptedReply, ScriptedModel};
//! use superstep::prelude::*;
//!
//! /// Returns the temperature in a city.
//! #[tool(read_only)]
//! async fn weather(city: String) -> String { format!("18 degrees in {city}") }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! # let asks = ScriptedReply::tool_call("weather", serde_json::json!({ "city": "Paris" }));
//! # let model = ScriptedModel::new([asks, ScriptedReply::from("It is 18 degrees.")]);
//! let agent = react_agent(model, [weather()]).compile()?;
//! let done = agent.invoke("How is it in Paris?").await?;
//! assert_eq!(done.state.messages.last().unwrap().text(), "It is 18 degrees.");
//! # Ok(()) }
//! ```

mod build;
mod call_chain;
mod closures;
mod handoff;
mod hooks;
mod map_reduce;
mod messages_graph;
mod middleware;
mod model_node;
mod react;
mod routing;
mod state;
mod structured_response;
pub(crate) mod team;

pub use call_chain::{ModelRequest, NextModel, NextTool, ToolCallRequest};
pub use closures::{
    AfterAgent, AfterModel, BeforeAgent, BeforeModel, WrapModelCall, WrapToolCall, after_agent, after_model,
    before_agent, before_model, wrap_model_call, wrap_tool_call,
};
pub use handoff::{handoff_targets, handoff_tool};
pub use hooks::{HookContext, HookUpdate, Hooks, JumpTo};
pub use map_reduce::{
    FunctionMarker, GraphMarker, MapReduce, MapReduceBuilder, MapReduceState, MapReduceStateUpdate, MapTask, Mapper,
    map_reduce,
};
pub use messages_graph::{MessagesState, MessagesStateUpdate, messages_graph};
pub use middleware::{
    ClearToolUses, CostLimit, Decision, EditedAction, HumanInTheLoop, Middleware, ModelCallLimit, ModelFallback,
    ModelRetry, Summarization, ToolCallLimit, ToolRetry, ToolSelector,
};
pub use react::{ReactAgent, react_agent};
pub use state::{AgentState, AgentStateUpdate, TurnCounters};
pub use structured_response::ResponseStrategy;
pub use team::agent_subgraph::OutputMode;
pub use team::member::{IntoAgent, TeamMember, team_member};
pub use team::supervisor::{Supervisor, TeamState, TeamStateUpdate, supervisor};
pub use team::swarm::{Swarm, SwarmState, SwarmStateUpdate, swarm};
