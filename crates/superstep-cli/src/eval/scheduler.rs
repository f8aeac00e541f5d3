//! The scheduler: sentences with known meaning, read by rules.

use superstep_scheduler::eval::{Aspect, Row, SURE, Score, eval, sentences};

use super::BELOW;
use crate::failure::Failure;
use crate::out::{Out, Tone, toned};
use crate::words::{columns, cut, padded, width};

pub(super) fn scheduler(out: &Out) -> Result<u8, Failure> {
    let score = eval(&sentences()?)?;
    let is_enough = score.is_enough();
    match out.is_text() {
        true => show(&score, is_enough, out),
        false => out.json(&score),
    }
    Ok(if is_enough { 0 } else { BELOW })
}

fn show(score: &Score, is_enough: bool, out: &Out) {
    let Score { of, right, intent, time, names, event, title, wrong_and_sure, rows } = score;
    let widest = rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    rows.iter().for_each(|row| out.result(line(row, widest)));
    out.result(format!("\n{right} of {of} understood, {wrong_and_sure} wrong and sure"));
    out.result(format!(
        "intent {intent}, date and time {time}, people and things {names}, event {event}, title {title}"
    ));
    let (tone, word) = if is_enough { (Tone::Good, "enough") } else { (Tone::Bad, "too few") };
    let bar = "the bar is intent 97 %, date and time 95 %, people and things 95 %, none wrong and sure";
    out.note(format_args!("{}: {bar}", toned(tone, word)));
}

fn line(row: &Row, widest: usize) -> String {
    let room = width().saturating_sub(widest + 16);
    format!("{}  {:<5}  {:.2}  {}", padded(&row.id, widest), verdict(row), row.confidence, cut(&row.text, room))
}

/// What became of a sentence, as the score counts it: a title alone is a matter of taste.
fn verdict(row: &Row) -> &'static str {
    let is_right = row.wrong.keys().all(|aspect| *aspect == Aspect::Title);
    match (is_right, row.known_gap.is_some(), row.confidence >= SURE) {
        (true, _, _) => "right",
        (false, true, _) => "gap",
        // What is not sure is asked about.
        (false, false, false) => "asked",
        (false, false, true) => "WRONG",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FAM-103: the word beside a sentence agrees with the count below.
    #[test]
    fn a_title_alone_is_not_wrong() {
        let rows = [
            (vec![], 0.95, "right"),
            (vec![Aspect::Title], 0.95, "right"),
            (vec![Aspect::Time], 0.6, "asked"),
            (vec![Aspect::Time, Aspect::Title], 0.95, "WRONG"),
        ];
        for (wrong, confidence, expected) in rows {
            let wrong = wrong.into_iter().map(|aspect| (aspect, String::new())).collect();
            let row = Row { id: "s001".to_owned(), text: "Soccer".to_owned(), confidence, wrong, known_gap: None };
            assert_eq!(verdict(&row), expected, "{row:?}");
        }
    }
}
