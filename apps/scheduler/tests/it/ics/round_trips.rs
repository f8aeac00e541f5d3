//! Import and export round trips.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{DateTime, date};
use proptest::prelude::*;
use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, Event, Flexibility, Participant, Priority, Recurrence, RecurrenceOverride,
    TimeRange,
};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::time_zone::NamedTimeZone;

use super::{APPLE, GOOGLE, OUTLOOK, event, millers, now, read, take, titled, written};

type Lines = BTreeSet<String>;

/// Returns the unfolded lines of each event by UID and RECURRENCE-ID; date lists are split, and time zone names
/// normalized.
fn events(file: &[u8]) -> BTreeMap<String, Lines> {
    let text = String::from_utf8(file.to_vec()).unwrap().replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "");
    let text = text.replace("\"Eastern Standard Time\"", "America/New_York");
    let text = text.replace("\"Customized Time Zone 1\"", "Europe/Berlin");
    let mut events = BTreeMap::new();
    for block in text.split("BEGIN:VEVENT\n").skip(1) {
        let block = block.split("END:VEVENT").next().unwrap();
        let mut lines = Lines::new();
        let mut alarm = String::new();
        for line in block.lines() {
            if line == "BEGIN:VALARM" || !alarm.is_empty() {
                alarm.push_str(line);
                alarm.push('\n');
                if line == "END:VALARM" {
                    lines.insert(std::mem::take(&mut alarm));
                }
            } else if line.starts_with("EXDATE") || line.starts_with("RDATE") {
                let (head, dates) = line.split_once(':').unwrap();
                lines.extend(dates.split(',').map(|date| format!("{head}:{date}")));
            } else if !line.starts_with("DTSTAMP:") {
                // DTSTAMP is the creation time of the file.
                lines.insert(line.to_owned());
            }
        }
        let find = |name: &str| lines.iter().find(|line| line.starts_with(name)).cloned().unwrap_or_default();
        events.insert(format!("{} {}", find("UID:"), find("RECURRENCE-ID")), lines);
    }
    events
}

/// R-FAM-99, R-FAM-129: added and excluded times of an all-day series are read as dates, so that an export and import
/// changes nothing.
#[test]
fn dates_of_an_all_day_series_have_no_time() {
    let mut snapshot = millers();
    take(
        &mut snapshot,
        event(
            "UID:x\nDTSTAMP:20260101T000000Z\nDTSTART;VALUE=DATE:20260706\nSUMMARY:Holidays\n\
             RRULE:FREQ=MONTHLY;COUNT=6\nRDATE:20260804T111213Z\nEXDATE:20260906T150000Z",
        ),
    );
    let recurrence = titled(&snapshot, "Holidays").recurrence.clone().unwrap();
    assert_eq!(recurrence.rdates, [date(2026, 8, 4).at(0, 0, 0, 0)]);
    assert_eq!(recurrence.exdates, [date(2026, 9, 6).at(0, 0, 0, 0)]);
    assert_eq!(read(&snapshot, written(&snapshot)).changes, []);
}

/// R-FAM-99: every property of a file survives an import and export, and no property is added.
#[test]
fn properties_survive_reading_and_writing() {
    for (name, file) in [("outlook", OUTLOOK), ("google", GOOGLE), ("apple", APPLE)] {
        let mut snapshot = millers();
        take(&mut snapshot, file);
        let (mut before, after) = (events(file), events(written(&snapshot).as_bytes()));
        // A cancelled instance becomes an excluded date.
        let cancelled: Vec<String> =
            before.iter().filter(|(_, lines)| lines.contains("STATUS:CANCELLED")).map(|(key, _)| key.clone()).collect();
        for key in cancelled {
            before.remove(&key);
            let (series, start) = key.split_once(" RECURRENCE-ID").unwrap();
            before.get_mut(&format!("{series} ")).unwrap().insert(format!("EXDATE{start}"));
        }
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{name}");
        for (key, lines) in &before {
            let lost: Vec<_> = lines.difference(&after[key]).collect();
            assert!(lost.is_empty(), "{name} {key} lost {lost:#?}");
            let new: Vec<_> = after[key].difference(lines).filter(|line| *line != "STATUS:CONFIRMED").collect();
            assert!(new.is_empty(), "{name} {key} has new {new:#?}");
        }
        // A second import changes nothing.
        assert_eq!(read(&snapshot, written(&snapshot)).changes, [], "{name}");
    }
}

/// Generates text with all characters that are special in calendar files.
fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-zA-Z0-9 ]{0,12}",
        2 => "[\\\\;,:\"'^=]{1,3}",
        1 => Just("\n".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("BEGIN:VEVENT".to_owned()),
        1 => Just("🎂".to_owned()),
        1 => Just("👩‍👩‍👧".to_owned()),
        1 => "\\PC{0,30}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn local_time() -> impl Strategy<Value = DateTime> {
    let day = (2020..2030_i16, 1..=12_i8, 1..=28_i8);
    (day, 0..24_i8, 0..60_i8)
        .prop_map(|((year, month, day), hour, minute)| date(year, month, day).at(hour, minute, 0, 0))
}

/// Returns a local time that exists in the zone: a skipped time is moved.
fn real(zone: &NamedTimeZone, local: DateTime) -> DateTime {
    zone.to_local(zone.to_instant(local).unwrap())
}

prop_compose! {
    fn recurrence(zone: NamedTimeZone, start: DateTime)(
        rule in prop::sample::select(vec!["", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=MONTHLY;COUNT=7", "FREQ=YEARLY;UNTIL=20400101T000000Z"]),
        left_out in prop::collection::btree_set(local_time(), 0..4),
        added in prop::collection::btree_set(local_time(), 0..4),
    ) -> Option<Recurrence> {
        let on_day = |local_times: std::collections::BTreeSet<DateTime>| -> Vec<DateTime> {
            let at_start_time = |local_time: DateTime| real(&zone, local_time.date().to_datetime(start.time()));
            let local_times = local_times.into_iter().map(at_start_time);
            local_times.collect::<BTreeSet<_>>().into_iter().collect()
        };
        let recurrence = Recurrence { rule: rule.to_owned(), exdates: on_day(left_out), rdates: on_day(added) };
        let is_any = !rule.is_empty() || !recurrence.exdates.is_empty() || !recurrence.rdates.is_empty();
        is_any.then_some(recurrence)
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let zones =
        prop::sample::select(vec!["America/New_York", "Europe/Berlin", "UTC", "Asia/Kolkata", "Australia/Lord_Howe"]);
    let texts = (words(), words(), words());
    let numbers = (0..4_usize, 0..3_usize, any::<u16>(), 1..5_000_i64);
    (zones, local_time(), any::<bool>(), texts, numbers)
        .prop_flat_map(|(zone, start, is_all_day, texts, numbers)| {
            let name = if is_all_day { "America/New_York" } else { zone };
            let zone = NamedTimeZone::from_iana_name(name).unwrap();
            let midnight = start.date().to_datetime(jiff::civil::Time::midnight());
            let start = if is_all_day { midnight } else { real(&zone, start) };
            (Just((zone.clone(), start, is_all_day, texts, numbers)), recurrence(zone, start), people())
        })
        .prop_map(|((zone, start, is_all_day, texts, numbers), recurrence, participants)| {
            build_event(&zone, start, is_all_day, texts, numbers, recurrence, participants)
        })
}

fn people() -> impl Strategy<Value = Vec<Participant>> {
    let members = prop::sample::subsequence(vec!["dad", "emma", "mom"], 0..=3);
    (members, any::<bool>()).prop_map(|(members, is_required)| {
        members.into_iter().map(|member| Participant { member: member.to_owned(), is_required }).collect()
    })
}

#[expect(clippy::too_many_arguments, reason = "all parts of an event at once")]
fn build_event(
    zone: &NamedTimeZone,
    start: DateTime,
    is_all_day: bool,
    (title, location, notes): (String, String, String),
    (priority, flexibility, sequence, length): (usize, usize, u16, i64),
    recurrence: Option<Recurrence>,
    participants: Vec<Participant>,
) -> Event {
    let begin = zone.to_instant(start).unwrap();
    let days = start.saturating_add(jiff::Span::new().days(1 + length % 9));
    let minutes = Time::from_unix_micros(begin.as_unix_micros() + length * 60_000_000).unwrap();
    let end = if is_all_day { zone.to_instant(days).unwrap() } else { minutes };
    Event {
        id: String::new(),
        uid: String::new(),
        calendar: "family".into(),
        title,
        span: TimeRange::new(begin, end).unwrap(),
        zone: zone.name().to_owned(),
        is_all_day,
        participants,
        resources: if length % 2 == 0 { vec!["car".to_owned()] } else { Vec::new() },
        recurrence,
        recurrence_override: None,
        priority: [Priority::Low, Priority::Medium, Priority::High, Priority::Critical][priority],
        flexibility: [Flexibility::Fixed, Flexibility::Preferred, Flexibility::Flexible][flexibility],
        status: EventStatus::Confirmed,
        owner: "dad".into(),
        sequence: u32::from(sequence),
        location,
        notes,
        preserved_properties: vec!["X-COLOR;A=\"b:c\":red;green,blue\\n".to_owned(), "CLASS:PUBLIC".to_owned()],
        created_at: super::time("2025-12-01T08:00:00Z"),
        updated_at: now(),
    }
}

/// Returns the events without their ids, for comparison.
fn without_timestamps(snapshot: &CalendarSnapshot) -> Vec<Event> {
    let mut events: Vec<Event> = snapshot.events.values().map(|event| (**event).clone()).collect();
    for event in &mut events {
        event.id.clear();
        event.preserved_properties.sort_unstable();
        if let Some(replaced) = &mut event.recurrence_override {
            replaced.series.clear();
        }
    }
    events.sort_by(|a, b| {
        (&a.uid, &a.recurrence_override.as_ref().map(|replaced| replaced.start))
            .cmp(&(&b.uid, &b.recurrence_override.as_ref().map(|replaced| replaced.start)))
    });
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// R-FAM-99: exported events are imported unchanged, by the same family and by another one.
    #[test]
    fn events_survive_writing_and_reading(
        generated in prop::collection::vec((any_event(), any_event(), any::<bool>()), 1..5)
    ) {
        let mut snapshot = millers();
        for (number, (mut event, mut other, is_series)) in generated.into_iter().enumerate() {
            event.uid = format!("event {number}; with, signs\\@x");
            event.id = format!("e{number}");
            if is_series {
                let start = NamedTimeZone::from_iana_name(&event.zone).unwrap().to_local(event.span.start);
                let recurrence_override = Some(RecurrenceOverride { series: event.id.clone(), start });
                other = Event { id: format!("x{number}"), uid: event.uid.clone(), recurrence_override, recurrence: None, ..other };
                snapshot.apply(CalendarChange::Event(Box::new(other)));
            }
            snapshot.apply(CalendarChange::Event(Box::new(event)));
        }
        let text = written(&snapshot);
        let reread = read(&snapshot, &text);
        prop_assert_eq!(&reread.report.problems, &[]);
        prop_assert_eq!(reread.changes, []);
        let mut empty = millers();
        prop_assert_eq!(take(&mut empty, &text).report.created.len(), snapshot.events.len());
        prop_assert_eq!(without_timestamps(&empty), without_timestamps(&snapshot));
        prop_assert_eq!(written(&empty), text);
    }
}
