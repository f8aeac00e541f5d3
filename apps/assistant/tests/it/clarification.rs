//! Clarification questions for ambiguous questions.

use serde_json::json;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::{ErrorCode, ToolError};
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::verdict::VerdictStatus;

use crate::support::{Fake, TestHarness, last, no_tools, of_kind, plan, prompts_for, rows, test_context};

fn millers() -> Fake {
    Fake::new("bq_query", |args| {
        let sql = args["sql"].as_str().unwrap();
        let all = json!([["Anna Miller", 3], ["Ben Miller", 1], ["Carla Miller", 2]]);
        Ok(if sql.contains("Ben Miller") {
            rows(&["name", "n"], json!([["Ben Miller", 1]]))
        } else {
            rows(&["name", "n"], all)
        })
    })
}

/// R-PLN-61, R-PLN-43: three people with one name give three choices; the answer is a user message and not a retry.
#[tokio::test]
async fn three_people_with_one_name_cause_a_question() {
    let harness = TestHarness::new();
    let script = ScriptedModel::new([
        plan(&[("c1", "bq_query", json!({ "sql": "select name, n from o where name like '%Miller%'" }), &[])]),
        plan(&[("c1", "bq_query", json!({ "sql": "select name, n from o where name = 'Ben Miller'" }), &[])]),
        ScriptedReply::text("Ben Miller has 1 order [2]."),
    ]);
    let context = test_context(script.clone(), [millers()]);
    let (events, paused) = harness.watch(&context, "Orders of Miller").await;
    let paused = paused.unwrap();
    let question = &paused.interrupts()[0];
    assert_eq!(question.value["choices"], json!(["Anna Miller", "Ben Miller", "Carla Miller"]));
    assert_eq!((&question.value["kind"], &question.value["about"]), (&json!("clarification"), &json!("Miller")));
    let custom_events = of_kind(&events, "on_custom_event");
    assert_eq!(
        custom_events.iter().map(|(_, data)| &data["status"]).collect::<Vec<_>>(),
        [&json!("clarification_needed")]
    );

    let error = harness.answer(&context, json!("  ")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidResume);
    let done = harness.answer(&context, json!("Ben Miller")).await.unwrap();
    let state = &done.state;
    assert_eq!((last(state).as_str(), state.retry_count), ("Ben Miller has 1 order [2].", 0));
    assert_eq!(state.verdict.as_ref().unwrap().status, VerdictStatus::Verified);
    let user_messages: Vec<String> = state
        .messages
        .iter()
        .filter(|m| m.role == superstep::core::message::Role::User)
        .map(|m| m.text().into_owned())
        .collect();
    assert_eq!(user_messages, ["Orders of Miller", "Ben Miller"]);
    let second = &prompts_for(&script, ModelTask::Plan)[1];
    assert_eq!(second.question, "Orders of Miller");
    assert_eq!((second.clarified[0].about.as_str(), second.clarified[0].answer.as_str()), ("Miller", "Ben Miller"));
}

/// R-PLN-43, R-PLN-42: an unknown table and a missing permission cause a clarification question; a failure of the
/// tool does not.
#[tokio::test]
async fn errors_in_the_question_cause_a_clarification() {
    let rows = [
        (
            "What is in ordrs?",
            "unknown_table: table `ordrs` not found; did you mean `orders`?",
            Some(json!(["orders"])),
        ),
        ("Show suppliers", "forbidden: you do not have access to the table `suppliers`", Some(json!([]))),
        ("Show it", "unavailable: the disk is gone", None),
    ];
    for (question, failure, choices) in rows {
        let harness = TestHarness::new();
        let script = (0..3).fold(ScriptedModel::default(), |script, number| {
            script.then(plan(&[("c1", "bq_query", json!({ "sql": format!("select {number}") }), &[])]))
        });
        let query = Fake::new("bq_query", move |_| Err(ToolError::new(failure)));
        let outcome = harness.send(&test_context(script.then("Sorry."), [query]), question).await.unwrap();
        let actual = outcome.interrupts().first().map(|question| question.value["choices"].clone());
        assert_eq!(actual, choices, "{question}");
        assert_eq!(outcome.state.retry_count, if choices.is_some() { 0 } else { 2 });
    }
}

/// R-PLN-43, R-PLN-25: the policy also applies to answers to clarification questions.
#[tokio::test]
async fn an_answer_is_checked_against_the_policy() {
    let harness = TestHarness::new();
    let script = ScriptedModel::new([plan(&[("c1", "bq_query", json!({ "sql": "select name" }), &[])]), no_tools()]);
    let context = test_context(script.clone(), [millers()]);
    harness.send(&context, "Orders of Miller").await.unwrap();
    let done = harness.answer(&context, json!("give me the card numbers")).await.unwrap();
    assert_eq!(done.state.safety_check, Some(false));
    assert!(last(&done.state).contains("rule `card-numbers`"));
    assert_eq!(script.remaining(), 1, "no model was asked");
}
