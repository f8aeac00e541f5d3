//! What a tool gives, without what must not be told or kept.

use std::sync::Mutex;

use serde_json::Value;
use superstep_core::redact::{Counts, Redaction};
use superstep_core::schema::Schema;
use superstep_core::tool::{ToolError, ToolOutput};

use super::errors::ToolFailure;
use crate::context::lock;
use crate::output::NodeError;
use crate::redacting::{redact_output, redact_text};

/// Takes it out of one call, and counts.
pub(super) struct Redacting {
    redaction: Option<Redaction>,
    counts: Mutex<Counts>,
}

impl Redacting {
    pub(super) fn new(redaction: Option<&Redaction>) -> Self {
        Self { redaction: redaction.cloned(), counts: Mutex::default() }
    }

    pub(super) fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// How much was taken out of what the call gave.
    pub(super) fn counts(&self) -> Counts {
        lock(&self.counts).clone()
    }

    /// All that a tool gives, with what becomes of the graph.
    pub(super) fn output(&self, schema: &Schema, mut output: ToolOutput) -> ToolOutput {
        if let Some(redaction) = &self.redaction {
            let mut counts = Counts::default();
            redaction.tool_output(&mut output, &mut counts);
            if let Some(command) = &mut output.command {
                redact_output(redaction, schema, command, &mut counts);
            }
            *lock(&self.counts) = counts;
        }
        output
    }

    /// The words of a failed tool, and what it passes on.
    pub(super) fn error(&self, mut error: ToolError) -> ToolError {
        let Some(redaction) = &self.redaction else { return error };
        let mut counts = Counts::default();
        redaction.tool_error(&mut error, &mut counts);
        error.passes = error.passes.map(|passes| match passes.downcast::<NodeError>() {
            Ok(error) => {
                let mut error = *error;
                error.error = redaction.error(error.error);
                Box::new(error)
            }
            Err(other) => other,
        });
        *lock(&self.counts) = counts;
        error
    }

    /// A failure in words that may be kept; also those of what caused it.
    pub(super) fn failure(&self, mut failure: ToolFailure) -> ToolFailure {
        if let Some(redaction) = &self.redaction {
            redact_text(redaction, &mut failure.text, &mut lock(&self.counts));
            failure.cause = failure.cause.take().map(|cause| redaction.cause(cause));
        }
        failure
    }
}

/// How far a tool is, in words that may be told.
pub(super) fn redact_progress(redaction: Option<&Redaction>, value: &mut Value) {
    if let Some(redaction) = redaction {
        redaction.value(value, &mut Counts::default());
    }
}
