//! Estimates of the token usage of a call that nothing counted, marked as estimates.

use super::ChatRequest;
use crate::message::{Message, TokenUsage, count_tokens, tokens_of_text};

/// Estimates the number of input tokens: messages, tools and the response format.
#[must_use]
pub fn estimate_input(request: &ChatRequest) -> u64 {
    let messages: u64 = request.messages.iter().map(|message| count_tokens(message).tokens).sum();
    let tools = request.tools.iter().map(|tool| {
        tokens_of_text(&tool.name) + tokens_of_text(&tool.description) + tokens_of_text(&tool.input_schema.to_string())
    });
    let format = request.format.as_ref().map_or(0, |format| tokens_of_text(&format.schema.to_string()));
    messages + tools.sum::<u64>() + format
}

/// Estimates the usage of a call, for models that do not count.
///
/// ```
/// use superstep_core::message::Message;
/// use superstep_core::model::{ChatRequest, estimate};
///
/// let usage = estimate(&ChatRequest::from("How late is it?"), &Message::assistant("Noon."));
/// assert!(usage.estimated && usage.input_tokens > 0 && usage.output_tokens > 0);
/// ```
#[must_use]
pub fn estimate(request: &ChatRequest, response: &Message) -> TokenUsage {
    TokenUsage { estimated: true, ..TokenUsage::new(estimate_input(request), count_tokens(response).tokens) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::ResponseFormat;
    use crate::tool::ToolSpec;

    /// R-FWK-67: missing counts are estimated from everything that is sent, and are marked as estimates.
    #[test]
    fn an_estimate_counts_all_that_is_sent() {
        let plain = ChatRequest::from("12345678");
        assert_eq!(estimate_input(&plain), 6);
        let tooled = plain.clone().tools([Arc::new(ToolSpec::new("look", "Looks at it."))]);
        assert!(estimate_input(&tooled) > estimate_input(&plain));
        let formed = plain.clone().format(ResponseFormat::new("n", json!({"type": "integer"})));
        assert!(estimate_input(&formed) > estimate_input(&plain));
        let usage = estimate(&plain, &Message::assistant("12345678"));
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (6, 6, 12));
        assert!(usage.estimated);
    }
}
