//! Input that the parser questions: impossible values, unknown names, ambiguities.

use superstep_scheduler::models::EventType;
use superstep_scheduler::parser::{MissingField, SeriesScope, SpanKind};
use superstep_scheduler::sample;

use super::{at, read, read_on};

/// R-FAM-124: impossible times are reported, and no time is invented for them.
#[test]
fn impossible_times_are_named() {
    let rows = [
        ("Soccer Saturday from 4 to 3pm", "The time from 4:00 to 3:00 pm ends before it starts."),
        ("Soccer on February 30 at 2pm", "30 February does not exist."),
        ("Fußball am 30.2. um 14 Uhr", "30 February does not exist."),
        ("Soccer Saturday at 25:00", "25:00 is not a valid time."),
        ("Soccer Saturday at 13pm", "13:00 pm is not a valid time."),
        ("Soccer Saturday at 10:75", "10:75 is not a valid time."),
        ("Soccer on the 32nd at 2pm", "No month has a day 32."),
        ("Soccer on 2026-13-01 at 2pm", "There is no month 13."),
        ("Camping from January 20 to January 18", "Tuesday 20 January to Sunday 18 January ends before it starts."),
        ("Soccer monthly on the 45th at 5pm", "No month has such a day."),
    ];
    for (text, problem) in rows {
        let parsed = read(text);
        assert_eq!(parsed.problems, [problem], "{text}: {parsed:?}");
        assert_eq!((parsed.data.start_time, parsed.time_window), (None, None), "{text}");
        assert!(parsed.confidence.value() < 0.7, "{text}");
    }
}

/// R-FAM-125: a past time is reported with the next possible one.
#[test]
fn times_that_are_over_are_named() {
    let rows = [
        ("Soccer last Monday at 2pm", "That was on Monday 5 January at 2:00 pm; did you mean next Monday, 12 January?"),
        (
            "Soccer Monday 5 January at 2pm",
            "That was on Monday 5 January at 2:00 pm; did you mean next Monday, 12 January?",
        ),
        ("Soccer today at 9am", "That was on Thursday 8 January at 9:00 am; did you mean tomorrow, Friday 9 January?"),
        ("Soccer yesterday", "That was on Wednesday 7 January; did you mean tomorrow, Friday 9 January?"),
        ("Soccer on Jan 2 at 2pm", "That was on Friday 2 January at 2:00 pm; did you mean Saturday 2 January 2027?"),
        ("Soccer on 2025-06-01 at 2pm", "That was on Sunday 1 June at 2:00 pm; did you mean Monday 1 June 2026?"),
    ];
    for (text, problem) in rows {
        let parsed = read(text);
        assert_eq!(parsed.problems, [problem], "{text}");
        assert_eq!(parsed.data.start_time, None, "{text}");
        assert!(parsed.confidence.value() < 0.7, "{text}");
    }
}

/// R-FAM-124, R-FAM-125: the same checks apply to changes.
#[test]
fn changes_to_impossible_times_are_named() {
    let rows = [
        ("Move the dentist to February 30", "30 February does not exist."),
        ("Move the dentist to 25:00", "25:00 is not a valid time."),
        ("Extend the dentist until 2pm", "The end is before the start."),
        ("Shorten the dentist by 3 hours", "The end is before the start."),
        (
            "Move the dentist to today at 9am",
            "That was on Thursday 8 January at 9:00 am; did you mean next Thursday, 15 January?",
        ),
    ];
    for (text, problem) in rows {
        let parsed = read(text);
        assert_eq!(parsed.problems, [problem], "{text}");
        assert_eq!(parsed.data.start_time, None, "{text}");
    }
}

/// R-FAM-125: queries may refer to the past.
#[test]
fn queries_may_refer_to_the_past() {
    let parsed = read("What did we do yesterday?");
    assert!(parsed.problems.is_empty());
    assert_eq!(parsed.data.start_time, Some(at("2026-01-07T00:00:00-05:00")));
}

/// R-FAM-126: an unknown person is reported with the most similar member; an unknown resource is distinguished from
/// a person.
#[test]
fn unknown_names_are_listed() {
    let rows: [(&str, &str, &[&str], bool); 5] = [
        ("Soccer for Ema Saturday at 2pm", "Ema", &["emma"], false),
        ("Soccer for Zoe Saturday at 2pm", "Zoe", &[], false),
        ("Is Bob free on Saturday?", "Bob", &[], false),
        ("Trip Saturday at 2pm with the van", "van", &[], true),
        ("Baking Saturday at 2pm in the kichen", "kichen", &["kitchen"], true),
    ];
    for (text, name, near, is_resource) in rows {
        let parsed = read(text);
        let [unknown] = parsed.unknown_names.as_slice() else { panic!("{text}: {:?}", parsed.unknown_names) };
        assert_eq!((unknown.text.as_str(), unknown.is_resource_like), (name, is_resource), "{text}");
        assert_eq!(unknown.near, near, "{text}");
        assert!(parsed.data.participants.is_empty() && parsed.data.resources.is_empty(), "{text}");
    }
}

/// R-FAM-126: grandma, the coach and the Millers are not members, and cause no question.
#[test]
fn people_outside_of_the_family_stay_in_the_title() {
    for text in [
        "Lunch with grandma Sunday at noon",
        "Lunch with the Millers Sunday at noon",
        "Lunch with Aunt Carol Sunday at noon",
        "Arts and Crafts Sunday at noon",
    ] {
        let parsed = read(text);
        assert!(parsed.unknown_names.is_empty(), "{text}: {:?}", parsed.unknown_names);
        assert_eq!(parsed.data.title.as_deref(), text.split(" Sunday").next(), "{text}");
    }
}

/// R-FAM-127: if two events match, both are listed.
#[test]
fn two_matching_events_are_both_listed() {
    let parsed = read("Cancel soccer");
    assert_eq!(parsed.event_ids, ["soccer-game", "soccer-practice"]);
    let question = "Which one do you mean: Soccer game on Saturday 10 January at 10:00 am or Soccer practice on Wednesday \
                    14 January at 5:30 pm?";
    assert_eq!(parsed.ambiguities.iter().map(|doubt| doubt.question.as_str()).collect::<Vec<_>>(), [question]);
    assert!(parsed.confidence.value() < 0.5);
    assert_eq!(parsed.data.start_time, None);
}

/// R-FAM-127: title words, days and members distinguish events.
#[test]
fn words_days_and_people_distinguish_events() {
    let rows = [
        ("Cancel the soccer game", "soccer-game"),
        ("Cancel soccer on Wednesday", "soccer-practice"),
        ("Cancel Dad's work tomorrow", "work-dad"),
        ("Cancel the eye doctor", "eye-doctor"),
        ("Cancel whatever is on Sunday the 18th", "birthday"),
    ];
    for (text, expected) in rows {
        let parsed = read(text);
        assert_eq!(parsed.event_ids, [expected], "{text}");
        assert!(parsed.instance.is_some(), "{text}");
    }
    // Both events match `doctor`.
    assert_eq!(read("Cancel the doctor").event_ids, ["doctor", "eye-doctor"]);
}

/// R-FAM-127: an event on a different day than requested is not selected.
#[test]
fn an_event_on_another_day_is_not_selected() {
    let parsed = read("Cancel the dentist tomorrow");
    assert_eq!(parsed.problems, ["Friday 9 January has no such event."]);
    assert_eq!(parsed.event_ids, ["dentist"]);
    assert_eq!(parsed.missing, [MissingField::Event, MissingField::Change]);
    assert!(parsed.confidence.value() < 0.7);
}

/// R-FAM-101: for a series the parser asks for the scope, unless the sentence contains it.
#[test]
fn the_scope_of_a_series_is_requested() {
    let rows = [
        ("Cancel piano", None),
        ("Cancel piano on Tuesday", Some(SeriesScope::This)),
        ("Cancel all piano lessons", Some(SeriesScope::All)),
        ("Cancel piano from now on", Some(SeriesScope::Following)),
    ];
    for (text, scope) in rows {
        let parsed = read(text);
        assert_eq!((parsed.event_ids.as_slice(), parsed.scope), (&["piano".to_owned()][..], scope), "{text}");
        let is_requested = parsed.ambiguities.iter().any(|ambiguity| ambiguity.about == SpanKind::Scope);
        assert_eq!(is_requested, scope.is_none(), "{text}");
    }
}

/// R-FAM-101: an ambiguous day or hour causes a question.
#[test]
fn ambiguous_days_and_hours_cause_questions() {
    let rows = [
        ("Soccer Thursday at 5pm", "Is it today, or Thursday 15 January?"),
        ("Soccer Saturday at 8", "Is 8:00 in the morning or in the evening?"),
        ("Soccer Friday January 17 at 5pm", "Is it Saturday 17 January, or Friday?"),
    ];
    for (text, question) in rows {
        let parsed = read(text);
        assert_eq!(
            parsed.ambiguities.iter().map(|doubt| doubt.question.as_str()).collect::<Vec<_>>(),
            [question],
            "{text}"
        );
    }
    let rows = [
        ("Move date night to Saturday", "Is it Saturday 10 January, or Saturday 17 January?"),
        ("Cancel the haircut and the oil change", "Do you also mean Haircut?"),
        ("Book club starts at 6:30pm", "Do you want to change Book club, or plan something new?"),
        ("Don't cancel the dentist on Wednesday", "You said what not to do. What should I do?"),
    ];
    for (text, question) in rows {
        let parsed = read(text);
        assert_eq!(
            parsed.ambiguities.iter().map(|doubt| doubt.question.as_str()).collect::<Vec<_>>(),
            [question],
            "{text}"
        );
    }
    // 9 am is already past today, so only one day remains.
    assert!(read("Soccer Thursday at 9am").ambiguities.is_empty());
}

/// R-FAM-101: changes of other fields than the time.
#[test]
fn changes_of_people_resources_and_names_are_parsed() {
    let added = read("Add Dad to the science fair");
    assert_eq!((added.data.event_type, added.edit.add_people.as_slice()), (EventType::Modify, &["dad".to_owned()][..]));
    let off = read("Take Emma off the soccer game");
    assert_eq!((off.data.event_type, off.edit.remove_people.as_slice()), (EventType::Modify, &["emma".to_owned()][..]));
    let set = read("Set the science fair to 10am");
    assert_eq!((set.data.event_type, set.data.start_time), (EventType::Modify, Some(at("2026-01-22T10:00:00-05:00"))));
    let removed = read("Remove Emma from dinner with the Millers");
    assert_eq!(
        (removed.event_ids.as_slice(), removed.edit.remove_people.as_slice()),
        (&["millers".to_owned()][..], &["emma".to_owned()][..])
    );
    let resource = read("Add the car to the dentist");
    assert_eq!(resource.edit.add_resources, ["car"]);
    let renamed = read("Rename book club to reading circle");
    assert_eq!(renamed.edit.title.as_deref(), Some("Reading circle"));
    assert!([added, removed, resource, renamed].iter().all(|one| one.confidence.value() == 0.95));
}

/// R-FAM-102: a sentence that is only possibly a cancellation or change is not treated as one, nor as a new event.
#[test]
fn a_possible_cancellation_or_change_causes_a_question() {
    let rows = [
        ("Emma won't go to swimming tomorrow", "Do you want to cancel it?"),
        ("I don't need the oil change anymore", "Do you want to cancel it?"),
        ("Emma can't be late to school tomorrow", "Do you want to cancel it?"),
        ("The soccer game on Saturday starts at 11 now", "Do you want to change Soccer game, or plan something new?"),
        ("Emma can't stand Mondays", "You said what not to do. What should I do?"),
    ];
    for (text, question) in rows {
        let parsed = read(text);
        let questions: Vec<&str> = parsed.ambiguities.iter().map(|ambiguity| ambiguity.question.as_str()).collect();
        assert_eq!(questions, [question], "{text}");
        assert!(parsed.confidence.value() < 0.7, "{text}");
    }
    let several = read("Please cancel my yoga classes next week");
    assert_eq!(
        several.ambiguities[0].question,
        "The series has several events on those days. Do you mean one of them, or all?"
    );
    assert_eq!((several.scope, several.data.start_time), (None, None));
}

/// R-FAM-101: a verb of change without a matching event creates a new event.
#[test]
fn making_pancakes_is_something_new() {
    let parsed = read_on(&sample::empty_family(), "Make pancakes Saturday at 9am");
    assert_eq!(parsed.data.event_type, EventType::Create);
    assert_eq!(parsed.data.title.as_deref(), Some("Make pancakes"));
}

/// R-FAM-102: the parsed spans are returned with the original text.
#[test]
fn parsed_spans_are_returned() {
    let text = "Schedule soccer for Emma Saturday at 2pm with the car";
    let spans = read(text).spans;
    let texts: Vec<String> = spans.iter().map(|one| format!("{:?} {} = {}", one.part, one.text, one.value)).collect();
    let expected = [
        "Intent Schedule = create",
        "Title Soccer = Soccer",
        "Date Saturday = 2026-01-10",
        "Time at 2pm = 2:00pm",
        "Person Emma = emma",
        "Resource car = car",
    ];
    assert_eq!(texts, expected);
}
