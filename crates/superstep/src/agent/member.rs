//! The agents of a team: a name, what they are good for, and a graph with a conversation.

use std::collections::BTreeSet;

use super::handoff::{handoff_tool, tool_name};
use super::react::ReactAgent;
use super::visit::Visit;
use crate::{Code, Compiled, Error, Graph, NodeHandle, Result, State};

/// The longest name that a tool may have.
const LONGEST: usize = 64;

/// An agent of a team. Made by [`member`].
#[must_use = "give it to a team"]
pub struct Member<C = ()> {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) hands_to: Option<Vec<String>>,
    agent: Agent<C>,
}

/// An agent with a name, and with what the others are told of it.
///
/// The agent is a [`ReactAgent`], or any compiled graph that keeps its conversation in `messages`.
///
/// ```
/// use superstep::agent::{member, react_agent};
/// use superstep::model::Scripted;
/// use superstep::tool::Tools;
///
/// let poet = react_agent(Scripted::new(["Roses are red."]), Tools::default());
/// let poet = member("poet", "Writes poems.", poet);
/// # let _ = poet;
/// ```
pub fn member<A: IntoAgent>(name: impl Into<String>, description: impl Into<String>, agent: A) -> Member<A::Context> {
    Member { name: name.into(), description: description.into(), hands_to: None, agent: agent.into_agent().0 }
}

impl<C> Member<C> {
    /// In a [`super::swarm`], it may hand over to these only; to all others unless told.
    pub fn hands_to(mut self, agents: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hands_to = Some(agents.into_iter().map(Into::into).collect());
        self
    }

    /// Gives it the tools to hand over by. A compiled graph brings its own.
    pub(super) fn with_handoffs<'a>(mut self, to: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        if let Agent::React(agent) = self.agent {
            let agent = to.fold(*agent, |agent, (name, description)| agent.tool(handoff_tool(name, description)));
            self.agent = Agent::React(Box::new(agent));
        }
        self
    }
}

/// What can be an agent of a team: a [`ReactAgent`], a compiled graph.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an agent of a team",
    note = "an agent is what `react_agent` makes, or a compiled graph with a field `messages`"
)]
pub trait IntoAgent {
    /// What its nodes and tools take as context.
    type Context;

    /// The agent without its types.
    #[doc(hidden)]
    fn into_agent(self) -> AnyAgent<Self::Context>;
}

/// An agent without its types.
#[doc(hidden)]
pub struct AnyAgent<C>(Agent<C>);

enum Agent<C> {
    React(Box<ReactAgent>),
    Graph(Add<C>),
    Unfit(Error),
}

type Add<C> = Box<dyn FnOnce(&mut Graph<Visit, C>) -> NodeHandle + std::marker::Send>;

impl IntoAgent for ReactAgent {
    type Context = ();

    fn into_agent(self) -> AnyAgent<()> {
        AnyAgent(Agent::React(Box::new(self)))
    }
}

impl<S: State, C: std::marker::Send + Sync + 'static> IntoAgent for Compiled<S, C> {
    type Context = C;

    fn into_agent(self) -> AnyAgent<C> {
        let schema = self.schema();
        let reducer = schema.find("messages").and_then(|id| schema.field(id).reducer.as_deref());
        if reducer != Some("add_messages") {
            let fact = format!("`{}` cannot be an agent: it keeps no conversation", self.name());
            let error = Error::new(Code::InvalidGraph, fact);
            return AnyAgent(Agent::Unfit(error.help("give it a field `messages` with the reducer `messages`")));
        }
        AnyAgent(Agent::Graph(Box::new(move |graph| graph.node("agent", self))))
    }
}

impl<C: std::marker::Send + Sync + 'static> Member<C> {
    /// Adds the agent to the graph of its visits.
    pub(super) fn add_to(self, graph: &mut Graph<Visit, C>) -> Result<NodeHandle> {
        match self.agent {
            Agent::React(agent) => Ok(graph.node("agent", agent.name(self.name).compile_for::<C>()?)),
            Agent::Graph(add) => Ok(add(graph)),
            Agent::Unfit(error) => Err(error),
        }
    }
}

/// Says what is wrong with the names of a team before anything is drawn.
pub(super) fn check<C>(members: &[Member<C>]) -> Result<()> {
    let wrong = |fact: String, help: &str| Err(Error::new(Code::InvalidGraph, fact).help(help));
    if members.is_empty() {
        return wrong("a team has no agents".to_owned(), "give it one: `member(name, description, agent)`");
    }
    let mut known = BTreeSet::new();
    for Member { name, .. } in members {
        if !known.insert(name.as_str()) {
            return wrong(format!("two agents are called `{name}`"), "give one another name");
        }
        check_name(name, &tool_name(name))?;
    }
    Ok(())
}

/// Says what is wrong with a name that is a part of the name of `tool`.
pub(super) fn check_name(name: &str, tool: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(is_plain) && tool.len() <= LONGEST {
        return Ok(());
    }
    let help = "names are part of the names of tools: letters, digits, `_` and `-`, and not too many";
    Err(Error::new(Code::InvalidGraph, format!("an agent cannot be called `{name}`")).help(help))
}
