//! Tests of invalid input at the real server: it is rejected or leads to a clarification, and nothing is written.

use serde_json::{Value, json};

use super::family::{Family, Kept, ahead, each, home, weekday};
use crate::server_process::Reply;

/// Parses an error response as a problem.
fn problem(reply: &Reply, status: u16) -> Value {
    assert_eq!(reply.status, status, "{}", reply.body);
    assert!(reply.head.contains("content-type: application/problem+json"), "{}", reply.head);
    let problem = reply.json();
    assert_eq!(problem["status"], status, "{problem}");
    assert!(problem["detail"].is_string() && problem["code"].is_string(), "{problem}");
    problem
}

fn pointers(problem: &Value) -> Vec<&str> {
    each(problem["errors"].as_array().unwrap(), "pointer")
}

/// R-FAM-122, R-FAM-123: an empty request, a request that is too long, and an unknown user are rejected.
#[test]
fn what_cannot_be_asked_is_refused() {
    let folder = home("scheduler-refused-input");
    let family = Family::start(&folder);
    let kept = Kept::open(&folder);
    let before = kept.revision();
    let rows = [
        (json!({ "user_id": "mom", "text": "" }), 422, "/text"),
        (json!({ "user_id": "mom", "text": " \n " }), 422, "/text"),
        (json!({ "user_id": "mom", "text": "é".repeat(2_001) }), 422, "/text"),
        (json!({ "user_id": "mom" }), 422, "/text"),
        (json!({ "user_id": "grandma", "text": "Piano every Tuesday at 5pm" }), 403, ""),
        (json!({ "user_id": "", "text": "Piano every Tuesday at 5pm" }), 403, ""),
    ];
    for path in ["/events", "/query"] {
        for (body, status, place) in &rows {
            let problem = problem(&family.ask("POST", path, &body.to_string()), *status);
            assert!(place.is_empty() || pointers(&problem) == [*place], "{path} {problem}");
        }
    }
    for path in ["/settings", "/threads", "/members", "/audit", "/calendar.ics"] {
        problem(&family.ask("GET", &format!("{path}?user_id=grandma"), ""), 403);
    }
    let longest = json!({ "user_id": "mom", "text": "é".repeat(2_000) });
    assert_eq!(family.post("/events", &longest).0, 200, "so many are taken");
    assert_eq!((kept.revision(), kept.board().events.len()), (before, 0));
}

/// Sends a request that needs a clarification, and returns the response.
fn asked(family: &Family, text: &str) -> Value {
    let asked = family.say("mom", text);
    let waiting = &asked["waiting"];
    assert_eq!((&asked["status"], &waiting["kind"]), (&json!("awaiting_user"), &json!("clarification")), "{asked}");
    asked
}

/// R-FAM-124, R-FAM-125: impossible and past times are named; nothing is written.
#[test]
fn times_that_cannot_be_are_asked_about() {
    let folder = home("scheduler-impossible");
    let family = Family::start(&folder);
    let kept = Kept::open(&folder);
    let (before, day, past) = (kept.revision(), ahead(9), ahead(-3));
    let rows = [
        (format!("Soccer for Emma on {day} from 4 to 3pm"), "from 4:00 to 3:00pm ends before it starts"),
        (format!("Soccer for Emma on {day} from 4pm to 3pm"), "ends before it starts"),
        ("Soccer for Emma on 30 February at 2pm".to_owned(), "30 February does not exist"),
        (format!("Soccer for Emma on {day} at 25:00"), "25:00 is no time"),
        (format!("Camping from {} to {day}", ahead(12)), "ends before it starts"),
        (format!("Soccer for Emma on {past} at 2pm"), "that was on "),
        ("Soccer for Emma yesterday at 2pm".to_owned(), "that was on "),
    ];
    for (text, part) in rows {
        let asked = asked(&family, &text);
        let question = asked["waiting"]["question"].as_str().unwrap();
        assert!(question.contains(part), "{text}: {question}");
        if part == "that was on " {
            let (was, meant) = question.split_once("; did you mean ").unwrap_or_else(|| panic!("{text}: {question}"));
            assert!(was.ends_with("at 14:00") && meant.ends_with('?'), "{text}: {question}");
        }
    }
    let last = asked(&family, &format!("Soccer for Emma last {} at 2pm", weekday(past)));
    let question = last["waiting"]["question"].as_str().unwrap();
    let expected = format!("did you mean next {}, ", weekday(past));
    assert!(question.contains(&expected), "{question}");
    assert_eq!((kept.revision(), kept.board().events.len()), (before, 0));
}

/// R-FAM-126: an unknown member or resource is reported with similar names, and a way to add it.
#[test]
fn unknown_names_are_asked_about() {
    let folder = home("scheduler-unknown");
    let (family, day) = (Family::start(&folder), ahead(9));
    let kept = Kept::open(&folder);
    let before = kept.revision();
    let rows: [(&str, &str, &[&str]); 4] = [
        ("Soccer for Emmma", "Emmma", &["emma", "add:person:Emmma"]),
        ("Soccer for Zoe", "Zoe", &["add:person:Zoe"]),
        ("Baking in the kichen", "kichen", &["kitchen", "add:resource:kichen"]),
        ("Trip with the van", "van", &["add:resource:van"]),
    ];
    for (words, name, choices) in rows {
        let asked = asked(&family, &format!("{words} on {day} at 2pm"));
        let waiting = &asked["waiting"];
        assert!(waiting["question"].as_str().unwrap().contains(name), "{words}: {waiting}");
        assert_eq!(each(waiting["choices"].as_array().unwrap(), "id"), choices, "{words}");
    }
    assert_eq!((kept.revision(), kept.board().events.len()), (before, 0));
    // A chosen match is used, a name that is left out is not asked about again, and an added name is known from
    // then on.
    let zoe = json!({ "add": [{ "name": "Zoe", "kind": "person" }] });
    let rows: [(&str, Value, &str, &[&str]); 4] = [
        ("Chess for Zoe", zoe, "Chess", &["zoe"]),
        ("Soccer for Emmma", json!({ "participants": ["emma"] }), "Soccer", &["emma"]),
        ("Baking in the kichen", json!({ "resources": ["kitchen"] }), "Baking", &["kitchen"]),
        ("Trip with the van", json!({ "ignore": ["van"] }), "Trip with the van", &[]),
    ];
    for (place, (words, fields, title, ids)) in rows.into_iter().enumerate() {
        let asked = asked(&family, &format!("{words} on {day} at {}am", 8 + place));
        let (_, done) = family.answer(&asked, &json!({ "fields": fields }));
        assert_eq!(done["status"], "completed", "{words}: {done}");
        let event = &done["result"]["event"];
        assert_eq!(event["title"], title, "{words}");
        let [people, things] = ["participants", "resources"].map(|key| event[key].as_array().unwrap().clone());
        assert_eq!(each(&[people, things].concat(), "id"), ids, "{words}");
    }
}

/// R-FAM-127: if two events match, the user is asked which one is meant; the other one stays.
#[test]
fn which_dentist() {
    let folder = home("scheduler-which");
    let family = Family::start(&folder);
    let kept = Kept::open(&folder);
    let plan = |days: i32| {
        let event = family.plan("mom", &format!("Schedule dentist for Emma on {} at 2pm", ahead(days)));
        event["event_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (plan(9), plan(16));
    let before = kept.revision();
    let asked = asked(&family, "cancel the dentist");
    let choices = asked["waiting"]["choices"].as_array().unwrap();
    assert_eq!(each(choices, "id"), [&first, &second]);
    assert_eq!(each(choices, "label"), ["Dentist", "Dentist"]);
    assert_eq!(kept.revision(), before);
    let (_, done) = family.answer(&asked, &json!({ "fields": { "event_id": second } }));
    assert_eq!((&done["status"], &done["result"]["action"]), (&json!("completed"), &json!("cancelled")), "{done}");
    assert_eq!(each(&family.between(ahead(0), ahead(30)), "event_id"), [&first]);
}

/// R-FAM-128: a recurrence rule that is malformed, never occurs or occurs too often is rejected with the invalid
/// part.
#[test]
fn a_rule_that_cannot_be_is_refused_with_its_part() {
    let folder = home("scheduler-rules");
    let (family, day) = (Family::start(&folder), ahead(9));
    let kept = Kept::open(&folder);
    let event = family.plan("mom", &format!("Schedule choir for Emma on {day} at 2pm"));
    let path = format!("/events/{}", event["event_id"].as_str().unwrap());
    let before = kept.revision();
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
        let problem = problem(&family.ask("PATCH", &path, &body.to_string()), 422);
        assert_eq!(pointers(&problem), ["/recurrence_rule"], "{rule}: {problem}");
        let said = problem["errors"][0]["message"].as_str().unwrap();
        assert!(said.to_uppercase().contains(&part.to_uppercase()), "{rule}: {said}");
    }
    assert_eq!(kept.revision(), before);
    let most = json!({ "user_id": "mom", "recurrence_rule": "FREQ=DAILY;COUNT=10000" });
    assert_eq!(family.ask("PATCH", &path, &most.to_string()).status, 200, "so many are taken");
    let words = format!("Schedule pills for Emma on {day} at 9am every day 20000 times");
    let failed = family.say("mom", &words);
    assert_eq!((&failed["status"], &failed["result"]["event"]), (&json!("failed"), &Value::Null), "{failed}");
    assert!(failed["explanation"].as_str().unwrap().contains("RRULE part `COUNT=20000`"), "{failed}");
    assert_eq!((kept.revision(), kept.board().events.len()), (before + 1, 1));
}

/// Returns a calendar file with two valid and three broken events.
fn file(day: &str) -> String {
    let event = |uid: &str, lines: &[&str]| {
        let head = ["BEGIN:VEVENT".to_owned(), format!("UID:{uid}@example.org"), format!("DTSTAMP:{day}T000000Z")];
        let tail = lines.iter().map(|line| (*line).to_owned()).chain(["END:VEVENT".to_owned()]);
        head.into_iter().chain(tail).collect::<Vec<_>>().join("\r\n")
    };
    let at = |hour: u8| format!("DTSTART:{day}T{hour:02}0000\r\nDTEND:{day}T{:02}0000", hour + 1);
    let events = [
        event("market", &[&at(10), "SUMMARY:Flea market"]),
        event("when", &["DTSTART:nonsense", "SUMMARY:No time"]),
        event("rule", &[&at(12), "RRULE:FREQ=WEEKLY;BYDAY=XX", "SUMMARY:No rule"]),
        event("end", &[&format!("DTSTART:{day}T150000"), &format!("DTEND:{day}T140000"), "SUMMARY:No end"]),
        event("concert", &[&at(19), "SUMMARY:Concert"]),
    ];
    ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//t//t//EN", &events.join("\r\n"), "END:VCALENDAR", ""].join("\r\n")
}

/// R-FAM-129, R-FAM-99, R-FAM-128: the valid events of a broken file are imported, the others reported with their
/// lines, and nothing is imported twice.
#[test]
fn a_broken_file_is_taken_as_far_as_it_goes() {
    let folder = home("scheduler-file");
    let (family, day) = (Family::start(&folder), ahead(9));
    let kept = Kept::open(&folder);
    let file = file(&day.strftime("%Y%m%d").to_string());
    let bring = |file: &str| {
        let reply = family.ask("POST", "/import?user_id=mom", file);
        (reply.status, reply.json())
    };
    let (status, report) = bring(&file);
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(2), &json!(0)), "{report}");
    let skipped = report["skipped"].as_array().unwrap();
    assert_eq!(each(skipped, "title"), ["No time", "No rule", "No end"]);
    assert_eq!(each(skipped, "property"), ["DTSTART", "RRULE", "DTEND"]);
    for one in skipped {
        let line = file.lines().nth(usize::try_from(one["line"].as_u64().unwrap()).unwrap() - 1).unwrap();
        assert!(line.starts_with(one["property"].as_str().unwrap()), "{one}: {line}");
    }
    let before = kept.revision();
    let (_, again) = bring(&file);
    assert_eq!((&again["created"], &again["updated"], &again["unchanged"]), (&json!(0), &json!(0), &json!(2)));
    assert_eq!(kept.revision(), before);
    assert_eq!(each(&family.on(day), "title"), ["Flea market", "Concert"]);
    for text in ["", "hello"] {
        problem(&family.ask("POST", "/import?user_id=mom", text), 422);
    }
}

/// R-FAM-131: an answer is accepted once, by a conversation with an open interrupt.
#[test]
fn an_answer_that_nobody_waits_for_is_refused() {
    let folder = home("scheduler-answers");
    let (family, day) = (Family::start(&folder), ahead(9));
    let kept = Kept::open(&folder);
    let refused = |asked: &Value, status: u16| {
        let path = format!("/threads/{}/answer", asked["workflow_id"].as_str().unwrap());
        let question = asked["waiting"]["question_id"].as_str().unwrap_or("q");
        let body = json!({ "user_id": "mom", "question_id": question, "answer": { "text": "at 4pm" } });
        problem(&family.ask("POST", &path, &body.to_string()), status)
    };
    let done = family.say("mom", &format!("Schedule choir for Emma on {day} at 2pm"));
    assert_eq!(refused(&done, 409)["thread_id"], done["workflow_id"]);
    refused(&json!({ "workflow_id": "conv_0000000000000000" }), 404);
    let asked = asked(&family, "Do the thing with grandma");
    let mut other = asked.clone();
    other["waiting"]["question_id"] = json!("another");
    refused(&other, 409);
    let words = json!({ "text": format!("dinner with grandma on {day} at 18:00") });
    assert_eq!(family.answer(&asked, &words).1["status"], "completed");
    let before = kept.revision();
    refused(&asked, 409);
    assert_eq!((kept.revision(), kept.board().events.len()), (before, 2));
}
