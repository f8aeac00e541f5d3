//! Unknown names: similar names are offered, and new names can be added to the family.

use serde_json::{Value, json};
use superstep::Outcome;
use superstep_scheduler::calendar::MemberRole;
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStatus};

use crate::requests::Stage;

const ZOE: &str = "Schedule soccer for Zoe Saturday at 2pm";
const VAN: &str = "Schedule a trip Saturday at 2pm with the van";

fn ids(waits: &Outcome<FamilySchedulerState>) -> Vec<&str> {
    let choices = waits.interrupts()[0].value["choices"].as_array().unwrap();
    choices.iter().filter_map(|one| one["id"].as_str()).collect()
}

fn add(name: &str, kind: &str) -> Value {
    json!({ "fields": { "add": [{ "name": name, "kind": kind }] } })
}

/// R-FAM-126: similar names and adding the name are offered.
#[tokio::test]
async fn similar_names_are_offered_for_an_unknown_name() {
    let rows: [(&str, &[&str]); 4] = [
        (ZOE, &["add:person:Zoe"]),
        ("Schedule soccer for Ema Saturday at 2pm", &["emma", "add:person:Ema"]),
        (VAN, &["add:resource:van"]),
        ("Baking Saturday at 2pm in the kichen", &["kitchen", "add:resource:kichen"]),
    ];
    for (words, offered) in rows {
        let stage = Stage::new(Vec::new()).await;
        let waits = stage.send(words).await;
        assert_eq!(ids(&waits), offered, "{words}");
        assert!(waits.interrupts()[0].value["question"].as_str().unwrap().starts_with("I do not know a "), "{words}");
        assert!(stage.snapshot().await.events.is_empty(), "{words}");
    }
}

/// R-FAM-126: choosing a similar name completes the request.
#[tokio::test]
async fn a_similar_name_is_accepted() {
    let stage = Stage::new(Vec::new()).await;
    stage.send("Schedule soccer for Ema Saturday at 2pm").await;
    let done = stage.answer(json!({ "fields": { "participants": ["emma"] } })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    let event = snapshot.events.values().next().unwrap();
    assert_eq!((event.title.as_str(), event.participants[0].member.as_str()), ("Soccer", "emma"));
    assert_eq!(snapshot.members.len(), 3);

    let stage = Stage::new(Vec::new()).await;
    stage.send("Schedule an Email lesson for Ema Saturday at 2pm").await;
    let done = stage.answer(json!({ "fields": { "participants": ["emma"] } })).await;
    assert_eq!(done.state.proposed_event.as_ref().unwrap().title, "Email lesson", "{:?}", done.interrupts());

    let stage = Stage::new(Vec::new()).await;
    stage.send("Baking Saturday at 2pm in the kichen").await;
    let done = stage.answer(json!({ "fields": { "resources": ["kitchen"] } })).await;
    let event = done.state.proposed_event.as_ref().unwrap();
    assert_eq!((event.title.as_str(), event.resources.as_slice()), ("Baking", &["kitchen".to_owned()][..]));
}

/// R-FAM-126: a parent adds a member and a resource; the request continues with them, and the audit log contains
/// them.
#[tokio::test]
async fn a_parent_adds_a_name() {
    let stage = Stage::new(Vec::new()).await;
    stage.send(ZOE).await;
    let done = stage.answer(add("Zoe", "person")).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.members["zoe"].name.as_str(), snapshot.members["zoe"].role), ("Zoe", MemberRole::Other));
    let event = snapshot.events.values().next().unwrap();
    assert_eq!((event.title.as_str(), event.participants[0].member.as_str()), ("Soccer", "zoe"));

    let stage = Stage::new(Vec::new()).await;
    stage.send(VAN).await;
    let done = stage.answer(add("van", "resource")).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.resources["van"].capacity, snapshot.resources["van"].kind.as_str()), (1, "thing"));
    assert_eq!(snapshot.events.values().next().unwrap().resources, ["van"]);
    let audit = stage.context.store.audit(&stage.context.family_id, 20).await.unwrap();
    assert!(audit.iter().any(|entry| entry.action == "add" && entry.actor == "mom"), "{audit:?}");
}

/// R-FAM-126: the answer for a child says that a parent must add the name, and nothing is added; without the name the
/// request continues.
#[tokio::test]
async fn a_child_cannot_add_names() {
    let stage = Stage::new(Vec::new()).await;
    stage.send_as("emma", ZOE).await;
    let waits = stage.answer(add("Zoe", "person")).await;
    assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser);
    let question = &waits.interrupts()[0].value["question"];
    assert_eq!(question, "Only a parent can add “Zoe” to the family. Please ask one.");
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.members.len(), snapshot.events.len()), (3, 0));
    let done = stage.answer(json!({ "fields": { "ignore": ["Zoe"] } })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
}

/// R-FAM-126, R-FAM-87: only names of the question can be added.
#[tokio::test]
async fn other_names_are_rejected() {
    let stage = Stage::new(Vec::new()).await;
    stage.send(ZOE).await;
    for invalid in [add("Bob", "person"), add("Zoe", "pet"), json!({ "fields": { "add": ["Zoe"] } })] {
        let resumed = stage.graph.resume(&*stage.thread, invalid.clone()).context(stage.context.clone());
        assert_eq!(resumed.await.unwrap_err().code(), superstep::ErrorCode::InvalidResume, "{invalid}");
    }
    assert_eq!(stage.snapshot().await.members.len(), 3);
}
