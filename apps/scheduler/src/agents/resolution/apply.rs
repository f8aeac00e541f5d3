//! Carries out a way out, as it was proposed or as somebody changed it, if it can be done.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::super::moments::{after, between};
use super::super::rules::acceptance;
use super::super::seen::may_change;
use super::changed::{count_change, instance, moved, part_id, refused};
use crate::calendar::series::{self, Which};
use crate::calendar::{Board, Change, Event, Span, Strength};
use crate::models::{ChangeAction, EventStatus, ProposedResolution, ResolutionChange, Strategy};
use crate::zone::Zone;

/// The event after a way out, and everything that changes on the board, the event first.
///
/// A change to another event that repeats means the one instance that starts at its `old_value`. Whether conflicts are
/// left is not looked at; that is for [`conflicts`](crate::agents::conflicts), on the board as it is then.
///
/// # Errors
/// `InvalidResume` when it cannot be done: an unknown event, thing or rule, a time that is none, an end before its
/// start, a change that does not fit the strategy. `PolicyRefused` when who asks may not change another event.
pub fn apply(
    board: &Board,
    event: &Event,
    way: &ProposedResolution,
    asker: &str,
    now: Time,
) -> Result<(Event, Vec<Change>)> {
    if way.changes.is_empty() {
        return Err(refused("a way out changes something, and this one has no `changes`"));
    }
    let mut work = Work { board: board.clone(), event, asker, now, after: event.clone(), others: Vec::new() };
    match way.strategy {
        Strategy::MoveEvent => work.retime(&way.changes, ChangeAction::Move)?,
        Strategy::ShortenEvent => work.retime(&way.changes, ChangeAction::Shorten)?,
        Strategy::SplitEvent => work.split(&way.changes)?,
        Strategy::CancelEvent => work.cancel(&way.changes)?,
        Strategy::OverrideConstraint => work.accept_rules(&way.changes)?,
        Strategy::AlternativeResource => work.swap_things(&way.changes)?,
    }
    let mut changes = vec![Change::Event(Box::new(work.after.clone()))];
    changes.extend(work.others);
    Ok((work.after, changes))
}

struct Work<'a> {
    /// With what became of other events so far: a second change to one of them goes on from the first.
    board: Board,
    event: &'a Event,
    asker: &'a str,
    now: Time,
    after: Event,
    others: Vec<Change>,
}

/// New ends of an event.
#[derive(Debug, Default)]
struct Ends {
    /// When the instance of a series starts that is meant.
    of: Option<Time>,
    start: Option<Time>,
    end: Option<Time>,
}

impl Ends {
    /// The new span; where only the start is new and the event moves, it is as long as before.
    fn span(&self, old: &Span, action: ChangeAction) -> Result<Span> {
        let start = self.start.unwrap_or(old.start);
        let same_length = || after(start, between(old.start, old.end));
        let end = self.end.unwrap_or_else(|| if action == ChangeAction::Move { same_length() } else { old.end });
        let span = Span::new(start, end).ok_or_else(|| refused(format!("it would end at {end}, before it starts")))?;
        if action == ChangeAction::Shorten && (!old.holds(&span) || span == *old) {
            return Err(refused(format!("{start} to {end} is not a part of {} to {}", old.start, old.end)));
        }
        Ok(span)
    }
}

impl Work<'_> {
    fn retime(&mut self, changes: &[ResolutionChange], action: ChangeAction) -> Result<()> {
        for (id, ends) in ends(changes, action)? {
            if id == self.event.id {
                let (after, exceptions) = moved(&self.board, self.event, &ends.span(&self.event.span, action)?)?;
                self.after = after;
                self.put(exceptions);
                continue;
            }
            let mut standing = self.other(&id)?.as_ref().clone();
            if standing.recurrence.is_some() {
                let start = ends.of.ok_or_else(|| refused(format!("`{id}` repeats: `old_value` says which one")))?;
                standing = instance(&self.board, self.other(&id)?, start)?;
            }
            let (after, _) = moved(&self.board, &standing, &ends.span(&standing.span, action)?)?;
            self.put([after]);
        }
        Ok(())
    }

    fn split(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        let part = part_id(&self.board, self.event);
        let mut ends = ends(changes, ChangeAction::Split)?;
        let first = ends.remove(&self.event.id).unwrap_or_default().span(&self.event.span, ChangeAction::Split)?;
        let second = ends.remove(&part).ok_or_else(|| refused(format!("the second part is to be `{part}`")))?;
        let second = match second {
            Ends { start: Some(start), end: Some(end), .. } => Span::new(start, end),
            _ => None,
        };
        let second = second.ok_or_else(|| refused("the second part needs a start and a later end"))?;
        if let Some((id, _)) = ends.pop_first() {
            return Err(refused(format!("`{id}` is neither the event nor its second part")));
        }
        if first.meets(&second) {
            return Err(refused("the two parts are at the same time"));
        }
        let (after, exceptions) = moved(&self.board, self.event, &first)?;
        let (rest, _) = moved(&self.board, self.event, &second)?;
        let uid = format!("{}{}", self.event.uid, part.strip_prefix(&self.event.id).unwrap_or_default());
        self.put(exceptions);
        self.put([Event { id: part, uid, exception_of: None, sequence: 0, ..rest }]);
        self.after = after;
        Ok(())
    }

    fn cancel(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        for change in changes {
            if change.action != Some(ChangeAction::Cancel) {
                return Err(unfitting(change, "`cancel`"));
            }
            let id = event_id(change)?;
            if id == self.event.id {
                self.after.status = EventStatus::Rejected;
                continue;
            }
            let other = self.other(id)?;
            let which = match (&other.recurrence, &other.exception_of) {
                (Some(_), _) => {
                    let start = time(change.old_value.as_deref(), "old_value")?;
                    instance(&self.board, other, start)?;
                    Which::This(Zone::named(&other.zone)?.wall(start))
                }
                // It stands for an instance, which is not to come back without it.
                (None, Some(of)) => Which::This(of.start),
                (None, None) => {
                    let mut after = other.as_ref().clone();
                    count_change(&mut after);
                    self.put([Event { status: EventStatus::Rejected, ..after }]);
                    continue;
                }
            };
            let changes = series::cancel(&self.board, id, which, self.now)?;
            changes.into_iter().for_each(|change| self.change(change));
        }
        Ok(())
    }

    fn put(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.change(Change::Event(Box::new(event))));
    }

    fn change(&mut self, change: Change) {
        self.board.apply(change.clone());
        self.others.push(change);
    }

    fn accept_rules(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        for change in changes {
            let rule = change.field.as_deref().and_then(|field| field.strip_prefix("constraint:"));
            let Some(id) = rule.filter(|_| self.is_plain(change)) else {
                return Err(unfitting(change, "`field` with `constraint:` and the id of a rule"));
            };
            let rule = self.board.rules.get(id).ok_or_else(|| refused(format!("there is no rule `{id}`")))?;
            if rule.strength == Strength::Hard {
                return Err(refused(format!("the rule `{}` is hard and cannot be broken", rule.name)));
            }
            let line = acceptance(id);
            if !self.after.extra.contains(&line) {
                self.after.extra.push(line);
            }
        }
        count_change(&mut self.after);
        Ok(())
    }

    fn swap_things(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        for change in changes {
            let is_swap = change.field.as_deref() == Some("resources") && self.is_plain(change);
            let (Some(old), Some(new), true) = (&change.old_value, &change.new_value, is_swap) else {
                return Err(unfitting(change, "`field` `resources` with `old_value` and `new_value`"));
            };
            if !self.board.resources.contains_key(new) {
                return Err(refused(format!("there is no resource `{new}`")));
            }
            let used = self.after.resources.iter_mut().find(|used| *used == old);
            let used = used.ok_or_else(|| refused(format!("`{}` does not use `{old}`", self.event.title)))?;
            used.clone_from(new);
        }
        count_change(&mut self.after);
        Ok(())
    }

    /// Whether a change is of the event itself and nothing happens to its time.
    fn is_plain(&self, change: &ResolutionChange) -> bool {
        change.action.is_none() && change.event_id.as_ref().is_none_or(|id| *id == self.event.id)
    }

    fn other(&self, id: &str) -> Result<&Arc<Event>> {
        let other = self.board.events.get(id).ok_or_else(|| refused(format!("there is no event `{id}`")))?;
        if !may_change(&self.board, self.asker, other) {
            let name = self.board.members.get(self.asker).map_or("whoever asks", |member| member.name.as_str());
            return Err(Error::new(
                Code::PolicyRefused,
                format!("{name} may not change what belongs to somebody else"),
            ));
        }
        // What is only proposed belongs to another conversation.
        match other.status {
            EventStatus::Confirmed => Ok(other),
            _ => Err(refused(format!("`{id}` is not on the calendar yet"))),
        }
    }
}

/// The new ends of each event that changes.
fn ends(changes: &[ResolutionChange], action: ChangeAction) -> Result<BTreeMap<String, Ends>> {
    let mut all: BTreeMap<String, Ends> = BTreeMap::new();
    for change in changes {
        if change.action != Some(action) {
            return Err(unfitting(change, &format!("`{}`", action_name(action))));
        }
        let ends = all.entry(event_id(change)?.to_owned()).or_default();
        let new = Some(time(change.new_value.as_deref(), "new_value")?);
        match change.field.as_deref() {
            Some("start_time") => {
                ends.of = change.old_value.as_deref().map(|old| time(Some(old), "old_value")).transpose()?;
                ends.start = new;
            }
            Some("end_time") => ends.end = new,
            _ => return Err(unfitting(change, "`field` `start_time` or `end_time`")),
        }
    }
    Ok(all)
}

fn event_id(change: &ResolutionChange) -> Result<&str> {
    change.event_id.as_deref().ok_or_else(|| refused("a change does not say which event"))
}

fn time(text: Option<&str>, field: &str) -> Result<Time> {
    let text = text.ok_or_else(|| refused(format!("`{field}` is missing, and says a time")))?;
    Time::parse(text).map_err(|fault| refused(format!("`{field}`: {fault}")))
}

fn unfitting(change: &ResolutionChange, wanted: &str) -> Error {
    let (field, action) = (change.field.as_deref().unwrap_or("none"), change.action.map_or("none", action_name));
    refused(format!("a change with field `{field}` and action `{action}` does not fit: the strategy wants {wanted}"))
}

fn action_name(action: ChangeAction) -> &'static str {
    match action {
        ChangeAction::Move => "move",
        ChangeAction::Cancel => "cancel",
        ChangeAction::Shorten => "shorten",
        ChangeAction::Split => "split",
    }
}
