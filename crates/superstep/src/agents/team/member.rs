//! Agents of a team: a name, a description for the other agents, and a graph with a conversation.

use std::collections::BTreeSet;

use crate::agents::handoff::{handoff_tool, tool_name};
use crate::agents::react::ReactAgent;
use crate::agents::team::agent_subgraph::AgentSubgraphState;
use crate::{CompiledGraph, Error, ErrorCode, GraphState, NodeHandle, Result, StateGraph};

/// Maximum length of a tool name, in bytes.
const MAX_TOOL_NAME_BYTES: usize = 64;

/// An agent of a team. Created by [`team_member`].
#[must_use = "an agent has no effect until it is added to a team"]
pub struct TeamMember<C = ()> {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) handoff_targets: Option<Vec<String>>,
    agent: MemberKind<C>,
}

/// Creates an agent of a team from a name and a description for the other agents.
///
/// The agent is a [`ReactAgent`], or any compiled graph that has its conversation in `messages`.
///
/// ```
/// use superstep::agents::{team_member, react_agent};
/// use superstep::models::ScriptedModel;
/// use superstep::tools::ToolSet;
///
/// let poet = react_agent(ScriptedModel::new(["Roses are red."]), ToolSet::default());
/// let poet = team_member("poet", "Writes poems.", poet);
/// # let _ = poet;
/// ```
pub fn team_member<A: IntoAgent>(
    name: impl Into<String>,
    description: impl Into<String>,
    agent: A,
) -> TeamMember<A::Context> {
    TeamMember {
        name: name.into(),
        description: description.into(),
        handoff_targets: None,
        agent: agent.into_agent().0,
    }
}

impl<C> TeamMember<C> {
    /// Sets the agents to which this agent of a [`crate::agents::swarm`] may hand off. Default: all other agents.
    pub fn handoff_to(mut self, agents: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.handoff_targets = Some(agents.into_iter().map(Into::into).collect());
        self
    }

    /// Adds handoff tools to a [`ReactAgent`]. A compiled graph must bring its own.
    pub(crate) fn with_handoffs<'a>(mut self, to: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        if let MemberKind::React(agent) = self.agent {
            let agent = to.fold(*agent, |agent, (name, description)| agent.tool(handoff_tool(name, description)));
            self.agent = MemberKind::React(Box::new(agent));
        }
        self
    }
}

/// A type that can be an agent of a team: a [`ReactAgent`] or a compiled graph.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an agent of a team",
    note = "an agent is a `react_agent` or a compiled graph with a field `messages`"
)]
pub trait IntoAgent {
    /// Type of the run context of its nodes and tools.
    type Context;

    /// Erases the type of the agent.
    #[doc(hidden)]
    fn into_agent(self) -> AnyAgent<Self::Context>;
}

/// An agent with its type erased.
#[doc(hidden)]
pub struct AnyAgent<C>(MemberKind<C>);

enum MemberKind<C> {
    React(Box<ReactAgent>),
    Graph(AddToGraph<C>),
    Invalid(Error),
}

type AddToGraph<C> = Box<dyn FnOnce(&mut StateGraph<AgentSubgraphState, C>) -> NodeHandle + std::marker::Send>;

impl IntoAgent for ReactAgent {
    type Context = ();

    fn into_agent(self) -> AnyAgent<()> {
        AnyAgent(MemberKind::React(Box::new(self)))
    }
}

impl<S: GraphState, C: std::marker::Send + Sync + 'static> IntoAgent for CompiledGraph<S, C> {
    type Context = C;

    fn into_agent(self) -> AnyAgent<C> {
        let schema = self.schema();
        let reducer = schema.find("messages").and_then(|id| schema.field(id).reducer.as_deref());
        if reducer != Some("add_messages") {
            let fact = format!("graph `{}` cannot be an agent: it has no message list", self.name());
            let error = Error::new(ErrorCode::InvalidGraph, fact);
            return AnyAgent(MemberKind::Invalid(
                error.with_help("add a field `messages` with the reducer `messages`"),
            ));
        }
        AnyAgent(MemberKind::Graph(Box::new(move |graph| graph.add_node("agent", self))))
    }
}

impl<C: std::marker::Send + Sync + 'static> TeamMember<C> {
    /// Adds the agent to the graph that wraps it.
    pub(crate) fn add_to(self, graph: &mut StateGraph<AgentSubgraphState, C>) -> Result<NodeHandle> {
        match self.agent {
            MemberKind::React(agent) => Ok(graph.add_node("agent", agent.name(self.name).compile_with_context::<C>()?)),
            MemberKind::Graph(add) => Ok(add(graph)),
            MemberKind::Invalid(error) => Err(error),
        }
    }
}

/// Checks the names of a team before its graph is built.
pub(crate) fn check<C>(members: &[TeamMember<C>]) -> Result<()> {
    let invalid_team = |fact: String, help: &str| Err(Error::new(ErrorCode::InvalidGraph, fact).with_help(help));
    if members.is_empty() {
        return invalid_team("the team has no agents".to_owned(), "add one: `team_member(name, description, agent)`");
    }
    let mut names = BTreeSet::new();
    for TeamMember { name, .. } in members {
        if !names.insert(name.as_str()) {
            return invalid_team(format!("duplicate agent name `{name}`"), "give each agent a unique name");
        }
        check_name(name, &tool_name(name))?;
    }
    Ok(())
}

/// Checks an agent name that becomes part of the tool name `tool`.
pub(crate) fn check_name(name: &str, tool: &str) -> Result<()> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !name.is_empty() && name.chars().all(is_plain) && tool.len() <= MAX_TOOL_NAME_BYTES {
        return Ok(());
    }
    let help = "agent names become part of tool names: use letters, digits, `_` and `-`, and a short name";
    Err(Error::new(ErrorCode::InvalidGraph, format!("invalid agent name `{name}`")).with_help(help))
}
