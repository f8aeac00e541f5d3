//! Changes of a series: this occurrence, this and following, all; everything else stays unchanged.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use proptest::prelude::*;
use superstep::core::time::Time;
use superstep::{ErrorCode, Result};
use superstep_scheduler::calendar::series::{SeriesSelection, cancel, edit};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event, TimeRange};
use superstep_scheduler::time_zone::NamedTimeZone;

use crate::recurrence::support::{
    NEW_YORK, days, event, event_by_id, local_time, on, series, snapshot_with, starts, time, zone,
};

const NOW: &str = "2026-02-01T12:00:00Z";

fn apply(snapshot: &CalendarSnapshot, changes: Result<Vec<CalendarChange>>) -> CalendarSnapshot {
    let mut snapshot = snapshot.clone();
    changes.unwrap().into_iter().for_each(|change| snapshot.apply(change));
    snapshot
}

fn rename(snapshot: &CalendarSnapshot, which: SeriesSelection) -> CalendarSnapshot {
    apply(snapshot, edit(snapshot, "piano", which, time(NOW), |event| event.title = "Recital".to_owned()))
}

/// Moves an event in local time and keeps its duration.
fn move_by(event: &mut Event, minutes: i64) {
    let zone = NamedTimeZone::from_iana_name(&event.zone).unwrap();
    let length = event.span.end.as_unix_micros() - event.span.start.as_unix_micros();
    let start =
        zone.to_instant(zone.to_local(event.span.start).saturating_add(SignedDuration::from_mins(minutes))).unwrap();
    let end = Time::from_unix_micros(start.as_unix_micros() + length).unwrap();
    event.span = TimeRange::new(start, zone.with_local_offset(end).unwrap()).unwrap();
}

fn move_all(
    snapshot: &CalendarSnapshot,
    id: &str,
    which: SeriesSelection,
    minutes: i64,
) -> Result<Vec<CalendarChange>> {
    edit(snapshot, id, which, time(NOW), |event| move_by(event, minutes))
}

fn march() -> TimeRange {
    days("2026-03-01", "2026-04-10")
}

/// Creates a series on Tuesdays at 5 pm, from 3 March 2026.
fn tuesdays(end: &str) -> CalendarSnapshot {
    snapshot_with([series(NEW_YORK, "2026-03-03T17:00", &format!("FREQ=WEEKLY;BYDAY=TU{end}"))])
}

fn titles(snapshot: &CalendarSnapshot) -> Vec<(String, String)> {
    let row = |one: &superstep_scheduler::calendar::EventInstance| {
        (one.span.start.to_string()[5..16].to_owned(), one.event.title.clone())
    };
    on(snapshot, &march()).iter().map(row).collect()
}

fn rows(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(start, title)| ((*start).to_owned(), (*title).to_owned())).collect()
}

fn rule_of(snapshot: &CalendarSnapshot, id: &str) -> String {
    event_by_id(snapshot, id).recurrence.clone().unwrap().rule
}

/// R-FAM-98: one occurrence becomes an override with its own id, and is changed again under that id.
#[test]
fn one_changed_occurrence_becomes_an_override() {
    let snapshot = rename(&tuesdays(";COUNT=3"), SeriesSelection::This(local_time("2026-03-10T17:00")));
    let expected = rows(&[("03-03T17:00", "Piano"), ("03-10T17:00", "Recital"), ("03-17T17:00", "Piano")]);
    assert_eq!(titles(&snapshot), expected);
    let override_event = event_by_id(&snapshot, "piano_20260310T170000");
    assert_eq!((override_event.uid.as_str(), override_event.sequence), ("piano@example.org", 1));
    assert_eq!(override_event.updated_at, time(NOW));
    assert_eq!(override_event.recurrence_override.as_ref().unwrap().start, local_time("2026-03-10T17:00"));

    // By series and original start, and by the id of the override.
    let moved =
        apply(&snapshot, move_all(&snapshot, "piano", SeriesSelection::This(local_time("2026-03-10T17:00")), 60));
    let moved_again = apply(
        &moved,
        move_all(&moved, "piano_20260310T170000", SeriesSelection::This(local_time("2026-03-10T18:00")), 60),
    );
    assert_eq!(moved_again.events.len(), 2);
    let expected = rows(&[("03-03T17:00", "Piano"), ("03-10T19:00", "Recital"), ("03-17T17:00", "Piano")]);
    assert_eq!(titles(&moved_again), expected);

    let cancelled = apply(
        &moved_again,
        cancel(&moved_again, "piano_20260310T170000", SeriesSelection::This(local_time("2026-03-10T19:00")), time(NOW)),
    );
    assert_eq!(titles(&cancelled), rows(&[("03-03T17:00", "Piano"), ("03-17T17:00", "Piano")]));
    assert_eq!(event_by_id(&cancelled, "piano").recurrence.as_ref().unwrap().exdates, [local_time("2026-03-10T17:00")]);
    assert_eq!(cancelled.events.len(), 1);
}

/// R-FAM-98: a change of all or following occurrences through an override changes the override too; an override that
/// equals its regular occurrence is removed.
#[test]
fn an_override_used_for_selection_is_changed_too() {
    let (event_id, start) = ("piano_20260310T170000", local_time("2026-03-10T17:00"));
    let snapshot = rename(&tuesdays(";COUNT=3"), SeriesSelection::This(start));
    let locations = |which: SeriesSelection| -> Vec<(String, String)> {
        let changes = edit(&snapshot, event_id, which, time(NOW), |event| event.location = "Hall".to_owned());
        let row =
            |one: &superstep_scheduler::calendar::EventInstance| (one.event.title.clone(), one.event.location.clone());
        on(&apply(&snapshot, changes), &march()).iter().map(row).collect()
    };
    assert_eq!(locations(SeriesSelection::All), rows(&[("Piano", "Hall"), ("Recital", "Hall"), ("Piano", "Hall")]));
    assert_eq!(
        locations(SeriesSelection::Following(start)),
        rows(&[("Piano", ""), ("Recital", "Hall"), ("Piano", "Hall")])
    );
    let named = |title: &str| {
        apply(
            &snapshot,
            edit(&snapshot, event_id, SeriesSelection::All, time(NOW), |event| event.title = title.to_owned()),
        )
    };
    let lessons = ["03-03T17:00", "03-10T17:00", "03-17T17:00"];
    for title in ["Piano", "Recital", "Lesson"] {
        let after = named(title);
        assert_eq!(titles(&after), rows(&lessons.map(|start| (start, title))));
        assert_eq!(after.events.len(), 1, "{title}");
    }
    assert_eq!(event_by_id(&named("Piano"), "piano").sequence, 0, "the series was called so already");
    assert_eq!(edit(&snapshot, event_id, SeriesSelection::All, time(NOW), |_| ()).unwrap(), []);
}

/// R-FAM-98: "this and following" ends the series before that occurrence and starts a new one; COUNT is divided.
#[test]
fn following_occurrences_become_a_new_series() {
    let snapshot = rename(&tuesdays(";COUNT=5"), SeriesSelection::Following(local_time("2026-03-17T17:00")));
    let expected = rows(&[
        ("03-03T17:00", "Piano"),
        ("03-10T17:00", "Piano"),
        ("03-17T17:00", "Recital"),
        ("03-24T17:00", "Recital"),
        ("03-31T17:00", "Recital"),
    ]);
    assert_eq!(titles(&snapshot), expected);
    assert_eq!(rule_of(&snapshot, "piano"), "FREQ=WEEKLY;BYDAY=TU;COUNT=2");
    let rest = event_by_id(&snapshot, "piano_from_20260317T170000");
    assert_eq!(rest.recurrence.as_ref().unwrap().rule, "FREQ=WEEKLY;BYDAY=TU;COUNT=3");
    assert_eq!((rest.uid.as_str(), rest.sequence), ("piano@example.org_from_20260317T170000", 0));
    assert_eq!(event_by_id(&snapshot, "piano").sequence, 1);

    let endless = rename(&tuesdays(""), SeriesSelection::Following(local_time("2026-03-17T17:00")));
    assert_eq!(rule_of(&endless, "piano"), "FREQ=WEEKLY;BYDAY=TU;UNTIL=20260317T205959Z");
    assert_eq!(rule_of(&endless, "piano_from_20260317T170000"), "FREQ=WEEKLY;BYDAY=TU");
    let until = rename(&tuesdays(";UNTIL=20260324"), SeriesSelection::Following(local_time("2026-03-17T17:00")));
    assert_eq!(rule_of(&until, "piano"), "FREQ=WEEKLY;BYDAY=TU;UNTIL=20260317T205959Z");
    assert_eq!(rule_of(&until, "piano_from_20260317T170000"), "FREQ=WEEKLY;BYDAY=TU;UNTIL=20260324");

    let first = rename(&tuesdays(";COUNT=5"), SeriesSelection::Following(local_time("2026-03-03T17:00")));
    assert_eq!((first.events.len(), event_by_id(&first, "piano").title.as_str()), (1, "Recital"));
}

/// R-FAM-98: the UNTIL of an all-day series is a date.
#[test]
fn all_day_series_end_on_a_date() {
    let mut trip = series(NEW_YORK, "2026-03-03T00:00", "FREQ=WEEKLY");
    trip.span = TimeRange::new(time("2026-03-03T00:00:00-05:00"), time("2026-03-04T00:00:00-05:00")).unwrap();
    trip.is_all_day = true;
    let snapshot = rename(&snapshot_with([trip]), SeriesSelection::Following(local_time("2026-03-17T00:00")));
    assert_eq!(rule_of(&snapshot, "piano"), "FREQ=WEEKLY;UNTIL=20260316");
    assert_eq!(starts(&snapshot, &march()).len(), 6);
}

/// R-FAM-98: overrides, excluded and added dates are assigned to their side of the split.
#[test]
fn overrides_are_assigned_to_their_side_of_the_split() {
    let mut piano = series(NEW_YORK, "2026-03-03T17:00", "FREQ=WEEKLY;COUNT=6");
    let recurrence = piano.recurrence.as_mut().unwrap();
    recurrence.exdates = vec![local_time("2026-03-10T17:00"), local_time("2026-03-31T17:00")];
    recurrence.rdates = vec![local_time("2026-03-05T09:00"), local_time("2026-03-26T09:00")];
    let mut snapshot = snapshot_with([piano]);
    for start in ["2026-03-03T17:00", "2026-03-24T17:00"] {
        snapshot = apply(&snapshot, move_all(&snapshot, "piano", SeriesSelection::This(local_time(start)), 30));
    }
    let split = rename(&snapshot, SeriesSelection::Following(local_time("2026-03-17T17:00")));
    let rest = "piano_from_20260317T170000";
    let series_of = |id: &str| event_by_id(&split, id).recurrence_override.clone().unwrap().series;
    assert_eq!([series_of("piano_20260303T170000"), series_of("piano_20260324T170000")], ["piano", rest]);
    assert_eq!(event_by_id(&split, "piano_20260324T170000").uid, event_by_id(&split, rest).uid);
    let lists = |id: &str| event_by_id(&split, id).recurrence.clone().map(|one| (one.exdates, one.rdates)).unwrap();
    assert_eq!(lists("piano"), (vec![local_time("2026-03-10T17:00")], vec![local_time("2026-03-05T09:00")]));
    assert_eq!(lists(rest), (vec![local_time("2026-03-31T17:00")], vec![local_time("2026-03-26T09:00")]));
    assert_eq!(starts(&split, &march()), starts(&snapshot, &march()));
}

/// R-FAM-98: if all occurrences move, excluded, added and overridden starts shift too; overrides keep their own
/// time.
#[test]
fn moving_all_occurrences_shifts_overrides() {
    let mut piano = series(NEW_YORK, "2026-03-03T17:00", "FREQ=WEEKLY;BYDAY=TU;COUNT=4");
    piano.recurrence.as_mut().unwrap().exdates = vec![local_time("2026-03-10T17:00")];
    let snapshot = snapshot_with([piano]);
    let snapshot =
        apply(&snapshot, move_all(&snapshot, "piano", SeriesSelection::This(local_time("2026-03-17T17:00")), -120));
    let later = apply(&snapshot, move_all(&snapshot, "piano", SeriesSelection::All, 60));
    let expected = rows(&[("03-03T18:00", "Piano"), ("03-17T15:00", "Piano"), ("03-24T18:00", "Piano")]);
    assert_eq!(titles(&later), expected);
    // A move to Wednesday changes the weekday in the rule.
    let wednesday = apply(&later, move_all(&later, "piano", SeriesSelection::All, 24 * 60));
    assert_eq!(rule_of(&wednesday, "piano"), "FREQ=WEEKLY;BYDAY=WE;COUNT=4");
    let expected = rows(&[("03-04T18:00", "Piano"), ("03-17T15:00", "Piano"), ("03-25T18:00", "Piano")]);
    assert_eq!(titles(&wednesday), expected);
}

/// R-FAM-98: UNTIL shifts with the series, so the last occurrence is kept.
#[test]
fn moving_a_series_shifts_its_end() {
    let rows = [
        (";UNTIL=20260317T210000Z", 30, ";UNTIL=20260317T213000Z"),
        (";UNTIL=20260317T170000", 24 * 60, ";UNTIL=20260318T170000"),
        (";UNTIL=20260317", 8 * 60, ";UNTIL=20260318"),
        (";UNTIL=20260317", -60, ";UNTIL=20260317"),
    ];
    for (end, minutes, expected) in rows {
        let snapshot = tuesdays(end);
        let moved = apply(&snapshot, move_all(&snapshot, "piano", SeriesSelection::All, minutes));
        assert!(rule_of(&moved, "piano").ends_with(expected), "{}", rule_of(&moved, "piano"));
        assert_eq!(starts(&moved, &march()).len(), 3);
    }
}

/// R-FAM-98: an override whose occurrence no longer exists is removed.
#[test]
fn overrides_without_an_occurrence_are_removed() {
    let snapshot = rename(&tuesdays(""), SeriesSelection::This(local_time("2026-03-10T17:00")));
    let thursdays = edit(&snapshot, "piano", SeriesSelection::All, time(NOW), |event| {
        event.recurrence.as_mut().unwrap().rule = "rrule:freq=weekly;byday=th".to_owned();
    });
    let snapshot = apply(&snapshot, thursdays);
    assert_eq!(snapshot.events.len(), 1);
    assert_eq!(event_by_id(&snapshot, "piano").span.start, time("2026-03-05T17:00:00-05:00"));
    assert_eq!(starts(&snapshot, &march())[..2], ["2026-03-05T17:00:00-05:00", "2026-03-12T17:00:00-04:00"]);
    let single =
        apply(&snapshot, edit(&snapshot, "piano", SeriesSelection::All, time(NOW), |event| event.recurrence = None));
    assert_eq!(starts(&single, &march()), ["2026-03-05T17:00:00-05:00"]);
}

/// R-FAM-98: a cancelled series is removed with its overrides, and so is a series without remaining occurrences.
#[test]
fn cancelled_series_are_removed() {
    let snapshot = rename(&tuesdays(";COUNT=3"), SeriesSelection::This(local_time("2026-03-10T17:00")));
    let off = |snapshot: &CalendarSnapshot, id: &str, which| apply(snapshot, cancel(snapshot, id, which, time(NOW)));
    assert!(off(&snapshot, "piano", SeriesSelection::All).events.is_empty());
    assert!(off(&snapshot, "piano_20260310T170000", SeriesSelection::All).events.is_empty());
    assert!(off(&snapshot, "piano", SeriesSelection::Following(local_time("2026-03-03T17:00"))).events.is_empty());
    let following = off(&snapshot, "piano", SeriesSelection::Following(local_time("2026-03-10T17:00")));
    assert_eq!(titles(&following), rows(&[("03-03T17:00", "Piano")]));
    assert_eq!(rule_of(&following, "piano"), "FREQ=WEEKLY;BYDAY=TU;COUNT=1");
    let mut left = snapshot;
    for start in ["2026-03-03T17:00", "2026-03-10T17:00", "2026-03-17T17:00"] {
        left = off(&left, "piano", SeriesSelection::This(local_time(start)));
    }
    assert!(left.events.is_empty());
    let plain = snapshot_with([event("dentist", NEW_YORK, "2026-03-05T14:30", 60)]);
    assert!(off(&plain, "dentist", SeriesSelection::This(local_time("2026-03-05T14:30"))).events.is_empty());
}

/// R-FAM-97, R-FAM-98: a series that is split where daylight saving skips its time continues at its own time.
#[test]
fn a_series_is_divided_where_clocks_skip_it() {
    let snapshot = snapshot_with([series(NEW_YORK, "2026-03-06T02:30", "FREQ=DAILY;COUNT=5")]);
    for named in ["2026-03-08T02:30", "2026-03-08T03:30"] {
        let split = rename(&snapshot, SeriesSelection::Following(local_time(named)));
        assert_eq!(split.events.len(), 2);
        assert_eq!(starts(&split, &march()), starts(&snapshot, &march()));
        let id = "piano_from_20260308T033000";
        let later = apply(&split, move_all(&split, id, SeriesSelection::All, 12 * 60));
        assert_eq!(
            starts(&later, &march())[2..],
            ["2026-03-08T15:30:00-04:00", "2026-03-09T15:30:00-04:00", "2026-03-10T15:30:00-04:00"]
        );
    }
}

/// R-FAM-98: an event without a rule is changed in place, and can become a series.
#[test]
fn a_single_event_is_changed_as_it_is() {
    let snapshot = snapshot_with([event("piano", NEW_YORK, "2026-03-03T17:00", 60)]);
    for which in [
        SeriesSelection::All,
        SeriesSelection::This(local_time("2026-03-03T17:00")),
        SeriesSelection::Following(local_time("2026-03-03T17:00")),
    ] {
        assert_eq!(titles(&rename(&snapshot, which)), rows(&[("03-03T17:00", "Recital")]));
    }
    let repeated = |rule: &'static str| {
        let recurrence = series(NEW_YORK, "2026-03-03T17:00", rule).recurrence;
        edit(&snapshot, "piano", SeriesSelection::All, time(NOW), move |event| event.recurrence = recurrence.clone())
    };
    assert_eq!(starts(&apply(&snapshot, repeated("FREQ=DAILY;COUNT=3")), &march()).len(), 3);
    assert!(repeated("FREQ=DAILY;BYDAY=XX").unwrap_err().to_string().contains("`BYDAY=XX`"));
}

/// R-FAM-98: an edit without effect returns no changes, and an impossible one is rejected with the reason.
#[test]
fn impossible_edits_are_rejected() {
    let snapshot = tuesdays(";COUNT=3");
    let this = SeriesSelection::This(local_time("2026-03-10T17:00"));
    for which in [this, SeriesSelection::Following(local_time("2026-03-10T17:00")), SeriesSelection::All] {
        assert!(edit(&snapshot, "piano", which, time(NOW), |_| {}).unwrap().is_empty());
    }
    let check_rejected = |result: Result<Vec<CalendarChange>>, part: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InputInvalid);
        assert!(error.to_string().contains(part), "{error}");
    };
    let nowhere = local_time("2026-03-11T17:00");
    check_rejected(cancel(&snapshot, "violin", this, time(NOW)), "event `violin` not found");
    check_rejected(
        cancel(&snapshot, "piano", SeriesSelection::This(nowhere), time(NOW)),
        "`Piano` does not start at 2026-03-11T17:00:00",
    );
    check_rejected(
        cancel(&snapshot, "piano", SeriesSelection::Following(nowhere), time(NOW)),
        "`Piano` does not start at",
    );
    check_rejected(edit(&snapshot, "piano", this, time(NOW), |event| event.id.push('x')), "cannot change `id`");
    let weekly = series(NEW_YORK, "2026-03-03T17:00", "FREQ=WEEKLY").recurrence;
    check_rejected(
        edit(&snapshot, "piano", this, time(NOW), |event| event.recurrence = weekly.clone()),
        "cannot have its own recurrence rule",
    );
    let monthly = snapshot_with([series(NEW_YORK, "2026-03-03T17:00", "FREQ=MONTHLY;BYMONTHDAY=3")]);
    check_rejected(
        move_all(&monthly, "piano", SeriesSelection::All, 24 * 60),
        "has no occurrence on 2026-03-04T17:00:00",
    );
}

/// One instance: original start, time range and title.
type Row = (Time, TimeRange, String);

fn instance_rows(snapshot: &CalendarSnapshot, zone: &NamedTimeZone) -> Vec<Row> {
    let row = |one: superstep_scheduler::calendar::EventInstance| {
        let original_start =
            one.event.recurrence_override.as_ref().map(|replaced| zone.to_instant(replaced.start).unwrap());
        (original_start.unwrap_or(one.span.start), one.span, one.event.title.clone())
    };
    let mut rows: Vec<_> = on(snapshot, &days("2024-01-01", "2027-01-01")).into_iter().map(row).collect();
    rows.sort_unstable();
    rows
}

#[derive(Debug, Clone)]
struct Case {
    zone: &'static str,
    first: DateTime,
    rule: String,
    /// Positions among the instances, in thousandths: excluded, overridden, and selected.
    excluded: Vec<usize>,
    changed: Vec<usize>,
    selected: usize,
    /// Days after the first start with an added occurrence.
    added: Vec<i64>,
}

impl Case {
    /// Creates the calendar and returns the start of the selected instance.
    fn snapshot(&self) -> Option<(CalendarSnapshot, DateTime)> {
        let zone = zone(self.zone);
        let mut event = series(self.zone, &self.first.to_string(), &self.rule);
        let later = |days: &i64| self.first.saturating_add(SignedDuration::from_hours(24 * days + 1));
        event.recurrence.as_mut()?.rdates = self.added.iter().map(later).collect();
        let mut snapshot = snapshot_with([event]);
        for position in &self.excluded {
            let start = nth_start(&snapshot, &zone, *position)?;
            snapshot = apply(&snapshot, cancel(&snapshot, "piano", SeriesSelection::This(start), time(NOW)));
        }
        for position in &self.changed {
            let start = nth_start(&snapshot, &zone, *position)?;
            snapshot = apply(
                &snapshot,
                edit(&snapshot, "piano", SeriesSelection::This(start), time(NOW), |event| {
                    event.title = "Moved".to_owned();
                    move_by(event, 180);
                }),
            );
        }
        let start = nth_start(&snapshot, &zone, self.selected)?;
        Some((snapshot, start))
    }
}

fn nth_start(snapshot: &CalendarSnapshot, zone: &NamedTimeZone, position: usize) -> Option<DateTime> {
    let rows = instance_rows(snapshot, zone);
    Some(zone.to_local(rows.get(position * rows.len() / 1_000)?.0))
}

fn any_case() -> impl Strategy<Value = Case> {
    let zone = prop::sample::select(vec![NEW_YORK, "Europe/Berlin", "Australia/Lord_Howe"]);
    let rule = prop::sample::select(vec![
        "FREQ=DAILY",
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=WEEKLY",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,SU",
        "FREQ=MONTHLY",
        "FREQ=WEEKLY;INTERVAL=3;WKST=SU;BYDAY=SA,SU",
        "FREQ=MONTHLY;BYDAY=2TU,-1FR",
        "FREQ=MONTHLY;BYMONTHDAY=1,15,-1",
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "FREQ=YEARLY;BYMONTH=3,10;BYDAY=SU",
        "FREQ=DAILY;BYHOUR=2,17",
        "FREQ=WEEKLY;BYDAY=TU,SU",
        "FREQ=HOURLY;INTERVAL=7;COUNT=300",
    ]);
    let end = prop::sample::select(vec!["", ";COUNT=7", ";COUNT=40", ";UNTIL=20250601", ";UNTIL=20251101T013000Z"]);
    let positions = || prop::collection::vec(0usize..1_000, 0..3);
    let day_and_time = (0i64..366, prop::sample::select(vec![(2, 15), (2, 45), (1, 30), (9, 0), (17, 30)]));
    (zone, rule, end, day_and_time, positions(), positions(), 0usize..1_000, prop::collection::vec(1i64..200, 0..2))
        .prop_map(|(zone, rule, end, (day, (hour, minute)), excluded, changed, selected, added)| {
            let day = local_time("2024-02-01T00:00").date().saturating_add(SignedDuration::from_hours(24 * day));
            let rule = if rule.contains("COUNT") { rule.to_owned() } else { format!("{rule}{end}") };
            Case { zone, first: day.at(hour, minute, 0, 0), rule, excluded, changed, selected, added }
        })
}

/// Returns true if a row is selected.
fn is_selected(which: SeriesSelection, at: Time, original_start: Time) -> bool {
    match which {
        SeriesSelection::This(_) => original_start == at,
        SeriesSelection::Following(_) => original_start >= at,
        SeriesSelection::All => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// R-FAM-98: after an edit that moves nothing, unselected instances are unchanged, and selected ones keep their
    /// time under the new title; overrides keep their title unless they are selected.
    #[test]
    fn an_edit_changes_only_selected_instances(case in any_case(), kind in 0usize..3) {
        let Some((snapshot, start)) = case.snapshot() else { return Err(TestCaseError::reject("no instance")) };
        let which = [SeriesSelection::This(start), SeriesSelection::Following(start), SeriesSelection::All][kind];
        let zone = zone(case.zone);
        let at = zone.to_instant(start).unwrap();
        let changed = match edit(&snapshot, "piano", which, time(NOW), |event| event.title = "Recital".to_owned()) {
            // Only an added occurrence may be rejected.
            Err(error) => {
                prop_assert!(error.to_string().contains("is an extra date") && !case.added.is_empty(), "{}", error);
                return Ok(());
            }
            changed => apply(&snapshot, changed),
        };
        let mut expected = instance_rows(&snapshot, &zone);
        for (original_start, _, title) in &mut expected {
            if is_selected(which, at, *original_start) && (title == "Piano" || kind == 0) {
                *title = "Recital".to_owned();
            }
        }
        expected.sort_unstable();
        prop_assert_eq!(instance_rows(&changed, &zone), expected);
    }

    /// R-FAM-98: after a cancellation, unselected instances are unchanged, and selected ones are removed.
    #[test]
    fn a_cancellation_removes_only_selected_instances(case in any_case(), kind in 0usize..3) {
        let Some((snapshot, start)) = case.snapshot() else { return Err(TestCaseError::reject("no instance")) };
        let which = [SeriesSelection::This(start), SeriesSelection::Following(start), SeriesSelection::All][kind];
        let zone = zone(case.zone);
        let at = zone.to_instant(start).unwrap();
        let cancelled = apply(&snapshot, cancel(&snapshot, "piano", which, time(NOW)));
        let mut expected = instance_rows(&snapshot, &zone);
        expected.retain(|(original_start, ..)| !is_selected(which, at, *original_start));
        prop_assert_eq!(instance_rows(&cancelled, &zone), expected);
    }

    /// R-FAM-98: a move shifts exactly the selected instances by the same local time, and leaves overrides in place.
    #[test]
    fn a_move_shifts_only_selected_instances(
        case in any_case(), kind in 0usize..3, minutes in prop::sample::select(vec![-45i64, 20, 75])
    ) {
        // Avoids skipped and repeated hours, so that local time alone determines the result.
        let case = Case { first: case.first.date().at(12, 0, 0, 0), ..case };
        prop_assume!(!case.rule.contains("BYHOUR") && !case.rule.contains("HOURLY"));
        let Some((snapshot, start)) = case.snapshot() else { return Err(TestCaseError::reject("no instance")) };
        let which = [SeriesSelection::This(start), SeriesSelection::Following(start), SeriesSelection::All][kind];
        let zone = zone(case.zone);
        let at = zone.to_instant(start).unwrap();
        let changes = match move_all(&snapshot, "piano", which, minutes) {
            // Only a start that does not match the rule may be rejected, because it cannot be moved as part of the rule.
            Err(error) => {
                prop_assert!(error.to_string().contains("has no occurrence on"), "{}", error);
                return Ok(());
            }
            changes => changes,
        };
        let moved = apply(&snapshot, changes);
        let shift = SignedDuration::from_mins(minutes);
        let later = |time: Time| zone.to_instant(zone.to_local(time).saturating_add(shift)).unwrap();
        let mut expected = instance_rows(&snapshot, &zone);
        for (original_start, span, title) in &mut expected {
            if is_selected(which, at, *original_start) && (title == "Piano" || kind == 0) {
                *span = TimeRange::new(later(span.start), later(span.end)).unwrap();
            }
        }
        let spans = |rows: Vec<Row>| {
            let mut spans: Vec<_> = rows.into_iter().map(|(_, span, title)| (span, title)).collect();
            spans.sort_unstable();
            spans
        };
        prop_assert_eq!(spans(instance_rows(&moved, &zone)), spans(expected));
    }
}
