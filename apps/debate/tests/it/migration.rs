//! Debates of version 1.0.0, read and finished by version 1.1.0.

use serde_json::json;
use superstep::core::port::SharedCheckpointer;
use superstep::core::time::Time;
use superstep::prelude::*;
use superstep::sqlite::Sqlite;
use superstep_debate::{Debate as Now, Hall, Status, VERSIONS, bring_up_to_date, read};
use superstep_server::{Config, Order, Stores, What};

use crate::served::started;
use crate::support::{Speaker, TOPIC, debates, history, speakers};

/// The state as it was.
#[derive(State, Clone, Debug, Serialize, Deserialize)]
#[state(name = "debate", version = 1, rename_all = "camelCase")]
struct First {
    #[reduce(messages)]
    messages: Messages,
    round: u32,
    #[state(set_once)]
    topic: String,
    #[state(set_once, default = 3_u32)]
    max_rounds: u32,
    status: Status,
}

/// A debate of which the first round was held by version 1.0.0.
async fn begun(store: &SharedCheckpointer) {
    let mut graph = Graph::<First>::new("debate");
    let optimist = graph.node("optimist", |state: View<First>| {
        First::update().messages(Message::assistant(format!("Yes, {}.", state.round + 1)).with_name("optimist"))
    });
    let skeptic = graph.node("skeptic", |state: View<First>| {
        First::update().messages(Message::assistant("No.").with_name("skeptic")).round(state.round + 1)
    });
    let moderator = graph.node("moderator", || First::update().status(Status::Completed));
    graph.edge(START, optimist).edge(optimist, skeptic).edge(moderator, END);
    let on = move |state: &First| if state.round < state.max_rounds { optimist } else { moderator };
    graph.route(skeptic, on, [optimist, moderator]).checkpointer(store.clone());
    let input = First::input().messages(format!("Debate topic: {TOPIC}").as_str()).topic(TOPIC).max_rounds(2_u32);
    let paused = graph.compile().unwrap().run(input).thread("t").interrupt_after(["skeptic"]).await.unwrap();
    assert_eq!(paused.next, ["optimist"]);
}

fn stores() -> [SharedCheckpointer; 2] {
    [Memory::new().into(), Sqlite::open(":memory:").unwrap().into()]
}

/// R-DEB-18: an older debate opens with defaults, began when its first checkpoint was made, and is held to its end.
#[tokio::test]
async fn an_older_debate_opens_and_goes_on() {
    assert_eq!(VERSIONS.map(|(_, name)| name), ["1.0.0", "1.1.0"]);
    assert_eq!(Now::schema().unwrap().version(), VERSIONS[1].0);
    for store in stores() {
        begun(&store).await;
        let (graph, speaker) = (debates(store), Speaker::default());
        let first = history(&graph, "t").await[0].checkpoint.time;
        let seen = read(&graph.threads(), "t").await.unwrap().debate;
        assert_eq!(seen.start_time.map(|time| time.as_unix_micros()), Some(first));
        assert_eq!((seen.awaiting_approval, seen.user_approved, seen.token_usage), (false, None, 0));
        assert_eq!((seen.fact_check_results.len(), seen.end_time), (0, None));
        assert_eq!((seen.topic.as_str(), seen.round, seen.max_rounds), (TOPIC, 1, 2));

        assert!(bring_up_to_date(&graph.threads(), "t").await.unwrap());
        assert!(!bring_up_to_date(&graph.threads(), "t").await.unwrap());
        let done = graph.go_on("t").context(Hall::new(speaker.clone())).await.unwrap();
        assert_eq!(speakers(&done.state)[1..], ["optimist", "skeptic", "optimist", "skeptic", "moderator"]);
        assert_eq!(speaker.turns(), ["optimist 2", "skeptic 2", "moderator 2"]);
        assert_eq!(done.state.start_time.map(|time| time.as_unix_micros()), Some(first));
        assert_eq!(done.state.status, Status::Completed);
    }
}

/// R-DEB-18, R-DEB-33: an older debate that goes on behind HTTP is shown with the time it began.
#[tokio::test]
async fn an_older_debate_is_shown_with_its_beginning() {
    let store = SharedCheckpointer::from(Memory::new());
    begun(&store).await;
    let first = history(&debates(store.clone()), "t").await[0].checkpoint.time;
    let mut config = Config::new(Stores::memory());
    config.stores.checkpoints = store;
    let platform = started(config, Speaker::default()).await;
    let desk = platform.server.desk();
    let order = Order::new("debate", "t", What::GoOn).options(json!({ "model": "speaker" })).title(TOPIC);
    desk.start(order).await.unwrap();
    let mut feed = desk.watch(&"t".into(), None).await.unwrap();
    while feed.next().await.is_some() {}
    let began = Time::from_unix_micros(first).unwrap();
    let shown = platform.json("/api/debate/t").await;
    assert_eq!((&shown["startTime"], &shown["status"]), (&json!(began), &json!("completed")));
    let text = platform.get("/api/debate/t/transcript?format=txt").await.text().await.unwrap();
    assert!(text.contains(&format!("Began: {began}")), "{text}");
}
