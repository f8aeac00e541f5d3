//! Evaluation of the scheduler: sentences with known meaning, parsed by rules.

use superstep_scheduler::eval::{CONFIDENCE_THRESHOLD, EvalAspect, ParseEvalRow, ParseEvalScore, eval, sentences};

use super::EXIT_BELOW_THRESHOLD;
use crate::error::CliError;
use crate::output::{Output, TextStyle, styled};
use crate::text::{columns, padded, truncate, width};

pub(super) fn scheduler(out: &Output) -> Result<u8, CliError> {
    let score = eval(&sentences()?)?;
    let is_enough = score.passes();
    match out.is_text() {
        true => print_score(&score, is_enough, out),
        false => out.json(&score),
    }
    Ok(if is_enough { 0 } else { EXIT_BELOW_THRESHOLD })
}

fn print_score(score: &ParseEvalScore, is_enough: bool, out: &Output) {
    let ParseEvalScore { total, right, intent, time, names, event, title, confident_errors, rows } = score;
    let widest = rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    rows.iter().for_each(|row| out.print_result(format_row(row, widest)));
    out.print_result(format!("\n{right} of {total} understood, {confident_errors} wrong with high confidence"));
    out.print_result(format!(
        "intent {intent}, date and time {time}, people and resources {names}, event {event}, title {title}"
    ));
    let (style, result) = if is_enough { (TextStyle::Good, "passed") } else { (TextStyle::Bad, "failed") };
    let minimum =
        "the minimum is intent 97 %, date and time 95 %, people and resources 95 %, none wrong with high confidence";
    out.print_note(format_args!("{}: {minimum}", styled(style, result)));
}

fn format_row(row: &ParseEvalRow, widest: usize) -> String {
    let text_width = width().saturating_sub(widest + 16);
    format!(
        "{}  {:<5}  {:.2}  {}",
        padded(&row.id, widest),
        result_name(row),
        row.confidence,
        truncate(&row.text, text_width)
    )
}

/// Returns the verdict on a sentence as the score counts it: a different title alone is not an error.
fn result_name(row: &ParseEvalRow) -> &'static str {
    let is_right = row.mismatches.keys().all(|aspect| *aspect == EvalAspect::Title);
    match (is_right, row.known_gap.is_some(), row.confidence >= CONFIDENCE_THRESHOLD) {
        (true, _, _) => "right",
        (false, true, _) => "gap",
        // An uncertain parse leads to a question, not to a wrong event.
        (false, false, false) => "asked",
        (false, false, true) => "WRONG",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-103: the verdict of a sentence agrees with the score.
    #[test]
    fn the_verdict_agrees_with_the_score() {
        let rows = [
            (vec![], 0.95, "right"),
            (vec![EvalAspect::Title], 0.95, "right"),
            (vec![EvalAspect::Time], 0.6, "asked"),
            (vec![EvalAspect::Time, EvalAspect::Title], 0.95, "WRONG"),
        ];
        for (aspects, confidence, expected) in rows {
            let mismatches = aspects.into_iter().map(|aspect| (aspect, String::new())).collect();
            let row = ParseEvalRow {
                id: "s001".to_owned(),
                text: "Soccer".to_owned(),
                confidence,
                mismatches,
                known_gap: None,
            };
            assert_eq!(result_name(&row), expected, "{row:?}");
        }
    }
}
