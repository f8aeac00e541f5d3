//! One function as a graph, with durable steps.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::{Entrypoint, ErrorCode, Final, RunEnd, entrypoint};
use tokio::sync::Barrier;

use crate::fixtures::{CallCounter, transcript};

async fn counted(count: CallCounter, value: u64) -> Result<u64, NodeError> {
    count.up();
    Ok(value)
}

/// Fetches two values, interrupts for a third and adds them up; `runs` and `tasks` count.
fn adding(runs: &CallCounter, tasks: &CallCounter) -> Entrypoint<u64, u64> {
    let (runs, tasks) = (runs.clone(), tasks.clone());
    let add = entrypoint("add", move |n: u64, cx: TaskContext| {
        let (runs, tasks) = (runs.clone(), tasks.clone());
        async move {
            runs.up();
            let (one, two) =
                tokio::join!(cx.task("one", counted(tasks.clone(), 1)), cx.task("two", counted(tasks.clone(), 20)));
            let extra: u64 = cx.interrupts().raise("how many more?", n).await?;
            Ok(n + one? + two? + extra)
        }
    });
    add.checkpointer(MemoryCheckpointer::new()).compile().unwrap()
}

/// R-FWK-23, R-REF-83: tasks are recorded before an interrupt stops the function, and do not run again after it is
/// resumed.
#[tokio::test]
async fn recorded_tasks_are_not_repeated_after_a_question() {
    let (runs, tasks) = (CallCounter::default(), CallCounter::default());
    let add = adding(&runs, &tasks);
    let paused = add.invoke(&300).thread("t").await.unwrap();
    assert_eq!((paused.interrupts()[0].value.clone(), add.output(&paused).unwrap()), (json!(300), None));
    let done = add.graph().resume("t", 4_000).await.unwrap();
    assert_eq!(add.output(&done).unwrap(), Some(4_321));
    assert_eq!((runs.get(), tasks.get()), (2, 2));
}

/// R-FWK-23: a task does not run again after a later failure either, in a retry of the thread.
#[tokio::test]
async fn recorded_tasks_are_not_repeated_after_a_failure() {
    let (runs, tasks) = (CallCounter::default(), CallCounter::default());
    let (counted_runs, counted_tasks) = (runs.clone(), tasks.clone());
    let flaky = entrypoint("flaky", move |n: u64, cx: TaskContext| {
        let (runs, tasks) = (counted_runs.clone(), counted_tasks.clone());
        async move {
            let one = cx.task("one", counted(tasks, 1)).await?;
            if runs.up() < 2 { Err(NodeError::new("no")) } else { Ok(n + one) }
        }
    });
    let flaky = flaky.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    assert_eq!(flaky.invoke(&1).thread("t").await.unwrap_err().code(), ErrorCode::NodeFailed);
    let done = flaky.graph().continue_thread("t").await.unwrap();
    assert_eq!((flaky.output(&done).unwrap(), runs.get(), tasks.get()), (Some(2), 2, 1));
}

/// R-FWK-23, R-REF-141: joined tasks run concurrently, and the error of a task is the result of its await.
#[tokio::test(start_paused = true)]
async fn joined_tasks_run_at_once_and_fail_where_awaited() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = entrypoint("meet", move |n: u64, cx: TaskContext| {
        let barrier = barrier.clone();
        async move {
            let wait = |value: u64| {
                let barrier = barrier.clone();
                async move {
                    barrier.wait().await;
                    if value == 9 { Err(NodeError::new("nine")) } else { Ok(value) }
                }
            };
            let (one, two) = tokio::join!(cx.task("one", wait(n)), cx.task("two", wait(9)));
            let text = two.map_or_else(|error| error.error().message().to_owned(), |two| two.to_string());
            Ok(format!("{} {text}", one?))
        }
    });
    let meet = meet.compile().unwrap();
    let done = meet.invoke(&5).timeout(Duration::from_secs(5)).await.unwrap();
    assert_eq!(meet.output(&done).unwrap(), Some("5 nine".to_owned()));
}

/// R-FWK-23, R-REF-142: `previous` is the value that the last call on the thread saved; other threads have none.
#[tokio::test]
async fn previous_is_the_value_that_the_last_call_saved() {
    let sum = entrypoint("sum", async |n: i64, cx: TaskContext| Ok(cx.previous::<i64>()?.unwrap_or(0) + n));
    let sum = sum.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    for (thread, n, expected) in [("t", 1, 1), ("t", 2, 3), ("other", 5, 5), ("t", -3, 0), ("t", 4, 4)] {
        let done = sum.invoke(&n).thread(thread).await.unwrap();
        assert_eq!(sum.output(&done).unwrap(), Some(expected));
    }
}

/// R-FWK-23, R-REF-142: `Final` returns one value and saves another, also null and zero.
#[tokio::test]
async fn a_final_separates_the_returned_and_the_saved_value() {
    let saving =
        entrypoint("keep", async |save: Option<i64>, cx: TaskContext| Ok(Final { value: cx.previous::<i64>()?, save }));
    let saving = saving.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    for (save, returned) in [(Some(7), None), (Some(0), Some(7)), (None, Some(0)), (Some(1), None)] {
        let done = saving.invoke(&save).thread("t").await.unwrap();
        assert_eq!(saving.output(&done).unwrap(), Some(returned), "{save:?}");
    }
}

/// R-FWK-23: an entry point has the same checkpoints and events as an explicit graph.
#[tokio::test]
async fn an_entrypoint_has_checkpoints_and_events() {
    let double = entrypoint("double", async |n: u64, cx: TaskContext| {
        cx.emit("at work").await?;
        Ok(n * 2)
    });
    let double = double.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let (lines, done) = transcript(double.invoke(&4).thread("t")).await;
    assert_eq!((double.output(&done.unwrap()).unwrap(), double.graph().name()), (Some(8), "double"));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    begins with {"input":4}
    0 values
    0 saved, next ["double"]
    1 double started
    double says "at work"
    1 double done
    1 values
    1 saved, next []
    ends
    "#);
    assert_eq!(double.graph().threads().get_state_history("t", &Default::default()).await.unwrap().len(), 2);
}

/// R-FWK-23: an input of another type is rejected, and an interrupt leaves the call open.
#[tokio::test]
async fn an_entrypoint_rejects_an_invalid_input() {
    let add = adding(&CallCounter::default(), &CallCounter::default());
    let error = add.graph().invoke(json!({ "input": "text" })).thread("t").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    let paused = add.invoke(&1).thread("u").await.unwrap();
    assert!(matches!(paused.end, RunEnd::Interrupted(_)));
    assert_eq!(add.graph().resume("u", "text").await.unwrap_err().code(), ErrorCode::InvalidResume);
}
