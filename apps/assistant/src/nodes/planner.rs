//! The place where it is decided what to do: a model without tools writes a plan.
//!
//! A plan that cannot be read, or that was tried in this turn, is refused with the reason and asked for once more. Then
//! the turn goes on without one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use superstep::model::Trouble;
use superstep::{Ctx, Cx, Error, Message, NodeError, View};

use super::tokens;
use crate::desk::{Desk, WithoutModel};
use crate::plan::{NextStep, Plan, reference};
use crate::prompt::{Ask, Task};
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};
use crate::turn::{ask, manuals, tried, useful_outputs};
use crate::verdict::{Verdict, VerdictStatus};

/// How often a plan is asked for.
const ATTEMPTS: u32 = 2;

/// Asks for a plan that was not tried before.
pub(crate) async fn planner(state: View<Assistant>, desk: Ctx<Desk>, cx: Cx) -> Result<AssistantUpdate, NodeError> {
    let mut ask = ask(Task::Plan, &state, &desk, &cx).await?;
    ask.manuals = manuals(&state, &desk).await?;
    ask.tools = ask.manuals.iter().map(|manual| manual.tool.clone()).collect();
    ask.tried = tried(&state);
    ask.outputs = useful_outputs(&state);
    let mut plans: Vec<String> = scratch::read(&state, scratch::PLANS);
    let mut spent = 0;
    for _ in 0..ATTEMPTS {
        let said = say(&ask, &desk, &cx).await?;
        spent += tokens(&said);
        match Plan::parse(&said.text()).and_then(|plan| untried(plan, &plans)) {
            Ok(plan) => {
                plans.push(plan.signature());
                let gives_up = given_up(&state, &plan);
                let noted = (scratch::PLANS.to_owned(), json!(plans));
                let update = planned(&state, plan).tokens_used(spent).scratchpad(noted);
                return Ok(match gives_up {
                    Some(verdict) => update.verdict(verdict),
                    None => update,
                });
            }
            Err(reason) => ask.refused = Some(reason),
        }
    }
    // Why plans were refused is for the planner and not for the user.
    let nothing =
        Verdict { status: VerdictStatus::GivingUp, reason: None, missing: vec!["a way to look it up".to_owned()] };
    let verdict = match &state.verdict {
        Some(verdict) => Verdict { status: VerdictStatus::GivingUp, ..verdict.clone() },
        None => nothing,
    };
    let update = planned(&state, Plan::generate("no other plan was found"));
    Ok(update.verdict(verdict).tokens_used(spent))
}

/// A planner that has nothing more to try gives up what the verifier turned down.
fn given_up(state: &Assistant, plan: &Plan) -> Option<Verdict> {
    let verdict = state.verdict.as_ref().filter(|verdict| verdict.status == VerdictStatus::PlanningRetry)?;
    let gives_up = plan.next_step == NextStep::Generate;
    gives_up.then(|| Verdict { status: VerdictStatus::GivingUp, ..verdict.clone() })
}

async fn say(ask: &Ask, desk: &Desk, cx: &Cx) -> Result<Message, NodeError> {
    let asked = cx.model(&desk.model).request(ask.request()).tag("nostream").await;
    match (asked, &desk.spare) {
        (Ok(answer), _) => Ok(answer.message),
        (Err(error), Some(spare)) if is_away(&error) && desk.without_model == WithoutModel::UseRules => {
            Ok(cx.model(spare).request(ask.request()).tag("nostream").await?.message)
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Whether a model could not be asked, or gave nothing that can be used.
pub(super) fn is_away(error: &Error) -> bool {
    Trouble::of(error).is_some()
}

fn untried(plan: Plan, plans: &[String]) -> Result<Plan, String> {
    match plan.next_step == NextStep::ToolUse && plans.contains(&plan.signature()) {
        true => Err("the same calls were made in this turn already: plan others".to_owned()),
        false => Ok(plan),
    }
}

fn planned(state: &Assistant, plan: Plan) -> AssistantUpdate {
    let plan = renamed(state, plan);
    Assistant::update()
        .phase(Phase::Plan)
        .next_step(plan.next_step)
        .tool_calls(plan.tool_calls)
        .tool_outputs(Vec::new())
}

/// Gives calls other ids where a message has one of that id: an answer must belong to one call.
fn renamed(state: &Assistant, mut plan: Plan) -> Plan {
    let mut taken: BTreeSet<String> =
        state.messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.clone()).collect();
    taken.extend(plan.tool_calls.iter().map(|call| call.id.clone()).filter(|id| !is_used(state, id)));
    let mut names = BTreeMap::new();
    for call in plan.tool_calls.iter_mut().filter(|call| is_used(state, &call.id)) {
        let free = (2_u32..).map(|number| format!("{}_{number}", call.id)).find(|id| !taken.contains(id));
        let name = free.unwrap_or_default();
        taken.insert(name.clone());
        names.insert(std::mem::replace(&mut call.id, name.clone()), name);
    }
    for call in &mut plan.tool_calls {
        for id in &mut call.depends_on {
            if let Some(name) = names.get(id.as_str()) {
                id.clone_from(name);
            }
        }
        call.args.values_mut().for_each(|value| rename_within(value, &names));
    }
    plan
}

fn is_used(state: &Assistant, id: &str) -> bool {
    state.messages.iter().flat_map(|message| &message.tool_calls).any(|call| call.id == id)
}

fn rename_within(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            for (old, new) in names {
                *text = text.replace(&reference(old), &reference(new));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename_within(item, names)),
        Value::Object(entries) => entries.values_mut().for_each(|item| rename_within(item, names)),
        _ => {}
    }
}
