//! Finds a time for the event, and proposes the event.

use superstep::{NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{AgentFinding, confidence, json, or_record_error, proposed, validated};
use crate::agents::{slots, time_zone_of, words};
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, TimeRange};
use crate::context::{self, SchedulerContext};
use crate::models::{EventStatus, ValidationStep};
use crate::planning::event_plan::PlannedAction;
use crate::planning::event_request::EventRequest;
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::validate_state_transition;
use crate::zone::NamedTimeZone;

/// Finds a time for the event of the plan.
pub(crate) async fn scheduling(
    state: View<FamilySchedulerState>,
    home: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let worked = search(&state, &home, &cx).await;
    or_record_error(worked, (&state, AgentName::Scheduling.name()), &home, &cx).await
}

async fn search(
    state: &FamilySchedulerState,
    home: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let wrong = |message: String| superstep::Error::new(superstep::ErrorCode::TypeMismatch, message);
    validate_state_transition(state, "scheduling").map_err(wrong)?;
    let (now, board) = (context::now(cx)?, home.snapshot().await?);
    let understood = request_state::understood(state)?;
    let id = request_state::event_id(state).unwrap_or_default();
    let asked = EventRequest { board: &board, who: &state.user_id, understood: &understood, id: &id, now };
    let mut plan = asked.plan()?;
    let event = plan.apply_to(&board, &state.user_id, now)?.next_instance(now)?;
    let wanted = asked.slot_request(&plan, event);
    let found = slots::find_slots(&board, &wanted, now)?;
    let slot = found.candidate_times.first().cloned();
    let zone = time_zone_of(&board, &state.user_id)?;
    let span = slot.as_ref().and_then(|slot| TimeRange::new(slot.start_time, slot.end_time));
    let explanation = match &span {
        Some(span) => format!("The time is {}.", words::format_range(&zone, span)),
        None => format!("I found no free time {}.", search_window_text(&zone, understood.time_window.as_ref())),
    };
    let finding = AgentFinding {
        agent: AgentName::Scheduling,
        step: WorkflowStep::Scheduling,
        confidence: confidence(slot.as_ref().map_or(0.5, |slot| slot.score.value().max(crate::state_utils::SURE))),
        reasoning: format!("{} times looked at closely", found.candidate_times.len()),
        data: json(&found)?,
        explanation: explanation.clone(),
    };
    let update = finding.into_update(state, now).selected_time_slot(slot);
    let Some(span) = span else {
        let failed = validated(ValidationStep::Scheduling, now, vec![explanation]);
        return Ok(update.validation_results(failed).workflow_status(WorkflowStatus::AwaitingUser));
    };
    let is_moved = asked.requested_range().is_some() || understood.time_window.is_some();
    match &mut plan.action {
        PlannedAction::Create(event) => {
            event.span = span;
            propose((**event).clone(), home, &state.user_id).await?;
        }
        PlannedAction::Modify(difference) => difference.time = Some(span).filter(|_| is_moved),
    }
    let event = plan.apply_to(&board, &state.user_id, now)?.next_instance(now)?;
    Ok(update
        .proposed_event(Some(proposed(&event, EventStatus::Proposed)))
        .validation_results(validated(ValidationStep::Scheduling, now, Vec::new()))
        .notes((request_state::PLAN.to_owned(), json(&plan)?)))
}

/// Returns the search window as the end of a sentence: `on Saturday 10 January`.
pub(crate) fn search_window_text(zone: &NamedTimeZone, within: Option<&TimeRange>) -> String {
    let Some(within) = within else { return "in the next two weeks".to_owned() };
    let (start, end) = (zone.to_local(within.start), zone.to_local(within.end));
    let midnight = jiff::civil::Time::midnight();
    let last = end.date().yesterday().unwrap_or(end.date());
    match (start.time() == midnight, end.time() == midnight) {
        (true, true) if start.date() == last => format!("on {}", words::day(last)),
        (true, true) => format!("from {} to {}", words::day(start.date()), words::day(last)),
        _ if start.date() == end.date() => format!("on {}", words::format_range(zone, within)),
        _ => format!("from {}", words::format_range(zone, within)),
    }
}

async fn propose(event: Event, home: &SchedulerContext, who: &str) -> Result<()> {
    let propose = move |board: &CalendarSnapshot| {
        // If the node runs again after a crash, the event exists already, possibly with a later status.
        let is_there = board.events.contains_key(&event.id);
        Ok(if is_there { Vec::new() } else { vec![CalendarChange::Event(Box::new(event))] })
    };
    home.store.change(&home.family_id, who, "propose", propose).await.map(drop)
}
