//! Writes the calendar: a new event, a modification, or a cancellation. Everything is checked again inside the
//! transaction.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Interrupts, NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{json, or_record_error, proposed, reject_proposal, with_final_answer};
use crate::agents::{can_modify_instances, format, time_zone_of, visible_title};
use crate::calendar::series::{self, SeriesSelection};
use crate::calendar::{CalendarSnapshot, Event, TimeRange};
use crate::context::SchedulerContext;
use crate::models::{EventStatus, EventType, ProposedEvent};
use crate::planning::event_plan::EventTarget;
use crate::state::request_state::{self, ConfirmationDecision};
use crate::state::{FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::{validate_state_transition, with_transition};
use crate::store::IdempotentResult;
use crate::store::audit::{AuditEntry, RecordKind};

/// Answer to a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationAnswer {
    /// Write the change to the calendar.
    pub confirm: bool,
}

/// Writes the calendar, after a confirmation by the user if one is required.
pub(crate) async fn confirm_event(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
    interrupts: Interrupts,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let is_cancel = state.parsed_event_data.as_ref().is_some_and(|data| data.event_type == EventType::Cancel);
    let decision = match request_state::decision(&state) {
        // The user answered before, and then the calendar store was unavailable.
        Some(decision) => decision,
        None => {
            let question = cx.once("question", confirmation_question(&state, &context, is_cancel)).await;
            let question: Option<String> = match question {
                Ok(question) => question,
                Err(error) => {
                    return or_record_error(Err(error.into_error()), (&state, "confirm_event"), &context, &cx).await;
                }
            };
            let confirm = match question {
                Some(question) => ask_user(&state, &interrupts, question).await?,
                None => true,
            };
            ConfirmationDecision { confirm, task: cx.idempotency_key().to_string() }
        }
    };
    let result = match (decision.confirm, is_cancel) {
        (false, _) => decline(&state, &context, &cx).await,
        (true, true) => write_cancellation(&state, &context, &cx, &decision.task).await,
        (true, false) => write_confirmed(&state, &context, &cx, &decision.task).await,
    };
    match result {
        Ok(update) => Ok(update),
        failed => {
            let update = or_record_error(failed, (&state, "confirm_event"), &context, &cx).await?;
            Ok(update.notes((request_state::DECISION.to_owned(), json(&decision)?)))
        }
    }
}

async fn ask_user(state: &FamilySchedulerState, interrupts: &Interrupts, question: String) -> Result<bool, NodeError> {
    let payload = json!({ "kind": "confirmation", "question": question, "understood": state.parsed_event_data });
    let answer: ConfirmationAnswer = interrupts.raise("confirmation", payload).await?;
    Ok(answer.confirm)
}

/// Returns the confirmation question in the time zone of the user; `None` if no confirmation is required.
async fn confirmation_question(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    is_cancel: bool,
) -> Result<Option<String>> {
    let snapshot = context.snapshot().await?;
    let zone = time_zone_of(&snapshot, &state.user_id)?;
    if !is_cancel {
        let Some(event) = state.proposed_event.as_ref().filter(|_| request_state::must_ask(state)) else {
            return Ok(None);
        };
        let span = TimeRange { start: event.start_time, end: event.end_time };
        let (title, when) = (format::quoted(&event.title), format::format_range(&zone, &span));
        let is_change = state.parsed_event_data.as_ref().is_some_and(|data| data.event_type == EventType::Modify);
        return Ok(Some(match is_change {
            true => format!("Shall I change {title}? It would be on {when}."),
            false => format!("Shall I plan {title} for {when}?"),
        }));
    }
    let target = EventTarget::from_parsed(&request_state::parsed_request(state)?, &snapshot).ok();
    let target = target.and_then(|target| Some((snapshot.events.get(&target.event)?, target)));
    // No confirmation for an event that is gone. The cancellation finds out whether this request removed it.
    let Some((event, target)) = target else { return Ok(None) };
    let is_own = event.owner == state.user_id && !snapshot.family.always_ask;
    let (title, when) = (format::quoted(&event.title), format::format_range(&zone, &target.range));
    let is_series = event.recurrence.is_some() || event.recurrence_override.is_some();
    let subject = match target.selection {
        SeriesSelection::All if is_series => format!("all of {title}"),
        SeriesSelection::Following(_) => format!("{title} on {when} and all that follow"),
        SeriesSelection::All | SeriesSelection::This(_) => format!("{title} on {when}"),
    };
    Ok((!is_own).then(|| format!("Shall I cancel {subject}?")))
}

async fn decline(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let now = context.now(cx)?;
    let event = state.proposed_event.clone().map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    if let Some(event) = &event {
        reject_proposal(context, &state.user_id, &event.event_id).await?;
    }
    let update = complete_workflow(state, "OK, nothing was changed.", now).proposed_event(event);
    Ok(update.notes((request_state::DECLINED.to_owned(), true.into())))
}

async fn write_cancellation(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
    task: &str,
) -> Result<FamilySchedulerStateUpdate> {
    let (now, parsed, user_id) = (context.now(cx)?, request_state::parsed_request(state)?, state.user_id.clone());
    let title = parsed.data.title.clone().unwrap_or_else(|| "It".to_owned());
    let cancel = move |snapshot: &CalendarSnapshot| {
        let target = EventTarget::from_parsed(&parsed, snapshot)?;
        require_permission(snapshot, &user_id, &target, "cancel")?;
        series::cancel(snapshot, &target.event, target.selection, now)
    };
    // Idempotent: the node can run again after a crash.
    context.store.change_once(&context.family_id, (&state.user_id, "cancel"), task, cancel).await?;
    Ok(complete_workflow(state, &format!("{} is cancelled.", format::quoted(&title)), now))
}

async fn write_confirmed(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
    task: &str,
) -> Result<FamilySchedulerStateUpdate> {
    validate_state_transition(state, "confirm_event").map_err(|reason| Error::new(ErrorCode::TypeMismatch, reason))?;
    // Everything that can fail is done before the write, so that a written change is never reported as failed.
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let zone = time_zone_of(&snapshot, &state.user_id)?;
    let Some(event) = write(state, context, task, now).await? else {
        // Another change was written first: conflicts are detected again, and the user is asked again.
        let update =
            with_transition(FamilySchedulerState::update(), state.current_step, WorkflowStep::ResourceCheck, now);
        let update = update.workflow_status(WorkflowStatus::InProgress);
        return Ok(update.notes((request_state::DECISION.to_owned(), Value::Null)));
    };
    let (title, when) = (format::quoted(&event.title), format::format_range(&zone, &event.span));
    let is_change = state.parsed_event_data.as_ref().is_some_and(|data| data.event_type == EventType::Modify);
    let is_abandoned = event.status == EventStatus::Rejected;
    let answer = match (is_abandoned, &event.recurrence) {
        (true, _) if is_change => format!("{title} was not changed."),
        (true, _) => format!("{title} was not planned."),
        (false, None) => format!("{title} is on the calendar: {when}."),
        (false, Some(_)) if is_change => format!("{title} is on the calendar, next on {when}."),
        (false, Some(_)) => format!("{title} is on the calendar, first on {when}."),
    };
    let status = if is_abandoned { EventStatus::Rejected } else { EventStatus::Confirmed };
    let update = complete_workflow(state, &answer, now).proposed_event(Some(proposed(&event, status)));
    Ok(update.notes((request_state::DECLINED.to_owned(), is_abandoned.into())))
}

/// Writes the plan unless a conflict blocks it. Returns the event as shown to users, or `None` if it is blocked.
async fn write(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    task: &str,
    now: Time,
) -> Result<Option<Event>> {
    let (displayed_event, plan, user_id) =
        (Arc::new(OnceLock::new()), request_state::plan(state)?, state.user_id.clone());
    let event_cell = displayed_event.clone();
    let decide = move |snapshot: &CalendarSnapshot| {
        let preview = plan.apply_to(snapshot, &user_id, now)?;
        if let Some(target) = plan.target() {
            require_permission(snapshot, &user_id, target, "change")?;
        }
        if preview.conflicts(snapshot, &user_id, now)?.is_blocking() {
            return Ok(Vec::new());
        }
        // `set` cannot fail: the closure runs at most once.
        let _ = event_cell.set(preview.next_instance(now)?);
        Ok(preview.confirmed())
    };
    let done = context.store.change_once(&context.family_id, (&state.user_id, "confirm"), task, decide).await?;
    match (done, &state.proposed_event) {
        (IdempotentResult::AlreadyApplied(entry), Some(event)) => event_from_audit(&entry, event).map(Some),
        _ => Ok(displayed_event.get().cloned()),
    }
}

/// Returns the event of an earlier write from the audit entry, at the proposed time.
fn event_from_audit(entry: &AuditEntry, proposed: &ProposedEvent) -> Result<Event> {
    let image = entry.images.iter().find(|image| image.kind == RecordKind::Event && image.id == proposed.event_id);
    let image = image.and_then(|image| image.after.clone()).unwrap_or_default();
    let event: Event = serde_json::from_value(image).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Event { span: TimeRange { start: proposed.start_time, end: proposed.end_time }, ..event })
}

fn require_permission(snapshot: &CalendarSnapshot, user_id: &str, target: &EventTarget, verb: &str) -> Result<()> {
    let is_forbidden = |event: &&Arc<Event>| !can_modify_instances(snapshot, user_id, event, target.selection);
    match snapshot.events.get(&target.event).filter(is_forbidden) {
        None => Ok(()),
        Some(event) => {
            let message = format!(
                "you do not have permission to {verb} {}",
                format::quoted(&visible_title(snapshot, user_id, event))
            );
            Err(Error::new(ErrorCode::PolicyRefused, message))
        }
    }
}

fn complete_workflow(state: &FamilySchedulerState, answer: &str, now: Time) -> FamilySchedulerStateUpdate {
    let update = with_transition(FamilySchedulerState::update(), state.current_step, WorkflowStep::Confirmation, now);
    with_final_answer(update.workflow_status(WorkflowStatus::InProgress), WorkflowStatus::Completed, answer, now)
}
