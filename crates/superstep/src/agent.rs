//! Ready-made agents: a model, its tools, and what stands around both.
//!
//! [`react_agent`] asks a model, runs the tools it asks for, and asks again until it answers. [`Middleware`] adds to that:
//! a person's word, limits, summaries, and whatever else a program needs. An agent is a compiled graph like every other:
//! it runs, streams, is kept, is drawn, and is a node of other graphs, with which it shares `messages`.
//!
//! Several agents are a team: [`supervisor`] has one that calls the others, in a [`swarm`] each hands over to the next.
//! [`map_reduce`] does one thing with many items, and [`messages_graph`] is a graph whose state is a conversation.
//!
//! Everything here is written with the public API of this crate, so a program can write its own in the same way.
//!
//! ```
//! use superstep::agent::react_agent;
//! use superstep::model::{Reply, Scripted};
//! use superstep::prelude::*;
//!
//! /// How warm it is in a city.
//! #[tool(read_only)]
//! async fn weather(city: String) -> String { format!("18 degrees in {city}") }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! # let asks = Reply::call("weather", serde_json::json!({ "city": "Paris" }));
//! # let model = Scripted::new([asks, Reply::from("It is 18 degrees.")]);
//! let agent = react_agent(model, [weather()]).compile()?;
//! let done = agent.run("How is it in Paris?").await?;
//! assert_eq!(done.state.messages.last().unwrap().text(), "It is 18 degrees.");
//! # Ok(()) }
//! ```

mod around;
mod closure;
mod draw;
mod handoff;
mod hook;
mod map_reduce;
mod member;
mod messages;
mod middleware;
mod model_node;
mod react;
mod route;
mod state;
mod structured;
mod supervisor;
mod swarm;
mod visit;

pub use around::{ModelRequest, NextModel, NextTool, ToolRequest};
pub use closure::{
    AfterAgent, AfterModel, BeforeAgent, BeforeModel, WrapModel, WrapTool, after_agent, after_model, before_agent,
    before_model, wrap_model, wrap_tool,
};
pub use handoff::{handed_over, handoff_tool};
pub use hook::{Effect, Hook, Hooks, Jump};
pub use map_reduce::{
    AsGraph, AsStep, MapReduce, MapReduceBuilder, MapReduceState, MapReduceStateUpdate, MapTask, Mapper, map_reduce,
};
pub use member::{IntoAgent, Member, member};
pub use messages::{MessagesState, MessagesStateUpdate, messages_graph};
pub use middleware::{
    ClearToolResults, Decision, EditedAction, FallbackModel, HumanApproval, Middleware, ModelCallLimit, RetryModel,
    RetryTools, SelectTools, Spending, Summarize, ToolCallLimit,
};
pub use react::{ReactAgent, react_agent};
pub use state::{AgentState, AgentStateUpdate, Turn};
pub use structured::AnswerBy;
pub use supervisor::{Supervisor, TeamState, TeamStateUpdate, supervisor};
pub use swarm::{Swarm, SwarmState, SwarmStateUpdate, swarm};
pub use visit::Results;
