//! The node that runs the tool calls of a model.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Map, Value};
use superstep_core::checkpoint::Interrupt;
use superstep_core::command::TaskOutput;
use superstep_core::message::{Message, ToolCall};
use superstep_core::redaction::Redaction;
use superstep_core::suggest::did_you_mean_or_list;

use super::approval::{PendingApproval, has_earlier_decision, interrupt_for_all, interrupt_per_call};
use super::at_most_once::AtMostOnceMarker;
use super::call::{CallDecision, MAX_OUTPUT_BYTES, ToolCallJob, failure};
use super::error_handling::{ToolErrorHandling, ToolFailureKind};
use super::parallel::{CallEnd, CallFuture, run_all};
use super::pending_calls::PendingToolCalls;
use super::policy::{PolicyRule, ToolPolicy};
use super::redaction::CallRedaction;
use super::result::{ToolCallResult, combine, messages};
use super::tool_set::{RegisteredTool, ToolMap, ToolSet};
use crate::engine::context::{Interrupts, TaskContext};
use crate::graph::handler::Node;
use crate::graph::output::NodeError;

/// Default timeout of a call.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A node that runs the tool calls of the last model message: in parallel, with one tool message per call, in the
/// order of the calls.
///
/// Failures are reported to the model ([`ToolErrorHandling`]). Destructive tools require human approval
/// ([`ToolPolicy`]). A call that has ended does not run again, even if another call is interrupted, fails or crashes.
///
/// Secrets and personal data in tool results are redacted before they are streamed or stored
/// ([`ToolNode::redaction`]); the number of redactions by kind is stored as `redacted` in the metadata of the tool
/// message.
///
/// ```
/// use superstep::core::message::ToolCall;
/// use superstep::prelude::*;
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Chat { #[reduce(messages)] messages: Messages }
///
/// /// Adds two numbers.
/// #[tool(read_only)]
/// async fn add(a: i64, b: i64) -> i64 { a + b }
///
/// let mut graph = StateGraph::<Chat>::new("chat");
/// let tools = graph.add_node("tools", ToolNode::new([add()]));
/// graph.add_edge(START, tools).add_edge(tools, END);
/// let asks = Message::assistant("").with_tool_calls([ToolCall::new("c1", "add", serde_json::json!({ "a": 1, "b": 2 }))]);
/// let done = graph.compile()?.invoke(Chat::input().messages(asks)).wait_blocking()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "3");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a node has no effect until it is added to a graph"]
pub struct ToolNode {
    tools: ToolSet,
    /// Static tools by name, if there are no tool sources; created at first use.
    static_tools: OnceLock<ToolMap>,
    pub(super) field: String,
    pub(super) error_handling: ToolErrorHandling,
    policy: ToolPolicy,
    pub(super) timeout: Duration,
    max_concurrency: usize,
    batches_approvals: bool,
    redaction: Option<Redaction>,
    /// Tools whose results are not redacted.
    unredacted_tools: BTreeSet<String>,
    /// Maximum retries of calls that may be repeated safely, in place of those that the tools request.
    pub(super) safe_retries: Option<u32>,
    at_most_once: bool,
    /// Maximum size of a result in bytes.
    pub(super) max_result_bytes: usize,
}

impl ToolNode {
    /// Creates a node for these tools. A duplicate name is an error when the node runs; [`ToolSet::new`] detects it
    /// earlier.
    pub fn new(tools: impl Into<ToolSet>) -> Self {
        Self {
            tools: tools.into(),
            static_tools: OnceLock::new(),
            field: "messages".to_owned(),
            error_handling: ToolErrorHandling::ReturnToModel,
            policy: ToolPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            max_concurrency: usize::MAX,
            batches_approvals: false,
            redaction: Some(Redaction::default()),
            unredacted_tools: BTreeSet::new(),
            safe_retries: None,
            at_most_once: false,
            max_result_bytes: MAX_OUTPUT_BYTES,
        }
    }

    /// Sets the messages field. Default: `messages`.
    pub fn messages_field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// Sets the handling of failed calls.
    pub fn error_handling(mut self, errors: ToolErrorHandling) -> Self {
        self.error_handling = errors;
        self
    }

    /// Sets the policy: which tools run, which require approval, and which are denied.
    pub fn policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Raises one interrupt for all calls of a message, whose resume value is a list of [`super::Approval`] in the
    /// order of the calls. Default: one interrupt per call; all are raised together in both cases.
    pub fn batch_approvals(mut self) -> Self {
        self.batches_approvals = true;
        self
    }

    /// Sets the timeout of a call, for tools without their own. Default: 60 s.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// Sets the maximum number of retries of a failed call, only if the tool is read-only or idempotent and the error
    /// is transient. Default: every failed call is retried as often as its tool requests.
    pub fn safe_retries(mut self, retries: u32) -> Self {
        self.safe_retries = Some(retries);
        self
    }

    /// Runs calls with side effects at most once: calls of tools that are destructive, or neither read-only nor
    /// idempotent. The start of such a call is saved before it runs. If the process ends before its result is saved,
    /// the call is not repeated, but fails as [`ToolFailureKind::OutcomeUnknown`], so that a human can check its
    /// outcome.
    ///
    /// Default: the call is repeated. Not effective with [`crate::Durability::Exit`], because the start is then not
    /// saved in time.
    pub fn at_most_once(mut self) -> Self {
        self.at_most_once = true;
        self
    }

    /// Sets the maximum number of concurrent calls of a message.
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.max_concurrency = calls.max(1);
        self
    }

    /// Sets the maximum size of a result in bytes. Default: 256 KiB. Longer results are truncated
    /// ([`super::truncate_output`]), and the message stores the original size as `cut_from_bytes`. Events contain at
    /// most 256 KiB of a result.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = bytes;
        self
    }

    /// Sets the redaction of tool results. Default: all known kinds of secrets.
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.redaction = Some(redaction);
        self
    }

    /// Disables the redaction of all tool results: secrets in them are stored, streamed and sent to the model.
    pub fn without_redaction(mut self) -> Self {
        self.redaction = None;
        self
    }

    /// Disables the redaction of the results of these tools.
    pub fn without_redaction_for(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.unredacted_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Runs these calls inside another node, and returns their tool messages in order: for nodes that decide
    /// themselves when tools run. All options of the `ToolNode` apply. A node may run calls repeatedly; calls with
    /// the same id are distinguished by tool and arguments, and every call has its own result.
    ///
    /// # Errors
    /// Same as the node. Also returns an error if a tool returns a command, which requires a node of its own.
    pub async fn run_calls(
        &self,
        cx: &TaskContext,
        calls: impl IntoIterator<Item = ToolCall>,
    ) -> Result<Vec<Message>, NodeError> {
        let pending_calls = PendingToolCalls::from_node(Message::assistant("").with_tool_calls(calls));
        messages(self.resolve_calls(cx, &pending_calls, false).await?)
    }

    async fn run_pending_calls(&self, cx: &TaskContext) -> Result<TaskOutput, NodeError> {
        let pending_calls = PendingToolCalls::read(cx, &self.field)?;
        let completed = self.resolve_calls(cx, &pending_calls, true).await?;
        combine(cx, &self.field, &pending_calls, completed)
    }

    /// Runs all calls of a message; `is_node_output` is true if their results are the output of the node.
    async fn resolve_calls(
        &self,
        cx: &TaskContext,
        pending_calls: &PendingToolCalls,
        is_node_output: bool,
    ) -> Result<Vec<ToolCallResult>, NodeError> {
        let tools = self.tool_map().await?;
        let checked_calls = self.check_policy(cx, pending_calls, &tools).await?;
        let interrupts = cx.0.cell.take_interrupts();
        // A single call is saved with the result of the node, which follows immediately; not if that commit may be
        // queued.
        let is_single = is_node_output && checked_calls.len() == 1 && cx.0.shared.write_behind.is_none();
        let (mut work, mut markers) = (Vec::new(), Vec::new());
        for (index, call, decision) in checked_calls {
            let Some(decision) = decision else { continue };
            let key = format!("tool {}", pending_calls.name(index));
            let redaction = self.redaction.as_ref().filter(|_| !self.unredacted_tools.contains(&call.name));
            let subtask = cx.subtask(&key, redaction.cloned());
            let redaction = CallRedaction::new(redaction);
            let is_marked = self.at_most_once && decision.is_not_repeatable();
            let marker = is_marked.then(|| AtMostOnceMarker { cx: cx.clone(), key: key.clone() });
            markers.push(marker.clone());
            let job = ToolCallJob { node: self, call, pending_calls, cx: subtask.clone(), redaction, marker };
            let execution = job.resolve(decision);
            let future: superstep_core::port::BoxFuture<'_, _> = match is_single {
                true => Box::pin(execution),
                false => Box::pin(async move { cx.once(&key, execution).await }),
            };
            work.push(CallFuture { cx: subtask, future });
        }
        let ends = run_all(work, self.max_concurrency).await;
        for (end, marker) in ends.iter().zip(&markers) {
            if let (CallEnd::Interrupted(_), Some(marker)) = (end, marker) {
                marker.mark_interrupted().await?;
            }
        }
        self.collect_results(cx, interrupts, ends).await
    }

    async fn tool_map(&self) -> Result<Cow<'_, ToolMap>, NodeError> {
        if let Some(tools) = self.static_tools.get() {
            return Ok(Cow::Borrowed(tools));
        }
        let tools = self.tools.resolve().await?;
        match self.tools.has_sources() {
            true => Ok(Cow::Owned(tools)),
            false => Ok(Cow::Borrowed(self.static_tools.get_or_init(|| tools))),
        }
    }

    /// Returns all results. Returns only if no call has failed the node and no call is interrupted.
    async fn collect_results(
        &self,
        cx: &TaskContext,
        mut interrupts: Vec<Interrupt>,
        ends: Vec<CallEnd<ToolCallResult>>,
    ) -> Result<Vec<ToolCallResult>, NodeError> {
        let mut all = Vec::new();
        for end in ends {
            match end {
                CallEnd::Done(completed) => all.push(completed?),
                CallEnd::Interrupted(call_interrupts) => interrupts.extend(call_interrupts),
            }
        }
        match interrupts.is_empty() {
            true => Ok(all),
            false => Interrupts(cx.clone()).forward(interrupts).await,
        }
    }

    /// Returns the decision about each call, in order; `None` for calls that require approval.
    async fn check_policy<'a>(
        &self,
        cx: &TaskContext,
        pending_calls: &'a PendingToolCalls,
        tools: &ToolMap,
    ) -> Result<Vec<(usize, &'a ToolCall, Option<CallDecision>)>, NodeError> {
        let (mut checked_calls, mut indexes, mut pending_approvals) = (Vec::new(), Vec::new(), Vec::new());
        for (index, call) in pending_calls.calls() {
            let name = pending_calls.name(index);
            let decision = match self.check_call(name.clone(), call, tools) {
                PolicyCheck::Decided(CallDecision::Run(registered, args)) => {
                    let approval = PendingApproval { name, call, registered_tool: registered, args };
                    match !self.batches_approvals && has_earlier_decision(cx, &approval).await? {
                        true => {
                            indexes.push(checked_calls.len());
                            pending_approvals.push(approval);
                            None
                        }
                        false => Some(CallDecision::Run(approval.registered_tool, approval.args)),
                    }
                }
                PolicyCheck::Decided(decision) => Some(decision),
                PolicyCheck::NeedsApproval(approval) => {
                    indexes.push(checked_calls.len());
                    pending_approvals.push(approval);
                    None
                }
            };
            checked_calls.push((index, call, decision));
        }
        let decisions = match self.batches_approvals {
            true => interrupt_for_all(cx, pending_approvals).await?,
            false => interrupt_per_call(cx, pending_approvals).await?,
        };
        for (index, decision) in indexes.into_iter().zip(decisions) {
            checked_calls[index].2 = decision;
        }
        Ok(checked_calls)
    }

    /// Checks a call, without requesting approval.
    fn check_call<'a>(&self, name: String, call: &'a ToolCall, tools: &ToolMap) -> PolicyCheck<'a> {
        let Some(registered) = tools.get(&call.name) else {
            return PolicyCheck::Decided(CallDecision::Fail(failure(
                call,
                ToolFailureKind::UnknownTool,
                unknown_tool_text(&call.name, tools),
            )));
        };
        let rule = self.policy.rule(registered.tool.spec());
        if rule == PolicyRule::Deny {
            return PolicyCheck::Decided(CallDecision::Reject(format!("the policy denies `{}`", call.name)));
        }
        match arguments(call, registered) {
            Err(text) => PolicyCheck::Decided(CallDecision::Fail(failure(call, ToolFailureKind::BadArguments, text))),
            Ok(args) if rule == PolicyRule::RequireApproval => {
                PolicyCheck::NeedsApproval(PendingApproval { name, call, registered_tool: registered.clone(), args })
            }
            Ok(args) => PolicyCheck::Decided(CallDecision::Run(registered.clone(), args)),
        }
    }
}

/// Result of the check of a call, before approval.
enum PolicyCheck<'a> {
    Decided(CallDecision),
    NeedsApproval(PendingApproval<'a>),
}

impl<S, C> Node<S, C> for ToolNode {
    type Output = TaskOutput;

    async fn run(&self, cx: TaskContext) -> Result<TaskOutput, NodeError> {
        self.run_pending_calls(&cx).await
    }
}

/// Returns the arguments of a call that are valid for the tool. Models may send an empty text or null for no
/// arguments.
fn arguments(call: &ToolCall, registered: &RegisteredTool) -> Result<Map<String, Value>, String> {
    let invalid = |reason: &str| format!("invalid arguments for `{}`: {reason}", call.name);
    let none = Value::Object(Map::new());
    let args = match &call.args {
        args @ Value::Object(_) => args,
        Value::Null => &none,
        Value::String(text) if text.trim().is_empty() => &none,
        Value::String(_) => return Err(invalid("not JSON; expected an object")),
        _ => return Err(invalid("expected an object")),
    };
    // Serialized only if they may be too long, which is rare.
    let bytes = if max_json_bytes(args) > MAX_OUTPUT_BYTES { args.to_string().len() } else { 0 };
    if bytes > MAX_OUTPUT_BYTES {
        return Err(invalid(&format!("{bytes} bytes; the maximum is {MAX_OUTPUT_BYTES}")));
    }
    registered.check(args).map_err(|error| error.message)?;
    Ok(args.as_object().cloned().unwrap_or_default())
}

/// Returns an upper bound of the size of a value as JSON.
fn max_json_bytes(value: &Value) -> usize {
    // The longest escape of a byte has six bytes, `\u0000`.
    let quoted = |text: &str| text.len().saturating_mul(6).saturating_add(2);
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => quoted(text),
        Value::Array(items) => items.iter().fold(2, |sum: usize, item| sum.saturating_add(max_json_bytes(item) + 1)),
        Value::Object(entries) => entries
            .iter()
            .fold(2, |sum, (key, item)| sum.saturating_add(quoted(key)).saturating_add(max_json_bytes(item) + 2)),
    }
}

fn unknown_tool_text(name: &str, tools: &ToolMap) -> String {
    let name: String = name.chars().take(64).collect();
    let names: Vec<&str> = tools.keys().map(String::as_str).collect();
    match names.is_empty() {
        true => format!("unknown tool `{name}`; the agent has no tools"),
        false => format!("unknown tool `{name}`; {}", did_you_mean_or_list(&name, &names)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Otherwise too long arguments would be accepted.
    #[test]
    fn no_value_is_written_longer_than_the_longest() {
        let escaped = "\u{1}\"\\\n".repeat(9);
        let rows = [
            json!(null),
            json!(false),
            json!(-1.5e-300),
            json!(u64::MAX),
            json!(escaped),
            json!([]),
            json!([[1, null], [true, "ä"], escaped]),
            json!({ "": {}, "key": [{ "a": false }], (escaped.clone()): escaped }),
        ];
        for value in rows {
            assert!(value.to_string().len() <= max_json_bytes(&value), "{value}");
        }
    }
}
