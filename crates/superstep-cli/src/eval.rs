//! `superstep eval`: scores an application on its labelled sample. The suggestions agent is evaluated here, the
//! others in their own files.

use superstep_suggestions::eval::{SearchEvalRow, SearchEvalScore, eval as evaluate};

use crate::args::{EvalArgs, EvalTarget, GlobalArgs, SuggestionSourceArgs};
use crate::error::CliError;
use crate::log;
use crate::output::{Output, TextStyle, styled};
use crate::text::{columns, padded, truncate, width};

mod assistant;
mod scheduler;

/// Exit code if the score is below the threshold.
const EXIT_BELOW_THRESHOLD: u8 = 1;
/// Minimum number of correct questions.
const MIN_CORRECT: usize = 20;
/// Minimum number of questions improved by query expansion.
const MIN_IMPROVED: usize = 5;

/// Evaluates an application on its sample; returns the exit code.
pub(crate) async fn eval(args: &EvalArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    match args.target {
        EvalTarget::Suggestions => suggestions(global, out).await,
        EvalTarget::Assistant => assistant::assistant(out).await,
        EvalTarget::Scheduler => scheduler::scheduler(out),
    }
}

async fn suggestions(global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let mut settings = SuggestionSourceArgs::default().settings(global.offline)?;
    settings.posts = None;
    let score = evaluate(&settings.open().await?).await?;
    let is_enough = score.correct >= MIN_CORRECT && score.improved >= MIN_IMPROVED;
    match out.is_text() {
        true => print_score(&score, is_enough, out),
        false => out.json(&score),
    }
    Ok(if is_enough { 0 } else { EXIT_BELOW_THRESHOLD })
}

fn print_score(score: &SearchEvalScore, is_enough: bool, out: &Output) {
    let SearchEvalScore { correct, total, baseline_correct, improved, regressed, .. } = score;
    let widest = score.rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    out.print_result(format!("{}   rank  plain  question", padded("", widest)));
    score.rows.iter().for_each(|row| out.print_result(format_row(row, widest)));
    out.print_result(format!(
        "\n{correct} of {total} correct, {baseline_correct} without query expansion; \
         {improved} better, {regressed} worse"
    ));
    let (style, result) = if is_enough { (TextStyle::Good, "passed") } else { (TextStyle::Bad, "failed") };
    out.print_note(format_args!(
        "{}: the minimum is {MIN_CORRECT} correct and {MIN_IMPROVED} better",
        styled(style, result)
    ));
}

fn format_row(row: &SearchEvalRow, widest: usize) -> String {
    let rank = |rank: Option<usize>| rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    let (id, text_width) = (padded(&row.id, widest), width().saturating_sub(widest + 16));
    format!("{id}  {:>5}  {:>5}  {}", rank(row.rank), rank(row.unexpanded_rank), truncate(&row.question, text_width))
}
