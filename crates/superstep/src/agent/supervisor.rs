//! A team with one agent that decides who works next, and to whom all come back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::around::{ModelRequest, NextModel};
use super::closure::wrap_model;
use super::handoff::{handed_over, handoff_tool, tool_name};
use super::member::{self, Member};
use super::react::{ReactAgent, react_agent};
use super::state::is_said_by_user;
use super::visit::{self, Results, Rules};
use crate::core::message::Role;
use crate::core::port::SharedCheckpointer;
use crate::model::{Answer, SharedModel, ToolChoice};
use crate::tool::Tools;
use crate::{Code, Compiled, END, Endpoint, Error, Go, Graph, Messages, NodeError, NodeHandle, Result, START, State};

/// How often agents are called in a turn unless something else is said.
const ROUNDS: usize = 25;

/// How many supersteps each graph of a team may have: agents loop too, and have the limit of the run around them.
pub(super) const SUPERSTEPS: u32 = 120;

/// The state of a team with a supervisor.
#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "team")]
pub struct TeamState {
    /// What was said.
    #[reduce(messages)]
    pub messages: Messages,
    /// The supervisor's answer as data, where it was told its form.
    pub structured: Option<Value>,
}

/// A team: `model` decides by calls of `transfer_to_<agent>` which agents work, and answers once it knows enough.
///
/// Agents that are called in one message work at once. Each gets the conversation; what it said comes back, and the
/// supervisor is asked again.
///
/// ```
/// use superstep::agent::{member, react_agent, supervisor};
/// use superstep::model::{Reply, Scripted};
/// use superstep::tool::Tools;
///
/// # let model = Scripted::new([Reply::call("transfer_to_poet", serde_json::json!({})), Reply::from("There you are.")]);
/// # let words = Scripted::new(["Roses are red."]);
/// let poet = react_agent(words, Tools::default()).system_prompt("You write poems.");
/// let team = supervisor(model, [member("poet", "Writes poems.", poet)]).compile()?;
/// let done = team.run("A poem, please").wait()?;
/// assert!(done.state.messages.iter().any(|message| message.text() == "Roses are red."));
/// assert_eq!(done.state.messages.last().unwrap().text(), "There you are.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn supervisor<C>(model: impl Into<SharedModel>, agents: impl IntoIterator<Item = Member<C>>) -> Supervisor<C> {
    Supervisor {
        model: model.into(),
        members: agents.into_iter().collect(),
        name: "supervisor".to_owned(),
        tools: Tools::default(),
        settings: Box::new(|agent| agent),
        results: Results::default(),
        hands_back: true,
        max_rounds: ROUNDS,
        checkpointer: None,
    }
}

/// A team in the making. Made by [`supervisor`].
#[must_use = "a team runs once it is compiled"]
pub struct Supervisor<C = ()> {
    model: SharedModel,
    members: Vec<Member<C>>,
    name: String,
    tools: Tools,
    settings: Box<dyn FnOnce(ReactAgent) -> ReactAgent + Send>,
    results: Results,
    hands_back: bool,
    max_rounds: usize,
    checkpointer: Option<SharedCheckpointer>,
}

impl<C: Send + Sync + 'static> Supervisor<C> {
    /// The name of the one that decides, and of the graph; `supervisor` unless told.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Tools of its own, besides those that call the agents.
    pub fn tools(mut self, tools: impl Into<Tools>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Everything else about it: what it is told to be, what stands around its loop, the form of its answer.
    ///
    /// ```
    /// # use superstep::agent::{member, react_agent, supervisor};
    /// # use superstep::model::Scripted;
    /// # use superstep::tool::Tools;
    /// # let (model, poet) = (Scripted::new(["No."]), react_agent(Scripted::default(), Tools::default()));
    /// let team = supervisor(model, [member("poet", "Writes poems.", poet)])
    ///     .agent(|agent| agent.system_prompt("Poems are for the poet.").max_rounds(5))
    ///     .compile()?;
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn agent(mut self, settings: impl FnOnce(ReactAgent) -> ReactAgent + Send + 'static) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// What of an agent's work comes back: its last message unless told.
    pub fn results(mut self, results: Results) -> Self {
        self.results = results;
        self
    }

    /// Leaves out the call `transfer_back_to_<supervisor>` and its result, by which an agent's work ends otherwise.
    /// Then the last words before the supervisor's are those of another assistant, which not every provider takes.
    pub fn without_hand_back(mut self) -> Self {
        self.hands_back = false;
        self
    }

    /// How often agents are called in a turn, several at once counting as one; 25 times unless told. After that, the
    /// supervisor is asked without tools, so that it answers.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Where threads are kept, for runs that do not say otherwise.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// The team, ready to run.
    ///
    /// # Errors
    /// When there are no agents, two have one name, one or the supervisor has a name that no tool can have, or one is a
    /// graph without a conversation.
    pub fn compile(self) -> Result<Compiled<TeamState, C>> {
        member::check(&self.members)?;
        if self.hands_back {
            member::check_name(&self.name, &visit::back_name(&self.name))?;
        }
        if let Some(member) = self.members.iter().find(|member| member.hands_to.is_some()) {
            let fact = format!("`{}` hands over by itself, and `{}` decides who is next", member.name, self.name);
            return Err(Error::new(Code::InvalidGraph, fact).help("leave out `hands_to`, or make it a `swarm`"));
        }
        let mut graph = Graph::<TeamState, C>::new(&self.name);
        let tools = self
            .members
            .iter()
            .fold(self.tools, |tools, member| tools.and(handoff_tool(member.name.as_str(), &member.description)));
        let bound = Bound {
            speaker: self.name.clone(),
            calls: self.members.iter().map(|member| tool_name(&member.name)).collect(),
            rounds: self.max_rounds,
        };
        let agent = react_agent(self.model, tools).middleware(wrap_model("max_rounds", bound.into_wrap()));
        let agent = (self.settings)(agent).name(self.name.as_str()).compile_for::<C>()?;
        let decides = graph.node(&self.name, agent);
        let back_to = Some(self.name).filter(|_| self.hands_back);
        let rules = Rules { results: self.results, back_to, next: None };
        let handles = add_members(&mut graph, self.members, decides, &rules)?;
        let ways: Vec<Endpoint> = handles.into_iter().map(Into::into).chain([END]).collect();
        graph.edge(START, decides).route(decides, |team: &TeamState| next(&team.messages), ways);
        graph.recursion_limit(SUPERSTEPS.max(u32::try_from(self.max_rounds).unwrap_or(u32::MAX).saturating_mul(2)));
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        graph.compile()
    }
}

fn add_members<C: Send + Sync + 'static>(
    graph: &mut Graph<TeamState, C>,
    members: Vec<Member<C>>,
    back: NodeHandle,
    rules: &Rules,
) -> Result<Vec<NodeHandle>> {
    let mut handles = Vec::new();
    for member in members {
        let name = member.name.clone();
        let handle = graph.node(&name, visit::compile(member, rules.clone())?);
        graph.edge(handle, back);
        handles.push(handle);
    }
    Ok(handles)
}

/// On to everyone that was called, or to the end.
fn next(messages: &Messages) -> Go {
    let agents = handed_over(messages);
    if agents.is_empty() { Go::end() } else { Go::all(agents.iter().map(String::as_str)) }
}

/// How often agents may be called in a turn.
#[derive(Clone)]
struct Bound {
    speaker: String,
    calls: Vec<String>,
    rounds: usize,
}

impl Bound {
    /// The closure that stands around the supervisor's model.
    fn into_wrap(
        self,
    ) -> impl Fn(ModelRequest, NextModel) -> crate::core::port::BoxFuture<'static, Result<Answer, NodeError>> + Send + Sync
    {
        move |request, next| {
            if self.rounds_of(&request.state.messages) < self.rounds {
                return next.run(request);
            }
            Box::pin(answer(request, next))
        }
    }

    /// The rounds since the user spoke.
    fn rounds_of(&self, messages: &Messages) -> usize {
        let turn = messages.iter().rev().take_while(|message| !is_said_by_user(message));
        let calls =
            turn.filter(|message| message.role == Role::Assistant && message.name.as_ref() == Some(&self.speaker));
        calls.filter(|message| message.tool_calls.iter().any(|call| self.calls.contains(&call.name))).count()
    }
}

/// Asks for an answer and nothing else. Calls that are made all the same would be left open.
async fn answer(mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
    let by = request.answer_tool.clone();
    request.request.tool_choice = by.clone().map_or(ToolChoice::None, ToolChoice::Named);
    let mut answer = next.run(request).await?;
    let made = answer.message.tool_calls.len();
    answer.message.tool_calls.retain(|call| by.as_ref() == Some(&call.name));
    if answer.message.tool_calls.len() < made {
        answer.message.metadata.insert("out_of_rounds".to_owned(), true.into());
    }
    Ok(answer)
}
