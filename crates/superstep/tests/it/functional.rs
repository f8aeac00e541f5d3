//! One function as a graph, with durable steps inside.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::{Code, Entrypoint, Final, Status, entrypoint};
use tokio::sync::Barrier;

use crate::engine::{Count, transcript};

async fn counted(count: Count, value: u64) -> Result<u64, NodeError> {
    count.up();
    Ok(value)
}

/// Fetches two values, asks a person for a third and adds them up; `runs` and `tasks` count.
fn adding(runs: &Count, tasks: &Count) -> Entrypoint<u64, u64> {
    let (runs, tasks) = (runs.clone(), tasks.clone());
    let add = entrypoint("add", move |n: u64, cx: Cx| {
        let (runs, tasks) = (runs.clone(), tasks.clone());
        async move {
            runs.up();
            let (one, two) =
                tokio::join!(cx.task("one", counted(tasks.clone(), 1)), cx.task("two", counted(tasks.clone(), 20)));
            let asked: u64 = cx.ask().person("how many more?", n).await?;
            Ok(n + one? + two? + asked)
        }
    });
    add.checkpointer(Memory::new()).compile().unwrap()
}

/// R-FWK-23, R-REF-83: tasks are recorded before a question stops the function, and are not repeated after the answer.
#[tokio::test]
async fn recorded_tasks_are_not_repeated_after_a_question() {
    let (runs, tasks) = (Count::default(), Count::default());
    let add = adding(&runs, &tasks);
    let paused = add.run(&300).thread("t").await.unwrap();
    assert_eq!((paused.questions()[0].value.clone(), add.output(&paused).unwrap()), (json!(300), None));
    let done = add.graph().resume("t", 4_000).await.unwrap();
    assert_eq!(add.output(&done).unwrap(), Some(4_321));
    assert_eq!((runs.get(), tasks.get()), (2, 2));
}

/// R-FWK-23: a failure after a task does not repeat the task either, in a retry of the thread.
#[tokio::test]
async fn recorded_tasks_are_not_repeated_after_a_failure() {
    let (runs, tasks) = (Count::default(), Count::default());
    let (counted_runs, counted_tasks) = (runs.clone(), tasks.clone());
    let flaky = entrypoint("flaky", move |n: u64, cx: Cx| {
        let (runs, tasks) = (counted_runs.clone(), counted_tasks.clone());
        async move {
            let one = cx.task("one", counted(tasks, 1)).await?;
            if runs.up() < 2 { Err(NodeError::new("no")) } else { Ok(n + one) }
        }
    });
    let flaky = flaky.checkpointer(Memory::new()).compile().unwrap();
    assert_eq!(flaky.run(&1).thread("t").await.unwrap_err().code(), Code::NodeFailed);
    let done = flaky.graph().go_on("t").await.unwrap();
    assert_eq!((flaky.output(&done).unwrap(), runs.get(), tasks.get()), (Some(2), 2, 1));
}

/// R-FWK-23, R-REF-141: tasks that are joined run at once, and a task's failure is what its await gives.
#[tokio::test(start_paused = true)]
async fn joined_tasks_run_at_once_and_fail_where_awaited() {
    let barrier = Arc::new(Barrier::new(2));
    let meet = entrypoint("meet", move |n: u64, cx: Cx| {
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
            let said = two.map_or_else(|error| error.error().message().to_owned(), |two| two.to_string());
            Ok(format!("{} {said}", one?))
        }
    });
    let meet = meet.compile().unwrap();
    let done = meet.run(&5).timeout(Duration::from_secs(5)).await.unwrap();
    assert_eq!(meet.output(&done).unwrap(), Some("5 nine".to_owned()));
}

/// R-FWK-23, R-REF-142: `previous` is what the last call on the thread kept; other threads have none.
#[tokio::test]
async fn previous_is_what_the_last_call_kept() {
    let sum = entrypoint("sum", async |n: i64, cx: Cx| Ok(cx.previous::<i64>()?.unwrap_or(0) + n));
    let sum = sum.checkpointer(Memory::new()).compile().unwrap();
    for (thread, n, expected) in [("t", 1, 1), ("t", 2, 3), ("other", 5, 5), ("t", -3, 0), ("t", 4, 4)] {
        let done = sum.run(&n).thread(thread).await.unwrap();
        assert_eq!(sum.output(&done).unwrap(), Some(expected));
    }
}

/// R-FWK-23, R-REF-142: `Final` gives one value and keeps another, also nothing and zero.
#[tokio::test]
async fn a_final_separates_what_is_given_and_what_is_kept() {
    let keep = entrypoint("keep", async |save: Option<i64>, cx: Cx| Ok(Final { value: cx.previous::<i64>()?, save }));
    let keep = keep.checkpointer(Memory::new()).compile().unwrap();
    for (save, given) in [(Some(7), None), (Some(0), Some(7)), (None, Some(0)), (Some(1), None)] {
        let done = keep.run(&save).thread("t").await.unwrap();
        assert_eq!(keep.output(&done).unwrap(), Some(given), "{save:?}");
    }
}

/// R-FWK-23: the same checkpoints and events as of a drawn graph.
#[tokio::test]
async fn an_entrypoint_has_checkpoints_and_events() {
    let double = entrypoint("double", async |n: u64, cx: Cx| {
        cx.emit("at work").await?;
        Ok(n * 2)
    });
    let double = double.checkpointer(Memory::new()).compile().unwrap();
    let (lines, done) = transcript(double.run(&4).thread("t")).await;
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
    assert_eq!(double.graph().threads().history("t", &Default::default()).await.unwrap().len(), 2);
}

/// R-FWK-23: an input of another type is refused, and a question leaves the call waiting.
#[tokio::test]
async fn an_entrypoint_refuses_what_does_not_fit() {
    let add = adding(&Count::default(), &Count::default());
    let error = add.graph().run(json!({ "input": "text" })).thread("t").await.unwrap_err();
    assert_eq!(error.code(), Code::InputInvalid);
    let paused = add.run(&1).thread("u").await.unwrap();
    assert!(matches!(paused.status, Status::Interrupted(_)));
    assert_eq!(add.graph().resume("u", "text").await.unwrap_err().code(), Code::InvalidResume);
}
