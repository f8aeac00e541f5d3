//! `superstep demo scheduler`: one request to a family calendar, with the result of every agent.

use superstep_scheduler::ConversationOptions;
use superstep_server::RunService;

use super::finish;
use crate::args::{DemoScheduler, GlobalArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs;
use crate::log;
use crate::output::Output;
use crate::run::{RunView, new_thread, run_interactive};

/// Name of the graph.
const GRAPH: &str = "scheduler";

/// Exit code of a request that failed.
const FAILED: u8 = 1;

/// Sends one request to the family calendar.
pub(crate) async fn scheduler(args: &DemoScheduler, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let mut setup = CliConfig::load(global)?;
    setup.configure_family(&args.family, GRAPH);
    let graph = graphs::find(&setup, GRAPH)?;
    let drawing = graph.diagram();
    let runs = RunService::open([graph], setup.open_stores(out).await?)?;
    let options = ConversationOptions {
        user_id: args.user.clone(),
        model: Some(args.model.clone()),
        ..ConversationOptions::default()
    };
    let thread = new_thread(&runs, GRAPH).await?;
    let order = superstep_scheduler::run_request(&args.message, &args.user, thread.as_str());
    let order = order.context(options.to_json());
    let done = run_interactive(&runs, order, &mut RunView::new(None, &drawing, *out), out).await?;
    let is_failed = done.output["workflow_status"] == "failed";
    let code = finish(done, out)?;
    Ok(if is_failed { code.max(FAILED) } else { code })
}
