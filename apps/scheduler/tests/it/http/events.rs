//! The calendar over HTTP without natural language: list, change, cancel, undo.

use serde_json::{Value, json};
use superstep_scheduler::calendar::{Calendar, CalendarChange, Visibility};
use superstep_scheduler::sample;

use crate::test_server::{TestServer, pointers, soccer, start_server, start_with_family, sunday, today};

fn path_of(event: &Value) -> String {
    format!("/events/{}", event["event_id"].as_str().unwrap())
}

fn as_mom(more: Value) -> Value {
    let mut body = json!({ "user_id": "mom" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// R-FAM-111: an invalid time range is rejected with the location of the error.
#[tokio::test]
async fn invalid_time_ranges_are_rejected() {
    let family = start_server().await;
    let rows = [
        ("from=2026-01-01T00:00:00Z&to=2027-02-05T00:00:00Z", 200, ""),
        ("from=2026-01-01T00:00:00Z&to=2027-02-05T00:00:01Z", 422, "/to"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", 422, "/to"),
        ("from=2026-01-01&to=2026-01-02T00:00:00Z", 422, "/from"),
        ("from=2026-02-30T00:00:00Z&to=2026-03-01T00:00:00Z", 422, "/from"),
        ("from=2026-01-01T00:00:00Z", 422, ""),
    ];
    for (query, status, pointer) in rows {
        let (got, problem) = family.get(&format!("/events?user_id=mom&{query}")).await;
        assert_eq!(got, status, "{query}: {problem}");
        assert!(pointer.is_empty() || pointers(&problem) == [pointer], "{query}: {problem}");
    }
}

/// R-FAM-109: a private event is busy for other users, who cannot change it.
#[tokio::test]
async fn a_private_event_is_busy_for_others() {
    let mut snapshot = sample::family();
    let (id, name) = ("moms".to_owned(), "Mom's".to_owned());
    snapshot.apply(CalendarChange::Calendar(Calendar {
        id,
        name,
        owner: Some("mom".to_owned()),
        visibility: Visibility::Private,
    }));
    let mut event = (*snapshot.events["book-club"]).clone();
    event.calendar = "moms".to_owned();
    snapshot.apply(CalendarChange::Event(Box::new(event)));
    let family = start_with_family(snapshot).await;
    let (_, own) = family.get("/events/book-club?user_id=mom").await;
    assert_eq!(
        (&own["title"], &own["is_busy"], &own["may_change"]),
        (&json!("Book club"), &json!(false), &json!(true))
    );
    let (_, seen) = family.get("/events/book-club?user_id=dad").await;
    assert_eq!((&seen["title"], &seen["is_busy"], &seen["may_change"]), (&json!("busy"), &json!(true), &json!(false)));
    assert_eq!((&seen["start"], &seen["participants"], &seen["owner"]), (&own["start"], &json!([]), &Value::Null));
    let rejected = family.patch("/events/book-club", json!({ "user_id": "dad", "title": "Pub" })).await;
    assert_eq!(rejected.0, 403, "{}", rejected.1);
    let calendars = family.get("/settings?user_id=dad").await.1["calendars"].clone();
    assert_eq!(calendars.as_array().unwrap().len(), 1);
    let file = family.get("/calendar.ics?user_id=dad").await.1;
    assert!(file.as_str().unwrap().contains("SUMMARY:Busy") && !file.to_string().contains("Book club"));
}

/// R-FAM-111: an invalid change is rejected with the location of the error, and nothing is written.
#[tokio::test]
async fn an_invalid_change_is_rejected() {
    let (family, day) = (start_server().await, sunday(3));
    let path = path_of(&family.plan("mom", &soccer(day)).await);
    let rows = [
        (json!({ "title": " " }), 422, "/title"),
        (json!({ "start": "soon" }), 422, "/start"),
        (json!({ "start": format!("{day}T16:00:00"), "end": format!("{day}T15:00:00") }), 422, "/end"),
        (json!({ "end": "9998-01-01T00:00:00Z" }), 422, "/end"),
        (json!({ "participants": [{ "id": "emma" }, { "id": "rex" }] }), 422, "/participants/1/id"),
        (json!({ "resources": ["boat"] }), 422, "/resources/0"),
        (json!({ "priority": "urgent" }), 422, "/priority"),
        (json!({ "colour": "red" }), 422, "/colour"),
        (json!({ "which": "some" }), 422, "/which"),
        (json!({ "user_id": "dad", "title": "Match" }), 200, ""),
    ];
    for (more, status, pointer) in rows {
        let (got, problem) = family.patch(&path, as_mom(more.clone())).await;
        assert_eq!(got, status, "{more}: {problem}");
        assert!(pointer.is_empty() || pointers(&problem).contains(&pointer), "{more}: {problem}");
    }
    assert_eq!(family.patch("/events/none", as_mom(json!({ "title": "x" }))).await.0, 404);
    assert_eq!(family.get("/events/none?user_id=mom").await.0, 404);
    assert_eq!(family.delete("/events/none?user_id=mom").await.0, 404);
    // Children change only their own events.
    assert_eq!(family.patch(&path, json!({ "user_id": "emma", "title": "Chess" })).await.0, 403);
    assert_eq!(family.delete(&format!("{path}?user_id=emma")).await.0, 403);
    let own = path_of(&family.plan("emma", &format!("Schedule chess on {day} at 6pm")).await);
    assert_eq!(family.patch(&own, json!({ "user_id": "emma", "title": "Go" })).await.1["event"]["title"], "Go");
}

/// R-FAM-128: a recurrence rule that is malformed, never occurs or occurs too often is rejected with the invalid
/// part.
#[tokio::test]
async fn an_invalid_rule_is_rejected_with_its_part() {
    let (family, day) = (start_server().await, sunday(3));
    let path = path_of(&family.plan("mom", &soccer(day)).await);
    let rows = [
        ("FREQ=WEEKLY;BYDAY=XX", "BYDAY=XX"),
        ("FREQ=SOMETIMES", "FREQ=SOMETIMES"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "BYMONTHDAY=30"),
        ("FREQ=DAILY;COUNT=20000", "COUNT=20000"),
        ("FREQ=DAILY;BYHOUR=9,10,11;BYMINUTE=0,5,10,15,20,25,30,35,40", "BYHOUR=9,10,11"),
        ("weekly", "weekly"),
    ];
    for (rule, part) in rows {
        let (status, problem) = family.patch(&path, as_mom(json!({ "recurrence_rule": rule }))).await;
        assert_eq!((status, pointers(&problem)), (422, vec!["/recurrence_rule"]), "{rule}: {problem}");
        let message = problem["errors"][0]["message"].as_str().unwrap();
        assert!(message.to_uppercase().contains(&part.to_uppercase()), "{rule}: {message}");
    }
    let (status, changed) = family.patch(&path, as_mom(json!({ "recurrence_rule": "RRULE:FREQ=WEEKLY" }))).await;
    assert_eq!((status, &changed["event"]["recurrence_rule"]), (200, &json!("FREQ=WEEKLY")), "{changed}");
    assert_eq!(family.events_on("mom", sunday(5)).await.len(), 1);
    let (_, once) = family.patch(&path, as_mom(json!({ "recurrence_rule": null }))).await;
    assert_eq!(once["event"]["recurrence_rule"], Value::Null, "{once}");
    assert!(family.events_on("mom", sunday(5)).await.is_empty());
}

/// R-FAM-94, R-FAM-106: conflicts of a change are returned; member conflicts can be accepted, resource conflicts
/// cannot.
#[tokio::test]
async fn conflicts_of_a_change_are_returned() {
    let (family, day) = (start_server().await, sunday(3));
    let at = |hour: u8| format!("{day}T{hour:02}:00:00");
    family.plan("mom", &soccer(day)).await;
    let chess = path_of(&family.plan("mom", &format!("Schedule chess for Emma on {day} at 9am")).await);
    let (status, problem) = family.patch(&chess, as_mom(json!({ "start": at(14) }))).await;
    assert_eq!((status, &problem["status"]), (409, &json!(409)), "{problem}");
    assert_eq!(problem["conflicts"][0]["conflicting_event_title"], "Soccer practice", "{problem}");
    let (status, forced) = family.patch(&chess, as_mom(json!({ "start": at(14), "force": true }))).await;
    assert_eq!((status, forced["conflicts"].as_array().unwrap().len()), (200, 1), "{forced}");
    assert_eq!(family.patch(&chess, as_mom(json!({ "notes": "bring a clock" }))).await.0, 200, "words need no room");
    let from = day.to_string();
    let path = format!("/events?user_id=mom&from={from}T00:00:00Z&to={}T00:00:00Z", day.tomorrow().unwrap());
    let seen = family.get(&path).await.1;
    assert_eq!(seen["conflicts"].as_array().unwrap().len(), 1, "it is recorded: {seen}");

    let shopping =
        path_of(&family.plan("dad", &format!("Schedule shopping for Dad on {day} at 10am with the car")).await);
    let full = family.patch(&shopping, as_mom(json!({ "start": at(14), "force": true }))).await;
    assert_eq!((full.0, &full.1["conflicts"][0]["type"]), (409, &json!("resource_conflict")), "{}", full.1);
}

/// Returns the local start times of a day.
async fn hours(family: &TestServer, weeks: i32) -> Vec<String> {
    let events = family.events_on("mom", sunday(weeks)).await;
    events.iter().map(|event| event["start"].as_str().unwrap()[11..16].to_owned()).collect()
}

/// R-FAM-98: one occurrence, this and following, or all occurrences of a series are changed and cancelled.
#[tokio::test]
async fn some_of_a_series_are_changed() {
    let (family, day) = (start_server().await, sunday(3));
    let words = format!("Schedule choir for Emma on {day} at 9am every Sunday 6 times");
    family.plan("mom", &words).await;
    let event_in_week = |weeks: i32| {
        let family = &family;
        async move { family.events_on("mom", sunday(weeks)).await[0].clone() }
    };
    let second = event_in_week(4).await;
    assert_eq!(second["occurrence"], format!("{}T09:00:00", sunday(4)), "{second}");
    let moved = |weeks: i32, hour: u8, which: &str, event: &Value| {
        as_mom(json!({
            "start": format!("{}T{hour:02}:00:00", sunday(weeks)), "which": which, "occurrence": event["occurrence"],
        }))
    };
    let one = family.patch(&path_of(&second), moved(4, 10, "this", &second)).await;
    assert_eq!(one.0, 200, "{}", one.1);
    assert_eq!(
        (hours(&family, 3).await, hours(&family, 4).await),
        (vec!["09:00".to_owned()], vec!["10:00".to_owned()])
    );
    // Moving the displayed occurrence by an hour moves all by an hour.
    let third = event_in_week(5).await;
    let all = family.patch(&path_of(&third), moved(5, 8, "all", &third)).await;
    assert_eq!(all.0, 200, "{}", all.1);
    assert_eq!(
        (hours(&family, 3).await, hours(&family, 5).await),
        (vec!["08:00".to_owned()], vec!["08:00".to_owned()])
    );
    let missing = family.patch(&path_of(&third), as_mom(json!({ "title": "Choir!", "which": "this" }))).await;
    assert_eq!((missing.0, pointers(&missing.1)), (422, vec!["/occurrence"]), "{}", missing.1);

    let (third, fifth) = (event_in_week(5).await, event_in_week(7).await);
    let cancel = |event: &Value, which: &str| {
        let occurrence = event["occurrence"].as_str().unwrap();
        format!("{}?user_id=mom&which={which}&occurrence={occurrence}", path_of(event))
    };
    assert_eq!(family.delete(&cancel(&third, "this")).await.0, 200);
    assert!(hours(&family, 5).await.is_empty() && !hours(&family, 6).await.is_empty());
    assert_eq!(family.delete(&cancel(&fifth, "following")).await.0, 200);
    assert!(hours(&family, 7).await.is_empty() && hours(&family, 8).await.is_empty());
    let (_, deleted) = family.delete(&cancel(&event_in_week(3).await, "all")).await;
    assert!(deleted["removed"].as_u64().unwrap() >= 1, "{deleted}");
    assert!(hours(&family, 3).await.is_empty() && hours(&family, 6).await.is_empty());
}

/// R-FAM-98, R-FAM-112: a change of a moved lesson without a scope applies to that lesson; with scope all or
/// following, every occurrence gets the requested time, including the moved one.
#[tokio::test]
async fn a_moved_occurrence_may_select_all_or_following() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &format!("Schedule choir for Emma on {day} at 9am every Sunday 6 times")).await;
    let all = async || -> Vec<String> {
        let mut all = Vec::new();
        for week in 3..9 {
            all.extend(hours(&family, week).await);
        }
        all
    };
    let moved = family.plan("mom", &format!("Move choir on {} to 10am", sunday(4))).await;
    assert_eq!((&moved["is_exception"], &moved["recurrence_rule"].is_string()), (&json!(true), &true), "{moved}");
    let at = |week: i32, hour: u8| format!("{}T{hour:02}:00:00", sunday(week));
    let patch = async |event: &Value, body: Value| {
        let (status, response) = family.patch(&path_of(event), as_mom(body)).await;
        assert_eq!(status, 200, "{response}");
        response["event"].clone()
    };
    patch(&moved, json!({ "start": at(4, 11), "location": "Hall" })).await;
    assert_eq!(all().await, ["09:00", "11:00", "09:00", "09:00", "09:00", "09:00"]);
    patch(&moved, json!({ "start": at(4, 12), "which": "all", "occurrence": moved["occurrence"] })).await;
    assert_eq!(all().await, ["12:00"; 6]);
    let override_event = family.events_on("mom", sunday(4)).await[0].clone();
    assert_eq!(
        (&override_event["event_id"], &override_event["location"]),
        (&moved["event_id"], &json!("Hall")),
        "it keeps what is its own"
    );

    let later = family.plan("mom", &format!("Move choir on {} to 2pm", sunday(5))).await;
    patch(&later, json!({ "title": "Concert", "which": "all" })).await;
    assert_eq!(all().await, ["12:00", "12:00", "14:00", "12:00", "12:00", "12:00"]);
    for (week, title) in [(3, "Concert"), (4, "Choir"), (5, "Concert"), (6, "Concert")] {
        assert_eq!(family.events_on("mom", sunday(week)).await[0]["title"], title, "{week}");
    }
    let changed = patch(&later, json!({ "start": at(5, 15), "which": "following" })).await;
    assert_eq!(all().await, ["12:00", "12:00", "15:00", "15:00", "15:00", "15:00"]);
    assert!(changed["start"].as_str().unwrap().starts_with(&at(5, 15)), "{changed}");
    assert_eq!(family.get(&format!("{}?user_id=mom", path_of(&later))).await.0, 404, "it is as the others are");
}

/// R-FAM-98: a moved occurrence does not overbook the car when it moves with the series.
#[tokio::test]
async fn a_moved_occurrence_does_not_overbook_a_resource() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &format!("Schedule choir for Emma on {day} at 9am every Sunday 3 times with the car")).await;
    let moved = family.plan("mom", &format!("Move choir on {} to 10am", sunday(4))).await;
    let edit = as_mom(json!({ "location": "Hall" }));
    assert_eq!(family.patch(&path_of(&moved), edit).await.0, 200);
    family.plan("dad", &format!("Schedule shopping for Dad on {} at 3pm with the car", sunday(4))).await;
    let body = json!({ "start": format!("{}T15:00:00", sunday(4)), "which": "all", "force": true });
    let (status, problem) = family.patch(&path_of(&moved), as_mom(body)).await;
    assert_eq!((status, &problem["conflicts"][0]["type"]), (409, &json!("resource_conflict")), "{problem}");
    assert_eq!((hours(&family, 3).await, hours(&family, 4).await.len()), (vec!["09:00".to_owned()], 2));
}

/// R-FAM-111, R-FAM-98: for a series that started long ago the next occurrence is returned, and changes refer to it.
#[tokio::test]
async fn the_next_occurrence_of_a_running_series_is_returned() {
    let family = start_server().await;
    let next = today().checked_add(jiff::Span::new().days(3)).unwrap();
    let first = next.checked_sub(jiff::Span::new().days(21)).unwrap().strftime("%Y%m%d").to_string();
    let lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "BEGIN:VEVENT",
        "UID:choir@example.org",
        &format!("DTSTART;TZID={}:{first}T150000", sample::ZONE),
        "DURATION:PT1H",
        "RRULE:FREQ=WEEKLY;COUNT=8",
        "SUMMARY:Choir",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ];
    assert_eq!(family.import_file("user_id=mom", lines.join("\r\n")).await.status(), 200);
    let response = family.send("mom", "Move all choir to 4pm").await;
    let event = &response["result"]["event"];
    assert_eq!((&response["status"], &response["result"]["events"][0]), (&json!("completed"), event), "{response}");
    assert!(event["start"].as_str().unwrap().starts_with(&format!("{next}T16:00:00")), "{event}");
    let body = |hour: u8| {
        let start = format!("{next}T{hour}:00:00");
        as_mom(json!({ "start": start, "which": "all", "occurrence": event["occurrence"] }))
    };
    let (status, changed) = family.patch(&path_of(event), body(17)).await;
    assert_eq!(status, 200, "{changed}");
    assert_eq!(changed["event"]["occurrence"], format!("{next}T17:00:00"), "{changed}");
    for weeks in [-3, 0, 4] {
        let day = next.checked_add(jiff::Span::new().weeks(weeks)).unwrap();
        let start = family.events_on("mom", day).await[0]["start"].as_str().unwrap().to_owned();
        assert!(start.starts_with(&format!("{day}T17:00:00")), "{start}");
    }
    let (status, stale) = family.patch(&path_of(event), body(18)).await;
    assert_eq!((status, pointers(&stale)), (422, vec!["/occurrence"]), "it is not there any more: {stale}");
}

/// R-FAM-112: a member can undo the member's own changes, last first.
#[tokio::test]
async fn the_last_change_is_undone() {
    let (family, day) = (start_server().await, sunday(3));
    let undo = |user: &str| {
        let (family, body) = (&family, json!({ "user_id": user }));
        async move { family.post("/undo", body).await }
    };
    assert_eq!(undo("mom").await.0, 409);
    let event = family.plan("mom", &soccer(day)).await;
    let path = path_of(&event);
    assert_eq!(family.patch(&path, as_mom(json!({ "title": "Match" }))).await.0, 200);
    assert_eq!(undo("dad").await.0, 409, "that is not his");
    let (status, undone) = undo("mom").await;
    assert_eq!((status, &undone["events"]), (200, &json!([event["event_id"]])), "{undone}");
    assert_eq!(family.get(&format!("{path}?user_id=mom")).await.1["title"], "Soccer practice");
    let (_, undone) = undo("mom").await;
    assert!(undone["undone"].as_str().unwrap().contains("“Soccer practice”"), "{undone}");
    assert!(family.events_on("mom", day).await.is_empty());
    assert_eq!(undo("mom").await.0, 409);
    // A change that another member has modified since cannot be undone.
    let path = path_of(&family.plan("mom", &soccer(day)).await);
    family.patch(&path, json!({ "user_id": "dad", "title": "Match" })).await;
    let (status, problem) = undo("mom").await;
    assert!(status == 409 && problem["detail"].as_str().unwrap().contains("Match"), "{problem}");
}

/// R-FAM-112, R-FAM-120: undoing a cancellation does not take the car from its new user.
#[tokio::test]
async fn an_undo_does_not_take_a_resource_from_its_new_user() {
    let (family, day) = (start_server().await, sunday(3));
    let path = path_of(&family.plan("mom", &soccer(day)).await);
    assert_eq!(family.delete(&format!("{path}?user_id=mom")).await.0, 200);
    family.plan("dad", &format!("Schedule shopping for Dad on {day} at 2pm with the car")).await;
    let (status, problem) = family.post("/undo", json!({ "user_id": "mom" })).await;
    assert_eq!((status, &problem["status"]), (409, &json!(409)), "{problem}");
    let conflict = &problem["conflicts"][0];
    assert_eq!(
        (&conflict["type"], &conflict["conflicting_event_title"]),
        (&json!("resource_conflict"), &json!("Shopping"))
    );
    assert!(problem["detail"].as_str().unwrap().contains("car is taken by “Shopping”"), "{problem}");
    let titles: Vec<Value> = family.events_on("mom", day).await.iter().map(|event| event["title"].clone()).collect();
    assert_eq!(titles, ["Shopping"]);
}

/// R-FAM-93: a proposed event occupies its time, and other users see nothing else of it.
#[tokio::test]
async fn proposals_of_others_are_busy_and_tentative() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &soccer(day)).await;
    let paused = family.send("mom", &format!("Schedule chess for Emma on {day} at 2pm")).await;
    assert_eq!(paused["status"], "awaiting_user", "{paused}");
    let proposed = |user: &'static str| {
        let family = &family;
        async move {
            let seen = family.events_on(user, day).await;
            assert_eq!(seen.len(), 2, "{seen:?}");
            seen.into_iter().find(|event| event["is_tentative"] == true).unwrap()
        }
    };
    let (own, others) = (proposed("mom").await, proposed("dad").await);
    assert_eq!((&own["title"], &own["is_busy"]), (&json!("Chess"), &json!(false)), "{own}");
    assert_eq!(
        (&others["title"], &others["is_busy"], &others["participants"]),
        (&json!("busy"), &json!(true), &json!([]))
    );
    let one = family.get(&format!("{}?user_id=dad", path_of(&own))).await.1;
    assert_eq!((&one["title"], &one["start"]), (&json!("busy"), &own["start"]), "{one}");
}

/// R-FAM-95: the audit log is listed, newest first.
#[tokio::test]
async fn the_audit_log_is_listed_newest_first() {
    let (family, day) = (start_server().await, sunday(3));
    let path = path_of(&family.plan("mom", &soccer(day)).await);
    family.patch(&path, json!({ "user_id": "dad", "title": "Match" })).await;
    let (_, audit) = family.get("/audit?user_id=emma&limit=2").await;
    let entries = audit["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["who"], &entries[0]["action"]), (2, &json!("dad"), &json!("change")));
    assert_eq!(entries[0]["text"], "Dad: change “Match”");
    assert_eq!((&entries[1]["action"], &entries[1]["who"]), (&json!("confirm"), &json!("mom")));
}
