//! The place where every call of a plan is looked at before any runs: does the tool exist, may the user use it, do the
//! arguments fit, must a person allow it.
//!
//! What is turned down becomes the output of its call, so that the verifier sees it. What a person allows is what runs, to
//! the letter: a call that they are asked about has no arguments that are filled in later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::message::ToolCall;
use superstep::core::suggest::known_names;
use superstep::tool::{ToolSpec, check_arguments};
use superstep::{Ask, Ctx, Cx, Message, NodeError, View};

use super::approval::{DecisionKind, decision};
use crate::desk::Desk;
use crate::plan::{PlannedCall, groups, reference, signature};
use crate::policy::Rights;
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};
use crate::turn::{rights, tried};

/// The longest reason that a model is told, in characters.
const LONGEST_REASON: usize = 1_000;
/// The key of `user_context` with the tools that were allowed for the session.
const APPROVED: &str = "approved";

/// How the calls of a plan are run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Routed {
    /// Calls that run at once, each group after the ones before.
    pub(crate) groups: Vec<Vec<String>>,
    /// Why a call is not made.
    pub(crate) rejected: BTreeMap<String, String>,
}

/// Looks at every call, and asks about those that need it.
pub(crate) async fn tool_router(
    state: View<Assistant>,
    desk: Ctx<Desk>,
    ask: Ask,
    cx: Cx,
) -> Result<AssistantUpdate, NodeError> {
    let specs = desk.tools().specs().await?;
    let specs = specs.iter().map(|spec| (spec.name.as_str(), spec)).collect();
    let gate = Gate { specs, rights: rights(&state) };
    let mut approved: Vec<String> = state
        .user_context
        .get(APPROVED)
        .and_then(|known| serde_json::from_value(known.clone()).ok())
        .unwrap_or_default();
    let already = approved.len();
    let mut calls = state.tool_calls.clone();
    let mut routed = Routed { groups: groups(&calls).map_err(NodeError::new)?, ..Routed::default() };
    let mut made: BTreeSet<String> = tried(&state).iter().map(|tried| signature(&tried.tool, &tried.args)).collect();
    for (place, call) in calls.iter_mut().enumerate() {
        let most = desk.limits.max_calls;
        let looked = match place < most {
            true => gate.look(call),
            false => Err(format!("refused: a plan has at most {most} calls")),
        };
        let settled = match looked {
            // Whoever allowed a tool for the session did not say that one call of it may be made twice.
            Ok(spec)
                if spec.annotations.destructive
                    && (!approved.contains(&call.tool) || made.contains(&call.signature())) =>
            {
                // Other arguments are looked at like the planned ones: a person cannot allow what the role forbids.
                match settle(call, spec, &mut approved, (&desk, &ask, &cx)).await? {
                    Ok(()) => gate.look(call).map(|_| ()),
                    refused => refused,
                }
            }
            looked => looked.map(|_| ()),
        };
        if let Err(reason) = settled {
            routed.rejected.insert(call.id.clone(), reason);
        }
        made.insert(call.signature());
    }
    let asks = calls.iter().map(|call| ToolCall::new(&call.id, &call.tool, Value::Object(call.args.clone())));
    let mut update = Assistant::update()
        .phase(Phase::Execute)
        .messages(Message::assistant("").with_tool_calls(asks))
        .scratchpad((scratch::ROUTED.to_owned(), json!(routed)));
    if approved.len() > already {
        update = update.user_context((APPROVED.to_owned(), json!(approved)));
    }
    Ok(update.tool_calls(calls))
}

/// What calls are held against.
struct Gate<'a> {
    specs: BTreeMap<&'a str, &'a Arc<ToolSpec>>,
    rights: Rights,
}

impl<'a> Gate<'a> {
    /// The tool of a call that can be made; otherwise why it cannot. What is too much to ask for is made less here, before
    /// a person sees it.
    fn look(&self, call: &mut PlannedCall) -> Result<&'a ToolSpec, String> {
        let Some(spec) = self.specs.get(call.tool.as_str()) else {
            let known: Vec<&str> = self.specs.keys().copied().filter(|name| self.rights.allows(name)).collect();
            return Err(format!("invalid: no tool `{}`; {}", call.tool, known_names(&call.tool, &known)));
        };
        if !self.rights.allows(&call.tool) {
            return Err(format!("refused: this user may not use `{}` (rule `tools`)", call.tool));
        }
        match (has_references(call), spec.annotations.destructive) {
            (true, true) => {
                return Err(format!(
                    "refused: a person must see what `{}` is called with, so its arguments cannot stand for what other \
                     calls give; look that up first, then plan this call with the values written out",
                    call.tool
                ));
            }
            // What other calls give is not known yet; those arguments are checked when it is.
            (true, false) => {}
            (false, _) => check_arguments(spec, &call.args).map_err(|error| format!("invalid: {error}"))?,
        }
        self.cap_rows(call, spec);
        Ok(spec)
    }

    /// A query gives no more rows than the role may see.
    fn cap_rows(&self, call: &mut PlannedCall, spec: &ToolSpec) {
        let Some(most) = self.rights.rows.filter(|_| call.tool == "bq_query") else { return };
        let takes_limit = spec.input_schema["properties"].get("max_rows").is_some();
        let asked = call.args.get("max_rows").and_then(Value::as_u64);
        if takes_limit && asked.is_none_or(|asked| asked > most) {
            call.args.insert("max_rows".to_owned(), json!(most));
        }
    }
}

/// Whether arguments of a call stand for what other calls give.
fn has_references(call: &PlannedCall) -> bool {
    let names: Vec<String> = call.depends_on.iter().map(|id| reference(id)).collect();
    call.args.values().any(|value| mentions(value, &names))
}

fn mentions(value: &Value, names: &[String]) -> bool {
    match value {
        Value::String(text) => names.iter().any(|name| text.contains(name)),
        Value::Array(items) => items.iter().any(|item| mentions(item, names)),
        Value::Object(entries) => entries.values().any(|item| mentions(item, names)),
        _ => false,
    }
}

/// Asks a person about a call, and does what they say.
async fn settle(
    call: &mut PlannedCall,
    spec: &ToolSpec,
    approved: &mut Vec<String>,
    (desk, ask, cx): (&Desk, &Ask, &Cx),
) -> Result<Result<(), String>, NodeError> {
    let shown = json!({
        "kind": "approval", "tool": call.tool, "arguments": call.args, "effect": spec.description, "why": call.why,
        "decisions": ["allow_once", "allow_session", "edit", "deny"],
    });
    let about = ToolCall::new(&call.id, &call.tool, Value::Object(call.args.clone()));
    let said = decision(&about, shown, (ask, cx)).await?;
    Ok(match (said.decision, said.args) {
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
        (DecisionKind::Edit, None) => Err("refused: it was to be changed, and nobody said how".to_owned()),
        (DecisionKind::Deny, _) => Err(with_reason("refused: the user said no", &said.reason, desk)),
    })
}

/// What a model is told about a call that a person does not want, with their reason: it is their words, for which the policy
/// holds as for all others.
pub(crate) fn with_reason(told: &str, reason: &str, desk: &Desk) -> String {
    match desk.policy.rule_against(reason) {
        _ if reason.trim().is_empty() => told.to_owned(),
        Some(rule) => format!("{told}; the reason was against the rule `{}`", rule.name),
        None => format!("{told}: {}", reason.chars().take(LONGEST_REASON).collect::<String>()),
    }
}
