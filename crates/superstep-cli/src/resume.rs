//! `superstep resume THREAD`: answers an interrupt, or continues from the last checkpoint.

use serde_json::json;
use superstep::ErrorCode;
use superstep_server::{RunInput, RunRequest, RunService, RunStatus, ThreadInterrupt};

use crate::args::{GlobalArgs, ResumeArgs};
use crate::cli_config::CliConfig;
use crate::error::{CliError, resume_command};
use crate::interrupt_prompt;
use crate::log;
use crate::output::Output;
use crate::run::{RunView, WAITING, print_output, run_interactive};
use crate::runtime::{ThreadHandle, find_thread, open_thread};

/// Resumes a thread.
pub(crate) async fn resume(args: &ResumeArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let mut config = CliConfig::load(global)?;
    let server_config = config.open_storage_read_only().await?;
    let record = find_thread(&RunService::open([], server_config.clone())?, &args.thread).await?;
    config.configure_assistant(&args.assistant, &record.graph).await?;
    config.configure_family(&args.family, &record.graph);
    let handle = open_thread(&config, server_config, &args.thread).await?;
    let Some(input) = resume_input(&handle, args.answer.as_deref(), out).await? else { return Ok(WAITING) };
    let record = &handle.record;
    let request = RunRequest::new(&record.graph, &record.thread, input).context(record.context.clone());
    let mut view = RunView::new(args.stream, &handle.graph.diagram(), *out);
    let summary = run_interactive(&handle.runs, request, &mut view, out).await?;
    print_output(summary, args.stream, out)
}

/// Determines the input of the run; `None` if an interrupt is open and no resume value was given.
async fn resume_input(
    handle: &ThreadHandle,
    resume_value: Option<&str>,
    out: &Output,
) -> Result<Option<RunInput>, CliError> {
    let ThreadHandle { record, graph, runs } = handle;
    if graph.status(&record.thread).await?.is_none() {
        // The process died before anything was saved: the run starts again with its original input.
        let run = runs.find_run(record.run).await?;
        return run.map(|run| Some(run.request.input)).ok_or_else(|| nothing_to_resume(handle, "no state is saved"));
    }
    let state = graph.state(&record.thread).await?;
    let interrupts: Vec<ThreadInterrupt> = state.interrupts().cloned().collect();
    match resume_value {
        Some(_) if interrupts.is_empty() => {
            let failure =
                CliError::new(ErrorCode::InvalidResume, format!("thread `{}` has no open interrupt", record.thread));
            Err(failure.help(format!("resume without a value: {}", resume_command(&record.thread))))
        }
        Some(resume_value) => interrupt_prompt::parse_resume_values(&interrupts, resume_value)
            .map(|resume_values| Some(RunInput::Resume(resume_values))),
        None if !interrupts.is_empty() => prompt_or_print_interrupts(handle, &interrupts, out).await,
        None if is_complete(&state.next, record.status) => Err(nothing_to_resume(handle, "the run has ended")),
        None => Ok(Some(RunInput::Continue)),
    }
}

async fn prompt_or_print_interrupts(
    handle: &ThreadHandle,
    interrupts: &[ThreadInterrupt],
    out: &Output,
) -> Result<Option<RunInput>, CliError> {
    let resume_values =
        if out.is_interactive() { interrupt_prompt::prompt_resume_values(interrupts, out).await? } else { None };
    if resume_values.is_none() {
        let thread = &handle.record.thread;
        match out.is_text() {
            true => interrupts.iter().for_each(|interrupt| interrupt_prompt::print_interrupt(interrupt, out)),
            false => out.json(&json!({ "thread": thread, "status": handle.record.status, "questions": interrupts })),
        }
        out.print_note(format_args!("resume with: {} --answer JSON", resume_command(thread)));
    }
    Ok(resume_values.map(RunInput::Resume))
}

/// Returns true if nothing is left to do. An unfinished run may have died before its input was saved; then the
/// thread is still at the end of the run before it.
fn is_complete(next_nodes: &[String], status: RunStatus) -> bool {
    let can_continue =
        matches!(status, RunStatus::Failed | RunStatus::Running | RunStatus::Suspended | RunStatus::Orphaned);
    next_nodes.is_empty() && !can_continue
}

fn nothing_to_resume(handle: &ThreadHandle, reason: &str) -> CliError {
    let (thread, graph) = (&handle.record.thread, &handle.record.graph);
    CliError::new(ErrorCode::InvalidResume, format!("thread `{thread}` cannot be resumed: {reason}"))
        .help(format!("start a new run: superstep run {graph} --thread {thread} --input JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-CLI-4a: an unfinished run can continue even without next tasks, because its input may not have been saved.
    #[test]
    fn only_ended_runs_are_complete() {
        for status in [RunStatus::Running, RunStatus::Suspended, RunStatus::Orphaned, RunStatus::Failed] {
            assert!(!is_complete(&[], status), "{status:?}");
        }
        assert!(is_complete(&[], RunStatus::Succeeded) && is_complete(&[], RunStatus::Cancelled));
        assert!(!is_complete(&["say".to_owned()], RunStatus::Cancelled));
    }
}
