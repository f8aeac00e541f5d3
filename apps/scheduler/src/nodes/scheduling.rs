//! Finds a time, and proposes the event.

use superstep::{Ctx, Cx, NodeError, Result, View};

use super::told::{Finding, json, or_failed, proposed, sure, validated};
use crate::agents::{slots, words, zone_of};
use crate::calendar::{Board, Change, Event, Span};
use crate::draft::Asked;
use crate::home::{self, Home};
use crate::models::{EventStatus, ValidationStep};
use crate::notes;
use crate::plan::Wish;
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::workflow::validate_state_transition;
use crate::zone::Zone;

/// Finds a time.
pub(crate) async fn scheduling(state: View<Scheduler>, home: Ctx<Home>, cx: Cx) -> Result<SchedulerUpdate, NodeError> {
    let worked = search(&state, &home, &cx).await;
    or_failed(worked, (&state, Agent::Scheduling.name()), &home, &cx).await
}

async fn search(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let wrong = |message: String| superstep::Error::new(superstep::Code::TypeMismatch, message);
    validate_state_transition(state, "scheduling").map_err(wrong)?;
    let (now, board) = (home::now(cx)?, home.board().await?);
    let understood = notes::understood(state)?;
    let id = notes::event_id(state).unwrap_or_default();
    let asked = Asked { board: &board, who: &state.user_id, understood: &understood, id: &id, now };
    let mut plan = asked.plan()?;
    let event = plan.on(&board, &state.user_id, now)?.shown(now)?;
    let wanted = asked.wanted(&plan, event);
    let found = slots::find(&board, &wanted, now)?;
    let slot = found.candidate_times.first().cloned();
    let zone = zone_of(&board, &state.user_id)?;
    let span = slot.as_ref().and_then(|slot| Span::new(slot.start_time, slot.end_time));
    let explanation = match &span {
        Some(span) => format!("The time is {}.", words::stretch(&zone, span)),
        None => format!("I found no free time {}.", looked_at(&zone, understood.within.as_ref())),
    };
    let finding = Finding {
        agent: Agent::Scheduling,
        step: Step::Scheduling,
        confidence: sure(slot.as_ref().map_or(0.5, |slot| slot.score.value().max(crate::workflow::SURE))),
        reasoning: format!("{} times looked at closely", found.candidate_times.len()),
        data: json(&found)?,
        explanation: explanation.clone(),
    };
    let update = finding.told(state, now).selected_time_slot(slot);
    let Some(span) = span else {
        let failed = validated(ValidationStep::Scheduling, now, vec![explanation]);
        return Ok(update.validation_results(failed).workflow_status(WorkflowStatus::AwaitingUser));
    };
    let is_moved = asked.given().is_some() || understood.within.is_some();
    match &mut plan.wish {
        Wish::New(event) => {
            event.span = span;
            propose((**event).clone(), home, &state.user_id).await?;
        }
        Wish::Other(difference) => difference.time = Some(span).filter(|_| is_moved),
    }
    let event = plan.on(&board, &state.user_id, now)?.shown(now)?;
    Ok(update
        .proposed_event(Some(proposed(&event, EventStatus::Proposed)))
        .validation_results(validated(ValidationStep::Scheduling, now, Vec::new()))
        .notes((notes::PLAN.to_owned(), json(&plan)?)))
}

/// Where a time was looked for, at the end of a sentence: `on Saturday 10 January`.
pub(super) fn looked_at(zone: &Zone, within: Option<&Span>) -> String {
    let Some(within) = within else { return "in the next two weeks".to_owned() };
    let (start, end) = (zone.wall(within.start), zone.wall(within.end));
    let midnight = jiff::civil::Time::midnight();
    let last = end.date().yesterday().unwrap_or(end.date());
    match (start.time() == midnight, end.time() == midnight) {
        (true, true) if start.date() == last => format!("on {}", words::day(last)),
        (true, true) => format!("from {} to {}", words::day(start.date()), words::day(last)),
        _ if start.date() == end.date() => format!("on {}", words::stretch(zone, within)),
        _ => format!("from {}", words::stretch(zone, within)),
    }
}

async fn propose(event: Event, home: &Home, who: &str) -> Result<()> {
    let propose = move |board: &Board| {
        // Somebody who runs this again after a crash finds what was written, further on its way or not.
        let is_there = board.events.contains_key(&event.id);
        Ok(if is_there { Vec::new() } else { vec![Change::Event(Box::new(event))] })
    };
    home.calendars.change(&home.family, who, "propose", propose).await.map(drop)
}
