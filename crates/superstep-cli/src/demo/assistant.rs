//! `superstep demo assistant`: one question about the sample shop or your own data, with its plan.

use serde_json::json;
use superstep_assistant::TurnOptions;
use superstep_server::{RunInput, RunRequest, RunService};

use super::finish;
use crate::args::{DemoAssistant, GlobalArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs;
use crate::log;
use crate::output::Output;
use crate::run::{RunView, new_thread, run_interactive};

/// Name of the graph.
const GRAPH: &str = "assistant";

/// Runs the assistant on one question.
pub(crate) async fn assistant(args: &DemoAssistant, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let mut config = CliConfig::load(global)?;
    config.configure_assistant(&args.assistant, GRAPH).await?;
    let graph = graphs::find(&config, GRAPH)?;
    let diagram = graph.diagram();
    let runs = RunService::open([graph], config.open_storage(out).await?)?;
    let thread = new_thread(&runs, GRAPH).await?;
    // A fixed message id, so that an input repeated after a crash does not duplicate the message.
    let input = json!({
        "messages": [{ "role": "user", "content": args.question, "id": "asked" }], "user_id": args.user,
    });
    let options = TurnOptions { user_id: args.user.clone(), model: Some(args.model.clone()) };
    let request = RunRequest::new(GRAPH, thread, RunInput::Input(input))
        .context(options.to_json())
        .title_from_text(&args.question);
    let summary = run_interactive(&runs, request, &mut RunView::new(None, &diagram, *out), out).await?;
    finish(summary, out)
}
