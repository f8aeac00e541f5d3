//! Resolutions of a conflict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scheduling::Score;

/// One change of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResolutionChange {
    /// Id of the changed event.
    pub event_id: Option<String>,
    /// Changed field: `start_time`, `end_time`, `resources`, `constraint:<id>`.
    pub field: Option<String>,
    /// Value before the change.
    pub old_value: Option<String>,
    /// Value after the change.
    pub new_value: Option<String>,
    /// Action applied to the event.
    pub action: Option<ChangeAction>,
}

/// Action applied to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAction {
    /// Moves the event to another time.
    Move,
    /// Cancels the event.
    Cancel,
    /// Shortens the event.
    Shorten,
    /// Splits the event into two parts.
    Split,
}

/// A proposed resolution of conflicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedResolution {
    /// Id of the resolution: `res_1`, `res_2` and so on, best first.
    pub resolution_id: String,
    /// Strategy of the resolution.
    pub strategy: Strategy,
    /// Score of the resolution.
    pub score: Score,
    /// Description in a sentence.
    pub description: String,
    /// Changes that the resolution makes.
    pub changes: Vec<ResolutionChange>,
    /// Ids of the resolved conflicts.
    pub conflicts_resolved: Vec<String>,
    /// Side effects of the resolution.
    pub side_effects: Vec<String>,
}

/// Strategy of a resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Moves an event.
    MoveEvent,
    /// Shortens an event.
    ShortenEvent,
    /// Splits an event into two parts.
    SplitEvent,
    /// Cancels an event.
    CancelEvent,
    /// Violates a soft constraint.
    OverrideConstraint,
    /// Uses another resource of the same kind.
    AlternativeResource,
}

/// All proposed resolutions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawResolutionData")]
pub struct ResolutionData {
    /// Resolutions, best first.
    pub proposed_resolutions: Vec<ProposedResolution>,
    /// Id of the best resolution.
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

    fn try_from(raw: RawResolutionData) -> Result<Self, String> {
        let RawResolutionData { proposed_resolutions, recommended_resolution } = raw;
        let is_known = |id: &String| proposed_resolutions.iter().any(|resolution| resolution.resolution_id == *id);
        match recommended_resolution.as_ref().filter(|id| !is_known(id)) {
            Some(unknown) => Err(format!("recommended_resolution is `{unknown}`, which is not proposed")),
            None => Ok(Self { proposed_resolutions, recommended_resolution }),
        }
    }
}
