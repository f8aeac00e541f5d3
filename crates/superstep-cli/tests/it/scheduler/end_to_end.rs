//! End-to-end tests of the scheduler, with the real server and the real clock.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value, json};
use superstep_scheduler::models::EventStatus;

use super::family::{CalendarReader, Family, at, days_ahead, family_folder, values_of, weekday};
use crate::support::Folder;

/// Returns a request for Emma and the car at two o'clock on a weekday.
fn soccer_request(day: Date) -> String {
    format!("Schedule soccer practice for Emma {} at 2pm with the car", weekday(day))
}

/// Returns the state of a conversation as the command line prints it.
fn state(folder: &Folder, response: &Value, args: &[&str]) -> Value {
    let id = response["workflow_id"].as_str().unwrap();
    let output = folder.run(&[&["state", id, "--json"][..], args].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    output.json()["values"].clone()
}

/// Returns the successive statuses of the proposed event of a conversation.
fn statuses(folder: &Folder, response: &Value) -> Vec<String> {
    let id = response["workflow_id"].as_str().unwrap();
    let supersteps = folder.run(&["history", id, "--json"]).json().as_array().unwrap().len();
    let states = (0..supersteps).map(|step| state(folder, response, &["--at", &step.to_string()]));
    let mut statuses: Vec<String> =
        states.filter_map(|state| state["proposed_event"]["status"].as_str().map(str::to_owned)).collect();
    statuses.dedup();
    statuses
}

/// R-FAM-115, R-FAM-82, R-FAM-90, R-FAM-92, R-FAM-111: a clear request on an empty calendar creates the event, and
/// all its data can be read afterwards.
#[test]
fn soccer_on_an_empty_calendar() {
    let folder = family_folder("scheduler-soccer");
    let (family, day) = (Family::start(&folder), days_ahead(2));
    let completed = family.send_text("mom", &soccer_request(day));
    assert_eq!(
        (&completed["status"], &completed["waiting"], &completed["errors"]),
        (&json!("completed"), &Value::Null, &json!([]))
    );
    let parsed = &completed["understood"]["data"];
    assert_eq!((&parsed["event_type"], &parsed["title"]), (&json!("create"), &json!("Soccer practice")));
    assert_eq!((&parsed["start_time"], &parsed["end_time"]), (&json!(at(day, 14, 0)), &json!(at(day, 15, 0))));
    assert_eq!((&parsed["participants"], &parsed["resources"]), (&json!(["emma"]), &json!(["car"])));
    assert!(completed["agent_outputs"]["nl_parser"]["confidence"].as_f64().unwrap() >= 0.9, "{completed}");
    let nodes = ["nl_parser", "scheduling", "resource_manager", "conflict_detection", "confirm_event"];
    assert_eq!(completed["workflow_steps"], json!(nodes));
    let event = &completed["result"]["event"];
    assert_eq!((&completed["result"]["action"], &event["status"]), (&json!("created"), &json!("confirmed")));
    assert_eq!((&event["start"], &event["end"]), (&json!(at(day, 14, 0)), &json!(at(day, 15, 0))));
    assert_eq!(family.thread(completed["workflow_id"].as_str().unwrap()), (200, completed.clone()));

    let values = state(&folder, &completed, &[]);
    assert_eq!(values["workflow_status"], "completed");
    let checks = values["validation_results"].as_array().unwrap();
    assert_eq!(values_of(checks, "step"), ["nl_parsing", "scheduling", "resource_check", "conflict_detection"]);
    assert!(checks.iter().all(|check| check["passed"] == true), "{checks:?}");
    assert_eq!(statuses(&folder, &completed), ["proposed", "validated", "confirmed"]);
    let log = values["audit_log"].as_array().unwrap();
    let (agents, transitions): (Vec<Value>, Vec<Value>) =
        log.iter().cloned().partition(|entry| entry["step"] != Value::Null);
    assert_eq!(values_of(&agents, "step"), nodes[..4]);
    let steps = ["nl_parsing", "scheduling", "resource_check", "conflict_detection", "confirmation"];
    assert_eq!((values_of(&transitions, "to"), transitions[0]["from"].as_str()), (steps.to_vec(), Some("start")));

    assert_eq!(values_of(&family.events_on(day), "title"), ["Soccer practice"]);
    let snapshot = CalendarReader::open(&folder).snapshot();
    let [stored] = snapshot.events.values().collect::<Vec<_>>()[..] else { panic!("{:?}", snapshot.events) };
    assert_eq!((stored.status, stored.resources.as_slice()), (EventStatus::Confirmed, &["car".to_owned()][..]));
    let (_, audit) = family.get("/audit?user_id=mom");
    let entries = audit["entries"].as_array().unwrap();
    assert_eq!(values_of(entries, "action"), ["confirm", "validate", "propose", "create_family"]);
    let file = family.request("GET", "/calendar.ics?user_id=mom", "").body;
    assert_eq!(file.matches("BEGIN:VEVENT").count(), 1, "{file}");
}

/// R-FAM-116, R-FAM-83, R-FAM-87: a conflict with the dentist moves soccer to half past three, and leaves the
/// dentist unchanged.
#[test]
fn soccer_after_the_dentist() {
    let folder = family_folder("scheduler-dentist");
    let (family, day) = (Family::start(&folder), days_ahead(2));
    let text = format!("Schedule dentist for Emma on {day} from 14:30 to 15:30 high priority");
    let dentist = family.create_event("mom", &text);
    assert_eq!((&dentist["title"], &dentist["priority"]), (&json!("Dentist"), &json!("high")));
    let paused = family.send_text("mom", &soccer_request(day));
    let waiting = &paused["waiting"];
    assert_eq!((&paused["status"], &waiting["kind"]), (&json!("awaiting_user"), &json!("resolution")), "{paused}");
    let [conflict] = waiting["conflicts"].as_array().unwrap().as_slice() else { panic!("{waiting}") };
    assert_eq!((&conflict["type"], &conflict["severity"]), (&json!("time_conflict"), &json!("high")), "{conflict}");
    assert_eq!(conflict["conflicting_event_title"], "Dentist");
    let conflicts = state(&folder, &paused, &[])["detected_conflicts"].clone();
    assert_eq!(conflicts["blocking_conflicts"], json!([conflict["id"]]), "{conflicts}");

    let resolutions = waiting["resolutions"].as_array().unwrap();
    assert_eq!((&waiting["recommended"], &resolutions[0]["resolution_id"]), (&json!("res_1"), &json!("res_1")));
    assert_eq!(resolutions[0]["strategy"], "move_event", "{waiting}");
    let moved = |field: &str| {
        let changes = resolutions[0]["changes"].as_array().unwrap();
        changes.iter().find(|change| change["field"] == field).map(|change| change["new_value"].clone())
    };
    assert_eq!((moved("start_time"), moved("end_time")), (Some(at(day, 15, 30).into()), Some(at(day, 16, 30).into())));
    assert!(values_of(resolutions, "strategy").contains(&"cancel_event"), "{waiting}");

    let (status, completed) = family.resume(&paused, &json!({ "resolution_id": "res_1" }));
    assert_eq!(
        (status, &completed["status"], &completed["result"]["action"]),
        (200, &json!("completed"), &json!("created"))
    );
    let event = &completed["result"]["event"];
    assert_eq!((&event["status"], &event["start"]), (&json!("confirmed"), &json!(at(day, 15, 30))), "{event}");
    assert_eq!(event["end"], at(day, 16, 30));
    let path = format!("/events/{}?user_id=mom", dentist["event_id"].as_str().unwrap());
    assert_eq!(family.get(&path), (200, dentist));
    assert_eq!(values_of(&family.events_on(day), "title"), ["Dentist", "Soccer practice"]);

    // JSON Lines output has one interrupt.
    let later = days_ahead(9);
    family.create_event("mom", &format!("Schedule dentist for Emma on {later} from 14:30 to 15:30 high priority"));
    let text = format!("Schedule soccer practice for Emma on {later} at 2pm with the car");
    let demo = ["demo", "scheduler", "--family", "family.json", "--user", "mom", "--say", &text, "--jsonl"];
    let output = folder.run(&demo);
    let interrupts = output.lines().iter().filter(|line| line["event"] == "on_interrupt").count();
    assert_eq!((output.code, interrupts), (10, 1), "{}", output.stderr);
}

/// R-FAM-117, R-FAM-86: an unclear request leads to a clarification, and the answer completes it; both messages
/// stay.
#[test]
fn an_unclear_request_is_clarified() {
    let folder = family_folder("scheduler-grandma");
    let (family, day) = (Family::start(&folder), days_ahead(3));
    let paused = family.send_text("mom", "Do the thing with grandma");
    assert_eq!((&paused["status"], &paused["waiting"]["kind"]), (&json!("awaiting_user"), &json!("clarification")));
    assert!(paused["understood"]["confidence"].as_f64().unwrap() < 0.5, "{paused}");
    assert!(paused["waiting"]["question"].as_str().unwrap().ends_with('?'), "{paused}");
    assert!(CalendarReader::open(&folder).snapshot().events.is_empty());
    let text = format!("dinner with grandma on {} at 6", weekday(day));
    let (status, completed) = family.resume(&paused, &json!({ "text": text }));
    assert_eq!((status, &completed["status"]), (200, &json!("completed")), "{completed}");
    assert_eq!(completed["result"]["event"]["start"], at(day, 18, 0), "{completed}");
    let user_messages = completed["messages"].as_array().unwrap().iter().filter(|line| line["role"] == "user").cloned();
    assert_eq!(values_of(&user_messages.collect::<Vec<_>>(), "content"), ["Do the thing with grandma", &text]);
}

/// Reads the bytes of the calendar file and its write-ahead log.
fn calendar_bytes(folder: &Folder) -> Vec<Vec<u8>> {
    let file = |name: &str| std::fs::read(folder.path().join(".superstep").join(name)).unwrap_or_default();
    vec![file("scheduler.db"), file("scheduler.db-wal")]
}

/// R-FAM-118, R-FAM-109: a query returns the times when all three are free, and changes no byte of the calendar.
#[test]
fn when_is_everyone_free() {
    let folder = family_folder("scheduler-free");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    family.create_event("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30"));
    let before = calendar_bytes(&folder);
    let query = |path: &str, text: &str| {
        let (status, response) = family.post(path, &json!({ "text": text, "user_id": "mom" }));
        assert_eq!((status, &response["status"]), (200, &json!("completed")), "{text}: {response}");
        assert_eq!(
            (&response["understood"]["data"]["event_type"], &response["result"]["action"]),
            (&json!("query"), &json!("answered"))
        );
        assert_eq!(response["workflow_steps"], json!(["nl_parser", "query"]));
        assert_eq!(response["result"]["query"]["query_type"], "availability");
        response["result"]["query"]["results"]["free"].as_array().unwrap().clone()
    };
    for path in ["/events", "/query"] {
        query(path, "When is everyone free this weekend?");
        // This weekend may be nearly over; the given day is not.
        let free = query(path, &format!("When is everyone free on {day}?"));
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let (from, to) = (time(&at(day, 14, 30)), time(&at(day, 15, 30)));
        let ranges: Vec<_> = values_of(&free, "start")
            .into_iter()
            .map(time)
            .zip(values_of(&free, "end").into_iter().map(time))
            .collect();
        assert!(ranges.iter().any(|(_, end)| *end == from) && ranges.iter().any(|(start, _)| *start == to), "{free:?}");
        assert!(ranges.iter().all(|(start, end)| *end <= from || *start >= to), "{free:?}");
    }
    assert!(calendar_bytes(&folder) == before, "the query changed the calendar file");
}

/// R-FAM-119, R-FAM-97: a series is at five local time all year, in standard and daylight saving time.
#[test]
fn piano_every_week() {
    let folder = family_folder("scheduler-piano");
    let (family, day) = (Family::start(&folder), days_ahead(2));
    let weekday_name = weekday(day);
    let piano = family.create_event("mom", &format!("Piano every {weekday_name} at 5pm"));
    assert_eq!(piano["recurrence_rule"], format!("FREQ=WEEKLY;BYDAY={}", weekday_name[..2].to_uppercase()));
    let file = family.request("GET", "/calendar.ics?user_id=mom", "").body;
    assert!(file.contains(&format!("RRULE:FREQ=WEEKLY;BYDAY={}\r\n", weekday_name[..2].to_uppercase())), "{file}");
    let events = family.events_between(day, days_ahead(380));
    let starts = values_of(&events, "start");
    let expected: Vec<String> = (0..54).map(|week| at(days_ahead(2 + 7 * week), 17, 0)).collect();
    assert_eq!(starts, expected);
    let has_offset_change =
        |from: &str, to: &str| starts.windows(2).any(|pair| pair[0].ends_with(from) && pair[1].ends_with(to));
    assert!(
        has_offset_change("T17:00:00-05:00", "T17:00:00-04:00")
            && has_offset_change("T17:00:00-04:00", "T17:00:00-05:00")
    );
    assert_eq!(CalendarReader::open(&folder).snapshot().events.len(), 1, "instances of the series are stored");
}

/// R-FAM-98, R-FAM-101: moving an event to its current time completes and writes nothing. An instance of a series
/// stays the same instance, however often it is moved.
#[test]
fn a_move_to_the_current_time_writes_nothing() {
    let folder = family_folder("scheduler-already");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    let calendar = CalendarReader::open(&folder);
    let later = |weeks: i32| days_ahead(9 + 7 * weeks);
    family.create_event("mom", &format!("Schedule chess for Emma on {day} at 9am"));
    family.create_event("mom", &format!("Schedule choir for Emma on {day} at 3pm every week 4 times"));
    let mut rows = vec![format!("Move chess on {day} to 11am")];
    rows.extend([4, 5].map(|hour| format!("Move choir on {} to {hour}pm", later(1))));
    for text in rows {
        let moved = family.send_text("mom", &text);
        assert_eq!((&moved["status"], &moved["result"]["action"]), (&json!("completed"), &json!("changed")), "{moved}");
        let before = (family.events_between(day, later(6)), calendar.revision());
        let repeated = family.send_text("mom", &text);
        assert_eq!(
            (&repeated["status"], &repeated["explanation"]),
            (&moved["status"], &moved["explanation"]),
            "{repeated}"
        );
        assert_eq!((family.events_between(day, later(6)), calendar.revision()), before, "{text}");
    }
    let expected = [at(day, 11, 0), at(day, 15, 0), at(later(1), 17, 0), at(later(2), 15, 0), at(later(3), 15, 0)];
    assert_eq!(values_of(&family.events_between(day, later(6)), "start"), expected);
    let cancelled = family.send_text("mom", &format!("Cancel choir on {}", later(1)));
    assert_eq!(cancelled["result"]["action"], "cancelled", "{cancelled}");
    let remaining: Vec<String> = expected.into_iter().filter(|start| *start != at(later(1), 17, 0)).collect();
    assert_eq!(values_of(&family.events_between(day, later(6)), "start"), remaining);
}

/// R-FAM-98, R-FAM-99: a series that began weeks ago is moved as a whole: every instance is an hour later on its
/// own day, past ones too.
#[test]
fn a_series_that_started_long_ago_is_moved() {
    let folder = family_folder("scheduler-series");
    let family = Family::start(&folder);
    // The next instance is in nine days, so that no instance is today.
    let day = |weeks: i32| days_ahead(9 + 7 * weeks);
    let at_three = day(-4).strftime("%Y%m%dT150000").to_string();
    let at_four = at_three.replace("T15", "T16");
    let lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "BEGIN:VEVENT",
        "UID:choir@example.org",
        &format!("DTSTART;TZID=America/New_York:{at_three}"),
        &format!("DTEND;TZID=America/New_York:{at_four}"),
        "RRULE:FREQ=WEEKLY;COUNT=8",
        "SUMMARY:Choir",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ];
    assert_eq!(family.request("POST", "/import?user_id=mom", &lines.join("\r\n")).json()["created"], 1);
    let moved = family.send_text("mom", "Move all choir to 4pm");
    assert_eq!((&moved["status"], &moved["result"]["action"]), (&json!("completed"), &json!("changed")), "{moved}");
    let expected: Vec<String> = (-4..4).map(|weeks| at(day(weeks), 16, 0)).collect();
    assert_eq!(values_of(&family.events_between(day(-6), day(6)), "start"), expected);
}
