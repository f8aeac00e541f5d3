//! Boards with a series on them, and what is on such a board when.

use std::sync::Arc;

use jiff::civil::DateTime;
use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Board, Change, Event, Family, Flexibility, Instance, Priority, Recurrence, Span, WeekStart,
};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::zone::Zone;

pub(crate) const NEW_YORK: &str = "America/New_York";

/// `2026-03-03T17:00` on some wall.
pub(crate) fn wall(text: &str) -> DateTime {
    text.parse().unwrap()
}

pub(crate) fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

pub(crate) fn time(text: &str) -> Time {
    Time::parse(text).unwrap()
}

pub(crate) fn board() -> Board {
    Board::new(Family {
        id: "family".to_owned(),
        name: "The Millers".to_owned(),
        zone: NEW_YORK.to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    })
}

/// A confirmed event of so many minutes.
pub(crate) fn event(id: &str, zone_name: &str, first: &str, minutes: i64) -> Event {
    let start = zone(zone_name).instant(wall(first)).unwrap();
    let end = Time::from_unix_micros(start.as_unix_micros() + minutes * 60_000_000).unwrap();
    Event {
        id: id.to_owned(),
        uid: format!("{id}@example.org"),
        calendar: "home".to_owned(),
        title: "Piano".to_owned(),
        span: Span::new(start, zone(zone_name).written(end).unwrap()).unwrap(),
        zone: zone_name.to_owned(),
        is_all_day: false,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: None,
        exception_of: None,
        priority: Priority::Medium,
        flexibility: Flexibility::Preferred,
        status: EventStatus::Confirmed,
        owner: "mom".to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        extra: Vec::new(),
        created_at: time("2026-01-01T00:00:00Z"),
        updated_at: time("2026-01-01T00:00:00Z"),
    }
}

/// An hour that repeats.
pub(crate) fn series(zone_name: &str, first: &str, rule: &str) -> Event {
    let recurrence = Recurrence { rule: rule.to_owned(), left_out: Vec::new(), added: Vec::new() };
    Event { recurrence: Some(recurrence), ..event("piano", zone_name, first, 60) }
}

pub(crate) fn board_with(events: impl IntoIterator<Item = Event>) -> Board {
    let mut board = board();
    for event in events {
        board.apply(Change::Event(Box::new(event)));
    }
    board
}

/// From one day to another, in UTC.
pub(crate) fn days(from: &str, until: &str) -> Span {
    Span::new(time(&format!("{from}T00:00:00Z")), time(&format!("{until}T00:00:00Z"))).unwrap()
}

pub(crate) fn on(board: &Board, within: &Span) -> Vec<Instance> {
    board.instances(within).unwrap()
}

/// When everything on a board starts, as it is written.
pub(crate) fn starts(board: &Board, within: &Span) -> Vec<String> {
    on(board, within).iter().map(|instance| instance.span.start.to_string()).collect()
}

/// When an event starts that is on a board with nothing else.
pub(crate) fn starts_of(event: Event, within: &Span) -> Vec<String> {
    starts(&board_with([event]), within)
}

pub(crate) fn on_board(board: &Board, id: &str) -> Arc<Event> {
    board.events.get(id).unwrap().clone()
}
