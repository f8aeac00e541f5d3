//! `superstep demo`: sample applications that need no other files.

use serde_json::json;
use superstep_server::RunStatus;

use crate::args::{DemoArgs, DemoCommand, GlobalArgs};
use crate::error::CliError;
use crate::output::{Output, OutputFormat};
use crate::run::{print_output, print_summary};
use crate::run_driver::RunSummary;
use crate::text::strip_control_characters;

mod assistant;
mod debate;
mod scheduler;
mod suggestions;

pub(crate) use suggestions::print_skipped_files;

/// Runs a demo, or lists the demos.
pub(crate) async fn demo(args: &DemoArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    match &args.command {
        Some(DemoCommand::Debate(demo_args)) => debate::debate(demo_args, global, out).await,
        Some(DemoCommand::Suggestions(demo_args)) => suggestions::suggestions(demo_args, global, out).await,
        Some(DemoCommand::Assistant(demo_args)) => assistant::assistant(demo_args, global, out).await,
        Some(DemoCommand::Scheduler(demo_args)) => scheduler::scheduler(demo_args, global, out).await,
        None if out.is_text() => {
            out.print_result("superstep demo debate         an optimist and a skeptic argue, a moderator sums up");
            out.print_result("superstep demo suggestions    documents and one next action for a question");
            out.print_result("superstep demo assistant      answers a question about a sample shop");
            out.print_result(
                "superstep demo scheduler      plans, moves, cancels or finds events on a family calendar",
            );
            Ok(0)
        }
        None => {
            out.json_list(&["debate", "suggestions", "assistant", "scheduler"].map(|name| json!({ "name": name })));
            Ok(0)
        }
    }
}

/// Prints the last message as the answer, and the summary of the run.
fn finish(summary: RunSummary, out: &Output) -> Result<u8, CliError> {
    if out.format != OutputFormat::Text {
        return print_output(summary, None, out);
    }
    let message = summary.output["messages"].as_array().and_then(|messages| messages.last()?["content"].as_str());
    if let Some(message) = message.filter(|_| summary.status == RunStatus::Succeeded) {
        message.lines().for_each(|line| out.print_result(strip_control_characters(line)));
    }
    print_summary(summary, out)
}
