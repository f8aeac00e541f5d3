//! The plan that a sentence asks for: something new, or what is to be different.

use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use crate::agents::slots::Wanted;
use crate::calendar::{Board, Event, Recurrence, Span};
use crate::models::{EventStatus, EventType};
use crate::parser::Understood;
use crate::plan::{Difference, Plan, Target, Wish, required};

/// How long something is that nobody said anything about.
const DEFAULT_MINUTES: u32 = 60;

/// Who asks for what.
pub(crate) struct Asked<'a> {
    pub(crate) board: &'a Board,
    pub(crate) who: &'a str,
    pub(crate) understood: &'a Understood,
    /// The id of the event, where it is a new one.
    pub(crate) id: &'a str,
    pub(crate) now: Time,
}

impl Asked<'_> {
    /// What is to be written; its time may be another one in the end.
    ///
    /// # Errors
    /// When a change names no event.
    pub(crate) fn plan(&self) -> Result<Plan> {
        match self.understood.data.event_type {
            EventType::Modify => Ok(Plan::new(Wish::Other(Box::new(self.difference()?)))),
            _ => Ok(Plan::new(Wish::New(Box::new(self.new_event()?)))),
        }
    }

    /// What a time is looked for; the event is the one that the plan makes.
    pub(crate) fn wanted(&self, plan: &Plan, event: Event) -> Wanted {
        let range = self.understood.within;
        let Some(target) = plan.target() else {
            return Wanted { event, given: self.given(), minutes: self.minutes(), range };
        };
        // A change that says nothing of the time keeps it; one that says only where it is to lie keeps how long it is.
        let kept = Some(target.seen).filter(|_| range.is_none());
        let minutes = u32::try_from(target.seen.minutes()).unwrap_or(DEFAULT_MINUTES);
        Wanted { event, given: self.given().or(kept), minutes: self.understood.minutes.unwrap_or(minutes), range }
    }

    /// How long it is to be.
    pub(crate) fn minutes(&self) -> u32 {
        let preferred = self.board.members.get(self.who).map(|member| member.preferences.default_minutes);
        self.understood.minutes.or(preferred).unwrap_or(DEFAULT_MINUTES)
    }

    /// The time that was said.
    pub(crate) fn given(&self) -> Option<Span> {
        let data = &self.understood.data;
        data.start_time.zip(data.end_time).and_then(|(start, end)| Span::new(start, end))
    }

    /// Something new.
    ///
    /// # Errors
    /// `PolicyRefused` when there is no calendar into which who asks may write, or when it has no length.
    pub(crate) fn new_event(&self) -> Result<Event> {
        let none = || Error::new(Code::PolicyRefused, "there is no calendar of the family's, and none of your own");
        let calendar = self.board.calendar_of(self.who).ok_or_else(none)?.id.clone();
        Ok(Event { calendar, ..self.imagined()? })
    }

    /// The same in no calendar, to be looked at and never written.
    ///
    /// # Errors
    /// When it has no length.
    pub(crate) fn imagined(&self) -> Result<Event> {
        let data = &self.understood.data;
        let zone = &self.board.family.zone;
        let title = data.title.clone().unwrap_or_else(|| "Event".to_owned());
        let recurrence = data.recurrence_rule.clone();
        Ok(Event {
            id: self.id.to_owned(),
            uid: format!("{}@superstep", self.id),
            calendar: String::new(),
            title,
            span: self.given().map_or_else(|| self.any_time(), Ok)?,
            zone: zone.clone(),
            is_all_day: self.understood.is_all_day,
            participants: data.participants.iter().map(|id| required(id)).collect(),
            resources: data.resources.clone(),
            recurrence: recurrence.map(|rule| Recurrence { rule, left_out: Vec::new(), added: Vec::new() }),
            exception_of: None,
            priority: data.priority.unwrap_or_default(),
            flexibility: data.flexibility.unwrap_or_default(),
            status: EventStatus::Proposed,
            owner: self.who.to_owned(),
            sequence: 0,
            location: String::new(),
            notes: String::new(),
            extra: Vec::new(),
            created_at: self.now,
            updated_at: self.now,
        })
    }

    /// A time that stands in until one is found.
    fn any_time(&self) -> Result<Span> {
        let end = self.now.as_unix_micros() + i64::from(self.minutes()) * 60_000_000;
        let end = Time::from_unix_micros(end).map_err(|fault| Error::internal(fault.to_string()))?;
        Span::new(self.now, end).ok_or_else(|| Error::internal("an event without length"))
    }

    fn difference(&self) -> Result<Difference> {
        let Understood { data, edit, .. } = self.understood;
        Ok(Difference {
            target: Target::of(self.understood, self.board)?,
            time: self.given(),
            edit: edit.clone(),
            rule: data.recurrence_rule.clone(),
            priority: data.priority,
            flexibility: data.flexibility,
        })
    }
}
