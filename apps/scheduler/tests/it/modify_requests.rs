//! Changes in natural language: only the intended event changes, despite concurrent changes of other users.

use serde_json::{Value, json};
use superstep::Outcome;
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, Event, Family, Recurrence, RecurrenceOverride, Resource, TimeRange,
};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStatus};

use crate::fixtures::time;
use crate::requests::{SOCCER, Stage, dentist};

mod crash;
mod series;

/// Creates an event of Emma.
fn event(id: &str, title: &str, (start, end): (&str, &str)) -> Event {
    Event {
        id: id.to_owned(),
        uid: id.to_owned(),
        title: title.to_owned(),
        span: TimeRange::new(time(start), time(end)).unwrap(),
        ..dentist()
    }
}

/// Creates a second dentist appointment in the following week.
fn later_dentist() -> Event {
    event("evt_later", "Dentist", ("2026-01-14T14:30:00-05:00", "2026-01-14T16:00:00-05:00"))
}

fn span(start: &str, end: &str) -> TimeRange {
    TimeRange::new(time(start), time(end)).unwrap()
}

fn starts(snapshot: &CalendarSnapshot, id: &str, within: &TimeRange) -> Vec<String> {
    let instances = snapshot.instances_of(&snapshot.events[id], within).unwrap();
    instances.iter().map(|one| one.span.start.to_string()).collect()
}

#[track_caller]
fn check_done(state: &FamilySchedulerState) {
    assert_eq!(state.workflow_status, WorkflowStatus::Completed, "{:?} {:?}", state.errors, state.notes);
}

/// Makes the family confirm every change.
async fn ask_always(stage: &Stage) {
    let family = stage.context.family_id.clone();
    let always = |snapshot: &CalendarSnapshot| {
        Ok(vec![CalendarChange::Family(Family { always_ask: true, ..(*snapshot.family).clone() })])
    };
    stage.context.store.change(&family, "mom", "settings", always).await.unwrap();
}

/// Returns the id of the resolution with this strategy that does, or does not, change the given event.
fn find_resolution_id(waits: &Outcome<FamilySchedulerState>, strategy: &str, (event, touches): (&str, bool)) -> String {
    let payload = &waits.interrupts()[0].value;
    let resolutions = payload["resolutions"].as_array().unwrap();
    let is_match = |resolution: &&Value| {
        resolution["strategy"] == strategy && resolution["changes"].to_string().contains(event) == touches
    };
    resolutions.iter().find(is_match).unwrap_or_else(|| panic!("{payload:#}"))["resolution_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// R-FAM-102, R-FAM-86: a change without a new value triggers a question and changes nothing; the time in the form
/// or another sentence completes it.
#[tokio::test]
async fn a_change_without_a_value_is_requested_and_completed() {
    let later = span("2026-01-10T17:00:00-05:00", "2026-01-10T18:00:00-05:00");
    let answers = [json!({ "fields": { "start_time": "2026-01-10T17:00" } }), json!({ "text": "to 5pm" })];
    for answer in answers {
        let stage = Stage::new(vec![dentist()]).await;
        let waits = stage.send("Move the dentist").await;
        assert_eq!(waits.interrupts()[0].value["question"], "What should change?");
        assert_eq!(*stage.snapshot().await.events["evt_dentist"], dentist());
        check_done(&stage.answer(answer.clone()).await.state);
        assert_eq!(stage.snapshot().await.events["evt_dentist"].span, later, "{answer}");
    }
}

/// R-FAM-91, R-FAM-90: changes of other users during an open question are kept: only the requested fields are
/// written.
#[tokio::test]
async fn concurrent_changes_of_others_are_preserved() {
    let stage = Stage::new(vec![dentist()]).await;
    ask_always(&stage).await;
    let waits = stage.send("Move the dentist to 5pm").await;
    assert_eq!(waits.interrupts()[0].value["kind"], "confirmation");
    let by_car = |snapshot: &CalendarSnapshot| {
        let longer = span("2026-01-10T14:30:00-05:00", "2026-01-10T16:00:00-05:00");
        let old = (*snapshot.events["evt_dentist"]).clone();
        Ok(vec![CalendarChange::Event(Box::new(Event { resources: vec!["car".to_owned()], span: longer, ..old }))])
    };
    stage.context.store.change(&stage.context.family_id, "dad", "edit", by_car).await.unwrap();
    check_done(&stage.answer(json!({ "confirm": true })).await.state);
    let snapshot = stage.snapshot().await;
    let dentist = &snapshot.events["evt_dentist"];
    assert_eq!(dentist.span, span("2026-01-10T17:00:00-05:00", "2026-01-10T18:30:00-05:00"));
    assert_eq!(dentist.resources, ["car"]);
}

/// R-FAM-107, R-FAM-116, R-FAM-87: a resolution can be to plan nothing, which ends the request.
#[tokio::test]
async fn a_resolution_may_plan_nothing() {
    let stage = Stage::new(vec![dentist()]).await;
    let waits = stage.send(SOCCER).await;
    let resolution_id = find_resolution_id(&waits, "cancel_event", ("evt_dentist", false));
    let done = stage.answer(json!({ "resolution_id": resolution_id })).await;
    check_done(&done.state);
    assert_eq!(done.state.proposed_event.as_ref().unwrap().status, EventStatus::Rejected);
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.events.len(), &*snapshot.events["evt_dentist"]), (1, &dentist()));
}

/// R-FAM-107, R-FAM-98: an event that the user decides not to move stays at its time.
#[tokio::test]
async fn an_event_that_is_not_moved_stays() {
    let swimming = event("evt_swimming", "Swimming", ("2026-01-11T14:30:00-05:00", "2026-01-11T15:30:00-05:00"));
    let stage = Stage::new(vec![dentist(), swimming.clone()]).await;
    let waits = stage.send("Move swimming to Saturday at 2:30pm").await;
    let resolution_id = find_resolution_id(&waits, "cancel_event", ("evt_dentist", false));
    let done = stage.answer(json!({ "resolution_id": resolution_id })).await;
    check_done(&done.state);
    let snapshot = stage.snapshot().await;
    assert_eq!((&*snapshot.events["evt_swimming"], &*snapshot.events["evt_dentist"]), (&swimming, &dentist()));
}

/// R-FAM-83, R-FAM-88: a second resolution is applied on top of the first.
#[tokio::test]
async fn two_resolutions_are_applied_together() {
    let mut shopping = event("evt_shopping", "Shopping", ("2026-01-10T13:00:00-05:00", "2026-01-10T20:00:00-05:00"));
    shopping.participants[0].member = "dad".to_owned();
    shopping.resources = vec!["car".to_owned()];
    let stage = Stage::new(vec![dentist(), shopping]).await;
    let van = |snapshot: &CalendarSnapshot| {
        let van = Resource { id: "van".to_owned(), name: "van".to_owned(), ..(*snapshot.resources["car"]).clone() };
        Ok(vec![CalendarChange::Resource(Resource { aliases: Vec::new(), ..van })])
    };
    stage.context.store.change(&stage.context.family_id, "mom", "add", van).await.unwrap();
    let waits = stage.send(SOCCER).await;
    let resolution_id = find_resolution_id(&waits, "alternative_resource", ("evt_shopping", false));
    let waits = stage.answer(json!({ "resolution_id": resolution_id })).await;
    assert_eq!(waits.state.detected_conflicts.as_ref().unwrap().conflicts.len(), 1);
    let resolution_id = find_resolution_id(&waits, "move_event", ("evt_dentist", false));
    let done = stage.answer(json!({ "resolution_id": resolution_id })).await;
    check_done(&done.state);
    let snapshot = stage.snapshot().await;
    let soccer = snapshot.events.values().find(|event| event.title == "Soccer practice").unwrap();
    assert_eq!((soccer.resources.as_slice(), soccer.status), (&["van".to_owned()][..], EventStatus::Confirmed));
    assert_eq!(soccer.span, span("2026-01-10T15:30:00-05:00", "2026-01-10T16:30:00-05:00"));
}

/// R-FAM-127: the event chosen from the list is changed as requested.
#[tokio::test]
async fn the_picked_event_is_changed() {
    let stage = Stage::new(vec![dentist(), later_dentist()]).await;
    let waits = stage.send("Move the dentist to 5pm").await;
    assert_eq!(waits.interrupts()[0].value["choices"].as_array().unwrap().len(), 2);
    let done = stage.answer(json!({ "fields": { "event_id": "evt_later" } })).await;
    check_done(&done.state);
    let snapshot = stage.snapshot().await;
    assert_eq!(snapshot.events["evt_later"].span, span("2026-01-14T17:00:00-05:00", "2026-01-14T18:30:00-05:00"));
    assert_eq!(*snapshot.events["evt_dentist"], dentist());
}

/// R-FAM-101, R-FAM-104: for a day or week without a time, a slot of the event's duration is found in it.
#[tokio::test]
async fn a_slot_is_selected_in_the_requested_range() {
    for (words, within) in [
        ("Move the dentist to next week", span("2026-01-12T00:00:00-05:00", "2026-01-19T00:00:00-05:00")),
        ("Move the dentist to Friday afternoon", span("2026-01-09T12:00:00-05:00", "2026-01-09T18:00:00-05:00")),
    ] {
        let old = event("evt_dentist", "Dentist", ("2026-01-21T14:30:00-05:00", "2026-01-21T16:00:00-05:00"));
        let stage = Stage::new(vec![old]).await;
        check_done(&stage.send(words).await.state);
        let actual = stage.snapshot().await.events["evt_dentist"].span;
        assert!(within.contains(&actual) && actual.minutes() == 90, "{words}: {actual:?}");
    }
}

/// R-FAM-101: an all-day event that moves to a time of day is no longer all-day.
#[tokio::test]
async fn a_day_becomes_a_time() {
    let mut picnic = event("evt_picnic", "Picnic", ("2026-01-11T00:00:00-05:00", "2026-01-12T00:00:00-05:00"));
    picnic.is_all_day = true;
    let stage = Stage::new(vec![picnic]).await;
    check_done(&stage.send("Move the picnic to 5pm").await.state);
    let snapshot = stage.snapshot().await;
    let picnic = &snapshot.events["evt_picnic"];
    assert_eq!(
        (picnic.is_all_day, picnic.span),
        (false, span("2026-01-11T17:00:00-05:00", "2026-01-11T18:00:00-05:00"))
    );
}

/// R-FAM-124, R-FAM-125, R-FAM-86: times in the form are validated like times in sentences.
#[tokio::test]
async fn times_of_the_form_are_checked() {
    let rows = [
        ("2026-01-10T16:00:00-05:00", Some("2026-01-10T15:00:00-05:00"), "The end is before the start."),
        ("2026-01-07T16:00:00-05:00", None, "That was on Wednesday"),
        ("tomorrow", None, "tomorrow"),
    ];
    for (start, end, expected) in rows {
        let stage = Stage::new(Vec::new()).await;
        assert!(!stage.send("Schedule a haircut for Dad").await.interrupts().is_empty());
        let waits = stage.answer(json!({ "fields": { "start_time": start, "end_time": end } })).await;
        assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser, "{start}");
        let question = waits.interrupts()[0].value["question"].as_str().unwrap().to_owned();
        assert!(question.contains(expected), "{question}");
        assert!(stage.snapshot().await.events.is_empty(), "{start}");
        // Without an offset it is the family's local time.
        check_done(&stage.answer(json!({ "fields": { "start_time": "2026-01-10T16:00:00" } })).await.state);
        let snapshot = stage.snapshot().await;
        let haircut = snapshot.events.values().next().unwrap();
        assert_eq!(haircut.span, span("2026-01-10T16:00:00-05:00", "2026-01-10T17:00:00-05:00"), "{start}");
    }
}
