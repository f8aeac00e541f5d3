//! Calendar files: fixtures with the family that imports them, and the sample files.

mod export;
mod import;
mod malformed;
mod round_trips;

use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Event, Family, Member, MemberRole, Preferences, Resource, Visibility,
    WeekStart,
};
use superstep_scheduler::ics::{ExportAudience, ExportOptions, ImportResult, export, import};

/// Export of Outlook 2021: with byte order mark, tabs in folded lines, and Windows time zone names.
pub(super) const OUTLOOK: &[u8] = include_bytes!("ics/outlook.ics");
/// Export of Google Calendar.
pub(super) const GOOGLE: &[u8] = include_bytes!("ics/google.ics");
/// Export of Apple Calendar, with bare line feeds.
pub(super) const APPLE: &[u8] = include_bytes!("ics/apple.ics");
/// Valid events between invalid ones.
pub(super) const BROKEN: &[u8] = include_bytes!("ics/broken.ics");

/// Parses a time.
pub(super) fn time(text: &str) -> Time {
    Time::parse(text).unwrap()
}

/// Returns the time of the import.
pub(super) fn now() -> Time {
    time("2026-01-08T20:30:00Z")
}

/// Creates the Millers in New York, with an empty calendar.
pub(super) fn millers() -> CalendarSnapshot {
    let mut snapshot = CalendarSnapshot::new(Family {
        id: "millers".into(),
        name: "Miller".into(),
        zone: "America/New_York".into(),
        week_start: WeekStart::Sunday,
        always_ask: false,
    });
    for (id, name, alias, role) in [
        ("mom", "Mom", "mom@example.com", MemberRole::Parent),
        ("dad", "Dad", "Peter", MemberRole::Parent),
        ("emma", "Emma", "Em", MemberRole::Child),
    ] {
        snapshot.apply(CalendarChange::Member(Member {
            id: id.into(),
            name: name.into(),
            aliases: vec![alias.into()],
            role,
            zone: None,
            preferences: Preferences::default(),
        }));
    }
    for (id, name, owner, visibility) in [
        ("family", "Family", None, Visibility::Family),
        ("diary", "Mom's diary", Some("mom".to_owned()), Visibility::Private),
    ] {
        snapshot.apply(CalendarChange::Calendar(Calendar { id: id.into(), name: name.into(), owner, visibility }));
    }
    snapshot.apply(CalendarChange::Resource(Resource {
        id: "car".into(),
        name: "Car".into(),
        aliases: vec!["the Volvo".into()],
        kind: "car".into(),
        capacity: 1,
        attributes: Default::default(),
    }));
    snapshot
}

/// Parses a file for the family calendar, imported by Dad.
pub(super) fn read(snapshot: &CalendarSnapshot, file: impl AsRef<[u8]>) -> ImportResult {
    import(file, snapshot, now(), "family", "dad").unwrap()
}

/// Imports a file and applies its changes.
pub(super) fn take(snapshot: &mut CalendarSnapshot, file: impl AsRef<[u8]>) -> ImportResult {
    let imported = read(snapshot, file);
    for change in imported.changes.clone() {
        snapshot.apply(change);
    }
    imported
}

/// Exports a complete calendar.
pub(super) fn written(snapshot: &CalendarSnapshot) -> String {
    export(snapshot, &ExportOptions { audience: ExportAudience::FullBackup, calendar: None }).unwrap()
}

/// Returns a calendar file with these lines.
pub(super) fn calendar(lines: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{}END:VCALENDAR\r\n", crlf(lines))
}

/// Returns a calendar file with one event of these lines. The event begins on line 4.
pub(super) fn event(lines: &str) -> String {
    calendar(&format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n"))
}

fn crlf(lines: &str) -> String {
    lines.lines().map(|line| format!("{}\r\n", line.trim_start())).collect()
}

/// Returns the only event with a title.
pub(super) fn titled<'a>(snapshot: &'a CalendarSnapshot, title: &str) -> &'a Event {
    let mut matches = snapshot.events.values().filter(|event| event.title == title);
    let event = matches.next().unwrap_or_else(|| panic!("no `{title}`"));
    assert!(matches.next().is_none(), "two `{title}`");
    event
}
