//! The rule-based parser: how sure it is, what it understands, and what it asks back.

mod asking;
mod cases;
mod languages;
mod left;
mod misheard;
mod score;

use superstep::core::time::Time;
use superstep_scheduler::calendar::Board;
use superstep_scheduler::parser::{Request, Understood, parse};
use superstep_scheduler::sample;

/// What Mom says to the family with a full calendar.
fn read(text: &str) -> Understood {
    read_by("mom", text)
}

fn read_by(speaker: &str, text: &str) -> Understood {
    parse(&Request { text, speaker, now: sample::now(), board: &sample::family() })
}

fn read_on(board: &Board, text: &str) -> Understood {
    parse(&Request { text, speaker: "mom", now: sample::now(), board })
}

fn at(text: &str) -> Time {
    Time::parse(text).expect("a time")
}
