//! Proposes resolutions of a conflict, and asks the user to choose one.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep::{Interrupts, NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{
    AgentFinding, confidence, json, or_record_error, reject_proposal, validated, with_final_answer,
};
use crate::agents::resolution::propose_resolutions;
use crate::context::{self, SchedulerContext};
use crate::models::{
    EventStatus, ProposedEvent, ProposedResolution, ResolutionChange, ResolutionData, Score, Strategy, ValidationStep,
};
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};

/// Answer to proposed resolutions: one of them, an edited one, or a rejection of all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ResolutionChoice {
    /// A proposed resolution.
    #[serde(rename = "Taken")]
    Selected {
        /// Id of the resolution.
        resolution_id: String,
    },
    /// None of the resolutions.
    Declined {
        /// Always true.
        decline: bool,
    },
    /// A resolution edited by the user.
    #[serde(rename = "Changed")]
    Edited {
        /// The edited resolution.
        resolution: EditedResolution,
    },
}

/// A resolution edited by the user. Further fields of the original resolution may be sent back with it; they are
/// ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditedResolution {
    /// Id of the original resolution.
    pub resolution_id: String,
    /// Strategy of the resolution.
    pub strategy: Strategy,
    /// Changes that the resolution makes.
    pub changes: Vec<ResolutionChange>,
}

impl ResolutionChoice {
    /// Returns the selected or edited resolution; `None` if all are declined.
    pub(crate) fn selected(self, proposed: &[ProposedResolution]) -> Option<ProposedResolution> {
        let one = |id: &str| proposed.iter().find(|one| one.resolution_id == id).cloned();
        match self {
            Self::Selected { resolution_id } => one(&resolution_id),
            Self::Declined { .. } => None,
            Self::Edited { resolution: EditedResolution { resolution_id, strategy, changes } } => {
                Some(ProposedResolution {
                    description: "A way of your own.".to_owned(),
                    score: Score::near(0.0),
                    conflicts_resolved: Vec::new(),
                    side_effects: Vec::new(),
                    resolution_id,
                    strategy,
                    changes,
                })
            }
        }
    }
}

/// Proposes resolutions, and interrupts the run for the choice of the user.
pub(crate) async fn resolution(
    state: View<FamilySchedulerState>,
    home: RunContext<SchedulerContext>,
    cx: TaskContext,
    ask: Interrupts,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    // Recorded, so that the answer refers to the resolutions that were shown, even if the calendar has changed.
    let found = cx.once("ways out", search(&state, &home, &cx)).await;
    let found: ResolutionData = match found {
        Ok(found) => found,
        Err(error) => {
            let error = error.into_error();
            return or_record_error(Err(error), (&state, AgentName::Resolution.name()), &home, &cx).await;
        }
    };
    let choice = match request_state::is_declined(&state) {
        // The user declined before, and then the calendar store was unavailable.
        true => ResolutionChoice::Declined { decline: true },
        false => {
            let said = ask
                .raise_with_schema(
                    "resolution",
                    question(&state, &found),
                    &resolution_question(&found),
                    Some(schema(&found)?),
                )
                .await?;
            serde_json::from_value(said)?
        }
    };
    let now = context::now(&cx)?;
    let told = resolution_update(&state, &found, now)?;
    if let Some(taken) = choice.selected(&found.proposed_resolutions) {
        return Ok(told.selected_resolution(Some(taken)).workflow_status(WorkflowStatus::InProgress));
    }
    let event = state.proposed_event.clone();
    if let Some(event) = &event
        && let Err(error) = reject_proposal(&home, &state.user_id, &event.event_id).await
    {
        let update = or_record_error(Err(error), (&state, AgentName::Resolution.name()), &home, &cx).await?;
        return Ok(update.notes((request_state::DECLINED.to_owned(), true.into())));
    }
    let event = event.map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    let told = told.proposed_event(event).workflow_status(WorkflowStatus::InProgress);
    let told = told.notes((request_state::DECLINED.to_owned(), true.into()));
    Ok(with_final_answer(told, WorkflowStatus::Completed, "All right, nothing was planned.", now))
}

async fn search(state: &FamilySchedulerState, home: &SchedulerContext, cx: &TaskContext) -> Result<ResolutionData> {
    let (now, board) = (context::now(cx)?, home.snapshot().await?);
    let drawn = request_state::plan(state)?.apply_to(&board, &state.user_id, now)?;
    let conflicts = state.detected_conflicts.clone().unwrap_or_default().conflicts;
    propose_resolutions(&drawn.snapshot, &drawn.event, &conflicts, &state.user_id, now)
}

fn resolution_update(
    state: &FamilySchedulerState,
    found: &ResolutionData,
    now: Time,
) -> Result<FamilySchedulerStateUpdate> {
    let count = found.proposed_resolutions.len();
    let issues = if count == 0 { vec!["There is no way out but another time.".to_owned()] } else { Vec::new() };
    let finding = AgentFinding {
        agent: AgentName::Resolution,
        step: WorkflowStep::Resolution,
        data: json(found)?,
        explanation: resolution_question(found),
        confidence: confidence(found.proposed_resolutions.first().map_or(0.5, |best| best.score.value())),
        reasoning: format!("{count} ways out work on a copy of the calendar"),
    };
    Ok(finding.into_update(state, now).validation_results(validated(ValidationStep::Resolution, now, issues)))
}

fn resolution_question(found: &ResolutionData) -> String {
    match found.proposed_resolutions.first() {
        Some(best) => format!("Something stands in the way. Best would be: {}", best.description),
        None => "Something stands in the way, and I see no way out.".to_owned(),
    }
}

fn question(state: &FamilySchedulerState, found: &ResolutionData) -> Value {
    json!({
        "kind": "resolution",
        "question": resolution_question(found),
        "conflicts": state.detected_conflicts.as_ref().map(|data| &data.conflicts),
        "resolutions": found.proposed_resolutions,
        "recommended": found.recommended_resolution,
    })
}

/// Restricts the answer to proposed resolutions and edits of them.
fn schema(found: &ResolutionData) -> Result<Value> {
    let ids: Vec<&str> = found.proposed_resolutions.iter().map(|one| one.resolution_id.as_str()).collect();
    // The schema is embedded in another one, where references to its own definitions would not resolve.
    let whole = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut changed = json(&whole.into_generator().into_root_schema_for::<EditedResolution>())?;
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
