//! Fixtures: times, agent outputs, and states with updates applied as the engine does it.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::GraphState;
use superstep::core::apply::{ApplyOptions, TaskUpdate, apply};
use superstep::core::field::AnyState;
use superstep::core::state::{IntoUpdate, UncheckedUpdate};
use superstep::core::time::Time;
use superstep_scheduler::models::{AgentOutput, from_json};
use superstep_scheduler::state::{FamilySchedulerState, FamilySchedulerStateUpdate};
use superstep_scheduler::state_utils::update_state_with_agent_output;

pub(crate) const NOW: &str = "2026-01-08T20:30:00Z";

pub(crate) fn now() -> Time {
    time(NOW)
}

pub(crate) fn time(text: &str) -> Time {
    Time::parse(text).unwrap()
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// Applies updates to a state together, like those of several nodes in one superstep.
pub(crate) fn folded(
    state: &FamilySchedulerState,
    updates: impl IntoIterator<Item = FamilySchedulerStateUpdate>,
) -> FamilySchedulerState {
    try_folded(state, updates).unwrap()
}

pub(crate) fn try_folded(
    state: &FamilySchedulerState,
    updates: impl IntoIterator<Item = FamilySchedulerStateUpdate>,
) -> superstep::Result<FamilySchedulerState> {
    let schema = FamilySchedulerState::schema().unwrap();
    let mut any: Arc<AnyState> = Arc::new(state.clone());
    let updates = updates.into_iter().enumerate().map(|(index, update)| {
        let UncheckedUpdate::Typed(update) = update.into_update() else { panic!("a builder gives a typed update") };
        TaskUpdate { node: format!("node_{index}").into(), update }
    });
    apply(&schema, &mut any, &mut Default::default(), updates, ApplyOptions::default())?;
    let any: &dyn Any = &*any;
    Ok(any.downcast_ref::<FamilySchedulerState>().unwrap().clone())
}

pub(crate) fn output(confidence: f64, data: Value) -> AgentOutput {
    from_json(json!({
        "data": data, "explanation": "Because.", "confidence": confidence, "reasoning": "by hand", "timestamp": NOW,
    }))
    .unwrap()
}

/// Returns the state after outputs of these agents.
pub(crate) fn after(state: &FamilySchedulerState, agents: &[(&str, f64)]) -> FamilySchedulerState {
    let updates = agents.iter().map(|(agent, sure)| update_state_with_agent_output(agent, output(*sure, json!({}))));
    folded(state, updates)
}
