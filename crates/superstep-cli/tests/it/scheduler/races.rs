//! Tests of concurrent requests for the same resource: exactly one succeeds.

use std::collections::BTreeSet;
use std::sync::Barrier;

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value, json};
use superstep_scheduler::models::EventStatus;

use super::family::{CalendarReader, Family, days_ahead, family_folder};
use crate::support::Folder;

/// First day of the races.
const FIRST_DAY: i32 = 10;
/// Number of hours per day with a race.
const HOURS_PER_DAY: i8 = 10;

/// Sends two requests for the car in the same hour at once, each to one server.
fn book_concurrently(servers: [&Family; 2], day: Date, hour: i8) {
    let barrier = Barrier::new(2);
    let book = |server: &Family, id: &str, name: &str| {
        let text = format!("Schedule shopping for {name} on {day} at {hour}:00 with the car");
        barrier.wait();
        server.send_text(id, &text)
    };
    let [mom, dad] = std::thread::scope(|scope| {
        let mom = scope.spawn(|| book(servers[0], "mom", "Mom"));
        let dad = scope.spawn(|| book(servers[1], "dad", "Dad"));
        [mom.join().unwrap(), dad.join().unwrap()]
    });
    let (winner, loser) = if mom["status"] == "completed" { (&mom, &dad) } else { (&dad, &mom) };
    assert_eq!((&winner["status"], &loser["status"]), (&json!("completed"), &json!("awaiting_user")), "{mom}\n{dad}");
    assert_eq!(winner["result"]["event"]["status"], "confirmed");
    let conflicts = loser["waiting"]["conflicts"].as_array().unwrap();
    assert_eq!((conflicts.len(), &conflicts[0]["type"]), (1, &json!("resource_conflict")), "{loser}");
    assert_eq!(conflicts[0]["conflicting_event_id"], winner["result"]["event"]["event_id"], "{loser}");
}

/// Asserts that no two confirmed events use the car at the same time, and that every hour with a race has one.
fn assert_reservations(folder: &Folder, family: &Family, races: usize) {
    let is_confirmed = |event: &&Value| event["is_tentative"] == false;
    let time = |event: &Value, key: &str| event[key].as_str().unwrap().parse::<Timestamp>().unwrap();
    let events = family.events_between(days_ahead(0), days_ahead(FIRST_DAY + 30));
    let mut spans: Vec<(Timestamp, Timestamp)> =
        events.iter().filter(is_confirmed).map(|event| (time(event, "start"), time(event, "end"))).collect();
    spans.sort_unstable();
    assert_eq!(spans.len(), races);
    assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
    let (mut confirmed, mut tentative) = (BTreeSet::new(), BTreeSet::new());
    for event in CalendarReader::open(folder).snapshot().events.values() {
        assert_eq!(event.resources, ["car"]);
        let of_status = if event.status == EventStatus::Confirmed { &mut confirmed } else { &mut tentative };
        of_status.insert(event.span);
    }
    assert_eq!((confirmed.len(), tentative.len()), (races, races));
}

/// R-FAM-120, R-FAM-91: two parents book the car for the same hour at once, a hundred times: one is confirmed, the
/// other gets the conflict, never both.
#[test]
fn one_of_two_concurrent_bookings_of_the_car_succeeds() {
    let folder = family_folder("scheduler-races");
    let family = Family::start(&folder);
    for day in 0..10 {
        (8..8 + HOURS_PER_DAY)
            .for_each(|hour| book_concurrently([&family, &family], days_ahead(FIRST_DAY + day), hour));
    }
    assert_reservations(&folder, &family, 100);
}

/// R-FAM-120, R-FAM-91: the same with one server for each parent, on the same files.
#[test]
fn one_of_two_bookings_at_two_servers_succeeds() {
    let folder = family_folder("scheduler-two-servers");
    let (first, second) = (Family::start(&folder), Family::start(&folder));
    for day in 0..2 {
        (8..8 + HOURS_PER_DAY).for_each(|hour| book_concurrently([&first, &second], days_ahead(FIRST_DAY + day), hour));
    }
    assert_reservations(&folder, &first, 20);
    assert_reservations(&folder, &second, 20);
}
