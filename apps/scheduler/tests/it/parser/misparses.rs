//! Sentences that are easily misunderstood: they are parsed correctly or cause a question.

use superstep_scheduler::parser::{ParsedRequest, SeriesScope, SpanKind};
use superstep_scheduler::sample;

use super::{read, read_on};

/// Formats start and end.
fn time(parsed: &ParsedRequest) -> String {
    let data = &parsed.data;
    let times: Vec<String> = [data.start_time, data.end_time].iter().flatten().map(ToString::to_string).collect();
    times.join(" ")
}

fn within(parsed: &ParsedRequest) -> String {
    parsed.time_window.map(|span| format!("{} {}", span.start, span.end)).unwrap_or_default()
}

#[track_caller]
fn check_clarification(parsed: &ParsedRequest, text: &str) {
    assert!(parsed.confidence.value() < 0.7, "{text}: {parsed:?}");
    assert!(!parsed.ambiguities.is_empty(), "{text}: {parsed:?}");
}

/// R-FAM-101, R-FAM-98: "all" with a time range is ambiguous: neither the series nor one occurrence is selected.
#[test]
fn all_of_some_days_are_not_all() {
    let rows = [
        "Cancel all piano lessons next week",
        "Cancel all piano lessons in March",
        "Cancel all piano lessons on Tuesday",
        "Cancel all piano lessons until March",
        "Move all piano lessons next week to 6pm",
    ];
    for text in rows {
        let parsed = read(text);
        assert_eq!((parsed.event_ids.as_slice(), parsed.scope), (&["piano".to_owned()][..], None), "{text}");
        check_clarification(&parsed, text);
        assert_eq!(parsed.ambiguities[0].about, SpanKind::Scope, "{text}");
    }
    let text = "Please cancel my yoga classes next week";
    check_clarification(&read(text), text);
    // "All" without a day, or with a move between weekdays, means the complete series.
    let rows = [
        "Cancel all piano lessons",
        "Move all piano lessons to 6pm",
        "Move all piano lessons from Tuesday to Wednesday",
    ];
    for text in rows {
        assert_eq!(read(text).scope, Some(SeriesScope::All), "{text}");
    }
}

/// R-FAM-101, R-FAM-104: a time with several possible days is kept, and the day is asked for.
#[test]
fn a_time_is_retained_when_the_day_is_open() {
    let rows = [
        ("Soccer this weekend at 3pm", "2026-01-10T15:00:00-05:00 2026-01-10T16:00:00-05:00", 2),
        ("Dentist next week at 3pm", "2026-01-12T15:00:00-05:00 2026-01-12T16:00:00-05:00", 7),
        ("Camp from Monday to Friday at 9am", "2026-01-12T09:00:00-05:00 2026-01-12T10:00:00-05:00", 5),
        // It is Thursday, 3:30 pm.
        ("Dentist this week at 3pm", "2026-01-09T15:00:00-05:00 2026-01-09T16:00:00-05:00", 3),
        ("Soccer this weekend after 3pm", "2026-01-10T15:00:00-05:00 2026-01-11T00:00:00-05:00", 0),
        ("Soccer this weekend in the evening", "2026-01-10T17:00:00-05:00 2026-01-10T22:00:00-05:00", 0),
        ("Dentist in March at 3pm", "2026-03-01T15:00:00-05:00 2026-03-01T16:00:00-05:00", 0),
    ];
    for (text, expected, choices) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        assert_eq!((within(&parsed).as_str(), parsed.time_options.len()), (expected, choices), "{text}");
        assert_eq!((parsed.data.start_time, parsed.ambiguities.len()), (None, 1), "{text}: {parsed:?}");
        check_clarification(&parsed, text);
    }
    let text = "Move the dentist to next week at 3pm";
    let moved = read(text);
    assert_eq!(within(&moved), "2026-01-12T15:00:00-05:00 2026-01-12T15:45:00-05:00");
    assert_eq!((moved.data.start_time, moved.time_options.len()), (None, 7), "{moved:?}");
    check_clarification(&moved, text);
    // Without a time, any time on those days is acceptable.
    assert_eq!(read_on(&sample::empty_family(), "Dentist next week").confidence.value(), 0.8);
    // A query covers all of those days.
    let query = read_on(&sample::empty_family(), "Is Emma free this weekend at 3pm?");
    assert_eq!(time(&query), "2026-01-10T00:00:00-05:00 2026-01-12T00:00:00-05:00");
}

/// R-FAM-101: the end of a time range determines whether its start is am or pm.
#[test]
fn the_end_of_a_range_decides_between_am_and_pm() {
    let rows = [
        ("from 9 to 11pm", "2026-01-09T21:00", "2026-01-09T23:00"),
        ("from 8 to 10pm", "2026-01-09T20:00", "2026-01-09T22:00"),
        ("from 10 to midnight", "2026-01-09T22:00", "2026-01-10T00:00"),
        ("from 6 to 7am", "2026-01-09T06:00", "2026-01-09T07:00"),
        ("from 6 to noon", "2026-01-09T06:00", "2026-01-09T12:00"),
        ("from 9 to 5", "2026-01-09T09:00", "2026-01-09T17:00"),
    ];
    for (words, start, end) in rows {
        let text = format!("Study Friday {words}");
        let parsed = read_on(&sample::empty_family(), &text);
        assert_eq!(time(&parsed), format!("{start}:00-05:00 {end}:00-05:00"), "{text}: {parsed:?}");
        assert_eq!(parsed.confidence.value(), 0.95, "{text}");
    }
}

/// R-FAM-101: contradicting days cause a question.
#[test]
fn contradicting_days_cause_a_question() {
    let rows = [
        // February has no 31st.
        "Recital on the 31st of next month at 3pm",
        "Recital on January 20 next month at 3pm",
        // Either a date or a duration.
        "Vacation two weeks from Friday",
    ];
    for text in rows {
        check_clarification(&read_on(&sample::empty_family(), text), text);
    }
    // A duration that starts on a day is expressed with `for`.
    let camp = read_on(&sample::empty_family(), "Camping for 3 days from Friday");
    assert_eq!(time(&camp), "2026-01-09T00:00:00-05:00 2026-01-12T00:00:00-05:00");
}

/// R-FAM-97, R-FAM-101: a time skipped by daylight saving moves forward by the gap; a duration of 30 minutes is
/// always exact.
#[test]
fn nights_on_which_clocks_change() {
    let rows = [
        ("Flight on March 8 at 2:30am", "2026-03-08T03:30:00-04:00 2026-03-08T04:30:00-04:00"),
        ("Flight on March 8 at 1:30am", "2026-03-08T01:30:00-05:00 2026-03-08T03:30:00-04:00"),
        ("Flight on November 1 at 1:30am for 30 minutes", "2026-11-01T01:30:00-04:00 2026-11-01T01:00:00-05:00"),
        // With an explicit end, the event ends at that local time.
        ("Flight on March 8 from 1am to 4am", "2026-03-08T01:00:00-05:00 2026-03-08T04:00:00-04:00"),
    ];
    for (text, expected) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        assert_eq!(time(&parsed), expected, "{text}: {parsed:?}");
    }
    assert_eq!(
        time(&read("Move the dentist to March 8 at 2:30am")),
        "2026-03-08T03:30:00-04:00 2026-03-08T04:15:00-04:00"
    );
    let skipped = read_on(&sample::empty_family(), "Flight on March 8 from 2:30am to 3am");
    assert_eq!(
        (skipped.problems.as_slice(), skipped.data.start_time),
        (&["This time does not exist on that day.".to_owned()][..], None)
    );
    assert!(skipped.confidence.value() < 0.7);
}

/// R-FAM-101: times in words, of which nothing remains in the title.
#[test]
fn times_in_words_are_read() {
    let rows = [
        ("at three forty-five", "15:45"),
        ("at three forty five", "15:45"),
        ("at three oh five", "15:05"),
        ("at five thirty pm", "17:30"),
        ("at ten to four", "15:50"),
        ("at twenty-five to four", "15:35"),
        ("at ten to noon", "11:50"),
    ];
    for (words, start) in rows {
        let text = format!("Dentist Friday {words}");
        let parsed = read_on(&sample::empty_family(), &text);
        assert!(time(&parsed).starts_with(&format!("2026-01-09T{start}:00-05:00")), "{text}: {parsed:?}");
        assert_eq!(parsed.data.title.as_deref(), Some("Dentist"), "{text}");
        assert_eq!(parsed.confidence.value(), 0.95, "{text}");
    }
}

/// R-FAM-101, R-FAM-102: unparsed words about time cause a question.
#[test]
fn unparsed_words_about_time_cause_a_question() {
    let rows = [
        ("Call Friday at 3pm London time", "What do you mean by “time”?"),
        ("Call Friday at 3pm EST", "What do you mean by “EST”?"),
        ("Walk the dog every weekday except Friday at 9am", "What do you mean by “except”?"),
        ("Book club every third Monday at 7pm", "What do you mean by “every third Monday”?"),
        ("Dentist Friday at 1430", "What do you mean by “1430”?"),
        ("Dentist Friday at 14.30", "What do you mean by “14.30”?"),
    ];
    for (text, question) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        let questions: Vec<&str> = parsed.ambiguities.iter().map(|ambiguity| ambiguity.question.as_str()).collect();
        assert_eq!(questions, [question], "{text}");
        check_clarification(&parsed, text);
    }
    let text = "Move every piano lesson to 6pm";
    check_clarification(&read(text), text);
    // A number may also be part of the title.
    let concert = read_on(&sample::empty_family(), "Grade 5 concert Friday at 3pm");
    assert_eq!((concert.data.title.as_deref(), concert.confidence.value()), (Some("Grade 5 concert"), 0.95));
}
