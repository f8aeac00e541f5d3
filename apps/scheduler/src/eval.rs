//! How well the rules understand: sentences with known meaning, said to the sample family.
//!
//! A sentence that was misunderstood does no harm when the parser is unsure, for then the family is asked. One that it
//! is sure of and that is wrong does, unless it is on the list of known gaps.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use crate::calendar::Board;
use crate::models::{EventType, QueryType};
use crate::parser::{Request, Scope, Understood, parse};
use crate::sample;

/// From here on the family is not asked.
pub const SURE: f64 = 0.7;

/// A sentence with its known meaning. Times are on the wall of the sample family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentence {
    /// Its name.
    pub id: String,
    /// What is said.
    pub text: String,
    /// Who says it; `mom` unless told.
    #[serde(default)]
    pub speaker: Option<String>,
    /// What is wanted.
    pub intent: EventType,
    /// What is asked for.
    #[serde(default)]
    pub query: Option<QueryType>,
    /// What it is called.
    #[serde(default)]
    pub title: Option<String>,
    /// When it starts.
    #[serde(default)]
    pub start: Option<String>,
    /// When it ends.
    #[serde(default)]
    pub end: Option<String>,
    /// Where it is to lie, when no exact time is said.
    #[serde(default)]
    pub within: Option<(String, String)>,
    /// Who is named.
    #[serde(default)]
    pub people: BTreeSet<String>,
    /// What is named.
    #[serde(default)]
    pub resources: BTreeSet<String>,
    /// How it repeats.
    #[serde(default)]
    pub rrule: Option<String>,
    /// The events that may be meant.
    #[serde(default)]
    pub which: Option<BTreeSet<String>>,
    /// Which of a series.
    #[serde(default)]
    pub scope: Option<Scope>,
}

/// What became of a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the sentence.
    pub id: String,
    /// What was said.
    pub text: String,
    /// How sure the parser was.
    pub confidence: f64,
    /// What it got wrong, with what it understood; nothing when all was right.
    pub wrong: BTreeMap<Aspect, String>,
    /// Why that is known, if it is.
    pub known_gap: Option<String>,
}

/// What a sentence may be misunderstood in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// What is wanted, and what is asked for.
    Intent,
    /// When, and how often.
    Time,
    /// Who, and with what.
    Names,
    /// Which event of the calendar, and which of a series.
    Event,
    /// What it is called; words are a matter of taste, so this alone is not wrong.
    Title,
}

/// How it went, all together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// How many sentences there are.
    pub of: usize,
    /// How many were understood in all but the title.
    pub right: usize,
    /// How many by what is wanted.
    pub intent: usize,
    /// How many by time.
    pub time: usize,
    /// How many by people and things.
    pub names: usize,
    /// How many by event.
    pub event: usize,
    /// How many by title.
    pub title: usize,
    /// How many are wrong, though the parser was sure, and not on the list of known gaps.
    pub wrong_and_sure: usize,
    /// One by one.
    pub rows: Vec<Row>,
}

impl Score {
    /// Whether it is good enough: 97 % by intent, 95 % by time, 95 % by names, and none wrong and sure.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        let share = |right: usize, hundredths: usize| right * 100 >= self.of * hundredths;
        share(self.intent, 97) && share(self.time, 95) && share(self.names, 95) && self.wrong_and_sure == 0
    }
}

/// The sentences of the sample.
///
/// # Errors
/// When they cannot be read.
pub fn sentences() -> Result<Vec<Sentence>> {
    read(include_str!("../sample/sentences.json"), "sentences.json")
}

/// Sentences that were written down before the rules.
///
/// # Errors
/// When they cannot be read.
pub fn held_out() -> Result<Vec<Sentence>> {
    read(include_str!("../sample/held_out.json"), "held_out.json")
}

/// Sentences that were written down after the rules, and that taught some more.
///
/// # Errors
/// When they cannot be read.
pub fn further() -> Result<Vec<Sentence>> {
    read(include_str!("../sample/further.json"), "further.json")
}

/// Sentences that are known to be misunderstood, by their names, with the reasons.
///
/// # Errors
/// When they cannot be read.
pub fn known_gaps() -> Result<BTreeMap<String, String>> {
    read(include_str!("../sample/known_gaps.json"), "known_gaps.json")
}

fn read<T: for<'de> Deserialize<'de>>(text: &str, name: &str) -> Result<T> {
    let broken = |cause| Error::new(Code::ConfigInvalid, format!("`{name}` of the sample cannot be read: {cause}"));
    serde_json::from_str(text).map_err(broken)
}

/// Says sentences to the sample family.
///
/// # Errors
/// When a time of a sentence cannot be read.
pub fn eval(sentences: &[Sentence]) -> Result<Score> {
    let (board, gaps) = (sample::family(), known_gaps()?);
    let mut score = Score { of: sentences.len(), ..Score::default() };
    for sentence in sentences {
        let understood = said(sentence, &board);
        let wrong = wrong(sentence, &understood)?;
        let is_right = |aspect: Aspect| usize::from(!wrong.contains_key(&aspect));
        let is_all_right = wrong.keys().all(|aspect| *aspect == Aspect::Title);
        score.right += usize::from(is_all_right);
        score.intent += is_right(Aspect::Intent);
        score.time += is_right(Aspect::Time);
        score.names += is_right(Aspect::Names);
        score.event += is_right(Aspect::Event);
        score.title += is_right(Aspect::Title);
        let confidence = understood.confidence.value();
        let known_gap = gaps.get(&sentence.id).filter(|_| !is_all_right).cloned();
        score.wrong_and_sure += usize::from(!is_all_right && confidence >= SURE && known_gap.is_none());
        score.rows.push(Row { id: sentence.id.clone(), text: sentence.text.clone(), confidence, wrong, known_gap });
    }
    Ok(score)
}

fn said(sentence: &Sentence, board: &Board) -> Understood {
    let speaker = sentence.speaker.as_deref().unwrap_or("mom");
    parse(&Request { text: &sentence.text, speaker, now: sample::now(), board })
}

fn wrong(sentence: &Sentence, understood: &Understood) -> Result<BTreeMap<Aspect, String>> {
    let data = &understood.data;
    let mut wrong = BTreeMap::new();
    let mut check = |aspect: Aspect, is_right: bool, got: String| {
        if !is_right {
            wrong.insert(aspect, got);
        }
    };
    let is_kind = sentence.query.is_none_or(|query| understood.query == Some(query));
    let is_wanted = data.event_type == sentence.intent && is_kind;
    check(Aspect::Intent, is_wanted, format!("{:?} {:?}", data.event_type, understood.query));
    let time = |text: &Option<String>| text.as_deref().map(on_the_wall).transpose();
    let within = match &sentence.within {
        Some((start, end)) => Some((on_the_wall(start)?, on_the_wall(end)?)),
        None => None,
    };
    let got = (data.start_time, data.end_time, understood.within.map(|span| (span.start, span.end)));
    let is_time = got == (time(&sentence.start)?, time(&sentence.end)?, within);
    let is_rule = data.recurrence_rule == sentence.rrule;
    let shown = |time: Option<Time>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
    let within = understood.within.map(|span| format!(" within {} {}", span.start, span.end)).unwrap_or_default();
    let rule = data.recurrence_rule.as_deref().unwrap_or_default();
    let got = format!("{} {}{within} {rule}", shown(got.0), shown(got.1));
    check(Aspect::Time, is_time && is_rule, got);
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
    let is_named = set(&data.participants) == sentence.people && set(&data.resources) == sentence.resources;
    check(Aspect::Names, is_named, format!("{:?} {:?}", data.participants, data.resources));
    let is_event = sentence.which.as_ref().is_none_or(|which| set(&understood.which) == *which);
    let is_scope = sentence.scope.is_none_or(|scope| understood.scope == Some(scope));
    check(Aspect::Event, is_event && is_scope, format!("{:?} {:?}", understood.which, understood.scope));
    let is_title = sentence.title.is_none() || sentence.title == data.title;
    check(Aspect::Title, is_title, data.title.clone().unwrap_or_default());
    Ok(wrong)
}

fn on_the_wall(text: &str) -> Result<Time> {
    Time::parse_event(text, sample::ZONE).map_err(|fault| Error::new(Code::TypeMismatch, fault.to_string()))
}
