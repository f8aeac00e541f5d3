//! `superstep demo scheduler`: one sentence to a family's calendar, with what every agent finds.

use superstep_scheduler::Options;
use superstep_server::Desk;

use super::finish;
use crate::args::{DemoScheduler, Global};
use crate::failure::Failure;
use crate::graphs;
use crate::log;
use crate::out::Out;
use crate::run::{RunView, attend, new_thread};
use crate::setup::Setup;

/// The graph, by name.
const GRAPH: &str = "scheduler";

/// How a process ends whose request came to nothing.
const FAILED: u8 = 1;

/// Says something to the family's calendar.
pub(crate) async fn scheduler(asked: &DemoScheduler, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let mut setup = Setup::load(global)?;
    setup.move_in(&asked.household, GRAPH);
    let graph = graphs::find(&setup, GRAPH)?;
    let drawing = graph.drawing();
    let desk = Desk::open([graph], setup.open(out).await?)?;
    let options = Options { user_id: asked.user.clone(), model: Some(asked.model.clone()), ..Options::default() };
    let thread = new_thread(&desk, GRAPH).await?;
    let order = superstep_scheduler::order(&asked.say, &asked.user, thread.as_str());
    let order = order.options(options.to_json());
    let done = attend(&desk, order, &mut RunView::new(None, &drawing, *out), out).await?;
    let is_failed = done.output["workflow_status"] == "failed";
    let code = finish(done, out)?;
    Ok(if is_failed { code.max(FAILED) } else { code })
}
