//! Checks the availability of resources.

use superstep::{NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{AgentFinding, CERTAIN, confidence, json, or_record_error, validated};
use crate::agents::{capacity, format};
use crate::context::SchedulerContext;
use crate::models::ValidationStep;
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStep};

/// Checks the availability of the resources of the plan.
pub(crate) async fn resource_manager(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let result = check_resources(&state, &context, &cx).await;
    or_record_error(result, (&state, AgentName::ResourceManager.name()), &context, &cx).await
}

async fn check_resources(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let plan = request_state::plan(state)?;
    let event = plan.apply_to(&snapshot, &state.user_id, now)?.next_instance(now)?;
    let except = plan.target().map_or(event.id.as_str(), |target| target.event.as_str());
    let availability = capacity::resource_availability(&snapshot, &event.resources, &event.span, Some(except))?;
    let mut problems = Vec::new();
    for resource in availability.resource_availability.iter().filter(|resource| !resource.available) {
        let others = capacity::alternative_resources(&snapshot, &resource.resource_id, &event.span, Some(except))?;
        let others: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
        let instead = if others.is_empty() {
            String::new()
        } else {
            format!("; available instead: {}", format::join_list(&others))
        };
        problems
            .push(format!("{} is taken at that time{instead}.", format::resource_as_subject(&resource.resource_name)));
    }
    let explanation = match (problems.is_empty(), event.resources.is_empty()) {
        (true, true) => "No resources needed.".to_owned(),
        (true, false) => "All required resources are available.".to_owned(),
        (false, _) => problems.join(" "),
    };
    let finding = AgentFinding {
        agent: AgentName::ResourceManager,
        step: WorkflowStep::ResourceCheck,
        data: json(&availability)?,
        explanation,
        confidence: confidence(CERTAIN),
        reasoning: format!("{} resources checked at peak usage", availability.resource_availability.len()),
    };
    let update = finding.into_update(state, now);
    Ok(update.validation_results(validated(ValidationStep::ResourceCheck, now, problems)))
}
