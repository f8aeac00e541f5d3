//! Sessions over HTTP beyond one turn: continue, reconnect, stop, list, and move to another store.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::transfer::{self, ImportName};
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::{AssistantSettings, app};
use superstep_server::{ModelRegistry, ServerConfig, Storage};

use crate::support::{Fake, no_tools, plan, prompts_for};
use crate::test_server::{
    Folder, Gated, question, settings, start_server, started, started_session_id, without_run_events,
};

/// Returns a script for two turns without tools.
fn two_turns() -> ScriptedModel {
    ScriptedModel::new([
        no_tools(),
        ScriptedReply::text("Hello Ana."),
        no_tools(),
        ScriptedReply::text("You said hello."),
    ])
}

fn texts(session: &Value) -> Vec<&str> {
    session["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect()
}

/// R-PLN-1, R-PLN-50, R-SRV-9: a second turn sends only its own events; a client that reconnects receives every
/// event once.
#[tokio::test]
async fn a_conversation_has_turns() {
    let script = two_turns();
    let server = start_server(script.clone()).await;
    let (id, first) = server.send("Hello", json!({})).await;
    let (same_id, second) = server.send("What did I say?", json!({ "sessionId": id, "model": null })).await;
    assert_eq!((&same_id, second[0].event.as_str()), (&id, "on_chain_start"));
    assert!(first.last().unwrap().id < second[0].id);
    assert_eq!(without_run_events(&second).iter().filter(|sent| sent.event == "on_chat_model_start").count(), 2);
    let session = server.session(&id).await;
    assert_eq!(texts(&session), ["Hello", "Hello Ana.", "What did I say?", "You said hello."]);
    assert_eq!(
        prompts_for(&script, ModelTask::Plan)[1].history.len(),
        2,
        "without a model, the request uses the model of the previous turn"
    );
    assert!(session["summary"].as_str().unwrap().contains("Hello"));
    let full_stream = server.stream(&id, None).await;
    assert!(full_stream.len() >= first.len() + second.len() - 4);
    for cut in [0, full_stream.len() / 3, full_stream.len() / 2, full_stream.len() - 2] {
        let rest = server.stream(&id, full_stream[cut].id).await;
        assert_eq!(rest, full_stream[cut + 1..], "after {cut}");
    }
}

/// R-PLN-52, R-SRV-11: a turn continues after its client disconnects, and a client can reconnect; no other turn can
/// start meanwhile.
#[tokio::test]
async fn a_turn_continues_when_its_client_disconnects() {
    let model = Gated::new(two_turns());
    let server = start_server(model.clone()).await;
    let response = server.post("/api/assistant", &question("Hello", &json!({}))).await;
    let id = started_session_id(&response);
    drop(response);
    assert_eq!(server.session(&id).await["status"], "running");
    assert_eq!(server.wait("Me too", json!({ "sessionId": id })).await.0, 409);
    let (sent, ()) = tokio::join!(server.stream(&id, None), async { model.gate.add_permits(2) });
    assert_eq!((sent[0].event.as_str(), sent.last().unwrap().event.as_str()), ("on_chain_start", "on_chain_end"));
    let session = server.session(&id).await;
    assert_eq!((&session["status"], texts(&session)[1]), (&json!("completed"), "Hello Ana."));
}

/// R-SRV-11: a turn that is not detached stops after the running superstep when its client disconnects.
#[tokio::test]
async fn a_turn_stops_when_its_client_disconnects() {
    let model = Gated::new(two_turns());
    let server = start_server(model.clone()).await;
    let response = server.post("/api/assistant", &question("Hello", &json!({ "detach": false }))).await;
    let id = started_session_id(&response);
    drop(response);
    let thread = ThreadId::from(id.as_str());
    while !server.handle.run_service().is_cancelling(&thread) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    model.gate.add_permits(2);
    server.stream(&id, None).await;
    let session = server.session(&id).await;
    assert_eq!((&session["status"], texts(&session)), (&json!("stopped"), vec!["Hello"]));
    assert_eq!(model.script.remaining(), 3, "the answer was not written");
}

/// A running turn is cancelled, a turn with an open interrupt is discarded, and the session continues with the next
/// turn.
#[tokio::test]
async fn a_turn_is_stopped() {
    let script = ScriptedModel::new([
        no_tools(),
        ScriptedReply::text("Never said."),
        no_tools(),
        ScriptedReply::text("Here I am."),
    ]);
    let model = Gated::new(script.then(plan(&[("c1", "forget_memory", json!({ "key": "x" }), &[])])));
    let server = start_server(model.clone()).await;
    let response = server.post("/api/assistant", &question("Hello", &json!({}))).await;
    let id = started_session_id(&response);
    assert_eq!(server.stop(&id).await, 202);
    server.stream(&id, None).await;
    assert_eq!(server.session(&id).await["status"], "stopped");
    assert_eq!(server.stop(&id).await, 409);
    assert_eq!(server.answer(&id, json!("x")).await, 409);
    model.gate.add_permits(9);
    // The stopped turn consumed nothing of the script.
    let (_, reply) = server.wait("Are you there?", json!({ "sessionId": id })).await;
    assert_eq!(reply["answer"], "Never said.");
    server.send("And now?", json!({ "sessionId": id })).await;
    server.send("Forget it", json!({ "sessionId": id })).await;
    assert_eq!(server.session(&id).await["status"], "waiting");
    assert_eq!(server.stop(&id).await, 202);
    let session = server.session(&id).await;
    assert_eq!((&session["status"], &session["waiting"]), (&json!("stopped"), &Value::Null));
}

/// R-PLN-51a: a session in SQLite exists after a restart, with its events, and continues.
#[tokio::test]
async fn a_conversation_survives_a_restart() {
    let folder = Folder::new("restart");
    let file = folder.path().join("sessions.db");
    let script = two_turns();
    let config = || async { ServerConfig::new(Storage::sqlite(&file).await.unwrap()) };
    let first = started(settings(), config().await, script.clone()).await;
    let (id, sent) = first.send("Hello", json!({})).await;
    let before = first.session(&id).await;
    first.handle.shutdown().await;
    let second = started(settings(), config().await, script.clone()).await;
    assert_eq!(second.session(&id).await, before);
    let replayed = second.stream(&id, None).await;
    let journaled: Vec<_> = sent.iter().filter(|sent| sent.event != "on_chat_model_stream").collect();
    assert_eq!(replayed.iter().collect::<Vec<_>>(), journaled);
    let (_, response) = second.wait("What did I say?", json!({ "sessionId": id })).await;
    assert_eq!(response["answer"], "You said hello.");
    assert_eq!(prompts_for(&script, ModelTask::Plan)[1].history[0].text, "Hello");
    assert_eq!(second.json("/api/assistant?userId=ana").await["sessions"][0]["title"], "Hello");
}

/// R-PLN-51a: a session moves from memory to SQLite by export and import, and keeps its owner.
#[tokio::test]
async fn a_conversation_moves_to_another_store() {
    let (script, folder) = (two_turns(), Folder::new("move"));
    let (source, target) = (Storage::memory(), Storage::sqlite(folder.path().join("sessions.db")).await.unwrap());
    let first = started(settings(), ServerConfig::new(source.clone()), script.clone()).await;
    let (id, _) = first.send("Hello", json!({})).await;
    first.handle.shutdown().await;
    let mut file = Vec::new();
    transfer::export(source.checkpointer, id.as_str(), &mut file).await.unwrap();
    transfer::import(target.checkpointer.clone(), &file[..], ImportName::Same).await.unwrap();
    let second = started(settings(), ServerConfig::new(target), script.clone()).await;
    let of_another = second.wait("Mine now?", json!({ "sessionId": id, "userId": "sam" })).await;
    assert_eq!(of_another.0, 403);
    let (_, response) = second.wait("What did I say?", json!({ "sessionId": id })).await;
    assert_eq!(response["answer"], "You said hello.");
    let session = second.session(&id).await;
    assert_eq!(texts(&session), ["Hello", "Hello Ana.", "What did I say?", "You said hello."]);
    assert_eq!(prompts_for(&script, ModelTask::Plan)[1].history.len(), 2);
}

/// R-PLN-66: users see only their own sessions, newest first.
#[tokio::test]
async fn conversations_are_listed() {
    let server = start_server(ScriptedModel::default()).await;
    let local = |user: &str| json!({ "model": "local", "userId": user });
    let (first, _) = server.send("The first question", local("ana")).await;
    server.send("A question of Sam", local("sam")).await;
    let (second, _) = server.send(&"word ".repeat(50), local("ana")).await;
    let list = server.json("/api/assistant?userId=ana").await;
    let ids: Vec<&Value> = list["sessions"].as_array().unwrap().iter().map(|session| &session["sessionId"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)]);
    let session = &list["sessions"][1];
    assert_eq!((&session["title"], &session["status"]), (&json!("The first question"), &json!("completed")));
    assert!(session["updatedAt"].is_string());
    assert!(list["sessions"][0]["title"].as_str().unwrap().chars().count() <= 103);
    let limited = server.json("/api/assistant?userId=ana&limit=1").await;
    assert_eq!(limited["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(server.json("/api/assistant?userId=sam").await["sessions"].as_array().unwrap().len(), 1);
    server.send("Once more", json!({ "model": "local", "sessionId": first })).await;
    let title = &server.session(&first).await["title"];
    assert_eq!(title, "The first question", "the title does not change");
}

/// R-PLN-47: users list and delete the facts about themselves; other users do not see them.
#[tokio::test]
async fn facts_are_listed_and_deleted() {
    let server = start_server(ScriptedModel::default()).await;
    server.send("Remember that I weigh in kilograms", json!({ "model": "local" })).await;
    let facts = server.json("/api/assistant/memory?userId=ana").await;
    let [fact] = facts["facts"].as_array().unwrap().as_slice() else { panic!("one fact: {facts}") };
    assert_eq!((&fact["text"], &fact["date"]), (&json!("I weigh in kilograms"), &json!("2026-11-02")));
    assert!(fact["source"].as_str().unwrap().starts_with("asked-"));
    assert_eq!(server.json("/api/assistant/memory?userId=sam").await["facts"], json!([]));
    let path = format!("/api/assistant/memory/{}", fact["key"].as_str().unwrap());
    let delete = |user: &str| server.client.delete(server.url(&format!("{path}?userId={user}"))).send();
    assert_eq!(delete("sam").await.unwrap().status(), 404);
    assert_eq!(delete("nobody").await.unwrap().status(), 403);
    assert_eq!(delete("ana").await.unwrap().status(), 204);
    assert_eq!(delete("ana").await.unwrap().status(), 404);
    assert_eq!(server.json("/api/assistant/memory?userId=ana").await["facts"], json!([]));
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

/// R-PLN-56, R-PLN-54, R-PLN-25: the settings list the available models, users, tools, tables and examples.
#[tokio::test]
async fn settings_list_models_users_tools_and_tables() {
    let server = start_server(ScriptedModel::default()).await;
    let settings = server.json("/api/assistant/settings?userId=ana").await;
    let local = &settings["models"][0];
    assert_eq!((&local["name"], &local["label"]), (&json!("local"), &json!("rule-based, no language model")));
    assert_eq!(settings["models"][1]["name"], "script");
    let ana = settings["users"].as_array().unwrap().iter().find(|user| user["id"] == "ana").unwrap();
    assert_eq!(ana, &json!({ "id": "ana", "name": "Ana Petrova", "role": "analyst" }));
    let tools = settings["tools"].as_array().unwrap();
    let destructive: Vec<&Value> =
        tools.iter().filter(|tool| tool["destructive"] == true).map(|tool| &tool["name"]).collect();
    assert_eq!(destructive, ["forget_memory"]);
    let tables = settings["data"]["tables"].as_array().unwrap();
    assert!(tables.iter().any(|table| table["name"] == "orders" && table["rows"] == 904));
    assert_eq!(settings["examples"], json!(["How many orders shipped late in October?"]));
    assert_eq!(settings["limits"]["messageBytes"], 32768);
    let graphs = server.handle.run_service().graph("assistant").unwrap();
    assert_eq!(graphs.name(), "assistant");
}

/// R-PLN-25, R-PLN-31: the settings list exactly the tools, tables and documents that the user may use; a request
/// without a user id gets none.
#[tokio::test]
async fn settings_list_only_permitted_tools_and_data() {
    let settings_with_tool =
        AssistantSettings { external_tools: vec![Fake::returning("crm_find", json!({})).into()], ..settings() };
    let server = started(settings_with_tool, ServerConfig::new(Storage::memory()), ScriptedModel::default()).await;
    let settings_json = |user: &str| {
        let path = format!("/api/assistant/settings{user}");
        let server = &server;
        async move { server.json(&path).await }
    };
    let (ana, sam, guest) =
        (settings_json("?userId=ana").await, settings_json("?userId=sam").await, settings_json("?userId=guest").await);
    for settings in [&ana, &sam, &guest] {
        assert!(!names(&settings["tools"]).contains(&"crm_find"), "no role allows it");
    }
    assert!(names(&ana["tools"]).contains(&"read_file") && !names(&sam["tools"]).contains(&"read_file"));
    assert!(names(&ana["data"]["tables"]).contains(&"employees"));
    assert!(names(&sam["data"]["tables"]).contains(&"orders"));
    assert!(!names(&sam["data"]["tables"]).iter().any(|table| ["employees", "suppliers"].contains(table)));
    let mut tools = names(&guest["tools"]);
    tools.sort_unstable();
    assert_eq!(tools, ["calculate", "now", "search_docs"]);
    assert_eq!(guest["data"], json!({ "name": null, "tables": [] }));
    assert!(guest["documents"].as_u64().unwrap() > 10, "a guest may search them");
    let without_user = settings_json("").await;
    assert_eq!((&without_user["tools"], &without_user["data"]["tables"]), (&json!([]), &json!([])));
    assert_eq!((&without_user["data"]["name"], &without_user["documents"]), (&Value::Null, &json!(0)));
    assert_eq!(without_user["users"], ana["users"], "a page lets people choose");
    assert_eq!(server.get("/api/assistant/settings?userId=nobody").await.status(), 403);
}

/// The sample runs from its own folder, which is unpacked on first use.
#[tokio::test]
async fn the_sample_runs_from_its_own_folder() {
    let folder = Folder::new("sample");
    let settings = AssistantSettings::sample(folder.path());
    assert_eq!(settings.today.as_deref(), Some("2026-11-02"));
    let script = ScriptedModel::new([
        plan(&[("c1", "search_docs", json!({ "query": "late order" }), &[])]),
        ScriptedReply::text("An order is late when it ships after its due date [1]."),
    ]);
    let server = started(settings, ServerConfig::new(Storage::memory()), script).await;
    let (_, response) = server.wait("When is an order late?", json!({})).await;
    let reference = &response["references"][0];
    assert_eq!((&reference["tool"], &reference["query"]), (&json!("search_docs"), &json!("late order")));
    assert!(reference["source"].as_str().unwrap().contains(".md#"), "{reference}");
    let examples = server.json("/api/assistant/settings").await["examples"].clone();
    assert!(examples.as_array().unwrap().len() > 3);
}

/// R-PLN-56, R-PLN-58: the default model is the rule model in the same graph, and responses say so. The rules
/// answer the example questions of the page.
#[tokio::test]
async fn the_rule_model_answers_the_example_questions() {
    let folder = Folder::new("rules");
    let settings = AssistantSettings::sample(folder.path());
    let examples = settings.examples.clone();
    let server = started(settings, ServerConfig::new(Storage::memory()), ScriptedModel::default()).await;
    for example in &examples {
        let body = json!({ "message": example, "userId": "ana", "sessionId": "rules" });
        let request = server.client.post(server.url("/api/assistant")).header("accept", "application/json");
        let response: Value = request.json(&body).send().await.unwrap().json().await.unwrap();
        assert_eq!(response["model"]["label"], "rule-based, no language model");
        let answer = response["answer"].as_str().unwrap_or_default();
        // The ambiguous name causes a clarification question.
        assert_eq!(response["waiting"]["kind"] == "clarification", example.contains("Miller"), "{response}");
        assert_eq!(answer.is_empty(), example.contains("Miller"), "{example}");
        assert!(!answer.contains("do not know"), "{example}: {answer}");
        if example.contains("late in October") {
            assert!(answer.contains("37") && response["references"][0]["source"] == "shop", "{response}");
        }
    }
}

/// R-PLN-55: external tools are added to the assistant's own, and cannot reuse their names.
#[tokio::test]
async fn external_tools_are_added() {
    let search =
        Fake::returning("web_search", json!({ "results": [{ "title": "Tents", "url": "https://example.org" }] }));
    let script = ScriptedModel::new([plan(&[("c1", "web_search", json!({}), &[])]), ScriptedReply::text("Tents [1].")]);
    let settings_with_tool = AssistantSettings { external_tools: vec![search.clone().into()], ..settings() };
    let server = started(settings_with_tool, ServerConfig::new(Storage::memory()), script).await;
    let (_, response) = server.wait("What do others sell?", json!({})).await;
    assert_eq!((&response["answer"], search.calls().len()), (&json!("Tents [1]."), 1));
    let conflicting = Fake::returning("bq_query", json!({}));
    let settings_with_tool = AssistantSettings { external_tools: vec![conflicting.into()], ..settings() };
    assert!(app(settings_with_tool, ModelRegistry::default()).is_err());
}
