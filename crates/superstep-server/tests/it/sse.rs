//! Tests of event streams: rising numbers, every event exactly once, across disconnects.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::json;
use superstep_server::{
    CancelMode, ClientAddress, ReplayBufferConfig, RunInput, RunRequest, RunStatus, ServerConfig, Storage,
    SubscriptionEnd,
};

use crate::support::{LIMIT, SseEvent, SseReader, TestServer, start_memory_server, start_server};

fn ids(events: &[SseEvent]) -> Vec<u64> {
    events.iter().map(|event| event.id.expect("every event of a run has an id")).collect()
}

async fn stream_all(server: &TestServer, rounds: u32) -> (String, Vec<SseEvent>) {
    let id = server.start_story(json!({"topic": "sea", "rounds": rounds, "usesModel": true})).await;
    let events = server.reader(&id, None).await.read_all().await;
    (id, events)
}

/// R-SRV-6a: a stream has `id`, `event` and `data` lines, a retry delay, an end, and headers against proxy
/// buffering.
#[tokio::test]
async fn events_have_names_and_increasing_ids() {
    let server = start_memory_server().await;
    let (id, events) = stream_all(&server, 4).await;
    assert!(ids(&events).is_sorted_by(|a, b| a < b));
    assert_eq!((events[0].event.as_str(), events.last().unwrap().event.as_str()), ("on_chain_start", "on_chain_end"));
    let chunks: Vec<_> = events.iter().filter(|event| event.event == "on_chat_model_stream").collect();
    assert_eq!(chunks.len(), 16);
    assert_eq!(events.last().unwrap().data["data"]["output"]["words"].as_array().unwrap().len(), 4);
    let response = server.get(&format!("/api/tales/{id}/stream")).await;
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(header("cache-control"), "no-cache, no-transform");
    assert_eq!(header("x-accel-buffering"), "no");
    assert!(!response.headers().contains_key("content-encoding"));
    server.shutdown().await;
}

/// R-SRV-6a: a stream starts with the retry delay, the id of each event is its `seq`, and a client that accepts gzip
/// receives plain text.
#[tokio::test]
async fn a_stream_starts_with_the_retry_delay_and_is_not_compressed() {
    let server = start_memory_server().await;
    let (id, events) = stream_all(&server, 4).await;
    for event in &events {
        assert_eq!(event.data["metadata"]["seq"], json!(event.id), "{}", event.event);
    }
    let request = server.client.get(server.url(&format!("/api/tales/{id}/stream")));
    let response = request.header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(response.headers().get("content-encoding"), None);
    let body = response.text().await.unwrap();
    assert!(body.starts_with("retry: 2000\n\n") && body.contains("\nevent: on_chain_end\n"), "{body}");
    server.shutdown().await;
}

/// R-SRV-9: disconnected at every position, at least 50, a client that reconnects with its last id receives exactly
/// the rest.
#[tokio::test]
async fn a_disconnected_reader_receives_every_event_once() {
    let server = start_memory_server().await;
    let (id, all) = stream_all(&server, 8).await;
    assert!(all.len() >= 50, "{}", all.len());
    for index in 0..all.len() {
        let mut reader = server.reader(&id, None).await;
        let mut joined = Vec::new();
        for _ in 0..=index {
            joined.push(reader.next().await.unwrap());
        }
        drop(reader);
        let last = joined.last().unwrap().id;
        joined.extend(server.reader(&id, last).await.read_all().await);
        assert_eq!(joined, all, "cut after {index}");
    }
}

/// R-SRV-9, R-SRV-10: clients that reconnect during a run receive the same events as one that stays connected.
#[tokio::test]
async fn readers_of_a_live_run_receive_the_same() {
    let server = start_memory_server().await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 6, "usesModel": true, "gated": true})).await;
    let mut stable = server.reader(&id, None).await;
    let mut reconnecting = server.reader(&id, None).await;
    let (mut stable_events, mut reconnecting_events) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        server.gate.add_permits(1);
        // They read at different speeds, and one of them reconnects each time.
        for _ in 0..3 {
            reconnecting_events.push(reconnecting.next().await.unwrap());
        }
        reconnecting = server.reader(&id, reconnecting_events.last().unwrap().id).await;
        stable_events.push(stable.next().await.unwrap());
    }
    stable_events.extend(stable.read_all().await);
    reconnecting_events.extend(reconnecting.read_all().await);
    assert_eq!(stable_events, reconnecting_events);
    assert_eq!(stable_events, server.reader(&id, None).await.read_all().await);
}

/// R-SRV-9: evicted events are read from the journal, up to where the replay buffer starts.
#[tokio::test]
async fn evicted_events_are_read_from_the_store() {
    let mut config = ServerConfig::new(Storage::memory());
    config.replay_buffer = ReplayBufferConfig { max_events: 5, ..ReplayBufferConfig::default() };
    let server = start_server(config).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 20})).await;
    let events = server.reader(&id, None).await.read_all().await;
    let numbers = ids(&events);
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers[0] == 1, "{numbers:?}");
    assert_eq!(events.iter().filter(|event| event.event == "on_chain_end" && event.data["name"] == "turn").count(), 20);
    for after in [0, 1, numbers.len() as u64 / 2] {
        let rest = ids(&server.reader(&id, Some(after)).await.read_all().await);
        let expected: Vec<u64> = numbers.iter().copied().filter(|number| *number > after).collect();
        assert_eq!(rest, expected);
    }
}

/// R-SRV-9: a client that lags is disconnected and never waited for; it reconnects with its last id.
#[tokio::test]
async fn a_lagging_reader_is_disconnected_and_reconnects() {
    let mut config = ServerConfig::new(Storage::memory());
    config.replay_buffer = ReplayBufferConfig { max_events: 8, ..ReplayBufferConfig::default() };
    let server = start_server(config).await;
    let (id, runs) =
        (server.start_story(json!({"topic": "sea", "rounds": 30, "gated": true})).await, server.run_service());
    let mut slow = runs.subscribe(&id.as_str().into(), None).await.unwrap();
    let mut received = vec![slow.next().await.unwrap().number()];
    server.gate.add_permits(30);
    // The run ends although no client reads.
    let mut quick = server.reader(&id, received.last().copied()).await;
    while quick.next().await.is_some() {}
    while let Some(event) = slow.next().await {
        received.push(event.number());
    }
    assert!(matches!(slow.end(), Some(SubscriptionEnd::Lagged)), "{:?}", slow.end());
    let mut resumed = runs.subscribe(&id.as_str().into(), received.last().copied()).await.unwrap();
    while let Some(event) = resumed.next().await {
        received.push(event.number());
    }
    assert!(matches!(resumed.end(), Some(SubscriptionEnd::RunEnded)));
    assert_eq!(received, ids(&server.reader(&id, None).await.read_all().await));
}

/// R-SRV-6a: a comment is sent as heartbeat if there are no events.
#[tokio::test]
async fn idle_streams_send_heartbeat_comments() {
    let mut config = ServerConfig::new(Storage::memory());
    assert_eq!(config.sse.heartbeat_interval, Duration::from_secs(15));
    config.sse.heartbeat_interval = Duration::from_millis(5);
    let server = start_server(config).await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 1, "gated": true})).await;
    let mut reader = server.reader(&id, None).await;
    reader.read_until("on_chain_start", "turn").await;
    // The heartbeat arrives while the run is gated; only then does the run continue.
    let heartbeat = async { while reader.comments.is_empty() && is_idle(&mut reader).await {} };
    tokio::time::timeout(Duration::from_secs(30), heartbeat).await.unwrap();
    server.gate.add_permits(1);
    let mut rest = Vec::new();
    while let Some(event) = reader.next().await {
        rest.push(event);
    }
    assert_eq!(rest.last().unwrap().event, "on_chain_end");
    assert!(reader.comments.iter().any(|comment| comment == "heartbeat"));
}

/// Reads for a moment; returns true if no event arrives.
async fn is_idle(reader: &mut SseReader) -> bool {
    tokio::time::timeout(Duration::from_millis(20), reader.next()).await.is_err()
}

/// R-SRV-11: a run continues if its client disconnects, unless the client requested its cancellation.
#[tokio::test]
async fn disconnect_cancels_a_run_only_when_requested() {
    let server = start_memory_server().await;
    for (attached, expected) in [(false, "finished"), (true, "stopped")] {
        let (thread, gate) = (format!("t-{attached}"), &server.gate);
        let body = json!({"topic": "sea", "rounds": 3, "gated": true, "attached": attached, "thread": thread});
        let request = server.client.post(server.url("/api/tales")).json(&body).header("accept", "text/event-stream");
        let mut reader = SseReader::new(request.send().await.unwrap());
        reader.read_until("on_chain_start", "turn").await;
        let other = server.reader(&thread, None).await;
        drop(reader);
        if attached {
            // Once the server has noticed the disconnect, it drains the run, which ends after this round.
            tokio::time::timeout(Duration::from_secs(30), wait_until_cancelling(&server, &thread)).await.unwrap();
        }
        gate.add_permits(3);
        other.read_all().await;
        let state = server.json(&format!("/api/tales/{thread}")).await;
        assert_eq!(state["record"]["status"], expected);
        let rounds = state["state"]["values"]["words"].as_array().unwrap().len();
        assert_eq!(rounds, if attached { 1 } else { 3 });
        gate.forget_permits(gate.available_permits());
    }
}

/// R-SRV-11, R-DEB-35: if the client disconnects while the run starts, the run ends after its first superstep at
/// the latest.
#[tokio::test]
async fn disconnect_during_the_start_cancels_the_run() {
    let server = start_memory_server().await;
    let (runs, client) = (server.run_service(), ClientAddress::from(std::net::IpAddr::from([127, 0, 0, 1])));
    let request = RunRequest::new("tale", "t", RunInput::Input(json!({"topic": "sea", "rounds": 3})))
        .context(json!({"gated": true}));
    let permit = runs.acquire_permit("tale", client, LIMIT).unwrap();
    let starting = runs.start_and_subscribe(request, permit, None, CancelMode::Drain);
    // On this single thread the run does not make progress before the future of the request is polled and pending.
    assert!(starting.now_or_never().is_none() && runs.active_run(&"t".into()).is_some());
    server.gate.add_permits(3);
    let ended = async {
        while runs.active_run(&"t".into()).is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap();
    assert_eq!(runs.get_thread(&"t".into()).await.unwrap().status, RunStatus::Cancelled);
    let state = server.json("/api/tales/t").await["state"]["values"].clone();
    assert!(state["words"].as_array().is_none_or(|words| words.len() <= 1), "{state}");
}

async fn wait_until_cancelling(server: &TestServer, thread: &str) {
    while !server.run_service().is_cancelling(&thread.into()) {
        tokio::task::yield_now().await;
    }
}

/// R-SRV-9: the numbers of a later run on the thread are higher, and a client receives both runs as one stream.
#[tokio::test]
async fn numbers_rise_along_the_thread_over_several_runs() {
    let server = start_memory_server().await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 2, "needsApproval": true})).await;
    let first = server.reader(&id, None).await.read_all().await;
    assert_eq!(server.json(&format!("/api/tales/{id}")).await["record"]["status"], "waiting");
    assert_eq!(server.post(&format!("/api/tales/{id}/answer"), &json!(true)).await.status(), 202);
    let all = server.reader(&id, None).await.read_all().await;
    assert!(all.len() > first.len() && ids(&all).is_sorted_by(|a, b| a < b));
    assert_eq!(all[..first.len()], first);
    let state = server.json(&format!("/api/tales/{id}")).await;
    assert_eq!((&state["record"]["status"], &state["state"]["values"]["approved"]), (&json!("finished"), &json!(true)));
}
