//! The versions of the state, and how a thread of an older one is read.

use serde_json::{Value, json};
use superstep::Migration;

/// The versions there were, as the engine numbers them and as people do.
pub const VERSIONS: [(u32, &str); 2] = [(1, "1.0.0"), (2, "1.1.0")];

/// From 1.0.0, which had messages, round, topic, rounds and status, to 1.1.0.
///
/// When such a debate began is not in its state: [`crate::read()`] takes it from the first checkpoint, and
/// [`crate::bring_up_to_date`] writes it down.
pub(crate) fn to_1_1_0() -> Migration {
    Migration::to(2)
        .add("awaitingApproval", false)
        .add("userApproved", Value::Null)
        .add("factCheckResults", json!([]))
        .add("tokenUsage", 0)
        .add("startTime", Value::Null)
        .add("endTime", Value::Null)
}
