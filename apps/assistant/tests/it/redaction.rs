//! Secrets in tool results appear nowhere.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::sqlite::SqliteCheckpointer;
use superstep::store::{MemoryStore, SearchOp, SharedStore};
use superstep::transfer;
use superstep::{EventsQuery, HistoryQuery};
use superstep_assistant::AgentState;

use crate::support::{Fake, Provider, assistant, plan, test_context};

const SECRETS: [&str; 4] = [
    "ada.byron@example.com",
    "4111 1111 1111 1111",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
    "MIIEpAIBAAKCAQEA7bq9superlongkeymaterial",
];

fn secrets() -> Value {
    let [mail, card, key, private] = SECRETS;
    // Long enough to be compressed in storage.
    let padding = "and more ".repeat(200);
    json!({ "text": format!("{padding}{mail} paid with {card}, key {key}, -----BEGIN RSA PRIVATE KEY-----\n{private}\n-----END RSA PRIVATE KEY-----") })
}

/// R-PLN-35: a mail address, a card number, an API key and a private key are in no message, event, scratchpad
/// entry, checkpoint or store item, and no model receives them.
#[tokio::test]
async fn secrets_of_a_tool_are_redacted_everywhere() {
    let folder = std::env::temp_dir().join(format!("superstep-assistant-redaction-{}", std::process::id()));
    // Process ids are reused, and a crashed process may have left its folder.
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sessions.db");
    let file = SqliteCheckpointer::open(&path).unwrap();
    let store = file.store().await.unwrap();
    let script = ScriptedModel::new([
        plan(&[("c1", "read_file", json!({ "path": "keys" }), &[]), ("c2", "search_docs", json!({}), &[])]),
        ScriptedReply::text(r#"{"answers": true, "reason": null, "missing": [], "choices": []}"#),
        ScriptedReply::text("There are four secrets [1]."),
        ScriptedReply::text(r#"{"summary": "Secrets.", "facts": ["I work with keys"]}"#),
    ]);
    let fails = Fake::new("search_docs", |_| Err(superstep::ToolError::new(format!("invalid: {}", secrets()["text"]))));
    let context =
        test_context(Provider(script.clone()), [Fake::returning("read_file", secrets()), fails]).remember_facts();
    let checkpointer = SharedCheckpointer::from(file);
    let graph = assistant(checkpointer.clone(), store.clone());
    let input = AgentState::turn_input(&context, "ana", "What is in the file?").unwrap();
    let mut stream = graph.invoke(input).thread("t").context(context).journal_events().stream_events();
    let mut collected = String::new();
    while let Some(event) = stream.next().await {
        collected += &serde_json::to_string(&event).unwrap();
    }
    let state = stream.finish().await.unwrap().state;
    collected += &serde_json::to_string(&*state).unwrap();
    for saved in graph.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap() {
        collected += &serde_json::to_string(&*saved.state).unwrap();
    }
    for journaled in graph.threads().events("t", &EventsQuery::default()).await.unwrap() {
        collected += &serde_json::to_string(&journaled.event).unwrap();
    }
    // Stored values are compressed in the file, and readable in an export.
    let mut exported = Vec::new();
    transfer::export(checkpointer.clone(), "t", &mut exported).await.unwrap();
    collected += &String::from_utf8(exported).unwrap();
    for hit in SharedStore::from(store).search(SearchOp::all_namespaces().limit(1_000)).await.unwrap() {
        collected += &hit.item.value.to_string();
    }
    assert!(collected.matches("[REDACTED:api_key]").count() > 4, "the collected text contains redacted results");
    for request in script.requests() {
        collected += &request.messages.iter().map(|message| message.text()).collect::<String>();
    }
    drop((graph, checkpointer));
    for entry in std::fs::read_dir(&folder).unwrap() {
        collected += &String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap());
    }
    for secret in SECRETS {
        assert!(!collected.contains(secret), "`{secret}` was found");
    }
    assert!(state.tool_outputs[0].text().contains("[REDACTED:mail] paid with [REDACTED:card]"));
    assert!(state.tool_outputs[1].text().contains("[REDACTED:private_key]"));
    assert_eq!(state.tool_outputs[0].metadata["redacted"]["api_key"], 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// R-PLN-36, R-PLN-35: redaction also applies to the stored full text of a long result.
#[tokio::test]
async fn a_long_result_is_saved_redacted() {
    let text = format!("{} {}", "word ".repeat(20_000), SECRETS[0]);
    let script = ScriptedModel::new([
        plan(&[("c1", "read_file", json!({ "path": "keys" }), &[])]),
        ScriptedReply::text("Words [1]."),
    ]);
    let context = test_context(script, [Fake::new("read_file", move |_| Ok(Value::from(text.clone())))]);
    let store = MemoryStore::new();
    let graph = assistant(superstep::MemoryCheckpointer::new(), store.clone());
    let input = AgentState::turn_input(&context, "ana", "What is in the file?").unwrap();
    graph.invoke(input).thread("t").context(context).await.unwrap();
    let store = SharedStore::from(store);
    let hits = store.search(SearchOp::new(["belongings", "t"])).await.unwrap();
    let stored_text = hits[0].item.value.as_str().unwrap();
    assert!(stored_text.ends_with("[REDACTED:mail]") && !stored_text.contains(SECRETS[0]));
}
