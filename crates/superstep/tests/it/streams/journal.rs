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

async fn journaled(
    graph: &superstep::CompiledGraph<Chat, SharedModel>,
    after: Option<u64>,
) -> Vec<superstep::JournalEvent> {
    graph.threads().events("t", &EventsQuery { after, ..EventsQuery::default() }).await.unwrap()
}

fn names(events: &[superstep::JournalEvent]) -> Vec<String> {
    let name = |event: &superstep::JournalEvent| {
        format!("{} {}", event.event["event"].as_str().unwrap(), event.event["name"].as_str().unwrap())
    };
    events.iter().map(name).collect()
}

/// R-FWK-63, R-FWK-32: published events that are not previews are journaled, with every durability, and are read
/// again without running anything.
#[tokio::test]
async fn published_events_are_journaled() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let graph = graph(MemoryCheckpointer::new());
        let run = graph.invoke(hello()).thread("t").context(speaker("a b")).durability(durability).journal_events();
        let mut stream = run.stream_events();
        let mut published = Vec::new();
        while let Some(event) = stream.next().await {
            if !event.is_preview() {
                published.push(format!("{} {}", event.event, event.name));
            }
        }
        stream.finish().await.unwrap();
        let stored = journaled(&graph, None).await;
        let (mut published, mut names) = (published, names(&stored));
        assert_eq!(
            (names.first().unwrap().as_str(), names.last().unwrap().as_str()),
            ("on_chain_start chat", "on_chain_end chat")
        );
        assert!(!names.iter().any(|name| name.starts_with("on_chat_model_stream")));
        published.sort();
        names.sort();
        assert_eq!(published, names, "{durability:?}");
        assert!(stored.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert_eq!(stored[0].number, 1);
    }
}

/// R-FWK-63: a client that reconnects with a number receives every later event once; a second run continues the
/// numbers.
#[tokio::test]
async fn a_reader_continues_from_any_event_number() {
    let graph = graph(MemoryCheckpointer::new());
    graph.invoke(hello()).thread("t").context(speaker("a")).journal_events().await.unwrap();
    let all = journaled(&graph, None).await;
    for cut in 0..=all.len() {
        let after = if cut == 0 { None } else { Some(all[cut - 1].number) };
        let joined: Vec<superstep::JournalEvent> =
            all[..cut].iter().cloned().chain(journaled(&graph, after).await).collect();
        assert_eq!(joined, all);
    }
    graph.invoke(hello()).thread("t").context(speaker("b")).journal_events().await.unwrap();
    let second = journaled(&graph, Some(all.last().unwrap().number)).await;
    assert_eq!(second.len(), all.len());
    assert!(second.iter().all(|event| event.run != all[0].run));
    graph.threads().delete_events("t", all.last().unwrap().number).await.unwrap();
    assert_eq!(journaled(&graph, None).await, second);
}

/// R-FWK-63, R-SRV-6a: an event is published with its journal number, previews have separate numbers, and the
/// journaled form is identical to the published one.
#[tokio::test]
async fn an_event_is_published_under_its_journal_number() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let graph = graph(MemoryCheckpointer::new());
        for _ in 0..2 {
            let before = journaled(&graph, None).await.last().map_or(0, |stored| stored.number);
            let run =
                graph.invoke(hello()).thread("t").context(speaker("a b c")).durability(durability).journal_events();
            let mut stream = run.stream_events().as_journaled();
            let (mut published, mut previews) = (std::collections::BTreeMap::new(), 0);
            while let Some(event) = stream.next().await {
                previews += u64::from(event.is_preview());
                let is_preview = event.is_preview();
                let replaced =
                    published.insert(event.metadata.seq, (is_preview, serde_json::to_value(&event).unwrap()));
                assert!(replaced.is_none(), "number {} comes twice", event.metadata.seq);
            }
            stream.finish().await.unwrap();
            let (first, last) = (*published.keys().next().unwrap(), *published.keys().last().unwrap());
            assert_eq!(first, before + 1, "a run that saved its end is followed without a gap");
            assert_eq!(last - first + 1, published.len() as u64, "no number is left out");
            assert_eq!(previews, 3);
            published.retain(|_, (is_preview, _)| !*is_preview);
            let stored = journaled(&graph, Some(before)).await.into_iter().map(|stored| (stored.number, stored.event));
            assert_eq!(
                published.into_iter().map(|(number, (_, event))| (number, event)).collect::<Vec<_>>(),
                stored.collect::<Vec<_>>()
            );
        }
    }
}

/// R-FWK-63, R-SRV-9: the number of a published event is never assigned again, also if the process died before it was
/// saved.
#[tokio::test]
async fn event_numbers_of_a_crashed_run_are_not_reused() {
    for crash in 1..10 {
        let memory = MemoryCheckpointer::new();
        let broken = graph(CrashingCheckpointer::new(memory.clone(), crash, CrashedWrite::Lost));
        let mut stream = broken.invoke(hello()).thread("t").context(speaker("a b")).journal_events().stream_events();
        let mut published = std::collections::BTreeSet::new();
        while let Some(event) = stream.next().await {
            published.insert(event.metadata.seq);
        }
        if stream.finish().await.is_ok() {
            break;
        }
        let sound = graph(memory);
        let rerun = match sound.threads().get_state("t").await {
            Ok(_) => sound.continue_thread("t"),
            Err(_) => sound.invoke(hello()).thread("t"),
        };
        let mut stream = rerun.context(speaker("a b")).journal_events().stream_events();
        while let Some(event) = stream.next().await {
            assert!(Some(&event.metadata.seq) > published.last(), "crash at {crash}: {} again", event.metadata.seq);
        }
        stream.finish().await.unwrap();
    }
}

/// R-FWK-63: a run without journaling stores no events, and one without a checkpointer cannot journal.
#[tokio::test]
async fn nothing_is_journaled_unless_requested() {
    let graph = graph(MemoryCheckpointer::new());
    graph.invoke(hello()).thread("t").context(speaker("a")).await.unwrap();
    assert!(journaled(&graph, None).await.is_empty());
    let mut bare = StateGraph::<Chat>::new("bare");
    let one = bare.add_node("one", || ());
    bare.add_edge(START, one).add_edge(one, END);
    let error = bare.compile().unwrap().invoke(hello()).journal_events().await.unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::NoCheckpointer);
}

/// R-FWK-63: whichever commit fails, journaled events report only saved changes, and none is stored twice after the
/// run continued.
#[tokio::test]
async fn events_are_journaled_with_their_changes() {
    for crash in 0..12 {
        let memory = MemoryCheckpointer::new();
        let broken = graph(CrashingCheckpointer::new(memory.clone(), crash, CrashedWrite::Lost));
        let first = broken.invoke(hello()).thread("t").context(speaker("a b")).journal_events().await;
        let sound = graph(memory);
        let saved: Vec<String> = match sound.threads().get_state_history("t", &Default::default()).await {
            Ok(history) => history.iter().map(|snapshot| snapshot.id().to_string()).collect(),
            Err(_) => Vec::new(),
        };
        let ids: Vec<String> = journaled(&sound, None)
            .await
            .iter()
            .filter(|event| event.event["event"] == "on_checkpoint" && event.event["metadata"]["path"] == "")
            .map(|event| event.event["data"]["checkpoint_id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(ids.len(), saved.len(), "crash at {crash}");
        assert!(ids.iter().all(|id| saved.contains(id)), "crash at {crash}");
        if first.is_ok() {
            continue;
        }
        if saved.is_empty() {
            continue;
        }
        sound.continue_thread("t").context(speaker("a b")).journal_events().await.unwrap();
        let all = journaled(&sound, None).await;
        assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number));
        let ends =
            all.iter().filter(|event| event.event["event"] == "on_chain_end" && event.event["name"] == "think").count();
        assert_eq!(ends, 1, "crash at {crash}");
    }
}

/// R-FWK-63, R-FWK-41: the size of the journal depends on the number of events, not on the size of the state.
#[tokio::test]
async fn journaled_events_do_not_repeat_the_state() {
    let graph = graph(MemoryCheckpointer::new());
    let long = Chat::input().topic("x".repeat(100_000)).messages("Hi");
    graph.invoke(long).thread("t").context(speaker("a b")).journal_events().await.unwrap();
    let stored = journaled(&graph, None).await;
    let full = stored.iter().filter(|event| event.event.to_string().len() > 100_000).count();
    // Input and output of the run itself, and of its subgraph.
    assert_eq!((full, stored.len() > 12), (4, true));
    let starts =
        stored.iter().filter(|event| event.event["name"] == "think" && event.event["event"] == "on_chain_start");
    for start in starts {
        assert_eq!(start.event["data"], json!({ "input": null }));
        assert!(start.event["metadata"]["checkpoint_id"].is_string());
    }
}
