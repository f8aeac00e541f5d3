//! R-FWK-55, R-FWK-60, R-FWK-61 and R-REF-124 to R-REF-133: stream modes, one by one and together.

use superstep::{ErrorCode, MemoryCheckpointer};

use super::*;

fn chat() -> StateGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
    let think = graph.add_node("think", think);
    graph.add_edge(START, think).add_edge(think, END);
    graph
}

/// R-REF-124, R-FWK-55: one part per task, when it ends; parallel tasks are separate, and null is a task without
/// writes.
#[tokio::test]
async fn updates_are_one_part_for_each_task() {
    let mut graph = StateGraph::<Chat>::new("fan");
    let split = graph.add_node("split", || ());
    let one = graph.add_node("one", || Chat::update().log("1"));
    let two = graph.add_node("two", || Chat::update().log("2").topic("t".to_owned()));
    graph.add_edge(START, split).add_edge(split, one).add_edge(split, two).add_edge(one, END).add_edge(two, END);
    let (streamed, done) = parts(graph.compile().unwrap().invoke(hello()), [StreamMode::Updates]).await;
    assert_eq!(streamed[0].1, json!({"split": null}));
    let mut rest: Vec<Value> = streamed[1..].iter().map(|(_, value)| value.clone()).collect();
    rest.sort_by_key(ToString::to_string);
    assert_eq!(rest, [json!({"one": {"log": ["1"]}}), json!({"two": {"log": ["2"], "topic": "t"}})]);
    assert_eq!(done.unwrap().state.log, ["1", "2"]);
}

/// R-REF-124: a field that one task wrote twice is streamed as single writes.
#[tokio::test]
async fn several_writes_to_a_field_are_a_list() {
    let mut graph = StateGraph::<Chat>::new("twice");
    let both = graph
        .add_node("both", || Command::<Chat>::new().update(Chat::update().log("1")).update(Chat::update().log("2")));
    graph.add_edge(START, both).add_edge(both, END);
    let (streamed, _) = parts(graph.compile().unwrap().invoke(hello()), [StreamMode::Updates]).await;
    assert_eq!(streamed[0].1, json!({"both": [{"log": ["1"]}, {"log": ["2"]}]}));
}

/// R-REF-125, R-FWK-55: the first values are those after the input, and only changes are streamed.
#[tokio::test]
async fn values_begin_with_the_input_and_show_only_changes() {
    let mut graph = StateGraph::<Chat>::new("values");
    let idle = graph.add_node("idle", || ());
    let write = graph.add_node("write", || Chat::update().log("x"));
    graph.add_sequence([START, idle.into(), write.into(), END]);
    let graph = graph.compile().unwrap();
    let (streamed, _) = parts(graph.invoke(Chat::input().topic("t".to_owned())), [StreamMode::Values]).await;
    let values = data_of_mode(&streamed, "values");
    assert_eq!(values.len(), 2);
    assert_eq!((&values[0]["topic"], &values[0]["log"]), (&json!("t"), &json!([])));
    assert_eq!(values[1]["log"], json!(["x"]));
}

/// R-REF-126, R-FWK-60: chunks are streamed once; the message that they form is not repeated, and a complete message
/// of a node is streamed.
#[tokio::test]
async fn a_message_is_streamed_once() {
    let mut graph = chat();
    let greet = graph.add_node("greet", || Chat::update().messages(Message::assistant("Bye.").with_id("bye")));
    graph.add_edge("think", greet).add_edge(greet, END);
    let graph = graph.compile().unwrap();
    let input = Chat::input().messages(Message::user("Hi").with_id("hi"));
    let (streamed, done) = parts(graph.invoke(input).context(speaker("It is late now")), [StreamMode::Messages]).await;
    let texts: Vec<&str> = streamed.iter().map(|(_, part)| part[0]["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["It ", "is ", "late ", "now", "Bye."]);
    let ids: Vec<&str> = streamed.iter().map(|(_, part)| part[0]["id"].as_str().unwrap()).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] == "bye");
    assert_eq!(
        (&streamed[0].1[1]["langgraph_node"], &streamed[4].1[1]["langgraph_node"]),
        (&json!("think"), &json!("greet"))
    );
    let done = done.unwrap();
    let message = done.state.messages.by_id(ids[0]).unwrap();
    assert_eq!(message.text(), "It is late now");
    assert_eq!(message.metadata["model"], json!({"provider": "test", "name": "speaker", "kind": "rules"}));
}

/// R-REF-126: a message of the existing state that is written back unchanged is not streamed.
#[tokio::test]
async fn existing_messages_are_not_streamed_again() {
    let mut graph = StateGraph::<Chat>::new("back");
    let back = graph.add_node("back", |chat: View<Chat>| {
        Chat::update().messages(chat.messages.iter().cloned().collect::<Vec<_>>()).log("done")
    });
    graph.add_edge(START, back).add_edge(back, END);
    let input = Chat::input().messages(Message::user("Hi").with_id("hi"));
    let (streamed, _) = parts(graph.compile().unwrap().invoke(input), [StreamMode::Messages]).await;
    assert!(streamed.is_empty(), "{streamed:?}");
}

/// R-FWK-61: `nostream` on a node, a run or a call excludes chunks; `hidden` excludes the node.
#[tokio::test]
async fn tags_keep_nodes_out_of_streams() {
    let modes = [StreamMode::Messages, StreamMode::Updates, StreamMode::Custom];
    let mut quiet = StateGraph::<Chat, SharedModel>::new("quiet");
    let node_quiet = quiet.add_node("think", node(think).tag("nostream"));
    quiet.add_edge(START, node_quiet).add_edge(node_quiet, END);
    let (streamed, _) = parts(quiet.compile().unwrap().invoke(hello()).context(speaker("a b")), modes).await;
    assert_eq!(data_of_mode(&streamed, "messages"), Vec::<Value>::new());
    assert_eq!(data_of_mode(&streamed, "updates").len(), 1);

    let run = chat().compile().unwrap().invoke(hello()).context(speaker("a b")).tag("nostream");
    assert!(data_of_mode(&parts(run, modes).await.0, "messages").is_empty());

    let mut hidden = StateGraph::<Chat, SharedModel>::new("hidden");
    let speak = hidden.add_node(
        "think",
        node(|chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext| async move {
            cx.emit("psst").await?;
            think(chat, model, cx).await
        })
        .tag("hidden"),
    );
    hidden.add_edge(START, speak).add_edge(speak, END);
    let hidden = hidden.compile().unwrap();
    let (streamed, done) = parts(hidden.invoke(hello()).context(speaker("a b")), modes).await;
    assert!(streamed.is_empty(), "{streamed:?}");
    assert_eq!(done.unwrap().state.messages.len(), 1);
    let mut events = hidden.invoke(hello()).context(speaker("a b")).stream_events();
    while let Some(event) = events.next().await {
        assert_ne!(event.metadata.node(), Some("think"));
    }
}

/// R-FWK-61: `hidden` on a model call excludes the call, and nothing else of its node.
#[tokio::test]
async fn a_hidden_call_is_not_published() {
    let mut graph = StateGraph::<Chat, SharedModel>::new("judging");
    let judge = graph.add_node("judge", |model: RunContext<SharedModel>, cx: TaskContext| async move {
        let judged = cx.model(&model).request("good?").tag("hidden").await?;
        cx.emit(judged.message.text()).await?;
        Ok::<_, NodeError>(Chat::update().log("judged"))
    });
    graph.add_edge(START, judge).add_edge(judge, END);
    let graph = graph.compile().unwrap();
    let modes = [StreamMode::Messages, StreamMode::Updates, StreamMode::Custom];
    let (streamed, _) = parts(graph.invoke(hello()).context(speaker("a b")), modes).await;
    assert_eq!((data_of_mode(&streamed, "messages").len(), data_of_mode(&streamed, "custom")), (0, vec![json!("a b")]));
    assert_eq!(data_of_mode(&streamed, "updates").len(), 1);
    let mut events = graph.invoke(hello()).context(speaker("a b")).stream_events();
    while let Some(event) = events.next().await {
        assert!(!event.event.starts_with("on_chat_model"), "{}", event.event);
    }
}

/// R-REF-127, R-FWK-59: custom events of a node are in order, before its writes.
#[tokio::test]
async fn custom_events_precede_the_update_of_their_node() {
    let mut graph = StateGraph::<Chat>::new("words");
    let talk = graph.add_node("talk", |out: StreamWriter| async move {
        for word in ["a", "b", "c"] {
            out.send(json!({"word": word})).await?;
        }
        Ok::<_, NodeError>(Chat::update().log("said"))
    });
    graph.add_edge(START, talk).add_edge(talk, END);
    let (streamed, _) =
        parts(graph.compile().unwrap().invoke(hello()), [StreamMode::Custom, StreamMode::Updates]).await;
    let names: Vec<&str> = streamed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["custom", "custom", "custom", "updates"]);
    assert_eq!(streamed[2].1, json!({"word": "c"}));
}

/// R-REF-128: tasks have a start and an end, and the result of a failed one is streamed before the run fails.
#[tokio::test]
async fn tasks_begin_and_end_in_pairs() {
    let mut graph = StateGraph::<Chat>::new("pairs");
    let good = graph.add_node("good", || Chat::update().log("x"));
    let bad = graph.add_node("bad", || Err::<ChatUpdate, _>(NodeError::new("no")));
    graph.add_edge(START, good).add_edge(good, bad).add_edge(bad, END);
    let (streamed, done) = parts(graph.compile().unwrap().invoke(hello()), [StreamMode::Tasks]).await;
    assert_eq!(done.unwrap_err().code(), ErrorCode::NodeFailed);
    let tasks = data_of_mode(&streamed, "tasks");
    assert_eq!(tasks.len(), 4);
    for pair in tasks.chunks(2) {
        assert_eq!((&pair[0]["id"], &pair[0]["name"]), (&pair[1]["id"], &pair[1]["name"]));
        assert!(pair[0].get("input").is_some() && pair[1].get("result").is_some());
    }
    assert_eq!(tasks[1]["result"], json!({"log": ["x"]}));
    assert_eq!(tasks[3]["error"]["code"], "SS-011");
}

/// R-REF-129: a streamed checkpoint equals the stored one.
#[tokio::test]
async fn streamed_checkpoints_equal_stored_ones() {
    let mut graph = StateGraph::<Chat>::new("saved");
    let one = graph.add_node("one", || Chat::update().log("1"));
    let two = graph.add_node("two", || Chat::update().log("2"));
    graph.add_sequence([START, one.into(), two.into(), END]).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let run = graph.invoke(Chat::input().topic("t".to_owned())).thread("t");
    let (streamed, _) = parts(run, [StreamMode::Checkpoints, StreamMode::Debug]).await;
    let saved = data_of_mode(&streamed, "checkpoints");
    assert_eq!(saved.len(), 3);
    for part in &saved {
        let id = part["config"]["configurable"]["checkpoint_id"].as_str().unwrap().parse().unwrap();
        let read = graph.threads().get_state_at("t", id).await.unwrap();
        assert_eq!(part["values"], serde_json::to_value(&*read.state).unwrap());
        assert_eq!(part["next"], json!(read.next));
        assert_eq!(part["metadata"]["step"], json!(read.checkpoint.step));
        let tasks: Vec<&Value> = part["tasks"].as_array().unwrap().iter().map(|task| &task["name"]).collect();
        assert_eq!(json!(tasks), json!(read.next));
        let parent = read.checkpoint.parent.map(|parent| parent.to_string());
        assert_eq!(part["parent_config"]["configurable"]["checkpoint_id"].as_str(), parent.as_deref());
    }
    let debug = data_of_mode(&streamed, "debug");
    let of = |kind: &str| debug.iter().filter(|part| part["type"] == kind).count();
    assert_eq!((of("checkpoint"), of("task"), of("task_result")), (3, 2, 2));
    assert_eq!(debug.iter().find(|part| part["type"] == "checkpoint").unwrap()["payload"], saved[0]);
}

/// R-REF-130: subgraphs are streamed with their namespace, and only on request.
#[tokio::test]
async fn subgraphs_are_streamed_with_their_namespace() {
    let mut leaf = StateGraph::<Chat>::new("leaf");
    let write = leaf.add_node("write", || Chat::update().log("deep"));
    leaf.add_edge(START, write).add_edge(write, END);
    let mut middle = StateGraph::<Chat>::new("middle");
    let inner = middle.add_node("leaf", leaf.compile().unwrap());
    middle.add_edge(START, inner).add_edge(inner, END);
    let mut outer = StateGraph::<Chat>::new("outer");
    let inner = outer.add_node("middle", middle.compile().unwrap());
    outer.add_edge(START, inner).add_edge(inner, END);
    let outer = outer.compile().unwrap();
    let (streamed, _) = parts(outer.invoke(hello()), [StreamMode::Updates]).await;
    assert_eq!(streamed.len(), 1);
    let (streamed, _) = parts(outer.invoke(hello()).stream_subgraphs(), [StreamMode::Updates]).await;
    let names: Vec<&str> = streamed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["updates middle/leaf", "updates middle", "updates"]);
}

/// R-REF-131: a part has the same structure for every selection of modes.
#[tokio::test]
async fn parts_have_one_shape() {
    for modes in [vec![StreamMode::Values], vec![StreamMode::Values, StreamMode::Updates, StreamMode::Events]] {
        let mut stream = chat().compile().unwrap().invoke(hello()).context(speaker("a")).stream_mode(modes);
        while let Some(part) = stream.next().await {
            let written = serde_json::to_value(&part).unwrap();
            let mut keys: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
            keys.sort_unstable();
            assert_eq!(keys, ["data", "ns", "seq", "type"]);
            assert!(written["ns"].is_array());
        }
    }
}

/// R-REF-133: an interrupt is visible in updates and values, in tasks, and in the outcome.
#[tokio::test]
async fn questions_are_seen_in_every_mode() {
    let mut graph = StateGraph::<Chat>::new("asks");
    let gate = graph.add_node("gate", |interrupts: Interrupts| async move {
        let yes: bool = interrupts.raise("ok?", "really?").await?;
        Ok::<_, NodeError>(Chat::update().log(format!("{yes}")))
    });
    graph.add_edge(START, gate).add_edge(gate, END).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let modes = [StreamMode::Values, StreamMode::Updates, StreamMode::Tasks];
    let (streamed, done) = parts(graph.invoke(hello()).thread("t"), modes).await;
    let done = done.unwrap();
    let id = done.interrupts()[0].id.to_string();
    for mode in ["values", "updates"] {
        let last = data_of_mode(&streamed, mode).pop().unwrap();
        assert_eq!(last["__interrupt__"][0]["id"], json!(id), "{mode}");
        assert_eq!(last["__interrupt__"][0]["value"], json!("really?"));
    }
    let last = data_of_mode(&streamed, "tasks").pop().unwrap();
    assert_eq!(last["interrupts"][0]["id"], json!(id));
}

/// R-FWK-55: all modes at once, each with its own parts, numbered in one sequence.
#[tokio::test]
async fn all_modes_at_once() {
    let modes = [
        StreamMode::Values,
        StreamMode::Updates,
        StreamMode::Messages,
        StreamMode::Custom,
        StreamMode::Tasks,
        StreamMode::Checkpoints,
        StreamMode::Debug,
        StreamMode::Events,
    ];
    let mut graph = chat();
    graph.checkpointer(MemoryCheckpointer::new());
    let note = graph.add_node("note", |out: StreamWriter| async move { out.send("note").await });
    graph.add_edge("think", note).add_edge(note, END);
    let graph = graph.compile().unwrap();
    let mut stream = graph.invoke(hello()).thread("t").context(speaker("a b")).stream_mode(modes);
    let (mut seen, mut last) = (std::collections::BTreeSet::new(), 0);
    while let Some(part) = stream.next().await {
        assert!(part.seq > last);
        last = part.seq;
        seen.insert(part.mode);
    }
    assert_eq!(seen.len(), modes.len(), "{seen:?}");
}

/// A graph with a subgraph in its node `inner`, which has this tag.
fn nested(tag: &str) -> superstep::CompiledGraph<Chat, SharedModel> {
    let mut outer = StateGraph::<Chat, SharedModel>::new("outer");
    let inner = outer.add_node("inner", node(chat().compile().unwrap()).tag(tag));
    outer.add_edge(START, inner).add_edge(inner, END);
    outer.compile().unwrap()
}

/// R-FWK-61: tags of a node apply to its subgraph.
#[tokio::test]
async fn tags_apply_to_subgraphs() {
    let mut events = nested("hidden").invoke(hello()).context(speaker("a b")).stream_events();
    while let Some(event) = events.next().await {
        assert_eq!((&*event.name, event.metadata.node()), ("outer", None), "{}", event.event);
    }
    let run = nested("nostream").invoke(hello()).context(speaker("a b")).stream_subgraphs();
    let (streamed, done) = parts(run, [StreamMode::Messages, StreamMode::Updates]).await;
    assert!(streamed.iter().all(|(mode, _)| mode.starts_with("updates")), "{streamed:?}");
    assert_eq!(done.unwrap().state.messages.len(), 1);
    let run = nested("loud").invoke(hello()).context(speaker("a b")).stream_subgraphs();
    assert!(parts(run, [StreamMode::Messages]).await.0.len() >= 2);
}

/// R-REF-130: an additional mode does not affect the others.
#[tokio::test]
async fn the_events_mode_does_not_add_subgraphs_to_other_modes() {
    let run = nested("loud").invoke(hello()).context(speaker("a b"));
    let (streamed, _) = parts(run, [StreamMode::Updates, StreamMode::Events]).await;
    assert_eq!(streamed.iter().filter(|(mode, _)| mode.starts_with("updates")).count(), 1);
    assert!(streamed.iter().any(|(mode, _)| mode.starts_with("events inner")));
}
