//! Integrity checks of a calendar before a write: every referenced record exists, and every time range has a limit.
//!
//! The foreign keys of the tables enforce the references too; these checks run before the write and give readable
//! errors.

use std::collections::{BTreeMap, BTreeSet};

use superstep::{Error, ErrorCode, Result};

use crate::calendar::{CalendarChange, CalendarSnapshot, Event, MAX_INSTANCES};
use crate::time_zone::NamedTimeZone;

/// Checks the changed records, and for removed members and resources everything that could reference them.
pub(super) fn check(
    before: &CalendarSnapshot,
    after: &CalendarSnapshot,
    changes: &[CalendarChange],
    final_events: &BTreeMap<String, Option<&Event>>,
) -> Result<()> {
    for event in final_events.values().flatten() {
        check_event(after, event)?;
    }
    for change in changes {
        match change {
            CalendarChange::Family(family) if family.id != before.family.id => {
                return Err(type_mismatch(format!("family `{}` cannot become `{}`", before.family.id, family.id)));
            }
            CalendarChange::Family(family) => check_zone(&family.zone, &format!("family `{}`", family.id))?,
            CalendarChange::Member(member) => {
                let zone = member.zone.as_deref().unwrap_or(&after.family.zone);
                check_zone(zone, &format!("member `{}`", member.id))?;
            }
            CalendarChange::Calendar(calendar) => {
                check_member(after, calendar.owner.as_deref(), &format!("calendar `{}`", calendar.id))?;
            }
            CalendarChange::Rule(rule) => check_member(after, rule.member.as_deref(), &format!("rule `{}`", rule.id))?,
            CalendarChange::RemoveMember(id) => check_member_unused(after, id)?,
            CalendarChange::RemoveResource(id) => check_resource_unused(after, id)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_event(after: &CalendarSnapshot, event: &Event) -> Result<()> {
    let name = format!("event `{}`", event.id);
    if event.span.end <= event.span.start {
        return Err(type_mismatch(format!(
            "{name} ends at {}, which is not after its start at {}",
            event.span.end, event.span.start
        )));
    }
    if event.span.is_too_long() {
        return Err(type_mismatch(format!("{name} is longer than a year"))
            .with_help("use a recurrence rule, or create several events"));
    }
    if event.recurrence.as_ref().is_some_and(|recurrence| recurrence.rdates.len() > MAX_INSTANCES) {
        return Err(type_mismatch(format!("{name} has more than {MAX_INSTANCES} RDATE starts")));
    }
    check_zone(&event.zone, &name)?;
    if !after.calendars.contains_key(&event.calendar) {
        return Err(type_mismatch(format!("{name} is in calendar `{}`, which does not exist", event.calendar)));
    }
    let mut seen = BTreeSet::new();
    for participant in &event.participants {
        check_member(after, Some(&participant.member), &name)?;
        if !seen.insert(&participant.member) {
            return Err(type_mismatch(format!("{name} lists member `{}` twice", participant.member)));
        }
    }
    seen.clear();
    for resource in &event.resources {
        if !after.resources.contains_key(resource) {
            return Err(type_mismatch(format!("{name} uses resource `{resource}`, which does not exist")));
        }
        if !seen.insert(resource) {
            return Err(type_mismatch(format!("{name} lists resource `{resource}` twice")));
        }
    }
    Ok(())
}

fn check_zone(zone: &str, name: &str) -> Result<()> {
    NamedTimeZone::from_iana_name(zone).map(drop).map_err(|error| type_mismatch(format!("{name}: {}", error.message())))
}

fn check_member(after: &CalendarSnapshot, member: Option<&str>, name: &str) -> Result<()> {
    match member.filter(|member| !after.members.contains_key(*member)) {
        Some(member) => Err(type_mismatch(format!("{name} refers to member `{member}`, who does not exist"))),
        None => Ok(()),
    }
}

fn check_member_unused(after: &CalendarSnapshot, id: &str) -> Result<()> {
    if after.members.contains_key(id) {
        return Ok(());
    }
    let takes_part = |event: &Event| event.participants.iter().any(|participant| participant.member == id);
    let event = after.events.values().find(|event| takes_part(event)).map(|event| format!("event `{}`", event.id));
    let owns = after.calendars.values().find(|calendar| calendar.owner.as_deref() == Some(id));
    let bound = after.rules.values().find(|rule| rule.member.as_deref() == Some(id));
    let by = event
        .or_else(|| owns.map(|calendar| format!("calendar `{}`", calendar.id)))
        .or_else(|| bound.map(|rule| format!("rule `{}`", rule.id)));
    reject_removal("member", id, by)
}

fn check_resource_unused(after: &CalendarSnapshot, id: &str) -> Result<()> {
    if after.resources.contains_key(id) {
        return Ok(());
    }
    let uses = |event: &Event| event.resources.iter().any(|resource| resource == id);
    let by = after.events.values().find(|event| uses(event)).map(|event| format!("event `{}`", event.id));
    reject_removal("resource", id, by)
}

fn reject_removal(kind: &str, id: &str, by: Option<String>) -> Result<()> {
    match by {
        Some(by) => Err(type_mismatch(format!("{kind} `{id}` cannot be removed: {by} still refers to it"))
            .with_help("change or remove it first")),
        None => Ok(()),
    }
}

fn type_mismatch(message: String) -> Error {
    Error::new(ErrorCode::TypeMismatch, message)
}
