//! The place where a turn begins: who asks, whether they may, and whether the policy lets the question pass.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::error::Problem;
use superstep::core::message::Role;
use superstep::store::{Index, Put, Search};
use superstep::{Code, Ctx, Cx, Error, Message, Messages, NodeError, Overwrite, Result, View};

use crate::desk::Desk;
use crate::memory;
use crate::policy::{Policy, Rule, UnknownUser};
use crate::profile::{Profile, Profiles};
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};
use crate::turn::RULE;

const HOUR: i64 = 3_600_000_000;
/// The most turns of an hour that are looked at, and so the most that there are.
const MOST_TURNS: usize = 10_000;
/// How long a turn is counted at least: an hour, and what clocks may differ by.
const KEPT: Duration = Duration::from_secs(2 * 3_600);

/// Checks who asks what, and begins the turn.
pub(crate) async fn ingress(state: View<Assistant>, desk: Ctx<Desk>, cx: Cx) -> Result<AssistantUpdate, NodeError> {
    questions(&state.messages, &desk.policy)?;
    let profile = profile(&state.user_id, &desk.policy, &desk.profiles)?;
    count_turn(&state.user_id, profile, &desk.policy, &cx).await?;
    let rights = desk.policy.rights(profile);
    let mut known = BTreeMap::from([
        ("name".to_owned(), json!(profile.name)),
        ("role".to_owned(), json!(profile.role)),
        ("permissions".to_owned(), json!(profile.permissions)),
        ("preferences".to_owned(), json!(profile.preferences)),
        ("rights".to_owned(), json!(rights)),
    ]);
    known.retain(|key, value| state.user_context.get(key) != Some(value));
    let (refusal, marked) = screened(&state.messages, &desk.policy);
    let noted = refusal.map(|rule| {
        let note = json!({ "name": rule.name, "answer": rule.answer, "needs_person": rule.needs_person });
        (scratch::REFUSAL.to_owned(), note)
    });
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds since 1970 fit into the 53 bits of a float until 2255"
    )]
    let seconds = cx.now() as f64 / 1e6;
    let mut update = Assistant::update()
        .phase(Phase::Plan)
        .safety_check(refusal.is_none())
        .scratchpad(Overwrite(noted.into_iter().collect::<BTreeMap<String, Value>>()))
        .retry_count(0_u32)
        .start_time(seconds)
        .next_step(None)
        .tool_calls(Vec::new())
        .tool_outputs(Vec::new())
        .verdict(None);
    if !marked.is_empty() {
        update = update.messages(marked);
    }
    if !known.is_empty() {
        update = update.user_context(known);
    }
    if state.session_id.is_empty()
        && let Some(thread) = cx.thread()
    {
        update = update.session_id(thread.as_str());
    }
    Ok(update)
}

impl Assistant {
    /// The input that begins a turn, looked at as the graph does before it saves it.
    ///
    /// # Errors
    /// `InputInvalid` where nothing is asked, `TooLarge` where it is too long, `PolicyRefused` where nobody knows the user.
    pub fn open(desk: &Desk, user: &str, message: &str) -> Result<AssistantUpdate> {
        profile(user, &desk.policy, &desk.profiles)?;
        let message = Message::user(message);
        question(&message, &desk.policy)?;
        Ok(Self::input().user_id(user).messages(message))
    }
}

/// Lets a turn begin whose last message is the user's, when all that they say at once can be looked at.
fn questions(messages: &Messages, policy: &Policy) -> Result<()> {
    let last = messages.last().ok_or_else(|| invalid("there is no message"))?;
    if last.role != Role::User {
        return Err(invalid("the last message is not the user's"));
    }
    messages.iter().rev().take_while(|message| message.role == Role::User).try_for_each(|new| question(new, policy))
}

/// Lets messages pass that have words, and not too many.
fn question(message: &Message, policy: &Policy) -> Result<()> {
    let (text, limit) = (message.text(), policy.message_bytes());
    if text.trim().is_empty() {
        return Err(invalid("the message has no words"));
    }
    if text.len() > limit {
        let fact = format!("the message has {} bytes, and may have {limit}", text.len());
        return Err(Error::new(Code::TooLarge, fact).help("send a shorter one"));
    }
    Ok(())
}

fn invalid(message: &str) -> Error {
    let problem = Problem { pointer: "/messages".to_owned(), message: message.to_owned(), help: None };
    let fact = format!("a turn cannot begin like this: {message}");
    Error::listing(Code::InputInvalid, fact, vec![problem])
}

/// The rule that stops the turn, and the messages that break one: the same, marked, so that the user still sees them, and
/// models never do.
///
/// An input may have several messages, at any place by their ids; so all of the user's are looked at in every turn. One that
/// is marked is told no model anyway, and stops no turn again; the last is what is asked, whatever mark it came with.
fn screened<'a>(messages: &Messages, policy: &'a Policy) -> (Option<&'a Rule>, Vec<Message>) {
    let (mut refusal, mut marked) = (None, Vec::new());
    for (place, message) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::User) {
        let is_known = message.metadata.contains_key(RULE) && place + 1 < messages.len();
        if let Some(rule) = policy.rule_against(&message.text()).filter(|_| !is_known) {
            marked.push(message.clone().with_metadata(RULE, rule.name.as_str()));
            refusal = Some(rule);
        }
    }
    (refusal, marked)
}

fn profile<'a>(user: &str, policy: &Policy, profiles: &'a Profiles) -> Result<&'a Profile> {
    let guest = || profiles.get("guest").filter(|_| policy.unknown_user() == UnknownUser::Guest);
    profiles
        .get(user)
        .or_else(guest)
        .ok_or_else(|| Error::new(Code::PolicyRefused, format!("nobody knows the user `{user}` (rule `unknown_user`)")))
}

/// Counts the turns of an hour, each once, however often it is begun. Each is an item of its own, so that of those which
/// begin at once all count, and the first ones pass; one that is refused counts no more.
async fn count_turn(user: &str, profile: &Profile, policy: &Policy, cx: &Cx) -> Result<(), NodeError> {
    let (Some(limit), Ok(store)) = (policy.turns_per_hour(&profile.role), cx.store()) else { return Ok(()) };
    let (hour, turn) = (cx.now() / HOUR, cx.idempotency_key().to_string());
    let [users, user, turns] = memory::within(user, "turns");
    let place = [users, user, turns, hour.to_string()];
    let counted = Put::new(place.clone(), turn.as_str(), true).index(Index::None);
    store.put_with(counted.lasts(KEPT)).await?;
    let (allowed, most) = (usize::try_from(limit).unwrap_or(MOST_TURNS), MOST_TURNS);
    let begun = store.search(Search::new(place.clone()).limit(most).refresh(false)).await?;
    let began = |key: &str| begun.iter().map(|hit| &hit.item).find(|item| item.key == key).map(|item| item.created_at);
    let own = (began(&turn), &turn);
    let before = begun.iter().filter(|hit| (Some(hit.item.created_at), &hit.item.key) < own).count();
    if before >= allowed || begun.len() == most {
        store.delete(place, turn).await?;
        let fact = format!("{limit} turns in an hour are allowed (rule `turns_per_hour`)");
        return Err(Error::new(Code::PolicyRefused, fact).help("go on in the next hour").into());
    }
    Ok(())
}
