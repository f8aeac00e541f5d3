//! Resolutions that change the event itself.

use jiff::civil::time;
use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use superstep_scheduler::agents::conflicts::detect_conflicts;
use superstep_scheduler::agents::resolution::{apply_resolution, propose_resolutions};
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, ConstraintKind, ConstraintStrength, Event, Flexibility, Priority,
};
use superstep_scheduler::models::{EventStatus, ProposedResolution, ResolutionData, Strategy};

use super::builder::{Build as _, With, event, family, format_span, now, resource, span};

pub(super) fn soccer() -> Event {
    event("Soccer practice", "2026-01-10 14:00 15:00").with_participants(&["emma"]).using(&["car"]).proposed()
}

pub(super) fn dentist() -> Event {
    event("Dentist", "2026-01-10 14:30 15:30").with_participants(&["emma"]).priority(Priority::High)
}

/// Returns the resolutions of an event's conflicts.
pub(super) fn resolutions_for(snapshot: &CalendarSnapshot, event: &Event) -> ResolutionData {
    let snapshot = snapshot.clone().with(event.clone());
    propose_resolutions(&snapshot, event, &detect_conflicts(&snapshot, event).unwrap(), &event.owner, now()).unwrap()
}

/// Summarises each resolution: strategy, score and resulting time of the event.
pub(super) fn summaries(snapshot: &CalendarSnapshot, event: &Event) -> Vec<String> {
    let one = |resolution: &ProposedResolution| {
        let (after, _) = apply_resolution(snapshot, event, resolution, "mom", now()).unwrap();
        let strategy = serde_json::to_value(resolution.strategy).unwrap();
        format!("{} {:.2} {}", strategy.as_str().unwrap(), resolution.score.value(), format_span(&after.span))
    };
    resolutions_for(snapshot, event).proposed_resolutions.iter().map(one).collect()
}

fn of_strategy(data: &ResolutionData, strategy: Strategy) -> Option<&ProposedResolution> {
    data.proposed_resolutions.iter().find(|resolution| resolution.strategy == strategy)
}

/// R-FAM-116, R-FAM-107, R-FAM-57, R-FAM-58, R-FAM-59, R-FAM-61: soccer moves to 3:30 pm; other resolutions follow.
#[test]
fn soccer_moves_after_the_dentist() {
    let snapshot = family().with(dentist());
    let expected = [
        "move_event 0.90 2026-01-10 15:30 16:30",
        "shorten_event 0.70 2026-01-10 14:00 14:30",
        "split_event 0.60 2026-01-10 14:00 14:30",
        "cancel_event 0.40 2026-01-10 14:00 15:00",
    ];
    assert_eq!(summaries(&snapshot, &soccer()), expected);
    let data = resolutions_for(&snapshot, &soccer());
    let ids: Vec<&str> = data.proposed_resolutions.iter().map(|resolution| resolution.resolution_id.as_str()).collect();
    assert_eq!(ids, ["res_1", "res_2", "res_3", "res_4"]);
    assert_eq!(data.recommended_resolution.as_deref(), Some("res_1"));
    let conflict = detect_conflicts(&snapshot, &soccer()).unwrap()[0].id.clone();
    assert!(data.proposed_resolutions.iter().all(|resolution| resolution.conflicts_resolved == [conflict.clone()]));
}

/// R-FAM-107: the event of a modification is not cancelled; only its change is dropped.
#[test]
fn a_modified_event_can_be_left_unchanged() {
    let modified = Event { status: EventStatus::Confirmed, ..soccer() };
    let data = resolutions_for(&family().with(dentist()), &modified);
    let cancel = data.proposed_resolutions.iter().find(|resolution| resolution.strategy == Strategy::CancelEvent);
    let cancel = cancel.unwrap();
    assert_eq!(cancel.description, "Leave “Soccer practice” unchanged.");
    assert_eq!(cancel.side_effects, ["The requested change is not made."]);
}

/// R-FAM-116, R-FAM-55, R-FAM-56, R-FAM-60: changes, description and trade-offs of the first resolution.
#[test]
fn a_resolution_describes_its_changes_and_side_effects() {
    let data = resolutions_for(&family().with(dentist()), &soccer());
    let descriptions: Vec<(&str, Vec<&str>)> = data
        .proposed_resolutions
        .iter()
        .map(|resolution| {
            (resolution.description.as_str(), resolution.side_effects.iter().map(String::as_str).collect())
        })
        .collect();
    let expected = [
        (
            "Move “Soccer practice” to Saturday 10 January, 3:30 pm to 4:30 pm.",
            vec!["“Soccer practice” starts 1 hour 30 minutes later."],
        ),
        (
            "Shorten “Soccer practice” to Saturday 10 January, 2:00 pm to 2:30 pm.",
            vec!["“Soccer practice” is 30 minutes shorter."],
        ),
        (
            "Split “Soccer practice” into two parts: Saturday 10 January, 2:00 pm to 2:30 pm and Saturday 10 \
             January, 3:30 pm to 4:00 pm.",
            vec!["“Soccer practice” is in two parts, 1 hour apart."],
        ),
        ("Do not plan “Soccer practice”.", vec!["“Soccer practice” does not take place."]),
    ];
    assert_eq!(descriptions, expected);
    let changes = serde_json::to_value(&data.proposed_resolutions[0].changes).unwrap();
    let expected = serde_json::json!([
        {
            "event_id": "soccer practice", "field": "start_time", "action": "move",
            "old_value": "2026-01-10T14:00:00-05:00", "new_value": "2026-01-10T15:30:00-05:00",
        },
        {
            "event_id": "soccer practice", "field": "end_time", "action": "move",
            "old_value": "2026-01-10T15:00:00-05:00", "new_value": "2026-01-10T16:30:00-05:00",
        },
    ]);
    assert_eq!(changes, expected);
}

/// R-FAM-107: an event moves to later that day, else earlier, else the best following day; each two hours cost 0.05,
/// at most 0.25.
#[test]
fn events_move_later_then_earlier_then_to_another_day() {
    let busy = |when: &str| event("Busy", when).with_participants(&["emma"]);
    let rows = [
        ("2026-01-10 14:30 18:05", "move_event 0.80 2026-01-10 18:15 19:15"),
        ("2026-01-10 14:30 21:00", "move_event 0.90 2026-01-10 13:30 14:30"),
        ("2026-01-10 08:00 21:00", "move_event 0.65 2026-01-11 08:00 09:00"),
    ];
    for (when, expected) in rows {
        assert_eq!(summaries(&family().with(busy(when)), &soccer())[0], expected, "{when}");
    }
    let fixed = soccer().flexibility(Flexibility::Fixed);
    let expected = ["shorten_event 0.70 2026-01-10 14:00 14:30", "cancel_event 0.40 2026-01-10 14:00 15:00"];
    assert_eq!(summaries(&family().with(dentist().flexibility(Flexibility::Fixed)), &fixed), expected);
}

/// R-FAM-107: a very long event is shortened in a hundred steps instead of half-hour steps.
#[test]
fn a_very_long_event_is_shortened_in_a_hundred_steps() {
    let end = |text: &str| superstep::core::time::Time::parse(text).unwrap();
    let trip = event("Journey", "2026-01-10 14:00 15:00").with_participants(&["emma"]).proposed();
    let trip = trip.change(|event| event.span.end = end("2026-11-06T19:00:00Z"));
    let exam = event("Exam", "2026-11-06 13:00 15:00").with_participants(&["emma"]);
    let data = resolutions_for(&family().with(exam), &trip);
    let shorter = of_strategy(&data, Strategy::ShortenEvent).unwrap();
    // Half of 300 days is 216,000 minutes: steps of 73 half hours.
    assert_eq!(shorter.changes[0].new_value.as_deref(), Some("2026-11-05T01:30:00-05:00"));
}

/// R-FAM-107: an event is shortened by at most half, at the end or the start, and never below 15 minutes.
#[test]
fn it_is_shortened_to_half_at_most() {
    let shortened = |busy: &str, when: &str| {
        let snapshot = family().with(event("Busy", busy).with_participants(&["emma"]));
        let event = soccer().change(|event| event.span = span(when));
        let data = resolutions_for(&snapshot, &event);
        of_strategy(&data, Strategy::ShortenEvent).map(|resolution| {
            format_span(&apply_resolution(&snapshot, &event, resolution, "mom", now()).unwrap().0.span)
        })
    };
    let at_two = "2026-01-10 14:00 15:00";
    assert_eq!(shortened("2026-01-10 14:50 15:30", at_two).as_deref(), Some("2026-01-10 14:00 14:50"));
    assert_eq!(shortened("2026-01-10 13:30 14:10", at_two).as_deref(), Some("2026-01-10 14:10 15:00"));
    assert_eq!(shortened("2026-01-10 14:29 15:30", at_two), None);
    assert_eq!(
        shortened("2026-01-10 14:15 15:30", "2026-01-10 14:00 14:20").as_deref(),
        Some("2026-01-10 14:00 14:15")
    );
    assert_eq!(shortened("2026-01-10 14:10 15:30", "2026-01-10 14:00 14:20"), None);
}

/// R-FAM-107: an event is split into parts of at least 30 minutes; the longer keeps its place, the other is as near
/// as possible.
#[test]
fn it_is_split_into_parts_of_half_an_hour() {
    let split = |busy: &str, when: &str| {
        let snapshot = family().with(event("Busy", busy).with_participants(&["emma"]));
        let event = soccer().change(|event| event.span = span(when));
        let data = resolutions_for(&snapshot, &event);
        let resolution = of_strategy(&data, Strategy::SplitEvent)?;
        let (after, changes) = apply_resolution(&snapshot, &event, resolution, "mom", now()).unwrap();
        let Some(CalendarChange::Event(part)) = changes.last() else { panic!("no second part") };
        assert_eq!(after.participants, part.participants);
        assert_ne!(after.id, part.id);
        Some(format!("{} and {}", format_span(&after.span), format_span(&part.span)))
    };
    let parts = split("2026-01-10 15:00 15:30", "2026-01-10 14:00 16:00");
    assert_eq!(parts.as_deref(), Some("2026-01-10 14:00 15:00 and 2026-01-10 15:30 16:30"));
    let parts = split("2026-01-10 14:00 14:30", "2026-01-10 14:00 16:00");
    assert_eq!(parts.as_deref(), Some("2026-01-10 14:30 16:00 and 2026-01-10 16:00 16:30"));
    assert_eq!(split("2026-01-10 14:30 15:00", "2026-01-10 14:15 15:00"), None);
}

/// R-FAM-107, R-FAM-108: a soft constraint can be overridden once, a hard one never; afterwards it is no conflict.
#[test]
fn soft_rules_can_be_broken_once() {
    let late =
        |strength| family().with_rule("late", ConstraintKind::NoEventsBefore { time: time(15, 0, 0, 0) }, strength);
    let snapshot = late(ConstraintStrength::Soft(9));
    let expected = [
        "move_event 0.90 2026-01-10 15:00 16:00",
        "override_constraint 0.55 2026-01-10 14:00 15:00",
        "cancel_event 0.40 2026-01-10 14:00 15:00",
    ];
    assert_eq!(summaries(&snapshot, &soccer()), expected);
    let data = resolutions_for(&snapshot, &soccer());
    let resolution = of_strategy(&data, Strategy::OverrideConstraint).unwrap();
    assert_eq!(resolution.description, "Keep “Soccer practice” unchanged and override the rule “Rule late”.");
    assert_eq!((resolution.changes[0].field.as_deref(), resolution.changes[0].action), (Some("constraint:late"), None));
    let (after, _) = apply_resolution(&snapshot, &soccer(), resolution, "mom", now()).unwrap();
    assert_eq!(detect_conflicts(&snapshot, &after).unwrap(), []);
    let hard = resolutions_for(&late(ConstraintStrength::Hard), &soccer());
    assert!(of_strategy(&hard, Strategy::OverrideConstraint).is_none());
    // An override of a soft constraint does not apply after the constraint becomes hard.
    assert_eq!(detect_conflicts(&late(ConstraintStrength::Hard), &after).unwrap().len(), 1);
}

/// R-FAM-107, R-FAM-108, R-FAM-105: another resource of the same kind that is free at all occurrences is used.
#[test]
fn another_resource_of_the_same_kind_is_used() {
    let snapshot = family()
        .with(event("Shopping", "2026-01-10 14:00 15:00").using(&["car"]))
        .with_change(CalendarChange::Resource(resource("van", 1, "vehicle")));
    let data = resolutions_for(&snapshot, &soccer());
    let resolution = of_strategy(&data, Strategy::AlternativeResource).unwrap();
    assert_eq!((resolution.score.value(), resolution.description.as_str()), (0.85, "Use the van instead of the car."));
    assert_eq!((resolution.changes[0].field.as_deref(), resolution.changes[0].action), (Some("resources"), None));
    let (after, _) = apply_resolution(&snapshot, &soccer(), resolution, "mom", now()).unwrap();
    assert_eq!(
        (after.resources.clone(), detect_conflicts(&snapshot, &after).unwrap()),
        (vec!["van".to_owned()], Vec::new())
    );
    let taken = snapshot.with(event("Trip", "2026-01-10 14:30 15:00").using(&["van"]));
    assert!(of_strategy(&resolutions_for(&taken, &soccer()), Strategy::AlternativeResource).is_none());
    let weekly = soccer().repeating("FREQ=WEEKLY");
    let later = taken.with(event("Trip", "2026-03-14 14:30 15:00").using(&["van"]));
    assert!(of_strategy(&resolutions_for(&later, &weekly), Strategy::AlternativeResource).is_none());
}

/// R-FAM-107: a resolution of a fraction of the conflicts has that fraction of its score, and names the remaining
/// ones.
#[test]
fn a_share_of_the_conflicts_is_a_share_of_the_score() {
    let snapshot = family()
        .with(dentist())
        .with(event("Shopping", "2026-01-10 13:00 17:00").using(&["car"]))
        .with_change(CalendarChange::Resource(resource("van", 1, "vehicle")));
    let data = resolutions_for(&snapshot, &soccer());
    let resolution = of_strategy(&data, Strategy::AlternativeResource).unwrap();
    assert_eq!((resolution.score.value(), resolution.conflicts_resolved.len()), (0.43, 1));
    let remains = "Remaining conflict: Emma is at “Dentist” on Saturday 10 January, 2:30 pm to 3:30 pm.";
    assert_eq!(resolution.side_effects.last().map(String::as_str), Some(remains));
    assert_eq!(summaries(&snapshot, &soccer())[0], "move_event 0.85 2026-01-10 17:00 18:00");
}

/// R-FAM-107, R-FAM-106: a series moves as a whole, to a time on its days that is free for the year.
#[test]
fn all_events_of_a_series_are_moved() {
    let piano = event("Piano", "2026-01-13 17:00 18:00").with_participants(&["emma"]).proposed();
    let piano = piano.repeating("FREQ=WEEKLY;BYDAY=TU;UNTIL=20261222T220000Z").change(|piano| {
        let left_out = jiff::civil::date(2026, 2, 3).at(17, 0, 0, 0);
        piano.recurrence.as_mut().unwrap().exdates.push(left_out);
    });
    let snapshot = family()
        .with(event("Choir", "2026-01-20 17:30 18:30").with_participants(&["emma"]))
        .with(event("Camp", "2026-07-07 18:00 19:00").with_participants(&["emma"]))
        .with(event("Exam", "2026-02-03 19:00 20:00").with_participants(&["emma"]));
    let data = resolutions_for(&snapshot, &piano);
    let (after, _) = apply_resolution(&snapshot, &piano, &data.proposed_resolutions[0], "mom", now()).unwrap();
    assert_eq!(format_span(&after.span), "2026-01-13 19:00 20:00");
    let recurrence = after.recurrence.clone().unwrap();
    assert_eq!(recurrence.rule, "FREQ=WEEKLY;BYDAY=TU;UNTIL=20261223T000000Z");
    assert_eq!(recurrence.exdates, [jiff::civil::date(2026, 2, 3).at(19, 0, 0, 0)]);
    assert_eq!(detect_conflicts(&snapshot, &after).unwrap(), []);
    let year = span("2026-01-01 00:00 01:00");
    let year = superstep_scheduler::calendar::TimeRange { end: super::builder::at("2027-01-01"), ..year };
    let count = |event: &Event| snapshot.instances_of(&std::sync::Arc::new(event.clone()), &year).unwrap().len();
    assert_eq!(count(&after), count(&piano));
}

/// R-FAM-107: a resolution that newly violates a hard constraint is not proposed: a split may exceed the events per
/// day, and a shortened event may leave too small a gap.
#[test]
fn a_resolution_with_a_new_violation_is_not_proposed() {
    let two_a_day = ConstraintKind::MaxEventsPerDay { count: 2 };
    let snapshot = family().with(dentist());
    assert!(of_strategy(&resolutions_for(&snapshot, &soccer()), Strategy::SplitEvent).is_some());
    let ruled = snapshot.clone().with_rule("two", two_a_day, ConstraintStrength::Hard);
    assert!(of_strategy(&resolutions_for(&ruled, &soccer()), Strategy::SplitEvent).is_none());
    let two_others = snapshot.with(event("Lesson", "2026-01-10 14:40 15:30").with_participants(&["emma"]));
    assert!(of_strategy(&resolutions_for(&two_others, &soccer()), Strategy::ShortenEvent).is_some());
    let ruled = two_others.with_rule("gap", ConstraintKind::MinGapMinutes { minutes: 15 }, ConstraintStrength::Hard);
    assert!(of_strategy(&resolutions_for(&ruled, &soccer()), Strategy::ShortenEvent).is_none());
}

/// R-FAM-107: without conflicts there are no resolutions, and the result is deterministic.
#[test]
fn without_conflicts_there_are_no_resolutions() {
    assert_eq!(resolutions_for(&family(), &soccer()), ResolutionData::default());
    let snapshot = family().with(dentist());
    assert_eq!(resolutions_for(&snapshot, &soccer()), resolutions_for(&snapshot, &soccer()));
}

prop_compose! {
    fn any_event(number: usize)(
        hour in 8_u32..19, quarter in 0_u32..4, quarters in 1_u32..9, has_car in any::<bool>(), priority in 0_usize..4,
        flexibility in 0_usize..3, people in prop::sample::subsequence(&["mom", "dad", "emma"][..], 0..3),
    ) -> Event {
        let end = hour * 4 + quarter + quarters;
        let when = format!("2026-01-10 {hour:02}:{:02} {:02}:{:02}", quarter * 15, end / 4, end % 4 * 15);
        event(&format!("Event {number}"), &when)
            .with_participants(&people)
            .using(if has_car { &["car"] } else { &[] })
            .priority([Priority::Low, Priority::Medium, Priority::High, Priority::Critical][priority])
            .flexibility([Flexibility::Fixed, Flexibility::Preferred, Flexibility::Flexible][flexibility])
    }
}

proptest! {
    /// R-FAM-107, R-FAM-61: every resolution can be applied, resolves the stated conflicts and causes no new ones;
    /// they are numbered from the best.
    #[test]
    fn every_resolution_is_applied_as_described(
        events in (1_usize..7).prop_flat_map(|count| (0..count).map(any_event).collect::<Vec<_>>()),
        new in any_event(99),
    ) {
        let snapshot = events.iter().fold(family(), |snapshot, event| snapshot.with(event.clone()));
        let new = new.proposed();
        let snapshot = snapshot.with(new.clone()).with_change(CalendarChange::Resource(resource("van", 1, "vehicle")));
        let before = detect_conflicts(&snapshot, &new).unwrap();
        let data = propose_resolutions(&snapshot, &new, &before, "mom", now()).unwrap();
        prop_assert_eq!(data.proposed_resolutions.is_empty(), before.is_empty());
        prop_assert_eq!(data.recommended_resolution.is_some(), !before.is_empty());
        let mut best = 1.0;
        for (index, resolution) in data.proposed_resolutions.iter().enumerate() {
            prop_assert_eq!(&resolution.resolution_id, &format!("res_{}", index + 1));
            prop_assert!(resolution.score.value() <= best);
            best = resolution.score.value();
            let (after, changes) = apply_resolution(&snapshot, &new, resolution, "mom", now()).unwrap();
            let copy = changes.into_iter().fold(snapshot.clone(), With::with_change);
            for event in copy.events.values() {
                let had = snapshot.events.get(&event.id).map_or_else(Vec::new, |old| detect_conflicts(&snapshot, old).unwrap());
                let now = detect_conflicts(&copy, event).unwrap();
                let new_conflicts = now.iter().filter(|one| !had.iter().any(|old| old.id == one.id));
                let blocking: Vec<_> = new_conflicts.filter(|one| one.severity.is_blocking()).collect();
                prop_assert!(blocking.is_empty(), "{resolution:?} makes {blocking:?}");
            }
            if copy.events.contains_key(&after.id) {
                let left = detect_conflicts(&copy, &after).unwrap();
                let is_unresolved = left.iter().any(|one| resolution.conflicts_resolved.contains(&one.id));
                prop_assert!(!is_unresolved, "{resolution:?} leaves {left:?}");
            }
        }
    }
}
