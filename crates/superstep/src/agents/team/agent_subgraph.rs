//! Wrapper graph of an agent in a team: passes the conversation to the agent, and converts its new messages for the
//! team.
//!
//! The agent is a subgraph, so that interrupts, breakpoints and crashes inside the agent behave as in any other
//! graph.

use serde::{Deserialize, Serialize};

use crate::agents::handoff::{HANDOFF, trailing_handoffs};
use crate::agents::state::ADDED_BY;
use crate::agents::team::member::TeamMember;
use crate::core::id::hash_id;
use crate::core::message::{MessageUpdate, MessageUpdates, Role, ToolCall, ToolStatus};
use crate::node;
use crate::{
    CompiledGraph, END, Error, ErrorCode, FromTask, GraphState, Message, Messages, Node, NodeError, Result, START,
    StateGraph, SubgraphPersistence, TaskContext, View,
};

/// Messages of an agent that are added to the conversation of its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OutputMode {
    /// Only the last message.
    #[default]
    LastMessage,
    /// All messages, including tool calls and their results.
    FullHistory,
}

#[derive(GraphState, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "visit")]
pub(crate) struct AgentSubgraphState {
    #[reduce(messages)]
    messages: Messages,
    /// Used by swarms only.
    active_agent: Option<String>,
    /// The conversation before the agent ran. Summaries and removals inside the agent do not affect the team.
    #[state(private)]
    #[serde(rename = "known")]
    #[state(rename = "known")]
    messages_before: Messages,
}

/// Options of the wrapper graph of an agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentSubgraphOptions {
    pub(crate) results: OutputMode,
    /// Name of the supervisor to which the agent returns with handoff-back messages.
    pub(crate) handoff_back_to: Option<String>,
    /// Allowed handoff targets, if the agent chooses the next agent.
    pub(crate) next: Option<Vec<String>>,
}

/// Builds the wrapper graph of a member.
pub(crate) fn compile<C: Send + Sync + 'static>(
    member: TeamMember<C>,
    options: AgentSubgraphOptions,
) -> Result<CompiledGraph<AgentSubgraphState, C>> {
    let mut graph = StateGraph::<AgentSubgraphState, C>::new(&member.name);
    let save = |state: View<AgentSubgraphState>| AgentSubgraphState::update().messages_before(state.messages.clone());
    let save = graph.add_node("brief", node(save).writes(["known"]));
    let collect = CollectOutput { agent: member.name.clone(), options };
    let agent = member.add_to(&mut graph)?;
    let collect = graph.add_node("report", node(collect).reads(["known"]).writes(["messages", "active_agent"]));
    graph.add_sequence([START, save.into(), agent.into(), collect.into(), END]);
    // An agent with memory finds its earlier checkpoints only in a namespace that stays the same.
    graph.subgraph_persistence(SubgraphPersistence::PerThread);
    graph.compile()
}

/// Node that converts the messages of the agent for the team.
struct CollectOutput {
    agent: String,
    options: AgentSubgraphOptions,
}

impl<C> Node<AgentSubgraphState, C> for CollectOutput {
    type Output = AgentSubgraphStateUpdate;

    async fn run(&self, cx: TaskContext) -> Result<AgentSubgraphStateUpdate, NodeError> {
        let state: View<AgentSubgraphState> = FromTask::<AgentSubgraphState, C>::from_task(&cx)?;
        let new_messages: Vec<&Message> =
            state.messages.iter().filter(|message| !is_in(&state.messages_before, message)).collect();
        let mut edits: Vec<MessageUpdate> = restoring_edits(&state).collect();
        edits.extend(match self.options.results {
            OutputMode::LastMessage => self.last_message(&new_messages),
            OutputMode::FullHistory => new_messages.iter().filter_map(|message| self.in_history(message)).collect(),
        });
        if let Some(team) = &self.options.handoff_back_to {
            edits.extend(self.handoff_back_messages(team, self.call_id(&state.messages)).map(MessageUpdate::Put));
        }
        let mut update = AgentSubgraphState::update();
        if let Some(allowed) = &self.options.next {
            let (next, rejected) = self.next(&state, allowed)?;
            edits.extend(rejected.into_iter().map(MessageUpdate::Put));
            update = update.active_agent(Some(next));
        }
        Ok(if edits.is_empty() { update } else { update.messages(MessageUpdates(edits)) })
    }
}

impl CollectOutput {
    /// Removes all new messages except the last one, which is converted into a message of the agent.
    fn last_message(&self, new_messages: &[&Message]) -> Vec<MessageUpdate> {
        let is_output = |message: &&&Message| matches!(message.role, Role::Assistant | Role::Tool);
        let last = new_messages.iter().rev().find(is_output);
        let others = new_messages.iter().filter(|message| last.is_none_or(|last| last.id != message.id));
        let mut edits: Vec<MessageUpdate> = others.filter_map(|message| removal(message)).collect();
        if let Some(last) = last {
            let mut message = (**last).clone();
            if message.role == Role::Tool {
                (message.role, message.name, message.tool_call_id) = (Role::Assistant, None, None);
            }
            message.tool_calls.clear();
            edits.push(MessageUpdate::Put(self.with_agent_name(message)));
        }
        edits
    }

    /// Returns the edit of a new message that stays, or `None` if it stays unchanged.
    fn in_history(&self, message: &Message) -> Option<MessageUpdate> {
        if message.metadata.contains_key(ADDED_BY) {
            return removal(message);
        }
        let is_unsigned = message.role == Role::Assistant && message.name.is_none();
        is_unsigned.then(|| MessageUpdate::Put(self.with_agent_name(message.clone())))
    }

    fn with_agent_name(&self, mut message: Message) -> Message {
        message.name.get_or_insert_with(|| self.agent.clone());
        message
    }

    /// Returns the id of the handoff-back call. The id depends only on the messages, so that recorded model calls can
    /// be replayed.
    fn call_id(&self, messages: &Messages) -> String {
        let is_taken = |id: &String| messages.iter().any(|message| message.tool_call_id.as_ref() == Some(id));
        let mut at = messages.len();
        loop {
            let id = format!("{:032x}", hash_id(&[b"hand back", self.agent.as_bytes(), at.to_string().as_bytes()]));
            if !is_taken(&id) {
                return id;
            }
            at += 1;
        }
    }

    /// Returns a handoff-back call and its result. Without them the conversation would end with an assistant message,
    /// to which some models do not respond.
    fn handoff_back_messages(&self, team: &str, id: String) -> [Message; 2] {
        let call = ToolCall::new(id.as_str(), handoff_back_name(team), serde_json::json!({}));
        let call_message = Message::assistant(format!("Transferring back to {team}.")).with_tool_calls([call.clone()]);
        let tool_result = Message::tool(id, format!("transferred back to {team}")).with_name(call.name);
        [self.with_agent_name(call_message), tool_result]
    }

    /// Returns the next agent, with the results of ignored handoffs: one agent is active at a time.
    fn next(&self, state: &AgentSubgraphState, allowed: &[String]) -> Result<(String, Vec<Message>)> {
        let mut handoffs = trailing_handoffs(&state.messages);
        // If the agent has added no message, the last messages are those of the handoff to it.
        handoffs.retain(|(message, _)| !is_in(&state.messages_before, message));
        let Some((_, next)) = handoffs.first() else { return Ok((self.agent.clone(), Vec::new())) };
        if !allowed.iter().any(|name| name == next) {
            let fact = format!("agent `{}` may not hand off to `{next}`", self.agent);
            return Err(Error::new(ErrorCode::InvalidRoute, fact)
                .with_help(format!("permitted targets: {}", allowed.join(", "))));
        }
        let others = handoffs.iter().filter(|(_, other)| other != next);
        Ok((next.to_string(), others.map(|(message, _)| rejected_handoff(message, next)).collect()))
    }
}

/// Returns the name of the call that returns to a supervisor.
pub(crate) fn handoff_back_name(team: &str) -> String {
    format!("transfer_back_to_{team}")
}

fn is_in(messages: &Messages, message: &Message) -> bool {
    message.id.as_ref().is_some_and(|id| messages.by_id(id.as_str()).is_some())
}

/// Returns edits that undo the agent's changes to earlier messages.
fn restoring_edits(state: &AgentSubgraphState) -> impl Iterator<Item = MessageUpdate> {
    let before = |message: &Message| state.messages_before.by_id(message.id.as_ref()?.as_str());
    let changed = state.messages.iter().filter_map(move |message| before(message).filter(|before| *before != message));
    changed.cloned().map(MessageUpdate::Put)
}

fn removal(message: &Message) -> Option<MessageUpdate> {
    message.id.clone().map(MessageUpdate::Remove)
}

/// Returns the result of a handoff that was not executed.
fn rejected_handoff(message: &Message, next: &str) -> Message {
    let mut message = message.clone().with_status(ToolStatus::Error).with_metadata("error", "refused");
    message.metadata.remove(HANDOFF);
    message.content = format!("not executed: the conversation was transferred to {next}").into();
    message
}
