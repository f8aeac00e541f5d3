//! `superstep threads`, `state`, `history`: what is kept of threads.

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{Code, HistoryQuery};
use superstep_server::{Desk, RecordsQuery, Shown, ThreadRecord};

use crate::args::{Global, History, State, Threads, ThreadsList, ThreadsWhat};
use crate::ask;
use crate::failure::Failure;
use crate::local::{Known, known, record};
use crate::out::{Out, Tone, toned};
use crate::setup::Setup;
use crate::words::{columns, count, cut, moment, one_line, padded, pretty, quoted, width};

/// Lists threads, shows one, removes some.
pub(crate) async fn threads(asked: &Threads, global: &Global, out: &Out) -> Result<u8, Failure> {
    let setup = Setup::load(global)?;
    match &asked.what {
        None => list(&Desk::open([], setup.look().await?)?, &asked.list, out).await,
        Some(ThreadsWhat::List(wanted)) => list(&Desk::open([], setup.look().await?)?, wanted, out).await,
        Some(ThreadsWhat::Show { thread }) => show(&setup, thread, out).await,
        Some(ThreadsWhat::Rm { threads, yes }) => {
            let desk = Desk::open([], setup.look().await?)?;
            remove(&desk, threads, *yes, out).await
        }
    }
}

async fn list(desk: &Desk, wanted: &ThreadsList, out: &Out) -> Result<u8, Failure> {
    let (graph, words) = (wanted.graph.clone(), wanted.words.clone());
    let query = RecordsQuery { graph, words, limit: Some(wanted.limit.unwrap_or(20)), ..RecordsQuery::default() };
    let records = desk.records(&query).await?;
    if !out.is_text() {
        out.json_list(&records);
        return Ok(0);
    }
    if records.is_empty() {
        out.note("no threads yet: superstep run GRAPH makes one");
    }
    let widest = |of: fn(&ThreadRecord) -> usize| records.iter().map(of).max().unwrap_or(0);
    let (threads, graphs) = (widest(|it| columns(it.thread.as_str())), widest(|it| columns(&it.graph)));
    for record in &records {
        let (thread, graph) = (padded(record.thread.as_str(), threads), padded(&one_line(&record.graph), graphs));
        let status = padded(&status(record), 11);
        let line = format!("{thread}  {graph}  {status}  {}", moment(&record.updated_at));
        let room = width().saturating_sub(columns(&line) + 2).max(10);
        let title = record.title.as_deref().map(|title| format!("  {}", cut(title, room))).unwrap_or_default();
        out.result(format!("{line}{title}").trim_end());
    }
    Ok(0)
}

/// How the last run of a thread stands, in a word.
fn status(record: &ThreadRecord) -> String {
    let status = serde_json::to_value(record.status).unwrap_or_default();
    status.as_str().unwrap_or_default().to_owned()
}

async fn show(setup: &Setup, thread: &str, out: &Out) -> Result<u8, Failure> {
    let Known { record, served, .. } = known(setup, setup.look().await?, thread).await?;
    let state = match served.status(&record.thread).await? {
        Some(_) => Some(served.state(&record.thread).await?),
        None => None,
    };
    if !out.is_text() {
        out.json(&json!({ "thread": record, "state": state }));
        return Ok(0);
    }
    // Titles, failures and questions are what somebody else wrote.
    let row = |name: &str, value: &str| out.result(format_args!("{}  {}", padded(name, 10), one_line(value)));
    row("thread", record.thread.as_str());
    row("graph", &record.graph);
    row("status", &status(&record));
    row("begun", &moment(&record.created_at));
    row("changed", &moment(&record.updated_at));
    record.title.iter().for_each(|title| row("title", title));
    if let Some(failure) = &record.failure {
        row("failed", &format!("[{}] {}", failure.code, failure.message));
    }
    let Some(state) = state else { return Ok(0) };
    row("superstep", &state.step.to_string());
    row("due", &due(&state));
    for question in state.questions() {
        row("asks", ask::text(question));
    }
    Ok(0)
}

fn due(state: &Shown) -> String {
    if state.next.is_empty() { "nothing".to_owned() } else { one_line(&state.next.join(", ")) }
}

async fn remove(desk: &Desk, threads: &[String], yes: bool, out: &Out) -> Result<u8, Failure> {
    for thread in threads {
        record(desk, thread).await?;
    }
    if !yes {
        if !out.can_ask() {
            let words: Vec<String> = threads.iter().map(|thread| quoted(thread)).collect();
            return Err(Failure::usage("removing threads cannot be taken back, and nobody can be asked")
                .help(format!("superstep threads rm --yes {}", words.join(" "))));
        }
        let number = u64::try_from(threads.len()).unwrap_or(u64::MAX);
        if !ask::confirm(&format!("remove {} for good?", count(number, "thread")), out).await? {
            return Ok(1);
        }
    }
    for thread in threads {
        desk.forget(&ThreadId::from(thread.as_str())).await?;
        out.note(format_args!("removed {thread}"));
    }
    if !out.is_text() {
        out.json_list(threads);
    }
    Ok(0)
}

/// Shows the state of a thread.
pub(crate) async fn state(asked: &State, global: &Global, out: &Out) -> Result<u8, Failure> {
    let setup = Setup::load(global)?;
    let known = known(&setup, setup.look().await?, &asked.thread).await?;
    let state = match &asked.at {
        None => known.served.state(&known.record.thread).await?,
        Some(at) => state_at(&known, at).await?,
    };
    match out.is_text() {
        true => out.result(pretty(&state.values)),
        false => out.json(&state),
    }
    out.note(format_args!("step {} · due: {} · {}", state.step, due(&state), moment(&state.created_at)));
    Ok(0)
}

/// A state by its checkpoint or by the number of its superstep; the newest where there are several.
async fn state_at(known: &Known, at: &str) -> Result<Shown, Failure> {
    let query = HistoryQuery { step: at.parse().ok(), ..HistoryQuery::default() };
    let states = known.served.history(&known.record.thread, &query).await?;
    let is_meant = |state: &Shown| query.step.is_some() || state.checkpoint_id.to_string() == at;
    states.into_iter().find(is_meant).ok_or_else(|| {
        let thread = &known.record.thread;
        Failure::new(Code::NotFound, format!("thread `{thread}` has no checkpoint `{at}`"))
            .help(format!("superstep history {}", quoted(thread.as_str())))
    })
}

/// Shows every checkpoint of a thread.
pub(crate) async fn history(asked: &History, global: &Global, out: &Out) -> Result<u8, Failure> {
    let setup = Setup::load(global)?;
    let known = known(&setup, setup.look().await?, &asked.thread).await?;
    let query = HistoryQuery { limit: Some(asked.limit.unwrap_or(50)), ..HistoryQuery::default() };
    let states = known.served.history(&known.record.thread, &query).await?;
    if !out.is_text() {
        out.json_list(&states);
        return Ok(0);
    }
    for (at, state) in states.iter().enumerate() {
        // The history is the newest first, so what a superstep changed is what the older one after it lacks.
        let changed = changed(state, states.get(at + 1));
        let line = format!("{:>4}  {}  {}", state.step, state.checkpoint_id, moment(&state.created_at));
        out.result(format_args!("{line}  {}", toned(Tone::Faint, &format!("due: {}", due(state)))));
        if !changed.is_empty() {
            out.result(format_args!("      {}", cut(&changed, width().saturating_sub(8))));
        }
    }
    Ok(0)
}

/// The fields that differ from the state before, with their values.
fn changed(state: &Shown, before: Option<&Shown>) -> String {
    let (Some(now), empty) = (state.values.as_object(), Value::Null) else { return String::new() };
    let earlier = before.map_or(&empty, |before| &before.values);
    let fields = now.iter().filter(|(name, value)| earlier.get(name.as_str()) != Some(value) && !value.is_null());
    fields.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
}
