//! What weights on this machine are asked: one short message, and an answer that has an end.
//!
//! A small model repeats whatever it is given much of. So it is not sent all that was said, as the others are, but the turn that it
//! answers; and it draws its words by chance, by the seed of the debate, because the likeliest ones go round in circles.

use superstep::Cx;
use superstep::model::{Answer, Request, StopReason};

use crate::hall::Hall;
use crate::prompt::{Cue, Role};
use crate::state::Debate;

/// The longest turn, in tokens: three sentences, and some more.
const MOST_TOKENS: u32 = 120;
/// The most letters of a turn or a note that are quoted.
const LONGEST_QUOTE: usize = 240;
/// The most notes, of which the last ones count most.
const MOST_NOTES: usize = 6;

/// The request for a cue.
pub(super) fn request(cue: &Cue, debate: &Debate, hall: &Hall, cx: &Cx) -> Request {
    let mut request = Request::from(text(cue, debate).as_str()).max_tokens(MOST_TOKENS).temperature(0.6);
    request.top_p = Some(0.9);
    // Another one for each turn and each attempt, and the same when a turn is repeated after a crash.
    let turn = cx.step().unsigned_abs() * 64 + u64::from(cx.attempt());
    request.seed = Some(hall.seed.wrapping_add(turn));
    request
}

/// The answer; one that was cut off ends with its last whole sentence.
pub(super) fn whole(mut answer: Answer) -> Answer {
    let text = answer.message.text().into_owned();
    let end = text.rfind(['.', '!', '?']).filter(|_| answer.stop == StopReason::Length);
    let text = end.map_or(&*text, |end| &text[..=end]).trim().to_owned();
    answer.message.content = text.into();
    answer
}

fn text(cue: &Cue, debate: &Debate) -> String {
    let last = |role: Role| debate.turns().rfind(|turn| turn.name.as_deref() == Some(role.name()));
    let quoted = |role: Role| last(role).map(|turn| format!("\"{}\"", start(&turn.text())));
    let (topic, notes) = (&cue.topic, notes(cue, debate));
    let task = match (cue.role, quoted(Role::Optimist), quoted(Role::Skeptic)) {
        (Role::Optimist, _, None) => format!("{topic}\nGive one good reason to say yes. Write two sentences."),
        (Role::Optimist, _, Some(said)) => {
            format!(
                "{topic}\nSomeone who says no argues: {said}\nAnswer with a new reason to say yes. Write two sentences."
            )
        }
        (Role::Skeptic, said, _) => format!(
            "The question is: {topic}\nThe argument for it is: {}\nWhat speaks against this argument? Write two sentences.",
            said.unwrap_or_default()
        ),
        (Role::Moderator, yes, no) => format!(
            "{topic}\nOne side says: {}\nThe other side says: {}\nSum up what each side says, in one sentence each.",
            yes.unwrap_or_default(),
            no.unwrap_or_default()
        ),
    };
    format!("{task}{notes}")
}

/// What it has to know beside that; speakers hear the last thing that a person said.
fn notes(cue: &Cue, debate: &Debate) -> String {
    let heard = debate.remarks().last().map(|remark| format!("the user said: {remark}"));
    let notes: Vec<String> = match cue.role {
        Role::Moderator => cue.notes.clone(),
        Role::Optimist | Role::Skeptic => heard.into_iter().collect(),
    };
    let from = notes.len().saturating_sub(MOST_NOTES);
    notes[from..].iter().map(|note| format!("\nNote: {}", start(note))).collect()
}

/// The first sentences of a text: as many whole ones as fit, or as much of the first.
fn start(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(LONGEST_QUOTE) else { return line };
    let some = &line[..end];
    some.rfind(['.', '!', '?']).map_or(some, |end| &some[..=end]).to_owned()
}
