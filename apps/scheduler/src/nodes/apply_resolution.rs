//! Applies the chosen resolution to the plan. The calendar is not written before the event is confirmed.

use superstep::{Error, ErrorCode, NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{json, or_record_error, proposed};
use crate::context::SchedulerContext;
use crate::models::EventStatus;
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStep};
use crate::state_utils::with_transition;

/// Maximum number of resolutions applied in one request.
const MAX_ROUNDS: u32 = 3;

/// Adds the chosen resolution to the plan.
pub(crate) async fn apply_resolution(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let result = apply(&state, &context, &cx).await;
    or_record_error(result, (&state, AgentName::Resolution.name()), &context, &cx).await
}

async fn apply(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let rounds = request_state::rounds(state);
    if rounds >= MAX_ROUNDS {
        let message = format!("still conflicting after {MAX_ROUNDS} resolutions");
        return Err(Error::new(ErrorCode::PolicyRefused, message));
    }
    let mut plan = request_state::plan(state)?;
    plan.resolutions.extend(state.selected_resolution.clone());
    let event = plan.apply_to(&snapshot, &state.user_id, now)?.next_instance(now)?;
    // Conflicts are detected again for the event as the resolution changes it.
    let update = with_transition(FamilySchedulerState::update(), state.current_step, WorkflowStep::ResourceCheck, now);
    Ok(update
        .proposed_event(Some(proposed(&event, EventStatus::Proposed)))
        .notes((request_state::PLAN.to_owned(), json(&plan)?))
        .notes((request_state::ROUNDS.to_owned(), (rounds + 1).into())))
}
