//! Calendar files: a family to read them into, and the samples.

mod broken;
mod reading;
mod round_trips;
mod writing;

use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Board, Calendar, Change, Event, Family, Member, Preferences, Resource, Role, Visibility, WeekStart,
};
use superstep_scheduler::ics::{Imported, Options, Reader, export, import};

/// As Outlook 2021 exports: with a byte order mark, tabs in folds, names of zones as Windows has them.
pub(super) const OUTLOOK: &[u8] = include_bytes!("ics/outlook.ics");
/// As Google Calendar exports.
pub(super) const GOOGLE: &[u8] = include_bytes!("ics/google.ics");
/// As Apple Calendar exports, with bare line feeds.
pub(super) const APPLE: &[u8] = include_bytes!("ics/apple.ics");
/// Good events between bad ones.
pub(super) const BROKEN: &[u8] = include_bytes!("ics/broken.ics");

/// A time by its text.
pub(super) fn time(text: &str) -> Time {
    Time::parse(text).unwrap()
}

/// When files are read.
pub(super) fn now() -> Time {
    time("2026-01-08T20:30:00Z")
}

/// The Millers in New York, with nothing on their calendar.
pub(super) fn millers() -> Board {
    let mut board = Board::new(Family {
        id: "millers".into(),
        name: "Miller".into(),
        zone: "America/New_York".into(),
        week_start: WeekStart::Sunday,
        always_ask: false,
    });
    for (id, name, alias, role) in [
        ("mom", "Mom", "mom@example.com", Role::Parent),
        ("dad", "Dad", "Peter", Role::Parent),
        ("emma", "Emma", "Em", Role::Child),
    ] {
        board.apply(Change::Member(Member {
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
        board.apply(Change::Calendar(Calendar { id: id.into(), name: name.into(), owner, visibility }));
    }
    board.apply(Change::Resource(Resource {
        id: "car".into(),
        name: "Car".into(),
        aliases: vec!["the Volvo".into()],
        kind: "car".into(),
        capacity: 1,
        attributes: Default::default(),
    }));
    board
}

/// Reads a file into the calendar of the whole family.
pub(super) fn read(board: &Board, file: impl AsRef<[u8]>) -> Imported {
    import(file, board, now(), "family", "dad").unwrap()
}

/// Reads a file and makes its changes.
pub(super) fn take(board: &mut Board, file: impl AsRef<[u8]>) -> Imported {
    let imported = read(board, file);
    for change in imported.changes.clone() {
        board.apply(change);
    }
    imported
}

/// All of a board as a file.
pub(super) fn written(board: &Board) -> String {
    export(board, &Options { reader: Reader::Keeper, calendar: None }).unwrap()
}

/// A calendar with these lines in it.
pub(super) fn calendar(lines: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{}END:VCALENDAR\r\n", crlf(lines))
}

/// An event with these lines in it, which begins on line 4 of its calendar.
pub(super) fn event(lines: &str) -> String {
    calendar(&format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n"))
}

fn crlf(lines: &str) -> String {
    lines.lines().map(|line| format!("{}\r\n", line.trim_start())).collect()
}

/// The one event with a title.
pub(super) fn titled<'a>(board: &'a Board, title: &str) -> &'a Event {
    let mut found = board.events.values().filter(|event| event.title == title);
    let event = found.next().unwrap_or_else(|| panic!("no `{title}`"));
    assert!(found.next().is_none(), "two `{title}`");
    event
}
