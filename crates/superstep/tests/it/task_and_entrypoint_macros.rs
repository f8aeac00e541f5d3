//! `#[task]` and `#[entrypoint]`: durable functions without an explicit graph.

use std::sync::atomic::{AtomicUsize, Ordering};

use superstep::prelude::*;
use superstep::{Final, entrypoint, task};

static FETCHED: AtomicUsize = AtomicUsize::new(0);

#[task]
async fn fetch(cx: &TaskContext, page: u64) -> Result<String, NodeError> {
    FETCHED.fetch_add(1, Ordering::SeqCst);
    Ok(format!("page {page} of {}", cx.node()))
}

/// Reads two pages and raises an interrupt whether that is enough.
#[entrypoint]
async fn report(pages: u64, cx: TaskContext) -> Result<Final<String, u64>, NodeError> {
    let before: u64 = cx.previous()?.unwrap_or(0);
    let mut text = Vec::new();
    for page in 0..pages {
        text.push(fetch(&cx, page).await?);
    }
    let enough: bool = cx.interrupts().raise("enough?", &text).await?;
    Ok(Final { value: format!("{}, {enough}", text.join(", ")), save: before + pages })
}

/// R-FWK-23: an entry point and its tasks are functions with attributes; recorded steps do not run again, and the
/// saved value for the next call differs from the returned one.
#[tokio::test]
async fn functions_with_attributes_are_durable() {
    let report = report().checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let waiting = report.invoke(&2).thread("t").await.unwrap();
    assert_eq!(report.output(&waiting).unwrap(), None);
    let done = report.graph().resume("t", true).await.unwrap();
    assert_eq!(report.output(&done).unwrap().unwrap(), "page 0 of report, page 1 of report, true");
    assert_eq!(FETCHED.load(Ordering::SeqCst), 2);
    let saved = report.graph().threads().get_state("t").await.unwrap();
    assert_eq!(*saved.state.get("previous"), 2);
}
