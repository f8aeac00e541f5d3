//! Conflicts among all confirmed events.

use std::collections::BTreeSet;

use jiff::civil::time;
use proptest::prelude::*;
use superstep_scheduler::agents::scan::{MAX_CONFLICTS, scan_conflicts};
use superstep_scheduler::calendar::{
    CalendarChange, ConstraintKind, ConstraintStrength, Event, Priority, RecurrenceOverride,
};

use super::builder::{Build as _, With as _, event, family, now, resource, summaries};

/// R-FAM-94: two confirmed events with a common member are one conflict, for any number of members and occurrences.
#[test]
fn overlapping_events_are_one_conflict() {
    let choir = event("Choir", "2026-01-13 17:30 18:30")
        .with_participants(&["emma", "dad"])
        .repeating("FREQ=WEEKLY;BYDAY=TU;COUNT=3");
    let piano =
        event("Piano", "2026-01-13 17:00 18:00").with_participants(&["emma", "dad"]).repeating("FREQ=WEEKLY;BYDAY=TU");
    let conflicts = scan_conflicts(&family().with(choir).with(piano), now()).unwrap();
    assert_eq!(summaries(&conflicts), ["time_conflict high Choir"]);
    assert_eq!(conflicts[0].id, "time_conflict:choir:piano");
    assert_eq!(conflicts[0].participants_affected, ["dad", "emma"]);
    let details = "“Piano” and “Choir” both need Dad and Emma 3 times within 12 months, first on Tuesday 13 January, 5:30 pm to 6:30 pm.";
    assert_eq!(conflicts[0].details, details);
}

/// R-FAM-94: proposed, adjacent, past and far future events do not conflict; an optional participant is a medium
/// conflict.
#[test]
fn only_confirmed_future_events_conflict() {
    let at_two = |title: &str| event(title, "2026-01-10 14:00 15:00").with_participants(&["emma"]);
    let conflicts_with =
        |other: Event| summaries(&scan_conflicts(&family().with(at_two("One")).with(other), now()).unwrap());
    assert_eq!(conflicts_with(at_two("Two")), ["time_conflict high Two"]);
    assert_eq!(conflicts_with(at_two("Two").proposed()), Vec::<String>::new());
    assert_eq!(
        conflicts_with(event("Two", "2026-01-10 15:00 16:00").with_participants(&["emma"])),
        Vec::<String>::new()
    );
    assert_eq!(
        conflicts_with(event("Two", "2026-01-10 14:00 15:00").with_optional_participants(&["emma"])),
        ["time_conflict medium Two"]
    );
    assert_eq!(conflicts_with(at_two("Two").priority(Priority::Critical)), ["time_conflict critical Two"]);
    let past = |title: &str| event(title, "2026-01-05 14:00 15:00").with_participants(&["emma"]);
    assert_eq!(scan_conflicts(&family().with(past("One")).with(past("Two")), now()).unwrap(), []);
    let far = |title: &str| event(title, "2027-02-05 14:00 15:00").with_participants(&["emma"]);
    assert_eq!(scan_conflicts(&family().with(far("One")).with(far("Two")), now()).unwrap(), []);
}

/// R-FAM-94: a reduced capacity and a new constraint cause conflicts among confirmed events.
#[test]
fn capacity_and_rules_are_looked_at() {
    let cook = |title: &str| event(title, "2026-01-10 14:00 15:00").using(&["kitchen"]);
    let snapshot = family().with(cook("Bread")).with(cook("Cake")).with(cook("Soup"));
    assert_eq!(scan_conflicts(&snapshot, now()).unwrap(), []);
    let smaller =
        scan_conflicts(&snapshot.clone().with_change(CalendarChange::Resource(resource("kitchen", 2, "room"))), now())
            .unwrap();
    assert_eq!(summaries(&smaller), ["resource_conflict high Soup"]);
    let details =
        "The kitchen is not enough for “Bread”, “Cake” and “Soup” on Saturday 10 January, 2:00 pm to 3:00 pm.";
    assert_eq!(smaller[0].details, details);
    let naps = ConstraintKind::BlockedWindow { days: vec![6], from: time(13, 0, 0, 0), to: time(15, 0, 0, 0) };
    let ruled = scan_conflicts(&snapshot.with_rule("naps", naps, ConstraintStrength::Soft(9)), now()).unwrap();
    let one = |title: &str| format!("constraint_violation medium {title}");
    assert_eq!(summaries(&ruled), [one("Bread"), one("Cake"), one("Soup")]);
    let details = "“Bread”: the rule “Rule naps” would be violated on Saturday 10 January, 2:00 pm to 3:00 pm: no events \
                   on Saturdays from 1:00 pm to 3:00 pm.";
    assert_eq!(ruled[0].details, details);
}

/// R-FAM-94: of more conflicts than a user can review, only the first are kept, for all members together.
#[test]
fn a_calendar_on_which_everything_is_at_once_has_its_first_conflicts() {
    let many = (0..1_500).fold(family(), |snapshot, index| {
        let member = if index % 2 == 0 { "emma" } else { "dad" };
        snapshot.with(event(&format!("Event {index:04}"), "2026-02-10 14:00 15:00").with_participants(&[member]))
    });
    let early = |title: &str| event(title, "2026-01-10 14:00 15:00").with_participants(&["mom"]);
    let conflicts = scan_conflicts(&many.with(early("One")).with(early("Two")), now()).unwrap();
    assert_eq!((conflicts.len(), conflicts[0].id.as_str()), (MAX_CONFLICTS, "time_conflict:one:two"));
    let last = &conflicts[MAX_CONFLICTS - 1];
    assert!(last.details.contains("Dad") || last.details.contains("Emma"), "{last:?}");
}

/// R-FAM-94, R-FAM-100: an overridden instance counts together with its series.
#[test]
fn a_series_and_its_overrides_are_counted_together() {
    let swim = event("Swim", "2026-01-10 09:00 10:00").with_participants(&["emma"]).repeating("FREQ=DAILY;COUNT=4");
    let moved = event("Moved", "2026-01-12 15:00 16:00").with_participants(&["emma"]).change(|event| {
        let start = jiff::civil::date(2026, 1, 11).at(9, 0, 0, 0);
        event.recurrence_override = Some(RecurrenceOverride { series: "swim".to_owned(), start });
    });
    let one_a_day = ConstraintKind::MaxEventsPerDay { count: 1 };
    let snapshot = family().with(swim).with(moved).with_rule("few", one_a_day, ConstraintStrength::Soft(9));
    let conflicts = scan_conflicts(&snapshot, now()).unwrap();
    assert_eq!(summaries(&conflicts), ["constraint_violation medium Swim", "constraint_violation medium Moved"]);
}

proptest! {
    /// R-FAM-94: the sweep finds the same pairs as a comparison of all events.
    #[test]
    fn the_sweep_finds_all_pairs(
        times in prop::collection::vec((8_u32..20, 1_u32..4, prop::sample::subsequence(&["mom", "dad", "emma"][..], 0..3)), 0..14),
    ) {
        let make = |(place, (hour, hours, people)): (usize, &(u32, u32, Vec<&str>))| {
            event(&format!("Event {place:02}"), &format!("2026-01-10 {hour:02}:00 {:02}:00", hour + hours)).with_participants(people)
        };
        let events: Vec<Event> = times.iter().enumerate().map(make).collect();
        let snapshot = events.iter().fold(family(), |snapshot, event| snapshot.with(event.clone()));
        let scanned_ids: BTreeSet<String> = scan_conflicts(&snapshot, now()).unwrap().into_iter().map(|one| one.id).collect();
        let mut expected = BTreeSet::new();
        for (place, one) in events.iter().enumerate() {
            for other in &events[place + 1..] {
                let share = one.participants.iter().any(|participant| other.participants.contains(participant));
                if share && one.span.overlaps(&other.span) {
                    expected.insert(format!("time_conflict:{}:{}", one.id, other.id));
                }
            }
        }
        prop_assert_eq!(scanned_ids, expected);
    }
}
