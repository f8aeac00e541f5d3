//! The event that a sentence asks for.

use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use crate::calendar::series::Which;
use crate::calendar::{Board, Calendar, Event, Participant, Recurrence, Span, Visibility};
use crate::models::EventStatus;
use crate::parser::{Scope, Understood};
use crate::plan::{Plan, Target};
use crate::zone::Zone;

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
            crate::models::EventType::Modify => self.change(),
            _ => Ok(Plan { event: self.new_event()?, target: None, way: None }),
        }
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

    fn new_event(&self) -> Result<Event> {
        let data = &self.understood.data;
        let zone = &self.board.family.zone;
        let title = data.title.clone().unwrap_or_else(|| "Event".to_owned());
        let recurrence = data.recurrence_rule.clone();
        Ok(Event {
            id: self.id.to_owned(),
            uid: format!("{}@superstep", self.id),
            calendar: self.calendar().to_owned(),
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

    /// The calendar of who asks that the family sees, else the family's, else any.
    fn calendar(&self) -> &str {
        let all = || self.board.calendars.values();
        let is_family = |calendar: &&std::sync::Arc<Calendar>| calendar.visibility == Visibility::Family;
        let own = all().filter(is_family).find(|calendar| calendar.owner.as_deref() == Some(self.who));
        let shared = || all().find(|calendar| calendar.owner.is_none());
        own.or_else(shared).or_else(|| all().next()).map_or("family", |calendar| calendar.id.as_str())
    }

    fn change(&self) -> Result<Plan> {
        let understood = self.understood;
        let id = understood.which.first().ok_or_else(|| Error::new(Code::NotFound, "no event is meant"))?;
        let missing = || Error::new(Code::NotFound, "the event is no longer on the calendar");
        let old = self.board.events.get(id).ok_or_else(missing)?;
        let at = understood.instance.unwrap_or(old.span);
        let wall = Zone::named(&old.zone)?.wall(at.start);
        let which = match understood.scope {
            Some(Scope::All) => Which::All,
            Some(Scope::Following) => Which::Following(wall),
            Some(Scope::This) | None if old.recurrence.is_some() => Which::This(wall),
            Some(Scope::This) | None => Which::All,
        };
        let mut event = Event { span: self.given().unwrap_or(at), updated_at: self.now, ..(**old).clone() };
        let edit = &understood.edit;
        event.participants.retain(|one| !edit.remove_people.contains(&one.member));
        for person in &edit.add_people {
            if !event.participants.iter().any(|one| one.member == *person) {
                event.participants.push(required(person));
            }
        }
        event.resources.retain(|thing| !edit.remove_resources.contains(thing));
        event.resources.extend(edit.add_resources.iter().filter(|thing| !old.resources.contains(thing)).cloned());
        event.title = edit.title.clone().unwrap_or(event.title);
        event.priority = understood.data.priority.unwrap_or(event.priority);
        event.flexibility = understood.data.flexibility.unwrap_or(event.flexibility);
        event.recurrence = match (&understood.data.recurrence_rule, which) {
            (Some(rule), _) => Some(Recurrence { rule: rule.clone(), left_out: Vec::new(), added: Vec::new() }),
            (None, Which::This(_)) => None,
            (None, _) => event.recurrence,
        };
        Ok(Plan { event, target: Some(Target { event: id.clone(), which }), way: None })
    }
}

fn required(member: &str) -> Participant {
    Participant { member: member.to_owned(), is_required: true }
}
