//! `superstep demo scheduler`: one sentence to a family's calendar, with what every agent finds.

use superstep_server::{Desk, RunStatus};

use crate::args::{DemoScheduler, Global};
use crate::drive::Done;
use crate::failure::Failure;
use crate::graphs;
use crate::log;
use crate::out::{Format, Out};
use crate::run::{RunView, attend, closing, end, new_thread};
use crate::setup::Setup;
use crate::words::harmless;

/// The graph, by name.
const GRAPH: &str = "scheduler";

/// Says something to the family's calendar.
pub(crate) async fn scheduler(asked: &DemoScheduler, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let mut setup = Setup::load(global)?;
    setup.move_in(&asked.household, GRAPH);
    let graph = graphs::find(&setup, GRAPH)?;
    let drawing = graph.drawing();
    let desk = Desk::open([graph], setup.open(out).await?)?;
    let order = superstep_scheduler::order(&asked.say, &asked.user, new_thread(GRAPH).as_str());
    let done = attend(&desk, order, &mut RunView::new(None, &drawing, *out), out).await?;
    finish(done, out)
}

fn finish(done: Done, out: &Out) -> Result<u8, Failure> {
    if out.format != Format::Text {
        return end(done, None, out);
    }
    let answer = done.output["messages"].as_array().and_then(|all| all.last()?["content"].as_str());
    if let Some(answer) = answer.filter(|_| done.status == RunStatus::Finished) {
        answer.lines().for_each(|line| out.result(harmless(line)));
    }
    closing(done, out)
}
