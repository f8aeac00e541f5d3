//! Sentences with words that earlier versions ignored while planning the rest: now they are parsed or cause a
//! question.

use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event, TimeRange};
use superstep_scheduler::models::QueryType;
use superstep_scheduler::parser::{MissingField, ParsedRequest};
use superstep_scheduler::sample;

use super::{at, read, read_on};

fn start(parsed: &ParsedRequest) -> String {
    parsed.data.start_time.map(|time| time.to_string()).unwrap_or_default()
}

#[track_caller]
fn check_clarification(snapshot: &CalendarSnapshot, text: &str) {
    let parsed = read_on(snapshot, text);
    assert!(parsed.confidence.value() < 0.7, "{text}: {parsed:?}");
    assert!(!parsed.ambiguities.is_empty() || !parsed.missing.is_empty(), "{text}: {parsed:?}");
}

/// Creates the sample family with a checkup on Friday 6 March at 8 am.
fn with_checkup() -> CalendarSnapshot {
    let mut snapshot = sample::family();
    let span = TimeRange::new(at("2026-03-06T08:00:00-05:00"), at("2026-03-06T08:30:00-05:00")).unwrap();
    let dentist = (*snapshot.events["dentist"]).clone();
    let checkup = Event { id: "checkup".to_owned(), title: "Checkup".to_owned(), span, ..dentist };
    snapshot.apply(CalendarChange::Event(Box::new(checkup)));
    snapshot
}

/// R-FAM-101: a number after a day and `to` is a day of the month only if it is not a time of day.
#[test]
fn the_hour_after_a_day_is_not_a_day() {
    let snapshot = with_checkup();
    let rows = [
        ("Move the checkup on March 6 to 10am", "2026-03-06T10:00:00-05:00"),
        ("Move the checkup on March 6 to 4 pm", "2026-03-06T16:00:00-05:00"),
        ("Move the checkup on March 6 to 11 o'clock", "2026-03-06T11:00:00-05:00"),
        ("Move the checkup on March 6 to 9:30", "2026-03-06T09:30:00-05:00"),
        ("Exam January 12 - 3pm", "2026-01-12T15:00:00-05:00"),
    ];
    for (text, expected) in rows {
        let parsed = read_on(&snapshot, text);
        assert_eq!(start(&parsed), expected, "{text}: {parsed:?}");
        assert_eq!(parsed.confidence.value(), 0.95, "{text}: {parsed:?}");
    }
    let until = read_on(&snapshot, "Book the car January 21 until 6pm");
    let within = until.time_window.map(|span| (span.start.to_string(), span.end.to_string()));
    let expected = ("2026-01-21T00:00:00-05:00".to_owned(), "2026-01-21T18:00:00-05:00".to_owned());
    assert_eq!((within, until.is_all_day), (Some(expected), false), "{until:?}");
    // Ranges of days still work.
    let camp = read_on(&snapshot, "Camp January 12 - 14");
    assert_eq!((start(&camp).as_str(), camp.is_all_day), ("2026-01-12T00:00:00-05:00", true), "{camp:?}");
}

/// R-FAM-101: in a change, a day of the month refers to the month of the event, whatever the current month is.
#[test]
fn the_8th_is_one_of_the_events_own_month() {
    let snapshot = with_checkup();
    let rows = [
        ("Move the checkup on March 6 to the 8th", "2026-03-08T08:00:00-04:00"),
        ("Move the checkup on March 6 to 9", "2026-03-09T08:00:00-04:00"),
        ("Move the checkup to the 2nd at 9am", "2026-03-02T09:00:00-05:00"),
        ("Move the checkup to the 12th of next month", "2026-02-12T08:00:00-05:00"),
        ("Move the dentist to the 15th", "2026-01-15T15:30:00-05:00"),
        // It is 8 January, so the 5th of January is past.
        ("Move the science fair to the 5th", "2026-02-05T09:00:00-05:00"),
    ];
    for (text, expected) in rows {
        let parsed = read_on(&snapshot, text);
        assert_eq!(start(&parsed), expected, "{text}: {parsed:?}");
        assert_eq!(parsed.confidence.value(), 0.95, "{text}: {parsed:?}");
    }
    // 28 February is nearer than 28 March.
    check_clarification(&snapshot, "Move the checkup to the 28th");
}

/// R-FAM-101: named days, and weekdays counted within a month.
#[test]
fn days_with_a_name_are_read() {
    let rows = [
        ("Dinner on Christmas at 6pm", "2026-12-25T18:00", "Dinner"),
        ("Brunch on Christmas Day at 11am", "2026-12-25T11:00", "Brunch"),
        ("Christmas Eve dinner at 6pm", "2026-12-24T18:00", "Dinner"),
        ("Party on New Year's Eve at 8pm", "2026-12-31T20:00", "Party"),
        ("Party on New Years Eve at 8pm", "2026-12-31T20:00", "Party"),
        ("Brunch on Halloween at 11am", "2026-10-31T11:00", "Brunch"),
        ("Valentine's Day dinner at 7pm", "2026-02-14T19:00", "Dinner"),
        ("Second Saturday in December chess at 10am", "2026-12-12T10:00", "Chess"),
        ("Chess on the 2nd Saturday of February at 10am", "2026-02-14T10:00", "Chess"),
        ("Chess on the last Friday in March 2027 at 5pm", "2027-03-26T17:00", "Chess"),
        ("Chess on the first Monday of next month at 5pm", "2026-02-02T17:00", "Chess"),
        ("Chess on the last Friday of this month at 5pm", "2026-01-30T17:00", "Chess"),
        // The one of this year is past.
        ("Chess on the first Monday in January at 5pm", "2027-01-04T17:00", "Chess"),
        ("Abendessen an Heiligabend um 18 Uhr", "2026-12-24T18:00", "Abendessen"),
        ("Feier am Silvester um 20 Uhr", "2026-12-31T20:00", "Feier"),
        ("Schach am zweiten Samstag im Dezember um 10 Uhr", "2026-12-12T10:00", "Schach"),
        ("Cena en Nochebuena a las 20:00", "2026-12-24T20:00", "Cena"),
        ("Ajedrez el segundo sábado de diciembre a las 10:00", "2026-12-12T10:00", "Ajedrez"),
    ];
    for (text, expected, title) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        assert!(start(&parsed).starts_with(expected), "{text}: {parsed:?}");
        assert_eq!(parsed.data.title.as_deref(), Some(title), "{text}");
        assert_eq!(parsed.confidence.value(), 0.95, "{text}: {parsed:?}");
    }
    let run = read_on(&sample::empty_family(), "Run on Mondays until Christmas");
    let rule = run.data.recurrence_rule.as_deref();
    assert_eq!(rule, Some("FREQ=WEEKLY;BYDAY=MO;UNTIL=20261226T045959Z"), "{run:?}");
    let text = "Chess on the fifth Monday of February at 5pm";
    assert_eq!(read_on(&sample::empty_family(), text).problems, ["That month does not have this day."]);
}

/// R-FAM-101, R-FAM-102: an unparsed word for a day causes a question if there is no other day, or if the word
/// changes it.
#[test]
fn unparsed_words_for_days_cause_a_question() {
    let rows = [
        "Christmas dinner at 6pm",
        "Dinner on Thanksgiving at 6pm",
        "Dentist at the end of the month at 3pm",
        "Party in early December at 3pm",
        "Piano the Friday after next at 5pm",
        "Piano Friday week at 5pm",
        "Lunch the Monday after Easter at noon",
        "Second Saturday chess at 10am",
        "Run on Mondays until Easter",
        "Run on alternate Mondays at 6am",
        "Band practice 1st and 15th of every month",
        "Gym twice a week at 6am",
        "Gym three times a week at 6am",
        "Pills twice daily at 9am",
        "Gym once a month on Friday at 6am",
        "Water the plants three times at 9am",
        "Study at 5pm until Friday",
        "Call the plumber before Friday",
        "Soccer on January 12 and 14 at 5pm",
        "Abendessen an Weihnachten um 18 Uhr",
        "Training zweimal pro Woche um 18 Uhr",
        "Cena en Navidad a las 20:00",
        "Gimnasio dos veces por semana a las 18:00",
    ];
    for text in rows {
        check_clarification(&sample::empty_family(), text);
    }
    check_clarification(&sample::family(), "Move the dentist to Easter at 5pm");
    // With another day these words are part of the title.
    let rows = [
        ("Christmas shopping on Saturday at 2pm", "Christmas shopping"),
        ("Christmas party on December 18 at 6pm", "Christmas party"),
        ("End of year concert on Friday at 6pm", "End of year concert"),
        ("Dinner after soccer on Saturday at 6pm", "Dinner after soccer"),
    ];
    for (text, title) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        assert_eq!((parsed.data.title.as_deref(), parsed.confidence.value()), (Some(title), 0.95), "{text}");
    }
    let weekly = read_on(&sample::empty_family(), "Piano once a week on Tuesday at 5pm");
    assert_eq!(weekly.data.recurrence_rule.as_deref(), Some("FREQ=WEEKLY;BYDAY=TU"), "{weekly:?}");
}

/// R-FAM-101, R-FAM-102: a time zone after a time causes a question, also in a change; a word of the title does not.
#[test]
fn time_zones_that_are_also_words_cause_a_question() {
    for zone in ["PT", "ET", "CT", "MT", "Pacific", "Eastern", "Central", "Mountain time"] {
        check_clarification(&sample::empty_family(), &format!("Call Friday at 3pm {zone}"));
        check_clarification(&sample::empty_family(), &format!("Call at 3pm {zone} on Friday"));
        check_clarification(&sample::family(), &format!("Move the dentist to 3pm {zone}"));
    }
    let rows = [
        ("Friday at 3pm mountain biking", "Mountain biking"),
        ("Friday at 3pm CT scan", "CT scan"),
        ("PT on Friday at 3pm", "PT"),
    ];
    for (text, title) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        assert_eq!((parsed.data.title.as_deref(), parsed.confidence.value()), (Some(title), 0.95), "{text}");
    }
}

/// R-FAM-101: of two days or times, neither is ignored.
#[test]
fn a_second_day_or_time_causes_a_question() {
    let rows = [
        "Soccer Monday and Wednesday at 5pm",
        "Soccer tomorrow at 2pm and 4pm",
        "Lunch at noon tomorrow or Monday",
        "Lunch on January 12 or tomorrow at noon",
        "Soccer next week Monday and Wednesday at 5pm",
        "Soccer on the 12th and the 14th at 5pm",
    ];
    for text in rows {
        check_clarification(&sample::empty_family(), text);
    }
    check_clarification(&sample::family(), "Move the dentist to Monday or Tuesday");
    // The same day or time twice counts once.
    let twice = read_on(&sample::empty_family(), "Lunch tomorrow, Friday, at 12:30pm, 12:30pm");
    assert_eq!((start(&twice).as_str(), twice.confidence.value()), ("2026-01-09T12:30:00-05:00", 0.95), "{twice:?}");
}

/// R-FAM-102: a change without a new value causes a question.
#[test]
fn a_change_without_a_value_causes_a_question() {
    for text in ["Move the dentist", "Change the dentist", "Move dentist later", "Swap dentist and haircut"] {
        let parsed = read(text);
        assert!(parsed.confidence.value() < 0.7, "{text}: {parsed:?}");
        assert!(parsed.missing.contains(&MissingField::Change), "{text}: {parsed:?}");
    }
}

/// R-FAM-101: a question for the number of events covers all events, not those with a matching title.
#[test]
fn a_count_question_covers_all_events() {
    let rows = [
        "How many events does Emma have this week?",
        "How many appointments does Emma have this week?",
        "Wie viele Termine hat Emma diese Woche?",
        "¿Cuántas citas tiene Emma esta semana?",
    ];
    for text in rows {
        let parsed = read(text);
        assert_eq!((parsed.query, &parsed.data.title), (Some(QueryType::EventLookup), &None), "{text}");
        assert!(parsed.event_ids.is_empty() && parsed.confidence.value() > 0.9, "{text}: {parsed:?}");
        assert_eq!(parsed.data.participants, ["emma"], "{text}");
    }
}
