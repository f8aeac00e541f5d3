//! The rule-based parser: confidence, results and questions.

mod cases;
mod clarification;
mod labelled_sentences;
mod languages;
mod misparses;
mod unparsed_words;

use superstep::core::time::Time;
use superstep_scheduler::calendar::CalendarSnapshot;
use superstep_scheduler::parser::{ParseInput, ParsedRequest, parse};
use superstep_scheduler::sample;

/// Parses a sentence of Mom against the full sample calendar.
fn read(text: &str) -> ParsedRequest {
    read_by("mom", text)
}

fn read_by(speaker: &str, text: &str) -> ParsedRequest {
    parse(&ParseInput { text, user_id: speaker, now: sample::now(), snapshot: &sample::family() })
}

fn read_on(snapshot: &CalendarSnapshot, text: &str) -> ParsedRequest {
    parse(&ParseInput { text, user_id: "mom", now: sample::now(), snapshot })
}

fn at(text: &str) -> Time {
    Time::parse(text).expect("a time")
}
