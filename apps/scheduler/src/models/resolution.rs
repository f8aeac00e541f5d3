//! Resolutions of a conflict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slots::Score;

/// One thing that a way out changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResolutionChange {
    /// Of which event.
    pub event_id: Option<String>,
    /// Which field: `start_time`, `end_time`, `resources`, `constraint:<id>`.
    pub field: Option<String>,
    /// What it was.
    pub old_value: Option<String>,
    /// What it becomes.
    pub new_value: Option<String>,
    /// What happens to the event.
    pub action: Option<ChangeAction>,
}

/// What happens to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAction {
    /// It is at another time.
    Move,
    /// It is not.
    Cancel,
    /// It is shorter.
    Shorten,
    /// It is in two parts.
    Split,
}

/// One way out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedResolution {
    /// Its id: `res_1`, `res_2` and so on, the best first.
    pub resolution_id: String,
    /// How it works.
    pub strategy: Strategy,
    /// How good it is.
    pub score: Score,
    /// What it does, in a sentence.
    pub description: String,
    /// What it changes.
    pub changes: Vec<ResolutionChange>,
    /// The ids of the conflicts that are gone with it.
    pub conflicts_resolved: Vec<String>,
    /// What is lost with it.
    pub side_effects: Vec<String>,
}

/// How a way out works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Something is at another time.
    MoveEvent,
    /// Something is shorter.
    ShortenEvent,
    /// Something is in two parts.
    SplitEvent,
    /// Something is not.
    CancelEvent,
    /// A soft rule is broken.
    OverrideConstraint,
    /// Another thing of the same kind is used.
    AlternativeResource,
}

/// All ways out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawResolutionData")]
pub struct ResolutionData {
    /// The best first.
    pub proposed_resolutions: Vec<ProposedResolution>,
    /// The id of the best.
    pub recommended_resolution: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawResolutionData {
    proposed_resolutions: Vec<ProposedResolution>,
    #[serde(default)]
    recommended_resolution: Option<String>,
}

impl TryFrom<RawResolutionData> for ResolutionData {
    type Error = String;

    fn try_from(given: RawResolutionData) -> Result<Self, String> {
        let RawResolutionData { proposed_resolutions, recommended_resolution } = given;
        let is_known = |id: &String| proposed_resolutions.iter().any(|one| one.resolution_id == *id);
        match recommended_resolution.as_ref().filter(|id| !is_known(id)) {
            Some(unknown) => Err(format!("recommended_resolution is `{unknown}`, which is not proposed")),
            None => Ok(Self { proposed_resolutions, recommended_resolution }),
        }
    }
}
