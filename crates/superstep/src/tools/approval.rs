//! Interrupts for the approval of tool calls.
//!
//! Interrupts of a task are identified by their order, so all are raised, whether or not the first has a resume
//! value. Nothing waits here: the other calls run first.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value, json};
use superstep_core::message::ToolCall;

use super::call::{CallDecision, failure};
use super::error_handling::ToolFailureKind;
use super::policy::{APPROVAL_INTERRUPT_NAME, Approval, approval_payload, approval_schema, hash};
use super::tool_set::RegisteredTool;
use crate::engine::context::TaskContext;
use crate::graph::output::NodeError;

/// A tool call that requires approval.
pub(super) struct PendingApproval<'a> {
    /// Name of the call among the calls of the task.
    pub(super) name: String,
    pub(super) call: &'a ToolCall,
    pub(super) registered_tool: Arc<RegisteredTool>,
    pub(super) args: Map<String, Value>,
}

impl PendingApproval<'_> {
    /// Returns the context of the subtask in which the interrupt is raised.
    fn subtask(&self, cx: &TaskContext) -> TaskContext {
        cx.subtask(&format!("approve {}", self.name), None)
    }

    fn payload(&self) -> Value {
        approval_payload(self.call, &self.args, self.registered_tool.tool.spec())
    }

    fn schema(&self) -> Value {
        approval_schema(&hash(&self.call.name, &self.args))
    }

    /// Converts the approval to a decision about the call.
    fn apply_approval(self, approval: Approval) -> CallDecision {
        let hash = hash(&self.call.name, &self.args);
        match approval {
            Approval::Reject { reason } if reason.is_empty() => {
                CallDecision::Reject("the call was rejected".to_owned())
            }
            Approval::Reject { reason } => CallDecision::Reject(reason),
            Approval::Approve { hash: approved_hash } | Approval::Edit { hash: approved_hash, .. }
                if approved_hash != hash =>
            {
                CallDecision::Reject("the approval is for a different call".to_owned())
            }
            Approval::Approve { .. } => CallDecision::Run(self.registered_tool, self.args),
            Approval::Edit { args, .. } => match self.registered_tool.check(&Value::Object(args.clone())) {
                Ok(()) => CallDecision::Run(self.registered_tool, args),
                Err(error) => CallDecision::Fail(failure(self.call, ToolFailureKind::BadArguments, error.message)),
            },
        }
    }
}

/// Raises one interrupt per call; the result is `None` for open interrupts. Each call has a separate interrupt: its
/// resume value stays valid, whatever happens to other calls or to the list of tools.
pub(super) async fn interrupt_per_call(
    cx: &TaskContext,
    calls: Vec<PendingApproval<'_>>,
) -> Result<Vec<Option<CallDecision>>, NodeError> {
    let mut decisions = Vec::new();
    for call in calls {
        let subtask = call.subtask(cx);
        let text = format!("Approve this call of `{}`?", call.call.name);
        let resume_value = raise_interrupt(&subtask, call.payload(), &text, call.schema()).await?;
        cx.0.cell.add_interrupts(subtask.0.cell.take_interrupts());
        let approval = resume_value.map(serde_json::from_value).transpose()?;
        decisions.push(approval.map(|approval| call.apply_approval(approval)));
    }
    Ok(decisions)
}

/// Returns true if a call that requires no approval any more has an earlier decision, which still applies.
pub(super) async fn has_earlier_decision(cx: &TaskContext, call: &PendingApproval<'_>) -> Result<bool, NodeError> {
    if cx.resume_values().is_none() {
        return Ok(false);
    }
    Ok(raise_interrupt(&call.subtask(cx), Value::Null, "", Value::Null).await?.is_some())
}

/// Raises one interrupt for all calls, whose resume value is a list in the same order; the result is `None` while it
/// is open.
pub(super) async fn interrupt_for_all(
    cx: &TaskContext,
    calls: Vec<PendingApproval<'_>>,
) -> Result<Vec<Option<CallDecision>>, NodeError> {
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let payloads: Vec<Value> = calls.iter().map(PendingApproval::payload).collect();
    let schemas: Vec<Value> = calls.iter().map(PendingApproval::schema).collect();
    let count = calls.len();
    let schema = json!({ "type": "array", "prefixItems": schemas, "minItems": count, "maxItems": count });
    let Some(resume_value) = raise_interrupt(cx, payloads.into(), "Approve these tool calls?", schema).await? else {
        return Ok(calls.into_iter().map(|_| None).collect());
    };
    let approvals: Vec<Approval> = serde_json::from_value(resume_value)?;
    if approvals.len() != count {
        let changed = "the tools changed since approval was requested";
        return Ok(calls.into_iter().map(|_| Some(CallDecision::Reject(changed.to_owned()))).collect());
    }
    Ok(calls.into_iter().zip(approvals).map(|(call, approval)| Some(call.apply_approval(approval))).collect())
}

/// Raises an interrupt and returns its resume value, if there is one already.
async fn raise_interrupt(
    cx: &TaskContext,
    payload: Value,
    text: &str,
    schema: Value,
) -> Result<Option<Value>, NodeError> {
    let interrupts = cx.interrupts();
    let mut interrupt = pin!(interrupts.raise_with_schema(APPROVAL_INTERRUPT_NAME, payload, text, Some(schema)));
    match poll_fn(|context| Poll::Ready(interrupt.as_mut().poll(context))).await {
        Poll::Ready(resume_value) => resume_value.map(Some),
        Poll::Pending => Ok(None),
    }
}
