//! What nodes note for themselves in one request, which nobody needs afterwards.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, Result};

use crate::calendar::Board;
use crate::models::EventType;
use crate::parser::{Missing, Understood, UnknownName};
use crate::plan::Plan;
use crate::state::Scheduler;

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
/// How often a way out was taken, or somebody else was faster.
pub(crate) const ROUNDS: &str = "rounds";
/// Whether the user must confirm before the calendar is written.
pub(crate) const MUST_ASK: &str = "must_ask";

/// Whether the user did not want it in the end.
pub(crate) const DECLINED: &str = "declined";

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
    /// When it starts.
    #[schemars(with = "Option<String>")]
    pub start_time: Option<Time>,
    /// When it ends.
    #[schemars(with = "Option<String>")]
    pub end_time: Option<Time>,
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
    /// Puts what was said in the place of what was understood.
    pub(crate) fn fill(&self, understood: &mut Understood, board: &Board) {
        let data = &mut understood.data;
        let mut is_told = |missing: Missing| understood.missing.retain(|one| *one != missing);
        if let Some(title) = &self.title {
            data.title = Some(title.clone());
            is_told(Missing::Title);
        }
        if let (Some(start), end) = (self.start_time, self.end_time) {
            let length = data
                .end_time
                .zip(data.start_time)
                .map_or(3_600_000_000, |(end, start)| end.as_unix_micros() - start.as_unix_micros());
            let later = Time::from_unix_micros(start.as_unix_micros() + length).ok();
            (data.start_time, data.end_time) = (Some(start), end.or(later));
            is_told(Missing::Date);
            is_told(Missing::Time);
            understood.problems.clear();
        }
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
        if let Some(id) = self.event_id.as_ref().filter(|id| board.events.contains_key(*id)) {
            understood.which = vec![id.clone()];
            is_told(Missing::Event);
        }
        if self.confirm {
            understood.doubts.clear();
        }
        let is_settled = understood.missing.is_empty() && understood.problems.is_empty();
        let names_one = understood.which.len() == 1 || data.event_type == EventType::Create;
        if is_settled && names_one && *self != Self::default() {
            understood.confidence = understood.confidence.at_least(crate::workflow::SURE);
        }
    }
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
