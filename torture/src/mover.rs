//! The child that shares a thread with others: it runs a small graph on it again and again, and waits when it is busy.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::{Code, Compiled, Result, WhenBusy};

use crate::store::Place;
use crate::told::Told;
use crate::work::{THREAD, Work, WorkUpdate};

/// What a mover is told to do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Errand {
    /// What its entries begin with.
    pub(crate) name: String,
    pub(crate) runs: u32,
    /// Ask again when the thread is busy, in place of waiting in the library.
    pub(crate) asks_again: bool,
}

/// The nodes of a run, with its input first: what a run leaves in the log, in this order.
pub(crate) const TRACKS: [&str; 3] = ["input", "one", "two"];

/// Runs its errand. True when every run ended well.
///
/// # Errors
/// When it cannot even begin.
pub(crate) async fn run(place: &Place, errand: &Errand) -> Result<bool, String> {
    Told::Born { pid: std::process::id() }.tell();
    let flow = graph().map_err(|error| error.to_string())?;
    let store = match place.open().await {
        Ok(store) => store,
        Err(error) => {
            Told::failed(&error).tell();
            return Ok(false);
        }
    };
    Told::Opened.tell();
    let mut busy = 0;
    for number in 0..errand.runs {
        let label = format!("{} {number}", errand.name);
        loop {
            let input = Work::update().log(track(&label, TRACKS[0]));
            let run = flow.run(input).thread(THREAD).checkpointer(store.clone()).context(label.clone());
            let when = if errand.asks_again { WhenBusy::Reject } else { WhenBusy::Queue };
            match run.when_busy(when).await {
                Ok(_) => break,
                Err(error) if error.code() == Code::ThreadBusy => {
                    busy += 1;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Err(error) => {
                    Told::failed(&error).tell();
                    return Ok(false);
                }
            }
        }
    }
    Told::Busy { times: busy }.tell();
    Ok(true)
}

/// An entry of the log.
pub(crate) fn track(label: &str, node: &str) -> String {
    format!("{label} {node}")
}

fn graph() -> Result<Compiled<Work, String>> {
    let mut graph = Graph::<Work, String>::new("mover");
    let one = graph.node("one", leaves_track);
    let two = graph.node("two", leaves_track);
    graph.edge(START, one).edge(one, two).edge(two, END);
    graph.compile()
}

async fn leaves_track(label: Ctx<String>, cx: Cx) -> Result<WorkUpdate, NodeError> {
    Ok(Work::update().log(track(&label, cx.node())).count(1_u64))
}
