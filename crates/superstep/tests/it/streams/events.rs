//! R-FWK-56 to R-FWK-59: events of protocol version 2, in both formats.

use superstep::MemoryCheckpointer;
use superstep::testing::ManualClock;

use super::*;

async fn events<C: std::marker::Send + Sync + 'static>(run: RunBuilder<Chat, C>, form: EventFormat) -> Vec<Value> {
    let mut stream = run.stream_events().format(form);
    let mut published = Vec::new();
    while let Some(event) = stream.next().await {
        published.push(serde_json::to_value(&event).unwrap());
    }
    published
}

fn chat() -> superstep::CompiledGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
    let think = graph.add_node("think", node(think).tag("loud"));
    graph.add_edge(START, think).add_edge(think, END).checkpointer(MemoryCheckpointer::new());
    graph.compile().unwrap()
}

/// Returns the keys of an object, in order.
fn keys(object: &Value) -> String {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys.join(",")
}

fn line(event: &Value) -> String {
    format!("{} {} {}", event["event"].as_str().unwrap(), event["name"].as_str().unwrap(), keys(&event["data"]))
}

/// R-FWK-57, R-FWK-59: the events of a run with a model, in order, with exactly these keys.
#[tokio::test]
async fn the_events_of_a_run_have_their_order_and_keys() {
    let run = chat().invoke(Chat::input().messages("Hi")).thread("t").context(speaker("all is well"));
    let published = events(run, EventFormat::Superstep).await;
    insta::assert_snapshot!(published.iter().map(line).collect::<Vec<_>>().join("\n"), @r"
    on_chain_start chat input
    on_checkpoint chat checkpoint_id,next,source,step
    on_chain_start think input
    on_chat_model_start speaker input
    on_chat_model_stream speaker chunk,index,message_id
    on_chat_model_stream speaker chunk,index,message_id
    on_chat_model_stream speaker chunk,index,message_id
    on_chat_model_end speaker output,usage
    on_chain_stream think chunk
    on_chain_end think output
    on_chain_stream chat chunk
    on_checkpoint chat checkpoint_id,next,source,step
    on_chain_end chat output
    ");
    for event in &published {
        let mut keys: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["data", "event", "metadata", "name", "parent_ids", "run_id", "tags"]);
    }
}

/// R-FWK-56: metadata contains scope and time; numbers ascend, parent ids lead to the run.
#[tokio::test]
async fn event_metadata_contains_scope_and_time() {
    let clock = ManualClock::default();
    let run = chat().invoke(Chat::input().messages("Hi")).thread("t").context(speaker("a b")).clock(clock);
    let published = events(run.tag("mine").metadata("user", "ada"), EventFormat::Superstep).await;
    let mut last = 0;
    for event in &published {
        let seq = event["metadata"]["seq"].as_u64().unwrap();
        assert!(seq > last);
        last = seq;
        assert_eq!((&event["metadata"]["thread_id"], &event["metadata"]["user"]), (&json!("t"), &json!("ada")));
        assert!(event["metadata"]["ts"].as_str().unwrap().contains('T'));
        assert_eq!(event["tags"][0], "mine");
    }
    let run = published[0]["run_id"].clone();
    let node = published.iter().find(|event| event["name"] == "think").unwrap();
    assert_eq!(node["parent_ids"], json!([run]));
    assert_eq!(node["tags"], json!(["mine", "loud"]));
    assert_eq!((&node["metadata"]["node"], &node["metadata"]["step"]), (&json!("think"), &json!(1)));
    assert!(node["metadata"]["checkpoint_id"].is_string() && node["metadata"]["path"].is_string());
    let model = published.iter().find(|event| event["event"] == "on_chat_model_stream").unwrap();
    assert_eq!(model["parent_ids"], json!([run, node["run_id"]]));
    assert_eq!(model["metadata"]["model"], json!({"provider": "test", "name": "speaker", "kind": "rules"}));
    assert_eq!(published.last().unwrap()["run_id"], run);
}

/// R-FWK-58: a chunk is a text with the keys of seed 004, and joined chunks are the message.
#[tokio::test]
async fn joined_pieces_are_the_message() {
    let published = events(chat().invoke(hello()).context(speaker("so it is said")), EventFormat::Superstep).await;
    let chunks: Vec<&Value> = published.iter().filter(|event| event["event"] == "on_chat_model_stream").collect();
    let joined: String = chunks.iter().map(|event| event["data"]["chunk"].as_str().unwrap()).collect();
    let end = published.iter().find(|event| event["event"] == "on_chat_model_end").unwrap();
    assert_eq!(json!(joined), end["data"]["output"]["content"]);
    assert!(end["data"]["usage"]["estimated"].as_bool().unwrap());
    for (index, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk["data"]["index"], json!(index));
        assert_eq!(chunk["data"]["message_id"], end["data"]["output"]["id"]);
    }
}

/// R-FWK-58: in the LangChain format a chunk is a message, and events that LangChain does not have are omitted.
#[tokio::test]
async fn langchains_form_has_messages_for_pieces() {
    let published = events(chat().invoke(hello()).thread("t").context(speaker("a b")), EventFormat::LangChain).await;
    let chunk = published.iter().find(|event| event["event"] == "on_chat_model_stream").unwrap();
    assert_eq!(
        (&chunk["data"]["chunk"]["content"], &chunk["data"]["chunk"]["type"]),
        (&json!("a "), &json!("AIMessageChunk"))
    );
    assert_eq!(chunk["metadata"]["langgraph_node"], "think");
    let names = [
        "on_chain_start",
        "on_chain_stream",
        "on_chain_end",
        "on_chat_model_start",
        "on_chat_model_stream",
        "on_chat_model_end",
    ];
    assert!(published.iter().all(|event| names.contains(&event["event"].as_str().unwrap())));
    let node = published.iter().find(|event| event["name"] == "think").unwrap();
    assert!(node["tags"].as_array().unwrap().contains(&json!("graph:step:1")));
    let start = published.iter().find(|event| event["event"] == "on_chat_model_start").unwrap();
    assert!(start["data"]["input"]["messages"][0].is_array());
}

/// R-FWK-57: an error, an interrupt, a warning, a retry and a custom event of a node have their events.
#[tokio::test]
async fn errors_interrupts_warnings_and_custom_values_are_events() {
    let mut graph = StateGraph::<Chat>::new("says");
    let talk = graph.add_node(
        "talk",
        node(|out: StreamWriter, cx: TaskContext| async move {
            out.send_named("status", json!({"status": "working"})).await?;
            if cx.attempt() == 1 { Err(NodeError::new("busy").retryable()) } else { Ok(()) }
        })
        .retry(RetryPolicy::default()),
    );
    let gate = graph.add_node("gate", |interrupts: Interrupts| async move {
        let _: bool = interrupts.raise("sure?", json!({"n": 1})).await?;
        Err::<(), _>(NodeError::new("no"))
    });
    graph.add_edge(START, talk).add_edge(talk, gate).add_edge(gate, END).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let published = events(graph.invoke(hello()).thread("t"), EventFormat::Superstep).await;
    let find = |published: &[Value], name: &str| published.iter().find(|event| event["event"] == name).unwrap().clone();
    let own = find(&published, "on_custom_event");
    assert_eq!((&own["name"], &own["data"]), (&json!("status"), &json!({"status": "working"})));
    let retry = find(&published, "on_retry");
    assert_eq!((&retry["data"]["attempt"], &retry["data"]["error"]["message"]), (&json!(1), &json!("busy")));
    assert!(retry["data"]["wait_ms"].is_u64());
    let interrupt = find(&published, "on_interrupt");
    assert_eq!(
        (&interrupt["data"]["interrupts"][0]["node"], &interrupt["data"]["interrupts"][0]["value"]),
        (&json!("gate"), &json!({"n": 1}))
    );
    let saved = find(&published, "on_checkpoint");
    assert_eq!(keys(&saved["data"]), "checkpoint_id,next,source,step");
    let published = events(graph.resume("t", true), EventFormat::Superstep).await;
    let error = find(&published, "on_chain_error");
    assert_eq!(error["name"], "gate");
    assert_eq!(keys(&error["data"]["error"]), "code,hint,message,retryable");
    assert_eq!(
        (&published.last().unwrap()["event"], &published.last().unwrap()["name"]),
        (&json!("on_chain_error"), &json!("says"))
    );
}

/// R-REF-136: each graph at each depth starts and ends once, inside its parent.
#[tokio::test]
async fn each_graph_starts_and_ends_once() {
    let mut leaf = StateGraph::<Chat>::new("leaf");
    let write = leaf.add_node("write", || Chat::update().log("x"));
    leaf.add_edge(START, write).add_edge(write, END);
    let mut outer = StateGraph::<Chat>::new("outer");
    let first = outer.add_node("first", leaf.compile().unwrap());
    let second = outer.add_node("second", leaf.compile().unwrap());
    outer.add_edge(START, first).add_edge(START, second).add_edge(first, END).add_edge(second, END);
    let mut stream = outer.compile().unwrap().invoke(hello()).stream();
    let mut open: Vec<String> = Vec::new();
    let (mut started, mut last) = (0, None);
    while let Some(event) = stream.next().await {
        let path = event.namespace().as_str().to_owned();
        match &event.kind {
            EventKind::Started { .. } => {
                started += 1;
                assert!(!open.contains(&path));
                open.push(path.clone());
            }
            EventKind::Ended { end: GraphEnd::Finished, .. } => {
                assert!(open.contains(&path));
                open.retain(|other| *other != path);
            }
            _ => assert!(open.contains(&path), "an event of a graph that is not under way"),
        }
        last = Some(path);
    }
    assert_eq!((started, open.len(), last.as_deref()), (3, 0, Some("")));
}
