//! Measures redaction of digits, of prose, and of JSON with a few secrets. Run:
//! `cargo run --release --example redact`.

use std::hint::black_box;
use std::time::Instant;

use superstep_core::redaction::Redaction;

fn main() {
    let digits = format!("result for query: {}", "0123456789".repeat(360)).repeat(10);
    let prose = "The quick brown fox jumps over the lazy dog. It costs 12.50 and took 3 days. ".repeat(470);
    let json = r#"{"id": 17, "at": "2026-11-16T01:34:52Z", "name": "Ada", "mail": "ada@example.com"}, "#.repeat(430);
    let redaction = Redaction::default();
    for (name, text) in [("digits", digits), ("prose", prose), ("json", json)] {
        let round = || {
            let started_at = Instant::now();
            (0..20).for_each(|_| drop(black_box(redaction.redact_text(black_box(&text)))));
            started_at.elapsed().as_secs_f64() * 1e6 / 20.0
        };
        // Takes the fastest of 200 rounds, because other programs on the machine slow the rest down.
        let micros = (0..200).map(|_| round()).fold(f64::INFINITY, f64::min);
        println!("{name}: {} bytes, {micros:.2} us", text.len());
    }
}
