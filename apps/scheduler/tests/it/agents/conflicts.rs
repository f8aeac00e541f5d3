//! Conflicts of an event.

use jiff::civil::{date, time};
use proptest::prelude::*;
use superstep_scheduler::agents::conflicts::{
    ChangeConflicts, detect_change_conflicts, detect_conflicts, detect_conflicts_from,
};
use superstep_scheduler::calendar::{
    CalendarChange, ConstraintKind, ConstraintStrength, Event, Priority, RecurrenceOverride,
};
use superstep_scheduler::models::{Conflict, ConflictDetectionData};

use super::builder::{Build as _, With as _, at, event, family, now, span, summaries};

fn soccer() -> Event {
    event("Soccer practice", "2026-01-10 14:00 15:00").with_participants(&["emma"]).using(&["car"]).proposed()
}

fn dentist() -> Event {
    event("Dentist", "2026-01-10 14:30 15:30").with_participants(&["emma"]).priority(Priority::High)
}

/// R-FAM-106, R-FAM-107, R-FAM-91: other events of the same change are checked too; their existing conflicts do not
/// count, and a rejected event has none.
#[test]
fn other_events_that_change_are_looked_at() {
    let chess = |when: &str| event("Chess", when).with_participants(&["emma"]);
    let snapshot = family()
        .with(chess("2026-01-10 14:30 15:30"))
        .with(event("Ballet", "2026-01-10 17:00 18:00").with_participants(&["emma"]))
        .with(event("Choir", "2026-01-10 15:15 16:00").with_participants(&["emma"]));
    let moved = |when: &str, event: &Event| {
        let changes = [CalendarChange::Event(Box::new(event.clone())), CalendarChange::Event(Box::new(chess(when)))];
        let after = changes.iter().cloned().fold(snapshot.clone(), |snapshot, change| snapshot.with_change(change));
        detect_change_conflicts(&snapshot, &after, (event, &changes), "mom", now()).unwrap()
    };
    let harmed = moved("2026-01-10 17:30 18:30", &soccer());
    assert_eq!((summaries(&harmed.of_event), harmed.is_blocking()), (Vec::new(), true));
    assert_eq!(summaries(&harmed.of_other_events), ["time_conflict high Ballet"]);
    let details = "“Chess”: emma is at “Ballet” on Saturday 10 January, 5:00 pm to 6:00 pm.";
    assert_eq!(harmed.of_other_events[0].details, details);
    assert_eq!(moved("2026-01-10 15:00 16:00", &soccer()), ChangeConflicts::default(), "it met the choir before");
    let clash = moved("2026-01-10 14:45 15:00", &soccer());
    assert_eq!(summaries(&clash.of_event), ["time_conflict high Chess"]);
    let rejected = soccer().change(|event| event.status = superstep_scheduler::models::EventStatus::Rejected);
    assert_eq!(moved("2026-01-10 14:45 15:00", &rejected), ChangeConflicts::default());
}

/// R-FAM-116, R-FAM-48, R-FAM-49, R-FAM-50, R-FAM-51, R-FAM-52, R-FAM-53, R-FAM-54: soccer and dentist conflict
/// once.
#[test]
fn soccer_meets_the_dentist() {
    let conflicts = detect_conflicts(&family().with(dentist()).with(soccer()), &soccer()).unwrap();
    assert_eq!(summaries(&conflicts), ["time_conflict high Dentist"]);
    assert_eq!(conflicts[0].conflicting_event_id.as_deref(), Some("dentist"));
    assert_eq!(conflicts[0].participants_affected, ["emma"]);
    assert_eq!(conflicts[0].details, "Emma is at “Dentist” on Saturday 10 January, 2:30 pm to 3:30 pm.");
    let data = ConflictDetectionData::from(conflicts.clone());
    assert!(data.has_conflicts);
    assert_eq!(data.blocking_conflicts, [conflicts[0].id.clone()]);
}

/// R-FAM-115: an empty calendar has no conflicts.
#[test]
fn an_empty_calendar_has_no_conflicts() {
    assert_eq!(detect_conflicts(&family(), &soccer()).unwrap(), []);
    assert_eq!(detect_conflicts(&family().with(soccer()), &soccer()).unwrap(), []);
}

/// R-FAM-106: an event that ends at 2 pm and one that starts then do not conflict, nor do events of different
/// members.
#[test]
fn times_are_half_open_and_people_their_own() {
    let rows = [
        ("2026-01-10 13:00 14:00", "emma", 0),
        ("2026-01-10 13:00 14:01", "emma", 1),
        ("2026-01-10 15:00 16:00", "emma", 0),
        ("2026-01-10 14:59 16:00", "emma", 1),
        ("2026-01-09 00:00 23:59", "emma", 0),
        ("2026-01-10 14:00 15:00", "dad", 0),
    ];
    for (when, member, count) in rows {
        let snapshot = family().with(event("Other", when).with_participants(&[member]));
        assert_eq!(detect_conflicts(&snapshot, &soccer()).unwrap().len(), count, "{when} {member}");
    }
    // A long event that started days ago still conflicts.
    let trip = event("Trip", "2026-01-05 09:00 10:00")
        .with_participants(&["emma"])
        .change(|trip| trip.span.end = at("2026-01-20"));
    assert_eq!(summaries(&detect_conflicts(&family().with(trip), &soccer()).unwrap()), ["time_conflict high Trip"]);
}

/// R-FAM-106: severity of each kind of conflict, and which of them block.
#[test]
fn severity_depends_on_conflict_kind_requirement_and_priority() {
    let before_nine = ConstraintKind::NoEventsBefore { time: time(15, 0, 0, 0) };
    let at_two = "2026-01-10 14:00 15:00";
    let rows = [
        (family().with(event("Other", at_two).with_participants(&["emma"])), "time_conflict high Other", true),
        (family().with(event("Other", at_two).with_optional_participants(&["emma"])), "time_conflict high Other", true),
        (family().with(event("Other", at_two).with_participants(&["dad"])), "time_conflict medium Other", false),
        (
            family().with(event("Other", at_two).with_participants(&["dad"]).priority(Priority::Critical)),
            "time_conflict critical Other",
            true,
        ),
        (family().with(event("Other", at_two).using(&["car"])), "resource_conflict high Other", true),
        (
            family().with(event("Other", at_two).using(&["car"]).priority(Priority::Critical)),
            "resource_conflict critical Other",
            true,
        ),
        (family().with_rule("r", before_nine.clone(), ConstraintStrength::Hard), "constraint_violation high -", true),
        (
            family().with_rule("r", before_nine.clone(), ConstraintStrength::Soft(8)),
            "constraint_violation medium -",
            false,
        ),
        (family().with_rule("r", before_nine, ConstraintStrength::Soft(7)), "constraint_violation low -", false),
    ];
    for (snapshot, expected, blocks) in rows {
        let conflicts = detect_conflicts(&snapshot, &soccer().with_optional_participants(&["dad"])).unwrap();
        assert_eq!(summaries(&conflicts), [expected]);
        assert_eq!(conflicts[0].severity.is_blocking(), blocks, "{expected}");
    }
}

/// R-FAM-106, R-FAM-27: a full resource is one conflict that names its users; sentences contain no ids.
#[test]
fn a_full_resource_is_one_conflict() {
    let cook = |title: &str, when: &str| event(title, when).using(&["kitchen"]);
    let snapshot = family()
        .with(cook("Bread", "2026-01-10 14:00 14:40"))
        .with(cook("Cake", "2026-01-10 14:20 15:00"))
        .with(cook("Soup", "2026-01-10 14:30 14:50"))
        .with(cook("Tea", "2026-01-10 14:50 15:00"));
    let dinner = event("Dinner", "2026-01-10 14:00 15:00").using(&["kitchen"]);
    let conflicts = detect_conflicts(&snapshot, &dinner).unwrap();
    assert_eq!(summaries(&conflicts), ["resource_conflict high Bread"]);
    let details = "The kitchen is taken by “Bread”, “Cake” and “Soup” on Saturday 10 January, 2:00 pm to 2:40 pm.";
    assert_eq!(conflicts[0].details, details);
    let later = dinner.change(|event| event.span = span("2026-01-10 14:40 15:00"));
    assert_eq!(detect_conflicts(&snapshot, &later).unwrap(), []);
}

/// R-FAM-106: a series is checked for 12 months, and repeated conflicts with one event are one conflict with a
/// count.
#[test]
fn a_series_has_one_conflict_with_a_count() {
    let piano = event("Piano", "2026-01-13 17:00 18:00").with_participants(&["emma"]).repeating("FREQ=WEEKLY;BYDAY=TU");
    let choir = event("Choir", "2026-01-20 17:30 18:30")
        .with_participants(&["emma"])
        .repeating("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU");
    let conflicts = detect_conflicts(&family().with(choir), &piano).unwrap();
    assert_eq!(summaries(&conflicts), ["time_conflict high Choir"]);
    let details = "Emma is at “Choir” 26 times within 12 months, first on Tuesday 20 January, 5:30 pm to 6:30 pm.";
    assert_eq!(conflicts[0].details, details);
    // 5 pm local time, before and after the daylight saving change in March.
    let summer = event("Camp", "2026-07-07 17:30 18:30").with_participants(&["emma"]);
    assert_eq!(summaries(&detect_conflicts(&family().with(summer), &piano).unwrap()), ["time_conflict high Camp"]);
    let late = event("Later", "2027-01-19 17:30 18:30").with_participants(&["emma"]);
    assert_eq!(detect_conflicts(&family().with(late.clone()), &piano).unwrap(), []);
    let from = detect_conflicts_from(&family().with(late), &piano, at("2026-06-01")).unwrap();
    assert_eq!(summaries(&from), ["time_conflict high Later"]);
}

/// R-FAM-106: an event does not conflict with itself nor with overrides of its series; an overridden
/// instance conflicts with nothing.
#[test]
fn an_event_does_not_conflict_with_itself() {
    let piano = event("Piano", "2026-01-13 17:00 18:00").with_participants(&["emma"]).repeating("FREQ=WEEKLY;BYDAY=TU");
    let moved = event("Piano moved", "2026-01-20 17:30 18:30").with_participants(&["emma"]).change(|event| {
        event.recurrence_override =
            Some(RecurrenceOverride { series: "piano".to_owned(), start: date(2026, 1, 20).at(17, 0, 0, 0) });
    });
    let snapshot = family().with(piano.clone()).with(moved.clone());
    assert_eq!(detect_conflicts(&snapshot, &piano).unwrap(), []);
    assert_eq!(detect_conflicts(&snapshot, &moved).unwrap(), []);
    assert_eq!(detect_conflicts(&family().with(piano.clone()), &moved).unwrap(), []);
    let quiz = |when: &str| event("Quiz", when).with_participants(&["emma"]);
    assert_eq!(detect_conflicts(&snapshot, &quiz("2026-01-20 17:00 17:30")).unwrap(), []);
    assert_eq!(
        summaries(&detect_conflicts(&snapshot, &quiz("2026-01-20 18:00 18:30")).unwrap()),
        ["time_conflict high Piano moved"]
    );
}

/// R-FAM-93, R-FAM-106, R-FAM-109: proposed events conflict, and the sentence calls them tentative; proposals of
/// other users are not revealed.
#[test]
fn proposals_of_others_conflict_and_are_marked_as_tentative() {
    let conflicts = detect_conflicts(&family().with(dentist().proposed()), &soccer()).unwrap();
    assert_eq!(summaries(&conflicts), ["time_conflict high Dentist"]);
    assert_eq!(conflicts[0].details, "Emma is at “Dentist” (tentative) on Saturday 10 January, 2:30 pm to 3:30 pm.");
    let conflicts = detect_conflicts(&family().with(dentist().proposed().owned_by("dad")), &soccer()).unwrap();
    assert_eq!(summaries(&conflicts), ["time_conflict high busy"]);
    let expected = "Emma is at a private event (tentative) on Saturday 10 January, 2:30 pm to 3:30 pm.";
    assert_eq!(conflicts[0].details, expected);
}

/// R-FAM-106: a transparent event, as calendar files use for birthdays, does not conflict.
#[test]
fn a_transparent_event_does_not_conflict() {
    let birthday = dentist().change(|event| event.preserved_properties.push("TRANSP:TRANSPARENT".to_owned()));
    assert_eq!(detect_conflicts(&family().with(birthday), &soccer()).unwrap(), []);
}

/// R-FAM-48: conflict ids are derived from the conflicting events and stable under unrelated changes.
#[test]
fn ids_are_stable() {
    let ids = |conflicts: Vec<Conflict>| conflicts.into_iter().map(|one| one.id).collect::<Vec<String>>();
    let snapshot = family().with(dentist());
    let before = ids(detect_conflicts(&snapshot, &soccer()).unwrap());
    let more = snapshot.with(event("Another", "2026-01-10 14:10 14:20").with_participants(&["emma"]));
    let after =
        ids(detect_conflicts(&more, &soccer().change(|event| event.span = span("2026-01-10 14:05 15:00"))).unwrap());
    assert_eq!(before.len(), 1);
    assert!(after.len() == 2 && after.contains(&before[0]), "{before:?} {after:?}");
}

/// R-FAM-106: an unreadable event or constraint is an error and not skipped.
#[test]
fn unreadable_events_and_constraints_are_rejected() {
    assert!(detect_conflicts(&family(), &soccer().repeating("FREQ=SOMETIMES")).is_err());
    let on_mars = soccer().repeating("FREQ=WEEKLY").change(|event| event.zone = "Mars/Base".to_owned());
    assert!(detect_conflicts(&family(), &on_mars).is_err());
    let mut nowhere = family();
    let family =
        superstep_scheduler::calendar::Family { zone: "Mars/Base".to_owned(), ..nowhere.family.as_ref().clone() };
    nowhere.apply(CalendarChange::Family(family));
    assert!(detect_conflicts(&nowhere, &soccer()).is_err());
}

const PEOPLE: [&str; 3] = ["mom", "dad", "emma"];

prop_compose! {
    fn any_event(number: usize)(
        hour in 8_u32..20, quarter in 0_u32..4, quarters in 1_u32..9,
        people in prop::sample::subsequence(&PEOPLE[..], 0..3), has_car in any::<bool>(),
    ) -> Event {
        let end = hour * 4 + quarter + quarters;
        let when = format!("2026-01-10 {hour:02}:{:02} {:02}:{:02}", quarter * 15, end / 4, end % 4 * 15);
        event(&format!("Event {number}"), &when).with_participants(&people).using(if has_car { &["car"] } else { &[] })
    }
}

fn any_events() -> impl Strategy<Value = Vec<Event>> {
    (1_usize..9).prop_flat_map(|count| (0..count).map(any_event).collect::<Vec<_>>())
}

proptest! {
    /// R-FAM-106: the result equals a comparison with every other event, in any order of creation.
    #[test]
    fn conflicts_are_those_of_comparing_all(events in any_events(), new in any_event(99)) {
        let snapshot = events.iter().fold(family(), |snapshot, event| snapshot.with(event.clone()));
        let backwards = events.iter().rev().fold(family(), |snapshot, event| snapshot.with(event.clone()));
        let conflicts = detect_conflicts(&snapshot, &new).unwrap();
        prop_assert_eq!(&conflicts, &detect_conflicts(&backwards, &new).unwrap());
        let meets = |other: &&Event| other.span.overlaps(&new.span);
        let shares = |other: &&Event| other.participants.iter().any(|one| new.participants.contains(one));
        let mut expected: Vec<&str> = events.iter().filter(meets).filter(shares).map(|other| other.id.as_str()).collect();
        expected.sort_unstable();
        let times = conflicts.iter().filter(|one| one.id.starts_with("time_conflict"));
        let mut got: Vec<&str> = times.filter_map(|one| one.conflicting_event_id.as_deref()).collect();
        got.sort_unstable();
        prop_assert_eq!(got, expected);
        let has_car = new.resources.contains(&"car".to_owned());
        let is_taken = has_car && events.iter().filter(meets).any(|other| other.resources == new.resources);
        prop_assert_eq!(conflicts.iter().any(|one| one.id.starts_with("resource_conflict")), is_taken);
    }
}
