//! Token counts of messages: the count of the provider, or an estimate that is marked as one.

use super::{Content, ContentPart, Message, Role};

/// A number of tokens and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCount {
    /// Number of tokens.
    pub tokens: u64,
    /// True if the number is an estimate, false if the provider counted.
    pub estimated: bool,
}

/// Returns the tokens of one message: from its usage if present, otherwise an estimate.
///
/// ```
/// use superstep_core::message::{Message, count_tokens};
///
/// assert!(count_tokens(&Message::user("How late is it?")).estimated);
/// ```
pub fn count_tokens(message: &Message) -> TokenCount {
    match &message.usage {
        // The input tokens of a call belong to the messages before this one.
        Some(usage) if message.role == Role::Assistant => {
            TokenCount { tokens: usage.output_tokens, estimated: usage.estimated }
        }
        _ => TokenCount { tokens: estimate(message), estimated: true },
    }
}

/// Tokens for role and separators, as published by providers.
const MESSAGE_OVERHEAD: u64 = 4;

/// Tokens for an image, an audio clip or a file, whose data is not examined; the cost of a medium-sized image.
const MEDIA_TOKENS: u64 = 1_000;

fn estimate(message: &Message) -> u64 {
    let content = match &message.content {
        Content::Text(text) => tokens_of_text(text),
        Content::Parts(parts) => parts.iter().map(tokens_of_part).sum(),
    };
    let calls: u64 =
        message.tool_calls.iter().map(|call| tokens_of_text(&call.name) + tokens_of_text(&call.args.to_string())).sum();
    MESSAGE_OVERHEAD + content + calls + message.name.as_deref().map_or(0, tokens_of_text)
}

fn tokens_of_part(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text { text, .. } => tokens_of_text(text),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => MEDIA_TOKENS,
        ContentPart::Other(value) => tokens_of_text(&value.to_string()),
    }
}

/// Estimates four ASCII characters as one token and every other character as one, which rather overestimates.
pub(crate) fn tokens_of_text(text: &str) -> u64 {
    let (ascii, other) = text.chars().fold((0_u64, 0_u64), |(ascii, other), character| match character.is_ascii() {
        true => (ascii + 1, other),
        false => (ascii, other + 1),
    });
    ascii.div_ceil(4) + other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::TokenUsage;

    /// R-FWK-67: the provider's count is used if there is one; an estimate is marked.
    #[test]
    fn a_count_of_the_provider_wins_over_an_estimate() {
        let mut message = Message::assistant("12345678");
        assert_eq!(count_tokens(&message), TokenCount { tokens: 6, estimated: true });
        message.usage = Some(TokenUsage::new(100, 3));
        assert_eq!(count_tokens(&message), TokenCount { tokens: 3, estimated: false });
        assert_eq!(count_tokens(&Message::user("日本")), TokenCount { tokens: 6, estimated: true });
    }
}
