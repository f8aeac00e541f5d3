//! A team with one supervisor that decides which agents work next, and to which all agents return.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::call_chain::{ModelRequest, NextModel};
use crate::agents::closures::wrap_model_call;
use crate::agents::handoff::{handoff_targets, handoff_tool, tool_name};
use crate::agents::react::{ReactAgent, react_agent};
use crate::agents::state::is_from_user;
use crate::agents::team::agent_subgraph::{self, AgentSubgraphOptions, OutputMode};
use crate::agents::team::member::{self, TeamMember};
use crate::core::message::Role;
use crate::core::port::SharedCheckpointer;
use crate::models::{ChatResponse, SharedModel, ToolChoice};
use crate::tools::ToolSet;
use crate::{
    CompiledGraph, END, Endpoint, Error, ErrorCode, Goto, GraphState, Messages, NodeError, NodeHandle, Result, START,
    StateGraph,
};

/// Default maximum number of handoff rounds per turn.
const DEFAULT_MAX_HANDOFFS: usize = 25;

/// Recursion limit of each graph of a team. Agents loop too, and share the limit of the run.
pub(crate) const RECURSION_LIMIT: u32 = 120;

/// The state of a team with a supervisor.
#[derive(GraphState, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "team")]
pub struct TeamState {
    /// The messages of the conversation.
    #[reduce(messages)]
    pub messages: Messages,
    /// The structured response of the supervisor, if the supervisor has a response format.
    pub structured: Option<Value>,
}

/// Creates a team: `model` calls `transfer_to_<agent>` to choose the agents that work, and responds once it has
/// enough information.
///
/// Agents that are called in one message run in parallel. Each agent receives the conversation; its output is added
/// to the conversation, and the supervisor is called again.
///
/// ```
/// use superstep::agents::{team_member, react_agent, supervisor};
/// use superstep::models::{ScriptedReply, ScriptedModel};
/// use superstep::tools::ToolSet;
///
/// # let model = ScriptedModel::new([ScriptedReply::tool_call("transfer_to_poet", serde_json::json!({})), ScriptedReply::from("There you are.")]);
/// # let words = ScriptedModel::new(["Roses are red."]);
/// let poet = react_agent(words, ToolSet::default()).system_prompt("You write poems.");
/// let team = supervisor(model, [team_member("poet", "Writes poems.", poet)]).compile()?;
/// let done = team.invoke("A poem, please").wait_blocking()?;
/// assert!(done.state.messages.iter().any(|message| message.text() == "Roses are red."));
/// assert_eq!(done.state.messages.last().unwrap().text(), "There you are.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn supervisor<C>(model: impl Into<SharedModel>, agents: impl IntoIterator<Item = TeamMember<C>>) -> Supervisor<C> {
    Supervisor {
        model: model.into(),
        members: agents.into_iter().collect(),
        name: "supervisor".to_owned(),
        tools: ToolSet::default(),
        settings: Box::new(|agent| agent),
        output_mode: OutputMode::default(),
        adds_handoff_back_messages: true,
        max_handoffs: DEFAULT_MAX_HANDOFFS,
        checkpointer: None,
    }
}

/// Builder of a team with a supervisor. Created by [`supervisor`].
#[must_use = "a team cannot run until it is compiled"]
pub struct Supervisor<C = ()> {
    model: SharedModel,
    members: Vec<TeamMember<C>>,
    name: String,
    tools: ToolSet,
    settings: Box<dyn FnOnce(ReactAgent) -> ReactAgent + Send>,
    output_mode: OutputMode,
    adds_handoff_back_messages: bool,
    max_handoffs: usize,
    checkpointer: Option<SharedCheckpointer>,
}

impl<C: Send + Sync + 'static> Supervisor<C> {
    /// Sets the name of the supervisor agent and of the graph. Default: `supervisor`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the supervisor's own tools, in addition to the handoff tools.
    pub fn tools(mut self, tools: impl Into<ToolSet>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Configures the supervisor agent: system prompt, middleware, response format.
    ///
    /// ```
    /// # use superstep::agents::{team_member, react_agent, supervisor};
    /// # use superstep::models::ScriptedModel;
    /// # use superstep::tools::ToolSet;
    /// # let (model, poet) = (ScriptedModel::new(["No."]), react_agent(ScriptedModel::default(), ToolSet::default()));
    /// let team = supervisor(model, [team_member("poet", "Writes poems.", poet)])
    ///     .configure(|agent| agent.system_prompt("Poems are for the poet.").max_iterations(5))
    ///     .compile()?;
    /// # Ok::<(), superstep::Error>(())
    /// ```
    pub fn configure(mut self, settings: impl FnOnce(ReactAgent) -> ReactAgent + Send + 'static) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// Sets which messages of an agent are added to the conversation. Default: the last one.
    pub fn output_mode(mut self, mode: OutputMode) -> Self {
        self.output_mode = mode;
        self
    }

    /// Omits the call `transfer_back_to_<supervisor>` and its result, which otherwise end an agent's work. The last
    /// message before the supervisor's call is then an assistant message, which some providers reject.
    pub fn without_handoff_back_messages(mut self) -> Self {
        self.adds_handoff_back_messages = false;
        self
    }

    /// Sets the maximum number of handoff rounds per turn; agents that are called together count as one round.
    /// Default: 25. After that, the supervisor is called without tools, so that it responds.
    pub fn max_handoffs(mut self, rounds: usize) -> Self {
        self.max_handoffs = rounds;
        self
    }

    /// Sets the default checkpointer of runs.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Builds and compiles the team.
    ///
    /// # Errors
    /// Returns an error if there are no agents, if two agents have the same name, if the name of an agent or of the
    /// supervisor is not valid in a tool name, or if the graph of an agent has no conversation.
    pub fn compile(self) -> Result<CompiledGraph<TeamState, C>> {
        member::check(&self.members)?;
        if self.adds_handoff_back_messages {
            member::check_name(&self.name, &agent_subgraph::handoff_back_name(&self.name))?;
        }
        if let Some(member) = self.members.iter().find(|member| member.handoff_targets.is_some()) {
            let fact = format!(
                "agent `{}` declares handoffs, but the supervisor `{}` selects the next agent",
                member.name, self.name
            );
            return Err(Error::new(ErrorCode::InvalidGraph, fact).with_help("remove `handoff_to`, or use a `swarm`"));
        }
        let mut graph = StateGraph::<TeamState, C>::new(&self.name);
        let tools = self
            .members
            .iter()
            .fold(self.tools, |tools, member| tools.with_tool(handoff_tool(member.name.as_str(), &member.description)));
        let limit = HandoffLimit {
            supervisor: self.name.clone(),
            tools: self.members.iter().map(|member| tool_name(&member.name)).collect(),
            rounds: self.max_handoffs,
        };
        let agent = react_agent(self.model, tools).middleware(wrap_model_call("max_rounds", limit.into_wrap()));
        let agent = (self.settings)(agent).name(self.name.as_str()).compile_with_context::<C>()?;
        let node = graph.add_node(&self.name, agent);
        let back_to = Some(self.name).filter(|_| self.adds_handoff_back_messages);
        let options = AgentSubgraphOptions { results: self.output_mode, handoff_back_to: back_to, next: None };
        let handles = add_members(&mut graph, self.members, node, &options)?;
        let targets: Vec<Endpoint> = handles.into_iter().map(Into::into).chain([END]).collect();
        graph.add_edge(START, node).add_conditional_edges(node, |team: &TeamState| next(&team.messages), targets);
        graph.recursion_limit(
            RECURSION_LIMIT.max(u32::try_from(self.max_handoffs).unwrap_or(u32::MAX).saturating_mul(2)),
        );
        if let Some(checkpointer) = self.checkpointer {
            graph.checkpointer(checkpointer);
        }
        graph.compile()
    }
}

fn add_members<C: Send + Sync + 'static>(
    graph: &mut StateGraph<TeamState, C>,
    members: Vec<TeamMember<C>>,
    supervisor: NodeHandle,
    options: &AgentSubgraphOptions,
) -> Result<Vec<NodeHandle>> {
    let mut handles = Vec::new();
    for member in members {
        let name = member.name.clone();
        let handle = graph.add_node(&name, agent_subgraph::compile(member, options.clone())?);
        graph.add_edge(handle, supervisor);
        handles.push(handle);
    }
    Ok(handles)
}

/// Returns the agents of the requested handoffs, or the end.
fn next(messages: &Messages) -> Goto {
    let agents = handoff_targets(messages);
    if agents.is_empty() { Goto::end() } else { Goto::all(agents.iter().map(String::as_str)) }
}

/// Limit on the handoff rounds per turn.
#[derive(Clone)]
struct HandoffLimit {
    supervisor: String,
    tools: Vec<String>,
    rounds: usize,
}

impl HandoffLimit {
    /// Converts the limit into a middleware closure around the supervisor's model.
    fn into_wrap(
        self,
    ) -> impl Fn(ModelRequest, NextModel) -> crate::core::port::BoxFuture<'static, Result<ChatResponse, NodeError>>
    + Send
    + Sync {
        move |request, next| {
            if self.count_rounds(&request.state.messages) < self.rounds {
                return next.run(request);
            }
            Box::pin(respond_without_tools(request, next))
        }
    }

    /// Counts the handoff rounds since the last user message.
    fn count_rounds(&self, messages: &Messages) -> usize {
        let turn = messages.iter().rev().take_while(|message| !is_from_user(message));
        let calls =
            turn.filter(|message| message.role == Role::Assistant && message.name.as_ref() == Some(&self.supervisor));
        calls.filter(|message| message.tool_calls.iter().any(|call| self.tools.contains(&call.name))).count()
    }
}

/// Requests a response without tool calls. Removes calls that the model sends nevertheless, because they would stay
/// open.
async fn respond_without_tools(mut request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
    let response_tool = request.response_tool.clone();
    request.request.tool_choice = response_tool.clone().map_or(ToolChoice::None, ToolChoice::Named);
    let mut response = next.run(request).await?;
    let requested_calls = response.message.tool_calls.len();
    response.message.tool_calls.retain(|call| response_tool.as_ref() == Some(&call.name));
    if response.message.tool_calls.len() < requested_calls {
        response.message.metadata.insert("out_of_rounds".to_owned(), true.into());
    }
    Ok(response)
}
