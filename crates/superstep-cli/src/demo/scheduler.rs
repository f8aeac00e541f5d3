//! `superstep demo scheduler`: one request to a family calendar, with the result of every agent.

use serde_json::Value;
use superstep::{Error, ErrorCode};
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

/// Sends one request to the family calendar.
pub(crate) async fn scheduler(args: &DemoScheduler, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let mut config = CliConfig::load(global)?;
    config.configure_family(&args.family, GRAPH);
    let graph = graphs::find(&config, GRAPH)?;
    let diagram = graph.diagram();
    let runs = RunService::open([graph], config.open_storage(out).await?)?;
    let options = ConversationOptions {
        user_id: args.user.clone(),
        model: Some(args.model.clone()),
        ..ConversationOptions::default()
    };
    let thread = new_thread(&runs, GRAPH).await?;
    let request = superstep_scheduler::run_request(&args.message, &args.user, thread.as_str());
    let request = request.context(options.to_json());
    let summary = run_interactive(&runs, request, &mut RunView::new(None, &diagram, *out), out).await?;
    let failure_code = failure_exit_code(&summary.output);
    let code = finish(summary, out)?;
    Ok(if code == 0 { failure_code } else { code })
}

/// Returns the exit code of a finished request: 0 unless the request failed; otherwise that of its last error, or of
/// invalid input if no agent failed.
fn failure_exit_code(output: &Value) -> u8 {
    if output["workflow_status"] != "failed" {
        return 0;
    }
    let last = output["errors"].as_array().and_then(|errors| errors.last());
    let code = last.and_then(|last| ErrorCode::ALL.iter().copied().find(|code| last["error_type"] == code.name()));
    // The agents that record errors are nodes.
    Error::new(code.unwrap_or(ErrorCode::InputInvalid), "").with_node(GRAPH).exit_code()
}
