//! Tools with arguments that do not deserialize, and with results that do not serialize.
use superstep::prelude::*;
use superstep::tools::{ToolSpec, tool_fn};

struct Handle;

/// Takes something that no run has.
#[tool]
async fn injects(#[inject] _handle: Handle) -> i64 {
    1
}

/// Gives something that is no JSON.
#[tool]
async fn loads(_n: i64) -> Handle {
    Handle
}

fn main() {
    tool_fn(ToolSpec::new("closure", "Takes something that is no JSON."), async |_: Handle, _cx| 1);
}
