//! Complete requests, state by state, on a calendar in memory.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::models::SharedModel;
use superstep::prelude::*;
use superstep::testing::ManualClock;
use superstep::{CompiledGraph, Outcome};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event, Participant, Priority, TimeRange};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStatus};
use superstep_scheduler::state_utils::new_turn;
use superstep_scheduler::store::CalendarStore;
use superstep_scheduler::{SchedulerContext, ics, sample};

use crate::fixtures::{now, time};

/// Returns a stopped clock at the current time of the specification.
pub(crate) fn stopped_clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(now().as_unix_micros().unsigned_abs()));
    clock
}

pub(crate) struct Stage {
    pub(crate) graph: CompiledGraph<FamilySchedulerState, SchedulerContext>,
    pub(crate) context: SchedulerContext,
    pub(crate) thread: String,
}

impl Stage {
    pub(crate) async fn new(events: Vec<Event>) -> Self {
        let calendars = CalendarStore::options().clock(stopped_clock()).open_sqlite_in_memory().await.unwrap();
        let snapshot = sample::empty_family();
        let family = (*snapshot.family).clone();
        let changes =
            initial_changes(&snapshot).chain(events.into_iter().map(|event| CalendarChange::Event(Box::new(event))));
        let id = family.id.clone();
        calendars.create_family("mom", family, changes.collect()).await.unwrap();
        let mut graph = superstep_scheduler::state_graph();
        graph.checkpointer(MemoryCheckpointer::new());
        Self {
            graph: graph.compile().unwrap(),
            context: SchedulerContext::new(calendars, id),
            thread: "conv_0000000000000001".to_owned(),
        }
    }

    /// Creates a stage with a model in addition to the rules.
    pub(crate) async fn with_model(events: Vec<Event>, model: impl Into<SharedModel>) -> Self {
        let mut stage = Self::new(events).await;
        stage.context = stage.context.with_model(model);
        stage
    }

    pub(crate) async fn send(&self, text: &str) -> Outcome<FamilySchedulerState> {
        self.send_as("mom", text).await
    }

    pub(crate) async fn send_as(&self, user: &str, text: &str) -> Outcome<FamilySchedulerState> {
        let turn = new_turn(text, user, &self.thread, now());
        self.graph
            .invoke(turn)
            .thread(&*self.thread)
            .context(self.context.clone())
            .clock(stopped_clock())
            .await
            .unwrap()
    }

    pub(crate) async fn answer(&self, answer: Value) -> Outcome<FamilySchedulerState> {
        self.graph.resume(&*self.thread, answer).context(self.context.clone()).clock(stopped_clock()).await.unwrap()
    }

    pub(crate) async fn snapshot(&self) -> Arc<CalendarSnapshot> {
        self.context.store.snapshot(&self.context.family_id).await.unwrap()
    }
}

fn initial_changes(snapshot: &CalendarSnapshot) -> impl Iterator<Item = CalendarChange> + use<> {
    let members = snapshot.members.values().map(|record| CalendarChange::Member((**record).clone()));
    let calendars = snapshot.calendars.values().map(|record| CalendarChange::Calendar((**record).clone()));
    let resources = snapshot.resources.values().map(|record| CalendarChange::Resource((**record).clone()));
    members.chain(calendars).chain(resources).collect::<Vec<_>>().into_iter()
}

pub(crate) fn dentist() -> Event {
    let snapshot = sample::empty_family();
    Event {
        id: "evt_dentist".to_owned(),
        uid: "dentist".to_owned(),
        calendar: snapshot.calendars.keys().next().unwrap().clone(),
        title: "Dentist".to_owned(),
        span: TimeRange::new(time("2026-01-10T14:30:00-05:00"), time("2026-01-10T15:30:00-05:00")).unwrap(),
        zone: "America/New_York".to_owned(),
        is_all_day: false,
        participants: vec![Participant { member: "emma".to_owned(), is_required: true }],
        resources: Vec::new(),
        recurrence: None,
        recurrence_override: None,
        priority: Priority::High,
        flexibility: Default::default(),
        status: EventStatus::Confirmed,
        owner: "mom".to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at: now(),
        updated_at: now(),
    }
}

fn steps(state: &FamilySchedulerState) -> Vec<String> {
    let step_name =
        |entry: &serde_json::Map<String, Value>| entry.get("step").and_then(Value::as_str).map(str::to_owned);
    state.audit_log.iter().filter_map(step_name).collect()
}

pub(crate) const SOCCER: &str = "Schedule soccer practice for Emma Saturday at 2pm with the car";

/// R-FAM-115, R-FAM-82, R-FAM-90, R-FAM-92: a complete request on an empty calendar needs no question.
#[tokio::test]
async fn soccer_on_an_empty_calendar() {
    let stage = Stage::new(Vec::new()).await;
    let done = stage.send(SOCCER).await;
    let state = &done.state;
    assert_eq!(state.workflow_status, WorkflowStatus::Completed, "{:?}", state.errors);
    let parsed = serde_json::to_value(state.parsed_event_data.as_ref().unwrap()).unwrap();
    assert_eq!(parsed["event_type"], "create");
    assert_eq!(parsed["title"], "Soccer practice");
    assert_eq!(parsed["start_time"], "2026-01-10T14:00:00-05:00");
    assert_eq!(parsed["end_time"], "2026-01-10T15:00:00-05:00");
    assert_eq!((&parsed["participants"], &parsed["resources"]), (&json!(["emma"]), &json!(["car"])));
    assert!(state.agent_outputs["nl_parser"].confidence.value() >= 0.9);
    assert_eq!(steps(state), ["nl_parser", "scheduling", "resource_manager", "conflict_detection"]);
    let checks = state.validation_results.iter().map(|one| (serde_json::to_value(one.step).unwrap(), one.passed));
    let expected = ["nl_parsing", "scheduling", "resource_check", "conflict_detection"].map(|step| (json!(step), true));
    assert_eq!(checks.collect::<Vec<_>>(), expected);
    assert_eq!(state.proposed_event.as_ref().unwrap().status, EventStatus::Confirmed);
    let snapshot = stage.snapshot().await;
    let event = snapshot.events.values().next().unwrap();
    assert_eq!(
        (snapshot.events.len(), event.status, event.resources.as_slice()),
        (1, EventStatus::Confirmed, &["car".to_owned()][..])
    );
    let written = ics::export(&snapshot, &ics::ExportOptions::default()).unwrap();
    assert_eq!(written.matches("BEGIN:VEVENT").count(), 1);
    let audit = stage.context.store.audit(&stage.context.family_id, 20).await.unwrap();
    let actions: Vec<&str> = audit.iter().rev().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["create_family", "propose", "validate", "confirm"]);
    assert_eq!(state.messages.len(), 2);
}

/// R-FAM-116, R-FAM-83, R-FAM-87: soccer conflicts with the dentist and moves to 3:30 pm; the dentist is unchanged.
#[tokio::test]
async fn soccer_after_the_dentist() {
    let stage = Stage::new(vec![dentist()]).await;
    let waits = stage.send(SOCCER).await;
    assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser);
    let detected = waits.state.detected_conflicts.clone().unwrap();
    assert_eq!((detected.conflicts.len(), detected.blocking_conflicts.len()), (1, 1));
    let conflict = serde_json::to_value(&detected.conflicts[0]).unwrap();
    assert_eq!((&conflict["type"], &conflict["severity"]), (&json!("time_conflict"), &json!("high")));
    assert_eq!(conflict["conflicting_event_title"], "Dentist");
    assert_eq!(waits.interrupts().len(), 1);
    let payload = &waits.interrupts()[0].value;
    assert_eq!(payload["recommended"], "res_1");
    let best = &payload["resolutions"][0];
    assert_eq!((&best["resolution_id"], &best["strategy"]), (&json!("res_1"), &json!("move_event")));
    assert!(best.to_string().contains("2026-01-10T15:30:00-05:00"), "{best}");
    let strategies: Vec<&str> =
        payload["resolutions"].as_array().unwrap().iter().filter_map(|one| one["strategy"].as_str()).collect();
    assert!(strategies.contains(&"cancel_event"), "{strategies:?}");
    let done = stage.answer(json!({ "resolution_id": "res_1" })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.state.errors);
    let snapshot = stage.snapshot().await;
    let soccer = snapshot.events.values().find(|event| event.title == "Soccer practice").unwrap();
    assert_eq!(
        soccer.span,
        TimeRange::new(time("2026-01-10T15:30:00-05:00"), time("2026-01-10T16:30:00-05:00")).unwrap()
    );
    assert_eq!(soccer.status, EventStatus::Confirmed);
    assert_eq!(*snapshot.events["evt_dentist"], dentist());
}

/// R-FAM-83, R-FAM-87: declining all resolutions leaves nothing on the calendar; an unknown id is rejected.
#[tokio::test]
async fn declining_all_resolutions_books_nothing() {
    let stage = Stage::new(vec![dentist()]).await;
    stage.send(SOCCER).await;
    let resumed = stage.graph.resume(&*stage.thread, json!({ "resolution_id": "res_99" }));
    let error = resumed.context(stage.context.clone()).await.unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::InvalidResume, "{error}");
    let done = stage.answer(json!({ "decline": true })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed);
    assert_eq!(done.state.proposed_event.as_ref().unwrap().status, EventStatus::Rejected);
    assert_eq!(stage.snapshot().await.events.len(), 1);
}

/// R-FAM-88: three edited resolutions that resolve nothing may be tried; the next one ends the request without
/// effect.
#[tokio::test]
async fn unsuccessful_resolutions_are_accepted_three_times() {
    let stage = Stage::new(vec![dentist()]).await;
    let mut outcome = stage.send(SOCCER).await;
    for (round, minutes) in ["05", "10", "15", "20"].into_iter().enumerate() {
        assert_eq!(outcome.state.workflow_status, WorkflowStatus::AwaitingUser, "{round}");
        // In the format of the page for an edited resolution; here it only moves soccer further into the dentist.
        let best = &outcome.interrupts()[0].value["resolutions"][0];
        let times = [
            ("start_time", format!("2026-01-10T14:{minutes}:00-05:00")),
            ("end_time", format!("2026-01-10T15:{minutes}:00-05:00")),
        ];
        let mut resolution = best.clone();
        for change in resolution["changes"].as_array_mut().unwrap() {
            let (_, time) = times.iter().find(|(field, _)| change["field"] == *field).unwrap();
            change["new_value"] = json!(time);
        }
        outcome = stage.answer(json!({ "resolution": resolution })).await;
    }
    assert_eq!(outcome.state.workflow_status, WorkflowStatus::Failed);
    let last = outcome.state.messages.last().unwrap().text().into_owned();
    assert!(last.contains("still conflicting after 3 resolutions"), "{last}");
    assert_eq!(outcome.state.proposed_event.as_ref().unwrap().status, EventStatus::Rejected);
    assert_eq!(stage.snapshot().await.events.keys().collect::<Vec<_>>(), ["evt_dentist"]);
}

/// R-FAM-117, R-FAM-86, R-FAM-84: a sentence with a low confidence causes a question, and the answer completes it.
#[tokio::test]
async fn a_vague_sentence_causes_a_question() {
    let stage = Stage::new(Vec::new()).await;
    let waits = stage.send("Do the thing with grandma").await;
    assert!(waits.state.agent_outputs["nl_parser"].confidence.value() < 0.5);
    assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser);
    assert_eq!(waits.interrupts()[0].value["kind"], "clarification");
    let done = stage.answer(json!({ "text": "dinner with grandma on Sunday at 6" })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let user_messages =
        done.state.messages.iter().filter(|message| message.role == superstep::core::message::Role::User);
    assert_eq!(user_messages.count(), 2);
    let snapshot = stage.snapshot().await;
    let dinner = snapshot.events.values().next().unwrap();
    assert_eq!(dinner.span.start, time("2026-01-11T18:00:00-05:00"));
}

/// R-FAM-86: after three answers that leave the request unclear, it fails with an explanation, and nothing is written.
#[tokio::test]
async fn three_unclear_answers_fail_the_request() {
    let stage = Stage::new(Vec::new()).await;
    let before = stage.snapshot().await.revision;
    let mut outcome = stage.send("Do the thing with grandma").await;
    for round in 1..=3 {
        assert_eq!(outcome.state.workflow_status, WorkflowStatus::AwaitingUser, "{round}");
        assert_eq!(outcome.interrupts()[0].value["kind"], "clarification", "{round}");
        outcome = stage.answer(json!({ "text": "the thing" })).await;
    }
    assert_eq!(outcome.state.workflow_status, WorkflowStatus::Failed, "{:?}", outcome.interrupts());
    let text = outcome.state.messages.last().unwrap().text().into_owned();
    assert_eq!(text, "Sorry, I could not understand the request. Nothing was changed. Please rephrase it.");
    assert_eq!(stage.snapshot().await.revision, before);
}

/// R-FAM-118, R-FAM-109: a query is answered, and nothing is written.
#[tokio::test]
async fn when_is_everyone_free() {
    let stage = Stage::new(vec![dentist()]).await;
    let before = stage.snapshot().await.revision;
    let done = stage.send("When is everyone free this weekend?").await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let answer = &done.state.agent_outputs["query"];
    assert_eq!(answer.data["query_type"], "availability");
    let free = answer.data["results"]["free"].as_array().unwrap();
    assert!(!free.is_empty());
    let dentist_span = TimeRange::new(time("2026-01-10T14:30:00-05:00"), time("2026-01-10T15:30:00-05:00")).unwrap();
    for one in free {
        let at = |key: &str| time(one[key].as_str().unwrap());
        assert!(!TimeRange::new(at("start"), at("end")).unwrap().overlaps(&dentist_span), "{one}");
    }
    assert_eq!(stage.snapshot().await.revision, before);
}

/// R-FAM-109, R-FAM-63, R-FAM-101: a query for conflicts checks existing events; a query whether a day suits does
/// not.
#[tokio::test]
async fn conflict_queries_check_existing_events() {
    let mut soccer = dentist();
    (soccer.id, soccer.uid, soccer.title) = ("soccer".to_owned(), "soccer".to_owned(), "Soccer".to_owned());
    let answer_text = async |events: Vec<Event>, text: &str| {
        let done = Stage::new(events).await.send(text).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{text}: {:?}", done.interrupts());
        let answer = &done.state.agent_outputs["query"];
        assert_eq!(answer.data["query_type"], "conflict_check", "{text}");
        answer.explanation.clone()
    };
    let clash = "“Dentist” and “Soccer” both need Emma on Saturday 10 January, 2:30 pm to 3:30 pm.";
    let rows = [
        ("Are there any conflicts this weekend?", clash),
        ("Do we have any conflicts?", clash),
        ("Gibt es am Wochenende Konflikte?", clash),
        ("¿Hay conflictos el sábado?", clash),
        ("Are there any conflicts next week?", "There are no conflicts."),
        ("Any clashes on Sunday?", "There are no conflicts."),
    ];
    for (text, answer) in rows {
        assert_eq!(answer_text(vec![dentist(), soccer.clone()], text).await, answer, "{text}");
    }
    let busy = answer_text(vec![dentist()], "Does Saturday work for Emma?").await;
    assert!(busy.starts_with("No: Emma is at “Dentist”"), "{busy}");
}

/// R-FAM-119: a series at 5 pm local time on both sides of a daylight saving change.
#[tokio::test]
async fn piano_every_tuesday() {
    let stage = Stage::new(Vec::new()).await;
    let done = stage.send("Piano every Tuesday at 5pm").await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    let piano = snapshot.events.values().next().unwrap();
    assert_eq!(piano.recurrence.as_ref().unwrap().rule, "FREQ=WEEKLY;BYDAY=TU");
    let march = TimeRange::new(time("2026-03-01T00:00:00-05:00"), time("2026-03-16T00:00:00-04:00")).unwrap();
    let starts: Vec<String> =
        snapshot.instances_of(piano, &march).unwrap().iter().map(|one| one.span.start.to_string()).collect();
    assert_eq!(starts, ["2026-03-03T17:00:00-05:00", "2026-03-10T17:00:00-04:00"]);
}

/// R-FAM-127: if two events match, the user is asked to choose.
#[tokio::test]
async fn ambiguous_events_cause_a_question() {
    let mut other = dentist();
    other.id = "evt_dentist_2".to_owned();
    other.uid = "dentist-2".to_owned();
    other.span = TimeRange::new(time("2026-01-14T14:30:00-05:00"), time("2026-01-14T15:30:00-05:00")).unwrap();
    let stage = Stage::new(vec![dentist(), other]).await;
    let waits = stage.send("cancel the dentist").await;
    let choices = waits.interrupts()[0].value["choices"].as_array().unwrap();
    let ids: Vec<&str> = choices.iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["evt_dentist", "evt_dentist_2"]);
    let done = stage.answer(json!({ "fields": { "event_id": "evt_dentist_2" } })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    assert_eq!(stage.snapshot().await.events.keys().collect::<Vec<_>>(), ["evt_dentist"]);
}

/// R-FAM-124: an impossible time is reported, and nothing is written.
#[tokio::test]
async fn impossible_times_are_reported() {
    for text in ["Soccer on 30 February at 2pm", "Soccer Saturday at 25:00", "Soccer Saturday from 4pm to 3pm"] {
        let stage = Stage::new(Vec::new()).await;
        let waits = stage.send(text).await;
        assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser, "{text}");
        assert!(!waits.interrupts()[0].value["question"].as_str().unwrap().is_empty());
        assert!(stage.snapshot().await.events.is_empty(), "{text}");
    }
}

/// R-FAM-125: a past time is reported with the next possible one, and nothing is written; choosing that one
/// completes the request.
#[tokio::test]
async fn past_times_are_reported_with_the_next_one() {
    let rows = [
        ("Soccer last Monday at 2pm", "That was on Monday 5 January at 2:00 pm; did you mean next Monday, 12 January?"),
        ("Soccer today at 9am", "That was on Thursday 8 January at 9:00 am; did you mean tomorrow, Friday 9 January?"),
    ];
    for (text, question) in rows {
        let stage = Stage::new(Vec::new()).await;
        let waits = stage.send(text).await;
        assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser, "{text}");
        let payload = &waits.interrupts()[0].value;
        assert_eq!((&payload["kind"], &payload["question"]), (&json!("clarification"), &json!(question)), "{text}");
        assert!(stage.snapshot().await.events.is_empty(), "{text}");
        let done = stage.answer(json!({ "fields": { "start_time": "2026-01-12T14:00:00-05:00" } })).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{text}: {:?}", done.interrupts());
        let snapshot = stage.snapshot().await;
        let soccer = snapshot.events.values().next().unwrap();
        assert_eq!(soccer.span.start, time("2026-01-12T14:00:00-05:00"), "{text}");
    }
}

/// R-FAM-101, R-FAM-86: for a time on one of several days the user chooses the day, and the time is kept.
#[tokio::test]
async fn the_day_is_chosen_and_the_time_stays() {
    let stage = Stage::new(Vec::new()).await;
    let waits = stage.send("Soccer this weekend at 3pm").await;
    let payload = &waits.interrupts()[0].value;
    assert_eq!(payload["question"], "Is it on Saturday 10 January, on another of these days, or on all of them?");
    assert!(stage.snapshot().await.events.is_empty());
    let sunday = payload["choices"][1]["id"].clone();
    let done = stage.answer(json!({ "fields": { "start_time": sunday } })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    assert_eq!(snapshot.events.values().next().unwrap().span.start, time("2026-01-11T15:00:00-05:00"));
    // A confirmation accepts the suggested day.
    let stage = Stage::new(Vec::new()).await;
    stage.send("Soccer this weekend at 3pm").await;
    let done = stage.answer(json!({ "fields": { "confirm": true } })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    assert_eq!(snapshot.events.values().next().unwrap().span.start, time("2026-01-10T15:00:00-05:00"));
}

/// R-FAM-104, R-FAM-83: if no slot is found, the message names the searched time range.
#[tokio::test]
async fn the_searched_time_range_is_reported() {
    let rows = [
        ("Schedule ballet for Emma on Saturday", false, "on Saturday 10 January"),
        ("Schedule ballet for Emma on Saturday afternoon", false, "on Saturday 10 January, 12:00 pm to 5:00 pm"),
        ("Schedule ballet for Emma this weekend", false, "from Saturday 10 January to Sunday 11 January"),
        // Neither day nor time is given, so a question comes first.
        ("Schedule ballet for Emma", true, "in the next two weeks"),
    ];
    let month = TimeRange::new(time("2026-01-08T00:00:00-05:00"), time("2026-01-31T00:00:00-05:00")).unwrap();
    for (text, needs_confirmation, stretch) in rows {
        let stage = Stage::new(vec![Event { span: month, ..dentist() }]).await;
        let mut waits = stage.send(text).await;
        if needs_confirmation {
            waits = stage.answer(json!({ "fields": { "confirm": true } })).await;
        }
        let question = waits.interrupts()[0].value["question"].as_str().unwrap().to_owned();
        assert_eq!(question, format!("I found no free time {stretch}. When would it suit you?"), "{text}");
    }
}
