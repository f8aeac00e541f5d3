//! A turn of the optimist or the skeptic: a rebuttal of the last turn, an argument, and its support.

use superstep::models::SeededRng;

use super::arguments::{self, Aspect, fill};
use super::citation;
use super::history::{History, opponent};
use super::topic::Topic;
use super::{rng_for_turn, seeded_rng};
use crate::evidence::Evidence;
use crate::fact_check::sentences;
use crate::prompt::{DebateAgent, TurnPrompt};

/// Maximum length in characters of a topic that may be named in full twice in a row.
const MAX_FULL_TOPIC_CHARS: usize = 40;

/// Writes a turn of two or three sentences.
pub(super) fn write_turn(prompt: &TurnPrompt, history: &History, seed: u64, evidence: Option<&Evidence>) -> String {
    let topic = Topic::parse(&prompt.topic);
    let mut rng = rng_for_turn(seed, prompt);
    let mut parts = vec![first_sentence(prompt.role, history, &topic, &mut rng)];
    let argument = next_aspect(prompt, history, &topic, seed).map(|aspect| aspect.argument(prompt.role));
    // After its first use a long topic is named by its short form.
    let named_topic = match history.last_turn_of_others(prompt.role) {
        None => topic.pronoun_form(),
        Some(_) if prompt.round > 1 || topic.noun_phrase.chars().count() > MAX_FULL_TOPIC_CHARS => topic.short_form(),
        Some(_) => topic.clone(),
    };
    parts.extend(argument.map(|argument| fill(argument.claim, &named_topic, "")));
    let quote = evidence.and_then(|evidence| citation::cite(evidence, prompt.role, &topic, history, &mut rng));
    // Three sentences in most turns, for variety; at least two.
    let support = quote.or_else(|| {
        let argument = argument.filter(|_| rng.below(4) > 0)?;
        Some(fill(argument.support, &topic, ""))
    });
    parts.extend(support);
    if parts.len() < 2 {
        parts.push(fill("That is where I stand on {it}, and repeating it would not make it truer.", &topic, ""));
    }
    parts.join(" ")
}

/// Writes the first sentence: a response to words of the other side, or the opening of the debate.
fn first_sentence(role: DebateAgent, history: &History, topic: &Topic, rng: &mut SeededRng) -> String {
    let Some(last) = history.last_turn_of_others(role) else {
        let openings: &[&str] = if topic.belief.is_some() { &arguments::BELIEF_OPENINGS } else { &arguments::OPENINGS };
        return unused_sentence(openings, history, topic, "", rng);
    };
    let argument = arguments::aspects(topic)
        .iter()
        .map(|aspect| aspect.argument(opponent(role)))
        .find(|argument| argument.is_in(last));
    let rebuttal = argument.map(|argument| fill(argument.rebuttal, topic, argument.key()));
    if let Some(rebuttal) = rebuttal.filter(|rebuttal| !history.contains_text(rebuttal)) {
        return rebuttal;
    }
    let patterns: &[&str] =
        if role == DebateAgent::Optimist { &arguments::OPTIMIST_REBUTTALS } else { &arguments::SKEPTIC_REBUTTALS };
    unused_sentence(patterns, history, topic, &fragment(last), rng)
}

/// Fills one of several templates; one that was not used yet, if possible.
fn unused_sentence(patterns: &[&str], history: &History, topic: &Topic, quote: &str, rng: &mut SeededRng) -> String {
    let start = rng.below(patterns.len() as u64) as usize;
    let from_start = patterns.iter().cycle().skip(start).take(patterns.len());
    let filled: Vec<String> = from_start.map(|pattern| fill(pattern, topic, quote)).collect();
    let is_new = |text: &&String| !history.contains_text(text);
    filled.iter().find(is_new).or(filled.first()).cloned().unwrap_or_default()
}

/// Returns some words of a message of another model: the longest sentence, without quotation marks and shortened.
fn fragment(text: &str) -> String {
    let plain = sentences(text).into_iter().max_by_key(|sentence| sentence.chars().count()).unwrap_or(text);
    let plain: String = plain.chars().filter(|letter| !"“”\"()[]".contains(*letter)).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let excerpt = words[..words.len().min(12)].join(" ");
    // Scripts without spaces have one long word.
    let excerpt: String = excerpt.chars().take(100).collect();
    let excerpt = excerpt.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    if words.len() > 12 { format!("{excerpt} …") } else { excerpt.to_owned() }
}

/// Returns the aspect of this turn: the next in the order of this debate that neither side used, or at least not
/// this side.
fn next_aspect<'a>(prompt: &TurnPrompt, history: &History, topic: &Topic, seed: u64) -> Option<&'a Aspect> {
    let mut order: Vec<&Aspect> = arguments::aspects(topic).iter().collect();
    let mut rng = seeded_rng(seed, &[&prompt.topic, "order"]);
    for end in (1..order.len()).rev() {
        order.swap(end, rng.below(end as u64 + 1) as usize);
    }
    let has_used = |aspect: &Aspect, role| history.turns_of(role).any(|text| aspect.argument(role).is_in(text));
    let is_unused_by_agent = |aspect: &&&Aspect| !has_used(aspect, prompt.role);
    let is_suitable = |aspect: &&&Aspect| is_unused_by_agent(aspect) && aspect.fits.matches(topic);
    let is_unused = |aspect: &&&Aspect| is_suitable(aspect) && !has_used(aspect, opponent(prompt.role));
    let candidate = order.iter().find(is_unused).or_else(|| order.iter().find(is_suitable));
    candidate.or_else(|| order.iter().find(is_unused_by_agent)).copied()
}
