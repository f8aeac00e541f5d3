//! Finds a time for the event, and proposes the event.

use superstep::{NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{AgentFinding, confidence, json, or_record_error, proposed, validated};
use crate::agents::{format, slots, time_zone_of};
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, TimeRange};
use crate::context::SchedulerContext;
use crate::models::{EventStatus, ValidationStep};
use crate::planning::event_plan::PlannedAction;
use crate::planning::event_request::EventRequest;
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::validate_state_transition;
use crate::time_zone::NamedTimeZone;

/// Finds a time for the event of the plan.
pub(crate) async fn scheduling(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let result = search(&state, &context, &cx).await;
    or_record_error(result, (&state, AgentName::Scheduling.name()), &context, &cx).await
}

async fn search(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let type_mismatch = |message: String| superstep::Error::new(superstep::ErrorCode::TypeMismatch, message);
    validate_state_transition(state, "scheduling").map_err(type_mismatch)?;
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let parsed = request_state::parsed_request(state)?;
    let id = request_state::event_id(state).unwrap_or_default();
    let event_request = EventRequest { snapshot: &snapshot, user_id: &state.user_id, parsed: &parsed, id: &id, now };
    let mut plan = event_request.plan()?;
    let event = plan.apply_to(&snapshot, &state.user_id, now)?.next_instance(now)?;
    let slot_request = event_request.slot_request(&plan, event);
    let scheduling_data = slots::find_slots(&snapshot, &slot_request, now)?;
    let slot = scheduling_data.candidate_times.first().cloned();
    let zone = time_zone_of(&snapshot, &state.user_id)?;
    let span = slot.as_ref().and_then(|slot| TimeRange::new(slot.start_time, slot.end_time));
    let explanation = match &span {
        Some(span) => format!("The time is {}.", format::format_range(&zone, span)),
        None => format!("I found no free time {}.", search_window_text(&zone, parsed.time_window.as_ref())),
    };
    let finding = AgentFinding {
        agent: AgentName::Scheduling,
        step: WorkflowStep::Scheduling,
        confidence: confidence(
            slot.as_ref().map_or(0.5, |slot| slot.score.value().max(crate::state_utils::CONFIDENCE_THRESHOLD)),
        ),
        reasoning: format!("{} candidate times evaluated", scheduling_data.candidate_times.len()),
        data: json(&scheduling_data)?,
        explanation: explanation.clone(),
    };
    let update = finding.into_update(state, now).selected_time_slot(slot);
    let Some(span) = span else {
        let failed = validated(ValidationStep::Scheduling, now, vec![explanation]);
        return Ok(update.validation_results(failed).workflow_status(WorkflowStatus::AwaitingUser));
    };
    let is_moved = event_request.requested_range().is_some() || parsed.time_window.is_some();
    match &mut plan.action {
        PlannedAction::Create(event) => {
            event.span = span;
            propose((**event).clone(), context, &state.user_id).await?;
        }
        PlannedAction::Modify(modification) => modification.time = Some(span).filter(|_| is_moved),
    }
    let event = plan.apply_to(&snapshot, &state.user_id, now)?.next_instance(now)?;
    Ok(update
        .proposed_event(Some(proposed(&event, EventStatus::Proposed)))
        .validation_results(validated(ValidationStep::Scheduling, now, Vec::new()))
        .notes((request_state::PLAN.to_owned(), json(&plan)?)))
}

/// Returns the search window as the end of a sentence: `on Saturday 10 January`.
pub(crate) fn search_window_text(zone: &NamedTimeZone, window: Option<&TimeRange>) -> String {
    let Some(window) = window else { return "in the next two weeks".to_owned() };
    let (start, end) = (zone.to_local(window.start), zone.to_local(window.end));
    let midnight = jiff::civil::Time::midnight();
    let last = end.date().yesterday().unwrap_or(end.date());
    match (start.time() == midnight, end.time() == midnight) {
        (true, true) if start.date() == last => format!("on {}", format::format_date(last)),
        (true, true) => format!("from {} to {}", format::format_date(start.date()), format::format_date(last)),
        _ if start.date() == end.date() => format!("on {}", format::format_range(zone, window)),
        _ => format!("from {}", format::format_range(zone, window)),
    }
}

async fn propose(event: Event, context: &SchedulerContext, user_id: &str) -> Result<()> {
    let propose = move |snapshot: &CalendarSnapshot| {
        // If the node runs again after a crash, the event exists already, possibly with a later status.
        let is_there = snapshot.events.contains_key(&event.id);
        Ok(if is_there { Vec::new() } else { vec![CalendarChange::Event(Box::new(event))] })
    };
    context.store.change(&context.family_id, user_id, "propose", propose).await.map(drop)
}
