//! Tests of servers that are killed while they wait and while they work, and of others that continue.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::civil::Date;
use rusqlite::Connection;
use serde_json::{Value, json};
use superstep_scheduler::calendar::CalendarSnapshot;
use superstep_scheduler::models::EventStatus;

use super::family::{CalendarReader, Family, at, days_ahead, family_folder, values_of};
use crate::support::Folder;

/// Timeout of every wait in this file.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time without a write after which no write is expected, even on a busy machine.
const QUIET_PERIOD: Duration = Duration::from_secs(2);

/// Waits until a condition holds.
fn wait_until(condition: &str, mut is_met: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_met() {
        assert!(started.elapsed() < TIMEOUT, "{condition}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asserts that every event of the calendar is confirmed, and occurs once.
fn check_consistent(snapshot: &CalendarSnapshot) {
    assert!(snapshot.events.values().all(|event| event.status == EventStatus::Confirmed), "{:?}", snapshot.events);
    let unique: BTreeSet<_> = snapshot.events.values().map(|event| (&event.title, event.span)).collect();
    assert_eq!(unique.len(), snapshot.events.len(), "{:?}", snapshot.events);
}

/// R-FAM-121: after a kill during an open interrupt and a restart, the interrupt has the same id, and the answer
/// completes the request.
#[test]
fn an_interrupt_survives_a_server_kill() {
    let folder = family_folder("scheduler-waits");
    let (first, day) = (Family::start(&folder), days_ahead(9));
    first.create_event("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30 high priority"));
    let paused = first.send_text("mom", &format!("Schedule soccer practice for Emma on {day} at 2pm with the car"));
    assert_eq!(paused["status"], "awaiting_user", "{paused}");
    drop(first);

    let second = Family::start(&folder);
    let (status, restored) = second.thread(paused["workflow_id"].as_str().unwrap());
    assert_eq!((status, &restored["waiting"]["question_id"]), (200, &paused["waiting"]["question_id"]));
    assert_eq!(restored, paused);
    let (status, completed) = second.resume(&paused, &json!({ "resolution_id": "res_1" }));
    assert_eq!((status, &completed["status"]), (200, &json!("completed")), "{completed}");
    let events = second.events_on(day);
    assert_eq!(values_of(&events, "title"), ["Dentist", "Soccer practice"]);
    assert_eq!(events[1]["start"], at(day, 15, 30));
    check_consistent(&CalendarReader::open(&folder).snapshot());
}

/// Builds a request in a conversation with a given id.
fn event_request(id: &str, text: &str) -> String {
    json!({ "text": text, "user_id": "mom", "conversation_id": id }).to_string()
}

/// Returns the result of a request whose server was killed; a request without a record is sent again.
fn wait_until_settled(family: &Family, id: &str, text: &str) -> Value {
    if family.thread(id).0 == 404 {
        let response = family.request("POST", "/events", &event_request(id, text));
        assert_eq!(response.status, 200, "{}", response.body);
    }
    wait_until("the request did not end", || family.thread(id).1["status"] != "in_progress");
    family.thread(id).1
}

/// R-FAM-121, R-FAM-89, R-SRV-19: killed at any moment of a request, the next server completes the request or it
/// can be sent again; the event is on the calendar once, with its reservation.
#[test]
fn a_request_survives_a_server_kill_at_any_moment() {
    const KILLS: u32 = 20;
    let folder = family_folder("scheduler-kills");
    let mut family = Family::start(&folder);
    let text = |day: Date| format!("Schedule choir practice for Emma on {day} at 9am with the car");
    let started = Instant::now();
    family.create_event("mom", &text(days_ahead(9)));
    let duration = started.elapsed();
    for kill in 0..KILLS {
        let (id, day) = (format!("conv_{kill:016x}"), days_ahead(10 + i32::try_from(kill).unwrap()));
        let stream = family.send("POST", "/events", &event_request(&id, &text(day)));
        // Killed at a different moment each time, the last time when the request may have ended.
        std::thread::sleep(duration * kill / (KILLS - 2));
        drop((family, stream));
        family = Family::start(&folder);
        let completed = wait_until_settled(&family, &id, &text(day));
        assert_eq!(
            (&completed["status"], &completed["result"]["action"]),
            (&json!("completed"), &json!("created")),
            "{completed}"
        );
        let events = family.events_on(day);
        assert_eq!(values_of(&events, "start"), [at(day, 9, 0)], "kill {kill}");
        assert_eq!(events[0]["is_tentative"], false);
    }
    let snapshot = CalendarReader::open(&folder).snapshot();
    check_consistent(&snapshot);
    assert!(snapshot.events.values().all(|event| event.resources == ["car"]), "{:?}", snapshot.events);
    assert_eq!(snapshot.events.len(), usize::try_from(KILLS).unwrap() + 1);
}

/// Locks a file for writing until the connection is dropped.
fn lock(folder: &Folder, file: &str) -> Connection {
    let connection = Connection::open(folder.path().join(".superstep").join(file)).unwrap();
    connection.busy_timeout(TIMEOUT).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// Waits until no more writes to the thread storage occur.
fn wait_until_quiet(folder: &Folder) {
    let threads = Connection::open(folder.path().join(".superstep/superstep.db")).unwrap();
    let version = || threads.query_row("PRAGMA data_version", (), |row| row.get::<_, i64>(0)).unwrap();
    let (mut last, mut changed_at) = (version(), Instant::now());
    wait_until("the thread storage was written until the timeout", || {
        let current = version();
        if current != last {
            (last, changed_at) = (current, Instant::now());
        }
        changed_at.elapsed() > QUIET_PERIOD
    });
}

/// Sends a request, and kills the server after the change is in the calendar and before it is in the thread. The
/// calendar file is locked so that the request waits after `step`, then the thread file so that it waits after the
/// calendar write.
fn kill_between_writes(folder: &Folder, family: Family, (id, text): (&str, &str), step: &str) {
    let reader = CalendarReader::open(folder);
    let calendar = lock(folder, "scheduler.db");
    let stream = family.send("POST", "/events", &event_request(id, text));
    wait_until(text, || {
        family.thread(id).1["workflow_steps"].as_array().and_then(|steps| steps.last()) == Some(&json!(step))
    });
    wait_until_quiet(folder);
    let threads = lock(folder, "superstep.db");
    let before = reader.revision();
    calendar.execute_batch("ROLLBACK").unwrap();
    wait_until("the calendar was not written", || reader.revision() > before);
    drop((family, stream));
    drop(threads);
}

/// R-FAM-121, R-FAM-89, R-FAM-98: after a kill between calendar write and checkpoint, the change is found in the
/// calendar and not made twice, and the request completes normally.
#[test]
fn a_change_saved_before_a_kill_is_not_repeated() {
    let folder = family_folder("scheduler-between");
    let (mut family, day) = (Family::start(&folder), days_ahead(9));
    let calendar = CalendarReader::open(&folder);
    let later = |weeks: i32| days_ahead(9 + 7 * weeks);
    family.create_event("mom", &format!("Schedule chess for Emma on {day} at 9am"));
    family.create_event("mom", &format!("Schedule choir for Emma on {day} at 3pm every week 6 times"));
    let rows = [
        (format!("Schedule soccer for Emma on {day} at 6pm with the car"), "nl_parser", "created"),
        (format!("Move chess on {day} to 11am"), "conflict_detection", "changed"),
        (format!("Move choir on {} to 4pm", later(1)), "conflict_detection", "changed"),
        (format!("Move choir on {} and all following to 5pm", later(3)), "conflict_detection", "changed"),
        (format!("Cancel choir on {}", later(2)), "nl_parser", "cancelled"),
        (format!("Cancel choir on {} and all following", later(4)), "nl_parser", "cancelled"),
        (format!("Cancel chess on {day}"), "nl_parser", "cancelled"),
    ];
    for (index, (text, step, action)) in rows.iter().enumerate() {
        let id = format!("conv_{index:016x}");
        kill_between_writes(&folder, family, (&id, text), step);
        let revision = calendar.revision();
        family = Family::start(&folder);
        let completed = wait_until_settled(&family, &id, text);
        assert_eq!(
            (&completed["status"], &completed["result"]["action"]),
            (&json!("completed"), &json!(action)),
            "{text}: {completed}"
        );
        // A new event is validated and confirmed after its proposal.
        let added_revisions = if *action == "created" { 2 } else { 0 };
        assert_eq!(calendar.revision(), revision + added_revisions, "{text}");
        check_consistent(&calendar.snapshot());
    }
    let events = family.events_between(day, later(8));
    let expected = [at(day, 15, 0), at(day, 18, 0), at(later(1), 16, 0), at(later(3), 17, 0)];
    assert_eq!(values_of(&events, "start"), expected);
    assert_eq!(values_of(&events, "title"), ["Choir", "Soccer", "Choir", "Choir"]);
}
