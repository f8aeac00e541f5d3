//! Scheduling requests over HTTP: sentences, questions, answers, rejections.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use superstep_scheduler::store::StoreLocation;
use superstep_scheduler::{SchedulerSettings, sample};
use superstep_server::{RateLimit, ServerConfig, Storage};

use crate::test_server::{
    Folder, TestServer, pointers, settings, soccer, start_server, start_with_family, start_with_settings, sunday,
};

mod calendar_files;
mod events;
mod family_objects;
mod model_option;
mod permissions;

/// R-FAM-111, R-FAM-115: a sentence creates a calendar event, and the response contains all of it.
#[tokio::test]
async fn a_sentence_creates_an_event() {
    let (family, day) = (start_server().await, sunday(3));
    let answer = family.send("mom", &soccer(day)).await;
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    let expected = [
        "agent_outputs",
        "errors",
        "explanation",
        "messages",
        "result",
        "status",
        "understood",
        "waiting",
        "workflow_id",
        "workflow_steps",
    ];
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert_eq!((&answer["status"], &answer["waiting"]), (&json!("completed"), &Value::Null));
    let steps = ["nl_parser", "scheduling", "resource_manager", "conflict_detection", "confirm_event"];
    assert_eq!(answer["workflow_steps"], json!(steps));
    assert_eq!((&answer["result"]["action"], &answer["errors"]), (&json!("created"), &json!([])));
    let event = &answer["result"]["event"];
    assert_eq!((&event["title"], &event["status"]), (&json!("Soccer practice"), &json!("confirmed")));
    assert!(event["start"].as_str().unwrap().starts_with(&format!("{day}T14:00:00-0")), "{event}");
    assert_eq!(event["participants"], json!([{ "id": "emma", "name": "Emma", "is_required": true }]));
    assert_eq!(event["resources"], json!([{ "id": "car", "name": "car" }]));
    assert_eq!(answer["result"]["events"], json!([event]));
    let spans = answer["understood"]["found"].as_array().unwrap();
    let parts: Vec<&str> = spans.iter().filter_map(|span| span["part"].as_str()).collect();
    for part in ["intent", "title", "date", "time", "people", "resources"] {
        assert!(parts.contains(&part), "{part}: {parts:?}");
    }
    assert!(answer["understood"]["confidence"].as_f64().unwrap() >= 0.9);
    let roles: Vec<&Value> = answer["messages"].as_array().unwrap().iter().map(|line| &line["role"]).collect();
    assert_eq!(roles, ["user", "assistant"]);
    let id = answer["workflow_id"].as_str().unwrap();
    assert_eq!(family.get(&format!("/threads/{id}?user_id=mom")).await, (200, answer.clone()));
    let (_, listed) = family.get("/threads?user_id=mom").await;
    assert_eq!(listed["threads"][0]["workflow_id"], id);
    assert_eq!(listed["threads"][0]["title"], soccer(day));
    assert_eq!(family.events_on("dad", day).await.len(), 1);
    assert_eq!(family.get("/threads?user_id=dad").await.1["threads"], json!([]));
}

/// R-FAM-122, R-FAM-123: an invalid request is rejected before any effect, with the location of the error.
#[tokio::test]
async fn invalid_requests_are_rejected() {
    let family = start_server().await;
    let (long, just) = ("x".repeat(2_001), "x ".repeat(1_000));
    let rows = [
        (json!({ "user_id": "mom" }), 422, "/text"),
        (json!({ "user_id": "mom", "text": "" }), 422, "/text"),
        (json!({ "user_id": "mom", "text": " \n\t" }), 422, "/text"),
        (json!({ "user_id": "mom", "text": 7 }), 422, "/text"),
        (json!({ "user_id": "mom", "text": long }), 422, "/text"),
        (json!({ "text": "Piano" }), 422, "/user_id"),
        (json!({ "user_id": "mom", "text": "Piano", "when": "now" }), 422, "/when"),
        (json!({ "user_id": "mom", "text": "Piano", "conversation_id": "mine" }), 422, "/conversation_id"),
        (json!({ "user_id": "nobody", "text": "Piano" }), 403, ""),
        (json!({ "user_id": "", "text": "Piano" }), 403, ""),
    ];
    for route in ["/events", "/query"] {
        for (body, status, pointer) in &rows {
            let (got, problem) = family.post(route, body.clone()).await;
            assert_eq!(got, *status, "{route} {problem}");
            assert!(pointer.is_empty() || pointers(&problem).contains(pointer), "{route} {pointer}: {problem}");
            assert!(problem["detail"].is_string() && problem["code"].is_string(), "{problem}");
        }
    }
    assert_eq!(family.post("/events", json!({ "user_id": "mom", "text": just })).await.0, 200, "2,000 are allowed");
    assert_eq!(family.get("/audit?user_id=mom").await.1["entries"].as_array().unwrap().len(), 1);
}

/// R-FAM-123: every route rejects users outside of the family.
#[tokio::test]
async fn strangers_are_rejected_on_every_route() {
    let family = start_server().await;
    let routes = [
        "/settings?user_id=x",
        "/threads?user_id=x",
        "/threads/conv_0000000000000000?user_id=x",
        "/events?user_id=x&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z",
        "/events/evt?user_id=x",
        "/members?user_id=x",
        "/resources?user_id=x",
        "/rules?user_id=x",
        "/audit?user_id=x",
        "/calendar.ics?user_id=x",
    ];
    for route in routes {
        assert_eq!(family.get(route).await.0, 403, "{route}");
    }
    let stranger = json!({ "user_id": "x" });
    assert_eq!(family.post("/undo", stranger.clone()).await.0, 403);
    assert_eq!(family.patch("/events/evt", stranger.clone()).await.0, 403);
    assert_eq!(family.patch("/members/mom", stranger).await.0, 403);
    assert_eq!(family.delete("/events/evt?user_id=x").await.0, 403);
    assert_eq!(family.delete("/rules/r?user_id=x").await.0, 403);
    assert_eq!(family.import_file("user_id=x", "").await.status(), 403);
    let (status, open) = family.get("/settings").await;
    assert_eq!((status, open["members"].as_array().unwrap().len(), open.get("rules")), (200, 3, None));
}

/// R-FAM-111: the settings contain members, resources and permissions for the requester.
#[tokio::test]
async fn settings_contain_the_data_of_a_page() {
    let (_, response) = start_server().await.get("/settings?user_id=emma").await;
    assert_eq!(
        (&response["me"], &response["parser"]),
        (&json!("emma"), &json!({ "label": "rule-based parser", "model": null }))
    );
    let local = json!({
        "name": "local", "kind": "rules", "label": "rule-based parser", "configured": true, "hint": null,
    });
    assert_eq!(response["models"], json!([local]));
    assert_eq!((&response["family"]["zone"], &response["family"]["always_ask"]), (&json!(sample::ZONE), &json!(false)));
    assert!(
        response["now"].as_str().unwrap().ends_with(":00") && response["feed"].as_str().unwrap().contains("?key="),
        "{response}"
    );
    assert_eq!((response["resources"].as_array().unwrap().len(), &response["rules"]), (2, &json!([])));
}

/// R-FAM-116, R-FAM-87, R-FAM-131: a conflict triggers a question; an answer belongs to one question, is validated,
/// and is accepted once.
#[tokio::test]
async fn a_conflict_triggers_a_question() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30 high priority")).await;
    let paused = family.send("mom", &soccer(day)).await;
    let waiting = &paused["waiting"];
    assert_eq!((&paused["status"], &waiting["kind"]), (&json!("awaiting_user"), &json!("resolution")));
    assert_eq!((&waiting["recommended"], &paused["result"]["action"]), (&json!("res_1"), &json!("none")));
    assert_eq!(waiting["conflicts"][0]["conflicting_event_title"], "Dentist");
    assert_eq!(paused["explanation"], waiting["question"]);
    assert_eq!(paused["workflow_steps"].as_array().unwrap().last().unwrap(), "resolution");
    let tentative = family.events_on("dad", day).await;
    assert!(tentative.iter().any(|event| event["is_tentative"] == true), "{tentative:?}");

    for invalid in [json!({ "resolution_id": "res_99" }), json!({}), json!({ "confirm": true }), json!("res_1")] {
        let (status, problem) = family.answer("mom", &paused, invalid.clone()).await;
        assert_eq!((status, &problem["code"]), (422, &json!("SS-019")), "{invalid}: {problem}");
        assert!(pointers(&problem).iter().all(|pointer| pointer.starts_with("/answer")), "{problem}");
    }
    assert_eq!(family.answer("dad", &paused, json!({ "resolution_id": "res_1" })).await.0, 403);
    let mut other = paused.clone();
    other["waiting"]["question_id"] = json!("another");
    assert_eq!(family.answer("mom", &other, json!({ "resolution_id": "res_1" })).await.0, 409);

    let (status, done) = family.answer("mom", &paused, json!({ "resolution_id": "res_1" })).await;
    assert_eq!((status, &done["status"], &done["result"]["action"]), (200, &json!("completed"), &json!("created")));
    assert!(done["result"]["event"]["start"].as_str().unwrap().contains("T15:30:00"), "{done}");
    assert!(done["workflow_steps"].as_array().unwrap().contains(&json!("apply_resolution")), "{done}");
    let (status, problem) = family.answer("mom", &paused, json!({ "resolution_id": "res_1" })).await;
    assert_eq!((status, &problem["thread_id"]), (409, &paused["workflow_id"]), "{problem}");
    assert_eq!(family.get("/threads/conv_0000000000000000?user_id=mom").await.0, 404);
}

/// R-FAM-83, R-FAM-87: declining all resolutions plans nothing, and the response says so.
#[tokio::test]
async fn declined_resolutions_plan_nothing() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30")).await;
    let paused = family.send("mom", &soccer(day)).await;
    let (_, done) = family.answer("mom", &paused, json!({ "decline": true })).await;
    assert_eq!((&done["status"], &done["result"]["action"]), (&json!("completed"), &json!("declined")), "{done}");
    assert_eq!(family.events_on("mom", day).await.len(), 1);
}

/// R-FAM-117, R-FAM-124, R-FAM-125, R-FAM-126, R-FAM-127: an ambiguous sentence triggers a question and writes
/// nothing.
#[tokio::test]
async fn an_ambiguous_sentence_triggers_a_question() {
    let (family, day) = (start_server().await, sunday(3));
    for hour in [9, 11] {
        family.plan("mom", &format!("Schedule dentist for Emma on {day} at {hour}am")).await;
    }
    let rows = [
        ("Do the thing with grandma", None),
        ("Soccer on 30 February at 2pm", None),
        ("Soccer tomorrow at 25:00", None),
        ("Soccer tomorrow from 4pm to 3pm", None),
        ("Soccer yesterday at 2pm", None),
        ("Schedule soccer for Emmma tomorrow at 2pm", Some("emma")),
        ("cancel the dentist", Some("evt_")),
    ];
    for (text, choice) in rows {
        let paused = family.send("mom", text).await;
        let waiting = &paused["waiting"];
        assert_eq!((&paused["status"], &waiting["kind"]), (&json!("awaiting_user"), &json!("clarification")), "{text}");
        assert!(!waiting["question"].as_str().unwrap().is_empty(), "{text}");
        let choices = waiting["choices"].as_array().unwrap();
        let has = |id: &str| choices.iter().any(|one| one["id"].as_str().unwrap().starts_with(id));
        assert!(choice.is_none_or(has), "{text}: {choices:?}");
        assert_eq!(family.answer("mom", &paused, json!({ "text": " " })).await.0, 422, "{text}");
    }
    assert_eq!(family.events_on("mom", day).await.len(), 2);
    let paused = family.send("mom", "Do the thing with grandma").await;
    let words = json!({ "text": format!("dinner with grandma on {day} at 18:00") });
    let (_, done) = family.answer("mom", &paused, words).await;
    assert_eq!(done["status"], "completed", "{done}");
    let user_messages = done["messages"].as_array().unwrap().iter().filter(|line| line["role"] == "user").count();
    assert_eq!((user_messages, family.events_on("mom", day).await.len()), (2, 3));
}

/// R-FAM-118, R-FAM-109: a query is answered without changes; the query route rejects other sentences.
#[tokio::test]
async fn a_question_changes_nothing() {
    let family = start_server().await;
    let query_body = |text: &str| json!({ "text": text, "user_id": "emma" });
    // Far in the future, because nothing may be left of the current weekend.
    let (status, answer) = family.post("/query", query_body(&format!("When is everyone free on {}?", sunday(3)))).await;
    assert_eq!(
        (status, &answer["status"], &answer["result"]["action"]),
        (200, &json!("completed"), &json!("answered"))
    );
    assert_eq!(answer["result"]["query"]["query_type"], "availability");
    assert!(!answer["result"]["query"]["results"]["free"].as_array().unwrap().is_empty(), "{answer}");
    assert_eq!(answer["workflow_steps"], json!(["nl_parser", "query"]));
    let (status, problem) = family.post("/query", query_body(&soccer(sunday(3)))).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/text"]), "{problem}");
    assert_eq!(family.get("/audit?user_id=mom").await.1["entries"].as_array().unwrap().len(), 1);
}

/// R-FAM-22, R-FAM-23: a conversation continues and describes only its last request; other users cannot access it.
#[tokio::test]
async fn a_conversation_continues() {
    let (family, day) = (start_server().await, sunday(3));
    let first = family.send("mom", &soccer(day)).await;
    let body =
        |user: &str, text: &str| json!({ "text": text, "user_id": user, "conversation_id": first["workflow_id"] });
    let (status, second) = family.post("/events", body("mom", "When is everyone free this weekend?")).await;
    assert_eq!((status, &second["workflow_id"]), (200, &first["workflow_id"]), "{second}");
    assert_eq!((&second["result"]["action"], &second["result"]["event"]), (&json!("answered"), &Value::Null));
    assert_eq!(second["messages"].as_array().unwrap().len(), 4);
    assert_eq!(second["workflow_steps"], json!(["nl_parser", "query"]));
    assert_eq!(family.post("/events", body("dad", "Piano")).await.0, 403);
    let path = format!("/threads/{}?user_id=dad", first["workflow_id"].as_str().unwrap());
    assert_eq!(family.get(&path).await.0, 403);
}

/// R-FAM-93: a new request replaces an open question, and its proposal is removed from the calendar.
#[tokio::test]
async fn a_new_request_replaces_an_open_question() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30")).await;
    let paused = family.send("mom", &soccer(day)).await;
    assert_eq!(family.events_on("mom", day).await.len(), 2);
    let body =
        json!({ "text": "What is on this weekend?", "user_id": "mom", "conversation_id": paused["workflow_id"] });
    assert_eq!(family.post("/events", body).await.0, 200);
    assert_eq!(family.events_on("mom", day).await.len(), 1);
}

/// R-FAM-120, R-FAM-91, R-FAM-22: two parents concurrently book the car for the same hour; one gets it, the other gets
/// a conflict.
#[tokio::test]
async fn one_of_two_parents_books_the_car() {
    let family = start_server().await;
    for weeks in 3..7 {
        let day = sunday(weeks);
        let shop = |member: &str| format!("Schedule shopping for {member} on {day} at 10am with the car");
        let (mom, dad) = (shop("Mom"), shop("Dad"));
        let (mom, dad) = tokio::join!(family.send("mom", &mom), family.send("dad", &dad));
        for (user, name, own) in [("mom", "Mom", &mom), ("dad", "Dad", &dad)] {
            let path = format!("/threads/{}?user_id={user}", own["workflow_id"].as_str().unwrap());
            assert_eq!(family.get(&path).await.0, 200);
            let message = own["messages"][0].to_string();
            assert!(message.contains(&format!("shopping for {name}")), "{message}");
        }
        assert_ne!(mom["workflow_id"], dad["workflow_id"]);
        let mut statuses = [mom["status"].as_str().unwrap(), dad["status"].as_str().unwrap()];
        statuses.sort_unstable();
        assert_eq!(statuses, ["awaiting_user", "completed"], "{mom} {dad}");
        let paused = if mom["status"] == "awaiting_user" { &mom } else { &dad };
        assert_eq!(paused["waiting"]["conflicts"][0]["type"], "resource_conflict", "{paused}");
        let confirmed =
            family.events_on("mom", day).await.iter().filter(|event| event["is_tentative"] == false).count();
        assert_eq!(confirmed, 1);
    }
}

async fn on_files(folder: &Folder) -> TestServer {
    let location = StoreLocation::Sqlite(folder.path().join("scheduler.db"));
    let stores = Storage::sqlite(folder.path().join("threads.db")).await.unwrap();
    start_with_settings(with_locks(settings(location, sample::empty_family())), ServerConfig::new(stores)).await
}

/// Shortens the timeout of the calendar for tests that wait for it.
fn with_locks(settings: SchedulerSettings) -> SchedulerSettings {
    SchedulerSettings { store_timeout: Duration::from_secs(2), ..settings }
}

/// R-FAM-121: after a restart an open question is still there, and the answer completes it.
#[tokio::test]
async fn a_question_is_there_after_a_restart() {
    let (folder, day) = (Folder::new(), sunday(3));
    let first = on_files(&folder).await;
    first.plan("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30")).await;
    let paused = first.send("mom", &soccer(day)).await;
    let feed = first.get("/settings?user_id=mom").await.1["feed"].clone();
    first.server.shutdown().await;

    let second = on_files(&folder).await;
    let path = format!("/threads/{}?user_id=mom", paused["workflow_id"].as_str().unwrap());
    assert_eq!(second.get(&path).await, (200, paused.clone()));
    assert_eq!(second.get("/settings?user_id=mom").await.1["feed"], feed, "an address that was given stays good");
    let (status, done) = second.answer("mom", &paused, json!({ "resolution_id": "res_1" })).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
    assert_eq!(second.events_on("mom", day).await.len(), 2);
}

/// R-FAM-132: a locked calendar is retried, then the response is 503; the state is failed, nothing is written
/// partially, and later requests succeed.
#[tokio::test]
async fn a_locked_calendar_is_retried_and_reported() {
    let (folder, day) = (Folder::new(), sunday(3));
    let family = on_files(&folder).await;
    assert_eq!(family.get("/settings").await.0, 200);
    let holder = Connection::open(folder.path().join("scheduler.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let body = json!({ "text": soccer(day), "user_id": "mom" });
    let (status, problem) = family.post("/events", body).await;
    assert_eq!((status, &problem["code"], &problem["retryable"]), (503, &json!("SS-029"), &json!(true)), "{problem}");
    holder.execute_batch("COMMIT").unwrap();
    let (_, failed) = family.get(&format!("/threads/{}?user_id=mom", problem["thread_id"].as_str().unwrap())).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let errors = failed["errors"].as_array().unwrap();
    assert!(errors.len() > 1 && errors.iter().all(|error| error["error_type"] == "StoreUnavailable"), "{failed}");
    assert!(family.events_on("mom", day).await.is_empty());
    family.plan("mom", &soccer(day)).await;
}

/// R-FAM-132, R-FAM-92: a confirmation is not requested again because the calendar is locked; the response is 503
/// and the request has ended.
#[tokio::test]
async fn a_confirmation_is_requested_once() {
    let (folder, day) = (Folder::new(), sunday(3));
    let mut snapshot = sample::empty_family();
    let always = superstep_scheduler::calendar::Family { always_ask: true, ..(*snapshot.family).clone() };
    snapshot.apply(superstep_scheduler::calendar::CalendarChange::Family(always));
    let location = StoreLocation::Sqlite(folder.path().join("scheduler.db"));
    let settings = with_locks(settings(location, snapshot));
    let family = start_with_settings(settings, ServerConfig::new(Storage::memory())).await;
    let paused = family.send("mom", &soccer(day)).await;
    assert_eq!(paused["waiting"]["kind"], "confirmation", "{paused}");
    let holder = Connection::open(folder.path().join("scheduler.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (status, problem) = family.answer("mom", &paused, json!({ "confirm": true })).await;
    assert_eq!((status, &problem["code"]), (503, &json!("SS-029")), "{problem}");
    holder.execute_batch("COMMIT").unwrap();
    let path = format!("/threads/{}?user_id=mom", paused["workflow_id"].as_str().unwrap());
    let (_, failed) = family.get(&path).await;
    assert_eq!((&failed["status"], &failed["waiting"]), (&json!("failed"), &Value::Null), "{failed}");
    assert!(failed["errors"].as_array().unwrap().len() > 1, "{failed}");
}

/// R-FAM-132, R-FAM-87, R-FAM-126: the same holds after declining all resolutions and after adding a name.
#[tokio::test]
async fn an_answer_is_requested_once() {
    let (folder, day) = (Folder::new(), sunday(3));
    let family = on_files(&folder).await;
    family.plan("mom", &format!("Schedule dentist for Emma on {day} from 14:30 to 15:30")).await;
    let conflicted = family.send("mom", &soccer(day)).await;
    let names = family.send("mom", &format!("Schedule chess for Zoe on {day} at 5pm")).await;
    assert_eq!(
        (&conflicted["waiting"]["kind"], &names["waiting"]["kind"]),
        (&json!("resolution"), &json!("clarification"))
    );
    let add = json!({ "fields": { "add": [{ "name": "Zoe", "kind": "person" }] } });
    for (paused, answer) in [(conflicted, json!({ "decline": true })), (names, add)] {
        let holder = Connection::open(folder.path().join("scheduler.db")).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (status, problem) = family.answer("mom", &paused, answer).await;
        assert_eq!((status, &problem["code"]), (503, &json!("SS-029")), "{problem}");
        holder.execute_batch("COMMIT").unwrap();
        let path = format!("/threads/{}?user_id=mom", paused["workflow_id"].as_str().unwrap());
        let (_, failed) = family.get(&path).await;
        assert_eq!((&failed["status"], &failed["waiting"]), (&json!("failed"), &Value::Null), "{failed}");
    }
}

/// R-FAM-132: the initial family is created once, and is read again after a restart.
#[tokio::test]
async fn the_initial_family_is_created_once() {
    let folder = Folder::new();
    let open = || async {
        let location = StoreLocation::Sqlite(folder.path().join("scheduler.db"));
        start_with_settings(settings(location, sample::family()), ServerConfig::new(Storage::memory())).await
    };
    let family = open().await;
    let path = "/events?user_id=mom&from=2026-01-12T00:00:00-05:00&to=2026-01-19T00:00:00-05:00";
    let titles = |response: Value| -> Vec<String> {
        let events = response["events"].as_array().unwrap();
        events.iter().filter_map(|event| event["title"].as_str().map(str::to_owned)).collect()
    };
    let before = titles(family.get(path).await.1);
    assert!(before.iter().any(|title| title == "Dentist") && before.len() > 20, "{before:?}");
    family.server.shutdown().await;
    assert_eq!(titles(open().await.get(path).await.1), before);
}

/// R-SRV-16a: a client address above its rate limit receives the retry delay.
#[tokio::test]
async fn requests_per_address_are_limited() {
    let rate_limit = RateLimit { max_requests: 1, window: Duration::from_secs(60), max_concurrent: 9 };
    let limited = SchedulerSettings { rate_limit, ..settings(StoreLocation::Memory, sample::empty_family()) };
    let family = start_with_settings(limited, ServerConfig::new(Storage::memory())).await;
    let paused = family.send("mom", "Do the thing with grandma").await;
    let body = json!({ "text": "Piano", "user_id": "mom" });
    let response = family.client.post(family.url("/events")).json(&body).send().await.unwrap();
    assert_eq!(response.status(), 429);
    let delay: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&delay), "{delay}");
    let words = json!({ "text": format!("dinner with grandma on {} at 18:00", sunday(3)) });
    assert_eq!(family.answer("mom", &paused, words).await.0, 200, "an answer belongs to what was counted");
}

/// R-FAM-92: a family that confirms every change is asked, and a declined change is not written.
#[tokio::test]
async fn a_family_with_always_ask_confirms_every_change() {
    let mut snapshot = sample::empty_family();
    let always = superstep_scheduler::calendar::Family { always_ask: true, ..(*snapshot.family).clone() };
    snapshot.apply(superstep_scheduler::calendar::CalendarChange::Family(always));
    let (family, day) = (start_with_family(snapshot).await, sunday(3));
    for (confirm, action, count) in [(false, "declined", 0), (true, "created", 1)] {
        let paused = family.send("mom", &soccer(day)).await;
        assert_eq!(paused["waiting"]["kind"], "confirmation", "{paused}");
        assert_eq!(paused["workflow_steps"].as_array().unwrap().last().unwrap(), "confirm_event");
        let (_, done) = family.answer("mom", &paused, json!({ "confirm": confirm })).await;
        assert_eq!(done["result"]["action"], action, "{done}");
        assert_eq!(family.events_on("mom", day).await.len(), count);
    }
}
