//! R-FWK-63, R-FWK-32: events that are journaled, and read again from any number.

use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{Durability, EventsQuery, MemoryCheckpointer};

use super::*;

fn graph(store: impl Into<superstep::core::port::SharedCheckpointer>) -> superstep::CompiledGraph<Chat, SharedModel> {
    let mut leaf = StateGraph::<Chat, SharedModel>::new("leaf");
    let write = leaf.add_node("write", || Chat::update().log("deep"));
    leaf.add_edge(START, write).add_edge(write, END);
    let mut graph = StateGraph::<Chat, SharedModel>::new("chat");
    let think = graph.add_node("think", think);
    let inner = graph.add_node("inner", leaf.compile().unwrap());
    let side = graph.add_node("side", |out: StreamWriter| async move { out.send_named("note", "x").await });
    graph
        .add_edge(START, think)
        .add_edge(think, inner)
        .add_edge(think, side)
        .add_edge(inner, END)
        .add_edge(side, END)
        .checkpointer(store);
    graph.compile().unwrap()
}

async fn kept(graph: &superstep::CompiledGraph<Chat, SharedModel>, after: Option<u64>) -> Vec<superstep::JournalEvent> {
    graph.threads().events("t", &EventsQuery { after, ..EventsQuery::default() }).await.unwrap()
}

fn names(kept: &[superstep::JournalEvent]) -> Vec<String> {
    let name = |kept: &superstep::JournalEvent| {
        format!("{} {}", kept.event["event"].as_str().unwrap(), kept.event["name"].as_str().unwrap())
    };
    kept.iter().map(name).collect()
}

/// R-FWK-63, R-FWK-32: published events that are not previews are journaled, with every durability, and are read
/// again without running anything.
#[tokio::test]
async fn what_was_told_is_kept() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let graph = graph(MemoryCheckpointer::new());
        let run = graph.invoke(hello()).thread("t").context(speaker("a b")).durability(durability).journal_events();
        let mut stream = run.stream_events();
        let mut told = Vec::new();
        while let Some(event) = stream.next().await {
            if !event.is_preview() {
                told.push(format!("{} {}", event.event, event.name));
            }
        }
        stream.finish().await.unwrap();
        let kept = kept(&graph, None).await;
        let (mut told, mut names) = (told, names(&kept));
        assert_eq!(
            (names.first().unwrap().as_str(), names.last().unwrap().as_str()),
            ("on_chain_start chat", "on_chain_end chat")
        );
        assert!(!names.iter().any(|name| name.starts_with("on_chat_model_stream")));
        told.sort();
        names.sort();
        assert_eq!(told, names, "{durability:?}");
        assert!(kept.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert_eq!(kept[0].number, 1);
    }
}

/// R-FWK-63: a client that reconnects with a number receives every later event once; a second run continues the
/// numbers.
#[tokio::test]
async fn a_reader_comes_back_with_any_number() {
    let graph = graph(MemoryCheckpointer::new());
    graph.invoke(hello()).thread("t").context(speaker("a")).journal_events().await.unwrap();
    let all = kept(&graph, None).await;
    for cut in 0..=all.len() {
        let after = if cut == 0 { None } else { Some(all[cut - 1].number) };
        let joined: Vec<superstep::JournalEvent> =
            all[..cut].iter().cloned().chain(kept(&graph, after).await).collect();
        assert_eq!(joined, all);
    }
    graph.invoke(hello()).thread("t").context(speaker("b")).journal_events().await.unwrap();
    let second = kept(&graph, Some(all.last().unwrap().number)).await;
    assert_eq!(second.len(), all.len());
    assert!(second.iter().all(|event| event.run != all[0].run));
    graph.threads().delete_events("t", all.last().unwrap().number).await.unwrap();
    assert_eq!(kept(&graph, None).await, second);
}

/// R-FWK-63, R-SRV-6: an event is published with its journal number, previews have separate numbers, and the
/// journaled form is identical to the published one.
#[tokio::test]
async fn an_event_is_told_under_the_number_it_is_kept_with() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let graph = graph(MemoryCheckpointer::new());
        for _ in 0..2 {
            let before = kept(&graph, None).await.last().map_or(0, |kept| kept.number);
            let run =
                graph.invoke(hello()).thread("t").context(speaker("a b c")).durability(durability).journal_events();
            let mut stream = run.stream_events().as_journaled();
            let (mut told, mut previews) = (std::collections::BTreeMap::new(), 0);
            while let Some(event) = stream.next().await {
                previews += u64::from(event.is_preview());
                let is_preview = event.is_preview();
                let replaced = told.insert(event.metadata.seq, (is_preview, serde_json::to_value(&event).unwrap()));
                assert!(replaced.is_none(), "number {} comes twice", event.metadata.seq);
            }
            stream.finish().await.unwrap();
            let (first, last) = (*told.keys().next().unwrap(), *told.keys().last().unwrap());
            assert_eq!(first, before + 1, "a run that saved its end is followed without a gap");
            assert_eq!(last - first + 1, told.len() as u64, "no number is left out");
            assert_eq!(previews, 3);
            told.retain(|_, (is_preview, _)| !*is_preview);
            let kept = kept(&graph, Some(before)).await.into_iter().map(|kept| (kept.number, kept.event));
            assert_eq!(
                told.into_iter().map(|(number, (_, event))| (number, event)).collect::<Vec<_>>(),
                kept.collect::<Vec<_>>()
            );
        }
    }
}

/// R-FWK-63, R-SRV-9: the number of a published event is never assigned again, also if the process died before it was
/// saved.
#[tokio::test]
async fn numbers_of_a_run_that_died_are_not_given_again() {
    for crash in 1..10 {
        let memory = MemoryCheckpointer::new();
        let broken = graph(CrashingCheckpointer::new(memory.clone(), crash, CrashedWrite::Lost));
        let mut stream = broken.invoke(hello()).thread("t").context(speaker("a b")).journal_events().stream_events();
        let mut told = std::collections::BTreeSet::new();
        while let Some(event) = stream.next().await {
            told.insert(event.metadata.seq);
        }
        if stream.finish().await.is_ok() {
            break;
        }
        let sound = graph(memory);
        let again = match sound.threads().get_state("t").await {
            Ok(_) => sound.continue_thread("t"),
            Err(_) => sound.invoke(hello()).thread("t"),
        };
        let mut stream = again.context(speaker("a b")).journal_events().stream_events();
        while let Some(event) = stream.next().await {
            assert!(Some(&event.metadata.seq) > told.last(), "crash at {crash}: {} again", event.metadata.seq);
        }
        stream.finish().await.unwrap();
    }
}

/// R-FWK-63: a run without journaling stores no events, and one without a checkpointer cannot journal.
#[tokio::test]
async fn nothing_is_kept_unless_asked_for() {
    let graph = graph(MemoryCheckpointer::new());
    graph.invoke(hello()).thread("t").context(speaker("a")).await.unwrap();
    assert!(kept(&graph, None).await.is_empty());
    let mut bare = StateGraph::<Chat>::new("bare");
    let one = bare.add_node("one", || ());
    bare.add_edge(START, one).add_edge(one, END);
    let error = bare.compile().unwrap().invoke(hello()).journal_events().await.unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::NoCheckpointer);
}

/// R-FWK-63: whichever commit fails, journaled events report only saved changes, and none is stored twice after the
/// run continued.
#[tokio::test]
async fn events_are_kept_with_what_they_speak_of() {
    for crash in 0..12 {
        let memory = MemoryCheckpointer::new();
        let broken = graph(CrashingCheckpointer::new(memory.clone(), crash, CrashedWrite::Lost));
        let first = broken.invoke(hello()).thread("t").context(speaker("a b")).journal_events().await;
        let sound = graph(memory);
        let saved: Vec<String> = match sound.threads().get_state_history("t", &Default::default()).await {
            Ok(history) => history.iter().map(|snapshot| snapshot.id().to_string()).collect(),
            Err(_) => Vec::new(),
        };
        let told: Vec<String> = kept(&sound, None)
            .await
            .iter()
            .filter(|kept| kept.event["event"] == "on_checkpoint" && kept.event["metadata"]["path"] == "")
            .map(|kept| kept.event["data"]["checkpoint_id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(told.len(), saved.len(), "crash at {crash}");
        assert!(told.iter().all(|id| saved.contains(id)), "crash at {crash}");
        if first.is_ok() {
            continue;
        }
        if saved.is_empty() {
            continue;
        }
        sound.continue_thread("t").context(speaker("a b")).journal_events().await.unwrap();
        let all = kept(&sound, None).await;
        assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number));
        let ends =
            all.iter().filter(|kept| kept.event["event"] == "on_chain_end" && kept.event["name"] == "think").count();
        assert_eq!(ends, 1, "crash at {crash}");
    }
}

/// R-FWK-63, R-FWK-41: the size of the journal depends on the number of events, not on the size of the state.
#[tokio::test]
async fn kept_events_do_not_repeat_the_state() {
    let graph = graph(MemoryCheckpointer::new());
    let long = Chat::input().topic("x".repeat(100_000)).messages("Hi");
    graph.invoke(long).thread("t").context(speaker("a b")).journal_events().await.unwrap();
    let kept = kept(&graph, None).await;
    let whole = kept.iter().filter(|kept| kept.event.to_string().len() > 100_000).count();
    // Input and output of the run itself, and of its subgraph.
    assert_eq!((whole, kept.len() > 12), (4, true));
    let starts = kept.iter().filter(|kept| kept.event["name"] == "think" && kept.event["event"] == "on_chain_start");
    for start in starts {
        assert_eq!(start.event["data"], json!({ "input": null }));
        assert!(start.event["metadata"]["checkpoint_id"].is_string());
    }
}
