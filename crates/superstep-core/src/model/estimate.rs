//! What a call costs in tokens where nobody counted: estimates, marked as such.

use super::Request;
use crate::message::{Message, Usage, count_tokens, tokens_of_text};

/// About how many tokens the model has to read: messages, tools and the form of the answer.
#[must_use]
pub fn estimate_input(request: &Request) -> u64 {
    let messages: u64 = request.messages.iter().map(|message| count_tokens(message).tokens).sum();
    let tools = request.tools.iter().map(|tool| {
        tokens_of_text(&tool.name) + tokens_of_text(&tool.description) + tokens_of_text(&tool.input_schema.to_string())
    });
    let format = request.format.as_ref().map_or(0, |format| tokens_of_text(&format.schema.to_string()));
    messages + tools.sum::<u64>() + format
}

/// About what a call cost, for models that do not count.
///
/// ```
/// use superstep_core::message::Message;
/// use superstep_core::model::{Request, estimate};
///
/// let usage = estimate(&Request::from("How late is it?"), &Message::assistant("Noon."));
/// assert!(usage.estimated && usage.input_tokens > 0 && usage.output_tokens > 0);
/// ```
#[must_use]
pub fn estimate(request: &Request, answer: &Message) -> Usage {
    Usage { estimated: true, ..Usage::new(estimate_input(request), count_tokens(answer).tokens) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::AnswerFormat;
    use crate::tool::ToolSpec;

    /// R-FWK-67: what is not counted is estimated from all that is sent, and says so.
    #[test]
    fn an_estimate_counts_all_that_is_sent() {
        let plain = Request::from("12345678");
        assert_eq!(estimate_input(&plain), 6);
        let tooled = plain.clone().tools([Arc::new(ToolSpec::new("look", "Looks at it."))]);
        assert!(estimate_input(&tooled) > estimate_input(&plain));
        let formed = plain.clone().format(AnswerFormat::new("n", json!({"type": "integer"})));
        assert!(estimate_input(&formed) > estimate_input(&plain));
        let usage = estimate(&plain, &Message::assistant("12345678"));
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (6, 6, 12));
        assert!(usage.estimated);
    }
}
