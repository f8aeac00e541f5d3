//! Makes the response, and tells what was let pass.

use serde_json::json;
use superstep::{Ctx, Message, NodeError, View, Writer};

use crate::context::Context;
use crate::format::{format, report};
use crate::state::{Suggestions, SuggestionsUpdate};

/// The node `formatResponse`.
pub(crate) async fn format_response(
    state: View<Suggestions>,
    context: Ctx<Context>,
    writer: Writer,
) -> Result<SuggestionsUpdate, NodeError> {
    let messages: Vec<&Message> = state.messages.iter().collect();
    let formatted = format(&messages, context.post_id());
    for warning in &formatted.warnings {
        writer.event("on_warning", json!({ "message": warning, "dropped": formatted.dropped })).await?;
    }
    context.set_report(report(&messages, formatted.warnings));
    Ok(Suggestions::update().response(formatted.response))
}
