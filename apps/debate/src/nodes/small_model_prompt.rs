//! Prompts for local weights: one short message, and a response of limited length.
//!
//! A small model repeats a long context. So it does not receive all messages, as other models do, but only the turn
//! it responds to; and tokens are sampled with the seed of the debate, because the most likely ones end in loops.

use superstep::TaskContext;
use superstep::models::{ChatRequest, ChatResponse, StopReason};

use crate::context::DebateContext;
use crate::prompt::{DebateAgent, TurnPrompt};
use crate::state::DebateState;

/// Maximum length of a turn in tokens: three sentences, with a margin.
const MAX_TURN_TOKENS: u32 = 120;
/// Maximum number of quoted characters of a turn or a note.
const MAX_QUOTE_CHARS: usize = 240;
/// Maximum number of notes; the last ones are used.
const MAX_NOTES: usize = 6;

/// Builds the chat request for a turn.
pub(super) fn request(
    prompt: &TurnPrompt,
    debate: &DebateState,
    context: &DebateContext,
    cx: &TaskContext,
) -> ChatRequest {
    let mut request =
        ChatRequest::from(prompt_text(prompt, debate).as_str()).max_tokens(MAX_TURN_TOKENS).temperature(0.6);
    request.top_p = Some(0.9);
    // A different seed for each turn and attempt, and the same one when a turn is repeated after a crash.
    let turn = cx.step().unsigned_abs() * 64 + u64::from(cx.attempt());
    request.seed = Some(context.seed.wrapping_add(turn));
    request
}

/// Trims a response that was cut off to its last complete sentence.
pub(super) fn trim_to_last_sentence(mut response: ChatResponse) -> ChatResponse {
    let text = response.message.text().into_owned();
    let end = text.rfind(['.', '!', '?']).filter(|_| response.stop == StopReason::Length);
    let text = end.map_or(&*text, |end| &text[..=end]).trim().to_owned();
    response.message.content = text.into();
    response
}

fn prompt_text(prompt: &TurnPrompt, debate: &DebateState) -> String {
    let last = |role: DebateAgent| debate.turns().rfind(|turn| turn.name.as_deref() == Some(role.name()));
    let quoted = |role: DebateAgent| last(role).map(|turn| format!("\"{}\"", start(&turn.text())));
    let (topic, notes) = (&prompt.topic, notes(prompt, debate));
    let task = match (prompt.role, quoted(DebateAgent::Optimist), quoted(DebateAgent::Skeptic)) {
        (DebateAgent::Optimist, _, None) => format!("{topic}\nGive one good reason to say yes. Write two sentences."),
        (DebateAgent::Optimist, _, Some(argument)) => {
            format!(
                "{topic}\nSomeone who says no argues: {argument}\nAnswer with a new reason to say yes. Write two sentences."
            )
        }
        (DebateAgent::Skeptic, argument, _) => format!(
            "The question is: {topic}\nThe argument for it is: {}\nWhat speaks against this argument? Write two sentences.",
            argument.unwrap_or_default()
        ),
        (DebateAgent::Moderator, yes, no) => format!(
            "{topic}\nOne side says: {}\nThe other side says: {}\nSum up what each side says, in one sentence each.",
            yes.unwrap_or_default(),
            no.unwrap_or_default()
        ),
    };
    format!("{task}{notes}")
}

/// Returns additional notes; for the optimist and the skeptic the last message of the user.
fn notes(prompt: &TurnPrompt, debate: &DebateState) -> String {
    let last_note = debate.user_notes().last().map(|remark| format!("the user said: {remark}"));
    let notes: Vec<String> = match prompt.role {
        DebateAgent::Moderator => prompt.notes.clone(),
        DebateAgent::Optimist | DebateAgent::Skeptic => last_note.into_iter().collect(),
    };
    let from = notes.len().saturating_sub(MAX_NOTES);
    notes[from..].iter().map(|note| format!("\nNote: {}", start(note))).collect()
}

/// Returns the start of a text: as many complete sentences as fit, or a part of the first one.
fn start(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(MAX_QUOTE_CHARS) else { return line };
    let prefix = &line[..end];
    prefix.rfind(['.', '!', '?']).map_or(prefix, |end| &prefix[..=end]).to_owned()
}
