//! Import of calendar files, and matching with existing events.

use jiff::civil::date;
use superstep_scheduler::calendar::{CalendarChange, Flexibility, Participant, Priority, TimeRange};
use superstep_scheduler::ics::{ReportEntry, import};
use superstep_scheduler::models::EventStatus;

use super::{APPLE, GOOGLE, OUTLOOK, event, millers, now, read, take, time, titled};

fn lines(entries: &[ReportEntry]) -> Vec<usize> {
    entries.iter().map(|entry| entry.line).collect()
}

/// R-FAM-99, R-FAM-96: an Outlook export with Windows time zones, and with a changed and a cancelled instance.
#[test]
fn an_export_of_outlook_is_read() {
    let mut snapshot = millers();
    let imported = take(&mut snapshot, OUTLOOK);
    assert_eq!(imported.report.problems, []);
    assert_eq!(imported.report.skipped, []);
    assert_eq!((imported.report.created.len(), imported.report.removed.len()), (4, 1));

    let soccer = titled(&snapshot, "Soccer practice");
    assert_eq!((soccer.zone.as_str(), soccer.sequence), ("America/New_York", 3));
    assert_eq!(soccer.span.start, time("2026-01-13T17:00:00-05:00"));
    let recurrence = soccer.recurrence.as_ref().unwrap();
    assert_eq!(recurrence.rule, "FREQ=WEEKLY;UNTIL=20260630T210000Z;BYDAY=TU");
    let five = |month, day| date(2026, month, day).at(17, 0, 0, 0);
    assert_eq!(recurrence.exdates, [five(1, 27), five(2, 3), five(2, 17)]);
    let participant = |member: &str, is_required| Participant { member: member.into(), is_required };
    assert_eq!(soccer.participants, [participant("emma", true), participant("dad", false)]);
    assert_eq!(soccer.resources, ["car"]);
    assert!(soccer.notes.ends_with("parking at the north gate.\n\nPath: C:\\Calendars\\soccer\n"), "{}", soccer.notes);
    assert!(soccer.preserved_properties.iter().any(|line| line.contains("Coach Rivera")));

    let override_event = titled(&snapshot, "Soccer practice (hall)");
    let replaced = override_event.recurrence_override.as_ref().unwrap();
    assert_eq!((replaced.series.as_str(), replaced.start), (soccer.id.as_str(), five(1, 20)));

    let holiday = titled(&snapshot, "Presidents' Day");
    assert!(holiday.is_all_day);
    let day = TimeRange::new(time("2026-02-16T00:00:00-05:00"), time("2026-02-17T00:00:00-05:00"));
    assert_eq!(Some(holiday.span), day);

    // A time zone that is defined only by its VTIMEZONE.
    let call = titled(&snapshot, "Call with Oma");
    assert_eq!((call.zone.as_str(), call.priority), ("Europe/Berlin", Priority::Critical));
    assert_eq!(call.span.start, time("2026-04-10T16:00:00+02:00"));

    let january = TimeRange::new(time("2026-01-01T00:00:00Z"), time("2026-02-12T00:00:00Z")).unwrap();
    let mut starts: Vec<String> =
        snapshot.instances(&january).unwrap().iter().map(|one| one.span.start.to_string()).collect();
    starts.sort_unstable();
    assert_eq!(starts, ["2026-01-13T17:00:00-05:00", "2026-01-20T18:30:00-05:00", "2026-02-10T17:00:00-05:00"]);
}

/// R-FAM-99, R-FAM-97: a series of a Google export keeps 5 pm across the daylight saving change.
#[test]
fn an_export_of_google_is_read() {
    let mut snapshot = millers();
    let imported = take(&mut snapshot, GOOGLE);
    assert_eq!((imported.report.problems, imported.report.created.len()), (vec![], 4));
    let dentist = titled(&snapshot, "Dentist 🦷");
    assert_eq!((dentist.zone.as_str(), dentist.span.minutes()), ("UTC", 60));
    assert_eq!(dentist.location, "Dr. Weiß, Hauptstraße 5");
    assert_eq!(dentist.participants.len(), 1);
    assert_eq!(dentist.preserved_properties.iter().filter(|line| *line == "BEGIN:VALARM").count(), 2);
    let march = TimeRange::new(time("2026-03-01T00:00:00Z"), time("2026-03-20T00:00:00Z")).unwrap();
    let starts: Vec<String> =
        snapshot.instances(&march).unwrap().iter().map(|one| one.span.start.to_string()).collect();
    assert_eq!(starts, ["2026-03-03T17:00:00-05:00", "2026-03-11T16:00:00-04:00", "2026-03-17T17:00:00-04:00"]);
}

/// R-FAM-99: an Apple export with DURATION, RDATE, all-day events and bare line feeds.
#[test]
fn an_export_of_apple_is_read() {
    let mut snapshot = millers();
    let imported = take(&mut snapshot, APPLE);
    assert_eq!((imported.report.problems, imported.report.created.len()), (vec![], 4));
    let dinner = titled(&snapshot, "Grandma's 80th 🎂🎉 — dinner; speeches, cake");
    assert_eq!(dinner.location, "Gasthaus \"Zur Linde\"\nAm Markt 1, 10115 Berlin");
    assert_eq!(dinner.priority, Priority::High);
    let choir = titled(&snapshot, "Choir breakfast");
    assert_eq!((choir.span.minutes(), choir.recurrence.as_ref().unwrap().rdates.len()), (90, 2));
    let holidays = titled(&snapshot, "Summer holidays");
    assert!(holidays.is_all_day);
    assert_eq!(holidays.span.end, time("2026-07-20T00:00:00-04:00"));
    let bin = titled(&snapshot, "Paper bin");
    assert_eq!(bin.recurrence.as_ref().unwrap().rule, "FREQ=WEEKLY;UNTIL=20260327;INTERVAL=2");
    assert_eq!(bin.resources, ["car"]);
}

/// R-FAM-99, R-FAM-129: a second import changes nothing, nor does importing a later export.
#[test]
fn importing_twice_changes_nothing() {
    for file in [OUTLOOK, GOOGLE, APPLE, super::BROKEN] {
        let mut snapshot = millers();
        let first = take(&mut snapshot, file);
        assert!(!first.changes.is_empty());
        let later = String::from_utf8(file.to_vec()).unwrap().replace("DTSTAMP:20260108", "DTSTAMP:20260601");
        for bytes in [file, later.as_bytes()] {
            let reimported = import(bytes, &snapshot, time("2027-01-01T00:00:00Z"), "diary", "mom").unwrap();
            assert_eq!(reimported.changes, []);
            let expected = first.report.created.len() + first.report.removed.len();
            assert_eq!(reimported.report.unchanged.len(), expected);
        }
    }
}

const DENTIST: &str = "UID:d@x\nDTSTART:20260110T193000Z\nDTEND:20260110T203000Z";

fn dentist(more: &str) -> String {
    event(&format!("{DENTIST}\n{more}"))
}

/// R-FAM-99: the higher SEQUENCE wins, then the later modification.
#[test]
fn only_a_newer_version_changes_an_event() {
    let mut snapshot = millers();
    take(&mut snapshot, dentist("SUMMARY:Dentist\nSEQUENCE:2\nLAST-MODIFIED:20260105T000000Z"));
    let id = titled(&snapshot, "Dentist").id.clone();
    for (more, outcome) in [
        ("SUMMARY:Old\nSEQUENCE:1\nLAST-MODIFIED:20260107T000000Z", "the calendar has SEQUENCE 2, the file 1"),
        ("SUMMARY:Old\nSEQUENCE:2\nLAST-MODIFIED:20260104T000000Z", "the calendar has a newer version than the file"),
        ("SUMMARY:Dentist\nSEQUENCE:2\nLAST-MODIFIED:20260109T000000Z", "unchanged"),
        ("SUMMARY:Later\nSEQUENCE:2\nLAST-MODIFIED:20260106T000000Z", "updated"),
        ("SUMMARY:Newer\nSEQUENCE:3\nLAST-MODIFIED:20260101T000000Z", "updated"),
    ] {
        let report = take(&mut snapshot, dentist(more)).report;
        let reason = report.skipped.first().map(|skipped| skipped.reason.as_str());
        let reason = reason.or(report.updated.first().map(|_| "updated"));
        assert_eq!(reason.or(report.unchanged.first().map(|_| "unchanged")), Some(outcome), "{more}");
    }
    assert_eq!(titled(&snapshot, "Newer").id, id);
    assert_eq!(snapshot.events.len(), 1);
}

/// R-FAM-99: within one file the newest version of an event wins, in any order.
#[test]
fn the_newest_version_of_an_event_wins() {
    let mut snapshot = millers();
    let version =
        |number: u32| format!("BEGIN:VEVENT\n{DENTIST}\nSUMMARY:Version {number}\nSEQUENCE:{number}\nEND:VEVENT\n");
    let report = take(&mut snapshot, super::calendar(&[version(1), version(3), version(2)].concat())).report;
    assert_eq!((lines(&report.created), report.skipped.len()), (vec![11], 2));
    assert_eq!(titled(&snapshot, "Version 3").sequence, 3);
}

/// R-FAM-99: fields that a file does not contain keep their value.
#[test]
fn an_import_keeps_fields_that_the_file_does_not_contain() {
    let mut snapshot = millers();
    import(dentist("SUMMARY:Dentist"), &snapshot, now(), "diary", "mom")
        .unwrap()
        .changes
        .into_iter()
        .for_each(|change| snapshot.apply(change));
    let mut existing = titled(&snapshot, "Dentist").clone();
    // The owner of a personal calendar participates in its events.
    assert_eq!(existing.participants, [Participant { member: "mom".into(), is_required: true }]);
    existing.flexibility = Flexibility::Fixed;
    existing.participants = vec![Participant { member: "emma".into(), is_required: false }];
    existing.resources = vec!["car".into()];
    snapshot.apply(CalendarChange::Event(Box::new(existing.clone())));
    take(&mut snapshot, dentist("SUMMARY:Dentist at noon\nSEQUENCE:1"));
    let updated = titled(&snapshot, "Dentist at noon");
    assert_eq!((&updated.calendar, &updated.owner), (&existing.calendar, &existing.owner));
    assert_eq!((&updated.participants, updated.flexibility), (&existing.participants, Flexibility::Fixed));
    assert_eq!(updated.resources, ["car"]);
    // A file that lists resources lists all of them; this says nothing about participants.
    for (sequence, line, resources) in [
        (2, "ATTENDEE;CUTYPE=RESOURCE;CN=Beamer:mailto:beamer@x.example", &[][..]),
        (3, "RESOURCES:the Volvo", &["car"][..]),
    ] {
        take(&mut snapshot, dentist(&format!("SUMMARY:Dentist at noon\nSEQUENCE:{sequence}\n{line}")));
        let updated = titled(&snapshot, "Dentist at noon");
        assert_eq!(updated.resources, resources, "{line}");
        assert_eq!(updated.participants, existing.participants, "{line}");
    }
}

const PIANO: &str =
    "UID:p@x\nDTSTART;TZID=America/New_York:20260106T170000\nDTEND;TZID=America/New_York:20260106T180000";

/// R-FAM-99, R-FAM-96: a cancelled instance becomes an excluded date, even if it was overridden before.
#[test]
fn a_cancelled_instance_is_left_out() {
    let mut snapshot = millers();
    let series = format!("{PIANO}\nRRULE:FREQ=WEEKLY\nSUMMARY:Piano");
    take(&mut snapshot, event(&series));
    let moved = "UID:p@x\nRECURRENCE-ID:20260113T220000Z\nDTSTART:20260114T220000Z\nDURATION:PT1H\nSUMMARY:Moved";
    take(&mut snapshot, event(moved));
    let replaced = titled(&snapshot, "Moved").recurrence_override.clone().unwrap();
    assert_eq!(replaced.start, date(2026, 1, 13).at(17, 0, 0, 0));

    let cancelled = event(&format!("{moved}\nSEQUENCE:1\nSTATUS:CANCELLED"));
    let report = take(&mut snapshot, &cancelled).report;
    assert_eq!(lines(&report.removed), [4]);
    assert_eq!(snapshot.events.len(), 1);
    assert_eq!(titled(&snapshot, "Piano").recurrence.as_ref().unwrap().exdates, [replaced.start]);
    assert_eq!(take(&mut snapshot, &cancelled).changes, []);
}

/// R-FAM-99: an old file does not cancel an instance if the calendar has a newer version of the instance or the
/// series.
#[test]
fn an_old_cancellation_of_an_instance_is_left_out() {
    let mut snapshot = millers();
    take(&mut snapshot, event(&format!("{PIANO}\nRRULE:FREQ=WEEKLY\nSUMMARY:Piano\nSEQUENCE:2")));
    let instance = |day: u8| format!("UID:p@x\nRECURRENCE-ID:202601{day}T220000Z\nDURATION:PT1H\nSUMMARY:Moved");
    take(&mut snapshot, event(&format!("{}\nDTSTART:20260114T220000Z\nSEQUENCE:3", instance(13))));
    let cancelled = |day: u8, sequence: u8| {
        let lines = format!("DTSTART:202601{day}T220000Z\nSEQUENCE:{sequence}\nSTATUS:CANCELLED");
        event(&format!("{}\n{lines}", instance(day)))
    };
    for (day, sequence, reason) in [
        (13, 1, "the calendar has SEQUENCE 3, the file 1"),
        (13, 2, "the calendar has SEQUENCE 3, the file 2"),
        (20, 1, "the calendar has SEQUENCE 2, the file 1"),
    ] {
        let imported = read(&snapshot, cancelled(day, sequence));
        assert_eq!((imported.changes.len(), imported.report.skipped[0].reason.as_str()), (0, reason));
    }
    assert_eq!(lines(&take(&mut snapshot, cancelled(13, 3)).report.removed), [4]);
    assert_eq!(lines(&take(&mut snapshot, cancelled(20, 2)).report.removed), [4]);
    assert_eq!(titled(&snapshot, "Piano").recurrence.as_ref().unwrap().exdates.len(), 2);
    assert_eq!(take(&mut snapshot, cancelled(20, 1)).report.skipped, [], "it is so already");
}

/// R-FAM-99, R-FAM-98: a newer version of a series removes the overrides of the old one, unless the file contains
/// them.
#[test]
fn no_instance_is_left_of_an_older_version() {
    let part = |lines: &str| format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n");
    let series = |hour: u8, sequence: u8, title: &str| {
        let times = format!("DTSTART;TZID=America/New_York:20260106T{hour}0000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY");
        part(&format!("UID:p@x\n{times}\nSEQUENCE:{sequence}\nSUMMARY:{title}"))
    };
    let moved = |day: u8| {
        let recurrence_id = format!("RECURRENCE-ID;TZID=America/New_York:202601{day}T170000");
        part(&format!(
            "UID:p@x\n{recurrence_id}\nDTSTART:202601{}T220000Z\nDURATION:PT1H\nSUMMARY:Moved {day}",
            day + 1
        ))
    };
    let mut snapshot = millers();
    take(&mut snapshot, super::calendar(&[series(17, 0, "Piano"), moved(13), moved(20)].concat()));
    take(&mut snapshot, super::calendar(&series(17, 1, "Organ")));
    assert_eq!(snapshot.events.len(), 3, "they stand for instances still");
    take(&mut snapshot, super::calendar(&[series(18, 2, "Organ"), moved(20)].concat()));
    assert_eq!(snapshot.events.len(), 2);
    titled(&snapshot, "Moved 20");
    take(&mut snapshot, super::calendar(&series(19, 3, "Organ")));
    assert_eq!(titled(&snapshot, "Organ").sequence, 3);
    assert_eq!(snapshot.events.len(), 1);
}

/// R-FAM-99: a cancelled event is removed once, with all its instances.
#[test]
fn a_cancelled_event_is_removed() {
    let mut snapshot = millers();
    take(&mut snapshot, OUTLOOK);
    let uid = titled(&snapshot, "Soccer practice").uid.clone();
    let cancelled = |sequence| {
        event(&format!(
            "UID:{uid}\nDTSTART:20260113T220000Z\nSEQUENCE:{sequence}\nSTATUS:CANCELLED\nSUMMARY:Soccer practice"
        ))
    };
    assert_eq!(read(&snapshot, cancelled(2)).changes, []);
    let imported = take(&mut snapshot, cancelled(4));
    assert_eq!(imported.report.removed.len(), 1);
    assert!(imported.changes.iter().any(|change| matches!(
        change,
        CalendarChange::Event(event) if event.status == EventStatus::Rejected && event.sequence == 4
    )));
    assert!(snapshot.events.values().all(|event| event.uid != uid));
    assert_eq!(read(&snapshot, cancelled(4)).report.skipped[0].reason, "it is cancelled and not on the calendar");
}

/// R-FAM-99: an invitation to one instance of a series is a single event until the series is imported.
#[test]
fn an_instance_finds_its_series_later() {
    let mut snapshot = millers();
    let instance = "UID:p@x\nRECURRENCE-ID;TZID=America/New_York:20260113T170000\nSUMMARY:Guest lesson\n\
                    DTSTART;TZID=America/New_York:20260113T180000\nDURATION:PT1H";
    take(&mut snapshot, event(instance));
    let alone = titled(&snapshot, "Guest lesson").clone();
    assert_eq!(alone.recurrence_override, None);
    assert!(super::written(&snapshot).contains("RECURRENCE-ID;TZID=America/New_York:20260113T170000\r\n"));
    assert_eq!(read(&snapshot, super::written(&snapshot)).changes, []);

    let series = format!("BEGIN:VEVENT\n{PIANO}\nRRULE:FREQ=WEEKLY\nSUMMARY:Piano\nEND:VEVENT\n");
    take(&mut snapshot, super::calendar(&format!("{series}BEGIN:VEVENT\n{instance}\nEND:VEVENT\n")));
    let guest_lesson = titled(&snapshot, "Guest lesson");
    assert_eq!(guest_lesson.id, alone.id);
    assert_eq!(guest_lesson.recurrence_override.as_ref().unwrap().series, titled(&snapshot, "Piano").id);
}

/// R-FAM-99: members and resources are matched by name, alias, email and full name; other attendees are preserved.
#[test]
fn attendees_are_matched_with_members() {
    let cases = [
        ("ATTENDEE;CN=Mom:mailto:x@y.example", Some(("mom", true))),
        ("ATTENDEE:MAILTO:Mom@Example.com", Some(("mom", true))),
        ("ATTENDEE;CN=peter;ROLE=OPT-PARTICIPANT:invalid:nomail", Some(("dad", false))),
        ("ATTENDEE;CN=\"Emma Miller\":mailto:e@x.example", Some(("emma", true))),
        ("ATTENDEE;CN=\"Emma Jones\":mailto:e@x.example", None),
        ("ATTENDEE;CN=Emma;PARTSTAT=DECLINED:mailto:e@x.example", None),
        ("ATTENDEE;CN=Emma;ROLE=NON-PARTICIPANT:mailto:e@x.example", None),
        ("ATTENDEE;CN=Nobody:urn:superstep:member:emma", Some(("emma", true))),
    ];
    for (line, expected) in cases {
        let mut snapshot = millers();
        take(&mut snapshot, dentist(&format!("SUMMARY:Dentist\n{line}")));
        let dentist = titled(&snapshot, "Dentist");
        let actual =
            dentist.participants.first().map(|participant| (participant.member.as_str(), participant.is_required));
        assert_eq!(actual, expected, "{line}");
        assert!(dentist.preserved_properties.iter().any(|preserved| preserved == line), "{line} is kept");
    }
}

/// R-FAM-99, R-FAM-97: all forms of date and time are converted to the same instants.
#[test]
fn times_are_read_in_every_form() {
    for (lines, start, end) in [
        // Without a time zone: the time zone of the family.
        ("DTSTART:20260110T140000\nDURATION:PT45M", "2026-01-10T14:00:00-05:00", "2026-01-10T14:45:00-05:00"),
        (
            "DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20260710T140000\nDURATION:PT1H",
            "2026-07-10T14:00:00+02:00",
            "2026-07-10T15:00:00+02:00",
        ),
        (
            "DTSTART;TZID=W. Europe Standard Time:20260710T140000\nDURATION:PT1H",
            "2026-07-10T14:00:00+02:00",
            "2026-07-10T15:00:00+02:00",
        ),
        // A duration of one day is a calendar day in local time, even if it has 23 hours.
        (
            "DTSTART;TZID=America/New_York:20260307T120000\nDURATION:P1D",
            "2026-03-07T12:00:00-05:00",
            "2026-03-08T12:00:00-04:00",
        ),
        (
            "DTSTART;TZID=America/New_York:20260307T120000\nDURATION:PT24H",
            "2026-03-07T12:00:00-05:00",
            "2026-03-08T13:00:00-04:00",
        ),
        // A local time skipped by daylight saving moves forward.
        (
            "DTSTART;TZID=America/New_York:20260308T023000\nDURATION:PT1H",
            "2026-03-08T03:30:00-04:00",
            "2026-03-08T04:30:00-04:00",
        ),
        // A duration of zero is not possible.
        ("DTSTART:20260110T190000Z", "2026-01-10T19:00:00Z", "2026-01-10T19:01:00Z"),
        ("DTSTART:20260110T190000Z\nDTEND:20260110T190000Z", "2026-01-10T19:00:00Z", "2026-01-10T19:01:00Z"),
        ("DTSTART;VALUE=DATE:20260110", "2026-01-10T00:00:00-05:00", "2026-01-11T00:00:00-05:00"),
        ("DTSTART:20260110", "2026-01-10T00:00:00-05:00", "2026-01-11T00:00:00-05:00"),
    ] {
        let mut snapshot = millers();
        let report = take(&mut snapshot, event(&format!("UID:t@x\nSUMMARY:T\n{lines}"))).report;
        assert_eq!(report.problems, [], "{lines}");
        let span = titled(&snapshot, "T").span;
        assert_eq!((span.start.to_string(), span.end.to_string()), (start.to_owned(), end.to_owned()), "{lines}");
    }
}
