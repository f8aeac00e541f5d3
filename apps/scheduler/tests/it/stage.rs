//! What the tests share: times, agents' outputs, and a state with an update folded in as the engine does it.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::State;
use superstep::core::apply::{FoldRules, TaskUpdate, apply};
use superstep::core::field::AnyState;
use superstep::core::state::{Draft, IntoDraft};
use superstep::core::time::Time;
use superstep_scheduler::models::{AgentOutput, read};
use superstep_scheduler::state::{Scheduler, SchedulerUpdate};
use superstep_scheduler::workflow::update_state_with_agent_output;

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

/// The state with updates folded in at once, as from nodes of one superstep.
pub(crate) fn folded(state: &Scheduler, updates: impl IntoIterator<Item = SchedulerUpdate>) -> Scheduler {
    try_folded(state, updates).unwrap()
}

pub(crate) fn try_folded(
    state: &Scheduler,
    updates: impl IntoIterator<Item = SchedulerUpdate>,
) -> superstep::Result<Scheduler> {
    let schema = Scheduler::schema().unwrap();
    let mut any: Arc<AnyState> = Arc::new(state.clone());
    let updates = updates.into_iter().enumerate().map(|(place, update)| {
        let Draft::Typed(update) = update.into_draft() else { panic!("a builder gives a typed update") };
        TaskUpdate { node: format!("node_{place}").into(), update }
    });
    apply(&schema, &mut any, &mut Default::default(), updates, FoldRules::default())?;
    let any: &dyn Any = &*any;
    Ok(any.downcast_ref::<Scheduler>().unwrap().clone())
}

pub(crate) fn output(confidence: f64, data: Value) -> AgentOutput {
    read(json!({
        "data": data, "explanation": "Because.", "confidence": confidence, "reasoning": "by hand", "timestamp": NOW,
    }))
    .unwrap()
}

/// The state after these agents have spoken.
pub(crate) fn after(state: &Scheduler, agents: &[(&str, f64)]) -> Scheduler {
    let updates = agents.iter().map(|(agent, sure)| update_state_with_agent_output(agent, output(*sure, json!({}))));
    folded(state, updates)
}
