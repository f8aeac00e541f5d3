//! Candidate time slots.

use jiff::civil::time;
use proptest::prelude::*;
use superstep::core::time::Time;
use superstep_scheduler::agents::slots::{SlotRequest, find_slots};
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, ConstraintKind, ConstraintStrength, Event, TimeRange,
};
use superstep_scheduler::models::{SchedulingData, TimeSlot};

use super::builder::{Build as _, With as _, at, event, family, format_span, now, span};

fn slot_request(event: &Event, requested: Option<&str>) -> SlotRequest {
    SlotRequest { event: event.clone(), requested_range: requested.map(span), minutes: 60, range: None }
}

fn soccer() -> Event {
    event("Soccer", "2026-01-10 14:00 15:00").with_participants(&["emma"]).proposed()
}

fn times(data: &SchedulingData) -> Vec<String> {
    let time = |slot: &TimeSlot| {
        let when = format_span(&TimeRange { start: slot.start_time, end: slot.end_time });
        format!("{when} {:.2}", slot.score.value())
    };
    data.candidate_times.iter().map(time).collect()
}

fn searched(snapshot: &CalendarSnapshot, request: &SlotRequest) -> Vec<String> {
    times(&find_slots(snapshot, request, now()).unwrap())
}

/// R-FAM-104, R-FAM-115, R-FAM-36, R-FAM-37, R-FAM-38, R-FAM-40, R-FAM-41: a given time that is free is the only
/// candidate, is recommended, and is written in the event's time zone.
#[test]
fn a_free_requested_time_is_the_only_candidate() {
    let data = find_slots(&family(), &slot_request(&soccer(), Some("2026-01-10 14:00 15:00")), now()).unwrap();
    assert_eq!(times(&data), ["2026-01-10 14:00 15:00 1.00"]);
    assert_eq!(data.recommended_time.unwrap().to_string(), "2026-01-10T14:00:00-05:00");
    assert_eq!(data.candidate_times[0].available_participants, ["emma"]);
    assert_eq!(data.candidate_times[0].constraint_violations, Vec::<String>::new());
}

/// R-FAM-104, R-FAM-116: a given time that is not free stays first; alternatives on the same and following days
/// follow.
#[test]
fn a_taken_requested_time_comes_before_alternatives() {
    let snapshot = family().with(event("Dentist", "2026-01-10 14:30 15:30").with_participants(&["emma"]));
    let data = find_slots(&snapshot, &slot_request(&soccer(), Some("2026-01-10 14:00 15:00")), now()).unwrap();
    let expected = [
        "2026-01-10 14:00 15:00 0.00",
        "2026-01-10 08:00 09:00 1.00",
        "2026-01-10 08:15 09:15 1.00",
        "2026-01-10 08:30 09:30 1.00",
        "2026-01-10 08:45 09:45 1.00",
    ];
    assert_eq!(times(&data), expected);
    assert_eq!(data.recommended_time, Some(at("2026-01-10T14:00")));
    assert!(data.candidate_times[0].available_participants.is_empty());
}

/// R-FAM-104: without a given time, quarter hours from now within the day are offered, at most five, earliest first.
#[test]
fn without_a_time_the_next_quarters_are_offered() {
    let expected = [
        "2026-01-08 15:30 16:30 1.00",
        "2026-01-08 15:45 16:45 1.00",
        "2026-01-08 16:00 17:00 1.00",
        "2026-01-08 16:15 17:15 1.00",
        "2026-01-08 16:30 17:30 1.00",
    ];
    assert_eq!(searched(&family(), &slot_request(&soccer(), None)), expected);
    let later = Time::parse("2026-01-08T20:31:00Z").unwrap();
    let data = find_slots(&family(), &slot_request(&soccer(), None), later).unwrap();
    assert_eq!(times(&data)[0], "2026-01-08 15:45 16:45 1.00");
}

/// R-FAM-104: required members, resources and hard constraints exclude slots; each later day costs 0.05, for 14
/// days.
#[test]
fn excluded_slots_are_not_offered() {
    let full_days = |days: i64| {
        let end = at("2026-01-08").as_unix_micros() + days * 86_400_000_000;
        let end = Time::from_unix_micros(end).unwrap();
        event("Trip", "2026-01-08 00:00 01:00").change(|trip| trip.span.end = end)
    };
    let next_day = ["2026-01-09 08:00 09:00 1.00", "2026-01-09 08:15 09:15 1.00"];
    let emma = family().with(full_days(1).with_participants(&["emma"]));
    assert_eq!(searched(&emma, &slot_request(&soccer(), None))[..2], next_day);
    let car = family().with(full_days(1).using(&["car"]));
    assert_eq!(searched(&car, &slot_request(&soccer().using(&["car"]), None))[..2], next_day);
    let mornings = ConstraintKind::BlockedWindow { days: vec![4], from: time(0, 0, 0, 0), to: time(23, 59, 0, 0) };
    let ruled = family().with_rule("r", mornings, ConstraintStrength::Hard);
    assert_eq!(searched(&ruled, &slot_request(&soccer(), None))[..2], next_day);
    let last = family().with(full_days(13).with_participants(&["emma"]));
    assert_eq!(searched(&last, &slot_request(&soccer(), None))[0], "2026-01-21 08:00 09:00 1.00");
    let never = family().with(full_days(14).with_participants(&["emma"]));
    let data = find_slots(&never, &slot_request(&soccer(), None), now()).unwrap();
    assert_eq!((times(&data), data.recommended_time), (Vec::<String>::new(), None));
}

/// R-FAM-104, R-FAM-39: soft constraints of any member cost 0.03 times their weight, and are named.
#[test]
fn soft_rules_cost_their_weight() {
    let evenings = ConstraintKind::BlockedWindow { days: Vec::new(), from: time(0, 0, 0, 0), to: time(16, 0, 0, 0) };
    let snapshot = family().with_rule("r", evenings, ConstraintStrength::Soft(4));
    let data = find_slots(&snapshot, &slot_request(&soccer(), Some("2026-01-10 14:00 15:00")), now()).unwrap();
    assert_eq!(times(&data), ["2026-01-10 14:00 15:00 0.88"]);
    let text = "Rule r: no events from 12:00 am to 4:00 pm";
    assert_eq!(data.candidate_times[0].constraint_violations, [text]);
    assert_eq!(searched(&snapshot, &slot_request(&soccer(), None))[0], "2026-01-08 16:00 17:00 1.00");
    let gap = ConstraintKind::MinGapMinutes { minutes: 20 };
    let both = soccer().with_participants(&["dad"]);
    let snapshot = family()
        .with(event("Lunch", "2026-01-10 13:00 14:00").with_participants(&["emma", "dad"]))
        .with_rule("g", gap, ConstraintStrength::Soft(2));
    let data = find_slots(&snapshot, &slot_request(&both, Some("2026-01-10 14:00 15:00")), now()).unwrap();
    assert_eq!(times(&data), ["2026-01-10 14:00 15:00 0.94"]);
    let weights = ConstraintKind::MaxEventsPerDay { count: 0 };
    let snapshot = (0..5).fold(family(), |snapshot, at| {
        snapshot.with_rule(&format!("r{at}"), weights.clone(), ConstraintStrength::Soft(10))
    });
    let never_below = find_slots(&snapshot, &slot_request(&soccer(), Some("2026-01-10 14:00 15:00")), now()).unwrap();
    assert_eq!(times(&never_below), ["2026-01-10 14:00 15:00 0.00"]);
}

/// R-FAM-104: a missing optional member costs 0.20, a gap below 30 minutes 0.10, each day 0.05.
#[test]
fn missing_members_gaps_and_days_reduce_the_score() {
    let dad_busy = family().with(event("Work", "2026-01-10 14:00 15:00").with_participants(&["dad"]));
    let with_dad = soccer().with_optional_participants(&["dad"]);
    let data = find_slots(&dad_busy, &slot_request(&with_dad, Some("2026-01-10 14:00 15:00")), now()).unwrap();
    assert_eq!(times(&data), ["2026-01-10 14:00 15:00 0.80"]);
    assert_eq!(data.candidate_times[0].available_participants, ["emma"]);
    for (when, score) in
        [("13:00 14:00", "1.00"), ("13:00 13:59", "0.90"), ("13:00 13:31", "0.90"), ("13:00 13:30", "1.00")]
    {
        let snapshot = family().with(event("Lunch", &format!("2026-01-10 {when}")).with_participants(&["emma"]));
        let slots = searched(&snapshot, &slot_request(&soccer(), Some("2026-01-10 14:00 15:00")));
        assert_eq!(slots, [format!("2026-01-10 14:00 15:00 {score}")], "{when}");
    }
    // Only one slot is left today; tomorrow follows for 0.05 less.
    let snapshot = family().with(event("Work", "2026-01-08 00:00 20:00").with_participants(&["emma"]));
    let expected = ["2026-01-08 20:00 21:00 1.00", "2026-01-09 08:00 09:00 0.95", "2026-01-09 08:15 09:15 0.95"];
    assert_eq!(searched(&snapshot, &slot_request(&soccer(), None))[..3], expected);
}

/// R-FAM-104: slots are within the day of every required member, each in the member's time zone.
#[test]
fn the_day_is_that_of_everybody() {
    let mut snapshot = family();
    let change = |snapshot: &mut CalendarSnapshot, id: &str, change: fn(&mut superstep_scheduler::calendar::Member)| {
        let mut member = snapshot.members[id].as_ref().clone();
        change(&mut member);
        snapshot.apply(CalendarChange::Member(member));
    };
    change(&mut snapshot, "emma", |emma| emma.preferences.day_end = time(19, 0, 0, 0));
    change(&mut snapshot, "dad", |dad| dad.preferences.day_start = time(17, 30, 0, 0));
    change(&mut snapshot, "mom", |mom| mom.zone = Some("Asia/Tokyo".to_owned()));
    let both = soccer().with_participants(&["dad"]);
    let expected = ["2026-01-08 17:30 18:30 1.00", "2026-01-08 17:45 18:45 1.00", "2026-01-08 18:00 19:00 1.00"];
    assert_eq!(searched(&snapshot, &slot_request(&both, None))[..3], expected);
    // From 18:00 in New York it is 8:00 on the next day in Tokyo.
    assert_eq!(
        searched(&snapshot, &slot_request(&both.with_participants(&["mom"]), None))[0],
        "2026-01-08 18:00 19:00 1.00"
    );
    let optional = soccer().with_optional_participants(&["dad"]);
    assert_eq!(searched(&snapshot, &slot_request(&optional, None))[0], "2026-01-08 15:30 16:30 1.00");
}

/// R-FAM-104, R-FAM-106: a series is offered only on its days and where all occurrences are free.
#[test]
fn a_series_is_free_at_all_its_times() {
    let piano = event("Piano", "2026-01-13 17:00 18:00")
        .with_participants(&["emma"])
        .repeating("FREQ=WEEKLY;BYDAY=TU")
        .proposed();
    let snapshot = family().with(event("Camp", "2026-07-07 08:00 10:00").with_participants(&["emma"]));
    let slots = searched(&snapshot, &slot_request(&piano, None));
    assert_eq!(slots[..2], ["2026-01-13 10:00 11:00 1.00", "2026-01-13 10:15 11:15 1.00"]);
    let requested_slots = searched(&snapshot, &slot_request(&piano, Some("2026-01-13 09:00 10:00")));
    assert_eq!(requested_slots[..2], ["2026-01-13 09:00 10:00 0.00", "2026-01-13 10:00 11:00 1.00"]);
}

/// R-FAM-104: slots stay within the given range, never in the past; a duration of zero has no slot.
#[test]
fn slots_stay_within_the_range() {
    let range =
        |from: &str, to: &str| SlotRequest { range: TimeRange::new(at(from), at(to)), ..slot_request(&soccer(), None) };
    let slots = searched(&family(), &range("2026-01-10T12:00", "2026-01-10T13:30"));
    let expected = ["2026-01-10 12:00 13:00 1.00", "2026-01-10 12:15 13:15 1.00", "2026-01-10 12:30 13:30 1.00"];
    assert_eq!(slots, expected);
    assert_eq!(searched(&family(), &range("2026-01-01", "2026-01-08T12:00")), Vec::<String>::new());
    let nothing = SlotRequest { minutes: 0, ..slot_request(&soccer(), None) };
    assert!(find_slots(&family(), &nothing, now()).is_err());
}

proptest! {
    /// R-FAM-104: the slots equal those of a naive check of every quarter hour.
    #[test]
    fn slots_equal_a_naive_search(
        busy in prop::collection::vec((0_i64..14 * 96, 1_i64..120, any::<bool>()), 0..25),
        quarters in 1_i64..12,
    ) {
        let quarter = |number: i64| Time::from_unix_micros(at("2026-01-08").as_unix_micros() + number * 900_000_000).unwrap();
        let mut snapshot = family();
        for (place, (start, length, is_emma)) in busy.iter().enumerate() {
            let span = TimeRange::new(quarter(*start), quarter(start + length)).unwrap();
            let other = event(&format!("Busy {place}"), "2026-01-08 08:00 09:00").with_participants(&[if *is_emma { "emma" } else { "dad" }]);
            snapshot = snapshot.with(other.change(|event| event.span = span));
        }
        let event = soccer().with_optional_participants(&["dad"]);
        let data = find_slots(&snapshot, &SlotRequest { minutes: 15 * quarters as u32, ..slot_request(&event, None) }, now()).unwrap();
        let mut expected: Vec<(i64, i64)> = Vec::new();
        let mut first_day = None;
        for start in 62..14 * 96 {
            let (time, end) = (start % 96, start % 96 + quarters);
            let meets = |emma: bool| busy.iter().any(|(from, length, is)| *is == emma && *from < start + quarters && start < from + length);
            if time < 32 || end > 84 || meets(true) {
                continue;
            }
            let first = *first_day.get_or_insert(start / 96);
            // A gap of one quarter hour is below 30 minutes.
            let gap = busy.iter().any(|(from, length, _)| from + length + 1 == start || *from == start + quarters + 1);
            let lost = 5 * (start / 96 - first) + if meets(false) { 20 } else { 0 } + if gap { 10 } else { 0 };
            expected.push((lost.min(100), start));
        }
        expected.sort_unstable();
        let expected: Vec<(Time, f64)> =
            expected.iter().take(5).map(|(lost, start)| (quarter(*start), (100 - lost) as f64 / 100.0)).collect();
        let got: Vec<(Time, f64)> = data.candidate_times.iter().map(|slot| (slot.start_time, slot.score.value())).collect();
        prop_assert_eq!(got, expected);
    }
}
