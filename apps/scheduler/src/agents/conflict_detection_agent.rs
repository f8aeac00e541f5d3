//! Detects conflicts of the planned event; validates the event if there are none.

use superstep::core::time::Time;
use superstep::{Error, ErrorCode, NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{AgentFinding, CERTAIN, confidence, json, or_record_error, proposed, validated};
use crate::agents::can_modify;
use crate::agents::conflicts::ChangeConflicts;
use crate::calendar::{CalendarChange, CalendarSnapshot, Event};
use crate::context::SchedulerContext;
use crate::models::{Conflict, ConflictDetectionData, EventStatus, ValidationStep};
use crate::planning::event_plan::{EventPlan, PlanPreview, PlannedAction};
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::{CONFIDENCE_THRESHOLD, validate_state_transition};

/// Detects conflicts of the plan.
pub(crate) async fn conflict_detection(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let result = detect(&state, &context, &cx).await;
    or_record_error(result, (&state, AgentName::ConflictDetection.name()), &context, &cx).await
}

async fn detect(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    validate_state_transition(state, "conflict_detection")
        .map_err(|reason| Error::new(ErrorCode::TypeMismatch, reason))?;
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let PlanCheck { plan, preview, conflicts, caused_conflicts } =
        PlanCheck::at(request_state::plan(state)?, &snapshot, &state.user_id, now)?;
    let details: Vec<String> =
        caused_conflicts.iter().chain(&conflicts).map(|conflict| conflict.details.clone()).collect();
    let detection = ConflictDetectionData::from(conflicts);
    let explanation = match details.as_slice() {
        [] => "No conflicts.".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} And {} more.", rest.len()),
    };
    let has_conflicts = detection.has_conflicts;
    let finding = AgentFinding {
        agent: AgentName::ConflictDetection,
        step: WorkflowStep::ConflictDetection,
        data: json(&detection)?,
        explanation,
        confidence: confidence(CERTAIN),
        reasoning: format!("checked people, resources and rules; conflicts: {}", detection.conflicts.len()),
    };
    // A user who chose a resolution that no longer works must confirm before something else is written.
    let is_unconfirmed = !caused_conflicts.is_empty() || needs_confirmation(state, &snapshot, &plan);
    let must_ask = !has_conflicts && !preview.is_abandoned() && is_unconfirmed;
    let awaits_user = has_conflicts || must_ask;
    let status = if awaits_user { WorkflowStatus::AwaitingUser } else { WorkflowStatus::InProgress };
    let event_status = match detection.blocking_conflicts.is_empty() {
        _ if preview.is_abandoned() => EventStatus::Rejected,
        true => EventStatus::Validated,
        false => EventStatus::Proposed,
    };
    if event_status == EventStatus::Validated {
        mark_validated(state, context, &plan, now).await?;
    }
    let mut update = finding.into_update(state, now);
    if !caused_conflicts.is_empty() {
        update = update.selected_resolution(None).notes((request_state::PLAN.to_owned(), json(&plan)?));
    }
    Ok(update
        .detected_conflicts(Some(detection))
        .proposed_event(Some(proposed(&preview.next_instance(now)?, event_status)))
        .workflow_status(status)
        .notes((request_state::MUST_ASK.to_owned(), must_ask.into()))
        .validation_results(validated(ValidationStep::ConflictDetection, now, details)))
}

/// Result of checking a plan against the calendar.
struct PlanCheck {
    plan: EventPlan,
    preview: PlanPreview,
    conflicts: Vec<Conflict>,
    /// Conflicts of other events that the last chosen resolution would cause. If there are any, `plan` no longer
    /// contains that resolution.
    caused_conflicts: Vec<Conflict>,
}

impl PlanCheck {
    fn at(mut plan: EventPlan, snapshot: &CalendarSnapshot, user_id: &str, now: Time) -> Result<Self> {
        let preview = plan.apply_to(snapshot, user_id, now)?;
        let ChangeConflicts { of_event: mut own, of_other_events: others } =
            preview.conflicts(snapshot, user_id, now)?;
        if others.is_empty() || plan.resolutions.is_empty() {
            own.extend(others);
            return Ok(Self { plan, preview, conflicts: own, caused_conflicts: Vec::new() });
        }
        // A new event occupies the time to which the last resolution moves another event. The resolution is
        // dropped, and the plan is checked again without it.
        plan.resolutions.pop();
        Ok(Self { caused_conflicts: others, ..Self::at(plan, snapshot, user_id, now)? })
    }
}

/// Returns true if the user must confirm: the family always asks, an agent has low confidence, or the user may not
/// change the event.
fn needs_confirmation(state: &FamilySchedulerState, snapshot: &CalendarSnapshot, plan: &EventPlan) -> bool {
    let is_confident = state.agent_outputs.values().all(|output| output.confidence.value() >= CONFIDENCE_THRESHOLD)
        || request_state::is_confirmed(state);
    let target = plan.target().and_then(|target| snapshot.events.get(&target.event));
    let may_modify = target.is_none_or(|event| can_modify(snapshot, &state.user_id, event));
    snapshot.family.always_ask || !is_confident || !may_modify
}

/// Marks a new event as validated. A modification is written only at the end.
async fn mark_validated(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    plan: &EventPlan,
    now: Time,
) -> Result<()> {
    let PlannedAction::Create(event) = &plan.action else { return Ok(()) };
    let id = event.id.clone();
    let validate = move |snapshot: &CalendarSnapshot| {
        let event = snapshot.events.get(&id).filter(|event| event.status == EventStatus::Proposed);
        let event = event.map(|event| Event { status: EventStatus::Validated, updated_at: now, ..(**event).clone() });
        Ok(event.into_iter().map(|event| CalendarChange::Event(Box::new(event))).collect())
    };
    context.store.change(&context.family_id, &state.user_id, "validate", validate).await.map(drop)
}
