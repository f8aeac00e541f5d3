//! Tool router node: validates every call of a plan before any of them runs: existence of the tool, permissions,
//! arguments, and the need for approval.
//!
//! A rejected call gets its rejection as output, so that the verifier sees the reason. An approved call runs with
//! exactly the approved arguments: a call that needs approval must not contain references that are resolved later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::message::ToolCall;
use superstep::core::suggest::did_you_mean_or_list;
use superstep::tools::{ToolSpec, check_arguments};
use superstep::{Interrupts, Message, NodeError, RunContext, TaskContext, View};

use super::approval::{DecisionKind, decision};
use crate::context::AssistantContext;
use crate::current_turn::{permissions, previous_calls};
use crate::plan::{PlannedCall, groups, reference, signature};
use crate::policy::Permissions;
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};

/// Maximum length in characters of a user's reason that is passed to a model.
const MAX_REASON_CHARS: usize = 1_000;
/// Key of `user_context` with the tools that are approved for the session.
const APPROVED: &str = "approved";

/// Execution order of the calls of a plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct RoutedCalls {
    /// Groups of call ids: calls of a group run in parallel, groups run in sequence.
    pub(crate) groups: Vec<Vec<String>>,
    /// Rejected calls with the reason.
    pub(crate) rejected: BTreeMap<String, String>,
}

/// Validates every call and requests the necessary approvals.
pub(crate) async fn tool_router(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    interrupts: Interrupts,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let specs = context.tools().specs().await?;
    let specs = specs.iter().map(|spec| (spec.name.as_str(), spec)).collect();
    let validator = CallValidator { specs, permissions: permissions(&state) };
    let mut approved: Vec<String> = state
        .user_context
        .get(APPROVED)
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .unwrap_or_default();
    let approved_before = approved.len();
    let mut calls = state.tool_calls.clone();
    let mut routed = RoutedCalls { groups: groups(&calls).map_err(NodeError::new)?, ..RoutedCalls::default() };
    let mut signatures: BTreeSet<String> =
        previous_calls(&state).iter().map(|previous| signature(&previous.tool, &previous.args)).collect();
    for (index, call) in calls.iter_mut().enumerate() {
        let max_calls = context.limits.max_calls;
        let validated = match index < max_calls {
            true => validator.validate(call),
            false => Err(format!("refused: a plan can have at most {max_calls} calls")),
        };
        let outcome = match validated {
            // An approval for the session does not cover a repetition of the same call.
            Ok(spec)
                if spec.annotations.destructive
                    && (!approved.contains(&call.tool) || signatures.contains(&call.signature())) =>
            {
                // Edited arguments are validated like planned ones: a person cannot approve what the role forbids.
                match request_approval(call, spec, &mut approved, (&context, &interrupts, &cx)).await? {
                    Ok(()) => validator.validate(call).map(|_| ()),
                    rejected => rejected,
                }
            }
            other => other.map(|_| ()),
        };
        if let Err(reason) = outcome {
            routed.rejected.insert(call.id.clone(), reason);
        }
        signatures.insert(call.signature());
    }
    let tool_calls = calls.iter().map(|call| ToolCall::new(&call.id, &call.tool, Value::Object(call.args.clone())));
    let mut update = AgentState::update()
        .phase(Phase::Execute)
        .messages(Message::assistant("").with_tool_calls(tool_calls))
        .scratchpad((scratchpad::ROUTED.to_owned(), json!(routed)));
    if approved.len() > approved_before {
        update = update.user_context((APPROVED.to_owned(), json!(approved)));
    }
    Ok(update.tool_calls(calls))
}

/// Data for the validation of calls.
struct CallValidator<'a> {
    specs: BTreeMap<&'a str, &'a Arc<ToolSpec>>,
    permissions: Permissions,
}

impl<'a> CallValidator<'a> {
    /// Returns the tool of a valid call, or the reason for the rejection. Excessive limits are lowered here, before
    /// a person sees the call.
    fn validate(&self, call: &mut PlannedCall) -> Result<&'a ToolSpec, String> {
        let Some(spec) = self.specs.get(call.tool.as_str()) else {
            let available: Vec<&str> =
                self.specs.keys().copied().filter(|name| self.permissions.allows(name)).collect();
            return Err(format!("invalid: no tool `{}`; {}", call.tool, did_you_mean_or_list(&call.tool, &available)));
        };
        if !self.permissions.allows(&call.tool) {
            return Err(format!("refused: this user may not use `{}` (rule `tools`)", call.tool));
        }
        match (has_references(call), spec.annotations.destructive) {
            (true, true) => {
                return Err(format!(
                    "refused: `{}` requires approval, so its arguments cannot refer to the results of other \
                     calls; make those calls first, then plan this call with literal values",
                    call.tool
                ));
            }
            // Values of references are not known yet; these arguments are validated after they are resolved.
            (true, false) => {}
            (false, _) => check_arguments(spec, &call.args).map_err(|error| format!("invalid: {error}"))?,
        }
        self.cap_rows(call, spec);
        Ok(spec)
    }

    /// Caps the row limit of a query at the limit of the role.
    fn cap_rows(&self, call: &mut PlannedCall, spec: &ToolSpec) {
        let Some(max_rows) = self.permissions.max_rows.filter(|_| call.tool == "bq_query") else { return };
        let takes_limit = spec.input_schema["properties"].get("max_rows").is_some();
        let requested = call.args.get("max_rows").and_then(Value::as_u64);
        if takes_limit && requested.is_none_or(|requested| requested > max_rows) {
            call.args.insert("max_rows".to_owned(), json!(max_rows));
        }
    }
}

/// Returns true if the arguments contain references to results of other calls.
fn has_references(call: &PlannedCall) -> bool {
    let names: Vec<String> = call.depends_on.iter().map(|id| reference(id)).collect();
    call.args.values().any(|value| contains_any(value, &names))
}

fn contains_any(value: &Value, names: &[String]) -> bool {
    match value {
        Value::String(text) => names.iter().any(|name| text.contains(name)),
        Value::Array(items) => items.iter().any(|item| contains_any(item, names)),
        Value::Object(entries) => entries.values().any(|item| contains_any(item, names)),
        _ => false,
    }
}

/// Requests the approval of a call and applies the decision.
async fn request_approval(
    call: &mut PlannedCall,
    spec: &ToolSpec,
    approved: &mut Vec<String>,
    (context, interrupts, cx): (&AssistantContext, &Interrupts, &TaskContext),
) -> Result<Result<(), String>, NodeError> {
    let payload = json!({
        "kind": "approval", "tool": call.tool, "arguments": call.args, "effect": spec.description, "why": call.reason,
        "decisions": ["allow_once", "allow_session", "edit", "deny"],
    });
    let tool_call = ToolCall::new(&call.id, &call.tool, Value::Object(call.args.clone()));
    let user_decision = decision(&tool_call, payload, (interrupts, cx)).await?;
    Ok(match (user_decision.decision, user_decision.args) {
        (DecisionKind::AllowOnce, _) => Ok(()),
        (DecisionKind::AllowSession, _) => {
            if !approved.contains(&call.tool) {
                approved.push(call.tool.clone());
            }
            Ok(())
        }
        (DecisionKind::Edit, Some(args)) => {
            call.args = args;
            Ok(())
        }
        (DecisionKind::Edit, None) => Err("refused: an edit was chosen, but no new arguments were given".to_owned()),
        (DecisionKind::Deny, _) => {
            Err(with_reason("refused: the user denied the call", &user_decision.reason, context))
        }
    })
}

/// Returns the message to the model about a declined call, with the user's reason. The policy applies to the reason
/// as to every other user text.
pub(crate) fn with_reason(text: &str, reason: &str, context: &AssistantContext) -> String {
    match context.policy.matching_rule(reason) {
        _ if reason.trim().is_empty() => text.to_owned(),
        Some(rule) => format!("{text}; the reason violated the rule `{}`", rule.name),
        None => format!("{text}: {}", reason.chars().take(MAX_REASON_CHARS).collect::<String>()),
    }
}
