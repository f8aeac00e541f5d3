//! Plans that change the event itself: its time, its length, its rules, its things, or that it is at all.

use superstep::Result;

use super::super::capacity;
use super::super::finding::Key;
use super::super::look::Look;
use super::super::moments::{later, written};
use super::super::words;
use super::changed::part_id;
use super::nearest::{nearest, on_its_day};
use super::{Desk, Plan, new_time, new_times};
use crate::calendar::{Event, Flexibility, Span, Strength};
use crate::models::{ChangeAction, ResolutionChange, Strategy};
use crate::zone::Zone;

/// The least that is left of an event that is shortened.
const LEAST_MINUTES: i64 = 15;
/// The least that a part of an event is.
const LEAST_PART_MINUTES: i64 = 30;
/// The most lengths that are tried; each is looked at with everything around it.
const MOST_LENGTHS: i64 = 100;

/// Steps of some minutes, or of several times as many where a length would be too many of them.
fn step(minutes: i64, least: i64) -> i64 {
    least * (minutes / (least * MOST_LENGTHS) + 1)
}

impl Desk<'_> {
    pub(super) fn move_it(&self) -> Result<Option<Plan>> {
        let event = self.event;
        if event.flexibility == Flexibility::Fixed || event.is_all_day {
            return Ok(None);
        }
        let is_good = |spans: &[Span]| self.is_way_out(spans);
        let Some(to) = nearest(self.board, &self.look, event, self.now, is_good)? else { return Ok(None) };
        let to = written(&Zone::named(&event.zone)?, &to)?;
        Ok(Some(self.moving(event, &event.span, &to)))
    }

    /// The plan that something is at another time.
    pub(super) fn moving(&self, event: &Event, from: &Span, to: &Span) -> Plan {
        let title = self.telling.name(event);
        let shift =
            Span::new(from.start, to.start).or(Span::new(to.start, from.start)).map_or(0, |span| span.minutes());
        let side = if to.start > from.start { "later" } else { "earlier" };
        let description = format!("Move {title} to {}.", words::stretch(&self.telling.zone, to));
        let changes = new_times(&event.id, from, to, ChangeAction::Move);
        let lost = format!("{title} starts {} {side}.", words::length(shift));
        Plan::new(Strategy::MoveEvent, description, changes).losing(lost).shifted_by(shift)
    }

    /// The longest that is left when the worst is cut off, from the end or from the start.
    pub(super) fn shorten_it(&self) -> Result<Option<Plan>> {
        if self.event.is_all_day {
            return Ok(None);
        }
        let span = self.event.span;
        let minutes = span.minutes();
        let least = LEAST_MINUTES.max((minutes + 1) / 2);
        // Nobody shortens a holiday by minutes.
        let step = step(minutes / 2, if minutes > 8 * 60 { 30 } else { 5 });
        let mut best = (super::count(&self.before), None);
        for cut in (1..).map(|steps| steps * step).take_while(|cut| minutes - cut >= least) {
            let ends_earlier = Span { end: later(span.end, -cut), ..span };
            let starts_later = Span { start: later(span.start, cut), ..span };
            let is_fixed = self.event.flexibility == Flexibility::Fixed;
            for shorter in [Some(ends_earlier), Some(starts_later).filter(|_| !is_fixed)].into_iter().flatten() {
                let badness = self.badness(&self.look.moved(&shorter));
                if badness < best.0 {
                    best = (badness, Some((shorter, cut)));
                }
            }
            if best.0 == (0, 0) {
                break;
            }
        }
        let Some((shorter, cut)) = best.1 else { return Ok(None) };
        let shorter = written(&Zone::named(&self.event.zone)?, &shorter)?;
        let (title, id) = (self.telling.name(self.event), &self.event.id);
        let change = if shorter.start == span.start {
            new_time(id, "end_time", Some(span.end), shorter.end, ChangeAction::Shorten)
        } else {
            new_time(id, "start_time", Some(span.start), shorter.start, ChangeAction::Shorten)
        };
        let description = format!("Shorten {title} to {}.", words::stretch(&self.telling.zone, &shorter));
        let plan = Plan::new(Strategy::ShortenEvent, description, vec![change]);
        Ok(Some(plan.losing(format!("{title} is {} shorter.", words::length(cut)))))
    }

    /// The longest part that can stay where it is, and the nearest time on that day for what is left.
    pub(super) fn split_it(&self) -> Result<Option<Plan>> {
        let (event, minutes) = (self.event, self.event.span.minutes());
        let is_stiff = event.flexibility == Flexibility::Fixed || event.is_all_day;
        if is_stiff || super::count(&self.before).0 == 0 {
            return Ok(None);
        }
        let step = step(minutes, LEAST_MINUTES);
        let mut staying = minutes - LEAST_PART_MINUTES;
        while staying >= LEAST_PART_MINUTES {
            let head = Span { end: later(event.span.start, staying), ..event.span };
            let tail = Span { start: later(event.span.end, -staying), ..event.span };
            for stays in [head, tail] {
                if let Some(rest) = self.rest_beside(&stays, minutes - staying)? {
                    return self.splitting(&stays, &rest).map(Some);
                }
            }
            staying -= step;
        }
        Ok(None)
    }

    /// The nearest good time on that day for the rest of the event, if the part that stays is good.
    fn rest_beside(&self, stays: &Span, minutes: i64) -> Result<Option<Span>> {
        let is_good = |span: &Span| self.is_way_out(&self.look.moved(span));
        if !is_good(stays) {
            return Ok(None);
        }
        let on_day = on_its_day(self.board, self.event, minutes, self.now)?;
        let after = on_day.iter().filter(|cell| cell.start >= stays.end);
        let before = on_day.iter().rev().filter(|cell| cell.end <= stays.start);
        Ok(after.chain(before).find(|cell| is_good(cell)).copied())
    }

    fn splitting(&self, stays: &Span, rest: &Span) -> Result<Plan> {
        let zone = Zone::named(&self.event.zone)?;
        let (first, second) = (written(&zone, stays.min(rest))?, written(&zone, stays.max(rest))?);
        let (event, old) = (self.event, &self.event.span);
        let mut changes = Vec::new();
        if first.start != old.start {
            changes.push(new_time(&event.id, "start_time", Some(old.start), first.start, ChangeAction::Split));
        }
        changes.push(new_time(&event.id, "end_time", Some(old.end), first.end, ChangeAction::Split));
        let part = part_id(self.board, event);
        changes.push(new_time(&part, "start_time", None, second.start, ChangeAction::Split));
        changes.push(new_time(&part, "end_time", None, second.end, ChangeAction::Split));
        let title = self.telling.name(event);
        let said = |span| words::stretch(&self.telling.zone, span);
        let description = format!("Split {title} into two parts: {} and {}.", said(&first), said(&second));
        let pause = Span::new(first.end, second.start).map_or(0, |pause| pause.minutes());
        let lost = format!("{title} is in two parts, {} apart.", words::length(pause));
        Ok(Plan::new(Strategy::SplitEvent, description, changes).losing(lost).shifted_by(pause))
    }

    pub(super) fn cancel_it(&self) -> Plan {
        let title = self.telling.name(self.event);
        let change = ResolutionChange {
            event_id: Some(self.event.id.clone()),
            action: Some(ChangeAction::Cancel),
            ..ResolutionChange::default()
        };
        let plan = Plan::new(Strategy::CancelEvent, format!("Do not plan {title}."), vec![change]);
        plan.losing(format!("{title} does not take place."))
    }

    pub(super) fn override_rules(&self) -> Option<Plan> {
        let is_soft = |strength| matches!(strength, Strength::Soft(_));
        let rules: Vec<_> =
            self.before.iter().filter_map(|found| found.rule.as_ref()).filter(|rule| is_soft(rule.strength)).collect();
        let change = |rule: &str| ResolutionChange {
            event_id: Some(self.event.id.clone()),
            field: Some(format!("constraint:{rule}")),
            ..ResolutionChange::default()
        };
        let changes: Vec<ResolutionChange> = rules.iter().map(|rule| change(&rule.id)).collect();
        let names: Vec<String> = rules.iter().map(|rule| words::quoted(&rule.name)).collect();
        let (title, rule) = (self.telling.name(self.event), if names.len() == 1 { "rule" } else { "rules" });
        let description = format!("Keep {title} as it is, against the {rule} {}.", words::list(&names));
        let lost = format!(
            "The {rule} {} {} broken this time.",
            words::list(&names),
            if names.len() == 1 { "is" } else { "are" }
        );
        (!names.is_empty()).then(|| Plan::new(Strategy::OverrideConstraint, description, changes).losing(lost))
    }

    /// Other things of the same kind for those that are taken.
    pub(super) fn use_other_things(&self) -> Result<Option<Plan>> {
        let (mut event, mut changes, mut said) = (self.event.clone(), Vec::new(), Vec::new());
        for found in &self.before {
            let Key::Resource(taken) = &found.key else { continue };
            for other in capacity::alternatives(self.board, taken, &event.span, Some(&event.id))? {
                let changed = with_other(&event, taken, &other.id);
                if event.resources.contains(&other.id) || !self.is_free_thing(&changed, &other.id)? {
                    continue;
                }
                changes.push(ResolutionChange {
                    event_id: Some(event.id.clone()),
                    field: Some("resources".to_owned()),
                    old_value: Some(taken.clone()),
                    new_value: Some(other.id.clone()),
                    action: None,
                });
                let name = self.board.resources.get(taken).map_or("thing", |resource| resource.name.as_str());
                said.push(format!("{} instead of {}", in_sentence(&other.name), in_sentence(name)));
                event = changed;
                break;
            }
        }
        let description = format!("Use {}.", words::list(&said));
        let lost = format!("{} uses {}.", self.telling.name(&event), words::list(&said));
        Ok((!said.is_empty()).then(|| Plan::new(Strategy::AlternativeResource, description, changes).losing(lost)))
    }

    /// Whether a thing is free at all times of an event that uses it.
    fn is_free_thing(&self, event: &Event, thing: &str) -> Result<bool> {
        let look = Look::new(self.board, event, &super::conflicts::horizon(event, self.now)?)?;
        let found = look.found(look.spans());
        Ok(!found.iter().any(|found| matches!(&found.key, Key::Resource(full) if full == thing)))
    }
}

fn with_other(event: &Event, taken: &str, other: &str) -> Event {
    let swap = |id: &String| if id == taken { other.to_owned() } else { id.clone() };
    Event { resources: event.resources.iter().map(swap).collect(), ..event.clone() }
}

fn in_sentence(name: &str) -> String {
    if name.starts_with(char::is_lowercase) { format!("the {name}") } else { name.to_owned() }
}
