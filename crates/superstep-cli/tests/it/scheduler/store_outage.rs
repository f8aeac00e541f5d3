//! Tests of a locked or missing calendar: the server waits, then reports an error, and nothing is half-written.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::family::{CalendarReader, Family, at, days_ahead, family_folder, values_of};

/// Sends a request while the calendar is unavailable, and returns the problem.
fn send_during_outage(family: &Family, text: &str) -> Value {
    let body = json!({ "text": text, "user_id": "mom" });
    let response = family.request("POST", "/events", &body.to_string());
    assert_eq!(response.status, 503, "{}", response.body);
    assert!(response.headers.contains("content-type: application/problem+json"), "{}", response.headers);
    let problem = response.json();
    assert_eq!((&problem["code"], &problem["retryable"]), (&json!("SS-029"), &json!(true)), "{problem}");
    problem
}

/// R-FAM-132, R-FAM-89: a locked calendar is waited for and retried, then the response is 503; the state is failed,
/// nothing is half-written, and requests succeed after the lock is released.
#[test]
fn a_locked_calendar_is_reported() {
    let folder = family_folder("scheduler-held");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    family.create_event("mom", &format!("Schedule choir for Emma on {day} at 9am"));
    let calendar = CalendarReader::open(&folder);
    let before = calendar.revision();
    let lock = Connection::open(folder.path().join(".superstep/scheduler.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let text = format!("Schedule soccer for Emma on {day} at 2pm with the car");
    let problem = send_during_outage(&family, &text);
    assert_eq!(values_of(&family.events_on(day), "title"), ["Choir"], "a read waited for the lock");
    lock.execute_batch("ROLLBACK").unwrap();
    let (_, failed) = family.thread(problem["thread_id"].as_str().unwrap());
    assert_eq!(failed["status"], "failed", "{failed}");
    let errors = failed["errors"].as_array().unwrap();
    assert_eq!(values_of(errors, "error_type"), ["StoreUnavailable"; 4], "expected four attempts: {failed}");
    assert_eq!(calendar.revision(), before);
    assert_eq!(family.create_event("mom", &text)["start"], at(day, 14, 0));
    assert_eq!(values_of(&family.events_on(day), "title"), ["Choir", "Soccer"]);
}

/// R-FAM-132: a missing calendar is 503, and no empty one replaces it; once the file is restored, requests succeed.
#[test]
fn a_missing_calendar_is_reported() {
    let folder = family_folder("scheduler-gone");
    let (family, day) = (Family::start(&folder), days_ahead(9));
    family.create_event("mom", &format!("Schedule choir for Emma on {day} at 9am"));
    let path = folder.path().join(".superstep/scheduler.db");
    let moved_path = path.with_extension("away");
    std::fs::rename(&path, &moved_path).unwrap();
    let text = format!("Schedule soccer for Emma on {day} at 2pm with the car");
    send_during_outage(&family, &text);
    assert!(!path.exists());
    std::fs::rename(&moved_path, &path).unwrap();
    family.create_event("mom", &text);
    assert_eq!(values_of(&family.events_on(day), "title"), ["Choir", "Soccer"]);
}
