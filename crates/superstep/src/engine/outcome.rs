//! Conversion of a machine outcome to a run outcome: visible state, end, next nodes.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::error::{Error, ErrorCode, PartialOutcome, Result};
use superstep_core::field::AnyState;
use superstep_core::graph::Topology;
use superstep_core::id::{CheckpointId, FieldId, RunId, ThreadId};
use superstep_core::machine::{self, MachineEnd, with_fields_reset};

use crate::engine::context::{RunShared, lock};
use crate::run::builder::RunEnd;
use crate::telemetry::RunUsage;

/// Outcome of a run, without type parameters.
pub(crate) struct ErasedOutcome {
    pub(crate) state: Arc<AnyState>,
    pub(crate) status: RunEnd,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) run: RunId,
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) next: Vec<String>,
    pub(crate) supersteps: u64,
    pub(crate) warnings: Vec<String>,
    pub(crate) output: LazyOutputJson,
    pub(crate) usage: RunUsage,
}

/// The output of a run, serialized to JSON on request.
#[derive(Clone)]
pub(crate) struct LazyOutputJson {
    topology: Arc<Topology>,
    state: Arc<AnyState>,
}

impl LazyOutputJson {
    pub(crate) fn new(topology: &Arc<Topology>, state: &Arc<AnyState>) -> Self {
        Self { topology: topology.clone(), state: state.clone() }
    }

    pub(crate) fn to_json(&self) -> Result<Value> {
        let schema = &self.topology.schema;
        let names: Vec<&str> = self.topology.output.iter().map(|id| &*schema.field(*id).name).collect();
        schema.to_json_of(&*self.state, |field| names.contains(&&*field.name) && !field.flags.untracked)
    }
}

impl fmt::Debug for LazyOutputJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(value) => write!(f, "{value}"),
            Err(_) => f.write_str("(not serializable)"),
        }
    }
}

/// Converts the outcome of a run that ended without an error.
pub(crate) fn into_outcome(shared: &RunShared, outcome: machine::MachineOutcome) -> Result<ErasedOutcome> {
    let topology = &shared.program.topology;
    let status = match outcome.end {
        MachineEnd::Finished => RunEnd::Finished,
        MachineEnd::Interrupted(interrupts) => RunEnd::Interrupted(interrupts),
        MachineEnd::Paused(nodes) => RunEnd::Paused(nodes.iter().map(ToString::to_string).collect()),
        MachineEnd::Drained => RunEnd::Drained,
        MachineEnd::Truncated => RunEnd::Truncated,
        MachineEnd::ParentCommand(_) => return Err(Error::internal("a parent command reached the root graph")),
        MachineEnd::Failed(error) => return Err(error),
    };
    if status == RunEnd::Finished {
        check_output(shared, &outcome.state, outcome.checkpoint)?;
    }
    let mut warnings = outcome.warnings;
    if shared.parent_task.is_none() {
        warnings.append(&mut lock(&shared.warnings));
    }
    let state =
        if shared.program.restricts_output { output_state(topology, &outcome.state) } else { outcome.state.clone() };
    Ok(ErasedOutcome {
        state,
        status,
        thread: shared.thread.clone(),
        run: shared.run,
        checkpoint: outcome.checkpoint,
        next: outcome.next.iter().map(ToString::to_string).collect(),
        supersteps: outcome.supersteps,
        warnings,
        output: LazyOutputJson { topology: topology.clone(), state: outcome.state },
        usage: shared.usage.usage(),
    })
}

/// Returns the state that callers see: fields outside the output schema have the value that they have on a new
/// thread.
pub(crate) fn output_state(topology: &Topology, state: &Arc<AnyState>) -> Arc<AnyState> {
    let hidden: Vec<FieldId> =
        topology.schema.iter().map(|(id, _)| id).filter(|id| !topology.output.contains(id)).collect();
    with_fields_reset(topology, state, &hidden)
}

fn check_output(shared: &RunShared, state: &Arc<AnyState>, checkpoint: Option<CheckpointId>) -> Result<()> {
    let topology = &shared.program.topology;
    let fields = topology.output.iter().map(|id| topology.schema.field(*id));
    let missing: Vec<String> = fields
        .filter(|field| field.flags.required && field.ops.is_null(&**state))
        .map(|field| format!("`{}`", field.name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let partial = PartialOutcome { state: Some(state.clone()), next: Vec::new(), recent: Vec::new(), checkpoint };
    Err(Error::new(ErrorCode::OutputInvalid, format!("the run ended without required output {}", missing.join(", ")))
        .with_help("the state is saved; write the field in a node before the end")
        .with_thread(shared.thread.as_ref())
        .with_partial(partial))
}
