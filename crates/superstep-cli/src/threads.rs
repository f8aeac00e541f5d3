//! `superstep threads`, `state`, `history`: stored threads.

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{ErrorCode, HistoryQuery};
use superstep_server::{RunService, ThreadRecord, ThreadSearch, ThreadState};

use crate::args::{GlobalArgs, HistoryArgs, ListThreadsArgs, StateArgs, ThreadsArgs, ThreadsCommand};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::interrupt_prompt;
use crate::output::{Output, TextStyle, styled};
use crate::runtime::{ThreadHandle, find_thread, open_thread};
use crate::text::{columns, format_timestamp, one_line, padded, pluralize, pretty, shell_quote, truncate, width};

/// Lists threads, shows one, or deletes some.
pub(crate) async fn threads(args: &ThreadsArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let config = CliConfig::load(global)?;
    match &args.command {
        None => list(&RunService::open([], config.open_storage_read_only().await?)?, &args.list, out).await,
        Some(ThreadsCommand::List(filter)) => {
            list(&RunService::open([], config.open_storage_read_only().await?)?, filter, out).await
        }
        Some(ThreadsCommand::Show { thread }) => print_thread(&config, thread, out).await,
        Some(ThreadsCommand::Rm { threads, yes }) => {
            let runs = RunService::open([], config.open_storage_read_only().await?)?;
            remove(&runs, threads, *yes, out).await
        }
    }
}

async fn list(runs: &RunService, filter: &ListThreadsArgs, out: &Output) -> Result<u8, CliError> {
    let (graph, search_text) = (filter.graph.clone(), filter.words.clone());
    let query =
        ThreadSearch { graph, query: search_text, limit: Some(filter.limit.unwrap_or(20)), ..ThreadSearch::default() };
    let records = runs.search_threads(&query).await?;
    if !out.is_text() {
        out.json_list(&records);
        return Ok(0);
    }
    if records.is_empty() {
        let is_filtered = filter.graph.is_some() || filter.words.is_some();
        let note = match is_filtered {
            true => "no thread matches; `superstep threads` lists all threads",
            false => "no threads yet; `superstep run GRAPH` creates one",
        };
        out.print_note(note);
    }
    let widest = |columns_of: fn(&ThreadRecord) -> usize| records.iter().map(columns_of).max().unwrap_or(0);
    let (thread_width, graph_width) = (widest(|it| columns(it.thread.as_str())), widest(|it| columns(&it.graph)));
    for record in &records {
        let (thread, graph) =
            (padded(record.thread.as_str(), thread_width), padded(&one_line(&record.graph), graph_width));
        let status = padded(&status(record), 11);
        let line = format!("{thread}  {graph}  {status}  {}", format_timestamp(&record.updated_at));
        let title_width = width().saturating_sub(columns(&line) + 2).max(10);
        let title =
            record.title.as_deref().map(|title| format!("  {}", truncate(title, title_width))).unwrap_or_default();
        out.print_result(format!("{line}{title}").trim_end());
    }
    Ok(0)
}

/// Returns the status of the last run of a thread as text.
fn status(record: &ThreadRecord) -> String {
    let status = serde_json::to_value(record.status).unwrap_or_default();
    status.as_str().unwrap_or_default().to_owned()
}

async fn print_thread(config: &CliConfig, thread: &str, out: &Output) -> Result<u8, CliError> {
    let ThreadHandle { record, graph, .. } =
        open_thread(config, config.open_storage_read_only().await?, thread).await?;
    let state = match graph.status(&record.thread).await? {
        Some(_) => Some(graph.state(&record.thread).await?),
        None => None,
    };
    if !out.is_text() {
        out.json(&json!({ "thread": record, "state": state }));
        return Ok(0);
    }
    // Titles, errors and interrupts may contain text from users and models.
    let row = |name: &str, value: &str| out.print_result(format_args!("{}  {}", padded(name, 10), one_line(value)));
    row("thread", record.thread.as_str());
    row("graph", &record.graph);
    row("status", &status(&record));
    row("started", &format_timestamp(&record.created_at));
    row("updated", &format_timestamp(&record.updated_at));
    record.title.iter().for_each(|title| row("title", title));
    if let Some(failure) = &record.error {
        row("error", &format!("[{}] {}", failure.code, failure.message));
    }
    let Some(state) = state else { return Ok(0) };
    row("superstep", &state.step.to_string());
    row("next", &next_nodes(&state));
    for interrupt in state.interrupts() {
        row("question", interrupt_prompt::prompt_text(interrupt));
    }
    Ok(0)
}

fn next_nodes(state: &ThreadState) -> String {
    if state.next.is_empty() { "none".to_owned() } else { one_line(&state.next.join(", ")) }
}

async fn remove(runs: &RunService, threads: &[String], yes: bool, out: &Output) -> Result<u8, CliError> {
    for thread in threads {
        find_thread(runs, thread).await?;
    }
    if !yes {
        if !out.is_interactive() {
            let quoted: Vec<String> = threads.iter().map(|thread| shell_quote(thread)).collect();
            return Err(CliError::usage("removing threads is permanent and needs confirmation")
                .help(format!("superstep threads rm --yes {}", quoted.join(" "))));
        }
        let count = u64::try_from(threads.len()).unwrap_or(u64::MAX);
        if !interrupt_prompt::confirm(&format!("permanently remove {}?", pluralize(count, "thread")), out).await? {
            return Ok(1);
        }
    }
    for thread in threads {
        runs.delete_thread(&ThreadId::from(thread.as_str())).await?;
        out.print_note(format_args!("removed {thread}"));
    }
    if !out.is_text() {
        out.json_list(threads);
    }
    Ok(0)
}

/// Prints the state of a thread.
pub(crate) async fn state(args: &StateArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let config = CliConfig::load(global)?;
    let handle = open_thread(&config, config.open_storage_read_only().await?, &args.thread).await?;
    let state = match &args.at {
        None => handle.graph.state(&handle.record.thread).await?,
        Some(checkpoint) => state_at(&handle, checkpoint).await?,
    };
    match out.is_text() {
        true => out.print_result(pretty(&state.values)),
        false => out.json(&state),
    }
    out.print_note(format_args!(
        "step {} · next: {} · {}",
        state.step,
        next_nodes(&state),
        format_timestamp(&state.created_at)
    ));
    Ok(0)
}

/// Returns the state at a checkpoint or superstep number; the newest if there are several.
async fn state_at(handle: &ThreadHandle, checkpoint: &str) -> Result<ThreadState, CliError> {
    let query = HistoryQuery { step: checkpoint.parse().ok(), ..HistoryQuery::default() };
    let states = handle.graph.history(&handle.record.thread, &query).await?;
    let is_match = |state: &ThreadState| query.step.is_some() || state.checkpoint_id.to_string() == checkpoint;
    states.into_iter().find(is_match).ok_or_else(|| {
        let thread = &handle.record.thread;
        CliError::new(ErrorCode::NotFound, format!("thread `{thread}` has no checkpoint `{checkpoint}`"))
            .help(format!("superstep history {}", shell_quote(thread.as_str())))
    })
}

/// Prints the checkpoints of a thread.
pub(crate) async fn history(args: &HistoryArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let config = CliConfig::load(global)?;
    let handle = open_thread(&config, config.open_storage_read_only().await?, &args.thread).await?;
    let query = HistoryQuery { limit: Some(args.limit.unwrap_or(50)), ..HistoryQuery::default() };
    let states = handle.graph.history(&handle.record.thread, &query).await?;
    if !out.is_text() {
        out.json_list(&states);
        return Ok(0);
    }
    for (index, state) in states.iter().enumerate() {
        // The history is the newest first, so each state is compared with the next, older one.
        let changed = changed_fields(state, states.get(index + 1));
        let line = format!("{:>4}  {}  {}", state.step, state.checkpoint_id, format_timestamp(&state.created_at));
        out.print_result(format_args!("{line}  {}", styled(TextStyle::Faint, &format!("next: {}", next_nodes(state)))));
        if !changed.is_empty() {
            out.print_result(format_args!("      {}", truncate(&changed, width().saturating_sub(8))));
        }
    }
    Ok(0)
}

/// Lists the fields that differ from the earlier state, with their values.
fn changed_fields(state: &ThreadState, before: Option<&ThreadState>) -> String {
    let (Some(current), empty) = (state.values.as_object(), Value::Null) else { return String::new() };
    let earlier = before.map_or(&empty, |before| &before.values);
    let fields = current.iter().filter(|(name, value)| earlier.get(name.as_str()) != Some(value) && !value.is_null());
    fields.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
}
