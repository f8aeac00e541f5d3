//! Crashes between the write to the calendar and the next checkpoint: a completed write is neither reported as
//! failed nor repeated.

use superstep::Result;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep_scheduler::state_utils::new_turn;

use super::*;
use crate::fixtures::now;
use crate::requests::stopped_clock;

/// A request, with the answer to its question.
struct CrashCase {
    text: &'static str,
    /// Strategy of the chosen resolution, and the event that it changes.
    resolution: Option<(&'static str, &'static str)>,
    events: Vec<Event>,
}

/// Starts the request or continues it, and answers questions until it has ended.
async fn run_to_end(
    stage: &Stage,
    store: &SharedCheckpointer,
    case: &CrashCase,
    has_started: bool,
) -> Result<Outcome<FamilySchedulerState>> {
    let (graph, context, thread) = (&stage.graph, || stage.context.clone(), stage.thread.as_str());
    let has_started = has_started && graph.threads().checkpointer(store.clone()).get_state(thread).await.is_ok();
    let mut out = if has_started {
        graph.continue_thread(thread).context(context()).clock(stopped_clock()).checkpointer(store.clone()).await?
    } else {
        let turn = new_turn(case.text, "mom", thread, now());
        graph.invoke(turn).thread(thread).context(context()).clock(stopped_clock()).checkpointer(store.clone()).await?
    };
    while !out.interrupts().is_empty() {
        let answer = match case.resolution {
            Some((strategy, event)) => json!({ "resolution_id": find_resolution_id(&out, strategy, (event, true)) }),
            None => json!({ "confirm": true }),
        };
        let resumed = graph.resume(thread, answer).context(context()).clock(stopped_clock());
        out = resumed.checkpointer(store.clone()).await?;
    }
    Ok(out)
}

/// R-FAM-91, R-FAM-132, R-GRA-45: for a crash at any write, the request completes and the calendar is written once.
async fn check_crashes(case: CrashCase, check: impl Fn(&CalendarSnapshot)) {
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let (stage, disk) = (Stage::new(case.events.clone()).await, MemoryCheckpointer::new());
            let dying = CrashingCheckpointer::new(disk.clone(), at, last);
            let survived = run_to_end(&stage, &dying.into(), &case, false).await.is_ok();
            let done = run_to_end(&stage, &disk.into(), &case, true).await.unwrap();
            assert_eq!(
                done.state.workflow_status,
                WorkflowStatus::Completed,
                "{}, crash at {at}, {last:?}: {:?}",
                case.text,
                done.state.errors
            );
            check(&*stage.snapshot().await);
            let audit = stage.context.store.audit(&stage.context.family_id, 50).await.unwrap();
            let written = audit.iter().filter(|entry| matches!(&*entry.action, "confirm" | "cancel")).count();
            assert_eq!(written, 1, "{}, crash at {at}, {last:?}", case.text);
            if survived {
                assert!(at > 3, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

/// R-FAM-91, R-FAM-132: a modification.
#[tokio::test]
async fn a_change_is_written_once() {
    let case = CrashCase { text: "Move the dentist to 5pm", resolution: None, events: vec![dentist()] };
    let expected = span("2026-01-10T17:00:00-05:00", "2026-01-10T18:00:00-05:00");
    check_crashes(case, |snapshot| {
        let dentist = &snapshot.events["evt_dentist"];
        assert_eq!((dentist.span, dentist.sequence), (expected, 1));
    })
    .await;
}

/// R-FAM-91, R-FAM-132: a cancellation.
#[tokio::test]
async fn a_cancellation_is_written_once() {
    let case = CrashCase { text: "Cancel the dentist", resolution: None, events: vec![dentist()] };
    check_crashes(case, |snapshot| assert!(snapshot.events.is_empty())).await;
}

/// R-FAM-91, R-FAM-107, R-FAM-132: a split, which creates the second part.
#[tokio::test]
async fn a_split_is_written_once() {
    let events = vec![event("evt_call", "Call", ("2026-01-10T15:00:00-05:00", "2026-01-10T15:30:00-05:00"))];
    let text = "Schedule soccer practice for Emma Saturday from 2pm to 5pm";
    check_crashes(CrashCase { text, resolution: Some(("split_event", "evt_")), events }, |snapshot| {
        let soccer = snapshot.events.values().filter(|event| event.title == "Soccer practice");
        assert_eq!(soccer.filter(|event| event.status == EventStatus::Confirmed).count(), 2);
    })
    .await;
}

/// R-FAM-91, R-FAM-107, R-FAM-132: a creation that cancels another event.
#[tokio::test]
async fn a_creation_cancels_another_event_once() {
    let mut call = event("evt_call", "Call", ("2026-01-10T14:00:00-05:00", "2026-01-10T15:00:00-05:00"));
    call.priority = superstep_scheduler::calendar::Priority::Low;
    let resolution = Some(("cancel_event", "evt_call"));
    check_crashes(CrashCase { text: SOCCER, resolution, events: vec![call] }, |snapshot| {
        let titles: Vec<&str> = snapshot.events.values().map(|event| event.title.as_str()).collect();
        assert_eq!(titles, ["Soccer practice"]);
    })
    .await;
}

/// R-FAM-90: a change to the current value is completed without a write.
#[tokio::test]
async fn a_change_to_the_current_value_writes_nothing() {
    let stage = Stage::new(vec![dentist()]).await;
    let before = stage.snapshot().await.revision;
    check_done(&stage.send("Move the dentist to 2:30pm").await.state);
    assert_eq!(stage.snapshot().await.revision, before);
}
