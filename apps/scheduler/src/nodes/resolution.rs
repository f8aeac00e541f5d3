//! Looks for ways out of a conflict, and asks which to take.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep::{Ask, Ctx, Cx, NodeError, Result, View};

use super::told::{Finding, ended, json, or_failed, reject, sure, validated};
use crate::agents::resolution::propose;
use crate::home::{self, Home};
use crate::models::{
    EventStatus, ProposedEvent, ProposedResolution, ResolutionChange, ResolutionData, Score, Strategy, ValidationStep,
};
use crate::notes;
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};

/// What the user says about ways out: the id of one, one that they changed, or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Choice {
    /// One of those that were proposed.
    Taken {
        /// Its id.
        resolution_id: String,
    },
    /// None.
    Declined {
        /// Always true.
        decline: bool,
    },
    /// One that the user changed.
    Changed {
        /// What it is now.
        resolution: ChangedWay,
    },
}

/// A way out that the user changed. What else was told of the way that it was made from may come back with it, and says
/// nothing of what it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedWay {
    /// The id of the way that it was made from.
    pub resolution_id: String,
    /// How it works.
    pub strategy: Strategy,
    /// What it changes.
    pub changes: Vec<ResolutionChange>,
}

impl Choice {
    /// The way out that is taken, of those that were proposed or made from one of them; none where all are declined.
    pub(crate) fn taken(self, proposed: &[ProposedResolution]) -> Option<ProposedResolution> {
        let one = |id: &str| proposed.iter().find(|one| one.resolution_id == id).cloned();
        match self {
            Self::Taken { resolution_id } => one(&resolution_id),
            Self::Declined { .. } => None,
            Self::Changed { resolution: ChangedWay { resolution_id, strategy, changes } } => Some(ProposedResolution {
                description: "A way of your own.".to_owned(),
                score: Score::near(0.0),
                conflicts_resolved: Vec::new(),
                side_effects: Vec::new(),
                resolution_id,
                strategy,
                changes,
            }),
        }
    }
}

/// Looks for ways out, and asks.
pub(crate) async fn resolution(
    state: View<Scheduler>,
    home: Ctx<Home>,
    cx: Cx,
    ask: Ask,
) -> Result<SchedulerUpdate, NodeError> {
    // What was shown is what is answered, whatever the calendar is like by then.
    let found = cx.once("ways out", search(&state, &home, &cx)).await;
    let found: ResolutionData = match found {
        Ok(found) => found,
        Err(error) => {
            let error = error.into_error();
            return or_failed(Err(error), (&state, Agent::Resolution.name()), &home, &cx).await;
        }
    };
    let choice = match notes::is_declined(&state) {
        // It was answered, and then the calendar could not be reached.
        true => Choice::Declined { decline: true },
        false => {
            let said =
                ask.with("resolution", question(&state, &found), &sentence(&found), Some(schema(&found)?)).await?;
            serde_json::from_value(said)?
        }
    };
    let now = home::now(&cx)?;
    let told = told(&state, &found, now)?;
    if let Some(taken) = choice.taken(&found.proposed_resolutions) {
        return Ok(told.selected_resolution(Some(taken)).workflow_status(WorkflowStatus::InProgress));
    }
    let event = state.proposed_event.clone();
    if let Some(event) = &event
        && let Err(error) = reject(&home, &state.user_id, &event.event_id).await
    {
        let update = or_failed(Err(error), (&state, Agent::Resolution.name()), &home, &cx).await?;
        return Ok(update.notes((notes::DECLINED.to_owned(), true.into())));
    }
    let event = event.map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    let told = told.proposed_event(event).workflow_status(WorkflowStatus::InProgress);
    let told = told.notes((notes::DECLINED.to_owned(), true.into()));
    Ok(ended(told, WorkflowStatus::Completed, "All right, nothing was planned.", now))
}

async fn search(state: &Scheduler, home: &Home, cx: &Cx) -> Result<ResolutionData> {
    let (now, board) = (home::now(cx)?, home.board().await?);
    let drawn = notes::plan(state)?.on(&board, &state.user_id, now)?;
    let conflicts = state.detected_conflicts.clone().unwrap_or_default().conflicts;
    propose(&drawn.board, &drawn.event, &conflicts, &state.user_id, now)
}

fn told(state: &Scheduler, found: &ResolutionData, now: Time) -> Result<SchedulerUpdate> {
    let count = found.proposed_resolutions.len();
    let issues = if count == 0 { vec!["There is no way out but another time.".to_owned()] } else { Vec::new() };
    let finding = Finding {
        agent: Agent::Resolution,
        step: Step::Resolution,
        data: json(found)?,
        explanation: sentence(found),
        confidence: sure(found.proposed_resolutions.first().map_or(0.5, |best| best.score.value())),
        reasoning: format!("{count} ways out work on a copy of the calendar"),
    };
    Ok(finding.told(state, now).validation_results(validated(ValidationStep::Resolution, now, issues)))
}

fn sentence(found: &ResolutionData) -> String {
    match found.proposed_resolutions.first() {
        Some(best) => format!("Something stands in the way. Best would be: {}", best.description),
        None => "Something stands in the way, and I see no way out.".to_owned(),
    }
}

fn question(state: &Scheduler, found: &ResolutionData) -> Value {
    json!({
        "kind": "resolution",
        "question": sentence(found),
        "conflicts": state.detected_conflicts.as_ref().map(|data| &data.conflicts),
        "resolutions": found.proposed_resolutions,
        "recommended": found.recommended_resolution,
    })
}

/// Only what was proposed can be taken, or changed.
fn schema(found: &ResolutionData) -> Result<Value> {
    let ids: Vec<&str> = found.proposed_resolutions.iter().map(|one| one.resolution_id.as_str()).collect();
    // It stands inside of another schema, where it cannot refer to parts of its own.
    let whole = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut changed = json(&whole.into_generator().into_root_schema_for::<ChangedWay>())?;
    changed["properties"]["resolution_id"] = json!({ "enum": ids });
    let one = |name: &str, schema: Value| {
        json!({
            "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false,
        })
    };
    Ok(json!({
        "anyOf": [
            one("resolution_id", json!({ "enum": ids })),
            one("decline", json!({ "const": true })),
            one("resolution", changed),
        ],
    }))
}
