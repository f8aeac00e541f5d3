//! The eight kinds of constraints.

use jiff::civil::time;
use superstep_scheduler::agents::conflicts;
use superstep_scheduler::agents::constraints::violations;
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, ConstraintKind, ConstraintStrength, Event, WeekStart,
};

use super::builder::{Build as _, With as _, at, event, family, rule, span, summaries};

/// Returns true if an event of Emma at the given time violates a hard constraint of this kind.
fn breaks(snapshot: CalendarSnapshot, kind: ConstraintKind, when: &str) -> bool {
    let snapshot = snapshot.with_rule("r", kind, ConstraintStrength::Hard);
    let event = event("New", when).with_participants(&["emma"]).using(&["car"]);
    !violations(&snapshot, &event, &event.span).unwrap().is_empty()
}

fn check(kind: &ConstraintKind, rows: &[(&str, bool)]) {
    for (when, expected) in rows {
        assert_eq!(breaks(family(), kind.clone(), when), *expected, "{kind:?} at {when}");
    }
}

/// R-FAM-100: `no_events_before` and `no_events_after`, in local time; past midnight is after any time.
#[test]
fn nothing_before_and_nothing_after() {
    let before = ConstraintKind::NoEventsBefore { time: time(8, 0, 0, 0) };
    check(
        &before,
        &[("2026-01-10 07:59 09:00", true), ("2026-01-10 08:00 09:00", false), ("2026-07-10 07:30 09:00", true)],
    );
    let after = ConstraintKind::NoEventsAfter { time: time(21, 0, 0, 0) };
    check(
        &after,
        &[
            ("2026-01-10 20:00 21:00", false),
            ("2026-01-10 20:00 21:01", true),
            ("2026-01-10 22:00 00:00", true),
            ("2026-01-10 20:00 02:00", true),
            ("2026-07-10 20:00 21:00", false),
        ],
    );
}

/// R-FAM-100: `blocked_window` on some days or all, also past midnight.
#[test]
fn a_blocked_window_rejects_overlapping_events() {
    // 11 January is a Sunday.
    let sundays = ConstraintKind::BlockedWindow { days: vec![7], from: time(9, 0, 0, 0), to: time(12, 0, 0, 0) };
    check(
        &sundays,
        &[
            ("2026-01-11 08:00 09:00", false),
            ("2026-01-11 08:00 09:01", true),
            ("2026-01-11 12:00 13:00", false),
            ("2026-01-10 10:00 11:00", false),
        ],
    );
    let nights = ConstraintKind::BlockedWindow { days: vec![6], from: time(22, 0, 0, 0), to: time(6, 0, 0, 0) };
    check(
        &nights,
        &[
            ("2026-01-10 21:00 22:00", false),
            ("2026-01-11 05:00 05:30", true),
            ("2026-01-11 06:00 06:30", false),
            ("2026-01-12 05:00 05:30", false),
        ],
    );
}

/// R-FAM-100: `preferred_window` is violated by an event that is not completely inside.
#[test]
fn a_preferred_window_wants_all_of_an_event() {
    let afternoons =
        ConstraintKind::PreferredWindow { days: Vec::new(), from: time(15, 0, 0, 0), to: time(18, 0, 0, 0) };
    check(
        &afternoons,
        &[("2026-01-10 15:00 18:00", false), ("2026-01-10 14:30 15:30", true), ("2026-01-10 17:30 18:30", true)],
    );
    let mondays = ConstraintKind::PreferredWindow { days: vec![1], from: time(15, 0, 0, 0), to: time(18, 0, 0, 0) };
    check(&mondays, &[("2026-01-12 16:00 17:00", false), ("2026-01-13 16:00 17:00", true)]);
}

/// R-FAM-100: `min_gap_minutes` applies on both sides; an overlap is a conflict and not a gap.
#[test]
fn min_gap_applies_on_both_sides() {
    let gap = ConstraintKind::MinGapMinutes { minutes: 30 };
    let snapshot = || family().with(event("School", "2026-01-12 10:00 11:00").with_participants(&["emma"]));
    let rows = [
        ("2026-01-12 11:00 12:00", true),
        ("2026-01-12 11:29 12:00", true),
        ("2026-01-12 11:30 12:00", false),
        ("2026-01-12 09:00 09:31", true),
        ("2026-01-12 09:00 09:30", false),
        ("2026-01-12 10:30 12:00", false),
    ];
    for (when, expected) in rows {
        assert_eq!(breaks(snapshot(), gap.clone(), when), expected, "{when}");
    }
    // A constraint of Dad's events does not apply to Emma.
    let dads = family().with(event("Work", "2026-01-12 10:00 11:00").with_participants(&["dad"]));
    assert!(!breaks(dads, gap, "2026-01-12 11:00 12:00"));
}

/// R-FAM-100: `max_events_per_day` and `max_events_per_week`, with the family's days and first day of the week.
#[test]
fn events_per_day_and_week_are_limited() {
    let two = |snapshot: CalendarSnapshot| {
        let saturday = event("Match", "2026-01-10 09:00 10:00").with_participants(&["emma"]);
        snapshot.with(saturday).with(event("Party", "2026-01-11 23:30 23:45").with_participants(&["emma"]))
    };
    let day = ConstraintKind::MaxEventsPerDay { count: 1 };
    for (when, expected) in [("2026-01-10 18:00 19:00", true), ("2026-01-12 00:00 01:00", false)] {
        assert_eq!(breaks(two(family()), day.clone(), when), expected, "{when}");
    }
    let week = ConstraintKind::MaxEventsPerWeek { count: 2 };
    let weeks = [
        (WeekStart::Monday, "2026-01-05 18:00 19:00", true),
        (WeekStart::Monday, "2026-01-12 18:00 19:00", false),
        (WeekStart::Sunday, "2026-01-05 18:00 19:00", false),
        (WeekStart::Saturday, "2026-01-16 18:00 19:00", true),
    ];
    for (week_start, when, expected) in weeks {
        let mut snapshot = two(family());
        let changed = superstep_scheduler::calendar::Family { week_start, ..snapshot.family.as_ref().clone() };
        snapshot.apply(CalendarChange::Family(changed));
        assert_eq!(breaks(snapshot, week.clone(), when), expected, "{week_start:?} {when}");
    }
}

/// R-FAM-100: the occurrences of a series count on their own days and weeks.
#[test]
fn a_series_counts_its_own_instances() {
    let snapshot = family().with_rule("r", ConstraintKind::MaxEventsPerWeek { count: 2 }, ConstraintStrength::Hard);
    let twice =
        event("Swim", "2026-01-13 17:00 18:00").with_participants(&["emma"]).repeating("FREQ=WEEKLY;BYDAY=TU,TH");
    assert!(summaries(&conflicts::detect_conflicts(&snapshot, &twice).unwrap()).is_empty());
    let thrice = twice.repeating("FREQ=WEEKLY;BYDAY=TU,TH,SA");
    let detected = conflicts::detect_conflicts(&snapshot, &thrice).unwrap();
    assert_eq!(summaries(&detected), ["constraint_violation high -"]);
    assert!(detected[0].details.contains(" times within 12 months"), "{}", detected[0].details);
}

/// R-FAM-100: `resource_priority` is violated only by the member with the lower priority, and only if capacity is
/// exceeded.
#[test]
fn resource_priority_is_violated_only_by_the_lower_priority_member() {
    let kind = ConstraintKind::ResourcePriority {
        resource: "car".to_owned(),
        members: vec!["dad".to_owned(), "emma".to_owned()],
    };
    let booked_by = |member: &str| {
        family().with(event("Drive", "2026-01-10 09:00 10:00").with_participants(&[member]).using(&["car"]))
    };
    assert!(breaks(booked_by("dad"), kind.clone(), "2026-01-10 09:30 10:30"));
    assert!(!breaks(booked_by("dad"), kind.clone(), "2026-01-10 10:00 10:30"));
    assert!(!breaks(booked_by("mom"), kind.clone(), "2026-01-10 09:30 10:30"));
    let two_cars =
        booked_by("dad").with_change(CalendarChange::Resource(super::builder::resource("car", 2, "vehicle")));
    assert!(!breaks(two_cars, kind, "2026-01-10 09:30 10:30"));
}

/// R-FAM-100: a constraint applies to one member or to the family, and only while it is active.
#[test]
fn constraints_apply_to_their_member_or_family() {
    let early = event("Run", "2026-01-10 06:00 07:00");
    let rules = |change: fn(&mut superstep_scheduler::calendar::Constraint), event: &Event| {
        let mut rule =
            rule("r", ConstraintKind::NoEventsBefore { time: time(8, 0, 0, 0) }, ConstraintStrength::Soft(3));
        change(&mut rule);
        let snapshot = family().with_change(CalendarChange::Rule(rule));
        violations(&snapshot, event, &event.span)
            .unwrap()
            .into_iter()
            .map(|one| (one.member, one.text))
            .collect::<Vec<_>>()
    };
    let text = "Rule r: no events before 8:00 am".to_owned();
    assert_eq!(rules(|_| (), &early), [(None, text.clone())]);
    assert_eq!(rules(|rule| rule.member = Some("emma".to_owned()), &early), []);
    let emmas = early.clone().with_participants(&["emma"]);
    assert_eq!(rules(|rule| rule.member = Some("emma".to_owned()), &emmas), [(Some("emma".to_owned()), text)]);
    assert_eq!(rules(|rule| rule.member = Some("dad".to_owned()), &emmas), []);
    assert_eq!(rules(|rule| rule.is_active = false, &early), []);
    assert_eq!(rules(|_| (), &early.change(|event| event.is_all_day = true)), []);
}

/// R-FAM-100, R-FAM-106: each constraint has a readable description.
#[test]
fn constraints_have_readable_descriptions() {
    let (from, to) = (time(9, 0, 0, 0), time(12, 30, 0, 0));
    let rows = [
        (ConstraintKind::NoEventsAfter { time: from }, "no events after 9:00 am"),
        (
            ConstraintKind::BlockedWindow { days: vec![6, 7], from, to },
            "no events on Saturdays and Sundays from 9:00 am to 12:30 pm",
        ),
        (
            ConstraintKind::PreferredWindow { days: Vec::new(), from: to, to: from },
            "events should be from 12:30 pm to 9:00 am",
        ),
        (ConstraintKind::MinGapMinutes { minutes: 90 }, "at least 1 hour 30 minutes between two events"),
        (ConstraintKind::MaxEventsPerDay { count: 0 }, "at most 0 events a day"),
        (ConstraintKind::MaxEventsPerWeek { count: 1 }, "at most 1 event a week"),
        (
            ConstraintKind::ResourcePriority { resource: "car".to_owned(), members: vec!["mom".to_owned()] },
            "The car is reserved first for Mom",
        ),
    ];
    let snapshot = family()
        .with(event("Old", "2026-01-11 09:30 10:30").with_participants(&["emma", "mom"]).using(&["car"]))
        .with(event("Next", "2026-01-11 11:31 12:00").with_participants(&["emma"]));
    for (kind, description) in rows {
        let snapshot = snapshot.clone().with_rule("r", kind, ConstraintStrength::Soft(1));
        let event = event("New", "2026-01-11 10:00 11:30").with_participants(&["emma"]).using(&["car"]);
        let texts: Vec<String> =
            violations(&snapshot, &event, &event.span).unwrap().into_iter().map(|one| one.text).collect();
        assert_eq!(texts, [format!("Rule r: {description}")]);
    }
    assert_eq!(span("2026-01-11 10:00 11:30").start, at("2026-01-11T10:00"));
}
