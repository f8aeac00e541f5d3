//! A team without a supervisor: each agent hands off to the next, and the active agent stays active across runs.

use serde::{Deserialize, Serialize};

use crate::agents::team::agent_subgraph::{self, AgentSubgraphOptions, OutputMode};
use crate::agents::team::member::{self, TeamMember};
use crate::agents::team::supervisor::RECURSION_LIMIT;
use crate::core::port::SharedCheckpointer;
use crate::{CompiledGraph, END, Endpoint, Error, ErrorCode, Goto, GraphState, Messages, Result, START, StateGraph};

/// The state of a swarm.
#[derive(GraphState, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "swarm")]
pub struct SwarmState {
    /// The messages of the conversation.
    #[reduce(messages)]
    pub messages: Messages,
    /// Name of the active agent. Persisted on the thread: the next run starts with this agent.
    pub active_agent: Option<String>,
}

/// Creates a team whose agents hand off to each other by calls of `transfer_to_<agent>`. `first` is the active agent
/// of a new thread.
///
/// A [`crate::agents::ReactAgent`] receives handoff tools for all other agents, or for those that
/// [`crate::agents::TeamMember::handoff_to`] names. A compiled graph must bring its own: see
/// [`crate::agents::handoff_tool`]. One agent is active at a time: of several handoffs in one message the first is
/// used, and the model is told that the others were not executed.
///
/// ```
/// use superstep::agents::{team_member, react_agent, swarm};
/// use superstep::models::{ScriptedReply, ScriptedModel};
/// use superstep::tools::ToolSet;
///
/// # let front = ScriptedModel::new([ScriptedReply::tool_call("transfer_to_poet", serde_json::json!({}))]);
/// # let words = ScriptedModel::new(["Roses are red."]);
/// let front = team_member("front", "Greets.", react_agent(front, ToolSet::default()));
/// let poet = team_member("poet", "Writes poems.", react_agent(words, ToolSet::default()));
/// let team = swarm([front, poet], "front").compile()?;
/// let done = team.invoke("A poem, please").wait_blocking()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "Roses are red.");
/// assert_eq!(done.state.active_agent.as_deref(), Some("poet"));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn swarm<C>(agents: impl IntoIterator<Item = TeamMember<C>>, first: impl Into<String>) -> Swarm<C> {
    let members = agents.into_iter().collect();
    Swarm { members, default_active_agent: first.into(), name: "swarm".to_owned(), checkpointer: None }
}

/// Builder of a swarm. Created by [`swarm`].
#[must_use = "a swarm cannot run until it is compiled"]
pub struct Swarm<C = ()> {
    members: Vec<TeamMember<C>>,
    default_active_agent: String,
    name: String,
    checkpointer: Option<SharedCheckpointer>,
}

impl<C: Send + Sync + 'static> Swarm<C> {
    /// Sets the name of the graph. Default: `swarm`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the default checkpointer of runs.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Builds and compiles the swarm.
    ///
    /// # Errors
    /// Returns an error if there are no agents, if two agents have the same name, if a name is not valid in a tool
    /// name, if the graph of an agent has no conversation, or if an agent is named that does not exist.
    pub fn compile(self) -> Result<CompiledGraph<SwarmState, C>> {
        member::check(&self.members)?;
        let agents: Vec<(String, String)> =
            self.members.iter().map(|member| (member.name.clone(), member.description.clone())).collect();
        check_agent(&agents, &self.default_active_agent, "default agent")?;
        let mut graph = StateGraph::<SwarmState, C>::new(&self.name);
        let handles: Vec<_> = agents.iter().map(|(name, _)| graph.reserve_node(name)).collect();
        for (member, handle) in self.members.into_iter().zip(&handles) {
            let next = handoff_targets(&member, &agents)?;
            let described = agents.iter().filter(|(name, _)| next.contains(name));
            let member = member.with_handoffs(described.map(|(name, description)| (&**name, &**description)));
            let targets = next.iter().map(|name| Endpoint::from(name.as_str())).chain([END]);
            let name = member.name.clone();
            graph.add_conditional_edges(
                *handle,
                move |swarm: &SwarmState| next_agent(swarm, &name),
                targets.collect::<Vec<_>>(),
            );
            let options =
                AgentSubgraphOptions { results: OutputMode::FullHistory, handoff_back_to: None, next: Some(next) };
            graph.define_node(*handle, agent_subgraph::compile(member, options)?);
        }
        let first = self.default_active_agent;
        let entry = move |swarm: &SwarmState| swarm.active_agent.clone().unwrap_or_else(|| first.clone());
        graph.add_conditional_edges(START, entry, handles);
        graph.recursion_limit(RECURSION_LIMIT);
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        graph.compile()
    }
}

/// Returns the agents to which an agent may hand off.
fn handoff_targets<C>(member: &TeamMember<C>, agents: &[(String, String)]) -> Result<Vec<String>> {
    let Some(named) = &member.handoff_targets else {
        return Ok(agents.iter().map(|(name, _)| name.clone()).filter(|name| *name != member.name).collect());
    };
    let prefix = format!("handoff of `{}` to", member.name);
    named.iter().try_for_each(|name| check_agent(agents, name, &prefix))?;
    Ok(named.clone())
}

/// Returns an error if no agent has this name.
fn check_agent(agents: &[(String, String)], name: &str, prefix: &str) -> Result<()> {
    if agents.iter().any(|(agent, _)| agent == name) {
        return Ok(());
    }
    let names: Vec<String> = agents.iter().map(|(name, _)| format!("`{name}`")).collect();
    let error = Error::new(ErrorCode::InvalidGraph, format!("{prefix} `{name}`: no agent has this name"));
    Err(error.with_help(format!("known: {}", names.join(", "))))
}

/// Returns the next agent, or the end if the active agent has responded.
fn next_agent(swarm: &SwarmState, agent: &str) -> Goto {
    let next = swarm.active_agent.as_deref().filter(|next| *next != agent);
    next.map_or_else(Goto::end, Goto::node)
}
