//! Export of calendar files.

use insta::assert_snapshot;
use superstep_scheduler::calendar::{CalendarChange, Participant, Visibility};
use superstep_scheduler::ics::{ExportAudience, ExportOptions, export, import};

use super::{APPLE, GOOGLE, OUTLOOK, event, millers, now, take, titled, written};

/// R-FAM-99: a complete file with time zone, event and alarm.
#[test]
fn a_file_has_zone_event_and_alarm() {
    let mut snapshot = millers();
    let lines = "UID:p@x\nDTSTART;TZID=America/New_York:20260106T170000\nDURATION:PT45M\nRRULE:FREQ=WEEKLY;BYDAY=TU\n\
                 SUMMARY:Piano\nDTSTAMP:20260101T000000Z\nATTENDEE;CN=Emma:mailto:emma@x.example\nATTENDEE;CN=Mom:x:y\n\
                 RESOURCES:the Volvo,Piano\nEXDATE;TZID=America/New_York:20260113T170000\nX-COLOR:red\n\
                 BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:-PT10M\nEND:VALARM";
    take(&mut snapshot, event(lines));
    let mut piano = titled(&snapshot, "Piano").clone();
    piano.participants[1].is_required = false;
    snapshot.apply(CalendarChange::Event(Box::new(piano)));
    assert_snapshot!(written(&snapshot).replace("\r\n", "\n"), @r#"
    BEGIN:VCALENDAR
    VERSION:2.0
    PRODID:-//superstep//family scheduler//EN
    CALSCALE:GREGORIAN
    X-WR-CALNAME:Miller
    X-WR-TIMEZONE:America/New_York
    BEGIN:VTIMEZONE
    TZID:America/New_York
    BEGIN:STANDARD
    DTSTART:20251102T020000
    TZOFFSETFROM:-0400
    TZOFFSETTO:-0500
    TZNAME:EST
    RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU
    END:STANDARD
    BEGIN:DAYLIGHT
    DTSTART:20260308T020000
    TZOFFSETFROM:-0500
    TZOFFSETTO:-0400
    TZNAME:EDT
    RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU
    END:DAYLIGHT
    END:VTIMEZONE
    BEGIN:VEVENT
    UID:p@x
    DTSTAMP:20260101T000000Z
    DTSTART;TZID=America/New_York:20260106T170000
    DURATION:PT45M
    RRULE:FREQ=WEEKLY;BYDAY=TU
    EXDATE;TZID=America/New_York:20260113T170000
    SUMMARY:Piano
    ATTENDEE;CN=Emma:mailto:emma@x.example
    ATTENDEE;CN="Mom";ROLE=OPT-PARTICIPANT:mailto:mom@example.com
    RESOURCES:the Volvo,Piano
    STATUS:CONFIRMED
    SEQUENCE:0
    CREATED:20260101T000000Z
    LAST-MODIFIED:20260101T000000Z
    X-COLOR:red
    BEGIN:VALARM
    ACTION:DISPLAY
    TRIGGER:-PT10M
    END:VALARM
    END:VEVENT
    END:VCALENDAR
    "#);
}

/// R-FAM-99: no line exceeds 75 bytes, all end with CRLF, and no character is split.
#[test]
fn lines_are_folded_between_characters() {
    let mut snapshot = millers();
    for file in [OUTLOOK, GOOGLE, APPLE] {
        take(&mut snapshot, file);
    }
    let long = "äöü🎂".repeat(60);
    take(&mut snapshot, event(&format!("UID:long\nDTSTART:20260110\nSUMMARY:{long}")));
    let text = written(&snapshot);
    assert!(text.ends_with("END:VCALENDAR\r\n"));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.split("\r\n").all(|line| line.len() <= 75));
    assert!(text.split("\r\n").any(|line| line.len() == 75));
    assert!(text.replace("\r\n ", "").contains(&format!("SUMMARY:{long}\r\n")));
    // One VTIMEZONE for each zone in use.
    let zones: Vec<&str> = text.split("\r\n").filter(|line| line.starts_with("TZID:")).collect();
    assert_eq!(zones, ["TZID:America/New_York", "TZID:Europe/Berlin"]);
}

/// R-FAM-99: text cannot break out of its content line.
#[test]
fn text_cannot_break_out_of_its_line() {
    let mut snapshot = millers();
    take(&mut snapshot, event("UID:x\nDTSTART:20260110\nSUMMARY:T"));
    let mut evil = titled(&snapshot, "T").clone();
    evil.title = "T\r\nEND:VEVENT\nATTACH:x".to_owned();
    evil.uid = "x\r\nSTATUS:CANCELLED".to_owned();
    evil.preserved_properties =
        ["X-A:b\r\nEND:VEVENT", "BEGIN:VALARM", "no property", "END:VEVENT"].map(str::to_owned).to_vec();
    snapshot.apply(CalendarChange::Event(Box::new(evil)));
    let text = written(&snapshot);
    assert_eq!(text.matches("\r\nEND:VEVENT\r\n").count(), 1);
    assert!(text.contains("SUMMARY:T\\nEND:VEVENT\\nATTACH:x\r\n"));
    assert!(!text.contains("\r\nSTATUS:CANCELLED") && !text.contains("VALARM"));
}

/// R-FAM-99: wrong escaping of an imported file is corrected in the export, and the language of the text is kept.
#[test]
fn text_is_escaped_again_in_exports() {
    let mut snapshot = millers();
    let lines = "UID:x\nDTSTART:20260110\nSUMMARY;LANGUAGE=en:Bread, milk; eggs\\Nand \\\\ more\n\
                 LOCATION;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Caf=C3=A9\nDESCRIPTION:";
    take(&mut snapshot, event(lines));
    assert_eq!(titled(&snapshot, "Bread, milk; eggs\nand \\ more").location, "Café");
    let text = written(&snapshot);
    assert!(text.contains("\r\nSUMMARY;LANGUAGE=en:Bread\\, milk\\; eggs\\nand \\\\ more\r\n"), "{text}");
    assert!(text.contains("\r\nDESCRIPTION:\r\nLOCATION:Café\r\n"), "{text}");
}

/// R-FAM-99, R-FAM-109: a private event is exported to others as "busy" without any other property.
#[test]
fn private_events_are_busy_for_others() {
    let mut snapshot = millers();
    let file = "UID:secret@x\nDTSTART:20260110T190000Z\nDTEND:20260110T200000Z\nRRULE:FREQ=WEEKLY\nSUMMARY:Surprise\n\
                LOCATION:Bakery\nDESCRIPTION:Cake\nX-NOTE:candles\nPRIORITY:1\nATTENDEE;CN=Dad:mailto:dad@x.example";
    let imported = import(event(file), &snapshot, now(), "diary", "mom").unwrap();
    imported.changes.into_iter().for_each(|change| snapshot.apply(change));
    let export_for = |audience| export(&snapshot, &ExportOptions { audience, calendar: None }).unwrap();
    for reader in [ExportAudience::Public, ExportAudience::Member("emma".into())] {
        let text = export_for(reader);
        for secret in ["Surprise", "Bakery", "Cake", "candles", "secret@x", "Dad", "PRIORITY"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("SUMMARY:Busy\r\n") && text.contains("RRULE:FREQ=WEEKLY\r\n"), "{text}");
        assert!(text.contains("DTSTART:20260110T190000Z\r\nDTEND:20260110T200000Z\r\n"), "{text}");
    }
    for reader in
        [ExportAudience::FullBackup, ExportAudience::Member("mom".into()), ExportAudience::Member("dad".into())]
    {
        assert!(export_for(reader).contains("SUMMARY:Surprise\r\n"));
    }
    assert_eq!(snapshot.calendars["diary"].visibility, Visibility::Private);
    let family =
        export(&snapshot, &ExportOptions { audience: ExportAudience::FullBackup, calendar: Some("family".into()) })
            .unwrap();
    assert!(!family.contains("VEVENT"));
}

/// R-FAM-93, R-FAM-99: only confirmed events are exported.
#[test]
fn only_confirmed_events_are_written() {
    let mut snapshot = millers();
    take(&mut snapshot, event("UID:x\nDTSTART:20260110\nSUMMARY:T"));
    let mut proposed = titled(&snapshot, "T").clone();
    proposed.status = superstep_scheduler::models::EventStatus::Proposed;
    snapshot.apply(CalendarChange::Event(Box::new(proposed)));
    assert!(!written(&snapshot).contains("VEVENT"));
}

/// R-FAM-99: a preserved line of an imported file is exported only while it matches the event.
#[test]
fn preserved_lines_are_dropped_when_the_event_changes() {
    let mut snapshot = millers();
    take(&mut snapshot, OUTLOOK);
    let mut soccer = titled(&snapshot, "Soccer practice").clone();
    soccer.title = "Football practice".to_owned();
    soccer.participants = vec![Participant { member: "mom".into(), is_required: true }];
    soccer.resources.clear();
    soccer.sequence += 1;
    snapshot.apply(CalendarChange::Event(Box::new(soccer)));
    let text = written(&snapshot).replace("\r\n ", "");
    assert!(text.contains("\r\nSUMMARY:Football practice\r\n"), "{text}");
    assert!(text.contains("ATTENDEE;CN=\"Mom\";ROLE=REQ-PARTICIPANT:mailto:mom@example.com\r\n"), "{text}");
    assert!(text.contains("Coach Rivera"), "a guest stays");
    assert!(!text.contains("Emma Miller") && !text.contains("CUTYPE=RESOURCE"), "{text}");
}

/// R-FAM-97, R-FAM-99: the second of two equal local times is written unambiguously, in UTC.
#[test]
fn a_time_that_happens_twice_is_written_in_utc() {
    let mut snapshot = millers();
    let lines = "UID:x\nSUMMARY:Night\nDTSTART;TZID=America/New_York:20261101T003000\nDTEND:20261101T063000Z";
    take(&mut snapshot, event(lines));
    let text = written(&snapshot);
    assert!(text.contains("DTSTART;TZID=America/New_York:20261101T003000\r\nDTEND:20261101T063000Z\r\n"), "{text}");
}
