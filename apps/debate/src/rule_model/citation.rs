//! Quotes from the evidence folder, with their source.

use superstep::models::SeededRng;

use super::arguments;
use super::history::History;
use super::topic::Topic;
use crate::evidence::{Evidence, Passage};
use crate::fact_check::sentences;
use crate::prompt::DebateAgent;

/// Returns a sentence about the topic that was not quoted yet; text under a heading of the agent's own side is
/// preferred.
pub(super) fn cite(
    evidence: &Evidence,
    role: DebateAgent,
    topic: &Topic,
    history: &History,
    rng: &mut SeededRng,
) -> Option<String> {
    let mut passages: Vec<Passage> = evidence.passages(&topic.words.join(" "), 16);
    passages.retain(|passage| side(passage).is_none_or(|side| side == role) && is_about(passage, topic));
    // Passages under a heading of this side come first, then the order of the search applies.
    passages.sort_by_key(|passage| side(passage).is_none());
    let (quote, source) = passages.iter().find_map(|passage| {
        let fits = |sentence: &&str| (40..=240).contains(&sentence.chars().count()) && sentence.ends_with('.');
        let quotes = sentences(&passage.text).into_iter().filter(fits).map(nested);
        let mut unused_quotes = quotes.filter(|quote| !history.contains_text(quote));
        unused_quotes.next().map(|quote| (quote, passage.source.clone()))
    })?;
    let start = rng.below(arguments::CITATIONS.len() as u64) as usize;
    let mut templates = arguments::CITATIONS.iter().cycle().skip(start).take(arguments::CITATIONS.len());
    let is_new = |pattern: &&&str| pattern.split_once(':').is_some_and(|(lead, _)| !history.contains_text(lead));
    let pattern = templates.clone().find(is_new).or_else(|| templates.next())?;
    Some(pattern.replacen("{source}", &source, 1).replacen("{quote}", &quote, 1))
}

/// Converts a sentence for use inside quotation marks.
pub(super) fn nested(sentence: &str) -> String {
    let mut is_open = false;
    let letters = sentence.chars().map(|letter| match letter {
        '“' => '‘',
        '”' => '’',
        '"' => {
            is_open = !is_open;
            if is_open { '‘' } else { '’' }
        }
        letter => letter,
    });
    letters.collect()
}

/// Returns true if a passage has at least two words of the topic, or its only one.
fn is_about(passage: &Passage, topic: &Topic) -> bool {
    let text = [passage.source.to_lowercase(), passage.text.to_lowercase()];
    let mut words: Vec<&str> =
        text.iter().flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric())).collect();
    words.sort_unstable();
    words.dedup();
    let is_in_passage = |word: &&String| words.iter().any(|other| has_same_stem(word, other));
    topic.words.iter().filter(is_in_passage).count() >= topic.words.len().clamp(1, 2)
}

/// Returns true if two words have the same stem: `regulated`, `regulation`.
fn has_same_stem(one: &str, other: &str) -> bool {
    if one.chars().next() != other.chars().next() {
        return false;
    }
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let shorter = one.chars().count().min(other.chars().count());
    one == other || (shared >= 4 && shared + 3 >= shorter)
}

/// Returns the side of a heading, if it shows one.
fn side(passage: &Passage) -> Option<DebateAgent> {
    const PRO_WORDS: [&str; 7] =
        ["benefit", "advantage", "argument-for", "arguments-for", "strength", "gain", "promise"];
    const CON_WORDS: [&str; 10] = [
        "risk",
        "cost",
        "drawback",
        "argument-against",
        "arguments-against",
        "concern",
        "criticism",
        "limit",
        "problem",
        "danger",
    ];
    let (_, heading) = passage.source.rsplit_once('#')?;
    if CON_WORDS.iter().any(|word| heading.contains(word)) {
        return Some(DebateAgent::Skeptic);
    }
    PRO_WORDS.iter().any(|word| heading.contains(word)).then_some(DebateAgent::Optimist)
}
