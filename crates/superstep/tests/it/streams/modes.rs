//! R-FWK-55, R-FWK-60, R-FWK-61 and R-REF-124 to R-REF-133: modes, one by one and together.

use superstep::{Code, Memory};

use super::*;

fn chat() -> Graph<Chat, SharedModel> {
    let mut graph = Graph::<Chat, SharedModel>::new("chat");
    let think = graph.node("think", think);
    graph.edge(START, think).edge(think, END);
    graph
}

/// R-REF-124, R-FWK-55: one part for each task, as it ends; parallel tasks are apart, and null is a task that wrote nothing.
#[tokio::test]
async fn updates_are_one_part_for_each_task() {
    let mut graph = Graph::<Chat>::new("fan");
    let split = graph.node("split", || ());
    let one = graph.node("one", || Chat::update().log("1"));
    let two = graph.node("two", || Chat::update().log("2").topic("t".to_owned()));
    graph.edge(START, split).edge(split, one).edge(split, two).edge(one, END).edge(two, END);
    let (shown, done) = parts(graph.compile().unwrap().run(hello()), [StreamMode::Updates]).await;
    assert_eq!(shown[0].1, json!({"split": null}));
    let mut rest: Vec<Value> = shown[1..].iter().map(|(_, value)| value.clone()).collect();
    rest.sort_by_key(ToString::to_string);
    assert_eq!(rest, [json!({"one": {"log": ["1"]}}), json!({"two": {"log": ["2"], "topic": "t"}})]);
    assert_eq!(done.unwrap().state.log, ["1", "2"]);
}

/// R-REF-124: a field that one task wrote twice is shown as single writes.
#[tokio::test]
async fn several_writes_to_a_field_are_a_list() {
    let mut graph = Graph::<Chat>::new("twice");
    let both =
        graph.node("both", || Command::<Chat>::new().update(Chat::update().log("1")).update(Chat::update().log("2")));
    graph.edge(START, both).edge(both, END);
    let (shown, _) = parts(graph.compile().unwrap().run(hello()), [StreamMode::Updates]).await;
    assert_eq!(shown[0].1, json!({"both": [{"log": ["1"]}, {"log": ["2"]}]}));
}

/// R-REF-125, R-FWK-55: the first values are those after the input, and nothing is shown that did not change.
#[tokio::test]
async fn values_begin_with_the_input_and_show_only_changes() {
    let mut graph = Graph::<Chat>::new("values");
    let idle = graph.node("idle", || ());
    let write = graph.node("write", || Chat::update().log("x"));
    graph.sequence([START, idle.into(), write.into(), END]);
    let graph = graph.compile().unwrap();
    let (shown, _) = parts(graph.run(Chat::input().topic("t".to_owned())), [StreamMode::Values]).await;
    let values = said(&shown, "values");
    assert_eq!(values.len(), 2);
    assert_eq!((&values[0]["topic"], &values[0]["log"]), (&json!("t"), &json!([])));
    assert_eq!(values[1]["log"], json!(["x"]));
}

/// R-REF-126, R-FWK-60: words come once; the message that they make is not shown again, and one that came whole is.
#[tokio::test]
async fn a_message_is_streamed_once() {
    let mut graph = chat();
    let greet = graph.node("greet", || Chat::update().messages(Message::assistant("Bye.").with_id("bye")));
    graph.edge("think", greet).edge(greet, END);
    let graph = graph.compile().unwrap();
    let input = Chat::input().messages(Message::user("Hi").with_id("hi"));
    let (shown, done) = parts(graph.run(input).context(speaker("It is late now")), [StreamMode::Messages]).await;
    let texts: Vec<&str> = shown.iter().map(|(_, part)| part[0]["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["It ", "is ", "late ", "now", "Bye."]);
    let ids: Vec<&str> = shown.iter().map(|(_, part)| part[0]["id"].as_str().unwrap()).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] == "bye");
    assert_eq!(
        (&shown[0].1[1]["langgraph_node"], &shown[4].1[1]["langgraph_node"]),
        (&json!("think"), &json!("greet"))
    );
    let done = done.unwrap();
    let spoken = done.state.messages.by_id(ids[0]).unwrap();
    assert_eq!(spoken.text(), "It is late now");
    assert_eq!(spoken.metadata["model"], json!({"provider": "test", "name": "speaker", "kind": "rules"}));
}

/// R-REF-126: a message that was in the state already and is written back as it is, is not shown.
#[tokio::test]
async fn messages_of_the_input_are_not_shown_again() {
    let mut graph = Graph::<Chat>::new("back");
    let back = graph.node("back", |chat: View<Chat>| {
        Chat::update().messages(chat.messages.iter().cloned().collect::<Vec<_>>()).log("done")
    });
    graph.edge(START, back).edge(back, END);
    let input = Chat::input().messages(Message::user("Hi").with_id("hi"));
    let (shown, _) = parts(graph.compile().unwrap().run(input), [StreamMode::Messages]).await;
    assert!(shown.is_empty(), "{shown:?}");
}

/// R-FWK-61: `nostream` on a node, a run or a call keeps words out; `hidden` keeps the node out.
#[tokio::test]
async fn tags_keep_nodes_out_of_streams() {
    let modes = [StreamMode::Messages, StreamMode::Updates, StreamMode::Custom];
    let mut quiet = Graph::<Chat, SharedModel>::new("quiet");
    let node_quiet = quiet.node("think", node(think).tag("nostream"));
    quiet.edge(START, node_quiet).edge(node_quiet, END);
    let (shown, _) = parts(quiet.compile().unwrap().run(hello()).context(speaker("a b")), modes).await;
    assert_eq!(said(&shown, "messages"), Vec::<Value>::new());
    assert_eq!(said(&shown, "updates").len(), 1);

    let run = chat().compile().unwrap().run(hello()).context(speaker("a b")).tag("nostream");
    assert!(said(&parts(run, modes).await.0, "messages").is_empty());

    let mut hidden = Graph::<Chat, SharedModel>::new("hidden");
    let speak = hidden.node(
        "think",
        node(|chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx| async move {
            cx.emit("psst").await?;
            think(chat, model, cx).await
        })
        .tag("hidden"),
    );
    hidden.edge(START, speak).edge(speak, END);
    let hidden = hidden.compile().unwrap();
    let (shown, done) = parts(hidden.run(hello()).context(speaker("a b")), modes).await;
    assert!(shown.is_empty(), "{shown:?}");
    assert_eq!(done.unwrap().state.messages.len(), 1);
    let mut events = hidden.run(hello()).context(speaker("a b")).stream_events();
    while let Some(event) = events.next().await {
        assert_ne!(event.metadata.node(), Some("think"));
    }
}

/// R-FWK-61: `hidden` on a call of a model keeps the call out, and nothing else of its node.
#[tokio::test]
async fn a_hidden_call_is_not_told() {
    let mut graph = Graph::<Chat, SharedModel>::new("judging");
    let judge = graph.node("judge", |model: Ctx<SharedModel>, cx: Cx| async move {
        let judged = cx.model(&model).request("good?").tag("hidden").await?;
        cx.emit(judged.message.text()).await?;
        Ok::<_, NodeError>(Chat::update().log("judged"))
    });
    graph.edge(START, judge).edge(judge, END);
    let graph = graph.compile().unwrap();
    let modes = [StreamMode::Messages, StreamMode::Updates, StreamMode::Custom];
    let (shown, _) = parts(graph.run(hello()).context(speaker("a b")), modes).await;
    assert_eq!((said(&shown, "messages").len(), said(&shown, "custom")), (0, vec![json!("a b")]));
    assert_eq!(said(&shown, "updates").len(), 1);
    let mut events = graph.run(hello()).context(speaker("a b")).stream_events();
    while let Some(event) = events.next().await {
        assert!(!event.event.starts_with("on_chat_model"), "{}", event.event);
    }
}

/// R-REF-127, R-FWK-59: what a node says comes in its order, before what it wrote.
#[tokio::test]
async fn a_nodes_own_words_come_before_its_update() {
    let mut graph = Graph::<Chat>::new("words");
    let talk = graph.node("talk", |out: Writer| async move {
        for word in ["a", "b", "c"] {
            out.send(json!({"word": word})).await?;
        }
        Ok::<_, NodeError>(Chat::update().log("said"))
    });
    graph.edge(START, talk).edge(talk, END);
    let (shown, _) = parts(graph.compile().unwrap().run(hello()), [StreamMode::Custom, StreamMode::Updates]).await;
    let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["custom", "custom", "custom", "updates"]);
    assert_eq!(shown[2].1, json!({"word": "c"}));
}

/// R-REF-128: tasks come in pairs, and the result of one that fails is shown before the run fails.
#[tokio::test]
async fn tasks_begin_and_end_in_pairs() {
    let mut graph = Graph::<Chat>::new("pairs");
    let good = graph.node("good", || Chat::update().log("x"));
    let bad = graph.node("bad", || Err::<ChatUpdate, _>(NodeError::new("no")));
    graph.edge(START, good).edge(good, bad).edge(bad, END);
    let (shown, done) = parts(graph.compile().unwrap().run(hello()), [StreamMode::Tasks]).await;
    assert_eq!(done.unwrap_err().code(), Code::NodeFailed);
    let tasks = said(&shown, "tasks");
    assert_eq!(tasks.len(), 4);
    for pair in tasks.chunks(2) {
        assert_eq!((&pair[0]["id"], &pair[0]["name"]), (&pair[1]["id"], &pair[1]["name"]));
        assert!(pair[0].get("input").is_some() && pair[1].get("result").is_some());
    }
    assert_eq!(tasks[1]["result"], json!({"log": ["x"]}));
    assert_eq!(tasks[3]["error"]["code"], "SS-011");
}

/// R-REF-129: what is shown of a checkpoint is what is read of it.
#[tokio::test]
async fn checkpoints_show_what_is_saved() {
    let mut graph = Graph::<Chat>::new("saved");
    let one = graph.node("one", || Chat::update().log("1"));
    let two = graph.node("two", || Chat::update().log("2"));
    graph.sequence([START, one.into(), two.into(), END]).checkpointer(Memory::new());
    let graph = graph.compile().unwrap();
    let run = graph.run(Chat::input().topic("t".to_owned())).thread("t");
    let (shown, _) = parts(run, [StreamMode::Checkpoints, StreamMode::Debug]).await;
    let saved = said(&shown, "checkpoints");
    assert_eq!(saved.len(), 3);
    for part in &saved {
        let id = part["config"]["configurable"]["checkpoint_id"].as_str().unwrap().parse().unwrap();
        let read = graph.threads().state_at("t", id).await.unwrap();
        assert_eq!(part["values"], serde_json::to_value(&*read.state).unwrap());
        assert_eq!(part["next"], json!(read.next));
        assert_eq!(part["metadata"]["step"], json!(read.checkpoint.step));
        let tasks: Vec<&Value> = part["tasks"].as_array().unwrap().iter().map(|task| &task["name"]).collect();
        assert_eq!(json!(tasks), json!(read.next));
        let parent = read.checkpoint.parent.map(|parent| parent.to_string());
        assert_eq!(part["parent_config"]["configurable"]["checkpoint_id"].as_str(), parent.as_deref());
    }
    let debug = said(&shown, "debug");
    let of = |kind: &str| debug.iter().filter(|part| part["type"] == kind).count();
    assert_eq!((of("checkpoint"), of("task"), of("task_result")), (3, 2, 2));
    assert_eq!(debug.iter().find(|part| part["type"] == "checkpoint").unwrap()["payload"], saved[0]);
}

/// R-REF-130: graphs inside are shown with their path, and only when asked for.
#[tokio::test]
async fn graphs_inside_are_shown_with_their_path() {
    let mut leaf = Graph::<Chat>::new("leaf");
    let write = leaf.node("write", || Chat::update().log("deep"));
    leaf.edge(START, write).edge(write, END);
    let mut middle = Graph::<Chat>::new("middle");
    let inner = middle.node("leaf", leaf.compile().unwrap());
    middle.edge(START, inner).edge(inner, END);
    let mut outer = Graph::<Chat>::new("outer");
    let inner = outer.node("middle", middle.compile().unwrap());
    outer.edge(START, inner).edge(inner, END);
    let outer = outer.compile().unwrap();
    let (shown, _) = parts(outer.run(hello()), [StreamMode::Updates]).await;
    assert_eq!(shown.len(), 1);
    let (shown, _) = parts(outer.run(hello()).subgraphs(), [StreamMode::Updates]).await;
    let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["updates middle/leaf", "updates middle", "updates"]);
}

/// R-REF-131: a part has the same shape whatever is asked for.
#[tokio::test]
async fn parts_have_one_shape() {
    for modes in [vec![StreamMode::Values], vec![StreamMode::Values, StreamMode::Updates, StreamMode::Events]] {
        let mut stream = chat().compile().unwrap().run(hello()).context(speaker("a")).stream_mode(modes);
        while let Some(part) = stream.next().await {
            let written = serde_json::to_value(&part).unwrap();
            let mut keys: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
            keys.sort_unstable();
            assert_eq!(keys, ["data", "ns", "seq", "type"]);
            assert!(written["ns"].is_array());
        }
    }
}

/// R-REF-133: a question is seen in updates and values, in tasks, and in the outcome.
#[tokio::test]
async fn questions_are_seen_in_every_mode() {
    let mut graph = Graph::<Chat>::new("asks");
    let gate = graph.node("gate", |ask: Ask| async move {
        let yes: bool = ask.person("ok?", "really?").await?;
        Ok::<_, NodeError>(Chat::update().log(format!("{yes}")))
    });
    graph.edge(START, gate).edge(gate, END).checkpointer(Memory::new());
    let graph = graph.compile().unwrap();
    let modes = [StreamMode::Values, StreamMode::Updates, StreamMode::Tasks];
    let (shown, done) = parts(graph.run(hello()).thread("t"), modes).await;
    let done = done.unwrap();
    let id = done.questions()[0].id.to_string();
    for mode in ["values", "updates"] {
        let last = said(&shown, mode).pop().unwrap();
        assert_eq!(last["__interrupt__"][0]["id"], json!(id), "{mode}");
        assert_eq!(last["__interrupt__"][0]["value"], json!("really?"));
    }
    let last = said(&shown, "tasks").pop().unwrap();
    assert_eq!(last["interrupts"][0]["id"], json!(id));
}

/// R-FWK-55: every mode at once, each with its own parts, numbered in one row.
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
    graph.checkpointer(Memory::new());
    let note = graph.node("note", |out: Writer| async move { out.send("note").await });
    graph.edge("think", note).edge(note, END);
    let graph = graph.compile().unwrap();
    let mut stream = graph.run(hello()).thread("t").context(speaker("a b")).stream_mode(modes);
    let (mut seen, mut last) = (std::collections::BTreeSet::new(), 0);
    while let Some(part) = stream.next().await {
        assert!(part.seq > last);
        last = part.seq;
        seen.insert(part.mode);
    }
    assert_eq!(seen.len(), modes.len(), "{seen:?}");
}

/// A graph with another inside its node `inner`, which has this tag.
fn nested(tag: &str) -> superstep::Compiled<Chat, SharedModel> {
    let mut outer = Graph::<Chat, SharedModel>::new("outer");
    let inner = outer.node("inner", node(chat().compile().unwrap()).tag(tag));
    outer.edge(START, inner).edge(inner, END);
    outer.compile().unwrap()
}

/// R-FWK-61: what is said of a node holds for the graph inside it.
#[tokio::test]
async fn tags_hold_for_graphs_inside() {
    let mut events = nested("hidden").run(hello()).context(speaker("a b")).stream_events();
    while let Some(event) = events.next().await {
        assert_eq!((&*event.name, event.metadata.node()), ("outer", None), "{}", event.event);
    }
    let run = nested("nostream").run(hello()).context(speaker("a b")).subgraphs();
    let (shown, done) = parts(run, [StreamMode::Messages, StreamMode::Updates]).await;
    assert!(shown.iter().all(|(mode, _)| mode.starts_with("updates")), "{shown:?}");
    assert_eq!(done.unwrap().state.messages.len(), 1);
    let run = nested("loud").run(hello()).context(speaker("a b")).subgraphs();
    assert!(parts(run, [StreamMode::Messages]).await.0.len() >= 2);
}

/// R-REF-130: one mode more changes nothing about the others.
#[tokio::test]
async fn events_do_not_show_graphs_inside_in_other_modes() {
    let run = nested("loud").run(hello()).context(speaker("a b"));
    let (shown, _) = parts(run, [StreamMode::Updates, StreamMode::Events]).await;
    assert_eq!(shown.iter().filter(|(mode, _)| mode.starts_with("updates")).count(), 1);
    assert!(shown.iter().any(|(mode, _)| mode.starts_with("events inner")));
}
