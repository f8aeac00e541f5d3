//! `superstep eval`: how good an application is at its sample, as a score and a table. Here the suggestions agent.

use superstep_suggestions::eval::{Row, Score, eval as score_of};

use crate::args::{Eval, EvalWhat, Global, Looking};
use crate::failure::Failure;
use crate::log;
use crate::out::{Out, Tone, toned};
use crate::words::{columns, cut, padded, width};

mod assistant;
mod scheduler;

/// How a process ends whose score is below the bar.
const BELOW: u8 = 1;
/// So many of the questions must be right, and so many better than without expansion.
const BAR: (usize, usize) = (20, 5);

/// Asks the questions of the sample; gives the exit code.
pub(crate) async fn eval(asked: &Eval, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    match asked.what {
        EvalWhat::Suggestions => suggestions(global, out).await,
        EvalWhat::Assistant => assistant::assistant(out).await,
        EvalWhat::Scheduler => scheduler::scheduler(out),
    }
}

async fn suggestions(global: &Global, out: &Out) -> Result<u8, Failure> {
    let mut settings = Looking::default().settings(global.offline)?;
    settings.posts = None;
    let score = score_of(&settings.open().await?).await?;
    let is_enough = score.right >= BAR.0 && score.better_than_plain >= BAR.1;
    match out.is_text() {
        true => show(&score, is_enough, out),
        false => out.json(&score),
    }
    Ok(if is_enough { 0 } else { BELOW })
}

fn show(score: &Score, is_enough: bool, out: &Out) {
    let Score { right, of, plain_right, better_than_plain, worse_than_plain, .. } = score;
    let widest = score.rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    out.result(format!("{}  place  plain  question", padded("", widest)));
    score.rows.iter().for_each(|row| out.result(line(row, widest)));
    out.result(format!(
        "\n{right} of {of} right, {plain_right} with the plain question; {better_than_plain} better, {worse_than_plain} worse"
    ));
    let (tone, word) = if is_enough { (Tone::Good, "enough") } else { (Tone::Bad, "too few") };
    out.note(format_args!("{}: the bar is {} right and {} better", toned(tone, word), BAR.0, BAR.1));
}

fn line(row: &Row, widest: usize) -> String {
    let place = |place: Option<usize>| place.map_or_else(|| "-".to_owned(), |place| place.to_string());
    let (id, room) = (padded(&row.id, widest), width().saturating_sub(widest + 16));
    format!("{id}  {:>5}  {:>5}  {}", place(row.place), place(row.plain_place), cut(&row.question, room))
}
