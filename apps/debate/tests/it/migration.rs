//! Tests of debates of version 1.0.0, read and finished by version 1.1.0.

use serde_json::json;
use superstep::core::port::SharedCheckpointer;
use superstep::core::time::Time;
use superstep::prelude::*;
use superstep::sqlite::SqliteCheckpointer;
use superstep_debate::{DebateContext, DebateState, DebateStatus, VERSIONS, backfill_start_time, load_debate_view};
use superstep_server::{RunInput, RunRequest, ServerConfig, Storage};

use crate::support::{Speaker, TOPIC, authors, debates, history};
use crate::test_server::start_server_with_config;

/// State of version 1.0.0.
#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
#[state(name = "debate", version = 1, rename_all = "camelCase")]
struct DebateStateV1 {
    #[reduce(messages)]
    messages: Messages,
    round: u32,
    #[state(set_once)]
    topic: String,
    #[state(set_once, default = 3_u32)]
    max_rounds: u32,
    status: DebateStatus,
}

/// Runs the first round of a debate with version 1.0.0.
async fn run_first_round(store: &SharedCheckpointer) {
    let mut graph = StateGraph::<DebateStateV1>::new("debate");
    let optimist = graph.add_node("optimist", |state: View<DebateStateV1>| {
        DebateStateV1::update().messages(Message::assistant(format!("Yes, {}.", state.round + 1)).with_name("optimist"))
    });
    let skeptic = graph.add_node("skeptic", |state: View<DebateStateV1>| {
        DebateStateV1::update().messages(Message::assistant("No.").with_name("skeptic")).round(state.round + 1)
    });
    let moderator = graph.add_node("moderator", || DebateStateV1::update().status(DebateStatus::Completed));
    graph.add_edge(START, optimist).add_edge(optimist, skeptic).add_edge(moderator, END);
    let next = move |state: &DebateStateV1| if state.round < state.max_rounds { optimist } else { moderator };
    graph.add_conditional_edges(skeptic, next, [optimist, moderator]).checkpointer(store.clone());
    let input =
        DebateStateV1::input().messages(format!("Debate topic: {TOPIC}").as_str()).topic(TOPIC).max_rounds(2_u32);
    let paused = graph.compile().unwrap().invoke(input).thread("t").interrupt_after(["skeptic"]).await.unwrap();
    assert_eq!(paused.next, ["optimist"]);
}

fn stores() -> [SharedCheckpointer; 2] {
    [MemoryCheckpointer::new().into(), SqliteCheckpointer::open(":memory:").unwrap().into()]
}

/// R-DEB-18: an older debate opens with defaults, starts at the time of its first checkpoint, and runs to its end.
#[tokio::test]
async fn an_older_debate_opens_and_continues() {
    assert_eq!(VERSIONS.map(|(_, name)| name), ["1.0.0", "1.1.0"]);
    assert_eq!(DebateState::schema().unwrap().version(), VERSIONS[1].0);
    for store in stores() {
        run_first_round(&store).await;
        let (graph, speaker) = (debates(store), Speaker::default());
        let first = history(&graph, "t").await[0].checkpoint.time;
        let state = load_debate_view(&graph.threads(), "t").await.unwrap().state;
        assert_eq!(state.start_time.map(|time| time.as_unix_micros()), Some(first));
        assert_eq!((state.awaiting_approval, state.user_approved, state.token_usage), (false, None, 0));
        assert_eq!((state.fact_check_results.len(), state.end_time), (0, None));
        assert_eq!((state.topic.as_str(), state.round, state.max_rounds), (TOPIC, 1, 2));

        assert!(backfill_start_time(&graph.threads(), "t").await.unwrap());
        assert!(!backfill_start_time(&graph.threads(), "t").await.unwrap());
        let done = graph.continue_thread("t").context(DebateContext::new(speaker.clone())).await.unwrap();
        assert_eq!(authors(&done.state)[1..], ["optimist", "skeptic", "optimist", "skeptic", "moderator"]);
        assert_eq!(speaker.turns(), ["optimist 2", "skeptic 2", "moderator 2"]);
        assert_eq!(done.state.start_time.map(|time| time.as_unix_micros()), Some(first));
        assert_eq!(done.state.status, DebateStatus::Completed);
    }
}

/// R-DEB-18, R-DEB-33: the HTTP API shows the start time of an older debate that continues.
#[tokio::test]
async fn a_debate_of_an_older_version_has_its_start_time() {
    let store = SharedCheckpointer::from(MemoryCheckpointer::new());
    run_first_round(&store).await;
    let first = history(&debates(store.clone()), "t").await[0].checkpoint.time;
    let mut config = ServerConfig::new(Storage::memory());
    config.storage.checkpointer = store;
    let server = start_server_with_config(config, Speaker::default()).await;
    let runs = server.handle.run_service();
    let request =
        RunRequest::new("debate", "t", RunInput::Continue).context(json!({ "model": "speaker" })).title(TOPIC);
    runs.start(request).await.unwrap();
    let mut subscription = runs.subscribe(&"t".into(), None).await.unwrap();
    while subscription.next().await.is_some() {}
    let start_time = Time::from_unix_micros(first).unwrap();
    let debate = server.json("/api/debate/t").await;
    assert_eq!((&debate["startTime"], &debate["status"]), (&json!(start_time), &json!("completed")));
    let text = server.get("/api/debate/t/transcript?format=txt").await.text().await.unwrap();
    assert!(text.contains(&format!("Started: {start_time}")), "{text}");
}
