//! Recurrence rules: comparison with dateutil, daylight saving changes, and rejected rules.

pub(crate) mod support;

use jiff::civil::Weekday;
use proptest::prelude::*;
use serde::Deserialize;
use superstep::ErrorCode;
use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    CalendarChange, Event, MAX_INSTANCES, RecurrenceOverride, TimeRange, validate_rrule,
};
use superstep_scheduler::models::EventStatus;

use support::{
    NEW_YORK, days, event, event_by_id, local_time, on, series, snapshot_with, starts, starts_of, time, zone,
};

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    zone: String,
    first: String,
    rule: String,
    left_out: Vec<String>,
    added: Vec<String>,
    starts: Vec<String>,
    is_whole: bool,
    skipped_by_clocks: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Skipped {
    dateutil: String,
    expected: String,
}

fn fixture() -> Vec<Case> {
    serde_json::from_str::<Fixture>(include_str!("recurrence/dateutil.json")).unwrap().cases
}

/// Returns the range from the first to the last start of a case, or far beyond if the case is complete.
fn window(case: &Case) -> TimeRange {
    let [first, last] = [&case.starts[0], &case.starts[case.starts.len() - 1]].map(|text| time(text).as_unix_micros());
    let beyond = if case.is_whole { 3_000 * 86_400_000_000 } else { 1 };
    let at = |micros| Time::from_unix_micros(micros).unwrap();
    TimeRange::new(at(first - 3_000 * 86_400_000_000), at(last + beyond)).unwrap()
}

/// R-FAM-96, R-FAM-97: the examples of RFC 5545 and many others have exactly the starts of dateutil, in order.
#[test]
fn recurrence_rules_match_dateutil() {
    let cases = fixture();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        let mut event = series(&case.zone, &case.first, &case.rule);
        let recurrence = event.recurrence.as_mut().unwrap();
        recurrence.exdates = case.left_out.iter().map(|text| local_time(text)).collect();
        recurrence.rdates = case.added.iter().map(|text| local_time(text)).collect();
        let expected: Vec<_> = case.starts.iter().map(|text| time(text).to_string()).collect();
        let actual = starts_of(event, &window(case));
        if actual != expected {
            failures.push(format!("{}: {} from {}\n  {actual:?}\n  {expected:?}", case.name, case.rule, case.first));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// R-FAM-97: if dateutil returns a nonexistent local time, the scheduler returns it later by the gap.
#[test]
fn times_that_clocks_skip_move_forward_by_the_gap() {
    let skipped: Vec<_> = fixture().into_iter().flat_map(|case| case.skipped_by_clocks).collect();
    assert!(skipped.len() >= 5);
    for Skipped { dateutil, expected } in skipped {
        let moved = local_time(&expected[..19]).duration_since(local_time(&dateutil));
        let gap = if expected.ends_with("+11:00") { 30 } else { 60 };
        assert_eq!(moved.as_mins(), gap, "{dateutil} {expected}");
    }
}

/// R-FAM-97, R-FAM-119: every Tuesday at 5 pm is at 5 pm before and after 8 March 2026.
#[test]
fn a_series_keeps_its_local_time() {
    let piano = series(NEW_YORK, "2026-03-03T17:00", "RRULE:FREQ=WEEKLY;BYDAY=TU");
    let occurrences = starts_of(piano, &days("2026-03-01", "2026-03-20"));
    assert_eq!(occurrences, ["2026-03-03T17:00:00-05:00", "2026-03-10T17:00:00-04:00", "2026-03-17T17:00:00-04:00"]);
}

/// R-FAM-97: an ambiguous local time means the first of the two; a series that starts at the second one keeps it.
#[test]
fn times_that_clocks_repeat_are_the_first() {
    let daily = series(NEW_YORK, "2026-10-31T01:30", "FREQ=DAILY;COUNT=3");
    let occurrences = starts_of(daily.clone(), &days("2026-10-01", "2026-12-01"));
    assert_eq!(occurrences[1], "2026-11-01T01:30:00-04:00");
    let start = time("2026-11-01T01:30:00-05:00");
    let second = Event { span: TimeRange::new(start, time("2026-11-01T02:30:00-05:00")).unwrap(), ..daily };
    let occurrences = starts_of(second, &days("2026-10-01", "2026-12-01"));
    assert_eq!(occurrences[..2], ["2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-05:00"]);
}

/// R-FAM-96, R-FAM-97: two local times at the same instant are one instance, and EXDATE matches both.
#[test]
fn one_moment_is_one_instance() {
    let mut twice = series(NEW_YORK, "2026-03-07T02:00", "FREQ=DAILY;BYHOUR=2,3;COUNT=6");
    let within = days("2026-03-08", "2026-03-09");
    assert_eq!(starts_of(twice.clone(), &within), ["2026-03-08T03:00:00-04:00"]);
    for name in ["2026-03-08T02:00", "2026-03-08T03:00"] {
        twice.recurrence.as_mut().unwrap().exdates = vec![local_time(name)];
        assert!(starts_of(twice.clone(), &within).is_empty(), "{name}");
    }
}

/// R-FAM-97: timed instances have equal exact durations; all-day events last complete local days.
#[test]
fn timed_events_keep_their_length_and_days_stay_days() {
    let night = Event {
        span: TimeRange::new(time("2026-03-06T22:00:00-05:00"), time("2026-03-07T06:00:00-05:00")).unwrap(),
        ..series(NEW_YORK, "2026-03-06T22:00", "FREQ=DAILY;COUNT=3")
    };
    let instances = on(&snapshot_with([night]), &days("2026-03-01", "2026-04-01"));
    assert_eq!(instances[1].span.end.to_string(), "2026-03-08T07:00:00-04:00");
    assert!(instances.iter().all(|instance| instance.span.minutes() == 480));

    let mut trip = series(NEW_YORK, "2026-03-06T00:00", "FREQ=WEEKLY;COUNT=2");
    trip.span = TimeRange::new(time("2026-02-28T00:00:00-05:00"), time("2026-03-02T00:00:00-05:00")).unwrap();
    trip.is_all_day = true;
    let instances = on(&snapshot_with([trip]), &days("2026-02-01", "2026-04-01"));
    assert_eq!(instances[1].span.start.to_string(), "2026-03-07T00:00:00-05:00");
    assert_eq!(instances[1].span.end.to_string(), "2026-03-09T00:00:00-04:00");
}

/// R-FAM-97: if daylight saving skips midnight, that day starts at 1 am and the next ones at midnight.
#[test]
fn days_without_midnight_are_days() {
    let mut day = series("America/Sao_Paulo", "2018-11-04T00:00", "FREQ=DAILY;COUNT=3");
    day.span = TimeRange::new(time("2018-11-04T01:00:00-02:00"), time("2018-11-05T00:00:00-02:00")).unwrap();
    day.is_all_day = true;
    let occurrences = starts_of(day, &days("2018-11-01", "2018-12-01"));
    assert_eq!(occurrences, ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00", "2018-11-06T00:00:00-02:00"]);
}

/// R-FAM-69, R-FAM-96: weekdays of a series are computed: every instance is a Saturday at 2 pm local time.
#[test]
fn saturdays_are_saturdays() {
    let soccer = series(NEW_YORK, "2026-01-10T14:00", "FREQ=WEEKLY;BYDAY=SA");
    let instances = on(&snapshot_with([soccer]), &days("2026-01-01", "2027-01-01"));
    assert_eq!(instances.len(), 51);
    for instance in instances {
        let local = zone(NEW_YORK).to_local(instance.span.start);
        assert_eq!((local.weekday(), local.hour()), (Weekday::Saturday, 14));
    }
}

/// R-FAM-96: rules where dateutil deviates from RFC 5545.
#[test]
fn rule_lists_follow_rfc_5545() {
    let first = |rule: &str, most: usize| {
        let occurrences = starts_of(series("UTC", "2026-01-07T09:00", rule), &days("2026-01-01", "2030-01-01"));
        occurrences.into_iter().take(most).map(|start| start[..10].to_owned()).collect::<Vec<_>>()
    };
    // The first Monday, and every Friday.
    assert_eq!(
        first("FREQ=MONTHLY;BYDAY=1MO,FR", 6),
        ["2026-01-09", "2026-01-16", "2026-01-23", "2026-01-30", "2026-02-02", "2026-02-06"]
    );
    // Week 20 on the weekday of the first start, a Wednesday.
    assert_eq!(first("FREQ=YEARLY;BYWEEKNO=20", 2), ["2026-05-13", "2027-05-19"]);
    // The first listed day of each week, also of the week in which the series starts after that day.
    assert_eq!(first("FREQ=WEEKLY;BYDAY=MO,FR;BYSETPOS=1", 2), ["2026-01-12", "2026-01-19"]);
}

/// R-FAM-128: an invalid rule is rejected with the invalid part.
#[test]
fn invalid_rules_are_rejected_by_their_part() {
    let rows = [
        ("FREQ=WEEKLY;BYDAY=XX", "`BYDAY=XX`: `XX` is not one of MO, TU"),
        ("FREQ=WEEKLY;BYDAY=", "`BYDAY=`"),
        ("FREQ=WEEKLY;BYDAY=2TU", "`BYDAY=2TU`"),
        ("FREQ=MONTHLY;BYDAY=6TU", "`BYDAY=6TU`"),
        ("FREQ=MONTHLY;BYDAY=0TU", "`BYDAY=0TU`"),
        ("FREQ=MONTHLY;BYDAY=xéTU", "`BYDAY="),
        ("FREQ=MONTHLY;BYDAY=é", "`BYDAY="),
        ("FREQ=FORTNIGHTLY", "`FREQ=FORTNIGHTLY`"),
        ("BYDAY=TU", "`FREQ`: is missing"),
        ("", "RRULE part ``"),
        ("every Tuesday", "RRULE part `EVERY TUESDAY`"),
        ("FREQ=DAILY;INTERVAL=0", "`INTERVAL=0`"),
        ("FREQ=DAILY;INTERVAL=-1", "`INTERVAL=-1`"),
        ("FREQ=DAILY;COUNT=0", "`COUNT=0`"),
        ("FREQ=DAILY;COUNT=10001", "`COUNT=10001`: a series that ends can have at most 10000"),
        ("FREQ=DAILY;COUNT=many", "`COUNT=MANY`"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20270101", "`UNTIL=20270101`: `COUNT` and `UNTIL` cannot be combined"),
        ("FREQ=DAILY;UNTIL=2027-01-01", "`UNTIL=2027-01-01`"),
        ("FREQ=DAILY;UNTIL=20270230", "`UNTIL=20270230`"),
        ("FREQ=DAILY;UNTIL=20200101", "`UNTIL=20200101`: with this the rule has no occurrence"),
        ("FREQ=DAILY;UNTIL=20990101", "`UNTIL=20990101`: a series that ends can have at most 10000"),
        ("FREQ=DAILY;BYMONTH=13", "`BYMONTH=13`"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "`BYMONTHDAY=32`"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "`BYMONTHDAY=0`"),
        ("FREQ=WEEKLY;BYMONTHDAY=3", "`BYMONTHDAY=3`: days of the month cannot be combined with `FREQ=WEEKLY`"),
        ("FREQ=MONTHLY;BYYEARDAY=3", "`BYYEARDAY=3`"),
        ("FREQ=MONTHLY;BYWEEKNO=3", "`BYWEEKNO=3`"),
        ("FREQ=DAILY;BYHOUR=24", "`BYHOUR=24`"),
        (
            "FREQ=DAILY;BYHOUR=8,9,10,11,12;BYMINUTE=0,10,20,30,40",
            "`BYHOUR=8,9,10,11,12;BYMINUTE=0,10,20,30,40`: has 25 occurrences a day; the maximum is 24",
        ),
        ("FREQ=MONTHLY;BYSETPOS=1", "`BYSETPOS=1`"),
        ("FREQ=WEEKLY;WKST=NO", "`WKST=NO`"),
        ("FREQ=WEEKLY;FREQ=DAILY", "`FREQ=DAILY`: `FREQ` occurs twice"),
        ("FREQ=WEEKLY;BYEASTER=1", "`BYEASTER=1`: RFC 5545 defines no part `BYEASTER`"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "`BYMONTH=2;BYMONTHDAY=30`: with this the rule has no occurrence"),
        ("FREQ=MONTHLY;BYDAY=1MO,2MO;BYSETPOS=3", "`BYSETPOS=3`: with this the rule has no occurrence"),
        ("FREQ=DAILY;BYMONTH=4;BYMONTHDAY=31", "`BYMONTH=4;BYMONTHDAY=31`"),
        ("FREQ=HOURLY", "`FREQ=HOURLY`: a rule that repeats within a day must end"),
        ("FREQ=MINUTELY;COUNT=1001", "`FREQ=MINUTELY`: a rule that repeats within a day can have at most 1000"),
        ("FREQ=SECONDLY;UNTIL=20270101", "`FREQ=SECONDLY`"),
        ("FREQ=HOURLY;COUNT=2;BYMONTH=2;BYMONTHDAY=30", "`BYMONTH=2;BYMONTHDAY=30`"),
    ];
    for (rule, part) in rows {
        let error = validate_rrule(rule, local_time("2026-03-03T17:00"), &zone(NEW_YORK)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InputInvalid, "{rule}");
        assert!(error.to_string().contains(part), "{rule}: {error}");
    }
}

/// R-FAM-128: a day that exists in no month of the rule is reported, whatever the day of the start, which may not
/// exist in those months either.
#[test]
fn a_day_that_no_month_has_is_named_whatever_the_start() {
    let rows = [
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "`BYMONTH=2;BYMONTHDAY=30`: with this the rule has no occurrence"),
        (
            "FREQ=MONTHLY;BYMONTHDAY=30,31;BYMONTH=2",
            "`BYMONTHDAY=30,31;BYMONTH=2`: with this the rule has no occurrence",
        ),
        ("FREQ=YEARLY;BYMONTH=2,4,11;BYMONTHDAY=-31", "`BYMONTH=2,4,11;BYMONTHDAY=-31`: with this the rule"),
    ];
    for (rule, part) in rows {
        for start in ["2026-03-03T17:00", "2026-11-30T17:00", "2026-12-31T17:00"] {
            let error = validate_rrule(rule, local_time(start), &zone(NEW_YORK)).unwrap_err();
            assert!(error.to_string().contains(part), "{rule} from {start}: {error}");
        }
    }
    // Every month has a first day counted from the end; a day that exists only in leap years is valid.
    for rule in ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-28", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29"] {
        assert!(validate_rrule(rule, local_time("2026-12-31T17:00"), &zone(NEW_YORK)).is_ok(), "{rule}");
    }
}

/// R-FAM-128: a rule that occurs every second is rejected before it is expanded, with or without an end.
#[test]
fn rules_of_every_second_are_rejected() {
    let all = |most: u32| (0..most).map(|one| one.to_string()).collect::<Vec<_>>().join(",");
    let day = format!("BYHOUR={};BYMINUTE={};BYSECOND={}", all(24), all(60), all(60));
    for rule in ["FREQ=DAILY", "FREQ=DAILY;COUNT=2", "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;UNTIL=20260401"] {
        let error =
            validate_rrule(&format!("{rule};{day}"), local_time("2026-03-03T17:00"), &zone(NEW_YORK)).unwrap_err();
        assert!(error.to_string().contains("has 86400 occurrences a day; the maximum is 24"), "{rule}: {error}");
    }
    let hourly = format!("FREQ=DAILY;BYHOUR={}", all(24));
    assert_eq!(validate_rrule(&hourly, local_time("2026-03-03T17:00"), &zone(NEW_YORK)).unwrap().count, None);
}

/// R-FAM-96, R-FAM-128: a valid rule is normalized and returned with its number of occurrences and first start.
#[test]
fn good_rules_are_counted() {
    let rows = [
        ("RRULE:FREQ=WEEKLY;BYDAY=TU", "FREQ=WEEKLY;BYDAY=TU", "2026-03-03T17:00", None),
        (" freq=weekly;byday=we,fr; ", "FREQ=WEEKLY;BYDAY=WE,FR", "2026-03-04T17:00", None),
        ("FREQ=DAILY;COUNT=10000", "FREQ=DAILY;COUNT=10000", "2026-03-03T17:00", Some(MAX_INSTANCES)),
        ("FREQ=DAILY;UNTIL=20260305", "FREQ=DAILY;UNTIL=20260305", "2026-03-03T17:00", Some(3)),
        ("FREQ=DAILY;UNTIL=20260305T165959", "FREQ=DAILY;UNTIL=20260305T165959", "2026-03-03T17:00", Some(2)),
        ("FREQ=DAILY;UNTIL=20260305T220000Z", "FREQ=DAILY;UNTIL=20260305T220000Z", "2026-03-03T17:00", Some(3)),
        ("FREQ=HOURLY;INTERVAL=4;COUNT=30", "FREQ=HOURLY;INTERVAL=4;COUNT=30", "2026-03-03T17:00", Some(30)),
        (
            "FREQ=SECONDLY;INTERVAL=30;COUNT=2;BYMONTH=6",
            "FREQ=SECONDLY;INTERVAL=30;COUNT=2;BYMONTH=6",
            "2026-06-01T00:00",
            Some(2),
        ),
        (
            "FREQ=YEARLY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=29",
            "FREQ=YEARLY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=29",
            "2032-02-29T17:00",
            None,
        ),
    ];
    for (input, rule, first, count) in rows {
        let checked = validate_rrule(input, local_time("2026-03-03T17:00"), &zone(NEW_YORK)).unwrap();
        assert_eq!((checked.rule.as_str(), checked.first, checked.count), (rule, local_time(first), count));
    }
}

/// R-FAM-96: excluded and added starts, and RDATE without a rule.
#[test]
fn starts_are_left_out_and_added() {
    let mut event = series(NEW_YORK, "2026-03-03T17:00", "");
    let recurrence = event.recurrence.as_mut().unwrap();
    recurrence.rdates =
        vec![local_time("2026-03-05T18:00"), local_time("2026-03-01T09:00"), local_time("2026-03-03T17:00")];
    let within = days("2026-02-01", "2026-04-01");
    let all = ["2026-03-01T09:00:00-05:00", "2026-03-03T17:00:00-05:00", "2026-03-05T18:00:00-05:00"];
    assert_eq!(starts_of(event.clone(), &within), all);
    event.recurrence.as_mut().unwrap().exdates = vec![local_time("2026-03-03T17:00")];
    assert_eq!(starts_of(event, &within), [all[0], all[2]]);
}

/// R-FAM-96: an override replaces its instance once it has reached the status of the series; a proposed one does
/// not.
#[test]
fn overrides_replace_their_instance() {
    let piano = series(NEW_YORK, "2026-03-03T17:00", "FREQ=WEEKLY;COUNT=3");
    let moved = Event {
        recurrence_override: Some(RecurrenceOverride {
            series: "piano".to_owned(),
            start: local_time("2026-03-10T17:00"),
        }),
        status: EventStatus::Proposed,
        ..event("moved", NEW_YORK, "2026-03-11T08:00", 60)
    };
    let within = days("2026-03-01", "2026-04-01");
    let mut snapshot = snapshot_with([piano, moved.clone()]);
    assert_eq!(starts(&snapshot, &within).len(), 4);
    snapshot.apply(CalendarChange::Event(Box::new(Event { status: EventStatus::Confirmed, ..moved.clone() })));
    let occurrences = starts(&snapshot, &within);
    assert_eq!(occurrences, ["2026-03-03T17:00:00-05:00", "2026-03-11T08:00:00-04:00", "2026-03-17T17:00:00-04:00"]);
    assert_eq!(snapshot.overrides_of("piano").map(|one| one.id.as_str()).collect::<Vec<_>>(), ["moved"]);
    snapshot.apply(CalendarChange::RemoveEvent("moved".to_owned()));
    assert_eq!(starts(&snapshot, &within)[1], "2026-03-10T17:00:00-04:00");
    assert_eq!(snapshot.overrides_of("piano").count(), 0);
}

/// R-FAM-96: the expansion cache is not part of a calendar's value: copies are equal, a changed series is expanded
/// again, and an event outside of the calendar is expanded as given.
#[test]
fn a_changed_series_is_expanded_again() {
    let within = days("2026-03-01", "2026-03-20");
    let mut snapshot = snapshot_with([series(NEW_YORK, "2026-03-03T17:00", "FREQ=WEEKLY")]);
    let untouched = snapshot.clone();
    assert_eq!(starts(&snapshot, &within).len(), 3);
    assert_eq!(snapshot, untouched);
    snapshot.apply(CalendarChange::Event(Box::new(series(NEW_YORK, "2026-03-03T17:00", "FREQ=DAILY;COUNT=5"))));
    assert_eq!(starts(&snapshot, &within).len(), 5);
    assert_eq!(starts(&untouched, &within).len(), 3);
    let candidate = std::sync::Arc::new(series(NEW_YORK, "2026-03-03T17:00", "FREQ=DAILY;COUNT=2"));
    assert_eq!(snapshot.instances_of(&candidate, &within).unwrap().len(), 2);
    assert!(snapshot.instances_of(&event_by_id(&snapshot, "piano"), &within).unwrap().len() == 5);
}

/// R-FAM-96: a far time range is reached without expanding everything before it, and the maximum time is handled.
#[test]
fn far_windows_are_reached() {
    let event = series(NEW_YORK, "1990-01-01T09:00", "FREQ=DAILY");
    assert_eq!(starts_of(event.clone(), &days("9000-01-01", "9000-01-08")).len(), 7);
    assert_eq!(starts_of(event, &days("9999-12-01", "9999-12-29")).len(), 28);
    let never = series(NEW_YORK, "1990-01-01T09:00", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30");
    assert!(starts_of(never, &days("2026-01-01", "2027-01-01")).is_empty());
}

fn any_rule() -> impl Strategy<Value = String> {
    let frequency = prop::sample::select(vec!["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]);
    let part = prop::sample::select(vec![
        "",
        "INTERVAL=2",
        "INTERVAL=3;WKST=SU",
        "BYDAY=MO,WE,SU",
        "BYDAY=TU",
        "BYMONTH=1,3,11",
        "BYMONTHDAY=1,15,-1",
        "BYDAY=1MO,-1FR",
        "BYDAY=SA,SU;BYSETPOS=-1",
        "BYHOUR=2,17",
        "BYMONTH=3;BYDAY=SU",
        "BYYEARDAY=1,-1",
    ]);
    (frequency, part).prop_map(|(frequency, part)| format!("FREQ={frequency};{part}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// R-FAM-96, R-FAM-97: expanding any time range returns the part of the complete expansion in that range.
    #[test]
    fn a_window_is_part_of_the_complete_expansion(
        rule in any_rule(), first in 0i64..700, from in 0i64..3_000, length in 1i64..400
    ) {
        let first = local_time("2024-01-01T02:15").saturating_add(jiff::SignedDuration::from_hours(first * 25)).to_string();
        prop_assume!(validate_rrule(&rule, local_time(&first), &zone(NEW_YORK)).is_ok());
        let snapshot = snapshot_with([series(NEW_YORK, &first, &rule)]);
        let at = |day: i64| Time::from_unix_micros(1_704_067_200_000_000 + day * 86_400_000_000).unwrap();
        let window = TimeRange::new(at(from), at(from + length)).unwrap();
        let all = on(&snapshot, &TimeRange::new(at(-10), at(4_000)).unwrap());
        let expected: Vec<_> = all.into_iter().filter(|instance| instance.span.overlaps(&window)).collect();
        prop_assert_eq!(on(&snapshot, &window), expected);
    }

    /// R-FAM-128: any text is accepted or rejected as a rule without a panic.
    #[test]
    fn no_rule_makes_the_check_panic(
        rule in "\\PC{0,40}|(RRULE:)?FREQ=(YEARLY|MONTHLY|WEEKLY|DAILY|HOURLY|MINUTELY);\
            ((COUNT|INTERVAL|UNTIL|BYDAY|BYMONTHDAY|BYSETPOS|BYWEEKNO|BYYEARDAY|BYHOUR|WKST)=[-0-9MOTUFRZ,]{1,9};?){0,4}"
    ) {
        let check = |rule: &str| validate_rrule(rule, local_time("2026-03-03T17:00"), &zone(NEW_YORK));
        // A normalized rule is valid.
        prop_assert!(check(&rule).is_err() || check(&check(&rule).unwrap().rule).is_ok());
    }
}
