//! A whole debate, step by step.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use superstep::core::message::Usage;
use superstep::model::{Reply, Scripted};
use superstep::{Memory, StreamEvent};
use superstep_debate::{Debate, Hall, Status};

use crate::support::{TOPIC, clock, debates, history, morning, opening, speakers};

const SCRIPT: [&str; 7] = ["Yes, one.", "No, one.", "Yes, two.", "No, two.", "Yes, three.", "No, three.", "So it is."];

fn script() -> Scripted {
    let reply = |(place, text): (usize, &&str)| Reply::text(*text).with_usage(Usage::new(100 + place as u64, 7));
    Scripted::new(SCRIPT.iter().enumerate().map(reply))
}

/// R-DEB-46, R-DEB-24, R-DEB-2, R-DEB-3, R-DEB-4, R-DEB-5: eight checkpoints, as the table has them.
#[tokio::test]
async fn a_debate_of_three_rounds_is_the_table() {
    let (graph, model) = (debates(Memory::new()), script());
    let run = graph.run(opening(3)).thread("t").context(Hall::new(model.clone())).clock(clock());
    let done = run.await.unwrap();
    assert!(done.is_finished() && model.left() == 0);
    let rows: Vec<_> = history(&graph, "t")
        .await
        .iter()
        .map(|saved| {
            let (debate, next) = (&saved.state, saved.next.join("+"));
            assert_eq!((debate.topic.as_str(), debate.max_rounds), (TOPIC, 3));
            (saved.checkpoint.step, debate.messages.len(), debate.round, debate.status, next)
        })
        .collect();
    let row = |step, messages, round, next: &str| (step, messages, round, Status::Running, next.to_owned());
    let expected = [
        row(0, 1, 0, "optimist"),
        row(1, 2, 0, "skeptic"),
        row(2, 3, 1, "optimist"),
        row(3, 4, 1, "skeptic"),
        row(4, 5, 2, "optimist"),
        row(5, 6, 2, "skeptic"),
        row(6, 7, 3, "moderator"),
        (7, 8, 3, Status::Completed, String::new()),
    ];
    assert_eq!(rows, expected);
}

/// R-DEB-1, R-DEB-9, R-DEB-10, R-DEB-11, R-DEB-25, R-DEB-28, R-DEB-46: what the last state holds.
#[tokio::test]
async fn the_last_state_holds_everything_that_was_said() {
    let graph = debates(Memory::new());
    let done = graph.run(opening(3)).context(Hall::new(script())).clock(clock()).await.unwrap();
    let debate = &done.state;
    let turns = ["optimist", "skeptic"].repeat(3);
    assert_eq!(speakers(debate), [&["user"][..], &turns, &["moderator"]].concat());
    let texts: Vec<_> = debate.messages.iter().map(|message| message.text().into_owned()).collect();
    let line = format!("Debate topic: {TOPIC}");
    assert_eq!(texts, [&[line.as_str()][..], &SCRIPT].concat());
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

/// R-DEB-46: what is told on the way: the graph first and last, each answer piece by piece.
#[tokio::test]
async fn a_debate_is_told_as_it_goes() {
    let graph = debates(Memory::new());
    let mut stream = graph.run(opening(3)).context(Hall::new(script())).stream_events();
    let mut told: Vec<StreamEvent> = Vec::new();
    while let Some(event) = stream.next().await {
        told.push(event);
    }
    let done = stream.finish().await.unwrap();
    let (first, last) = (&told[0], told.last().unwrap());
    assert_eq!((first.event, &*first.name), ("on_chain_start", "debate"));
    assert_eq!((last.event, &*last.name, last.run_id), ("on_chain_end", "debate", first.run_id));
    let last = serde_json::to_value(last).unwrap();
    assert_eq!(last["data"]["output"], json!(&*done.state));

    let starts: Vec<_> = told.iter().filter(|event| event.event == "on_chat_model_start").collect();
    assert_eq!(starts.len(), 7);
    let mut joined: BTreeMap<_, String> = BTreeMap::new();
    for event in told.iter().filter(|event| event.event == "on_chat_model_stream") {
        *joined.entry(event.run_id.to_string()).or_default() += event.data.text().unwrap();
    }
    let joined: Vec<_> = starts.iter().map(|start| joined[&start.run_id.to_string()].clone()).collect();
    let messages: Vec<_> = done.state.messages.iter().skip(1).map(|message| message.text().into_owned()).collect();
    assert_eq!(joined, messages);
}

/// R-DEB-28: where the provider counts nothing we estimate, and say so.
#[tokio::test]
async fn estimates_are_marked() {
    let graph = debates(Memory::new());
    let done = graph.run(opening(1)).context(Hall::new(Scripted::new(["Yes.", "No.", "So."]))).await.unwrap();
    let usages: Vec<_> = done.state.messages.iter().filter_map(|message| message.usage.clone()).collect();
    assert!(usages.len() == 3 && usages.iter().all(|usage| usage.estimated));
    assert_eq!(done.state.token_usage, usages.iter().map(|usage| usage.total_tokens).sum::<u64>());
    assert!(done.state.is_usage_estimated());
}

/// R-DEB-16, R-DEB-24: a debate that is over stays as it is, whatever is said to it.
#[tokio::test]
async fn nothing_follows_the_end() {
    let graph = debates(Memory::new());
    let hall = || Hall::new(Scripted::new(["Yes.", "No.", "So."]));
    let done = graph.run(opening(1)).thread("t").context(hall()).await.unwrap();
    let more = Debate::input().messages("And now?");
    let again = graph.run(more).thread("t").context(hall()).await.unwrap();
    assert_eq!(again.state.messages.len(), done.state.messages.len() + 1);
    assert_eq!(again.state.status, Status::Completed);
    assert!(again.is_finished());
}

/// R-DEB-24, R-DEB-46: an input that is given again, because nobody knows whether it arrived, doubles nothing.
#[tokio::test]
async fn an_input_that_is_given_again_doubles_nothing() {
    for spoken in [&["optimist"][..], &["optimist", "skeptic"], &[]] {
        let (graph, model) = (debates(Memory::new()), Scripted::new(["Yes.", "No.", "So."]));
        let hall = || Hall::new(model.clone());
        graph.run(opening(1)).thread("t").context(hall()).interrupt_after(spoken.last().copied()).await.unwrap();
        let done = graph.run(opening(1)).thread("t").context(hall()).await.unwrap();
        assert_eq!(speakers(&done.state), ["user", "optimist", "skeptic", "moderator"], "after {spoken:?}");
        assert_eq!((model.requests().len(), done.state.status), (3, Status::Completed));
    }
}
