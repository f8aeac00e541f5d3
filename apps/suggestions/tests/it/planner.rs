//! `local/rules`: the same graph, messages and events without a language model.

use std::future::poll_fn;
use std::sync::mpsc;
use std::task::Poll;

use serde_json::Value;
use superstep::models::{ModelExt, ModelKind};
use superstep_suggestions::planner::{LABEL, planner};
use superstep_suggestions::sources::{SourceSettings, Sources};
use superstep_suggestions::{MAX_TOOL_ROUNDS, create_suggestions_graph, suggest};

use crate::fixtures::{HINT, POST, QUESTION, SEARCHES, context_on, invoke_question, watch};
use crate::sources::sample;

/// R-SUG-42, R-SUG-35: one message with all searches for two or three queries, then the hint, then the answer.
#[tokio::test]
async fn the_planner_sends_the_messages_of_a_model() {
    let (_folder, sources, _clock) = sample().await;
    let graph = create_suggestions_graph(MAX_TOOL_ROUNDS).unwrap();
    let (events, done) = watch(invoke_question(&graph, context_on(&sources, planner(sources.clone())).await)).await;
    let done = done.unwrap();
    assert_eq!(done.supersteps, 6);
    let tools: Vec<(String, String)> = events
        .iter()
        .filter(|event| event["event"] == "on_tool_start")
        .map(|event| {
            (
                event["name"].as_str().unwrap().to_owned(),
                event["data"]["input"]["query"].as_str().unwrap_or("").to_owned(),
            )
        })
        .collect();
    let (hint, searches) = tools.split_last().unwrap();
    assert_eq!(hint.0, HINT);
    for search in SEARCHES {
        let queries: Vec<&str> =
            searches.iter().filter(|(tool, _)| tool == search).map(|(_, query)| query.as_str()).collect();
        assert!((2..=3).contains(&queries.len()), "{search}: {queries:?}");
        assert!(
            queries[0].contains("roll") && queries[1..].iter().any(|query| query.contains("kubernetes")),
            "{queries:?}"
        );
    }
    let response = done.state.response.clone().unwrap();
    assert!(response.docs.iter().any(|hit| hit.url.contains("rollback-a-deployment")), "{:?}", response.docs);
    assert!(response.docs.len() <= 3 && response.issues.len() <= 2 && response.posts.len() <= 5);
    assert!(!response.m365.is_empty() && !response.issues.is_empty() && !response.posts.is_empty());
    assert!(response.posts.iter().all(|post| post.id != POST));
    assert!(response.action_hint.unwrap().contains(&response.docs[0].title));
    let models: Vec<&Value> = events.iter().filter(|event| event["event"] == "on_chat_model_end").collect();
    assert_eq!(models.len(), 3);
    assert!(!events.iter().any(|event| event["name"] == "on_warning"));
}

/// R-SUG-42: the planner is labelled as not being a language model.
#[tokio::test]
async fn the_planner_is_labelled() {
    let (_folder, sources, _clock) = sample().await;
    let context = context_on(&sources, planner(sources.clone())).await;
    let suggested =
        suggest(&create_suggestions_graph(5).unwrap(), &context, QUESTION, &["aks".to_owned()]).await.unwrap();
    assert_eq!(
        (suggested.model.kind, suggested.model.to_string()),
        (ModelKind::Rules, "local/rules (rules)".to_owned())
    );
    assert_eq!((suggested.label.as_str(), LABEL), (LABEL, "keyword planner, no language model"));
    assert!(suggested.queries.len() >= 8 && suggested.queries.iter().any(|query| query.result_count > 0));
    assert!(suggested.warnings.is_empty() && suggested.unavailable_reasons.is_empty());
}

/// R-SUG-42, R-SUG-27: with fewer rounds the planner answers from the results it has.
#[tokio::test]
async fn the_planner_answers_when_no_tools_are_left() {
    let (_folder, sources, _clock) = sample().await;
    for (rounds, has_docs, has_hint) in [(1, false, false), (2, true, false), (3, true, true)] {
        let done = invoke_question(
            &create_suggestions_graph(rounds).unwrap(),
            context_on(&sources, planner(sources.clone())).await,
        )
        .await
        .unwrap();
        let response = done.state.response.clone().unwrap();
        assert_eq!((!response.docs.is_empty(), response.action_hint.is_some()), (has_docs, has_hint), "{rounds}");
    }
}

/// R-SUG-42, R-SUG-38: without sources and results there is an answer too, and no hint is requested.
#[tokio::test]
async fn the_planner_answers_with_nothing() {
    let sources = Sources::open(&SourceSettings::default()).unwrap();
    let context = context_on(&sources, planner(sources.clone())).await;
    let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, "???", &[]).await.unwrap();
    assert_eq!(suggested.response.unavailable_sources, ["m365", "docs", "issues"]);
    assert_eq!((suggested.response.posts.len(), suggested.response.action_hint), (0, None));
    assert_eq!(suggested.unavailable_reasons["docs"], "no documents folder is configured");
}

/// R-SUG-42: the planner reads the index on the blocking thread pool, never on a runtime thread.
#[test]
fn the_planner_does_not_block_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let planner = planner(Sources::open(&SourceSettings::default()).unwrap());
        let (release, released) = mpsc::channel::<()>();
        // Occupies the only blocking thread: a task that needs it stays pending until it is released.
        let blocking_task = tokio::task::spawn_blocking(move || released.recv());
        let mut answer = std::pin::pin!(planner.complete(QUESTION));
        let is_pending = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx).is_pending())).await;
        assert!(is_pending);
        release.send(()).unwrap();
        assert_eq!(answer.await.unwrap().model.to_string(), "local/rules (rules)");
        blocking_task.await.unwrap().unwrap();
    });
}
