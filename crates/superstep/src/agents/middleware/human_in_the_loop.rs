//! Human approval before tools run, in a separate node: resuming never calls the model again.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde::Deserialize;

use super::Middleware;
use super::decision::{Decision, EditedAction, action_request_json, action_requests_json, schema, schema_together};
use crate::agents::hooks::{HookContext, HookUpdate, Hooks};
use crate::agents::routing::{open_calls, rejected_tool_message};
use crate::core::message::{MessageUpdate, MessageUpdates, ToolCall};
use crate::core::port::BoxFuture;
use crate::core::suggest::did_you_mean_or_list;
use crate::tools::{ToolPolicy, ToolSpec};
use crate::{Message, NodeError, TaskContext};

/// Interrupts for human approval before tools run: one interrupt for all calls of a message, or one per call.
///
/// The resume value of one interrupt for all calls is `{"decisions": [..]}`, in the order of the calls; of an
/// interrupt for one call, a [`Decision`]. The [`ToolPolicy`] selects the tools that require approval; by default the
/// destructive ones. A call of a denied or unknown tool is rejected without an interrupt.
///
/// ```
/// use superstep::agents::{HumanInTheLoop, react_agent};
/// use superstep::models::{ScriptedReply, ScriptedModel};
/// use superstep::prelude::*;
///
/// /// Deletes a file.
/// #[tool(destructive)]
/// async fn delete(path: String) -> String { format!("{path} is gone") }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// # let asks = ScriptedReply::tool_call("delete", serde_json::json!({ "path": "a.txt" }));
/// # let model = ScriptedModel::new([asks, ScriptedReply::from("Done.")]);
/// let agent = react_agent(model, [delete()]).middleware(HumanInTheLoop::new()).checkpointer(MemoryCheckpointer::new()).compile()?;
/// let interrupted = agent.invoke("Delete a.txt").thread("t").await?;
/// assert_eq!(interrupted.interrupts()[0].value["action_requests"][0]["args"]["path"], "a.txt");
/// let done = agent.resume("t", serde_json::json!({ "decisions": [{ "type": "approve" }] })).await?;
/// assert_eq!(done.state.messages.get(2).unwrap().text(), "a.txt is gone");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct HumanInTheLoop {
    policy: ToolPolicy,
    is_batched: bool,
}

impl Default for HumanInTheLoop {
    fn default() -> Self {
        Self { policy: ToolPolicy::default(), is_batched: true }
    }
}

impl HumanInTheLoop {
    /// Requires approval for destructive tools, with one interrupt per message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the policy: which tools require approval, which run without, and which are denied.
    pub fn policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Raises one interrupt per call. All interrupts of a message are raised together.
    pub fn per_call(mut self) -> Self {
        self.is_batched = false;
        self
    }

    async fn request_decisions(
        &self,
        cx: &TaskContext,
        calls: &[(&ToolCall, &ToolSpec)],
    ) -> Result<Vec<Decision>, NodeError> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        match self.is_batched {
            true => interrupt_for_all(cx, calls).await,
            false => interrupt_per_call(cx, calls).await,
        }
    }
}

impl Middleware for HumanInTheLoop {
    fn hooks(&self) -> Hooks {
        Hooks::none().after_model().handles_tool_approval()
    }

    async fn after_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        let Some((message, open)) = open_calls(hook.messages()).filter(|(_, open)| !open.is_empty()) else {
            return Ok(HookUpdate::none());
        };
        let tools = ToolsWithPolicy { specs: hook.tools().await?, policy: &self.policy };
        let needs_approval =
            |call: &&&ToolCall| tools.spec(&call.name).is_some_and(|spec| self.policy.requires_approval(spec));
        let pending_ids: Vec<String> = open.iter().filter(needs_approval).map(|call| call.id.clone()).collect();
        // Saved, because the tools may have changed when the run resumes, and decisions are matched to calls by
        // order.
        let pending_ids: Vec<String> =
            hook.task().once("asked about", async { Ok::<_, NodeError>(pending_ids) }).await?;
        let (pending, others): (Vec<&ToolCall>, Vec<&ToolCall>) =
            open.into_iter().partition(|call| pending_ids.contains(&call.id));
        let removed_tool = ToolSpec::new("", "");
        let calls_with_specs: Vec<(&ToolCall, &ToolSpec)> =
            pending.iter().map(|call| (*call, tools.spec(&call.name).unwrap_or(&removed_tool))).collect();
        let decisions = self.request_decisions(hook.task(), &calls_with_specs).await?;
        let mut edits = tools.apply_decisions(message, pending.into_iter().zip(decisions));
        let rejected = others
            .into_iter()
            .filter_map(|call| Some(rejected_tool_message(call, &tools.rejection_reason(&call.name)?)));
        edits.0.extend(rejected.map(MessageUpdate::Put));
        Ok(HookUpdate::none().messages(edits))
    }
}

/// Available tools, with the policy.
struct ToolsWithPolicy<'a> {
    specs: Vec<Arc<ToolSpec>>,
    policy: &'a ToolPolicy,
}

impl ToolsWithPolicy<'_> {
    fn spec(&self, tool: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == tool).map(|spec| &**spec)
    }

    /// Returns the reason why a tool cannot run. An unknown tool is rejected here, because it may be available again
    /// when no approval is requested any more.
    fn rejection_reason(&self, tool: &str) -> Option<String> {
        match self.spec(tool) {
            Some(spec) => self.policy.is_denied(spec).then(|| format!("the policy denies `{tool}`")),
            None => {
                let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
                let name: String = tool.chars().take(64).collect();
                Some(format!("unknown tool `{name}`; {}", did_you_mean_or_list(&name, &names)))
            }
        }
    }

    /// Applies decisions to a message and its calls.
    fn apply_decisions<'a>(
        &self,
        message: &Message,
        decisions: impl Iterator<Item = (&'a ToolCall, Decision)>,
    ) -> MessageUpdates {
        let (mut edited, mut tool_results) = (message.clone(), Vec::new());
        for (call, decision) in decisions {
            match decision {
                Decision::Approve => {}
                Decision::Edit { edited_action: EditedAction { name, args } } => {
                    let name = name.unwrap_or_else(|| call.name.clone());
                    tool_results
                        .extend(self.rejection_reason(&name).map(|reason| rejected_tool_message(call, &reason)));
                    let calls = edited.tool_calls.iter_mut();
                    calls.filter(|edited_call| edited_call.id == call.id).for_each(|edited_call| {
                        (edited_call.name, edited_call.args) = (name.clone(), args.clone().into());
                    });
                }
                Decision::Reject { message } => {
                    let reason = message.filter(|reason| !reason.is_empty());
                    tool_results
                        .push(rejected_tool_message(call, reason.as_deref().unwrap_or("the call was rejected")));
                }
                Decision::Respond { message } => {
                    tool_results.push(Message::tool(&call.id, message).with_name(&call.name));
                }
            }
        }
        let edited = Some(edited).filter(|edited| edited != message);
        edited.into_iter().chain(tool_results).collect()
    }
}

#[derive(Deserialize)]
struct BatchDecision {
    decisions: Vec<Decision>,
}

async fn interrupt_for_all(cx: &TaskContext, calls: &[(&ToolCall, &ToolSpec)]) -> Result<Vec<Decision>, NodeError> {
    let schema = schema_together(calls.len());
    let text = "Approve these tool calls?";
    let resume_value = cx
        .interrupts()
        .raise_with_schema("approve tool calls", action_requests_json(calls), text, Some(schema))
        .await?;
    let BatchDecision { decisions } = serde_json::from_value(resume_value)?;
    match decisions.len() == calls.len() {
        true => Ok(decisions),
        // The schema of the interrupt already rejects this; no call may run after an incomplete list of decisions.
        false => Ok(vec![Decision::reject("the decisions do not match the calls"); calls.len()]),
    }
}

async fn interrupt_per_call(cx: &TaskContext, calls: &[(&ToolCall, &ToolSpec)]) -> Result<Vec<Decision>, NodeError> {
    let requests = calls.iter().map(|(call, spec)| -> BoxFuture<'_, Result<Decision, NodeError>> {
        let interrupts = cx.interrupts();
        Box::pin(async move {
            let text = format!("Approve this call of `{}`?", call.name);
            let schema = schema(Some(&call.name));
            let resume_value = interrupts
                .raise_with_schema("approve tool call", action_request_json(call, spec), &text, Some(schema))
                .await?;
            Ok(serde_json::from_value(resume_value)?)
        })
    });
    join_all(requests.collect()).await
}

/// Awaits all results, in order. Polls every future before it waits, so that all interrupts are raised together.
async fn join_all<T: Send>(mut futures: Vec<BoxFuture<'_, Result<T, NodeError>>>) -> Result<Vec<T>, NodeError> {
    let mut results: Vec<Option<Result<T, NodeError>>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *result = Some(ready);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
