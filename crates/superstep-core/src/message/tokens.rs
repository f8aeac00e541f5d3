//! How many tokens a message is: what the provider counted, or an estimate that says it is one.

use super::{Content, Message, Part, Role};

/// How many tokens, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCount {
    /// How many.
    pub tokens: u64,
    /// Counted by us and not by the provider.
    pub estimated: bool,
}

/// The tokens of one message: as its usage counts them, otherwise by estimate.
///
/// ```
/// use superstep_core::message::{Message, count_tokens};
///
/// assert!(count_tokens(&Message::user("How late is it?")).estimated);
/// ```
pub fn count_tokens(message: &Message) -> TokenCount {
    match &message.usage {
        // The input of a call is the messages before this one.
        Some(usage) if message.role == Role::Assistant => {
            TokenCount { tokens: usage.output_tokens, estimated: usage.estimated }
        }
        _ => TokenCount { tokens: estimate(message), estimated: true },
    }
}

/// What role and separators cost with the providers that publish it.
const FRAME: u64 = 4;

/// Pictures, sounds and files are not looked into; this is a picture of middle size.
const MEDIA: u64 = 1_000;

fn estimate(message: &Message) -> u64 {
    let content = match &message.content {
        Content::Text(text) => of_text(text),
        Content::Parts(parts) => parts.iter().map(of_part).sum(),
    };
    let calls: u64 = message.tool_calls.iter().map(|call| of_text(&call.name) + of_text(&call.args.to_string())).sum();
    FRAME + content + calls + message.name.as_deref().map_or(0, of_text)
}

fn of_part(part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } => of_text(text),
        Part::Image(_) | Part::Audio(_) | Part::File(_) => MEDIA,
        Part::Other(value) => of_text(&value.to_string()),
    }
}

/// Four letters of ASCII are about one token; other letters are often one each, and a budget should rather be kept.
pub(crate) fn of_text(text: &str) -> u64 {
    let (ascii, other) = text.chars().fold((0_u64, 0_u64), |(ascii, other), letter| match letter.is_ascii() {
        true => (ascii + 1, other),
        false => (ascii, other + 1),
    });
    ascii.div_ceil(4) + other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    /// R-FWK-67: the provider's count is taken when there is one; an estimate is marked.
    #[test]
    fn a_count_of_the_provider_wins_over_an_estimate() {
        let mut message = Message::assistant("12345678");
        assert_eq!(count_tokens(&message), TokenCount { tokens: 6, estimated: true });
        message.usage = Some(Usage::new(100, 3));
        assert_eq!(count_tokens(&message), TokenCount { tokens: 3, estimated: false });
        assert_eq!(count_tokens(&Message::user("日本")), TokenCount { tokens: 6, estimated: true });
    }
}
