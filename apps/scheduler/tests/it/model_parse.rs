//! A language model next to the rule-based parser: same graph and checks, and nothing is written that only the model
//! reads.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::{HistoryQuery, SharedCheckpointer};
use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelInfo, ModelKind, ScriptedModel, ScriptedReply,
};
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{Error, Outcome};
use superstep_scheduler::calendar::{Event, Recurrence};
use superstep_scheduler::sample;
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStatus, WorkflowStep};
use superstep_scheduler::state_utils::new_turn;

use crate::fixtures::{now, time};
use crate::requests::{SOCCER, Stage, dentist, stopped_clock};

/// Returns a model parse of [`SOCCER`] with some fields replaced.
fn soccer(otherwise: Value) -> String {
    let mut parsed = json!({
        "event_type": "create", "query_type": null, "title": "Soccer practice", "start_time": "2026-01-10T14:00",
        "end_time": null, "earliest": null, "latest": null, "is_all_day": false, "participants": ["emma"],
        "resources": ["car"], "recurrence_rule": null, "priority": null, "flexibility": null, "events": [],
        "occurrence": null, "scope": null, "confidence": 0.97,
    });
    parsed.as_object_mut().unwrap().extend(otherwise.as_object().unwrap().clone());
    parsed.to_string()
}

fn confidence(state: &FamilySchedulerState) -> f64 {
    state.agent_outputs["nl_parser"].confidence.value()
}

fn question(waits: &Outcome<FamilySchedulerState>) -> &Value {
    assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser, "{:?}", waits.state.errors);
    &waits.interrupts()[0].value
}

/// R-FAM-110, R-FAM-114: a model that agrees with the rules does not raise their confidence; the prompt contains the
/// required context, the response is constrained by a schema, and there is one call.
#[tokio::test]
async fn an_agreeing_model_does_not_raise_the_confidence() {
    let model = ScriptedModel::new([soccer(json!({}))]);
    let stage = Stage::with_model(vec![dentist_on_monday()], model.clone()).await;
    let done = stage.send(SOCCER).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    assert_eq!(confidence(&done.state), 0.95, "never surer than what was found");
    let reasoning = &done.state.agent_outputs["nl_parser"].reasoning;
    assert!(reasoning.contains("scripted/script") && reasoning.contains("rule-based parser"), "{reasoning}");
    let snapshot = stage.snapshot().await;
    let event = snapshot.events.values().find(|event| event.title == "Soccer practice").unwrap();
    assert_eq!(event.span.start, time("2026-01-10T14:00:00-05:00"));
    assert_eq!(event.span.minutes(), 60, "the length that mom prefers");
    let [request] = model.requests().try_into().unwrap();
    assert_eq!(request.format.as_ref().unwrap().name, "ModelParse");
    let prompt: Value = serde_json::from_str(&request.messages[1].text()).unwrap();
    assert_eq!((&prompt["now"], &prompt["zone"]), (&json!("Thursday 2026-01-08T15:30"), &json!(sample::ZONE)));
    assert_eq!((&prompt["said"], &prompt["speaker"], &prompt["answers"]), (&json!(SOCCER), &json!("mom"), &json!([])));
    assert_eq!(prompt["members"][1], json!({ "id": "emma", "name": "Emma", "aliases": ["Em"], "role": "child" }));
    assert_eq!(prompt["resources"][0]["id"], "car");
    assert_eq!((&prompt["events"][0]["id"], &prompt["events"][0]["title"]), (&json!("evt_dentist"), &json!("Dentist")));
}

fn dentist_on_monday() -> Event {
    let mut event = dentist();
    event.span.start = time("2026-01-12T09:00:00-05:00");
    event.span.end = time("2026-01-12T10:00:00-05:00");
    event
}

/// R-FAM-102, R-FAM-110: a change without a new value triggers a question with a model too.
#[tokio::test]
async fn a_model_change_without_a_value_causes_a_question() {
    let nothing = json!({
        "event_type": "modify", "title": null, "start_time": null, "participants": [], "resources": [],
        "events": ["evt_dentist"],
    });
    let stage = Stage::with_model(vec![dentist()], ScriptedModel::new([soccer(nothing)])).await;
    let waits = stage.send("Move the dentist").await;
    assert_eq!(question(&waits)["question"], "What should change?", "{:?}", waits.interrupts());
    assert!(confidence(&waits.state) < 0.7, "{}", confidence(&waits.state));
}

/// R-FAM-110, R-FAM-84: if rules and model disagree on a day, time, duration or series, the confidence drops; the
/// user is asked to choose, and nothing is written.
#[tokio::test]
async fn a_disagreement_about_time_causes_a_question() {
    let rows = [
        (SOCCER, json!({ "start_time": "2026-01-10T16:00" })),
        (SOCCER, json!({ "start_time": "2026-01-17T14:00" })),
        (SOCCER, json!({ "start_time": null })),
        (SOCCER, json!({ "start_time": null, "earliest": "2026-01-10T12:00", "latest": "2026-01-10T18:00" })),
        (SOCCER, json!({ "recurrence_rule": "FREQ=WEEKLY" })),
        ("Schedule soccer practice for Emma with the car", json!({})),
        ("Soccer practice Saturday from 2pm to 4pm", json!({ "participants": [], "resources": [] })),
        // The rules parse a change of a nonexistent event, at the same time.
        ("Move soccer practice to Saturday at 2pm", json!({ "start_time": "2026-01-10T16:00" })),
    ];
    for (words, otherwise) in rows {
        let stage = Stage::with_model(Vec::new(), ScriptedModel::new([soccer(otherwise.clone())])).await;
        let waits = stage.send(words).await;
        assert!(confidence(&waits.state) <= 0.69, "{words} {otherwise}: {}", confidence(&waits.state));
        assert_eq!(question(&waits)["kind"], "clarification", "{words} {otherwise}");
        let reasoning = &waits.state.agent_outputs["nl_parser"].reasoning;
        assert!(reasoning.contains("disagree"), "{words} {otherwise}: {reasoning}");
        assert!(stage.snapshot().await.events.is_empty(), "{words} {otherwise}");
    }
}

/// R-FAM-110, R-FAM-86: both times are offered, and the model is not called again for the same text.
#[tokio::test]
async fn one_of_two_times_is_chosen() {
    for (index, start) in [(0, "2026-01-10T16:00:00-05:00"), (1, "2026-01-10T14:00:00-05:00")] {
        let model = ScriptedModel::new([soccer(json!({ "start_time": "2026-01-10T16:00" }))]);
        let stage = Stage::with_model(Vec::new(), model.clone()).await;
        let waits = stage.send(SOCCER).await;
        let payload = question(&waits).clone();
        assert_eq!(
            payload["question"],
            "Is it Saturday 10 January, 4:00 pm to 5:00 pm, or Saturday 10 January, 2:00 pm to 3:00 pm?"
        );
        assert_eq!(payload["choices"][index]["id"], start);
        let done = stage.answer(json!({ "fields": { "start_time": payload["choices"][index]["id"] } })).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
        assert_eq!(stage.snapshot().await.events.values().next().unwrap().span.start, time(start));
        assert_eq!(model.requests().len(), 1);
    }
}

/// R-FAM-110, R-FAM-86: an answer in natural language is parsed by the model too, and resolves the disagreement.
#[tokio::test]
async fn a_natural_language_answer_resolves_the_disagreement() {
    let late = soccer(json!({ "start_time": "2026-01-10T16:00" }));
    let model = ScriptedModel::new([late.clone(), late]);
    let stage = Stage::with_model(Vec::new(), model.clone()).await;
    stage.send(SOCCER).await;
    let done = stage.answer(json!({ "text": "at 4pm" })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    assert_eq!(snapshot.events.values().next().unwrap().span.start, time("2026-01-10T16:00:00-05:00"));
    let prompt: Value = serde_json::from_str(&model.requests()[1].messages[1].text()).unwrap();
    assert_eq!(prompt["answers"], json!(["at 4pm"]));
}

/// R-FAM-110, R-FAM-126: an unknown name that only the model reads triggers a question, and is never written.
#[tokio::test]
async fn unknown_names_of_a_model_cause_a_question() {
    for (otherwise, words, choice) in [
        (
            json!({ "participants": ["emma", "Zoe"] }),
            "I do not know a person called “Zoe”. Who do you mean?",
            "add:person:Zoe",
        ),
        (json!({ "participants": ["emmma"] }), "I do not know a person called “emmma”. Who do you mean?", "emma"),
        (
            json!({ "resources": ["van"] }),
            "I do not know a resource called “van”. Which one do you mean?",
            "add:resource:van",
        ),
    ] {
        let stage = Stage::with_model(Vec::new(), ScriptedModel::new([soccer(otherwise)])).await;
        let waits = stage.send(SOCCER).await;
        let payload = question(&waits);
        assert_eq!(payload["question"], words);
        let choices = payload["choices"].as_array().unwrap();
        assert!(choices.iter().any(|one| one["id"] == choice), "{choice}: {choices:?}");
        assert!(stage.snapshot().await.events.is_empty(), "{words}");
    }
}

/// R-FAM-110, R-FAM-127, R-FAM-83: the model's parse can move an existing event; a nonexistent one triggers a
/// question; the model does not choose between two matching events.
#[tokio::test]
async fn a_model_may_select_only_existing_events() {
    let moved = |events: Value| {
        soccer(json!({
            "event_type": "modify", "title": null, "participants": [], "resources": [], "events": events,
            "start_time": "2026-01-10T16:00",
        }))
    };
    let stage = Stage::with_model(vec![dentist()], ScriptedModel::new([moved(json!(["evt_dentist"]))])).await;
    let done = stage.send("Move the dentist to 4pm").await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let span = stage.snapshot().await.events["evt_dentist"].span;
    assert_eq!((span.start, span.minutes()), (time("2026-01-10T16:00:00-05:00"), 60));

    let stage = Stage::with_model(vec![dentist()], ScriptedModel::new([moved(json!(["evt_nothing"]))])).await;
    let waits = stage.send("Shift it to 4pm").await;
    assert!(
        question(&waits)["question"].as_str().unwrap().contains("I could not find the event. Which one do you mean?")
    );

    let mut other = dentist_on_monday();
    (other.id, other.uid) = ("evt_dentist_2".to_owned(), "dentist-2".to_owned());
    let cancel = soccer(json!({
        "event_type": "cancel", "title": null, "start_time": null, "participants": [], "resources": [],
        "events": ["evt_dentist"],
    }));
    let stage = Stage::with_model(vec![dentist(), other], ScriptedModel::new([cancel])).await;
    let waits = stage.send("cancel the dentist").await;
    let ids: Vec<&Value> = question(&waits)["choices"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["evt_dentist", "evt_dentist_2"]);
    assert_eq!(stage.snapshot().await.events.len(), 2);
}

/// Creates a series: piano on Tuesdays at 5 pm, from this week on.
fn piano() -> Event {
    let recurrence = Recurrence { rule: "FREQ=WEEKLY;BYDAY=TU".to_owned(), exdates: Vec::new(), rdates: Vec::new() };
    let mut event =
        Event { id: "evt_piano".to_owned(), uid: "piano".to_owned(), title: "Piano".to_owned(), ..dentist() };
    (event.span.start, event.span.end) = (time("2026-01-06T17:00:00-05:00"), time("2026-01-06T18:00:00-05:00"));
    Event { recurrence: Some(recurrence), ..event }
}

/// Returns a model parse of a change of [`piano`] with some fields replaced.
fn of_piano(otherwise: Value) -> String {
    let mut parsed = json!({
        "title": null, "start_time": null, "participants": [], "resources": [], "events": ["evt_piano"],
    });
    parsed.as_object_mut().unwrap().extend(otherwise.as_object().unwrap().clone());
    soccer(parsed)
}

/// R-FAM-110, R-FAM-98: the model alone does not decide the scope in a series: the user is asked, and a confirmation
/// applies the parse of the rules.
#[tokio::test]
async fn a_model_does_not_decide_the_scope_of_a_series() {
    let six = "2026-01-13T18:00";
    let rows = [
        (
            "Cancel piano",
            json!({ "event_type": "cancel", "scope": "all" }),
            "Only the one on Tuesday 13 January, or all",
        ),
        (
            "Move all piano lessons next week to 6pm",
            json!({ "event_type": "modify", "start_time": six }),
            "Only the one on Tuesday 13 January, or all",
        ),
        (
            "Cancel piano on Tuesday",
            json!({ "event_type": "cancel", "scope": "all" }),
            "Do you mean only the one on Tuesday 13 January?",
        ),
        (
            "Move piano on Tuesday to 6pm",
            json!({ "event_type": "modify", "scope": "all", "start_time": six }),
            "Do you mean only the one on Tuesday 13 January?",
        ),
        (
            "Move piano on Tuesday to 6pm",
            json!({ "event_type": "modify", "occurrence": "2026-01-20T17:00", "start_time": six }),
            "Do you mean the one on Tuesday 13 January?",
        ),
    ];
    for (words, parsed, expected) in rows {
        let stage = Stage::with_model(vec![piano()], ScriptedModel::new([of_piano(parsed.clone())])).await;
        let waits = stage.send(words).await;
        let question_text = question(&waits)["question"].as_str().unwrap();
        assert!(
            question_text.starts_with(expected) && confidence(&waits.state) <= 0.69,
            "{words} {parsed}: {question_text}"
        );
        assert_eq!(*stage.snapshot().await.events["evt_piano"], piano(), "{words} {parsed}");
        let done = stage.answer(json!({ "fields": { "confirm": true } })).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{words}: {:?}", done.interrupts());
        let snapshot = stage.snapshot().await;
        let series = &snapshot.events["evt_piano"];
        let moved: Vec<_> = snapshot.overrides_of("evt_piano").collect();
        let lesson: jiff::civil::DateTime = "2026-01-13T17:00:00".parse().unwrap();
        assert_eq!(series.span, piano().span, "{words} {parsed}");
        if words.starts_with("Cancel") {
            assert_eq!((series.recurrence.as_ref().unwrap().exdates.as_slice(), moved.len()), (&[lesson][..], 0));
        } else {
            let [one] = moved.as_slice() else { panic!("{words} {parsed}: {moved:?}") };
            assert_eq!(one.recurrence_override.as_ref().unwrap().start, lesson, "{words} {parsed}");
            assert_eq!(one.span.start, time("2026-01-13T18:00:00-05:00"), "{words} {parsed}");
        }
    }
}

/// R-FAM-110, R-FAM-98, R-FAM-86: if a cancellation may mean two days, the chosen one is cancelled.
#[tokio::test]
async fn one_of_two_lessons_is_cancelled() {
    let parsed = of_piano(json!({ "event_type": "cancel", "occurrence": "2026-01-20T17:00" }));
    for (index, lesson) in [(0, "2026-01-20T17:00:00"), (1, "2026-01-13T17:00:00")] {
        let stage = Stage::with_model(vec![piano()], ScriptedModel::new([parsed.clone()])).await;
        let waits = stage.send("Cancel piano on Tuesday").await;
        let choice = question(&waits)["choices"][index]["id"].clone();
        assert_eq!(choice, format!("{lesson}-05:00"));
        let done = stage.answer(json!({ "fields": { "start_time": choice } })).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
        let snapshot = stage.snapshot().await;
        let left_out = &snapshot.events["evt_piano"].recurrence.as_ref().unwrap().exdates;
        assert_eq!(left_out.as_slice(), [lesson.parse().unwrap()]);
    }
}

/// R-FAM-110: the model alone neither cancels nor moves an event: the user is asked, and the question names event
/// and time.
#[tokio::test]
async fn a_model_alone_neither_cancels_nor_moves_events() {
    let six =
        json!({ "event_type": "modify", "events": ["evt_dentist"], "start_time": "2026-01-10T18:00", "confidence": 1 });
    let rows = [
        (json!({ "event_type": "cancel", "scope": "all", "confidence": 1 }), "Shall I cancel all of “Piano”?"),
        (
            json!({ "event_type": "cancel", "events": ["evt_dentist"], "confidence": 1 }),
            "Shall I cancel “Dentist” on Saturday 10 January, 2:30 pm to 3:30 pm?",
        ),
        (
            six,
            "Shall I change “Dentist” on Saturday 10 January, 2:30 pm to 3:30 pm, to Saturday 10 January, 6:00 pm to 7:00 pm?",
        ),
    ];
    for (parsed, expected) in rows {
        let stage = Stage::with_model(vec![piano(), dentist()], ScriptedModel::new([of_piano(parsed)])).await;
        let before = stage.snapshot().await.revision;
        let waits = stage.send("Please take care of what I told you about").await;
        assert_eq!((question(&waits)["question"].as_str().unwrap(), confidence(&waits.state)), (expected, 0.69));
        assert_eq!(stage.snapshot().await.revision, before, "{expected}");
        let done = stage.answer(json!({ "fields": { "confirm": true } })).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{expected}: {:?}", done.interrupts());
        let snapshot = stage.snapshot().await;
        let [piano, dentist] = ["evt_piano", "evt_dentist"].map(|id| snapshot.events.get(id));
        match expected {
            _ if expected.contains("all of") => assert!(piano.is_none() && dentist.is_some()),
            _ if expected.contains("cancel") => assert!(piano.is_some() && dentist.is_none()),
            _ => assert_eq!(dentist.unwrap().span.start, time("2026-01-10T18:00:00-05:00")),
        }
    }
}

/// R-FAM-84, R-FAM-110: a confirmation applies only to its question, not to the parse of a later sentence.
#[tokio::test]
async fn a_confirmation_applies_only_to_its_question() {
    let chess = json!({ "title": "Chess", "participants": ["zoe"], "resources": [], "confidence": 0.6 });
    let cancel = of_piano(json!({ "event_type": "cancel", "scope": "all", "confidence": 1 }));
    let stage = Stage::with_model(vec![piano()], ScriptedModel::new([soccer(chess), cancel])).await;
    stage.send("Schedule chess for Zoe Saturday at 2pm").await;
    let waits = stage.answer(json!({ "fields": { "confirm": true } })).await;
    assert!(question(&waits)["question"].as_str().unwrap().contains("Zoe"));
    let waits = stage.answer(json!({ "text": "please take care of it", "fields": { "ignore": ["Zoe", "zoe"] } })).await;
    assert_eq!((question(&waits)["kind"].as_str(), confidence(&waits.state)), (Some("clarification"), 0.69));
    assert!(stage.snapshot().await.events.contains_key("evt_piano"));
}

/// R-FAM-84, R-FAM-110: an ambiguity is not resolved by an unrelated answer, nor by a confirmation below a
/// confidence of one half.
#[tokio::test]
async fn an_ambiguity_stays_until_it_is_resolved() {
    let late = json!({ "start_time": "2026-01-10T16:00" });
    let uncertain = json!({ "start_time": "2026-01-10T16:00", "confidence": 0.4 });
    for (parsed, fields) in [(late, json!({ "title": "Soccer" })), (uncertain, json!({ "confirm": true }))] {
        let stage = Stage::with_model(Vec::new(), ScriptedModel::new([soccer(parsed)])).await;
        stage.send(SOCCER).await;
        let waits = stage.answer(json!({ "fields": fields })).await;
        assert_eq!(question(&waits)["kind"], "clarification", "{fields}");
        assert!(stage.snapshot().await.events.is_empty(), "{fields}");
    }
}

/// R-FAM-101, R-FAM-110: an event with times is not all-day, whatever the model returns.
#[tokio::test]
async fn timed_events_of_a_model_are_not_all_day() {
    let stage = Stage::with_model(Vec::new(), ScriptedModel::new([soccer(json!({ "is_all_day": true }))])).await;
    let done = stage.send(SOCCER).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    let event = snapshot.events.values().next().unwrap();
    assert_eq!((event.is_all_day, event.span.minutes()), (false, 60));
}

/// R-FAM-63, R-FAM-110: a fit query for a day searches for a slot in it, with and without a model.
#[tokio::test]
async fn a_model_requests_a_fit_query() {
    let rows = [
        json!({ "earliest": "2026-01-10T00:00", "latest": "2026-01-11T00:00" }),
        json!({ "start_time": "2026-01-10T00:00", "end_time": "2026-01-11T00:00" }),
    ];
    for stretch in rows {
        let mut parsed = json!({
            "event_type": "query", "query_type": "conflict_check", "title": "Haircut", "start_time": null,
            "participants": [], "resources": [],
        });
        parsed.as_object_mut().unwrap().extend(stretch.as_object().unwrap().clone());
        let mut visit = dentist();
        visit.participants[0].member = "mom".to_owned();
        let stage = Stage::with_model(vec![visit], ScriptedModel::new([soccer(parsed)])).await;
        let done = stage.send("Does a haircut fit on Saturday?").await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{stretch}: {:?}", done.interrupts());
        let results = &done.state.agent_outputs["query"].data["results"];
        assert_eq!(results["fits"], true, "{stretch}: {results}");
        assert!(!results["slots"].as_array().unwrap().is_empty(), "{stretch}: {results}");
    }
}

/// R-FAM-110, R-FAM-124, R-FAM-125, R-FAM-128: an impossible value triggers a question, also if the model returns
/// it.
#[tokio::test]
async fn impossible_values_of_a_model_raise_a_question() {
    let rows = [
        (
            json!({ "start_time": "2026-01-05T14:00" }),
            "That was on Monday 5 January at 2:00 pm; did you mean next Monday",
        ),
        (json!({ "end_time": "2026-01-10T13:00" }), "The end is before the start. Please give another time."),
        (
            json!({ "start_time": "2026-02-30T14:00" }),
            "The time 2026-02-30T14:00 does not exist. Please give another time.",
        ),
        (json!({ "recurrence_rule": "FREQ=WEEKLY;BYDAY=XX" }), "RRULE part `BYDAY=XX`"),
    ];
    for (otherwise, part) in rows {
        let stage = Stage::with_model(Vec::new(), ScriptedModel::new([soccer(otherwise)])).await;
        let waits = stage.send(SOCCER).await;
        let question_text = question(&waits)["question"].as_str().unwrap();
        assert!(question_text.contains(part), "{part}: {question_text}");
        assert!(stage.snapshot().await.events.is_empty(), "{part}");
    }
}

/// R-FAM-110, R-FAM-113: an unreachable model or a response without JSON is replaced by the rules, with a notice.
#[tokio::test]
async fn an_unreachable_model_is_replaced_by_the_rules() {
    let away = |kind: ModelErrorKind| ScriptedReply::error(kind, "as the test asked");
    let rows = [
        (away(ModelErrorKind::Connection), "as the test asked"),
        (away(ModelErrorKind::InvalidApiKey), "as the test asked"),
        (ScriptedReply::text("Sure! Soccer it is."), "not JSON"),
        (ScriptedReply::text("[1, 2]"), "not an object"),
        (ScriptedReply::text(soccer(json!({}))).then_error(ModelErrorKind::StreamInterrupted), "stream interrupted"),
    ];
    for (reply, reason) in rows {
        let stage = Stage::with_model(Vec::new(), ScriptedModel::new([reply])).await;
        let done = stage.send(SOCCER).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{reason}: {:?}", done.interrupts());
        let read = &done.state.agent_outputs["nl_parser"];
        assert_eq!(read.confidence.value(), 0.95, "{reason}");
        assert!(read.reasoning.contains("language model not used: ") && read.reasoning.contains(reason), "{read:?}");
        assert!(done.state.errors.is_empty(), "{reason}");
    }
}

/// A model that never responds.
struct Silent;

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "silent", ModelKind::Remote)
    }

    async fn generate(&self, _request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse, Error> {
        std::future::pending().await
    }
}

/// R-FAM-110, R-FAM-113: a model that times out is replaced by the rules.
#[tokio::test]
async fn a_model_timeout_falls_back_to_the_rules() {
    let stage = Stage::with_model(Vec::new(), Silent).await;
    let clock = stopped_clock();
    let turn = new_turn(SOCCER, "mom", &stage.thread, now());
    let run = stage.graph.invoke(turn).thread(&*stage.thread).context(stage.context.clone()).clock(clock.clone());
    let later = async {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(31));
        std::future::pending::<()>().await;
    };
    let done = tokio::select! {
        done = run.into_future() => done.unwrap(),
        () = later => unreachable!(),
    };
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let reasoning = &done.state.agent_outputs["nl_parser"].reasoning;
    assert!(reasoning.contains("no answer within 30s"), "{reasoning}");
}

/// R-FAM-130, R-FAM-89, R-FAM-78, R-FAM-79: a confidence above 1 is retried, state by state; finally the request
/// fails with an explanation and writes nothing.
#[tokio::test]
async fn a_confidence_above_one_is_retried_and_fails() {
    let model = ScriptedModel::new((0..4).map(|_| soccer(json!({ "confidence": 1.5 }))));
    let stage = Stage::with_model(Vec::new(), model.clone()).await;
    let done = stage.send(SOCCER).await;
    assert_eq!((done.state.workflow_status, model.remaining()), (WorkflowStatus::Failed, 0));
    let history = stage.graph.threads().get_state_history(&*stage.thread, &HistoryQuery::default()).await.unwrap();
    let seen: Vec<_> = history
        .iter()
        .rev()
        .map(|one| (one.state.errors.len(), one.state.retry_count, one.state.workflow_status))
        .skip_while(|(errors, ..)| *errors == 0)
        .collect();
    let going = WorkflowStatus::InProgress;
    assert_eq!(seen, [(1, 1, going), (2, 2, going), (3, 3, going), (4, 3, WorkflowStatus::Failed)]);
    for error in &done.state.errors {
        assert_eq!((error.step.as_str(), error.error_type.as_str()), ("nl_parser", "TypeMismatch"));
        assert!(error.retryable && error.message.contains("`/confidence`"), "{error:?}");
    }
    let last = done.state.messages.last().unwrap().text().into_owned();
    assert!(last.starts_with("Sorry, the request failed: ") && last.contains("confidence is 1.5"), "{last}");
    assert_eq!((done.state.current_step, &done.state.proposed_event), (WorkflowStep::Start, &None));
    assert!(done.state.agent_outputs.is_empty() && stage.snapshot().await.events.is_empty());
}

/// R-FAM-130: every schema violation is such an error; a valid second response is accepted.
#[tokio::test]
async fn schema_violations_are_retried() {
    let rows = [
        (json!({ "confidence": -0.1 }), "/confidence"),
        (json!({ "event_type": "delete" }), "/event_type"),
        (json!({ "start_time": "on saturday at 2" }), "/start_time"),
        (json!({ "start_time": null, "end_time": "2026-01-10T15:00" }), "/end_time"),
        (json!({ "participants": "emma" }), "/participants"),
        (json!({ "calendar": "family" }), "calendar"),
    ];
    for (otherwise, expected) in rows {
        let model = ScriptedModel::new([soccer(otherwise), soccer(json!({}))]);
        let stage = Stage::with_model(Vec::new(), model).await;
        let done = stage.send(SOCCER).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{expected}: {:?}", done.state.errors);
        let [error] = done.state.errors.as_slice() else { panic!("{expected}: {:?}", done.state.errors) };
        assert!(error.error_type == "TypeMismatch" && error.message.contains(expected), "{error:?}");
        assert_eq!((done.state.retry_count, stage.snapshot().await.events.len()), (0, 1), "{expected}");
    }
}

async fn live(
    stage: &Stage,
    disk: impl Into<SharedCheckpointer>,
    has_started: bool,
) -> Result<Outcome<FamilySchedulerState>, Error> {
    let disk = disk.into();
    let thread = &*stage.thread;
    let has_thread = has_started && stage.graph.threads().checkpointer(disk.clone()).get_state(thread).await.is_ok();
    let run = match has_thread {
        true => stage.graph.continue_thread(thread),
        false => stage.graph.invoke(new_turn(SOCCER, "mom", thread, now())).thread(thread),
    };
    run.context(stage.context.clone()).checkpointer(disk).clock(stopped_clock()).await
}

/// R-FAM-110: after a crash at any write, a recorded model response is not requested again.
#[tokio::test]
async fn a_recorded_model_response_is_not_requested_again_after_a_crash() {
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let model = ScriptedModel::new([soccer(json!({})), soccer(json!({}))]);
            let (disk, stage) = (MemoryCheckpointer::new(), Stage::with_model(Vec::new(), model.clone()).await);
            let survived = live(&stage, CrashingCheckpointer::new(disk.clone(), at, last), false).await.is_ok();
            if !survived {
                let done = live(&stage, disk, true).await.unwrap();
                assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "write {at}, {last:?}");
            }
            let repeats = model.requests().len() - 1;
            assert!(
                repeats <= usize::from(last == CrashedWrite::Lost),
                "write {at}, {last:?}: asked {repeats} times again"
            );
            let snapshot = stage.snapshot().await;
            assert_eq!(snapshot.events.len(), 1, "write {at}, {last:?}");
            if survived {
                assert!(at >= 5, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}
