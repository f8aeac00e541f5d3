//! One visit to an agent of a team: it gets the conversation, and what it said is put into the form the team keeps.
//!
//! A visit is a graph around the agent, so that questions, breakpoints and crashes inside are what they always are.

use serde::{Deserialize, Serialize};

use super::handoff::{HANDOFF, hand_offs};
use super::member::Member;
use super::state::ADDED_BY;
use crate::core::id::derive;
use crate::core::message::{MessageEdit, MessageEdits, Role, ToolCall, ToolStatus};
use crate::{
    Code, Compiled, Cx, END, Error, FromTask, Graph, Message, Messages, Node, NodeError, Persistence, Result, START,
    State, View, node,
};

/// What of an agent's work comes back to its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Results {
    /// What it said last.
    #[default]
    LastMessage,
    /// Everything it said, its calls of tools and their results included.
    FullHistory,
}

#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
#[state(name = "visit")]
pub(super) struct Visit {
    #[reduce(messages)]
    messages: Messages,
    /// Only swarms have one.
    active_agent: Option<String>,
    /// The conversation as it was before: what the agent sums up or leaves out is its own business.
    #[state(private)]
    known: Messages,
}

/// How visits of a team end.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) results: Results,
    /// Whom the agent hands back to, in messages of their own.
    pub(super) back_to: Option<String>,
    /// Whom it may hand over to, where the next one is its choice.
    pub(super) next: Option<Vec<String>>,
}

/// The graph of visits to a member.
pub(super) fn compile<C: Send + Sync + 'static>(member: Member<C>, rules: Rules) -> Result<Compiled<Visit, C>> {
    let mut graph = Graph::<Visit, C>::new(&member.name);
    let brief = |visit: View<Visit>| Visit::update().known(visit.messages.clone());
    let brief = graph.node("brief", node(brief).writes(["known"]));
    let report = Report { agent: member.name.clone(), rules };
    let agent = member.add_to(&mut graph)?;
    let report = graph.node("report", node(report).reads(["known"]).writes(["messages", "active_agent"]));
    graph.sequence([START, brief.into(), agent.into(), report.into(), END]);
    // An agent that remembers its earlier visits finds them only below a path that stays the same.
    graph.persistence(Persistence::PerThread);
    graph.compile()
}

/// Puts what the agent said into the form the team keeps.
struct Report {
    agent: String,
    rules: Rules,
}

impl<C> Node<Visit, C> for Report {
    type Output = VisitUpdate;

    async fn run(&self, cx: Cx) -> Result<VisitUpdate, NodeError> {
        let visit: View<Visit> = FromTask::<Visit, C>::from_task(&cx)?;
        let fresh: Vec<&Message> = visit.messages.iter().filter(|message| !is_in(&visit.known, message)).collect();
        let mut edits: Vec<MessageEdit> = restored(&visit).collect();
        edits.extend(match self.rules.results {
            Results::LastMessage => self.last_message(&fresh),
            Results::FullHistory => fresh.iter().filter_map(|message| self.in_history(message)).collect(),
        });
        if let Some(team) = &self.rules.back_to {
            edits.extend(self.hand_back(team, self.call_id(&visit.messages)).map(MessageEdit::Put));
        }
        let mut update = Visit::update();
        if let Some(allowed) = &self.rules.next {
            let (next, refused) = self.next(&visit, allowed)?;
            edits.extend(refused.into_iter().map(MessageEdit::Put));
            update = update.active_agent(Some(next));
        }
        Ok(if edits.is_empty() { update } else { update.messages(MessageEdits(edits)) })
    }
}

impl Report {
    /// Removes what is new but for the last word, which becomes the agent's own.
    fn last_message(&self, fresh: &[&Message]) -> Vec<MessageEdit> {
        let is_word = |message: &&&Message| matches!(message.role, Role::Assistant | Role::Tool);
        let last = fresh.iter().rev().find(is_word);
        let others = fresh.iter().filter(|message| last.is_none_or(|last| last.id != message.id));
        let mut edits: Vec<MessageEdit> = others.filter_map(|message| removed(message)).collect();
        if let Some(last) = last {
            let mut word = (**last).clone();
            if word.role == Role::Tool {
                (word.role, word.name, word.tool_call_id) = (Role::Assistant, None, None);
            }
            word.tool_calls.clear();
            edits.push(MessageEdit::Put(self.signed(word)));
        }
        edits
    }

    /// What has to be done to a new message that stays: nothing, as a rule.
    fn in_history(&self, message: &Message) -> Option<MessageEdit> {
        if message.metadata.contains_key(ADDED_BY) {
            return removed(message);
        }
        let is_unsigned = message.role == Role::Assistant && message.name.is_none();
        is_unsigned.then(|| MessageEdit::Put(self.signed(message.clone())))
    }

    fn signed(&self, mut message: Message) -> Message {
        message.name.get_or_insert_with(|| self.agent.clone());
        message
    }

    /// The id of the call that hands back: the same in each run that says the same, so that recorded ones can be replayed.
    fn call_id(&self, messages: &Messages) -> String {
        let is_taken = |id: &String| messages.iter().any(|message| message.tool_call_id.as_ref() == Some(id));
        let mut at = messages.len();
        loop {
            let id = format!("{:032x}", derive(&[b"hand back", self.agent.as_bytes(), at.to_string().as_bytes()]));
            if !is_taken(&id) {
                return id;
            }
            at += 1;
        }
    }

    /// A call and its result: a conversation that ends with words of an assistant is one that models answer nothing to.
    fn hand_back(&self, team: &str, id: String) -> [Message; 2] {
        let call = ToolCall::new(id.as_str(), back_name(team), serde_json::json!({}));
        let asks = Message::assistant(format!("Back to {team}.")).with_tool_calls([call.clone()]);
        let answer = Message::tool(id, format!("handed back to {team}")).with_name(call.name);
        [self.signed(asks), answer]
    }

    /// Who is next, and the answers of hand-offs that do not count: one agent is active at a time.
    fn next(&self, visit: &Visit, allowed: &[String]) -> Result<(String, Vec<Message>)> {
        let mut made = hand_offs(&visit.messages);
        // Where the agent has said nothing, the last words are those that handed over to it.
        made.retain(|(message, _)| !is_in(&visit.known, message));
        let Some((_, next)) = made.first() else { return Ok((self.agent.clone(), Vec::new())) };
        if !allowed.iter().any(|name| name == next) {
            let fact = format!("`{}` hands over to `{next}`, and may not", self.agent);
            return Err(
                Error::new(Code::InvalidRoute, fact).help(format!("it may hand over to {}", allowed.join(", ")))
            );
        }
        let others = made.iter().filter(|(_, other)| other != next);
        Ok((next.to_string(), others.map(|(message, _)| refused(message, next)).collect()))
    }
}

/// The name of the call that hands back to a supervisor.
pub(super) fn back_name(team: &str) -> String {
    format!("transfer_back_to_{team}")
}

fn is_in(messages: &Messages, message: &Message) -> bool {
    message.id.as_ref().is_some_and(|id| messages.by_id(id.as_str()).is_some())
}

/// What the agent changed in the conversation, as it was.
fn restored(visit: &Visit) -> impl Iterator<Item = MessageEdit> {
    let before = |message: &Message| visit.known.by_id(message.id.as_ref()?.as_str());
    let changed = visit.messages.iter().filter_map(move |message| before(message).filter(|before| *before != message));
    changed.cloned().map(MessageEdit::Put)
}

fn removed(message: &Message) -> Option<MessageEdit> {
    message.id.clone().map(MessageEdit::Remove)
}

/// The answer of a hand-off that was not made.
fn refused(message: &Message, next: &str) -> Message {
    let mut message = message.clone().with_status(ToolStatus::Error).with_metadata("error", "refused");
    message.metadata.remove(HANDOFF);
    message.content = format!("not executed: the conversation was handed over to {next}").into();
    message
}
