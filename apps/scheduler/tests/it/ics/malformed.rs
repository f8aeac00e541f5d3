//! Malformed calendar files.

use insta::assert_snapshot;
use proptest::prelude::*;
use superstep::ErrorCode;
use superstep_scheduler::calendar::MAX_INSTANCES;
use superstep_scheduler::ics::{ImportReport, MAX_BYTES, MAX_EVENTS, import};

use super::{APPLE, BROKEN, GOOGLE, OUTLOOK, calendar, event, millers, now, read, take, titled};

fn format_report(report: &ImportReport) -> String {
    let mut lines = Vec::new();
    let kinds = [("created", &report.created), ("updated", &report.updated), ("unchanged", &report.unchanged)];
    for (kind, entries) in kinds {
        lines.extend(entries.iter().map(|entry| format!("{kind} line {}: {}", entry.line, entry.title)));
    }
    let skipped = |skipped: &superstep_scheduler::ics::SkippedEntry| {
        format!("skipped line {}: {} ({})", skipped.entry.line, skipped.entry.title, skipped.reason)
    };
    lines.extend(report.skipped.iter().map(skipped));
    lines.extend(report.problems.iter().map(|problem| format!("problem {problem}")));
    lines.join("\n")
}

/// R-FAM-129, R-FAM-99: valid events are imported, invalid ones reported with line and property.
#[test]
fn bad_events_do_not_stop_good_ones() {
    let mut snapshot = millers();
    let imported = take(&mut snapshot, BROKEN);
    let report = format_report(&imported.report);
    // The message about an invalid rule comes from the recurrence module, so only its prefix is checked here.
    let (rule, others): (Vec<&str>, Vec<&str>) = report.lines().partition(|line| line.contains("RRULE"));
    assert!(rule[0].starts_with("skipped line 18: No such weekday (line 21, RRULE: "), "{rule:?}");
    assert!(rule[1].starts_with("problem line 21, RRULE: "), "{rule:?}");
    assert_snapshot!(others.join("\n"), @r"
    created line 5: Good one
    created line 34: Under water
    created line 40: Nameless
    created line 53: After the cut
    skipped line 13: Thirtieth of February (line 15, DTSTART: `20260230T190000Z` is not a date or a time)
    skipped line 24: When? (line 24, DTSTART: is missing)
    skipped line 28: Ends before it starts (line 31, DTEND: is before DTSTART)
    skipped line 45: Buy milk (VTODO is not an event)
    skipped line 49: Cut off (line 49, VEVENT: has no END:VEVENT)
    skipped line 61:  (line 61, VEVENT: has no END:VEVENT)
    problem line 1, VCALENDAR: `this is not a calendar line` is outside of a component
    problem line 2, VCALENDAR: has no END:VCALENDAR
    problem line 10, VEVENT: `just some words` is not a property
    problem line 15, DTSTART: `20260230T190000Z` is not a date or a time
    problem line 24, DTSTART: is missing
    problem line 31, DTEND: is before DTSTART
    problem line 36, DTSTART: time zone `Atlantis/Capital` is unknown; read as America/New_York
    problem line 37, DTEND: time zone `Atlantis/Capital` is unknown; read as America/New_York
    problem line 40, UID: is missing; it was derived from the content of the event
    problem line 49, VEVENT: has no END:VEVENT
    problem line 58, PRIORITY: is not a number from 0 to 9
    problem line 60, VALARM: has an END without a BEGIN
    problem line 61, VEVENT: has no END:VEVENT
    ");
    assert_eq!(titled(&snapshot, "Under water").zone, "America/New_York");
}

/// R-FAM-99: line numbers refer to the file before unfolding.
#[test]
fn a_problem_names_its_line_after_folded_lines() {
    let folded = "UID:x\nDESCRIPTION:one\n  two\n \tthree\nDTSTART:2026-01-10";
    let text = event("").replace("BEGIN:VEVENT\r\n", &format!("BEGIN:VEVENT\r\n{}\r\n", folded.replace('\n', "\r\n")));
    let report = read(&millers(), text).report;
    let problem = &report.problems[0];
    assert_eq!((problem.line, problem.property.as_str()), (9, "DTSTART"), "{problem}");
    assert_eq!(report.skipped[0].entry.line, 4);
}

/// R-FAM-99, R-FAM-128: a value that cannot be computed or stored is rejected with its property.
#[test]
fn a_property_that_cannot_be_read_is_named() {
    let minute = |index: usize| format!("202602{:02}T{:02}{:02}00Z", index / 1_440 + 1, index / 60 % 24, index % 60);
    let added: Vec<String> = (0..=MAX_INSTANCES).map(minute).collect();
    for (lines, property) in [
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=SOMETIMES", "RRULE"),
        ("DTSTART:20260110T190000Z\nRRULE:", "RRULE"),
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=SECONDLY", "RRULE"),
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=WEEKLY;BYDAY=-1\u{99}U", "RRULE"),
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "RRULE"),
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY", "EXRULE"),
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=DAILY\nEXDATE:yesterday", "EXDATE"),
        ("DTSTART:20260110T190000Z\nDURATION:an hour", "DURATION"),
        ("DTSTART:20260110T190000Z\nDURATION:-PT1H", "DURATION"),
        ("DTSTART:20260110T190000Z\nDTEND;VALUE=DATE:20260112", "DTEND"),
        ("DTSTART:20260110T190000Z\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260110T190000Z", "RECURRENCE-ID"),
        ("DTSTART:20260110T190000Z\nRECURRENCE-ID:99991231T235959Z", "RECURRENCE-ID"),
        ("DTSTART:20260110T190000Z\nRDATE:99991231T235959Z", "RDATE"),
        ("DTSTART:20260110T190000Z\nDURATION:P400000W", "DURATION"),
        ("DTSTART:20260110T190000Z\nDURATION:P53W", "DURATION"),
        ("DTSTART:20260110\nDTEND:20270113", "DTEND"),
        ("DTSTART:20260110T190000Z\nRRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5", "RRULE"),
        (&format!("DTSTART:20260110T190000Z\nRDATE:{}", added.join(",")), "RDATE"),
        ("DTSTART:20260110T190000Z\nDURATION:PT4294967295H", "DURATION"),
        ("DTSTART:20260110T250000Z", "DTSTART"),
        ("DTSTART:20260110T190000Z,20260111T190000Z", "DTSTART"),
    ] {
        let imported = read(&millers(), event(&format!("UID:x\nSUMMARY:X\n{lines}")));
        let problems = &imported.report.problems;
        assert_eq!(problems.first().map(|problem| problem.property.as_str()), Some(property), "{lines}: {problems:?}");
        assert_eq!((imported.changes.len(), imported.report.skipped.len()), (0, 1), "{lines}");
    }
}

/// R-FAM-129: data that is not a calendar file is rejected completely.
#[test]
fn a_file_that_is_no_calendar_is_rejected() {
    let snapshot = millers();
    for file in
        [&b""[..], b"hello", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"BEGIN:VCARD\nFN:Emma\nEND:VCARD\n", &[0xff; 5000]]
    {
        let error = import(file, &snapshot, now(), "family", "dad").unwrap_err();
        assert_eq!(error.code(), ErrorCode::InputInvalid);
        assert!(error.message().contains("not a calendar file"), "{error}");
    }
    let large = event(&format!("UID:x\nDTSTART:20260110\nDESCRIPTION:{}", "x".repeat(MAX_BYTES)));
    let error = import(large, &snapshot, now(), "family", "dad").unwrap_err();
    assert!(error.message().contains("the maximum is 10485760"), "{error}");
    let one = |index: usize| format!("BEGIN:VEVENT\nUID:{index}\nDTSTART:20260110\nEND:VEVENT\n");
    let many = calendar(&(0..=MAX_EVENTS).map(one).collect::<String>());
    let error = import(many, &snapshot, now(), "family", "dad").unwrap_err();
    assert!(error.message().contains("5001 events; the maximum is 5000"), "{error}");
    assert_eq!(import(GOOGLE, &snapshot, now(), "nowhere", "dad").unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(import(GOOGLE, &snapshot, now(), "family", "nobody").unwrap_err().code(), ErrorCode::NotFound);
}

/// R-FAM-129: unclosed and nested components affect only themselves.
#[test]
fn unclosed_components_affect_only_themselves() {
    let good = "BEGIN:VEVENT\nUID:good\nDTSTART:20260110T190000Z\nSUMMARY:Good\nEND:VEVENT\n";
    let deep = "BEGIN:X-BOX\n".repeat(100_000);
    for bad in [
        format!("BEGIN:VEVENT\nUID:bad\nDTSTART:20260110T190000Z\n{deep}END:VEVENT\n"),
        "BEGIN:VEVENT\nUID:bad\nDTSTART:20260110T190000Z\nBEGIN:VALARM\nACTION:DISPLAY\nEND:VEVENT\n".to_owned(),
        "BEGIN:VEVENT\nUID:bad\nDTSTART:20260110T190000Z\n".to_owned(),
    ] {
        let imported = read(&millers(), calendar(&format!("{bad}{good}")));
        assert_eq!((imported.changes.len(), imported.report.skipped.len()), (1, 1));
        assert_eq!(imported.report.problems.len(), 1);
    }
}

/// R-FAM-129: a line in another encoding is decoded as Latin-1 and reported; a character split by a fold is not
/// corrupted.
#[test]
fn characters_are_read_in_spite_of_folds_and_encodings() {
    let mut snapshot = millers();
    let text = event("UID:x\nDTSTART:20260110T190000Z\nSUMMARY:Caf? Weiß");
    let mut bytes = text.into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'?').unwrap();
    bytes[at] = 0xe9;
    let sharp = bytes.iter().position(|byte| *byte == 0xc3).unwrap();
    bytes.drain(sharp..sharp + 2);
    let report = take(&mut snapshot, bytes).report;
    assert_eq!(titled(&snapshot, "Café Wei").uid, "x");
    assert_eq!((report.problems[0].line, report.problems[0].property.as_str()), (7, "SUMMARY"));

    let mut snapshot = millers();
    let mut bytes = event("UID:x\nDTSTART:20260110T190000Z\nSUMMARY:Weiß").into_bytes();
    let offset = bytes.iter().position(|byte| *byte == 0xc3).unwrap() + 1;
    bytes.splice(offset..offset, *b"\r\n ");
    assert_eq!(take(&mut snapshot, bytes).report.problems, []);
    titled(&snapshot, "Weiß");
}

/// R-FAM-129: the number of problems in a report is limited.
#[test]
fn the_report_lists_only_so_many_problems() {
    let report = read(&millers(), event(&format!("UID:x\nDTSTART:20260110\n{}", "nonsense\n".repeat(3_000)))).report;
    assert_eq!((report.problems.len(), report.more_problems, report.created.len()), (1_000, 2_000, 1));
}

/// Mutates a file: truncates, duplicates, swaps or overwrites bytes.
fn mutated(mut file: Vec<u8>, changes: &[(usize, u8, u8)]) -> Vec<u8> {
    for (position, kind, byte) in changes {
        let at = position % file.len().max(1);
        match kind % 5 {
            0 => file.truncate(at),
            1 => file.insert(at.min(file.len()), *byte),
            2 if at < file.len() => file[at] = *byte,
            3 => {
                let end = (at + usize::from(*byte)).min(file.len());
                file.drain(at.min(end)..end);
            }
            _ => {
                let end = (at + usize::from(*byte)).min(file.len());
                let piece = file[at.min(end)..end].to_vec();
                file.splice(at.min(end)..at.min(end), piece);
            }
        }
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// R-FAM-129: no mutation of a file causes more than a report, and what was imported survives an export and
    /// import.
    #[test]
    fn mutated_files_are_reported_and_imports_round_trip(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..12),
    ) {
        let file = mutated([OUTLOOK, GOOGLE, APPLE, BROKEN][which].to_vec(), &changes);
        let mut snapshot = millers();
        if let Ok(imported) = import(&file, &snapshot, now(), "family", "dad") {
            imported.changes.into_iter().for_each(|change| snapshot.apply(change));
            let text = super::written(&snapshot);
            prop_assert_eq!(import(text, &snapshot, now(), "family", "dad").unwrap().changes, []);
        }
    }

    /// R-FAM-129: any other text is rejected or imported without a panic.
    #[test]
    fn any_calendar_text_is_rejected_or_imported(lines in prop::collection::vec("(BEGIN|END|DTSTART|RRULE|ATTENDEE|EXDATE|X-A|TZID)[:;=,\"\\\\]?(VEVENT|VCALENDAR|VTIMEZONE|[ -~é]{0,20})", 0..40)) {
        let _ = import(lines.join("\n"), &millers(), now(), "family", "dad");
        let imported = import(event(&lines.join("\n")), &millers(), now(), "family", "dad").unwrap();
        // No line creates more than one event.
        prop_assert!(imported.changes.len() <= lines.len() + 1);
    }

    /// R-FAM-128, R-FAM-129: any recurrence rule is rejected or imported without a panic.
    #[test]
    fn any_recurrence_rule_is_rejected_or_imported(
        often in "FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)",
        parts in prop::collection::vec("(INTERVAL|COUNT|UNTIL|BYDAY|BYMONTHDAY|BYMONTH|BYSETPOS|BYYEARDAY|BYWEEKNO|WKST|X)=(-?[0-9]{1,6}|[A-Z]{2}|-?[0-9]{1,2}(MO|SU|FR)|20[0-9]{6}T[0-9]{6}Z|20[0-9]{6}|é)(,[0-9]{1,2})?", 0..4),
    ) {
        let rule = parts.iter().fold(often, |rule, part| format!("{rule};{part}"));
        let imported = read(&millers(), event(&format!("UID:x\nDTSTART:20260110T190000Z\nRRULE:{rule}")));
        prop_assert_eq!(imported.changes.len() + imported.report.skipped.len(), 1);
    }
}
