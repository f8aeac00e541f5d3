//! Looks whether the things can be had.

use superstep::{Ctx, Cx, NodeError, Result, View};

use super::told::{CERTAIN, Finding, json, or_failed, sure, validated};
use crate::agents::{capacity, words};
use crate::home::{self, Home};
use crate::models::ValidationStep;
use crate::notes;
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step};

/// Looks whether the things can be had.
pub(crate) async fn resource_manager(
    state: View<Scheduler>,
    home: Ctx<Home>,
    cx: Cx,
) -> Result<SchedulerUpdate, NodeError> {
    let worked = look(&state, &home, &cx).await;
    or_failed(worked, (&state, Agent::ResourceManager.name()), &home, &cx).await
}

async fn look(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let (now, board) = (home::now(cx)?, home.board().await?);
    let plan = notes::plan(state)?;
    let event = plan.on(&board, &state.user_id, now)?.shown(now)?;
    let except = plan.target().map_or(event.id.as_str(), |target| target.event.as_str());
    let found = capacity::availability(&board, &event.resources, &event.span, Some(except))?;
    let mut taken = Vec::new();
    for one in found.resource_availability.iter().filter(|one| !one.available) {
        let others = capacity::alternatives(&board, &one.resource_id, &event.span, Some(except))?;
        let others: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
        let instead = if others.is_empty() { String::new() } else { format!("; free is {}", words::list(&others)) };
        taken.push(format!("{} is taken then{instead}.", words::thing(&one.resource_name)));
    }
    let explanation = match (taken.is_empty(), event.resources.is_empty()) {
        (true, true) => "Nothing has to be reserved.".to_owned(),
        (true, false) => "Everything that is needed is free.".to_owned(),
        (false, _) => taken.join(" "),
    };
    let finding = Finding {
        agent: Agent::ResourceManager,
        step: Step::ResourceCheck,
        data: json(&found)?,
        explanation,
        confidence: sure(CERTAIN),
        reasoning: format!("{} things at their fullest moment", found.resource_availability.len()),
    };
    let update = finding.told(state, now);
    Ok(update.validation_results(validated(ValidationStep::ResourceCheck, now, taken)))
}
