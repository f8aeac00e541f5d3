//! Evaluates the rule-based parser with sentences of known meaning, parsed in the calendar of the sample family.
//!
//! A wrong parse with low confidence does no harm, because the user is asked to clarify. A wrong parse with high
//! confidence fails the evaluation, unless the sentence is on the list of known gaps.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use crate::calendar::CalendarSnapshot;
use crate::models::{EventType, QueryType};
use crate::parser::{ParseInput, ParsedRequest, SeriesScope, parse};
use crate::sample;
pub use crate::state_utils::CONFIDENCE_THRESHOLD;

/// A sentence with its expected parse. Times are local times of the sample family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalSentence {
    /// Name of the sentence.
    pub id: String,
    /// Text of the request.
    pub text: String,
    /// Id of the member who makes the request. Default: `mom`.
    #[serde(default)]
    pub speaker: Option<String>,
    /// Expected event type.
    pub intent: EventType,
    /// Expected query type; not checked if absent.
    #[serde(default)]
    pub query: Option<QueryType>,
    /// Expected title; not checked if absent.
    #[serde(default)]
    pub title: Option<String>,
    /// Expected start.
    #[serde(default)]
    pub start: Option<String>,
    /// Expected end.
    #[serde(default)]
    pub end: Option<String>,
    /// Expected time window, if the sentence states no exact time.
    #[serde(default)]
    pub within: Option<(String, String)>,
    /// Ids of the expected participants.
    #[serde(default)]
    pub people: BTreeSet<String>,
    /// Ids of the expected resources.
    #[serde(default)]
    pub resources: BTreeSet<String>,
    /// Expected recurrence rule.
    #[serde(default)]
    pub rrule: Option<String>,
    /// Ids of the events that the sentence may refer to; not checked if absent.
    #[serde(default)]
    pub which: Option<BTreeSet<String>>,
    /// Expected scope in a series; not checked if absent.
    #[serde(default)]
    pub scope: Option<SeriesScope>,
}

/// Evaluation result of one sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParseEvalRow {
    /// Name of the sentence.
    pub id: String,
    /// Text of the sentence.
    pub text: String,
    /// Confidence of the parser.
    pub confidence: f64,
    /// Parsed value of every wrong aspect; empty if the parse is right.
    #[serde(rename = "wrong")]
    pub mismatches: BTreeMap<EvalAspect, String>,
    /// Reason why the wrong parse is a known gap, if it is one.
    pub known_gap: Option<String>,
}

/// An aspect of a parse that is checked on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalAspect {
    /// Event type and query type.
    Intent,
    /// Time range, time window and recurrence.
    Time,
    /// Participants and resources.
    Names,
    /// Referenced events, and the scope in a series.
    Event,
    /// Title. Titles are a matter of taste, so a wrong title alone does not make a parse wrong.
    Title,
}

/// Result of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParseEvalScore {
    /// Number of sentences.
    #[serde(rename = "of")]
    pub total: usize,
    /// Number of sentences parsed right in every aspect except the title.
    pub right: usize,
    /// Number of sentences with the right intent.
    pub intent: usize,
    /// Number of sentences with the right time.
    pub time: usize,
    /// Number of sentences with the right participants and resources.
    pub names: usize,
    /// Number of sentences with the right event.
    pub event: usize,
    /// Number of sentences with the right title.
    pub title: usize,
    /// Number of wrong parses with high confidence that are not on the list of known gaps.
    #[serde(rename = "wrong_and_sure")]
    pub confident_errors: usize,
    /// Result of each sentence.
    pub rows: Vec<ParseEvalRow>,
}

impl ParseEvalScore {
    /// Returns true if the score passes: 97 % right by intent, 95 % by time, 95 % by names, and no wrong parse with
    /// high confidence.
    #[must_use]
    pub fn passes(&self) -> bool {
        let share = |right: usize, hundredths: usize| right * 100 >= self.total * hundredths;
        share(self.intent, 97) && share(self.time, 95) && share(self.names, 95) && self.confident_errors == 0
    }
}

/// Returns the sample sentences.
///
/// # Errors
/// Returns an error if the embedded JSON is invalid.
pub fn sentences() -> Result<Vec<EvalSentence>> {
    read(include_str!("../sample/sentences.json"), "sentences.json")
}

/// Returns sentences that were written before the parser rules.
///
/// # Errors
/// Returns an error if the embedded JSON is invalid.
pub fn held_out() -> Result<Vec<EvalSentence>> {
    read(include_str!("../sample/held_out.json"), "held_out.json")
}

/// Returns sentences that were written after the first parser rules and led to more rules.
///
/// # Errors
/// Returns an error if the embedded JSON is invalid.
pub fn development_sentences() -> Result<Vec<EvalSentence>> {
    read(include_str!("../sample/further.json"), "further.json")
}

/// Returns the names of sentences that are known to be parsed wrong, with the reasons.
///
/// # Errors
/// Returns an error if the embedded JSON is invalid.
pub fn known_gaps() -> Result<BTreeMap<String, String>> {
    read(include_str!("../sample/known_gaps.json"), "known_gaps.json")
}

fn read<T: for<'de> Deserialize<'de>>(text: &str, name: &str) -> Result<T> {
    let read_error =
        |cause| Error::new(ErrorCode::ConfigInvalid, format!("`{name}` of the sample cannot be read: {cause}"));
    serde_json::from_str(text).map_err(read_error)
}

/// Parses sentences in the calendar of the sample family and scores the results.
///
/// # Errors
/// Returns an error if a time of a sentence cannot be parsed.
pub fn eval(sentences: &[EvalSentence]) -> Result<ParseEvalScore> {
    let (snapshot, gaps) = (sample::family(), known_gaps()?);
    let mut score = ParseEvalScore { total: sentences.len(), ..ParseEvalScore::default() };
    for sentence in sentences {
        let parsed = parse_sentence(sentence, &snapshot);
        let mismatches = find_mismatches(sentence, &parsed)?;
        let is_right = |aspect: EvalAspect| usize::from(!mismatches.contains_key(&aspect));
        let is_all_right = mismatches.keys().all(|aspect| *aspect == EvalAspect::Title);
        score.right += usize::from(is_all_right);
        score.intent += is_right(EvalAspect::Intent);
        score.time += is_right(EvalAspect::Time);
        score.names += is_right(EvalAspect::Names);
        score.event += is_right(EvalAspect::Event);
        score.title += is_right(EvalAspect::Title);
        let confidence = parsed.confidence.value();
        let known_gap = gaps.get(&sentence.id).filter(|_| !is_all_right).cloned();
        score.confident_errors +=
            usize::from(!is_all_right && confidence >= CONFIDENCE_THRESHOLD && known_gap.is_none());
        score.rows.push(ParseEvalRow {
            id: sentence.id.clone(),
            text: sentence.text.clone(),
            confidence,
            mismatches,
            known_gap,
        });
    }
    Ok(score)
}

fn parse_sentence(sentence: &EvalSentence, snapshot: &CalendarSnapshot) -> ParsedRequest {
    let speaker = sentence.speaker.as_deref().unwrap_or("mom");
    parse(&ParseInput { text: &sentence.text, user_id: speaker, now: sample::now(), snapshot })
}

fn find_mismatches(sentence: &EvalSentence, parsed: &ParsedRequest) -> Result<BTreeMap<EvalAspect, String>> {
    let data = &parsed.data;
    let mut mismatches = BTreeMap::new();
    let mut check = |aspect: EvalAspect, is_right: bool, got: String| {
        if !is_right {
            mismatches.insert(aspect, got);
        }
    };
    let is_kind = sentence.query.is_none_or(|query| parsed.query == Some(query));
    let is_intent = data.event_type == sentence.intent && is_kind;
    check(EvalAspect::Intent, is_intent, format!("{:?} {:?}", data.event_type, parsed.query));
    let time = |text: &Option<String>| text.as_deref().map(parse_local_time).transpose();
    let within = match &sentence.within {
        Some((start, end)) => Some((parse_local_time(start)?, parse_local_time(end)?)),
        None => None,
    };
    let got = (data.start_time, data.end_time, parsed.time_window.map(|span| (span.start, span.end)));
    let is_time = got == (time(&sentence.start)?, time(&sentence.end)?, within);
    let is_rule = data.recurrence_rule == sentence.rrule;
    let display = |time: Option<Time>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
    let within = parsed.time_window.map(|span| format!(" within {} {}", span.start, span.end)).unwrap_or_default();
    let rule = data.recurrence_rule.as_deref().unwrap_or_default();
    let got = format!("{} {}{within} {rule}", display(got.0), display(got.1));
    check(EvalAspect::Time, is_time && is_rule, got);
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
    let is_named = set(&data.participants) == sentence.people && set(&data.resources) == sentence.resources;
    check(EvalAspect::Names, is_named, format!("{:?} {:?}", data.participants, data.resources));
    let is_event = sentence.which.as_ref().is_none_or(|which| set(&parsed.event_ids) == *which);
    let is_scope = sentence.scope.is_none_or(|scope| parsed.scope == Some(scope));
    check(EvalAspect::Event, is_event && is_scope, format!("{:?} {:?}", parsed.event_ids, parsed.scope));
    let is_title = sentence.title.is_none() || sentence.title == data.title;
    check(EvalAspect::Title, is_title, data.title.clone().unwrap_or_default());
    Ok(mismatches)
}

fn parse_local_time(text: &str) -> Result<Time> {
    Time::parse_event(text, sample::ZONE).map_err(|error| Error::new(ErrorCode::TypeMismatch, error.to_string()))
}
