//! Understands a sentence by rules, without network and key: English first, German and Spanish as well.
//!
//! A sentence is cut into words (`token`); phrases are read from the left, the longest first (`reader`), by the patterns
//! of its language (`words`); then the verb (`intent`), then who and what is named (`names`). Nothing is read twice; what
//! is left is the title (`titles`), and what of it is about time is asked about (`unread`). Pure: the same words at the same
//! time on the same board mean the same.
//!
//! With a language model the rules are the second reader: what a model is told is in `prompt`, the form of what it says in
//! `heard`, and what both mean together in `joined`. A model words nothing here: what the family is told is computed.

mod change;
mod compared;
mod days;
mod draft;
mod events;
mod heard;
mod hours;
mod intent;
mod joined;
mod lengths;
mod moved;
mod names;
mod pattern;
mod prompt;
mod reader;
mod repeats;
mod said;
mod score;
mod sense;
mod titles;
mod token;
mod unread;
mod when;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::{self, Date, DateTime, Weekday};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

use crate::calendar::{Board, Event, Preferences, Span, WeekStart};
use crate::models::{Confidence, NlParserData, QueryType};
use crate::zone::Zone;

pub(crate) use change::problem;
pub use heard::Heard;
pub(crate) use joined::{ByRules, joined};
pub(crate) use prompt::prompt;

use hours::Hint;
use intent::Intent;
use names::{Mention, Names};
use reader::{Finding, Reader};
use when::Wall;

/// What the page says of how a sentence was understood.
pub const LABEL: &str = "rule-based parser";

/// A sentence, who says it, when, and to which family.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The sentence.
    pub text: &'a str,
    /// Who says it: the id of a member.
    pub speaker: &'a str,
    /// When.
    pub now: Time,
    /// The family's calendar.
    pub board: &'a Board,
}

/// What a sentence means, as far as rules can tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Understood {
    /// What is wanted. Of a question the times are the stretch that is asked about, of a change the new ones, of a
    /// cancellation those of the instance that is not to be. People and things are all that are named.
    pub data: NlParserData,
    /// How sure it is.
    pub confidence: Confidence,
    /// What a question asks for.
    pub query: Option<QueryType>,
    /// The ids of the events that may be meant.
    pub which: Vec<String>,
    /// The instance of the one event that is meant, as it is now.
    pub instance: Option<Span>,
    /// Which of a series; none when it is open, or no series.
    pub scope: Option<Scope>,
    /// What a change does besides the time.
    pub edit: Edit,
    /// Where something is to lie for which no exact time was said.
    pub within: Option<Span>,
    /// How many minutes it takes, if that was said.
    pub minutes: Option<u32>,
    /// Whether it is a matter of days.
    pub is_all_day: bool,
    /// What was not said.
    pub missing: Vec<Missing>,
    /// What may be meant in two ways.
    pub doubts: Vec<Doubt>,
    /// Names that nobody and nothing has.
    pub unknown: Vec<UnknownName>,
    /// What cannot be, in words: a day that does not exist, a time that is over.
    pub problems: Vec<String>,
    /// Whether a question asks what is in each other's way already, and not whether something would fit.
    #[serde(default)]
    pub is_about_clashes: bool,
    /// The times of which one is meant, where two readers disagree or the day is open.
    #[serde(default)]
    pub either: Vec<Span>,
    /// What was found, piece by piece.
    pub found: Vec<Found>,
    /// Why it was understood so.
    pub reasoning: String,
}

/// Which of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One.
    This,
    /// All.
    All,
    /// One and those that follow.
    Following,
}

/// What a change does besides the time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Edit {
    /// Members who come to it.
    pub add_people: Vec<String>,
    /// Members who leave it.
    pub remove_people: Vec<String>,
    /// Things that it uses from then on.
    pub add_resources: Vec<String>,
    /// Things that it no longer uses.
    pub remove_resources: Vec<String>,
    /// What it is called from then on.
    pub title: Option<String>,
}

/// Something that was not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// What is wanted.
    Intent,
    /// What it is.
    Title,
    /// On which day.
    Date,
    /// At which time.
    Time,
    /// Which event; or there is none of that name.
    Event,
    /// What becomes of it.
    Change,
    /// What is asked about.
    Subject,
}

/// Something that may be meant in two ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// What it is about.
    pub about: Part,
    /// What to ask.
    pub question: String,
}

impl Doubt {
    fn new(about: Part, question: impl Into<String>) -> Self {
        Self { about, question: question.into() }
    }
}

/// A name that nobody and nothing has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnknownName {
    /// As it was written.
    pub text: String,
    /// The ids of members or things with a like name.
    pub near: Vec<String>,
    /// Whether it seems to be a thing rather than a person.
    pub is_resource_like: bool,
}

/// A piece of what was understood, to be shown and corrected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// What it is.
    pub part: Part,
    /// The words.
    pub text: String,
    /// What they mean.
    pub value: String,
}

/// A part of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What is wanted.
    Intent,
    /// What it is.
    Title,
    /// On which day.
    Date,
    /// At which time.
    Time,
    /// How long.
    Length,
    /// How it repeats.
    Repeat,
    /// By how much it moves.
    Change,
    /// Somebody.
    Person,
    /// Something that is used.
    Resource,
    /// How much it matters.
    Priority,
    /// How far it may be moved.
    Flexibility,
    /// Which of a series.
    Scope,
    /// An event of the calendar.
    Event,
    /// Nothing.
    Filler,
}

/// Understands a sentence.
///
/// ```
/// use superstep_scheduler::parser::{Request, parse};
/// use superstep_scheduler::sample;
///
/// let text = "Schedule soccer practice for Emma Saturday at 2pm with the car";
/// let understood = parse(&Request { text, speaker: "mom", now: sample::now(), board: &sample::plain() });
/// assert_eq!(understood.data.title.as_deref(), Some("Soccer practice"));
/// assert_eq!(understood.data.start_time.map(|time| time.to_string()).as_deref(), Some("2026-01-10T14:00:00-05:00"));
/// assert_eq!(understood.confidence.value(), 0.95);
/// ```
#[must_use]
pub fn parse(request: &Request<'_>) -> Understood {
    parse_about(request, None)
}

/// Understands a sentence of which it is known which event is meant by it, if one is: the id of that event.
pub(crate) fn parse_about(request: &Request<'_>, picked: Option<&str>) -> Understood {
    let times = times(request);
    let preferences = preferences(request);
    // A board with an unknown zone cannot be stored; a sentence about one is still a sentence.
    let zone = Zone::named(&request.board.family.zone).or_else(|_| Zone::named("UTC"));
    let Ok(zone) = zone else { return draft::nothing() };
    let tokens = token::tokens(request.text);
    let language = words::language(&tokens);
    let tokens = language.cut(tokens);
    let week_start = match request.board.family.week_start {
        WeekStart::Monday => Weekday::Monday,
        WeekStart::Sunday => Weekday::Sunday,
        WeekStart::Saturday => Weekday::Saturday,
    };
    let mut reader =
        Reader { text: request.text, tokens, language, now: zone.wall(request.now), week_start, times: &times };
    let findings = reader.scan();
    let intent = intent::intent(&mut reader, &findings);
    let is_question = intent.wanted == crate::models::EventType::Query;
    let names = names::names(&mut reader, request.board, request.speaker, is_question);
    draft::understood(Reading {
        request: *request,
        picked: picked.and_then(|id| request.board.events.get(id)).cloned(),
        zone,
        preferences: &preferences,
        reader,
        findings,
        intent,
        names,
        edited: Vec::new(),
    })
}

/// What who speaks calls times of the day; who is named comes first, for `after school` is a matter of the child.
fn times(request: &Request<'_>) -> BTreeMap<String, civil::Time> {
    let mut times = preferences(request).times;
    let text = token::fold(request.text);
    for member in request.board.members.values().filter(|member| text.contains(&token::fold(&member.name))) {
        times.extend(member.preferences.times.clone());
    }
    times
}

fn preferences(request: &Request<'_>) -> Preferences {
    request.board.members.get(request.speaker).map(|member| member.preferences.clone()).unwrap_or_default()
}

/// A sentence, read.
#[derive(Debug)]
struct Reading<'a> {
    request: Request<'a>,
    /// The event that is meant, where that is known.
    picked: Option<Arc<Event>>,
    zone: Zone,
    preferences: &'a Preferences,
    reader: Reader<'a>,
    findings: Vec<Finding>,
    intent: Intent,
    names: Names,
    /// Who and what comes or leaves, in `add Dad to the game`, rather than tells which event is meant.
    edited: Vec<Mention>,
}

impl Reading<'_> {
    fn now(&self) -> DateTime {
        self.reader.now
    }

    fn today(&self) -> Date {
        self.now().date()
    }

    fn wall(&self, hint: Option<Hint>) -> Wall<'_> {
        Wall { now: self.now(), zone: &self.zone, preferences: self.preferences, hint }
    }
}
