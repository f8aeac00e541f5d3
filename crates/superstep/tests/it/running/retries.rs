//! Retries: attempts, delays, and the errors that are retried.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::{ErrorCode, EventKind, Result};
use tokio::time::Instant;

use crate::fixtures::{field, graph, transcript};

/// Returns the delays between the attempts of a node that always fails in this way, and the result of the run.
async fn waits(
    retry: RetryPolicy,
    fail: impl Fn() -> NodeError + std::marker::Send + Sync + 'static,
) -> (Vec<Duration>, Result<()>) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let (mut g, seen) = (graph("g"), times.clone());
    let failing = move || {
        seen.lock().unwrap().push(Instant::now());
        Err::<(), _>(fail())
    };
    let a = g.add_node("a", node(failing).retry(retry));
    g.add_edge(START, a).add_edge(a, END);
    let ended = g.compile().unwrap().invoke(json!({ "n": 0 })).await.map(drop);
    let times = times.lock().unwrap();
    (times.windows(2).map(|pair| pair[1] - pair[0]).collect(), ended)
}

fn overload() -> NodeError {
    NodeError::new("overloaded").retryable()
}

fn millis(times: &[u64]) -> Vec<Duration> {
    times.iter().map(|time| Duration::from_millis(*time)).collect()
}

/// R-FWK-15, R-REF-103: three attempts, 0.5 s apart and then doubling, up to the maximum delay of 128 s.
#[tokio::test(start_paused = true)]
async fn waits_double_from_half_a_second_up_to_the_longest() {
    let rows = [
        (RetryPolicy::default(), vec![500, 1_000]),
        (RetryPolicy::exponential(5), vec![500, 1_000, 2_000, 4_000]),
        (
            RetryPolicy::exponential(4).initial_interval(Duration::from_millis(100)).backoff_factor(3.0),
            vec![100, 300, 900],
        ),
        (RetryPolicy::exponential(5).max_interval(Duration::from_secs(1)), vec![500, 1_000, 1_000, 1_000]),
        (RetryPolicy::exponential(1), vec![]),
    ];
    for (retry, expected) in rows {
        let (waited, ended) = waits(retry.without_jitter(), overload).await;
        assert_eq!(waited, millis(&expected));
        assert_eq!(ended.unwrap_err().code(), ErrorCode::NodeFailed);
    }
    let long = RetryPolicy::exponential(11).without_jitter();
    assert_eq!((long.delay(9, 0.0), long.delay(10, 0.0)), (Duration::from_secs(128), Duration::from_secs(128)));
}

/// R-FWK-15: jitter adds up to 10 %, never subtracts, and differs between tasks.
#[tokio::test(start_paused = true)]
async fn jitter_adds_up_to_a_tenth() {
    let mut seen = Vec::new();
    for _ in 0..20 {
        let (waited, _) = waits(RetryPolicy::exponential(2), overload).await;
        assert!(waited[0] >= Duration::from_millis(500) && waited[0] <= Duration::from_millis(551), "{waited:?}");
        seen.push(waited[0]);
    }
    seen.dedup();
    assert!(seen.len() > 10, "waits that differ spread the load: {seen:?}");
}

/// R-FWK-15: a `Retry-After` of the remote service takes precedence over the delay of the policy.
#[tokio::test(start_paused = true)]
async fn a_retry_after_wins() {
    let fail = || NodeError::new("slow down").retry_after(Duration::from_secs(7));
    let (waited, _) = waits(RetryPolicy::default(), fail).await;
    assert_eq!(waited, millis(&[7_000, 7_000]));
}

/// R-FWK-15, R-REF-102: timeouts, lost connections, 429 and 5xx are retried; invalid input and plain errors never.
#[tokio::test(start_paused = true)]
async fn only_failures_that_may_pass_are_tried_again() {
    type Fail = Box<dyn Fn() -> NodeError + std::marker::Send + Sync>;
    let io = |kind| move || NodeError::from(std::io::Error::new(kind, "io"));
    let code = |code| move || NodeError::from(superstep::Error::new(code, "failed"));
    let mut rows: Vec<(&str, bool, Fail)> = vec![
        ("plain", false, Box::new(|| NodeError::new("no"))),
        ("said so", true, Box::new(overload)),
        ("said not", false, Box::new(|| NodeError::from(superstep::Error::new(ErrorCode::Timeout, "slow")).fatal())),
    ];
    for kind in [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset, ErrorKind::TimedOut, ErrorKind::BrokenPipe] {
        rows.push(("connection", true, Box::new(io(kind))));
    }
    for kind in [ErrorKind::InvalidInput, ErrorKind::NotFound, ErrorKind::PermissionDenied] {
        rows.push(("io", false, Box::new(io(kind))));
    }
    for retried in [ErrorCode::Timeout, ErrorCode::ModelRateLimited, ErrorCode::ModelUnavailable] {
        rows.push(("outside", true, Box::new(code(retried))));
    }
    for fatal in [ErrorCode::InputInvalid, ErrorCode::TypeMismatch, ErrorCode::ModelAuth, ErrorCode::InvalidRoute] {
        rows.push(("input", false, Box::new(code(fatal))));
    }
    for (name, is_retried, fail) in rows {
        let (waited, ended) = waits(RetryPolicy::default(), fail).await;
        assert_eq!(waited.len(), if is_retried { 2 } else { 0 }, "{name}: {ended:?}");
    }
}

/// R-FWK-15, R-REF-104: `retry_on` replaces the default, and of several policies the first that matches applies.
#[tokio::test(start_paused = true)]
async fn the_first_policy_that_matches_applies() {
    let about = |word: &'static str| move |error: &NodeError| error.to_string().contains(word);
    let mut g = graph("g");
    let policies =
        node(
            |cx: TaskContext| {
                if cx.attempt() < 4 { Err(NodeError::new("mail is down")) } else { Ok(json!({ "n": cx.attempt() })) }
            },
        );
    let policies = policies
        .retry(RetryPolicy::exponential(9).retry_on(about("disk")))
        .retry(RetryPolicy::exponential(4).retry_on(about("mail")));
    let a = g.add_node("a", policies.retry(RetryPolicy::exponential(1).retry_on(|_| true)));
    g.add_edge(START, a).add_edge(a, END);
    assert_eq!(field(&g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap(), "n"), json!(4));
}

/// R-FWK-15: every attempt is an event: its start, each failure with the delay, and the end.
#[tokio::test(start_paused = true)]
async fn every_attempt_is_an_event() {
    let mut g = graph("g");
    let flaky = |cx: TaskContext| if cx.attempt() < 3 { Err(overload()) } else { Ok(json!({ "n": 1 })) };
    let a = g.add_node("a", node(flaky).retry(RetryPolicy::default().without_jitter()));
    g.add_edge(START, a).add_edge(a, END);
    let (lines, done) = transcript(g.compile().unwrap().invoke(json!({ "n": 0 }))).await;
    assert_eq!(field(&done.unwrap(), "n"), json!(1));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    begins with {"n":0}
    0 values
    1 a started
    a retry 1 in 500ms: SS-011
    a retry 2 in 1s: SS-011
    1 a done
    1 values
    ends
    "#);
}

/// R-FWK-15, R-REF-106: a failed attempt leaves no writes; the attempt number and the time of the first attempt can
/// be read.
#[tokio::test(start_paused = true)]
async fn an_attempt_has_its_number_and_first_attempt_time() {
    let mut g = graph("g");
    let firsts = Arc::new(Mutex::new(Vec::new()));
    let seen = firsts.clone();
    let flaky = move |cx: TaskContext| {
        seen.lock().unwrap().push((cx.attempt(), cx.first_attempt_time(), cx.idempotency_key()));
        if cx.attempt() < 3 { Err(overload()) } else { Ok(json!({ "n": 1 })) }
    };
    let a = g.add_node("a", node(flaky).retry(RetryPolicy::default()));
    g.add_edge(START, a).add_edge(a, END);
    let clock = crate::fixtures::TokioClock::new();
    assert_eq!(field(&g.compile().unwrap().invoke(json!({ "n": 0 })).clock(clock).await.unwrap(), "n"), json!(1));
    let firsts = firsts.lock().unwrap();
    assert_eq!(firsts.iter().map(|first| first.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(firsts.iter().all(|first| (first.1, first.2) == (1_000_000, firsts[0].2)), "{firsts:?}");
}

/// R-REF-84: a retry raises no interrupt again: resume values are matched by their order in the node.
#[tokio::test(start_paused = true)]
async fn a_retry_reuses_resume_values() {
    let mut g = graph("g");
    let interrupting = async |interrupts: Interrupts, cx: TaskContext| {
        let first: u32 = interrupts.raise("first?", ()).await?;
        let second: u32 = interrupts.raise("second?", ()).await?;
        if cx.attempt() < 3 { Err(overload()) } else { Ok(json!({ "log": [first, second] })) }
    };
    let a = g.add_node("a", node(interrupting).retry(RetryPolicy::default()));
    g.add_edge(START, a).add_edge(a, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    assert_eq!(graph.resume("t", 1).await.unwrap().interrupts()[0].name, "second?");
    assert_eq!(field(&graph.resume("t", 2).await.unwrap(), "log"), json!([1, 2]));
}

/// R-FWK-15: a retry event contains the error.
#[tokio::test(start_paused = true)]
async fn a_retry_event_contains_the_error() {
    let mut g = graph("g");
    let a = g.add_node(
        "a",
        node(|cx: TaskContext| if cx.attempt() < 2 { Err(overload()) } else { Ok(()) }).retry(RetryPolicy::default()),
    );
    g.add_edge(START, a).add_edge(a, END);
    let mut stream = g.compile().unwrap().invoke(json!({ "n": 0 })).stream();
    let mut retries = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::Retry { error, attempt, .. } = event.kind {
            retries.push((attempt, error.message().to_owned()));
        }
    }
    assert_eq!(retries, [(1, "overloaded".to_owned())]);
}
