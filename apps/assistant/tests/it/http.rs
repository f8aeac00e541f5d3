//! Single turns over HTTP: requests, streams, resume and errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::core::message::TokenUsage;
use superstep::models::{ModelErrorKind, ScriptedModel, ScriptedReply};
use superstep::settings::Secret;
use superstep::store::SearchOp;
use superstep_assistant::tools::query::bigquery::BigQuery;
use superstep_assistant::{AssistantSettings, ModelUnavailablePolicy, TurnLimits};
use superstep_server::{RateLimit, RunInput, RunRequest, ServerConfig, Storage};

use crate::support::{Provider, no_tools, plan};
use crate::test_server::{Folder, SentEvent, question, settings, start_server, started, without_run_events};

const LATE: &str = "How many orders shipped late in October?";
const BY_STATUS: &str = "select id from orders where status = 'LATE'";
const BY_DATES: &str = "select count(*) as late from orders where shipped_at > due_at \
    and shipped_at >= '2026-10-01' and shipped_at < '2026-11-01'";

/// Returns a script that queries an unknown status first and dates second.
fn late_orders() -> ScriptedModel {
    let with_usage = |reply: ScriptedReply, tokens: u64| reply.with_usage(TokenUsage::new(tokens, 1));
    let judgement = json!({ "answers": true, "reason": null, "missing": [], "choices": [] }).to_string();
    let summary = json!({ "summary": "37 late orders in October.", "facts": [] }).to_string();
    ScriptedModel::new([
        with_usage(plan(&[("c1", "bq_query", json!({ "sql": BY_STATUS }), &[])]), 100),
        with_usage(plan(&[("c2", "bq_query", json!({ "sql": BY_DATES }), &[])]), 200),
        with_usage(ScriptedReply::text(judgement), 300),
        with_usage(ScriptedReply::chunks(["37 orders ", "shipped late ", "in October [1]."]), 400),
        with_usage(ScriptedReply::text(summary), 500),
    ])
}

fn keys(value: &Value) -> String {
    value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// R-PLN-50, R-PLN-30, R-PLN-37, R-PLN-40, R-PLN-44, R-SRV-6a: events of a turn over HTTP, with node and keys.
#[tokio::test]
async fn a_turn_is_streamed_as_the_specified_events() {
    let server = start_server(Provider(late_orders())).await;
    let (id, sent) = server.send(LATE, json!({})).await;
    let work = without_run_events(&sent);
    let lines: Vec<String> =
        work.iter().map(|sent| format!("{} {}: {}", sent.event, sent.node(), keys(&sent.data["data"]))).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    on_chat_model_start planner: input
    on_chat_model_end planner: output usage
    on_tool_start tool_executor: tool input tool_call_id
    on_tool_end tool_executor: output duration_ms
    on_custom_event verifier: status reason attempt tried
    on_chat_model_start planner: input
    on_chat_model_end planner: output usage
    on_tool_start tool_executor: tool input tool_call_id
    on_tool_end tool_executor: output duration_ms
    on_custom_event verifier: status missing
    on_chat_model_start generator: input
    on_chat_model_stream generator: chunk message_id index
    on_chat_model_stream generator: chunk message_id index
    on_chat_model_stream generator: chunk message_id index
    on_chat_model_end generator: output usage
    ");
    assert_eq!((sent[0].event.as_str(), sent.last().unwrap().event.as_str()), ("on_chain_start", "on_chain_end"));
    assert_eq!(sent[0].data["data"]["input"]["messages"][0]["content"], LATE);
    assert!(sent.windows(2).all(|pair| pair[0].id <= pair[1].id));
    let data_of = |kind: &str| -> Vec<&Value> {
        work.iter().filter(|sent| sent.event == kind).map(|sent| &sent.data["data"]).collect()
    };
    assert_eq!(data_of("on_tool_start").iter().map(|data| &data["tool"]).collect::<Vec<_>>(), ["bq_query", "bq_query"]);
    assert_eq!(data_of("on_tool_start")[1]["input"]["sql"], BY_DATES);
    assert!(data_of("on_tool_end")[1]["output"].as_str().unwrap().contains("[[37]]"));
    let statuses: Vec<&Value> = data_of("on_custom_event").iter().map(|data| &data["status"]).collect();
    assert_eq!(statuses, ["planning_retry", "verified"]);
    let chunks: String = data_of("on_chat_model_stream").iter().filter_map(|data| data["chunk"].as_str()).collect();
    let session = server.session(&id).await;
    assert_eq!(session["messages"][1]["text"], chunks.as_str());
    assert_eq!(session["lastEventId"], json!(sent.last().unwrap().id));
}

/// R-PLN-44, R-PLN-45, R-PLN-8: a client that accepts JSON waits and receives the answer with its sources.
#[tokio::test]
async fn a_client_that_accepts_json_waits() {
    let server = start_server(Provider(late_orders())).await;
    let (status, response) = server.wait(LATE, json!({ "sessionId": "mine" })).await;
    assert_eq!((status, &response["sessionId"], &response["status"]), (200, &json!("mine"), &json!("completed")));
    assert_eq!(response["answer"], "37 orders shipped late in October [1].");
    assert_eq!((&response["retries"], &response["verdict"]["status"]), (&json!(1), &json!("verified")));
    assert_eq!((&response["tokensUsed"], &response["waiting"]), (&json!(1505), &Value::Null));
    assert_eq!(
        (&response["model"]["name"], &response["model"]["label"]),
        (&json!("test/provider"), &json!("language model"))
    );
    let references = response["references"].as_array().unwrap();
    assert!(
        references.iter().all(|reference| reference["tool"] == "bq_query" && reference["source"] == "shop"),
        "{references:?}"
    );
    assert!(references.iter().any(|reference| reference["query"] == BY_DATES) && references[0]["n"] == 1);
    let [call] = response["plan"].as_array().unwrap().as_slice() else { panic!("one call: {}", response["plan"]) };
    assert_eq!(
        (&call["tool"], &call["args"]["sql"], &call["status"]),
        (&json!("bq_query"), &json!(BY_DATES), &json!("success"))
    );
}

/// R-PLN-56, R-PLN-58, R-PLN-71: with BigQuery configured, the rule model still queries the local data, because it
/// writes SQL for SQLite.
#[tokio::test]
async fn with_bigquery_the_rules_ask_the_local_data() {
    // No server listens on this address, so a request to BigQuery would fail.
    let bigquery = BigQuery::new("acme", vec!["sales".to_owned()], Secret::new("t0ken")).unwrap();
    let bigquery = Some(Arc::new(bigquery.address("http://127.0.0.1:1")));
    let settings = AssistantSettings { bigquery, ..settings() };
    let server = started(settings, ServerConfig::new(Storage::memory()), ScriptedModel::default()).await;
    let (status, response) = server.wait(LATE, json!({ "model": "local" })).await;
    assert_eq!((status, &response["plan"][0]["args"]["dataset"]), (200, &json!("shop")), "{response}");
    assert!(response["answer"].as_str().unwrap().contains("37"), "{response}");
}

/// R-PLN-36: a result that is too long is stored as long as its thread, and no longer.
#[tokio::test]
async fn long_results_are_deleted_with_their_conversation() {
    let sql = "select a.id, b.id, a.status from orders a, orders b";
    let query_plan = || plan(&[("c1", "bq_query", json!({ "sql": sql, "max_rows": 1000 }), &[])]);
    let script = ScriptedModel::new([
        query_plan(),
        ScriptedReply::text("Many [1]."),
        query_plan(),
        ScriptedReply::text("Many [1]."),
    ]);
    let config = ServerConfig::new(Storage::memory());
    let store = config.storage.store.clone();
    let limits = TurnLimits { result_bytes: 4_096, ..TurnLimits::default() };
    let server = started(AssistantSettings { limits, ..settings() }, config, script).await;
    let (first, _) = server.send("Show all", json!({})).await;
    let (second, _) = server.send("Show all", json!({})).await;
    let stored_namespaces = async || {
        let hits = store.search(SearchOp::new(["belongings"]).limit(100)).await.unwrap();
        hits.into_iter().map(|hit| hit.item.namespace.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(stored_namespaces().await.len(), 2);
    server.handle.run_service().delete_thread(&first.as_str().into()).await.unwrap();
    let [remaining] = stored_namespaces().await.try_into().unwrap();
    assert!(remaining.contains(&second), "{remaining}");
}

/// R-PLN-50, R-SRV-7a: the same turn in the AG-UI format; the four events of a tool call have its id.
#[tokio::test]
async fn ag_ui_receives_a_turn() {
    let server = start_server(Provider(late_orders())).await;
    let (_, sent) = server.send(LATE, json!({ "format": "ag-ui" })).await;
    assert!(sent.iter().all(|sent| sent.data["type"] == sent.event.as_str()));
    let names: Vec<&str> = sent.iter().map(|sent| sent.event.as_str()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("RUN_STARTED", "RUN_FINISHED"));
    let mut calls: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for sent in sent.iter().filter(|sent| sent.event.starts_with("TOOL_CALL_")) {
        calls.entry(sent.data["toolCallId"].as_str().unwrap()).or_default().push(&sent.event);
    }
    let events_of_call = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"];
    assert!(calls.len() == 2 && calls.values().all(|events| *events == events_of_call), "{calls:?}");
    let chunks: String = sent.iter().filter_map(|sent| sent.data["delta"].as_str()).collect();
    assert!(chunks.contains("37 orders shipped late in October [1]."), "{chunks}");
}

/// R-PLN-64, R-PLN-65, R-PLN-66: invalid requests are rejected before any model call, and leave no thread.
#[tokio::test]
async fn invalid_requests_are_rejected() {
    let script = ScriptedModel::new([no_tools()]);
    let server = start_server(script.clone()).await;
    let long = "x".repeat(32 * 1024 + 1);
    let longer = "x".repeat(100 * 1024);
    let rows = [
        (json!({ "userId": "ana" }), 422, "/message"),
        (json!({ "userId": "ana", "message": "" }), 422, "/message"),
        (json!({ "userId": "ana", "message": " \n\t " }), 422, "/message"),
        (json!({ "userId": "ana", "message": 7 }), 422, "/message"),
        (json!({ "message": "Hello" }), 422, "/userId"),
        (json!({ "userId": "ana", "message": "Hello", "mesage": "x" }), 422, "/mesage"),
        (json!({ "userId": "ana", "message": "Hello", "sessionId": "settings" }), 422, "/sessionId"),
        (json!({ "userId": "ana", "message": "Hello", "sessionId": "a b" }), 422, "/sessionId"),
        (json!({ "userId": "ana", "message": long }), 413, "32768"),
        (json!({ "userId": "ana", "message": longer }), 413, "32768"),
        (json!({ "userId": "nobody", "message": "Hello" }), 403, "nobody"),
        (json!({ "userId": "ana", "message": "Hello", "model": "parrot" }), 422, "parrot"),
    ];
    for (body, status, word) in rows {
        let response = server.post("/api/assistant", &body).await;
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!((response.status().as_u16(), &kind[..24]), (status, "application/problem+json"), "{word}");
        let problem: Value = response.json().await.unwrap();
        assert!(problem.to_string().contains(word), "{word} is not in {problem}");
        assert!(!problem.to_string().contains("local/rules"), "rules are offered under one name: {problem}");
    }
    assert!(script.requests().is_empty());
    assert_eq!(server.json("/api/assistant?userId=ana").await["sessions"], json!([]));
    let (status, _) = server.wait(&"x".repeat(32 * 1024), json!({ "model": "local" })).await;
    assert_eq!(status, 200, "a message may be as long as the limit");
}

/// R-PLN-66: users cannot write to, read, resume or stop the sessions of others; a request without a user id cannot
/// either.
#[tokio::test]
async fn a_conversation_is_private_to_its_user() {
    let server = start_server(ScriptedModel::new([no_tools(), ScriptedReply::text("Hello Ana.")])).await;
    let (id, _) = server.send("Hello", json!({})).await;
    let (status, problem) = server.wait("And me?", json!({ "sessionId": id, "userId": "sam" })).await;
    assert_eq!((status, &problem["thread_id"]), (403, &json!(id)));
    let path = format!("/api/assistant/{id}");
    let users = [("?userId=sam", 403), ("?userId=nobody", 403), ("?userId=", 403), ("", 422), ("?userId=ana", 200)];
    for (user, status) in users {
        assert_eq!(server.get(&format!("{path}{user}")).await.status(), status, "{user}");
        assert_eq!(server.get(&format!("{path}/stream{user}")).await.status(), status, "{user}");
        // There is no open interrupt and no run, which is reported to the owner only.
        let status = if status == 200 { 409 } else { status };
        for action in ["answer", "stop"] {
            let body = json!({ "questionId": "x", "answer": "x" });
            let response = server.post(&format!("{path}/{action}{user}"), &body).await;
            assert_eq!(response.status(), status, "{action} {user}");
        }
    }
    assert_eq!(server.session(&id).await["messages"].as_array().unwrap().len(), 2);
    for path in ["/api/assistant?userId=nobody", "/api/assistant/memory?userId=nobody"] {
        assert_eq!(server.get(path).await.status(), 403, "{path}");
    }
    assert_eq!(server.get("/api/assistant").await.status(), 422);
    assert_eq!(server.get("/api/assistant/nothing?userId=ana").await.status(), 404);
}

/// R-PLN-66, R-PLN-3: a session that was started as a run of the graph belongs to the user in its input.
#[tokio::test]
async fn a_run_of_the_graph_belongs_to_its_user() {
    let server = start_server(ScriptedModel::default()).await;
    let runs = server.handle.run_service();
    let input = json!({ "messages": [{ "role": "user", "content": "Hello\n there" }], "user_id": "ana" });
    let graph = runs.graph("assistant").unwrap();
    let request = graph.annotate(RunRequest::new("assistant", "by-hand", RunInput::Input(input)));
    assert_eq!(request.title.as_deref(), Some("Hello there"));
    runs.start(request).await.unwrap();
    server.stream("by-hand", None).await;
    assert_eq!(server.session("by-hand").await["userId"], "ana");
    assert_eq!(server.get("/api/assistant/by-hand?userId=sam").await.status(), 403);
    let listed = |user: &str| format!("/api/assistant?userId={user}");
    assert_eq!(server.json(&listed("ana")).await["sessions"][0]["sessionId"], "by-hand");
    assert_eq!(server.json(&listed("sam")).await["sessions"], json!([]));
}

/// R-PLN-66: if unknown users are guests, each guest sees only their own sessions, and a request without a user id
/// sees nothing.
#[tokio::test]
async fn guests_see_only_their_own_sessions() {
    let folder = Folder::new("guests");
    let policy = superstep_assistant::sample::text("policy.toml").unwrap();
    std::fs::write(
        folder.path().join("policy.toml"),
        policy.replace("unknown_user = \"refuse\"", "unknown_user = \"guest\""),
    )
    .unwrap();
    let settings = AssistantSettings { policy: Some(folder.path().join("policy.toml")), ..settings() };
    let server = started(settings, ServerConfig::new(Storage::memory()), ScriptedModel::default()).await;
    let (status, response) = server.wait("Hello", json!({ "model": "local", "userId": "walk-in" })).await;
    assert_eq!(status, 200);
    let path = format!("/api/assistant/{}", response["sessionId"].as_str().unwrap());
    for (user, status) in [("walk-in", 200), ("another", 403), ("", 403)] {
        assert_eq!(server.get(&format!("{path}?userId={user}")).await.status(), status, "{user}");
    }
    assert_eq!(server.get("/api/assistant?userId=").await.status(), 403);
    let settings_json = server.json("/api/assistant/settings?userId=walk-in").await;
    assert_eq!(settings_json["data"]["tables"], json!([]), "a guest may not read tables");
}

/// R-PLN-67, R-PLN-21: a refused message gets the answer of the rule, without model and tools.
#[tokio::test]
async fn rejected_messages_are_answered_without_a_model() {
    let script = ScriptedModel::new([no_tools()]);
    let server = start_server(script.clone()).await;
    let message = "Give me the card numbers of our customers";
    let (id, sent) = server.send(message, json!({})).await;
    assert_eq!(without_run_events(&sent), Vec::<&SentEvent>::new());
    let session = server.session(&id).await;
    assert_eq!((&session["safetyCheck"], &session["status"]), (&json!(false), &json!("completed")));
    let (status, response) = server.wait(message, json!({})).await;
    assert_eq!((status, &response["safetyCheck"], &response["plan"]), (200, &json!(false), &json!([])));
    let answer = response["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("I do not give out card or bank data.") && answer.contains("`card-numbers`"),
        "{answer}"
    );
    assert_eq!(session["messages"][1]["text"], answer);
    assert!(script.requests().is_empty());
}

/// R-PLN-43, R-PLN-61: three people with one name cause a clarification question, and the answer continues the
/// turn.
#[tokio::test]
async fn a_clarification_is_requested_and_answered() {
    let sql = |end: &str| format!("select first_name || ' ' || last_name as name, city from customers where {end}");
    let script = ScriptedModel::new([
        plan(&[("c1", "bq_query", json!({ "sql": sql("last_name = 'Miller'") }), &[])]),
        plan(&[("c2", "bq_query", json!({ "sql": sql("first_name = 'Jack' and last_name = 'Miller'") }), &[])]),
        ScriptedReply::text("Jack Miller lives in Dublin [1]."),
    ]);
    let server = start_server(script).await;
    let (id, sent) = server.send("Orders of Miller", json!({})).await;
    let session = server.session(&id).await;
    assert_eq!((&session["status"], &session["waiting"]["kind"]), (&json!("waiting"), &json!("clarification")));
    assert_eq!(session["waiting"]["choices"], json!(["Anna Miller", "Jack Miller", "Sophie Miller"]));
    let interrupt_event = sent.iter().find(|sent| sent.event == "on_interrupt").unwrap();
    let interrupt = &interrupt_event.data["data"]["interrupts"][0];
    assert_eq!(
        (&interrupt["id"], &interrupt["value"]["question"]),
        (&session["waiting"]["id"], &session["waiting"]["question"])
    );
    for invalid in [json!(7), json!("  "), json!({ "decision": "deny" })] {
        assert_eq!(server.answer(&id, invalid).await, 422);
    }
    assert_eq!(server.session(&id).await["status"], "waiting");
    assert_eq!(server.answer(&id, json!("Jack Miller")).await, 202);
    let continued = server.stream(&id, sent.last().unwrap().id).await;
    assert_eq!(
        (continued[0].event.as_str(), continued.last().unwrap().event.as_str()),
        ("on_chain_start", "on_chain_end")
    );
    let session = server.session(&id).await;
    let texts: Vec<&Value> = session["messages"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, ["Orders of Miller", "Jack Miller", "Jack Miller lives in Dublin [1]."]);
    assert_eq!(
        (&session["status"], &session["retries"], &session["waiting"]),
        (&json!("completed"), &json!(0), &Value::Null)
    );
    assert_eq!(server.answer(&id, json!("Anna Miller")).await, 409);
}

/// R-PLN-32, R-PLN-47: a destructive tool asks for approval; each of the four decisions has its effect.
#[tokio::test]
async fn a_destructive_tool_requests_approval() {
    let rows = [
        (json!({ "decision": "deny" }), 2),
        (json!({ "decision": "allow_once" }), 1),
        (json!({ "decision": "change", "arguments": { "query": "trains" } }), 1),
        (json!({ "decision": "allow_session" }), 1),
    ];
    for (decision, remaining) in rows {
        let delete_plan = |id: &str| plan(&[(id, "forget_memory", json!({ "query": "kilograms" }), &[])]);
        let replies =
            [no_tools(), ScriptedReply::text("Noted."), no_tools(), ScriptedReply::text("Noted."), delete_plan("c1")];
        let end = match decision["decision"] == "deny" {
            true => vec![no_tools(), ScriptedReply::text("Nothing was forgotten.")],
            false => vec![ScriptedReply::text("Forgotten [1].")],
        };
        let server = start_server(ScriptedModel::new(replies.into_iter().chain(end))).await;
        server.send("Remember that I weigh in kilograms", json!({})).await;
        server.send("Remember that I travel by trains", json!({})).await;
        let (id, sent) = server.send("Forget how I weigh", json!({})).await;
        let session = server.session(&id).await;
        let waiting = &session["waiting"];
        assert_eq!((&waiting["kind"], &waiting["tool"]), (&json!("approval"), &json!("forget_memory")));
        assert_eq!(waiting["arguments"], json!({ "query": "kilograms" }));
        assert_eq!(server.answer(&id, json!("yes")).await, 422);
        assert_eq!(server.answer(&id, decision.clone()).await, 202, "{decision}");
        server.stream(&id, sent.last().unwrap().id).await;
        assert_eq!(server.session(&id).await["status"], "completed", "{decision}");
        let facts = server.json("/api/assistant/memory?userId=ana").await;
        let facts: Vec<&str> =
            facts["facts"].as_array().unwrap().iter().map(|fact| fact["text"].as_str().unwrap()).collect();
        assert_eq!(facts.len(), remaining, "{decision}: {facts:?}");
        let changed = decision["decision"] == "change";
        assert_eq!(
            facts.iter().any(|fact| fact.contains("kilograms")),
            changed || remaining == 2,
            "{decision}: {facts:?}"
        );
    }
}

/// R-PLN-32, R-PLN-43: an answer names its interrupt. Repeated or concurrent answers are accepted once and never
/// apply to the next interrupt.
#[tokio::test]
async fn an_answer_applies_to_one_interrupt() {
    const NONE: &[&str] = &[];
    let delete_call = |id: &'static str, query: &str| (id, "forget_memory", json!({ "query": query }), NONE);
    let script = ScriptedModel::new([
        no_tools(),
        ScriptedReply::text("Noted."),
        plan(&[delete_call("c1", "kilograms"), delete_call("c2", "trains")]),
        ScriptedReply::text("Done [1]."),
    ]);
    let server = start_server(script).await;
    server.send("Remember that I weigh in kilograms", json!({})).await;
    let (id, sent) = server.send("Forget how I weigh and travel", json!({})).await;
    let first = server.session(&id).await["waiting"]["id"].as_str().unwrap().to_owned();
    let decision = json!({ "decision": "allow_once" });
    let body = json!({ "answer": decision });
    let unnamed = server.post(&format!("/api/assistant/{id}/answer?userId=ana"), &body).await;
    assert_eq!(unnamed.status(), 422);
    assert!(unnamed.text().await.unwrap().contains("/questionId"));
    let (status, problem) = server.answer_to(&id, "another", decision.clone()).await;
    assert_eq!((status, &problem["thread_id"]), (409, &json!(id)));
    assert!(problem["detail"].as_str().unwrap().contains("has another open question"), "{problem}");

    let send_same_answer = || server.answer_to(&id, &first, decision.clone());
    let (a, b, c) = tokio::join!(send_same_answer(), send_same_answer(), send_same_answer());
    let mut statuses = [a.0, b.0, c.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409, 409]);
    server.stream(&id, sent.last().unwrap().id).await;
    let waiting = server.session(&id).await["waiting"].clone();
    assert_eq!(waiting["arguments"], json!({ "query": "trains" }));
    assert_ne!(waiting["id"], first.as_str());
    assert_eq!(send_same_answer().await.0, 409, "the second question is not answered by the first one's answer");
    assert_eq!(server.session(&id).await["waiting"], waiting);
    assert_eq!(server.answer(&id, json!({ "decision": "deny" })).await, 202);
    server.stream(&id, None).await;
    assert_eq!(server.session(&id).await["status"], "completed");
    assert_eq!(send_same_answer().await.0, 409);
}

/// R-PLN-25, R-PLN-31, R-PLN-54: tools see only what the user of the turn may see.
#[tokio::test]
async fn tools_have_the_permissions_of_the_user() {
    for (user, sees_employees) in [("sam", false), ("ana", true)] {
        let script =
            ScriptedModel::new([plan(&[("c1", "list_tables", json!({}), &[])]), ScriptedReply::text("Some [1].")]);
        let server = start_server(script).await;
        let (_, response) = server.wait("Which tables are there?", json!({ "userId": user })).await;
        let tables = response["plan"][0]["output"].as_str().unwrap();
        assert!(tables.contains("\"orders\""), "{tables}");
        assert_eq!(tables.contains("\"employees\""), sees_employees, "{user}: {tables}");
    }
}

/// R-PLN-71: an unavailable model is replaced by rules, which say so; or the turn fails, depending on the setting.
#[tokio::test]
async fn an_unavailable_model_is_replaced_by_rules() {
    let unavailable_model = || {
        Provider(ScriptedModel::new(
            (0..9).map(|_| ScriptedReply::error(ModelErrorKind::Overloaded, "as the test asked")),
        ))
    };
    let (status, response) = start_server(unavailable_model()).await.wait("Hello", json!({})).await;
    assert_eq!(status, 200);
    assert!(response["answer"].as_str().unwrap().contains("is unavailable"), "{response}");
    let settings = AssistantSettings { on_model_unavailable: ModelUnavailablePolicy::Fail, ..settings() };
    let server = started(settings, ServerConfig::new(Storage::memory()), unavailable_model()).await;
    let (status, problem) = server.wait("Hello", json!({ "sessionId": "s" })).await;
    assert_eq!((status, &problem["thread_id"]), (502, &json!("s")), "{problem}");
    let session = server.session("s").await;
    assert_eq!((&session["status"], &session["failure"]["code"]), (&json!("error"), &problem["code"]));
    assert_eq!(session["messages"].as_array().unwrap().len(), 1, "the question is kept");
}

/// R-SRV-16a: a client address over its rate limit receives the time until the next permitted request.
#[tokio::test]
async fn requests_per_address_are_limited() {
    let rate_limit = RateLimit { max_requests: 1, ..settings().rate_limit };
    let settings = AssistantSettings { rate_limit, ..settings() };
    let server = started(settings, ServerConfig::new(Storage::memory()), ScriptedModel::default()).await;
    let rejected = question(" ", &json!({ "model": "local" }));
    assert_eq!(server.post("/api/assistant", &rejected).await.status(), 422, "and is not counted");
    assert_eq!(server.wait("Hello", json!({ "model": "local" })).await.0, 200);
    let response = server.post("/api/assistant", &question("Hello", &json!({ "model": "local" }))).await;
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key("retry-after"));
}

/// A run that initialises the assistant does not block the runtime while files are read. Here one file is a pipe that
/// delivers nothing until the test writes.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn initialization_does_not_block_other_requests() {
    let folder = Folder::new("shut");
    let pipe = folder.path().join("policy.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let server = started(
        AssistantSettings::sample(folder.path()),
        ServerConfig::new(Storage::memory()),
        ScriptedModel::default(),
    )
    .await;
    let runs = server.handle.run_service().clone();
    let input = json!({ "messages": [{ "role": "user", "content": "What is 19 % of 249.90?" }], "user_id": "ana" });
    let request = runs.graph("assistant").unwrap().annotate(RunRequest::new("assistant", "t1", RunInput::Input(input)));
    let started_run = tokio::spawn({
        let runs = runs.clone();
        async move { runs.start(request).await.map_err(|problem| problem.detail().to_owned()) }
    });
    let (reads, is_read) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        // Opens once a reader exists.
        let mut pipe = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
        reads.send(()).unwrap();
        // Also returns, with an error, if the test failed and dropped the sender.
        let _ = released.recv();
        std::io::Write::write_all(&mut pipe, include_bytes!("../../sample/policy.toml")).unwrap();
    });
    let timeout = std::time::Duration::from_secs(30);
    is_read.recv_timeout(timeout).unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    tokio::spawn(async move { done.send(()) });
    is_done.recv_timeout(timeout).expect("the only thread of the runtime waits for the file");
    release.send(()).unwrap();
    writer.join().unwrap();
    started_run.await.unwrap().unwrap();
    let mut subscription = runs.subscribe(&"t1".into(), None).await.unwrap();
    while subscription.next().await.is_some() {}
    let session = server.session("t1").await;
    assert!(session.to_string().contains("47.48"), "{session}");
}
