//! Formats the response and publishes its warnings as events.

use serde_json::json;
use superstep::{Message, NodeError, RunContext, StreamWriter, View};

use crate::context::SuggestionsContext;
use crate::response_format::{self, report};
use crate::state::{SuggestionsState, SuggestionsStateUpdate};

/// Runs the node `formatResponse`: formats the response and publishes its warnings.
pub(crate) async fn format_response(
    state: View<SuggestionsState>,
    context: RunContext<SuggestionsContext>,
    writer: StreamWriter,
) -> Result<SuggestionsStateUpdate, NodeError> {
    let messages: Vec<&Message> = state.messages.iter().collect();
    let formatted = response_format::format_response(&messages, context.post_id());
    for warning in &formatted.warnings {
        writer.send_named("on_warning", json!({ "message": warning, "dropped": formatted.dropped })).await?;
    }
    context.set_report(report(&messages, formatted.warnings));
    Ok(SuggestionsState::update().response(formatted.response))
}
