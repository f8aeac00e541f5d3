//! Schema versions of the state, and the migration of threads with an older one.

use serde_json::{Value, json};
use superstep::Migration;

/// Schema versions, as numbered by the engine and by the application.
pub const VERSIONS: [(u32, &str); 2] = [(1, "1.0.0"), (2, "1.1.0")];

/// Migrates from 1.0.0, which had messages, round, topic, rounds and status, to 1.1.0.
///
/// The start time is not part of a 1.0.0 state: [`crate::load_debate_view`] takes it from the first checkpoint, and
/// [`crate::backfill_start_time`] writes it to the state.
pub(crate) fn to_1_1_0() -> Migration {
    Migration::to_version(2)
        .add("awaitingApproval", false)
        .add("userApproved", Value::Null)
        .add("factCheckResults", json!([]))
        .add("tokenUsage", 0)
        .add("startTime", Value::Null)
        .add("endTime", Value::Null)
}
