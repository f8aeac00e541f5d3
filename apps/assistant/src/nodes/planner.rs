//! Planner node: requests a plan from a model that has no tools.
//!
//! A plan that cannot be parsed, or that was already executed in this turn, is rejected with the reason and
//! requested once more. After that the turn continues without a plan.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use superstep::models::ModelErrorKind;
use superstep::{Error, Message, NodeError, RunContext, TaskContext, View};

use super::tokens;
use crate::context::{AssistantContext, ModelUnavailablePolicy};
use crate::current_turn::{previous_calls, task_prompt, tool_descriptions, useful_outputs};
use crate::plan::{NextStep, Plan, reference};
use crate::prompt::{ModelTask, TaskPrompt};
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};
use crate::verdict::{Verdict, VerdictStatus};

/// Maximum number of requests for a plan.
const MAX_ATTEMPTS: u32 = 2;

/// Requests a plan that was not executed before in this turn.
pub(crate) async fn planner(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let mut prompt = task_prompt(ModelTask::Plan, &state, &context, &cx).await?;
    prompt.tool_descriptions = tool_descriptions(&state, &context).await?;
    prompt.tools = prompt.tool_descriptions.iter().map(|description| description.tool.clone()).collect();
    prompt.previous_calls = previous_calls(&state);
    prompt.outputs = useful_outputs(&state);
    let mut plans: Vec<String> = scratchpad::read(&state, scratchpad::PLANS);
    let mut used_tokens = 0;
    for _ in 0..MAX_ATTEMPTS {
        let message = request_plan(&prompt, &context, &cx).await?;
        used_tokens += tokens(&message);
        match Plan::parse(&message.text()).and_then(|plan| reject_repeated_plan(plan, &plans)) {
            Ok(plan) => {
                plans.push(plan.signature());
                let verdict = giving_up_verdict(&state, &plan);
                let entry = (scratchpad::PLANS.to_owned(), json!(plans));
                let update = plan_update(&state, plan).tokens_used(used_tokens).scratchpad(entry);
                return Ok(match verdict {
                    Some(verdict) => update.verdict(verdict),
                    None => update,
                });
            }
            Err(reason) => prompt.plan_rejection = Some(reason),
        }
    }
    // The reasons for rejected plans are addressed to the planner and not to the user.
    let no_plan = Verdict {
        status: VerdictStatus::GivingUp,
        reason: None,
        missing: vec!["a plan to find the answer".to_owned()],
    };
    let verdict = match &state.verdict {
        Some(verdict) => Verdict { status: VerdictStatus::GivingUp, ..verdict.clone() },
        None => no_plan,
    };
    let update = plan_update(&state, Plan::generate("no other plan was found"));
    Ok(update.verdict(verdict).tokens_used(used_tokens))
}

/// Returns a giving-up verdict if the planner has no further plan after the verifier rejected the results.
fn giving_up_verdict(state: &AgentState, plan: &Plan) -> Option<Verdict> {
    let verdict = state.verdict.as_ref().filter(|verdict| verdict.status == VerdictStatus::PlanningRetry)?;
    let gives_up = plan.next_step == NextStep::Generate;
    gives_up.then(|| Verdict { status: VerdictStatus::GivingUp, ..verdict.clone() })
}

async fn request_plan(prompt: &TaskPrompt, context: &AssistantContext, cx: &TaskContext) -> Result<Message, NodeError> {
    let response = cx.model(&context.model).request(prompt.request()).tag("nostream").await;
    match (response, &context.fallback_model) {
        (Ok(answer), _) => Ok(answer.message),
        (Err(error), Some(fallback))
            if is_model_unavailable(&error) && context.on_model_unavailable == ModelUnavailablePolicy::UseRules =>
        {
            Ok(cx.model(fallback).request(prompt.request()).tag("nostream").await?.message)
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Returns true if a model could not be reached or returned nothing usable.
pub(super) fn is_model_unavailable(error: &Error) -> bool {
    ModelErrorKind::from_error(error).is_some()
}

fn reject_repeated_plan(plan: Plan, plans: &[String]) -> Result<Plan, String> {
    match plan.next_step == NextStep::ToolUse && plans.contains(&plan.signature()) {
        true => Err("the same calls were already made in this turn: plan different ones".to_owned()),
        false => Ok(plan),
    }
}

fn plan_update(state: &AgentState, plan: Plan) -> AgentStateUpdate {
    let plan = with_unique_call_ids(state, plan);
    AgentState::update()
        .phase(Phase::Plan)
        .next_step(plan.next_step)
        .tool_calls(plan.tool_calls)
        .tool_outputs(Vec::new())
}

/// Renames calls whose id already occurs in a message, because a tool result must belong to exactly one call.
fn with_unique_call_ids(state: &AgentState, mut plan: Plan) -> Plan {
    let mut used_ids: BTreeSet<String> =
        state.messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.clone()).collect();
    used_ids.extend(plan.tool_calls.iter().map(|call| call.id.clone()).filter(|id| !is_used(state, id)));
    let mut names = BTreeMap::new();
    for call in plan.tool_calls.iter_mut().filter(|call| is_used(state, &call.id)) {
        let free = (2_u32..).map(|number| format!("{}_{number}", call.id)).find(|id| !used_ids.contains(id));
        let name = free.unwrap_or_default();
        used_ids.insert(name.clone());
        names.insert(std::mem::replace(&mut call.id, name.clone()), name);
    }
    for call in &mut plan.tool_calls {
        for id in &mut call.depends_on {
            if let Some(name) = names.get(id.as_str()) {
                id.clone_from(name);
            }
        }
        call.args.values_mut().for_each(|value| rename_references(value, &names));
    }
    plan
}

fn is_used(state: &AgentState, id: &str) -> bool {
    state.messages.iter().flat_map(|message| &message.tool_calls).any(|call| call.id == id)
}

fn rename_references(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            for (old, new) in names {
                *text = text.replace(&reference(old), &reference(new));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename_references(item, names)),
        Value::Object(entries) => entries.values_mut().for_each(|item| rename_references(item, names)),
        _ => {}
    }
}
