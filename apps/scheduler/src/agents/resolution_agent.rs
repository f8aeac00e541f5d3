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
use crate::context::SchedulerContext;
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
        let find = |id: &str| proposed.iter().find(|resolution| resolution.resolution_id == id).cloned();
        match self {
            Self::Selected { resolution_id } => find(&resolution_id),
            Self::Declined { .. } => None,
            Self::Edited { resolution: EditedResolution { resolution_id, strategy, changes } } => {
                Some(ProposedResolution {
                    description: "Your own resolution.".to_owned(),
                    score: Score::clamped(0.0),
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
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
    interrupts: Interrupts,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    // Recorded, so that the answer refers to the resolutions that were shown, even if the calendar has changed.
    let resolution_data = cx.once("ways out", search(&state, &context, &cx)).await;
    let resolution_data: ResolutionData = match resolution_data {
        Ok(resolution_data) => resolution_data,
        Err(error) => {
            let error = error.into_error();
            return or_record_error(Err(error), (&state, AgentName::Resolution.name()), &context, &cx).await;
        }
    };
    let choice = match request_state::is_declined(&state) {
        // The user declined before, and then the calendar store was unavailable.
        true => ResolutionChoice::Declined { decline: true },
        false => {
            let answer = interrupts
                .raise_with_schema(
                    "resolution",
                    interrupt_payload(&state, &resolution_data),
                    &resolution_question(&resolution_data),
                    Some(schema(&resolution_data)?),
                )
                .await?;
            serde_json::from_value(answer)?
        }
    };
    let now = context.now(&cx)?;
    let base_update = resolution_update(&state, &resolution_data, now)?;
    if let Some(resolution) = choice.selected(&resolution_data.proposed_resolutions) {
        return Ok(base_update.selected_resolution(Some(resolution)).workflow_status(WorkflowStatus::InProgress));
    }
    let event = state.proposed_event.clone();
    if let Some(event) = &event
        && let Err(error) = reject_proposal(&context, &state.user_id, &event.event_id).await
    {
        let update = or_record_error(Err(error), (&state, AgentName::Resolution.name()), &context, &cx).await?;
        return Ok(update.notes((request_state::DECLINED.to_owned(), true.into())));
    }
    let event = event.map(|event| ProposedEvent { status: EventStatus::Rejected, ..event });
    let declined = base_update.proposed_event(event).workflow_status(WorkflowStatus::InProgress);
    let declined = declined.notes((request_state::DECLINED.to_owned(), true.into()));
    Ok(with_final_answer(declined, WorkflowStatus::Completed, "OK, nothing was planned.", now))
}

async fn search(state: &FamilySchedulerState, context: &SchedulerContext, cx: &TaskContext) -> Result<ResolutionData> {
    let (now, snapshot) = (context.now(cx)?, context.snapshot().await?);
    let preview = request_state::plan(state)?.apply_to(&snapshot, &state.user_id, now)?;
    let conflicts = state.detected_conflicts.clone().unwrap_or_default().conflicts;
    propose_resolutions(&preview.snapshot, &preview.event, &conflicts, &state.user_id, now)
}

fn resolution_update(
    state: &FamilySchedulerState,
    resolution_data: &ResolutionData,
    now: Time,
) -> Result<FamilySchedulerStateUpdate> {
    let count = resolution_data.proposed_resolutions.len();
    let issues = if count == 0 { vec!["No resolution found. Try another time.".to_owned()] } else { Vec::new() };
    let finding = AgentFinding {
        agent: AgentName::Resolution,
        step: WorkflowStep::Resolution,
        data: json(resolution_data)?,
        explanation: resolution_question(resolution_data),
        confidence: confidence(resolution_data.proposed_resolutions.first().map_or(0.5, |best| best.score.value())),
        reasoning: format!("{count} resolutions tested"),
    };
    Ok(finding.into_update(state, now).validation_results(validated(ValidationStep::Resolution, now, issues)))
}

fn resolution_question(resolution_data: &ResolutionData) -> String {
    match resolution_data.proposed_resolutions.first() {
        Some(best) => format!("There is a conflict. Recommended: {}", best.description),
        None => "There is a conflict, and I found no resolution.".to_owned(),
    }
}

fn interrupt_payload(state: &FamilySchedulerState, resolution_data: &ResolutionData) -> Value {
    json!({
        "kind": "resolution",
        "question": resolution_question(resolution_data),
        "conflicts": state.detected_conflicts.as_ref().map(|data| &data.conflicts),
        "resolutions": resolution_data.proposed_resolutions,
        "recommended": resolution_data.recommended_resolution,
    })
}

/// Restricts the answer to proposed resolutions and edits of them.
fn schema(resolution_data: &ResolutionData) -> Result<Value> {
    let ids: Vec<&str> =
        resolution_data.proposed_resolutions.iter().map(|resolution| resolution.resolution_id.as_str()).collect();
    // The schema is embedded in another one, where references to its own definitions would not resolve.
    let schema_settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut edited_schema = json(&schema_settings.into_generator().into_root_schema_for::<EditedResolution>())?;
    edited_schema["properties"]["resolution_id"] = json!({ "enum": ids });
    let alternative = |name: &str, schema: Value| {
        json!({
            "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false,
        })
    };
    Ok(json!({
        "anyOf": [
            alternative("resolution_id", json!({ "enum": ids })),
            alternative("decline", json!({ "const": true })),
            alternative("resolution", edited_schema),
        ],
    }))
}
