//! What nodes note for themselves in one request, which nobody needs afterwards.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, Result};

use crate::agents::words;
use crate::calendar::{Board, Span, check_rule};
use crate::models::EventType;
use crate::parser::{self, Missing, Part, Scope, Understood, UnknownName};
use crate::plan::Plan;
use crate::state::Scheduler;
use crate::workflow::{LEAST_CONFIDENCE, SURE};
use crate::zone::Zone;

/// Whether the user confirmed what was half understood.
pub(crate) const CONFIRMED: &str = "confirmed";
/// What is wrong with what was asked for, so that the user must say something else.
pub(crate) const PROBLEMS: &str = "problems";
/// Everything that was understood.
pub(crate) const UNDERSTOOD: &str = "understood";
/// What a language model said, and of which words.
pub(crate) const HEARD: &str = "heard";
/// What the user answered.
pub(crate) const ANSWERS: &str = "answers";
/// The id of the event that is made.
pub(crate) const EVENT: &str = "event";
/// What is to be written.
pub(crate) const PLAN: &str = "plan";
/// How often a way out was taken.
pub(crate) const ROUNDS: &str = "rounds";
/// Whether the user must confirm before the calendar is written.
pub(crate) const MUST_ASK: &str = "must_ask";

/// What the user answered before the calendar could not be reached.
pub(crate) const GIVEN: &str = "given";

/// Whether the user did not want it in the end.
pub(crate) const DECLINED: &str = "declined";

/// An answer that is not asked for again, and what the calendar knows the work by that follows from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Given {
    /// Whether the calendar is written.
    pub(crate) confirm: bool,
    /// The task that began to.
    pub(crate) task: String,
}

/// What the user said when asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Said {
    /// In words.
    pub text: String,
    /// Field by field.
    pub fields: Fields,
}

/// What the user said field by field.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fields {
    /// What it is.
    pub title: Option<String>,
    /// When it starts; without an offset on the family's wall.
    pub start_time: Option<String>,
    /// When it ends; without an offset on the family's wall.
    pub end_time: Option<String>,
    /// Who takes part.
    pub participants: Option<Vec<String>>,
    /// What is needed.
    pub resources: Option<Vec<String>>,
    /// Which event is meant.
    pub event_id: Option<String>,
    /// Names that are left out.
    pub ignore: Vec<String>,
    /// Names that the family gets to know; parents only.
    pub add: Vec<NewName>,
    /// Whether what was understood is right.
    pub confirm: bool,
}

/// Somebody or something that the family gets to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewName {
    /// The name, as it was asked about.
    pub name: String,
    /// What it is the name of.
    pub kind: NewKind,
}

/// What a new name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewKind {
    /// Somebody.
    Person,
    /// Something that is used.
    Resource,
}

impl NewKind {
    /// As it is written.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Resource => "resource",
        }
    }
}

/// What a language model said of some words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hearing {
    /// The request, and what was answered since.
    pub(crate) words: Vec<String>,
    pub(crate) answered: Answered,
}

/// What came of asking a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answered {
    /// It said this.
    Said(Value),
    /// It said nothing that can be read, and this is why.
    Nothing(String),
}

impl Fields {
    /// Puts what was said in the place of what was understood. Which event is meant is for the parser: it was asked with
    /// what it is to be, and when.
    pub(crate) fn fill(&self, understood: &mut Understood, board: &Board, now: Time) {
        if let Some(title) = &self.title {
            understood.data.title = Some(title.clone());
            understood.missing.retain(|one| *one != Missing::Title);
        }
        self.fill_time(understood, board, now);
        let data = &mut understood.data;
        if let Some(people) = &self.participants {
            data.participants.clone_from(people);
        }
        if let Some(things) = &self.resources {
            data.resources.clone_from(things);
        }
        // Who says who takes part, or what is needed, has said whom an unknown name means.
        let is_settled = |unknown: &UnknownName| match unknown.is_resource_like {
            true => self.resources.is_some(),
            false => self.participants.is_some(),
        };
        understood.unknown.retain(|unknown| !self.ignore.contains(&unknown.text) && !is_settled(unknown));
        understood.doubts.retain(|doubt| !self.settles(doubt.about));
        // What may be meant in two ways is confirmed where it was at least half understood.
        let is_clear =
            understood.doubts.is_empty() || (self.confirm && understood.confidence.value() >= LEAST_CONFIDENCE);
        if self.confirm {
            understood.doubts.clear();
        }
        let is_settled = is_clear && understood.missing.is_empty() && understood.problems.is_empty();
        let names_one = understood.which.len() == 1 || understood.data.event_type == EventType::Create;
        if is_settled && names_one && *self != Self::default() {
            understood.confidence = understood.confidence.at_least(SURE);
        }
    }

    /// Whether it was said what was in doubt.
    fn settles(&self, about: Part) -> bool {
        match about {
            Part::Title => self.title.is_some(),
            Part::Date | Part::Time => self.start_time.is_some(),
            Part::Length => self.end_time.is_some(),
            Part::Change => self.start_time.is_some() || self.end_time.is_some(),
            Part::Person => self.participants.is_some(),
            Part::Resource => self.resources.is_some(),
            _ => false,
        }
    }

    /// Times that cannot be are told as those in words are.
    fn fill_time(&self, understood: &mut Understood, board: &Board, now: Time) {
        if self.start_time.is_none() && self.end_time.is_none() {
            return;
        }
        // A family whose zone is unknown cannot be stored.
        let Ok(zone) = Zone::named(&board.family.zone) else { return };
        if understood.data.event_type == EventType::Cancel {
            return self.choose_instance(understood, board, &zone, now);
        }
        understood.missing.retain(|one| !matches!(one, Missing::Date | Missing::Time | Missing::Change));
        understood.problems.clear();
        let span = self.time(understood, &zone, now).and_then(|span| first_of(understood, span, &zone));
        match span {
            Ok(span) => {
                let is_midnight = |time: Time| zone.wall(time).time() == jiff::civil::Time::midnight();
                understood.is_all_day &= is_midnight(span.start) && is_midnight(span.end);
                (understood.data.start_time, understood.data.end_time) = (Some(span.start), Some(span.end));
                understood.within = None;
            }
            Err(problem) => understood.problems.push(problem),
        }
    }

    /// A cancellation has no new time: what was said is which one of the event is not to be.
    fn choose_instance(&self, understood: &mut Understood, board: &Board, zone: &Zone, now: Time) {
        let [id] = understood.which.as_slice() else { return };
        let (Some(event), Some(text)) = (board.events.get(id), &self.start_time) else { return };
        understood.problems.clear();
        let start = match Time::parse_event(text, zone.name()) {
            Ok(start) => start,
            Err(fault) => return understood.problems.push(fault.message),
        };
        let moment = Time::from_unix_micros(start.as_unix_micros().saturating_add(1)).ok();
        let moment = moment.and_then(|next| Span::new(start, next));
        let then = moment.and_then(|moment| board.instances_of(event, &moment).ok()).unwrap_or_default();
        let one = then.iter().map(|one| one.span).find(|span| span.start == start && span.end > now);
        let Some(one) = one else {
            let wall = zone.wall(start);
            let problem = format!("There is no {} on {}.", words::quoted(&event.title), words::moment(wall));
            return understood.problems.push(problem);
        };
        // Nothing else can be missing of a cancellation.
        understood.missing.clear();
        understood.instance = Some(one);
        (understood.data.start_time, understood.data.end_time) = (Some(one.start), Some(one.end));
        if event.recurrence.is_some() && understood.scope.is_none() {
            understood.scope = Some(Scope::This);
            understood.doubts.retain(|doubt| doubt.about != Part::Scope);
        }
    }

    /// The time that was said; where only its start was, it is as long as before.
    fn time(&self, understood: &Understood, zone: &Zone, now: Time) -> Result<Span, String> {
        let read = |text: &String| Time::parse_event(text, zone.name()).map_err(|fault| fault.message);
        let (start, end) = (self.start_time.as_ref().map(read), self.end_time.as_ref().map(read));
        let data = &understood.data;
        let start = start.transpose()?.or(data.start_time).ok_or("it was not said when it starts")?;
        let given = data.start_time.zip(data.end_time).and_then(|(start, end)| Span::new(start, end));
        let minutes = given.or(understood.instance).map(|span| span.minutes());
        let minutes = minutes.or(understood.minutes.map(i64::from)).unwrap_or(60);
        let later = || Time::from_unix_micros(start.as_unix_micros().saturating_add(minutes * 60_000_000));
        let end = end.transpose()?.map_or_else(later, Ok).map_err(|fault| fault.message)?;
        // A question may be about what is over.
        let is_question = data.event_type == EventType::Query;
        let earliest = if is_question { jiff::civil::DateTime::MIN } else { zone.wall(now) };
        let problem = parser::problem((zone.wall(start), zone.wall(end)), earliest);
        match (problem, Span::new(start, end)) {
            (None, Some(span)) => Ok(span),
            (problem, _) => Err(problem.unwrap_or_else(|| "then it ends before it starts".to_owned())),
        }
    }
}

/// The time of the first of a series that begins then: its rule may fall on other days.
fn first_of(understood: &Understood, span: Span, zone: &Zone) -> Result<Span, String> {
    let data = &understood.data;
    let Some(rule) = data.recurrence_rule.as_ref().filter(|_| data.event_type == EventType::Create) else {
        return Ok(span);
    };
    let told = |error: Error| error.message().to_owned();
    let start = check_rule(rule, zone.wall(span.start), zone).and_then(|checked| zone.instant(checked.first));
    let start = start.map_err(told)?;
    let end = start.as_unix_micros().saturating_add(span.minutes() * 60_000_000);
    let end = Time::from_unix_micros(end).map_err(|fault| fault.message)?;
    Ok(Span { start, end: zone.written(end).map_err(told)? })
}

pub(crate) fn is_confirmed(state: &Scheduler) -> bool {
    state.notes.get(CONFIRMED) == Some(&Value::Bool(true))
}

pub(crate) fn is_declined(state: &Scheduler) -> bool {
    state.notes.get(DECLINED) == Some(&Value::Bool(true))
}

pub(crate) fn must_ask(state: &Scheduler) -> bool {
    state.notes.get(MUST_ASK) == Some(&Value::Bool(true))
}

pub(crate) fn has_problem(state: &Scheduler) -> bool {
    state.notes.get(PROBLEMS).and_then(Value::as_array).is_some_and(|problems| !problems.is_empty())
}

pub(crate) fn problems(state: &Scheduler) -> Vec<String> {
    read(state, PROBLEMS).unwrap_or_default()
}

pub(crate) fn answers(state: &Scheduler) -> Vec<Said> {
    read(state, ANSWERS).unwrap_or_default()
}

pub(crate) fn heard(state: &Scheduler) -> Option<Hearing> {
    read(state, HEARD)
}

pub(crate) fn event_id(state: &Scheduler) -> Option<String> {
    read(state, EVENT)
}

pub(crate) fn rounds(state: &Scheduler) -> u32 {
    read(state, ROUNDS).unwrap_or_default()
}

pub(crate) fn given(state: &Scheduler) -> Option<Given> {
    read(state, GIVEN)
}

/// What was understood.
///
/// # Errors
/// When nothing was read yet.
pub(crate) fn understood(state: &Scheduler) -> Result<Understood> {
    read(state, UNDERSTOOD).ok_or_else(|| Error::internal("nothing was read yet"))
}

/// What is to be written.
///
/// # Errors
/// When no time was chosen yet.
pub(crate) fn plan(state: &Scheduler) -> Result<Plan> {
    read(state, PLAN).ok_or_else(|| Error::internal("nothing is planned yet"))
}

fn read<T: DeserializeOwned>(state: &Scheduler, key: &str) -> Option<T> {
    serde_json::from_value(state.notes.get(key)?.clone()).ok()
}
