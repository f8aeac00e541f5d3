//! `superstep demo`: applications from this binary alone, with sample data.

use serde_json::json;
use superstep_server::RunStatus;

use crate::args::{Demo, DemoWhat, Global};
use crate::drive::Done;
use crate::failure::Failure;
use crate::out::{Format, Out};
use crate::run::{closing, end};
use crate::words::harmless;

mod assistant;
mod debate;
mod scheduler;
mod suggestions;

pub(crate) use suggestions::note_left_out;

/// Runs a demo, or lists them.
pub(crate) async fn demo(asked: &Demo, global: &Global, out: &Out) -> Result<u8, Failure> {
    match &asked.what {
        Some(DemoWhat::Debate(asked)) => debate::debate(asked, global, out).await,
        Some(DemoWhat::Suggestions(asked)) => suggestions::suggestions(asked, global, out).await,
        Some(DemoWhat::Assistant(asked)) => assistant::assistant(asked, global, out).await,
        Some(DemoWhat::Scheduler(asked)) => scheduler::scheduler(asked, global, out).await,
        None if out.is_text() => {
            out.result("superstep demo debate         an optimist and a skeptic argue, a moderator sums up");
            out.result("superstep demo suggestions    what to read for a question, and one next action");
            out.result("superstep demo assistant      plans, looks up, checks and answers, about a sample shop");
            out.result("superstep demo scheduler      plans, moves, cancels and looks up, on a family's calendar");
            Ok(0)
        }
        None => {
            out.json_list(&["debate", "suggestions", "assistant", "scheduler"].map(|name| json!({ "name": name })));
            Ok(0)
        }
    }
}

/// Tells the last message as the answer, and how the run ended.
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
