//! What a run gives: its state as callers may see it, how it ended, what is due.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::error::{Code, Error, Partial, Result};
use superstep_core::field::AnyState;
use superstep_core::graph::Topology;
use superstep_core::id::{CheckpointId, FieldId, RunId, ThreadId};
use superstep_core::machine::{self, End, without};

use crate::call::Status;
use crate::context::{Shared, lock};
use crate::telemetry::RunUsage;

/// What a run gives, without its type.
pub(crate) struct RawOutcome {
    pub(crate) state: Arc<AnyState>,
    pub(crate) status: Status,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) run: RunId,
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) next: Vec<String>,
    pub(crate) supersteps: u64,
    pub(crate) warnings: Vec<String>,
    pub(crate) output: OutputJson,
    pub(crate) usage: RunUsage,
}

/// The output of a run, written as JSON when somebody asks.
#[derive(Clone)]
pub(crate) struct OutputJson {
    topology: Arc<Topology>,
    state: Arc<AnyState>,
}

impl OutputJson {
    pub(crate) fn new(topology: &Arc<Topology>, state: &Arc<AnyState>) -> Self {
        Self { topology: topology.clone(), state: state.clone() }
    }

    pub(crate) fn to_json(&self) -> Result<Value> {
        let schema = &self.topology.schema;
        let names: Vec<&str> = self.topology.output.iter().map(|id| &*schema.field(*id).name).collect();
        schema.to_json_of(&*self.state, |field| names.contains(&&*field.name) && !field.flags.untracked)
    }
}

impl fmt::Debug for OutputJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(value) => write!(f, "{value}"),
            Err(_) => f.write_str("(not plain data)"),
        }
    }
}

/// The result of a run that ended in one of the good ways.
pub(crate) fn conclude(shared: &Shared, outcome: machine::Outcome) -> Result<RawOutcome> {
    let topology = &shared.program.topology;
    let status = match outcome.end {
        End::Finished => Status::Finished,
        End::Interrupted(questions) => Status::Interrupted(questions),
        End::Paused(nodes) => Status::Paused(nodes.iter().map(ToString::to_string).collect()),
        End::Drained => Status::Drained,
        End::Truncated => Status::Truncated,
        End::Outward(_) => return Err(Error::internal("a command left the outermost graph")),
        End::Failed(error) => return Err(error),
    };
    if status == Status::Finished {
        check_output(shared, &outcome.state, outcome.checkpoint)?;
    }
    let mut warnings = outcome.warnings;
    if shared.outer.is_none() {
        warnings.append(&mut lock(&shared.notes));
    }
    let state = if shared.program.hides_fields { output_of(topology, &outcome.state) } else { outcome.state.clone() };
    Ok(RawOutcome {
        state,
        status,
        thread: shared.thread.clone(),
        run: shared.run,
        checkpoint: outcome.checkpoint,
        next: outcome.next.iter().map(ToString::to_string).collect(),
        supersteps: outcome.supersteps,
        warnings,
        output: OutputJson { topology: topology.clone(), state: outcome.state },
        usage: shared.spent.usage(),
    })
}

/// A state as callers see it: fields outside the output schema are as on a new thread.
pub(crate) fn output_of(topology: &Topology, state: &Arc<AnyState>) -> Arc<AnyState> {
    let hidden: Vec<FieldId> =
        topology.schema.iter().map(|(id, _)| id).filter(|id| !topology.output.contains(id)).collect();
    without(topology, state, &hidden)
}

fn check_output(shared: &Shared, state: &Arc<AnyState>, checkpoint: Option<CheckpointId>) -> Result<()> {
    let topology = &shared.program.topology;
    let fields = topology.output.iter().map(|id| topology.schema.field(*id));
    let missing: Vec<String> = fields
        .filter(|field| field.flags.required && field.ops.is_absent(&**state))
        .map(|field| format!("`{}`", field.name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let partial = Partial { state: Some(state.clone()), next: Vec::new(), recent: Vec::new(), checkpoint };
    Err(Error::new(Code::OutputInvalid, format!("the run ended without {}", missing.join(", ")))
        .help("the state is saved; let a node write the field before the end")
        .on_thread(shared.thread.as_ref())
        .with_partial(partial))
}
