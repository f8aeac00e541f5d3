//! Redaction of tool results.

use std::sync::Mutex;

use serde_json::Value;
use superstep_core::redaction::{Redaction, RedactionCounts};
use superstep_core::schema::Schema;
use superstep_core::tool::{ToolError, ToolOutput};

use super::error_handling::ToolFailure;
use crate::engine::context::lock;
use crate::engine::redaction::{redact_output, redact_text};
use crate::graph::output::NodeError;

/// Redaction of one call, with its counts.
pub(super) struct CallRedaction {
    redaction: Option<Redaction>,
    counts: Mutex<RedactionCounts>,
}

impl CallRedaction {
    pub(super) fn new(redaction: Option<&Redaction>) -> Self {
        Self { redaction: redaction.cloned(), counts: Mutex::default() }
    }

    pub(super) fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// Returns the number of redactions in the result of the call.
    pub(super) fn counts(&self) -> RedactionCounts {
        lock(&self.counts).clone()
    }

    /// Redacts the output of a tool, including its command.
    pub(super) fn output(&self, schema: &Schema, mut output: ToolOutput) -> ToolOutput {
        if let Some(redaction) = &self.redaction {
            let mut counts = RedactionCounts::default();
            redaction.redact_tool_output(&mut output, &mut counts);
            if let Some(command) = &mut output.command {
                redact_output(redaction, schema, command, &mut counts);
            }
            *lock(&self.counts) = counts;
        }
        output
    }

    /// Redacts the error of a tool, including an error that is passed on.
    pub(super) fn error(&self, mut error: ToolError) -> ToolError {
        let Some(redaction) = &self.redaction else { return error };
        let mut counts = RedactionCounts::default();
        redaction.redact_tool_error(&mut error, &mut counts);
        error.passthrough = error.passthrough.map(|passthrough| match passthrough.downcast::<NodeError>() {
            Ok(error) => {
                let mut error = *error;
                error.error = redaction.redact_error(error.error);
                Box::new(error)
            }
            Err(other) => other,
        });
        *lock(&self.counts) = counts;
        error
    }

    /// Redacts a failure, including its cause.
    pub(super) fn failure(&self, mut failure: ToolFailure) -> ToolFailure {
        if let Some(redaction) = &self.redaction {
            redact_text(redaction, &mut failure.text, &mut lock(&self.counts));
            failure.cause = failure.cause.take().map(|cause| redaction.redact_cause(cause));
        }
        failure
    }
}

/// Redacts a progress value.
pub(super) fn redact_progress(redaction: Option<&Redaction>, value: &mut Value) {
    if let Some(redaction) = redaction {
        redaction.redact_value(value, &mut RedactionCounts::default());
    }
}
