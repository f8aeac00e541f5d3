//! `superstep resume THREAD`: an answer to what it asks, or on from where it stands.

use serde_json::json;
use superstep::Code;
use superstep_server::{Desk, Order, RunStatus, ShownQuestion, What};

use crate::args::{Global, Resume};
use crate::ask;
use crate::failure::{Failure, resume_command};
use crate::local::{Known, known, record};
use crate::log;
use crate::out::Out;
use crate::run::{RunView, WAITING, attend, end};
use crate::setup::Setup;

/// Goes on with a thread.
pub(crate) async fn resume(asked: &Resume, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let mut setup = Setup::load(global)?;
    let config = setup.look().await?;
    let record = record(&Desk::open([], config.clone())?, &asked.thread).await?;
    setup.assist(&asked.own, &record.graph).await?;
    setup.move_in(&asked.household, &record.graph);
    let known = known(&setup, config, &asked.thread).await?;
    let Some(what) = what(&known, asked.answer.as_deref(), out).await? else { return Ok(WAITING) };
    let record = &known.record;
    let order = Order::new(&record.graph, &record.thread, what).options(record.options.clone());
    let mut view = RunView::new(asked.stream, &known.served.drawing(), *out);
    let done = attend(&known.desk, order, &mut view, out).await?;
    end(done, asked.stream, out)
}

/// What the run begins with; nothing when it has to wait for an answer that nobody gives now.
async fn what(known: &Known, answer: Option<&str>, out: &Out) -> Result<Option<What>, Failure> {
    let Known { record, served, desk } = known;
    if served.status(&record.thread).await?.is_none() {
        // It died before anything was saved: it begins again with what was asked of it.
        let run = desk.run(record.run).await?;
        return run.map(|run| Some(run.order.what)).ok_or_else(|| nothing(known, "nothing is saved of it"));
    }
    let state = served.state(&record.thread).await?;
    let questions: Vec<ShownQuestion> = state.questions().cloned().collect();
    match answer {
        Some(_) if questions.is_empty() => {
            let failure = Failure::new(Code::InvalidResume, format!("thread `{}` asks nothing", record.thread));
            Err(failure.help(format!("go on without an answer: {}", resume_command(&record.thread))))
        }
        Some(answer) => ask::answers(&questions, answer).map(|answers| Some(What::Answer(answers))),
        None if !questions.is_empty() => wait(known, &questions, out).await,
        None if is_over(&state.next, record.status) => Err(nothing(known, "it has ended")),
        None => Ok(Some(What::GoOn)),
    }
}

async fn wait(known: &Known, questions: &[ShownQuestion], out: &Out) -> Result<Option<What>, Failure> {
    let answers = if out.can_ask() { ask::ask(questions, out).await? } else { None };
    if answers.is_none() {
        let thread = &known.record.thread;
        match out.is_text() {
            true => questions.iter().for_each(|question| ask::show(question, out)),
            false => out.json(&json!({ "thread": thread, "status": known.record.status, "questions": questions })),
        }
        out.note(format_args!("go on: {} --answer JSON", resume_command(thread)));
    }
    Ok(answers.map(What::Answer))
}

/// Whether nothing is left to do. A run that did not end may have died before its input was saved; then the thread stands
/// where the run before it ended.
fn is_over(due: &[String], status: RunStatus) -> bool {
    let can_go_on =
        matches!(status, RunStatus::Failed | RunStatus::Running | RunStatus::Suspended | RunStatus::Interrupted);
    due.is_empty() && !can_go_on
}

fn nothing(known: &Known, why: &str) -> Failure {
    let (thread, graph) = (&known.record.thread, &known.record.graph);
    Failure::new(Code::InvalidResume, format!("thread `{thread}` has nothing to go on with: {why}"))
        .help(format!("give it a new input: superstep run {graph} --thread {thread} --input JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-CLI-4: a run that did not end can go on, also where nothing is due: its input may not have been saved.
    #[test]
    fn only_what_ended_is_over() {
        for status in [RunStatus::Running, RunStatus::Suspended, RunStatus::Interrupted, RunStatus::Failed] {
            assert!(!is_over(&[], status), "{status:?}");
        }
        assert!(is_over(&[], RunStatus::Finished) && is_over(&[], RunStatus::Stopped));
        assert!(!is_over(&["say".to_owned()], RunStatus::Stopped));
    }
}
