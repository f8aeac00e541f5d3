//! The three voices. Each sends all that was said, and a cue, and returns one message; weights are sent less (see `brief`).

use std::sync::Arc;

use superstep::model::{ModelKind, Request, Trouble};
use superstep::{Command, Ctx, Cx, Message, NodeError, View};

use super::{brief, now};
use crate::fact::{FactCheckResult, Verdict};
use crate::hall::{FactCheck, Hall};
use crate::prompt::{Cue, Role};
use crate::state::{Debate, DebateUpdate, Status};

/// Speaks for the topic. A debate without one ends here.
pub(crate) async fn optimist(debate: View<Debate>, hall: Ctx<Hall>, cx: Cx) -> Result<DebateUpdate, NodeError> {
    let update = Debate::update();
    let begins = debate.start_time.is_none() && debate.turns().next().is_none();
    // An input that does not say when it was given was given just now.
    let update = if begins { update.start_time(now(&cx)?) } else { update };
    if debate.topic.trim().is_empty() {
        let said = Message::assistant("Error: No topic provided");
        return Ok(update.messages(said).status(Status::Error).end_time(now(&cx)?));
    }
    let said = speak(Role::Optimist, &debate, &hall, &cx).await?;
    Ok(with_message(update, said))
}

/// Speaks against what was said last, and ends the round.
pub(crate) async fn skeptic(debate: View<Debate>, hall: Ctx<Hall>, cx: Cx) -> Result<Command<Debate>, NodeError> {
    let said = speak(Role::Skeptic, &debate, &hall, &cx).await?;
    let round = debate.round + 1;
    let is_last = round >= debate.max_rounds;
    let asks = hall.asks_after(round, &debate);
    let mut update = with_message(Debate::update(), said).round(round);
    if asks != debate.awaiting_approval {
        // Written here, so that it is saved before the person is asked; and where nobody is, nobody is waited for.
        update = update.awaiting_approval(asks);
    }
    let command = Command::new().update(update);
    let checks = match hall.fact_check {
        FactCheck::Off => false,
        FactCheck::EachRound => true,
        FactCheck::AtEnd => is_last && !asks,
    };
    Ok(match (asks, checks) {
        // Along the drawn edges.
        (false, false) => command,
        (true, false) => command.and_goto("approval"),
        (true, true) => command.and_goto("approval").and_goto("fact_check"),
        (false, true) if is_last => command.and_goto("fact_check"),
        (false, true) => command.and_goto("optimist").and_goto("fact_check"),
    })
}

/// Sums up, and ends the debate.
pub(crate) async fn moderator(debate: View<Debate>, hall: Ctx<Hall>, cx: Cx) -> Result<DebateUpdate, NodeError> {
    let mut said = speak(Role::Moderator, &debate, &hall, &cx).await?;
    if let Some(end) = ended_by_user(&debate)
        && !said.text().contains(&end)
    {
        // A model may leave it out, and it must be known why there are fewer rounds than were asked for.
        said.content = format!("{}\n\nThe debate was {end}.", said.text()).into();
    }
    Ok(with_message(Debate::update(), said).status(Status::Completed).end_time(now(&cx)?))
}

async fn speak(role: Role, debate: &Debate, hall: &Hall, cx: &Cx) -> Result<Message, NodeError> {
    debate.check()?;
    let round = match role {
        Role::Moderator => debate.round,
        Role::Optimist | Role::Skeptic => debate.round + 1,
    };
    let notes = if role == Role::Moderator { notes(debate) } else { Vec::new() };
    let cue = Cue { role, round, rounds: debate.max_rounds, topic: debate.topic.clone(), notes };
    let answer = match hall.model.info().kind {
        ModelKind::Weights => {
            let request = brief::request(&cue, debate, hall, cx);
            brief::whole(cx.model(&hall.model).request(request).await?)
        }
        ModelKind::Rules | ModelKind::Remote => {
            let said = debate.messages.shared().cloned().chain([Arc::new(cue.message())]);
            cx.model(&hall.model).request(Request::new(said)).await?
        }
    };
    if answer.message.text().trim().is_empty() {
        return Err(Trouble::BadAnswer.error(&answer.model, "the answer has no text").into());
    }
    Ok(answer.message.with_name(role.name()).with_metadata("round", round))
}

fn with_message(update: DebateUpdate, said: Message) -> DebateUpdate {
    let tokens = said.usage.as_ref().map_or(0, |usage| usage.total_tokens);
    update.messages(said).token_usage(tokens)
}

/// What the moderator must know beside what was said.
fn notes(debate: &Debate) -> Vec<String> {
    let results = debate.fact_check_results.iter().map(verdict);
    results
        .chain(debate.remarks().map(|remark| format!("the user said: {remark}")))
        .chain(ended_by_user(debate))
        .collect()
}

fn verdict(result: &FactCheckResult) -> String {
    let FactCheckResult { claim, verdict, sources } = result;
    let verdict = match verdict {
        Verdict::True => "true",
        Verdict::False => "false",
        Verdict::Unverifiable => "unverifiable",
    };
    let sources = if sources.is_empty() { String::new() } else { format!(" ({})", sources.join(", ")) };
    format!("the claim \"{claim}\" is {verdict}{sources}")
}

fn ended_by_user(debate: &Debate) -> Option<String> {
    (debate.user_approved == Some(false)).then(|| format!("ended by the user after round {}", debate.round))
}
