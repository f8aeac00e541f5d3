//! A team without a head: each agent hands over to the next, and the one that has the word keeps it.

use serde::{Deserialize, Serialize};

use super::member::{self, Member};
use super::supervisor::SUPERSTEPS;
use super::visit::{self, Results, Rules};
use crate::core::port::SharedCheckpointer;
use crate::{Code, Compiled, END, Endpoint, Error, Go, Graph, Messages, Result, START, State};

/// The state of a swarm.
#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "swarm")]
pub struct SwarmState {
    /// What was said.
    #[reduce(messages)]
    pub messages: Messages,
    /// Who has the word. It stays on the thread: the next run begins there.
    pub active_agent: Option<String>,
}

/// Agents that hand over to each other by calls of `transfer_to_<agent>`; `first` has the word on a new thread.
///
/// A [`super::ReactAgent`] is given the tools to hand over to all others, or to those that [`Member::hands_to`] names. A
/// compiled graph brings its own: see [`super::handoff_tool`]. One agent has the word at a time: of several hand-offs in
/// one message the first counts, and the model is told of the others that they were not made.
///
/// ```
/// use superstep::agent::{member, react_agent, swarm};
/// use superstep::model::{Reply, Scripted};
/// use superstep::tool::Tools;
///
/// # let front = Scripted::new([Reply::call("transfer_to_poet", serde_json::json!({}))]);
/// # let words = Scripted::new(["Roses are red."]);
/// let front = member("front", "Greets.", react_agent(front, Tools::default()));
/// let poet = member("poet", "Writes poems.", react_agent(words, Tools::default()));
/// let team = swarm([front, poet], "front").compile()?;
/// let done = team.run("A poem, please").wait()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "Roses are red.");
/// assert_eq!(done.state.active_agent.as_deref(), Some("poet"));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn swarm<C>(agents: impl IntoIterator<Item = Member<C>>, first: impl Into<String>) -> Swarm<C> {
    let members = agents.into_iter().collect();
    Swarm { members, first: first.into(), name: "swarm".to_owned(), checkpointer: None }
}

/// A swarm in the making. Made by [`swarm`].
#[must_use = "a swarm runs once it is compiled"]
pub struct Swarm<C = ()> {
    members: Vec<Member<C>>,
    first: String,
    name: String,
    checkpointer: Option<SharedCheckpointer>,
}

impl<C: Send + Sync + 'static> Swarm<C> {
    /// The name of the graph; `swarm` unless told.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Where threads are kept, for runs that do not say otherwise.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// The swarm, ready to run.
    ///
    /// # Errors
    /// When there are no agents, two have one name, one has a name that no tool can have or is a graph without a
    /// conversation, or somebody is named that is not there.
    pub fn compile(self) -> Result<Compiled<SwarmState, C>> {
        member::check(&self.members)?;
        let known: Vec<(String, String)> =
            self.members.iter().map(|member| (member.name.clone(), member.description.clone())).collect();
        is_known(&known, &self.first, "the swarm begins with")?;
        let mut graph = Graph::<SwarmState, C>::new(&self.name);
        let handles: Vec<_> = known.iter().map(|(name, _)| graph.reserve(name)).collect();
        for (member, handle) in self.members.into_iter().zip(&handles) {
            let next = next_of(&member, &known)?;
            let described = known.iter().filter(|(name, _)| next.contains(name));
            let member = member.with_handoffs(described.map(|(name, description)| (&**name, &**description)));
            let ways = next.iter().map(|name| Endpoint::from(name.as_str())).chain([END]);
            let name = member.name.clone();
            graph.route(*handle, move |swarm: &SwarmState| onward(swarm, &name), ways.collect::<Vec<_>>());
            let rules = Rules { results: Results::FullHistory, back_to: None, next: Some(next) };
            graph.define(*handle, visit::compile(member, rules)?);
        }
        let first = self.first;
        let entry = move |swarm: &SwarmState| swarm.active_agent.clone().unwrap_or_else(|| first.clone());
        graph.route(START, entry, handles);
        graph.recursion_limit(SUPERSTEPS);
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        graph.compile()
    }
}

/// Whom an agent may hand over to.
fn next_of<C>(member: &Member<C>, known: &[(String, String)]) -> Result<Vec<String>> {
    let Some(named) = &member.hands_to else {
        return Ok(known.iter().map(|(name, _)| name.clone()).filter(|name| *name != member.name).collect());
    };
    let what = format!("`{}` hands over to", member.name);
    named.iter().try_for_each(|name| is_known(known, name, &what))?;
    Ok(named.clone())
}

fn is_known(known: &[(String, String)], name: &str, what: &str) -> Result<()> {
    if known.iter().any(|(known, _)| known == name) {
        return Ok(());
    }
    let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
    let error = Error::new(Code::InvalidGraph, format!("{what} `{name}`, and no agent is called so"));
    Err(error.help(format!("there are {}", names.join(", "))))
}

/// On to the next agent, or to the end where the one that has the word has answered.
fn onward(swarm: &SwarmState, agent: &str) -> Go {
    let next = swarm.active_agent.as_deref().filter(|next| *next != agent);
    next.map_or_else(Go::end, Go::to)
}
