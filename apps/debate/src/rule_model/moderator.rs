//! The moderator: the strongest points of each side as quotes, the main conflict, checked claims. It declares no
//! winner.

mod prompt_notes;
mod strongest_points;

use superstep::models::SeededRng;

use super::arguments::{self, Aspect};
use super::citation::nested;
use super::history::{History, opponent};
use super::topic::{Topic, content_words};
use crate::fact_check::sentences;
use crate::prompt::{DebateAgent, TurnPrompt};
use prompt_notes::PromptNotes;

/// Writes the summary of a debate, a paragraph for each part.
pub(super) fn write_summary(prompt: &TurnPrompt, history: &History, rng: &mut SeededRng) -> String {
    let topic = Topic::parse(&prompt.topic);
    let notes = PromptNotes::parse(&prompt.notes);
    let mut parts = vec![opening_paragraph(prompt, history, &notes)];
    for role in [DebateAgent::Optimist, DebateAgent::Skeptic] {
        parts.push(strongest_paragraph(role, history, &topic, &notes));
    }
    parts.push(conflict_paragraph(history, &topic));
    parts.extend(notes.verdicts());
    parts.extend(notes.other_notes());
    parts.push((*rng.choose(&ENDINGS).unwrap_or(&ENDINGS[0])).to_owned());
    parts.join("\n\n")
}

const ENDINGS: [&str; 5] = [
    "I declare no winner: both sides leave with good points, and the weighing is left to those who listened.",
    "There is no winner to announce here, only two sets of reasons that each of us may weigh.",
    "I leave it at that without naming a winner; what weighs more is for the listeners to decide.",
    "No winner is declared, because the two sides disagreed about what matters most, and that is yours to judge.",
    "The question stays open and no winner is named, but what it turns on should be clearer now.",
];

fn opening_paragraph(prompt: &TurnPrompt, history: &History, notes: &PromptNotes) -> String {
    let topic = nested(&prompt.topic);
    let rounds = u32::try_from(history.turns_of(DebateAgent::Skeptic).count()).unwrap_or(prompt.max_rounds).max(1);
    let plural = if rounds == 1 { "round" } else { "rounds" };
    let opening = format!("The optimist and the skeptic debated “{topic}” over {rounds} {plural}.");
    match notes.ended_after_round(rounds) {
        Some(round) => format!("{opening} The user ended the debate after round {round}."),
        None => opening,
    }
}

fn strongest_paragraph(role: DebateAgent, history: &History, topic: &Topic, notes: &PromptNotes) -> String {
    let name = role.name();
    let points = strongest_points::strongest(role, history, topic, notes);
    let quoted: Vec<String> = points.iter().map(|point| format!("“{}”", inner(point))).collect();
    match quoted.as_slice() {
        [] => format!("The {name} made no point that could be quoted."),
        [one] => format!("The strongest point of the {name} was {one}."),
        [one, two, ..] => format!("The two strongest points of the {name} were {one} and {two}."),
    }
}

/// Converts a sentence for use inside another one.
fn inner(sentence: &str) -> String {
    nested(sentence).trim_end_matches('.').to_owned()
}

/// Describes an argument of one side to which the other responded.
fn conflict_paragraph(history: &History, topic: &Topic) -> String {
    let mut conflicts: Vec<(&Aspect, DebateAgent, &str)> = Vec::new();
    for aspect in arguments::aspects(topic) {
        for role in [DebateAgent::Optimist, DebateAgent::Skeptic] {
            let argument = aspect.argument(role);
            let is_argued = history.turns_of(role).any(|text| argument.is_in(text));
            let is_listed = conflicts.iter().any(|(other, ..)| other.name == aspect.name);
            let answer =
                history.turns_of(opponent(role)).find(|text| argument.is_in(text)).filter(|_| is_argued && !is_listed);
            let reply = answer.and_then(|text| sentences(text).into_iter().find(|sentence| argument.is_in(sentence)));
            conflicts.extend(reply.map(|reply| (aspect, role, reply)));
        }
    }
    let Some((aspect, role, reply)) = conflicts.first() else { return shared_words(history) };
    let names: Vec<&str> = conflicts.iter().take(3).map(|(aspect, ..)| aspect.name).collect();
    format!(
        "They clashed over {}. On {}, the {} put forward “{}”, and the {} replied “{}”.",
        join_words(&names),
        aspect.name,
        role.name(),
        aspect.argument(*role).key(),
        opponent(*role).name(),
        inner(reply),
    )
}

/// Describes the words that both sides used; for messages of other models.
fn shared_words(history: &History) -> String {
    let words = |role| content_words(&history.turns_of(role).collect::<Vec<_>>().join(" "));
    let (skeptic_words, mut shared) = (words(DebateAgent::Skeptic), words(DebateAgent::Optimist));
    shared.retain(|word| word.chars().count() > 3 && skeptic_words.contains(word));
    shared.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let longest: Vec<&str> = shared.iter().take(3).map(String::as_str).collect();
    match longest.as_slice() {
        [] => "They talked past each other more than they disagreed.".to_owned(),
        words => format!("They clashed over what to make of these: {}.", join_words(words)),
    }
}

/// Joins words: `a`, `a and b`, `a, b and c`.
fn join_words(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
