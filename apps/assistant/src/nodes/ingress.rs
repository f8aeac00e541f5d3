//! Ingress node: checks the user, counts the turn against the rate limit and applies the policy to the question.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::error::Diagnostic;
use superstep::core::message::Role;
use superstep::store::{IndexFields, PutOp, SearchOp};
use superstep::{Error, ErrorCode, Message, Messages, NodeError, Overwrite, Result, RunContext, TaskContext, View};

use crate::context::AssistantContext;
use crate::current_turn::RULE;
use crate::memory;
use crate::policy::{Policy, PolicyRule, UnknownUser};
use crate::profile::{Profile, Profiles};
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};

const HOUR: i64 = 3_600_000_000;
/// Maximum number of turns per hour that are read, and therefore the highest effective limit.
const MAX_TURNS: usize = 10_000;
/// Minimum retention of a counted turn: one hour plus clock skew.
const TURN_RETENTION: Duration = Duration::from_secs(2 * 3_600);

/// Checks user and question and starts the turn.
pub(crate) async fn ingress(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    validate_messages(&state.messages, &context.policy)?;
    let profile = profile(&state.user_id, &context.policy, &context.profiles)?;
    count_turn(&state.user_id, profile, &context.policy, &cx).await?;
    let permissions = context.policy.permissions(profile);
    let mut user_data = BTreeMap::from([
        ("name".to_owned(), json!(profile.name)),
        ("role".to_owned(), json!(profile.role)),
        ("permissions".to_owned(), json!(profile.permissions)),
        ("preferences".to_owned(), json!(profile.preferences)),
        ("rights".to_owned(), json!(permissions)),
    ]);
    user_data.retain(|key, value| state.user_context.get(key) != Some(value));
    let (violated_rule, marked_messages) = apply_policy_rules(&state.messages, &context.policy);
    let rejection = violated_rule.map(|rule| {
        let entry = json!({ "name": rule.name, "answer": rule.answer, "needs_person": rule.needs_person });
        (scratchpad::REJECTION.to_owned(), entry)
    });
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds since 1970 fit into the 53 bits of a float until 2255"
    )]
    let seconds = cx.now() as f64 / 1e6;
    let mut update = AgentState::update()
        .phase(Phase::Plan)
        .safety_check(violated_rule.is_none())
        .scratchpad(Overwrite(rejection.into_iter().collect::<BTreeMap<String, Value>>()))
        .retry_count(0_u32)
        .start_time(seconds)
        .next_step(None)
        .tool_calls(Vec::new())
        .tool_outputs(Vec::new())
        .verdict(None);
    if !marked_messages.is_empty() {
        update = update.messages(marked_messages);
    }
    if !user_data.is_empty() {
        update = update.user_context(user_data);
    }
    if state.session_id.is_empty()
        && let Some(thread) = cx.thread_id()
    {
        update = update.session_id(thread.as_str());
    }
    Ok(update)
}

impl AgentState {
    /// Returns the input of a turn, after the same checks that the graph makes before saving the input.
    ///
    /// # Errors
    /// Returns `InputInvalid` if the message has no text, `TooLarge` if the message is too long, and
    /// `PolicyRefused` if the user is unknown.
    pub fn turn_input(context: &AssistantContext, user: &str, message: &str) -> Result<AgentStateUpdate> {
        profile(user, &context.policy, &context.profiles)?;
        let message = Message::user(message);
        validate_message(&message, &context.policy)?;
        Ok(Self::input().user_id(user).messages(message))
    }
}

/// Accepts an input whose last message is from the user, if all messages of the user can be checked.
fn validate_messages(messages: &Messages, policy: &Policy) -> Result<()> {
    let last = messages.last().ok_or_else(|| invalid("the input has no message"))?;
    if last.role != Role::User {
        return Err(invalid("the last message is not from the user"));
    }
    messages
        .iter()
        .rev()
        .take_while(|message| message.role == Role::User)
        .try_for_each(|new| validate_message(new, policy))
}

/// Accepts messages with text up to the size limit.
fn validate_message(message: &Message, policy: &Policy) -> Result<()> {
    let (text, limit) = (message.text(), policy.message_bytes());
    if text.trim().is_empty() {
        return Err(invalid("the message is empty"));
    }
    if text.len() > limit {
        let problem = format!("the message has {} bytes; the maximum is {limit}", text.len());
        return Err(Error::new(ErrorCode::TooLarge, problem).with_help("send a shorter message"));
    }
    Ok(())
}

fn invalid(message: &str) -> Error {
    let problem = Diagnostic { pointer: "/messages".to_owned(), message: message.to_owned(), help: None };
    let summary = format!("invalid input: {message}");
    Error::with_diagnostics(ErrorCode::InputInvalid, summary, vec![problem])
}

/// Returns the rule that stops the turn, and all messages that break a rule, marked so that the user still sees
/// them and models never do.
///
/// An input may contain several messages and may place them by id, so every turn checks all messages of the user. A
/// message that is already marked is hidden from models and does not stop a later turn; the last message is the
/// question and is checked whatever mark it has.
fn apply_policy_rules<'a>(messages: &Messages, policy: &'a Policy) -> (Option<&'a PolicyRule>, Vec<Message>) {
    let (mut violated_rule, mut marked_messages) = (None, Vec::new());
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::User) {
        let is_marked = message.metadata.contains_key(RULE) && index + 1 < messages.len();
        if let Some(rule) = policy.matching_rule(&message.text()).filter(|_| !is_marked) {
            marked_messages.push(message.clone().with_metadata(RULE, rule.name.as_str()));
            violated_rule = Some(rule);
        }
    }
    (violated_rule, marked_messages)
}

fn profile<'a>(user: &str, policy: &Policy, profiles: &'a Profiles) -> Result<&'a Profile> {
    let guest = || profiles.get("guest").filter(|_| policy.unknown_user() == UnknownUser::Guest);
    profiles
        .get(user)
        .or_else(guest)
        .ok_or_else(|| Error::new(ErrorCode::PolicyRefused, format!("unknown user `{user}` (rule `unknown_user`)")))
}

/// Counts the turns of the last hour. The idempotency key counts a turn once, even if the node runs again. Each
/// turn is one item, so that concurrent turns all count and the first ones pass; a rejected turn is not counted.
async fn count_turn(user: &str, profile: &Profile, policy: &Policy, cx: &TaskContext) -> Result<(), NodeError> {
    let (Some(limit), Ok(store)) = (policy.turns_per_hour(&profile.role), cx.store()) else { return Ok(()) };
    let (hour, turn) = (cx.now() / HOUR, cx.idempotency_key().to_string());
    let [users, user, turns] = memory::user_namespace(user, "turns");
    let namespace = [users, user, turns, hour.to_string()];
    let item_op = PutOp::new(namespace.clone(), turn.as_str(), true).index(IndexFields::None);
    store.put_with(item_op.ttl(TURN_RETENTION)).await?;
    let (max_turns, max_read) = (usize::try_from(limit).unwrap_or(MAX_TURNS), MAX_TURNS);
    let hits = store.search(SearchOp::new(namespace.clone()).limit(max_read).refresh(false)).await?;
    let created_at =
        |key: &str| hits.iter().map(|hit| &hit.item).find(|item| item.key == key).map(|item| item.created_at);
    let this_turn = (created_at(&turn), &turn);
    let earlier = hits.iter().filter(|hit| (Some(hit.item.created_at), &hit.item.key) < this_turn).count();
    if earlier >= max_turns || hits.len() == max_read {
        store.delete(namespace, turn).await?;
        let message = format!("at most {limit} turns per hour are allowed (rule `turns_per_hour`)");
        return Err(Error::new(ErrorCode::PolicyRefused, message).with_help("try again in an hour").into());
    }
    Ok(())
}
