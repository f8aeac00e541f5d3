//! The assistant: 60 questions about a shop, answered by rules.

use std::path::Path;

use superstep_assistant::eval::{Mark, Row, Score, eval, questions};
use superstep_assistant::sample::unpack;

use super::BELOW;
use crate::failure::Failure;
use crate::out::{Out, Tone, toned};
use crate::setup::ASSISTANT;
use crate::words::{columns, cut, padded, width};

/// So many of the questions must be right, and none wrong.
const BAR: usize = 45;

pub(super) async fn assistant(out: &Out) -> Result<u8, Failure> {
    let folder = Path::new(ASSISTANT);
    unpack(folder)?;
    let score = eval(folder, &questions()?).await?;
    let is_enough = score.right >= BAR && score.wrong == 0;
    match out.is_text() {
        true => show(&score, is_enough, out),
        false => out.json(&score),
    }
    Ok(if is_enough { 0 } else { BELOW })
}

fn show(score: &Score, is_enough: bool, out: &Out) {
    let Score { right, wrong, unknown, of, rows } = score;
    let widest = rows.iter().map(|row| columns(&row.id)).max().unwrap_or(0);
    rows.iter().for_each(|row| out.result(line(row, widest)));
    out.result(format!("\n{right} of {of} right, {wrong} wrong with confidence, {unknown} not known"));
    let (tone, word) = if is_enough { (Tone::Good, "enough") } else { (Tone::Bad, "too few") };
    out.note(format_args!("{}: the bar is {BAR} right and none wrong", toned(tone, word)));
}

fn line(row: &Row, widest: usize) -> String {
    let verdict = match row.verdict {
        Mark::Right => "right",
        Mark::Wrong => "WRONG",
        Mark::Unknown => "unknown",
    };
    let room = width().saturating_sub(widest + 11);
    format!("{}  {verdict:<7}  {}", padded(&row.id, widest), cut(&row.question, room))
}
