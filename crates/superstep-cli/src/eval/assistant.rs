//! Evaluation of the assistant: 60 questions about a shop, answered by the rule-based model.

use std::path::Path;

use superstep_assistant::eval::{AnswerEvalRow, AnswerEvalScore, Grade, eval, questions};
use superstep_assistant::sample::unpack;

use super::EXIT_BELOW_THRESHOLD;
use crate::cli_config::ASSISTANT_FOLDER;
use crate::error::CliError;
use crate::output::{Output, TextStyle, styled};
use crate::text::{columns, padded, truncate, width};

/// Minimum number of correct answers; wrong answers are not permitted at all.
const MIN_CORRECT: usize = 45;

pub(super) async fn assistant(out: &Output) -> Result<u8, CliError> {
    let folder = Path::new(ASSISTANT_FOLDER);
    unpack(folder)?;
    let score = eval(folder, &questions()?).await?;
    let is_enough = score.correct >= MIN_CORRECT && score.incorrect == 0;
    match out.is_text() {
        true => print_score(&score, is_enough, out),
        false => out.json(&score),
    }
    Ok(if is_enough { 0 } else { EXIT_BELOW_THRESHOLD })
}

fn print_score(score: &AnswerEvalScore, is_enough: bool, out: &Output) {
    let AnswerEvalScore { correct, incorrect, unknown, total, rows } = score;
    let widest = rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    rows.iter().for_each(|row| out.print_result(format_row(row, widest)));
    out.print_result(format!(
        "\n{correct} of {total} correct, {incorrect} wrong with high confidence, {unknown} not answered"
    ));
    let (style, result) = if is_enough { (TextStyle::Good, "passed") } else { (TextStyle::Bad, "failed") };
    out.print_note(format_args!("{}: the minimum is {MIN_CORRECT} correct and none wrong", styled(style, result)));
}

fn format_row(row: &AnswerEvalRow, widest: usize) -> String {
    let grade_name = match row.grade {
        Grade::Correct => "correct",
        Grade::Incorrect => "WRONG",
        Grade::Unknown => "unknown",
    };
    let text_width = width().saturating_sub(widest + 11);
    format!("{}  {grade_name:<7}  {}", padded(&row.id, widest), truncate(&row.question, text_width))
}
