//! Tests of invalid input at the real server: it is rejected or leads to a clarification, and nothing is written.

use serde_json::{Value, json};

use super::family::{CalendarReader, Family, days_ahead, family_folder, values_of, weekday};
use crate::server_process::HttpResponse;

/// Parses an error response as a problem.
fn problem(response: &HttpResponse, status: u16) -> Value {
    assert_eq!(response.status, status, "{}", response.body);
    assert!(response.headers.contains("content-type: application/problem+json"), "{}", response.headers);
    let problem = response.json();
    assert_eq!(problem["status"], status, "{problem}");
    assert!(problem["detail"].is_string() && problem["code"].is_string(), "{problem}");
    problem
}

fn pointers(problem: &Value) -> Vec<&str> {
    values_of(problem["errors"].as_array().unwrap(), "pointer")
}

/// R-FAM-122, R-FAM-123: an empty request, a request that is too long, and an unknown user are rejected.
#[test]
fn an_invalid_request_is_rejected() {
    let folder = family_folder("scheduler-refused-input");
    let family = Family::start(&folder);
    let calendar = CalendarReader::open(&folder);
    let before = calendar.revision();
    let rows = [
        (json!({ "user_id": "mom", "text": "" }), 422, "/text"),
        (json!({ "user_id": "mom", "text": " \n " }), 422, "/text"),
        (json!({ "user_id": "mom", "text": "é".repeat(2_001) }), 422, "/text"),
        (json!({ "user_id": "mom" }), 422, "/text"),
        (json!({ "user_id": "grandma", "text": "Piano every Tuesday at 5pm" }), 403, ""),
        (json!({ "user_id": "", "text": "Piano every Tuesday at 5pm" }), 403, ""),
    ];
    for path in ["/events", "/query"] {
        for (body, status, pointer) in &rows {
            let problem = problem(&family.request("POST", path, &body.to_string()), *status);
            assert!(pointer.is_empty() || pointers(&problem) == [*pointer], "{path} {problem}");
        }
    }
    for path in ["/settings", "/threads", "/members", "/audit", "/calendar.ics"] {
        problem(&family.request("GET", &format!("{path}?user_id=grandma"), ""), 403);
    }
    let longest = json!({ "user_id": "mom", "text": "é".repeat(2_000) });
    assert_eq!(family.post("/events", &longest).0, 200, "a text of the maximum length is accepted");
    assert_eq!((calendar.revision(), calendar.snapshot().events.len()), (before, 0));
}

/// Sends a request that needs a clarification, and returns the response.
fn send_unclear(family: &Family, text: &str) -> Value {
    let response = family.send_text("mom", text);
    let waiting = &response["waiting"];
    assert_eq!(
        (&response["status"], &waiting["kind"]),
        (&json!("awaiting_user"), &json!("clarification")),
        "{response}"
    );
    response
}

/// R-FAM-124, R-FAM-125: impossible and past times are named; nothing is written.
#[test]
fn impossible_times_are_clarified() {
    let folder = family_folder("scheduler-impossible");
    let family = Family::start(&folder);
    let calendar = CalendarReader::open(&folder);
    let (before, day, past) = (calendar.revision(), days_ahead(9), days_ahead(-3));
    let rows = [
        (format!("Soccer for Emma on {day} from 4 to 3pm"), "The time from 4:00 to 3:00 pm ends before it starts."),
        (format!("Soccer for Emma on {day} from 4pm to 3pm"), "ends before it starts"),
        ("Soccer for Emma on 30 February at 2pm".to_owned(), "30 February does not exist"),
        (format!("Soccer for Emma on {day} at 25:00"), "25:00 is not a valid time"),
        (format!("Camping from {} to {day}", days_ahead(12)), "ends before it starts"),
        (format!("Soccer for Emma on {past} at 2pm"), "That was on "),
        ("Soccer for Emma yesterday at 2pm".to_owned(), "That was on "),
    ];
    for (text, part) in rows {
        let paused = send_unclear(&family, &text);
        let question = paused["waiting"]["question"].as_str().unwrap();
        assert!(question.contains(part), "{text}: {question}");
        if part == "That was on " {
            let (statement, suggestion) =
                question.split_once("; did you mean ").unwrap_or_else(|| panic!("{text}: {question}"));
            assert!(statement.ends_with("at 2:00 pm") && suggestion.ends_with('?'), "{text}: {question}");
        }
    }
    let last = send_unclear(&family, &format!("Soccer for Emma last {} at 2pm", weekday(past)));
    let question = last["waiting"]["question"].as_str().unwrap();
    let expected = format!("did you mean next {}, ", weekday(past));
    assert!(question.contains(&expected), "{question}");
    assert_eq!((calendar.revision(), calendar.snapshot().events.len()), (before, 0));
}

/// R-FAM-126: an unknown member or resource is reported with similar names, and a way to add it.
#[test]
fn unknown_names_are_clarified() {
    let folder = family_folder("scheduler-unknown");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    let calendar = CalendarReader::open(&folder);
    let before = calendar.revision();
    let rows: [(&str, &str, &[&str]); 4] = [
        ("Soccer for Emmma", "Emmma", &["emma", "add:person:Emmma"]),
        ("Soccer for Zoe", "Zoe", &["add:person:Zoe"]),
        ("Baking in the kichen", "kichen", &["kitchen", "add:resource:kichen"]),
        ("Trip with the van", "van", &["add:resource:van"]),
    ];
    for (text, name, choices) in rows {
        let paused = send_unclear(&family, &format!("{text} on {day} at 2pm"));
        let waiting = &paused["waiting"];
        assert!(waiting["question"].as_str().unwrap().contains(name), "{text}: {waiting}");
        assert_eq!(values_of(waiting["choices"].as_array().unwrap(), "id"), choices, "{text}");
    }
    assert_eq!((calendar.revision(), calendar.snapshot().events.len()), (before, 0));
    // A chosen match is used, a name that is left out is not asked about again, and an added name is known from
    // then on.
    let zoe = json!({ "add": [{ "name": "Zoe", "kind": "person" }] });
    let rows: [(&str, Value, &str, &[&str]); 4] = [
        ("Chess for Zoe", zoe, "Chess", &["zoe"]),
        ("Soccer for Emmma", json!({ "participants": ["emma"] }), "Soccer", &["emma"]),
        ("Baking in the kichen", json!({ "resources": ["kitchen"] }), "Baking", &["kitchen"]),
        ("Trip with the van", json!({ "ignore": ["van"] }), "Trip with the van", &[]),
    ];
    for (index, (text, fields, title, ids)) in rows.into_iter().enumerate() {
        let paused = send_unclear(&family, &format!("{text} on {day} at {}am", 8 + index));
        let (_, completed) = family.resume(&paused, &json!({ "fields": fields }));
        assert_eq!(completed["status"], "completed", "{text}: {completed}");
        let event = &completed["result"]["event"];
        assert_eq!(event["title"], title, "{text}");
        let [people, resources] = ["participants", "resources"].map(|key| event[key].as_array().unwrap().clone());
        assert_eq!(values_of(&[people, resources].concat(), "id"), ids, "{text}");
    }
}

/// R-FAM-127: if two events match, the user is asked which one is meant; the other one stays.
#[test]
fn ambiguous_events_cause_a_question() {
    let folder = family_folder("scheduler-which");
    let family = Family::start(&folder);
    let calendar = CalendarReader::open(&folder);
    let create_dentist = |days: i32| {
        let event = family.create_event("mom", &format!("Schedule dentist for Emma on {} at 2pm", days_ahead(days)));
        event["event_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (create_dentist(9), create_dentist(16));
    let before = calendar.revision();
    let paused = send_unclear(&family, "cancel the dentist");
    let choices = paused["waiting"]["choices"].as_array().unwrap();
    assert_eq!(values_of(choices, "id"), [&first, &second]);
    assert_eq!(values_of(choices, "label"), ["Dentist", "Dentist"]);
    assert_eq!(calendar.revision(), before);
    let (_, completed) = family.resume(&paused, &json!({ "fields": { "event_id": second } }));
    assert_eq!(
        (&completed["status"], &completed["result"]["action"]),
        (&json!("completed"), &json!("cancelled")),
        "{completed}"
    );
    assert_eq!(values_of(&family.events_between(days_ahead(0), days_ahead(30)), "event_id"), [&first]);
}

/// R-FAM-128: a recurrence rule that is malformed, never occurs or occurs too often is rejected with the invalid
/// part.
#[test]
fn an_invalid_rule_is_rejected_with_its_part() {
    let folder = family_folder("scheduler-rules");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    let calendar = CalendarReader::open(&folder);
    let event = family.create_event("mom", &format!("Schedule choir for Emma on {day} at 2pm"));
    let path = format!("/events/{}", event["event_id"].as_str().unwrap());
    let before = calendar.revision();
    let rows = [
        ("weekly", "weekly"),
        ("FREQ=SOMETIMES", "FREQ=SOMETIMES"),
        ("FREQ=WEEKLY;BYDAY=XX", "BYDAY=XX"),
        ("FREQ=WEEKLY;INTERVAL=0", "INTERVAL=0"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "BYMONTHDAY=30"),
        ("FREQ=DAILY;COUNT=10001", "COUNT=10001"),
        ("FREQ=DAILY;UNTIL=20000101", "UNTIL=20000101"),
    ];
    for (rule, part) in rows {
        let body = json!({ "user_id": "mom", "recurrence_rule": rule });
        let problem = problem(&family.request("PATCH", &path, &body.to_string()), 422);
        assert_eq!(pointers(&problem), ["/recurrence_rule"], "{rule}: {problem}");
        let message = problem["errors"][0]["message"].as_str().unwrap();
        assert!(message.to_uppercase().contains(&part.to_uppercase()), "{rule}: {message}");
    }
    assert_eq!(calendar.revision(), before);
    let with_max_count = json!({ "user_id": "mom", "recurrence_rule": "FREQ=DAILY;COUNT=10000" });
    assert_eq!(
        family.request("PATCH", &path, &with_max_count.to_string()).status,
        200,
        "a rule with the maximum count is accepted"
    );
    let text = format!("Schedule pills for Emma on {day} at 9am every day 20000 times");
    let failed = family.send_text("mom", &text);
    assert_eq!((&failed["status"], &failed["result"]["event"]), (&json!("failed"), &Value::Null), "{failed}");
    assert!(failed["explanation"].as_str().unwrap().contains("RRULE part `COUNT=20000`"), "{failed}");
    assert_eq!((calendar.revision(), calendar.snapshot().events.len()), (before + 1, 1));
}

/// Returns a calendar file with two valid and three broken events.
fn calendar_file(day: &str) -> String {
    let event = |uid: &str, lines: &[&str]| {
        let first_lines =
            ["BEGIN:VEVENT".to_owned(), format!("UID:{uid}@example.org"), format!("DTSTAMP:{day}T000000Z")];
        let last_lines = lines.iter().map(|line| (*line).to_owned()).chain(["END:VEVENT".to_owned()]);
        first_lines.into_iter().chain(last_lines).collect::<Vec<_>>().join("\r\n")
    };
    let times = |hour: u8| format!("DTSTART:{day}T{hour:02}0000\r\nDTEND:{day}T{:02}0000", hour + 1);
    let events = [
        event("market", &[&times(10), "SUMMARY:Flea market"]),
        event("when", &["DTSTART:nonsense", "SUMMARY:No time"]),
        event("rule", &[&times(12), "RRULE:FREQ=WEEKLY;BYDAY=XX", "SUMMARY:No rule"]),
        event("end", &[&format!("DTSTART:{day}T150000"), &format!("DTEND:{day}T140000"), "SUMMARY:No end"]),
        event("concert", &[&times(19), "SUMMARY:Concert"]),
    ];
    ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//t//t//EN", &events.join("\r\n"), "END:VCALENDAR", ""].join("\r\n")
}

/// R-FAM-129, R-FAM-99, R-FAM-128: the valid events of a broken file are imported, the others reported with their
/// lines, and nothing is imported twice.
#[test]
fn valid_events_of_a_broken_file_are_imported() {
    let folder = family_folder("scheduler-file");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    let calendar = CalendarReader::open(&folder);
    let file = calendar_file(&day.strftime("%Y%m%d").to_string());
    let import_file = |file: &str| {
        let response = family.request("POST", "/import?user_id=mom", file);
        (response.status, response.json())
    };
    let (status, report) = import_file(&file);
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(2), &json!(0)), "{report}");
    let skipped = report["skipped"].as_array().unwrap();
    assert_eq!(values_of(skipped, "title"), ["No time", "No rule", "No end"]);
    assert_eq!(values_of(skipped, "property"), ["DTSTART", "RRULE", "DTEND"]);
    for skipped_event in skipped {
        let line = file.lines().nth(usize::try_from(skipped_event["line"].as_u64().unwrap()).unwrap() - 1).unwrap();
        assert!(line.starts_with(skipped_event["property"].as_str().unwrap()), "{skipped_event}: {line}");
    }
    let before = calendar.revision();
    let (_, repeated) = import_file(&file);
    assert_eq!((&repeated["created"], &repeated["updated"], &repeated["unchanged"]), (&json!(0), &json!(0), &json!(2)));
    assert_eq!(calendar.revision(), before);
    assert_eq!(values_of(&family.events_on(day), "title"), ["Flea market", "Concert"]);
    for text in ["", "hello"] {
        problem(&family.request("POST", "/import?user_id=mom", text), 422);
    }
}

/// R-FAM-131: an answer is accepted once, by a conversation with an open interrupt.
#[test]
fn an_answer_without_an_open_interrupt_is_rejected() {
    let folder = family_folder("scheduler-answers");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    let calendar = CalendarReader::open(&folder);
    let assert_rejected = |paused: &Value, status: u16| {
        let path = format!("/threads/{}/answer", paused["workflow_id"].as_str().unwrap());
        let question = paused["waiting"]["question_id"].as_str().unwrap_or("q");
        let body = json!({ "user_id": "mom", "question_id": question, "answer": { "text": "at 4pm" } });
        problem(&family.request("POST", &path, &body.to_string()), status)
    };
    let completed = family.send_text("mom", &format!("Schedule choir for Emma on {day} at 2pm"));
    assert_eq!(assert_rejected(&completed, 409)["thread_id"], completed["workflow_id"]);
    assert_rejected(&json!({ "workflow_id": "conv_0000000000000000" }), 404);
    let paused = send_unclear(&family, "Do the thing with grandma");
    let mut other = paused.clone();
    other["waiting"]["question_id"] = json!("another");
    assert_rejected(&other, 409);
    let resume_value = json!({ "text": format!("dinner with grandma on {day} at 18:00") });
    assert_eq!(family.resume(&paused, &resume_value).1["status"], "completed");
    let before = calendar.revision();
    assert_rejected(&paused, 409);
    assert_eq!((calendar.revision(), calendar.snapshot().events.len()), (before, 2));
}
