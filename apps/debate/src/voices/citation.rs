//! A sentence of the evidence folder, quoted with its source.

use superstep::model::Dice;

use super::history::History;
use super::stock;
use super::topic::Topic;
use crate::evidence::{Evidence, Passage};
use crate::facts::sentences;
use crate::prompt::Role;

/// A sentence about the topic that nobody quoted yet; for either side what stands under a heading that fits it.
pub(super) fn cite(
    evidence: &Evidence,
    role: Role,
    topic: &Topic,
    history: &History,
    dice: &mut Dice,
) -> Option<String> {
    let mut found: Vec<Passage> = evidence.passages(&topic.words.join(" "), 16);
    found.retain(|passage| side(passage).is_none_or(|side| side == role) && is_about(passage, topic));
    // What stands under a fitting heading first; the order of the search otherwise.
    found.sort_by_key(|passage| side(passage).is_none());
    let (quote, source) = found.iter().find_map(|passage| {
        let fits = |sentence: &&str| (40..=240).contains(&sentence.chars().count()) && sentence.ends_with('.');
        let quotes = sentences(&passage.text).into_iter().filter(fits).map(nested);
        let mut fresh = quotes.filter(|quote| !history.has_said(quote));
        fresh.next().map(|quote| (quote, passage.source.clone()))
    })?;
    let start = dice.below(stock::CITATIONS.len() as u64) as usize;
    let mut leads = stock::CITATIONS.iter().cycle().skip(start).take(stock::CITATIONS.len());
    let is_new = |pattern: &&&str| pattern.split_once(':').is_some_and(|(lead, _)| !history.has_said(lead));
    let pattern = leads.clone().find(is_new).or_else(|| leads.next())?;
    Some(pattern.replacen("{source}", &source, 1).replacen("{quote}", &quote, 1))
}

/// A sentence as it stands inside a quotation.
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

/// Whether a passage has at least two of the words of the topic, or the only one.
fn is_about(passage: &Passage, topic: &Topic) -> bool {
    let text = [passage.source.to_lowercase(), passage.text.to_lowercase()];
    let mut words: Vec<&str> =
        text.iter().flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric())).collect();
    words.sort_unstable();
    words.dedup();
    let has = |word: &&String| words.iter().any(|other| is_akin(word, other));
    topic.words.iter().filter(has).count() >= topic.words.len().clamp(1, 2)
}

/// Whether two words have the same stem: `regulated`, `regulation`.
fn is_akin(one: &str, other: &str) -> bool {
    if one.chars().next() != other.chars().next() {
        return false;
    }
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let shorter = one.chars().count().min(other.chars().count());
    one == other || (shared >= 4 && shared + 3 >= shorter)
}

/// Whose side a heading is on, where it says so.
fn side(passage: &Passage) -> Option<Role> {
    const FOR: [&str; 7] = ["benefit", "advantage", "argument-for", "arguments-for", "strength", "gain", "promise"];
    const AGAINST: [&str; 10] = [
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
    if AGAINST.iter().any(|word| heading.contains(word)) {
        return Some(Role::Skeptic);
    }
    FOR.iter().any(|word| heading.contains(word)).then_some(Role::Optimist)
}
