//! Rule-based parser for calendar requests in English, German and Spanish, without network or API key.
//!
//! A sentence is split into tokens (`token`). Phrases are matched from left to right, longest first (`phrase_reader`),
//! with the patterns of the language (`lexicon`); then the verb (`intent`) and the names (`name_mentions`). No token is
//! matched twice. The remaining tokens are the title (`title`); remaining time words lead to a question
//! (`unparsed_time`). Pure: the result depends only on the text, the time, the speaker and the calendar snapshot.
//!
//! With a language model, the rules are the second opinion: `prompt` builds the request to the model, `model_parse`
//! defines the form of its output, `compare_parses` compares both results, and `merge_parses` merges them. The model
//! writes no user-visible sentences: all of them are computed.

mod clock_time;
mod compare_parses;
mod confidence;
mod dates;
mod durations;
mod event_match;
mod intent;
mod interpret;
mod lexicon;
mod merge_parses;
mod model_parse;
mod modify;
mod name_mentions;
mod phrase_meaning;
mod phrase_pattern;
mod phrase_reader;
mod prompt;
mod recurrence;
mod reschedule;
mod resolve_time;
mod time_expressions;
mod title;
mod token;
mod unparsed_time;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::{self, Date, DateTime, Weekday};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

use crate::calendar::{CalendarSnapshot, Event, Preferences, TimeRange, WeekStart};
use crate::models::{Confidence, NlParserData, QueryType};
use crate::time_zone::NamedTimeZone;

pub(crate) use merge_parses::{RuleParse, merge_parses};
pub use model_parse::ModelParse;
pub(crate) use modify::problem;
pub(crate) use prompt::prompt;

use clock_time::DayHalfHint;
use intent::Intent;
use name_mentions::{Mention, NameMentions};
use phrase_reader::{PhraseMatch, PhraseReader};
use resolve_time::LocalClock;

/// Name of this parser, as shown on the page.
pub const LABEL: &str = "rule-based parser";

/// Input of the parser.
#[derive(Debug, Clone, Copy)]
pub struct ParseInput<'a> {
    /// The message of the user.
    pub text: &'a str,
    /// Id of the member who wrote the message.
    pub user_id: &'a str,
    /// Time of the message.
    pub now: Time,
    /// Calendar of the family.
    pub snapshot: &'a CalendarSnapshot,
}

/// A parsed request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParsedRequest {
    /// The main fields of the request. Times are the queried range for a query, the new times for a change, and the
    /// cancelled instance for a cancellation. Participants and resources are all that are named.
    pub data: NlParserData,
    /// Confidence of the parser.
    pub confidence: Confidence,
    /// Kind of a query.
    pub query: Option<QueryType>,
    /// Ids of the events that may be meant.
    #[serde(rename = "which")]
    pub event_ids: Vec<String>,
    /// Current time range of the selected instance, if exactly one event matches.
    pub instance: Option<TimeRange>,
    /// Selected instances of a series; `None` if undecided or not a series.
    pub scope: Option<SeriesScope>,
    /// Changes of an event besides its time.
    pub edit: EventEdit,
    /// Time range in which the event should be, if no exact time was given.
    #[serde(rename = "within")]
    pub time_window: Option<TimeRange>,
    /// Duration in minutes, if one was given.
    pub minutes: Option<u32>,
    /// True for an all-day event.
    pub is_all_day: bool,
    /// Fields that the user did not give.
    pub missing: Vec<MissingField>,
    /// Ambiguous parts, each with the question to ask.
    #[serde(rename = "doubts")]
    pub ambiguities: Vec<Ambiguity>,
    /// Names that match no member and no resource.
    #[serde(rename = "unknown")]
    pub unknown_names: Vec<UnknownName>,
    /// Errors as text, such as a date that does not exist or a time in the past.
    pub problems: Vec<String>,
    /// True if a query asks for existing conflicts, rather than whether an event fits.
    #[serde(default)]
    #[serde(rename = "is_about_clashes")]
    pub asks_existing_conflicts: bool,
    /// Candidate time ranges, if model and rules disagree or the day is ambiguous.
    #[serde(default)]
    #[serde(rename = "either")]
    pub time_options: Vec<TimeRange>,
    /// Parsed parts of the text, for display and correction.
    #[serde(rename = "found")]
    pub spans: Vec<ParsedSpan>,
    /// Explanation of the confidence.
    pub reasoning: String,
}

/// Instances of a series that a request applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesScope {
    /// The selected instance.
    This,
    /// All instances.
    All,
    /// The selected instance and all following ones.
    Following,
}

/// Changes of an event other than its time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventEdit {
    /// Ids of the members to add.
    pub add_people: Vec<String>,
    /// Ids of the members to remove.
    pub remove_people: Vec<String>,
    /// Ids of the resources to add.
    pub add_resources: Vec<String>,
    /// Ids of the resources to remove.
    pub remove_resources: Vec<String>,
    /// New title of the event.
    pub title: Option<String>,
}

/// Information missing from a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingField {
    /// Intent of the request.
    Intent,
    /// Title of the event.
    Title,
    /// Date of the event.
    Date,
    /// Time of the event.
    Time,
    /// The event to change, or no event has the name.
    Event,
    /// The change of the event.
    Change,
    /// Subject of the query.
    Subject,
}

/// An ambiguity of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ambiguity {
    /// Kind of the ambiguous part.
    pub about: SpanKind,
    /// Question to the user.
    pub question: String,
}

impl Ambiguity {
    fn new(about: SpanKind, question: impl Into<String>) -> Self {
        Self { about, question: question.into() }
    }
}

/// A name that no member and no resource has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnknownName {
    /// The name as it was written.
    pub text: String,
    /// Ids of members or resources with a similar name.
    pub near: Vec<String>,
    /// True if the name seems to be a resource rather than a person.
    pub is_resource_like: bool,
}

/// A parsed part of the request, shown to the user for correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParsedSpan {
    /// Kind of the part.
    pub part: SpanKind,
    /// Text of the part.
    pub text: String,
    /// Parsed value.
    pub value: String,
}

/// Kind of a part of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Intent.
    Intent,
    /// Title of the event.
    Title,
    /// Date.
    Date,
    /// Time of day.
    Time,
    /// Duration.
    Length,
    /// Recurrence.
    Repeat,
    /// Offset of a move.
    Change,
    /// A member.
    Person,
    /// A resource.
    Resource,
    /// Priority.
    Priority,
    /// Flexibility.
    Flexibility,
    /// Instances of a series.
    Scope,
    /// An event of the calendar.
    Event,
    /// Filler words.
    Filler,
}

/// Parses a sentence.
///
/// ```
/// use superstep_scheduler::parser::{ParseInput, parse};
/// use superstep_scheduler::sample;
///
/// let text = "Schedule soccer practice for Emma Saturday at 2pm with the car";
/// let parsed = parse(&ParseInput { text, user_id: "mom", now: sample::now(), snapshot: &sample::empty_family() });
/// assert_eq!(parsed.data.title.as_deref(), Some("Soccer practice"));
/// assert_eq!(parsed.data.start_time.map(|time| time.to_string()).as_deref(), Some("2026-01-10T14:00:00-05:00"));
/// assert_eq!(parsed.confidence.value(), 0.95);
/// ```
#[must_use]
pub fn parse(request: &ParseInput<'_>) -> ParsedRequest {
    parse_for_event(request, None)
}

/// Parses a sentence. `selected_event` is the id of the event it is about, if the user selected one from a list.
pub(crate) fn parse_for_event(request: &ParseInput<'_>, selected_event: Option<&str>) -> ParsedRequest {
    let times = times(request);
    let preferences = preferences(request);
    // The store rejects a snapshot with an unknown time zone, but the parser accepts any snapshot.
    let zone =
        NamedTimeZone::from_iana_name(&request.snapshot.family.zone).or_else(|_| NamedTimeZone::from_iana_name("UTC"));
    let Ok(zone) = zone else { return interpret::empty() };
    let tokens = token::tokens(request.text);
    let language = lexicon::language(&tokens);
    let tokens = language.cut(tokens);
    let week_start = match request.snapshot.family.week_start {
        WeekStart::Monday => Weekday::Monday,
        WeekStart::Sunday => Weekday::Sunday,
        WeekStart::Saturday => Weekday::Saturday,
    };
    let mut reader = PhraseReader {
        text: request.text,
        tokens,
        language,
        now: zone.to_local(request.now),
        week_start,
        times: &times,
    };
    let findings = reader.scan();
    let intent = intent::intent(&mut reader, &findings);
    let is_question = intent.event_type == crate::models::EventType::Query;
    let names = name_mentions::find_mentions(&mut reader, request.snapshot, request.user_id, is_question);
    interpret::interpret(SentenceParse {
        request: *request,
        selected_event: selected_event.and_then(|id| request.snapshot.events.get(id)).cloned(),
        zone,
        preferences: &preferences,
        reader,
        findings,
        intent,
        names,
        edited: Vec::new(),
    })
}

/// Returns the named times of day, such as `after school`, of the speaker. Members named in the sentence take
/// precedence, because such times belong to the child.
fn times(request: &ParseInput<'_>) -> BTreeMap<String, civil::Time> {
    let mut times = preferences(request).times;
    let text = token::fold(request.text);
    for member in request.snapshot.members.values().filter(|member| text.contains(&token::fold(&member.name))) {
        times.extend(member.preferences.times.clone());
    }
    times
}

fn preferences(request: &ParseInput<'_>) -> Preferences {
    request.snapshot.members.get(request.user_id).map(|member| member.preferences.clone()).unwrap_or_default()
}

/// A sentence after matching.
#[derive(Debug)]
struct SentenceParse<'a> {
    request: ParseInput<'a>,
    /// The event selected by the user.
    selected_event: Option<Arc<Event>>,
    zone: NamedTimeZone,
    preferences: &'a Preferences,
    reader: PhraseReader<'a>,
    findings: Vec<PhraseMatch>,
    intent: Intent,
    names: NameMentions,
    /// Participants and resources to add or remove, as in `add Dad to the game`. They do not identify the event.
    edited: Vec<Mention>,
}

impl SentenceParse<'_> {
    fn now(&self) -> DateTime {
        self.reader.now
    }

    fn today(&self) -> Date {
        self.now().date()
    }

    fn local_clock(&self, hint: Option<DayHalfHint>) -> LocalClock<'_> {
        LocalClock { now: self.now(), zone: &self.zone, preferences: self.preferences, hint }
    }
}
