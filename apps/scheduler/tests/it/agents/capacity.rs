//! Concurrent usage of resources.

use proptest::prelude::*;
use superstep::core::time::Time;
use superstep_scheduler::agents::capacity::{alternative_resources, resource_availability};
use superstep_scheduler::calendar::{CalendarChange, TimeRange};

use super::builder::{Build as _, With as _, at, event, family, resource, span};

fn kitchen() -> Vec<String> {
    vec!["kitchen".to_owned()]
}

/// R-FAM-105: three consecutive bookings use a capacity of one; the result names all three.
#[test]
fn bookings_one_after_another_are_not_at_once() {
    let snapshot = family()
        .with(event("Bread", "2026-01-10 09:00 10:00").using(&["kitchen"]))
        .with(event("Cake", "2026-01-10 10:00 11:00").using(&["kitchen"]))
        .with(event("Soup", "2026-01-10 11:00 12:00").using(&["kitchen"]));
    let availability = resource_availability(&snapshot, &kitchen(), &span("2026-01-10 09:00 12:00"), None).unwrap();
    let one = &availability.resource_availability[0];
    assert_eq!((one.current_capacity, one.max_capacity, one.available), (1, 3, true));
    assert_eq!(one.conflicts, ["bread", "cake", "soup"]);
    assert!(availability.all_resources_available);
}

/// R-FAM-42, R-FAM-43, R-FAM-44, R-FAM-45: a resource is available while its usage is below its capacity.
#[test]
fn a_resource_is_available_while_its_usage_is_below_capacity() {
    let mut snapshot = family();
    for (usage, expected) in [(0, true), (1, true), (2, true), (3, false)] {
        let availability = resource_availability(&snapshot, &kitchen(), &span("2026-01-10 09:30 09:45"), None).unwrap();
        let one = &availability.resource_availability[0];
        assert_eq!((one.resource_id.as_str(), one.resource_name.as_str()), ("kitchen", "kitchen"));
        assert_eq!((one.current_capacity, one.available), (usage, expected));
        assert_eq!(availability.all_resources_available, expected);
        snapshot = snapshot.with(event(&format!("Cook {usage}"), "2026-01-10 09:00 10:00").using(&["kitchen"]));
    }
    // An event that only touches the slot does not use the resource in it.
    let after = resource_availability(&snapshot, &kitchen(), &span("2026-01-10 10:00 11:00"), None).unwrap();
    assert_eq!(after.resource_availability[0].current_capacity, 0);
}

/// R-FAM-46, R-FAM-47: results follow the order of the requested resources; without a request, everything is
/// available.
#[test]
fn without_requested_resources_everything_is_available() {
    let snapshot = family().with(event("Drive", "2026-01-10 09:00 10:00").using(&["car"]));
    let nine = span("2026-01-10 09:00 10:00");
    let none = resource_availability(&snapshot, &[], &nine, None).unwrap();
    assert!(none.all_resources_available && none.resource_availability.is_empty());
    let both = resource_availability(&snapshot, &["kitchen".to_owned(), "car".to_owned()], &nine, None).unwrap();
    let available: Vec<bool> = both.resource_availability.iter().map(|one| one.available).collect();
    assert_eq!((available, both.all_resources_available), (vec![true, false], false));
    let error = resource_availability(&snapshot, &["boat".to_owned()], &nine, None).unwrap_err();
    assert!(error.message().contains("`boat`"), "{error}");
}

/// R-FAM-105: an event and its overrides do not conflict with the event itself; a series counts at each occurrence.
#[test]
fn an_event_does_not_count_against_its_own_capacity() {
    let series = event("School run", "2026-01-05 08:00 08:30").using(&["car"]).repeating("FREQ=WEEKLY;BYDAY=MO");
    let moved = event("Late run", "2026-01-12 08:15 08:45").using(&["car"]).change(|event| {
        event.recurrence_override = Some(superstep_scheduler::calendar::RecurrenceOverride {
            series: "school run".to_owned(),
            start: jiff::civil::date(2026, 1, 12).at(8, 0, 0, 0),
        });
    });
    let snapshot = family().with(series).with(moved);
    let car = ["car".to_owned()];
    let used = |day: &str, except| {
        let availability =
            resource_availability(&snapshot, &car, &span(&format!("{day} 08:00 09:00")), except).unwrap();
        availability.resource_availability[0].conflicts.clone()
    };
    assert_eq!(used("2026-01-19", None), ["school run"]);
    assert_eq!(used("2026-01-12", None), ["late run"]);
    assert!(used("2026-01-19", Some("school run")).is_empty());
    assert!(used("2026-01-12", Some("school run")).is_empty());
}

/// R-FAM-105: alternatives are available resources of the same kind, by name.
#[test]
fn alternatives_are_free_and_of_the_same_kind() {
    let snapshot = family()
        .with_change(CalendarChange::Resource(resource("van", 1, "Vehicle")))
        .with_change(CalendarChange::Resource(resource("bus", 1, "vehicle")))
        .with(event("Trip", "2026-01-10 09:00 10:00").using(&["bus", "car"]));
    let names = |when: &str| {
        let free = alternative_resources(&snapshot, "car", &span(when), None).unwrap();
        free.iter().map(|resource| resource.name.clone()).collect::<Vec<String>>()
    };
    assert_eq!(names("2026-01-10 09:30 10:30"), ["van"]);
    assert_eq!(names("2026-01-10 10:00 11:00"), ["bus", "van"]);
}

fn minute(number: u32) -> Time {
    Time::from_unix_micros(at("2026-01-10").as_unix_micros() + i64::from(number) * 60_000_000).unwrap()
}

proptest! {
    /// R-FAM-105: the sweep returns the same maximum as counting at every minute.
    #[test]
    fn the_fullest_moment_is_that_of_counting_every_minute(
        bookings in prop::collection::vec((0_u32..120, 1_u32..60), 0..12),
        from in 0_u32..100,
        length in 1_u32..80,
    ) {
        let mut snapshot = family();
        for (index, (start, minutes)) in bookings.iter().enumerate() {
            let booking = event(&format!("Booking {index}"), "2026-01-10 09:00 10:00").using(&["kitchen"]);
            let span = TimeRange::new(minute(*start), minute(start + minutes)).unwrap();
            snapshot = snapshot.with(booking.change(|event| event.span = span));
        }
        let count_at = |now: u32| {
            bookings.iter().filter(|(start, minutes)| (*start..start + minutes).contains(&now)).count()
        };
        let peak = (from..from + length).map(count_at).max().unwrap_or(0);
        let within = TimeRange::new(minute(from), minute(from + length)).unwrap();
        let availability = resource_availability(&snapshot, &kitchen(), &within, None).unwrap();
        prop_assert_eq!(availability.resource_availability[0].current_capacity as usize, peak);
        prop_assert_eq!(availability.all_resources_available, peak < 3);
    }
}
