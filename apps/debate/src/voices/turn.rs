//! A turn of the optimist or the skeptic: an answer to what was said last, an argument of one's own, and what backs it.

use superstep::model::Dice;

use super::citation;
use super::history::{History, opponent};
use super::stock::{self, Aspect, fill};
use super::topic::Topic;
use super::{dice, dice_of};
use crate::evidence::Evidence;
use crate::facts::sentences;
use crate::prompt::{Cue, Role};

/// How long the name of a topic may be and still be said twice in a row.
const LONG: usize = 40;

/// What is said in this turn: two or three sentences.
pub(super) fn turn(cue: &Cue, history: &History, seed: u64, evidence: Option<&Evidence>) -> String {
    let topic = Topic::read(&cue.topic);
    let mut dice = dice(seed, cue);
    let mut said = vec![answer(cue.role, history, &topic, &mut dice)];
    let argument = next_aspect(cue, history, &topic, seed).map(|aspect| aspect.case(cue.role));
    // The whole name of a topic can be long: once it was heard, a shorter one does.
    let named = match history.last_but(cue.role) {
        None => topic.pointed_at(),
        Some(_) if cue.round > 1 || topic.it.chars().count() > LONG => topic.known(),
        Some(_) => topic.clone(),
    };
    said.extend(argument.map(|case| fill(case.claim, &named, "")));
    let cited = evidence.and_then(|evidence| citation::cite(evidence, cue.role, &topic, history, &mut dice));
    // Three sentences in most turns, so that they do not all have the same beat; two are the least.
    let backing = cited.or_else(|| {
        let case = argument.filter(|_| dice.below(4) > 0)?;
        Some(fill(case.support, &topic, ""))
    });
    said.extend(backing);
    if said.len() < 2 {
        said.push(fill("That is where I stand on {it}, and repeating it would not make it truer.", &topic, ""));
    }
    said.join(" ")
}

/// The first sentence: takes up words of the other side, or opens the debate.
fn answer(role: Role, history: &History, topic: &Topic, dice: &mut Dice) -> String {
    let Some(last) = history.last_but(role) else {
        let openings: &[&str] = if topic.view.is_some() { &stock::OPENINGS_OF_VIEWS } else { &stock::OPENINGS };
        return fresh(openings, history, topic, "", dice);
    };
    let known = stock::aspects(topic).iter().map(|aspect| aspect.case(opponent(role))).find(|case| case.is_in(last));
    let known = known.map(|case| fill(case.answer, topic, case.key()));
    if let Some(answer) = known.filter(|answer| !history.has_said(answer)) {
        return answer;
    }
    let patterns: &[&str] =
        if role == Role::Optimist { &stock::ANSWERS_OF_OPTIMIST } else { &stock::ANSWERS_OF_SKEPTIC };
    fresh(patterns, history, topic, &fragment(last), dice)
}

/// One of several sentences, one that was not said yet where there is one.
fn fresh(patterns: &[&str], history: &History, topic: &Topic, quote: &str, dice: &mut Dice) -> String {
    let start = dice.below(patterns.len() as u64) as usize;
    let from_start = patterns.iter().cycle().skip(start).take(patterns.len());
    let filled: Vec<String> = from_start.map(|pattern| fill(pattern, topic, quote)).collect();
    let is_new = |text: &&String| !history.has_said(text);
    filled.iter().find(is_new).or(filled.first()).cloned().unwrap_or_default()
}

/// Some words of what was said, for voices that are not ours: the longest sentence, without quotations and shortened.
fn fragment(text: &str) -> String {
    let plain = sentences(text).into_iter().max_by_key(|sentence| sentence.chars().count()).unwrap_or(text);
    let plain: String = plain.chars().filter(|letter| !"“”\"()[]".contains(*letter)).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let kept = words[..words.len().min(12)].join(" ");
    // Scripts without spaces have one long word.
    let kept: String = kept.chars().take(100).collect();
    let kept = kept.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    if words.len() > 12 { format!("{kept} …") } else { kept.to_owned() }
}

/// What is argued from in this turn: the next in an order of this debate that nobody used, or at least not this side.
fn next_aspect<'a>(cue: &Cue, history: &History, topic: &Topic, seed: u64) -> Option<&'a Aspect> {
    let mut order: Vec<&Aspect> = stock::aspects(topic).iter().collect();
    let mut dice = dice_of(seed, &[&cue.topic, "order"]);
    for end in (1..order.len()).rev() {
        order.swap(end, dice.below(end as u64 + 1) as usize);
    }
    let has_used = |aspect: &Aspect, role| history.of(role).any(|text| aspect.case(role).is_in(text));
    let mine = |aspect: &&&Aspect| !has_used(aspect, cue.role);
    let suits = |aspect: &&&Aspect| mine(aspect) && aspect.fits.suits(topic);
    let is_nobodys = |aspect: &&&Aspect| suits(aspect) && !has_used(aspect, opponent(cue.role));
    let found = order.iter().find(is_nobodys).or_else(|| order.iter().find(suits));
    found.or_else(|| order.iter().find(mine)).copied()
}
