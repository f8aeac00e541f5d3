//! Tests of a complete debate, superstep by superstep.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use superstep::core::message::TokenUsage;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::{MemoryCheckpointer, StreamEvent};
use superstep_debate::{DebateContext, DebateState, DebateStatus};

use crate::support::{TOPIC, authors, clock, debates, history, morning, opening};

const SCRIPT: [&str; 7] = ["Yes, one.", "No, one.", "Yes, two.", "No, two.", "Yes, three.", "No, three.", "So it is."];

fn script() -> ScriptedModel {
    let reply =
        |(index, text): (usize, &&str)| ScriptedReply::text(*text).with_usage(TokenUsage::new(100 + index as u64, 7));
    ScriptedModel::new(SCRIPT.iter().enumerate().map(reply))
}

/// R-DEB-46, R-DEB-24, R-DEB-2, R-DEB-3, R-DEB-4, R-DEB-5: a debate of three rounds has the eight checkpoints of
/// the specification.
#[tokio::test]
async fn three_rounds_write_eight_checkpoints() {
    let (graph, model) = (debates(MemoryCheckpointer::new()), script());
    let run = graph.invoke(opening(3)).thread("t").context(DebateContext::new(model.clone())).clock(clock());
    let done = run.await.unwrap();
    assert!(done.is_finished() && model.remaining() == 0);
    let rows: Vec<_> = history(&graph, "t")
        .await
        .iter()
        .map(|saved| {
            let (debate, next) = (&saved.state, saved.next.join("+"));
            assert_eq!((debate.topic.as_str(), debate.max_rounds), (TOPIC, 3));
            (saved.checkpoint.step, debate.messages.len(), debate.round, debate.status, next)
        })
        .collect();
    let row = |step, messages, round, next: &str| (step, messages, round, DebateStatus::Running, next.to_owned());
    let expected = [
        row(0, 1, 0, "optimist"),
        row(1, 2, 0, "skeptic"),
        row(2, 3, 1, "optimist"),
        row(3, 4, 1, "skeptic"),
        row(4, 5, 2, "optimist"),
        row(5, 6, 2, "skeptic"),
        row(6, 7, 3, "moderator"),
        (7, 8, 3, DebateStatus::Completed, String::new()),
    ];
    assert_eq!(rows, expected);
}

/// R-DEB-1, R-DEB-9, R-DEB-10, R-DEB-11, R-DEB-25, R-DEB-28, R-DEB-46: the last state contains all messages and
/// results.
#[tokio::test]
async fn the_last_state_contains_all_messages_and_results() {
    let graph = debates(MemoryCheckpointer::new());
    let done = graph.invoke(opening(3)).context(DebateContext::new(script())).clock(clock()).await.unwrap();
    let debate = &done.state;
    let turns = ["optimist", "skeptic"].repeat(3);
    assert_eq!(authors(debate), [&["user"][..], &turns, &["moderator"]].concat());
    let texts: Vec<_> = debate.messages.iter().map(|message| message.text().into_owned()).collect();
    let first_message = format!("Debate topic: {TOPIC}");
    assert_eq!(texts, [&[first_message.as_str()][..], &SCRIPT].concat());
    let rounds: Vec<_> = debate.messages.iter().map(|message| message.metadata.get("round").cloned()).collect();
    assert_eq!(
        rounds,
        [None, Some(1), Some(1), Some(2), Some(2), Some(3), Some(3), Some(3)].map(|round| round.map(Value::from))
    );
    assert_eq!(debate.token_usage, (100..107).map(|tokens| tokens + 7).sum::<u64>());
    assert!(!debate.is_usage_estimated());
    assert_eq!(debate.start_time, Some(morning()));
    assert!(debate.end_time >= debate.start_time);
    assert_eq!((debate.awaiting_approval, debate.user_approved), (false, None));
    assert!(debate.fact_check_results.is_empty());
}

/// R-DEB-46: the events of a debate: the graph first and last, each response in chunks.
#[tokio::test]
async fn a_debate_publishes_events_while_it_runs() {
    let graph = debates(MemoryCheckpointer::new());
    let mut stream = graph.invoke(opening(3)).context(DebateContext::new(script())).stream_events();
    let mut events: Vec<StreamEvent> = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    let done = stream.finish().await.unwrap();
    let (first, last) = (&events[0], events.last().unwrap());
    assert_eq!((first.event, &*first.name), ("on_chain_start", "debate"));
    assert_eq!((last.event, &*last.name, last.run_id), ("on_chain_end", "debate", first.run_id));
    let last = serde_json::to_value(last).unwrap();
    assert_eq!(last["data"]["output"], json!(&*done.state));

    let starts: Vec<_> = events.iter().filter(|event| event.event == "on_chat_model_start").collect();
    assert_eq!(starts.len(), 7);
    let mut joined: BTreeMap<_, String> = BTreeMap::new();
    for event in events.iter().filter(|event| event.event == "on_chat_model_stream") {
        *joined.entry(event.run_id.to_string()).or_default() += event.data.text().unwrap();
    }
    let joined: Vec<_> = starts.iter().map(|start| joined[&start.run_id.to_string()].clone()).collect();
    let messages: Vec<_> = done.state.messages.iter().skip(1).map(|message| message.text().into_owned()).collect();
    assert_eq!(joined, messages);
}

/// R-DEB-28: token counts that the provider does not report are estimated, and marked as such.
#[tokio::test]
async fn estimates_are_marked() {
    let graph = debates(MemoryCheckpointer::new());
    let done =
        graph.invoke(opening(1)).context(DebateContext::new(ScriptedModel::new(["Yes.", "No.", "So."]))).await.unwrap();
    let usages: Vec<_> = done.state.messages.iter().filter_map(|message| message.usage.clone()).collect();
    assert!(usages.len() == 3 && usages.iter().all(|usage| usage.estimated));
    assert_eq!(done.state.token_usage, usages.iter().map(|usage| usage.total_tokens).sum::<u64>());
    assert!(done.state.is_usage_estimated());
}

/// R-DEB-16, R-DEB-24: a debate that has ended does not change, whatever the input is.
#[tokio::test]
async fn a_finished_debate_does_not_change() {
    let graph = debates(MemoryCheckpointer::new());
    let context = || DebateContext::new(ScriptedModel::new(["Yes.", "No.", "So."]));
    let done = graph.invoke(opening(1)).thread("t").context(context()).await.unwrap();
    let more = DebateState::input().messages("And now?");
    let repeated = graph.invoke(more).thread("t").context(context()).await.unwrap();
    assert_eq!(repeated.state.messages.len(), done.state.messages.len() + 1);
    assert_eq!(repeated.state.status, DebateStatus::Completed);
    assert!(repeated.is_finished());
}

/// R-DEB-24, R-DEB-46: an input that is sent again duplicates nothing.
#[tokio::test]
async fn a_repeated_input_duplicates_nothing() {
    for finished in [&["optimist"][..], &["optimist", "skeptic"], &[]] {
        let (graph, model) = (debates(MemoryCheckpointer::new()), ScriptedModel::new(["Yes.", "No.", "So."]));
        let context = || DebateContext::new(model.clone());
        graph
            .invoke(opening(1))
            .thread("t")
            .context(context())
            .interrupt_after(finished.last().copied())
            .await
            .unwrap();
        let done = graph.invoke(opening(1)).thread("t").context(context()).await.unwrap();
        assert_eq!(authors(&done.state), ["user", "optimist", "skeptic", "moderator"], "after {finished:?}");
        assert_eq!((model.requests().len(), done.state.status), (3, DebateStatus::Completed));
    }
}
