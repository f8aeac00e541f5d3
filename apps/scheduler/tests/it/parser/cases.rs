//! Table tests: one sentence per row.

use superstep_scheduler::models::{EventType, QueryType};
use superstep_scheduler::parser::{ParsedRequest, parse};

use super::{at, read, read_by, read_on};
use superstep_scheduler::sample;

/// Formats start, end and recurrence rule.
fn time(parsed: &ParsedRequest) -> String {
    let data = &parsed.data;
    let mut parts: Vec<String> = [data.start_time, data.end_time].iter().flatten().map(ToString::to_string).collect();
    if let Some(within) = parsed.time_window {
        parts.push(format!("within {} {}", within.start, within.end));
    }
    parts.extend(data.recurrence_rule.clone());
    parts.join(" ")
}

/// R-FAM-102: the sentence of the specification has the specified confidence, and the reasoning lists every weight.
#[test]
fn confidence_is_the_sum_of_the_parsed_parts() {
    let rows = [
        ("Schedule soccer Saturday at 2pm", 0.95),
        // No title.
        ("Schedule something Saturday at 2pm", 0.75),
        // No time.
        ("Schedule soccer Saturday", 0.80),
        // No day.
        ("Schedule soccer at 2pm", 0.80),
        // Only a title.
        ("Soccer", 0.50),
        // One ambiguity: 8 am or 8 pm.
        ("Schedule soccer Saturday at 8", 0.75),
        // One unknown name.
        ("Schedule soccer for Zoe Saturday at 2pm", 0.85),
        ("Do the thing with grandma", 0.30),
        ("When is everyone free this weekend?", 0.95),
        ("", 0.30),
    ];
    for (text, expected) in rows {
        let parsed = read_on(&sample::empty_family(), text);
        assert_eq!(parsed.confidence.value(), expected, "{text}: {}", parsed.reasoning);
    }
    let reasoning = read_on(&sample::empty_family(), "Schedule soccer Saturday at 8").reasoning;
    let expected =
        "rule-based parser, English: 0.30 + 0.15 intent + 0.20 title + 0.15 date + 0.15 time - 1 x 0.20 ambiguity";
    assert_eq!(reasoning, expected);
}

/// R-FAM-102: for changes, one matching event has the highest weight.
#[test]
fn confidence_of_changes_is_about_the_event() {
    let rows = [
        ("Cancel the dentist", 0.95),
        ("Move the dentist to tomorrow at 3pm", 0.95),
        // The event is next Wednesday: the Friday before or after?
        ("Move the dentist to Friday at 3pm", 0.75),
        // The new value is missing, which counts as an ambiguity.
        ("Change the dentist", 0.60),
        // Two events match: neither counts, which is an ambiguity.
        ("Cancel soccer", 0.40),
        // No event matches.
        ("Cancel the opera", 0.60),
        // One occurrence of the series, or all.
        ("Cancel piano", 0.75),
    ];
    for (text, expected) in rows {
        let parsed = read(text);
        assert_eq!(parsed.confidence.value(), expected, "{text}: {}", parsed.reasoning);
    }
}

/// R-FAM-115: the parse of the first scenario.
#[test]
fn soccer_practice_with_the_car_is_parsed() {
    let parsed = read_on(&sample::empty_family(), "Schedule soccer practice for Emma Saturday at 2pm with the car");
    let data = &parsed.data;
    assert_eq!(data.event_type, EventType::Create);
    assert_eq!(data.title.as_deref(), Some("Soccer practice"));
    assert_eq!(time(&parsed), "2026-01-10T14:00:00-05:00 2026-01-10T15:00:00-05:00");
    assert_eq!(
        (data.participants.as_slice(), data.resources.as_slice()),
        (&["emma".to_owned()][..], &["car".to_owned()][..])
    );
    assert!(parsed.confidence.value() >= 0.9);
    assert!(parsed.missing.is_empty() && parsed.ambiguities.is_empty() && parsed.problems.is_empty());
}

/// R-FAM-117: the first sentence has a confidence below one half, the answer does not.
#[test]
fn a_vague_sentence_needs_an_answer() {
    let snapshot = sample::empty_family();
    assert!(read_on(&snapshot, "Do the thing with grandma").confidence.value() < 0.5);
    let answer = read_on(&snapshot, "dinner with grandma on Sunday at 6");
    assert_eq!(answer.data.title.as_deref(), Some("Dinner with grandma"));
    assert_eq!(time(&answer), "2026-01-11T18:00:00-05:00 2026-01-11T19:00:00-05:00");
    assert!(answer.confidence.value() >= 0.7 && answer.unknown_names.is_empty());
}

/// R-FAM-118: a query about common free time.
#[test]
fn when_everyone_is_free_is_a_question() {
    let parsed = read_on(&sample::empty_family(), "When is everyone free this weekend?");
    assert_eq!((parsed.data.event_type, parsed.query), (EventType::Query, Some(QueryType::Availability)));
    assert_eq!(parsed.data.participants, ["dad", "emma", "mom"]);
    assert_eq!(time(&parsed), "2026-01-10T00:00:00-05:00 2026-01-12T00:00:00-05:00");
}

/// R-FAM-119: a series.
#[test]
fn piano_every_tuesday_is_a_series() {
    let parsed = read_on(&sample::empty_family(), "Piano every Tuesday at 5pm");
    assert_eq!(time(&parsed), "2026-01-13T17:00:00-05:00 2026-01-13T18:00:00-05:00 FREQ=WEEKLY;BYDAY=TU");
    assert_eq!(parsed.data.title.as_deref(), Some("Piano"));
}

/// R-FAM-101: expressions of days, each in the same sentence.
#[test]
fn days_are_read() {
    let rows = [
        ("today", "2026-01-08"),
        ("tomorrow", "2026-01-09"),
        ("the day after tomorrow", "2026-01-10"),
        ("Friday", "2026-01-09"),
        ("this Friday", "2026-01-09"),
        ("next Friday", "2026-01-16"),
        ("next Tuesday", "2026-01-13"),
        ("Tuesday next week", "2026-01-13"),
        ("next week on Wednesday", "2026-01-14"),
        ("a week from Saturday", "2026-01-17"),
        ("in 3 days", "2026-01-11"),
        ("in two weeks", "2026-01-22"),
        ("in two weeks on Saturday", "2026-01-24"),
        ("in a month", "2026-02-08"),
        ("Jan 11", "2026-01-11"),
        ("January 11th, 2026", "2026-01-11"),
        ("the 11th of January", "2026-01-11"),
        ("11 January", "2026-01-11"),
        ("on the 3rd", "2026-02-03"),
        ("on the 20th of next month", "2026-02-20"),
        ("on Friday the 20th of next month", "2026-02-20"),
        ("on the 5th in March", "2026-03-05"),
        ("two weeks from Friday", "2026-01-23"),
        ("a week from tomorrow", "2026-01-16"),
        ("a month after Friday", "2026-02-09"),
        ("11.1.", "2026-01-11"),
        ("1/11", "2026-01-11"),
        ("2026-01-11", "2026-01-11"),
        ("Feb 29", "2028-02-29"),
        ("March 1", "2026-03-01"),
        ("Sunday, January 11", "2026-01-11"),
        ("sautrday", "2026-01-10"),
    ];
    for (words, expected) in rows {
        let text = format!("Schedule soccer {words} at 5pm");
        let parsed = read(&text);
        let start = parsed.data.start_time.map(|time| time.to_string()).unwrap_or_default();
        assert_eq!(start, format!("{expected}T17:00:00-05:00"), "{text}: {parsed:?}");
        assert_eq!(parsed.data.title.as_deref(), Some("Soccer"), "{text}");
    }
}

/// R-FAM-101: expressions of times and durations, each in the same sentence.
#[test]
fn times_are_read() {
    let rows = [
        ("at 2pm", "14:00", "15:00"),
        ("at 2 p.m.", "14:00", "15:00"),
        ("at 14:00", "14:00", "15:00"),
        ("at noon", "12:00", "13:00"),
        ("at half past three", "15:30", "16:30"),
        ("at quarter to four", "15:45", "16:45"),
        ("at 3:15", "15:15", "16:15"),
        ("at ten past five", "17:10", "18:10"),
        ("at five thirty", "17:30", "18:30"),
        ("after school", "15:30", "16:30"),
        ("at 2pm for 2 hours", "14:00", "16:00"),
        ("at 2pm for an hour and a half", "14:00", "15:30"),
        ("at 2pm for 1.5 hours", "14:00", "15:30"),
        ("at 2pm until 4", "14:00", "16:00"),
        ("from 2 to 4", "14:00", "16:00"),
        ("2-4pm", "14:00", "16:00"),
        ("from 9 to 5", "09:00", "17:00"),
        ("11-1pm", "11:00", "13:00"),
        ("between 10 and 12", "10:00", "12:00"),
        ("10:30 - 11:15", "10:30", "11:15"),
        ("at 8 in the evening", "20:00", "21:00"),
        ("at 7 in the morning", "07:00", "08:00"),
    ];
    for (words, start, end) in rows {
        let text = format!("Schedule soccer Saturday {words}");
        let parsed = read(&text);
        let expected = format!("2026-01-10T{start}:00-05:00 2026-01-10T{end}:00-05:00");
        assert_eq!(time(&parsed), expected, "{text}: {parsed:?}");
        assert!(parsed.ambiguities.is_empty(), "{text}: {:?}", parsed.ambiguities);
    }
}

/// R-FAM-101: events that last several days.
#[test]
fn days_long_are_read() {
    let rows = [
        ("Camping from Friday to Sunday", "2026-01-09", "2026-01-12"),
        ("Camping on Friday for 3 days", "2026-01-09", "2026-01-12"),
        ("Camping July 3-17", "2026-07-03", "2026-07-18"),
        ("Camping vom 3. bis 17. Juli", "2026-07-03", "2026-07-18"),
        ("Camping del 3 al 17 de julio", "2026-07-03", "2026-07-18"),
        ("Camping all day Saturday", "2026-01-10", "2026-01-11"),
    ];
    for (text, start, end) in rows {
        let parsed = read(text);
        assert!(parsed.is_all_day, "{text}: {parsed:?}");
        let times: Vec<String> = time(&parsed).split(' ').map(|time| time[..16].to_owned()).collect();
        assert_eq!(times, [format!("{start}T00:00"), format!("{end}T00:00")], "{text}");
        assert_eq!(parsed.data.title.as_deref(), Some("Camping"), "{text}");
    }
}

/// R-FAM-101: expressions of recurrence.
#[test]
fn series_are_read() {
    let rows = [
        ("every Monday", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO"),
        ("on Mondays and Wednesdays", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO,WE"),
        ("on weekdays", "2026-01-08", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("every weekend", "2026-01-10", "FREQ=WEEKLY;BYDAY=SA,SU"),
        ("every day", "2026-01-08", "FREQ=DAILY"),
        ("every other week on Friday", "2026-01-09", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("every other Friday", "2026-01-09", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("every three weeks on Friday", "2026-01-09", "FREQ=WEEKLY;INTERVAL=3;BYDAY=FR"),
        ("weekly on Friday", "2026-01-09", "FREQ=WEEKLY;BYDAY=FR"),
        ("monthly on the 15th", "2026-01-15", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("on the 1st of every month", "2026-02-01", "FREQ=MONTHLY;BYMONTHDAY=1"),
        ("on the first Monday of the month", "2026-02-02", "FREQ=MONTHLY;BYDAY=1MO"),
        ("every last Friday of the month", "2026-01-30", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("every March 7", "2026-03-07", "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=7"),
        ("every Monday, 10 times", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO;COUNT=10"),
        ("every Monday for 6 weeks", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO;COUNT=6"),
        ("every Monday until June", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20260601T035959Z"),
        ("every Monday until March 2", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20260303T045959Z"),
        ("every Monday for 3 months", "2026-01-12", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20260412T035959Z"),
        ("every Tuesday for a year", "2026-01-13", "FREQ=WEEKLY;BYDAY=TU;UNTIL=20270113T045959Z"),
        ("monthly on the 15th for 3 months", "2026-01-15", "FREQ=MONTHLY;BYMONTHDAY=15;UNTIL=20260415T035959Z"),
        ("every first Monday", "2026-02-02", "FREQ=MONTHLY;BYDAY=1MO"),
        ("every last Friday", "2026-01-30", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("every day except Sunday", "2026-01-08", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA"),
        ("every Saturday afternoon", "2026-01-10", "FREQ=WEEKLY;BYDAY=SA"),
        ("every evening", "2026-01-08", "FREQ=DAILY"),
        ("every Monday starting February 1", "2026-02-02", "FREQ=WEEKLY;BYDAY=MO"),
    ];
    for (words, start, rule) in rows {
        let text = format!("Soccer {words} at 5pm");
        let parsed = read(&text);
        let actual = parsed.data.start_time.map(|time| time.to_string()).unwrap_or_default();
        assert!(actual.starts_with(&format!("{start}T17:00:00-0")), "{text}: {actual} {parsed:?}");
        assert_eq!(parsed.data.recurrence_rule.as_deref(), Some(rule), "{text}");
        assert_eq!(parsed.data.title.as_deref(), Some("Soccer"), "{text}");
    }
}

/// R-FAM-101: members by name, alias and role, resources by name and alias.
#[test]
fn members_and_resources_are_parsed() {
    let rows: [(&str, &str, &[&str], &[&str]); 10] = [
        ("Soccer for Emma Saturday at 2pm", "mom", &["emma"], &[]),
        ("Soccer for Mum and Daddy Saturday at 2pm", "mom", &["mom", "dad"], &[]),
        ("Soccer with the kids Saturday at 2pm", "mom", &["emma"], &[]),
        ("Dinner for the parents Saturday at 7pm", "mom", &["dad", "mom"], &[]),
        ("Soccer for everyone Saturday at 2pm", "mom", &["dad", "emma", "mom"], &[]),
        ("Soccer for me Saturday at 2pm", "dad", &["dad"], &[]),
        ("I have soccer Saturday at 2pm", "emma", &["emma"], &[]),
        ("Emma's soccer Saturday at 2pm with the car", "mom", &["emma"], &["car"]),
        ("Lunch with Sarah's mom Saturday at noon", "mom", &[], &[]),
        ("Show me the calendar for Saturday", "mom", &[], &[]),
    ];
    for (text, speaker, people, resources) in rows {
        let parsed = read_by(speaker, text);
        assert_eq!(parsed.data.participants, people, "{text}");
        assert_eq!(parsed.data.resources, resources, "{text}");
    }
}

/// R-FAM-101: expressions of priority and flexibility.
#[test]
fn priority_and_flexibility_are_read() {
    let rows = [
        ("Important: dentist Monday at 9am, can't be moved", "\"high\"", "\"fixed\""),
        ("Low priority car wash Saturday at 9am, whenever", "\"low\"", "\"flexible\""),
        ("Preferably haircut Monday at 9am", "null", "\"preferred\""),
    ];
    for (text, priority, flexibility) in rows {
        let data = read(text).data;
        assert_eq!(serde_json::to_string(&data.priority).unwrap(), priority, "{text}");
        assert_eq!(serde_json::to_string(&data.flexibility).unwrap(), flexibility, "{text}");
    }
}

/// R-FAM-101: `after school` is the time in the child's preferences.
#[test]
fn after_school_is_a_matter_of_preferences() {
    let mut snapshot = sample::empty_family();
    let mut emma = snapshot.members["emma"].as_ref().clone();
    emma.preferences.times.insert("after school".to_owned(), jiff::civil::time(14, 15, 0, 0));
    emma.preferences.default_minutes = 45;
    snapshot.apply(superstep_scheduler::calendar::CalendarChange::Member(emma));
    let parsed = read_on(&snapshot, "Playdate for Emma on Friday after school");
    assert_eq!(parsed.data.start_time, Some(at("2026-01-09T14:15:00-05:00")));
    let request = superstep_scheduler::parser::ParseInput {
        text: "Playdate on Friday after school",
        user_id: "emma",
        now: sample::now(),
        snapshot: &snapshot,
    };
    let parsed = parse(&request);
    assert_eq!(time(&parsed), "2026-01-09T14:15:00-05:00 2026-01-09T15:00:00-05:00");
}

/// R-FAM-101: relative days refer to the family's time zone: at 23:30 in New York it is already the next day in UTC.
#[test]
fn days_count_where_the_family_is() {
    let snapshot = sample::empty_family();
    let request = superstep_scheduler::parser::ParseInput {
        text: "Soccer tomorrow at 5pm",
        user_id: "mom",
        now: at("2026-03-08T04:30:00Z"),
        snapshot: &snapshot,
    };
    // Daylight saving time starts in between.
    assert_eq!(time(&parse(&request)), "2026-03-08T17:00:00-04:00 2026-03-08T18:00:00-04:00");
}

/// R-FAM-101: the next week starts on the family's first day of the week.
#[test]
fn next_week_starts_with_the_familys_first_day() {
    use superstep_scheduler::calendar::{CalendarChange, WeekStart};
    let rows =
        [(WeekStart::Monday, "2026-01-18"), (WeekStart::Sunday, "2026-01-11"), (WeekStart::Saturday, "2026-01-11")];
    for (week_start, expected) in rows {
        let mut snapshot = sample::empty_family();
        let mut family = snapshot.family.as_ref().clone();
        family.week_start = week_start;
        snapshot.apply(CalendarChange::Family(family));
        let parsed = read_on(&snapshot, "Brunch next Sunday at noon");
        assert_eq!(time(&parsed).split('T').next(), Some(expected), "{week_start:?}");
    }
}
