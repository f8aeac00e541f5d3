//! Counts of passed, failed and skipped tests of `cargo xtask test`, and its final summary.
//!
//! A test that did not run counts as skipped and has a line that says why; it never counts as passed.

use std::fmt::Write as _;

/// Tests or a step that did not run, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) part: String,
    pub(crate) reason: String,
}

/// Counts of tests and steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Skipped parts with their reasons; one part may be several tests.
    pub(crate) parts: Vec<Skipped>,
}

impl Tally {
    /// Returns the tally of a step that passed.
    pub(crate) fn passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    /// Returns the tally of a step that failed.
    pub(crate) fn failed() -> Self {
        Self { failed: 1, ..Self::default() }
    }

    /// Counts a number of tests or steps as skipped.
    pub(crate) fn skip(&mut self, number: u64, part: &str, reason: impl Into<String>) {
        self.skipped += number;
        self.parts.push(Skipped { part: part.to_owned(), reason: reason.into() });
    }

    /// Adds the counts of another tally.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.parts.extend(other.parts);
    }

    /// Returns one line for each skipped part, and the counts as the last line.
    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        for Skipped { part, reason } in &self.parts {
            // Line breaks of the reason become spaces.
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "skipped: {part}: {reason}");
        }
        let Self { passed, failed, skipped, .. } = self;
        text + &format!("{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Parses the summary line of `cargo nextest run`. Tests that were not started after a failure count as skipped.
///
/// # Errors
/// Returns an error if there is no summary line or its format is unknown.
pub(crate) fn parse_nextest_summary(printed: &str) -> Result<Tally, String> {
    let printed = without_colours(printed);
    // For example `Summary [   0.272s] 55 tests run: 54 passed (1 slow), 1 failed, 3 skipped`.
    let line = printed.lines().rev().find(|line| line.trim_start().starts_with("Summary ["));
    let line = line.ok_or("`cargo nextest run` printed no summary")?;
    let invalid = || format!("the summary of `cargo nextest run` cannot be read: {line}");
    let (run, counts) = line.split_once(" run: ").ok_or_else(invalid)?;
    let run = run.split_once(']').and_then(|(_, run)| run.split_whitespace().next()).ok_or_else(invalid)?;
    let mut tally = Tally::default();
    for count in without_brackets(counts).split(',') {
        let (number, state) = count.trim().split_once(' ').ok_or_else(invalid)?;
        let number: u64 = number.parse().map_err(|_| invalid())?;
        match state.trim() {
            "passed" => tally.passed += number,
            "skipped" => tally.skipped += number,
            _ => tally.failed += number,
        }
    }
    // `12/55 tests run`: the others were not started.
    if let Some((started, all)) = run.split_once('/') {
        let (started, all): (u64, u64) = (started.parse().map_err(|_| invalid())?, all.parse().map_err(|_| invalid())?);
        tally.skipped += all.saturating_sub(started);
    }
    Ok(tally)
}

/// Returns the number of tests that the filters of `cargo test` left out.
pub(crate) fn filtered_out(printed: &str) -> u64 {
    let results = printed.lines().filter(|line| line.starts_with("test result: "));
    let counts = results.filter_map(|line| line.split(';').find_map(|part| part.trim().strip_suffix(" filtered out")));
    counts.filter_map(|number| number.parse::<u64>().ok()).sum()
}

/// Removes escape sequences that set colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let is_outside = |letter: &char| {
        depth += i32::from(*letter == '(');
        let is_outside = depth == 0;
        depth -= i32::from(*letter == ')');
        is_outside
    };
    text.chars().filter(is_outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped, parts: Vec::new() }
    }

    #[test]
    fn summaries_of_nextest_are_read() {
        for (line, expected) in [
            ("     Summary [   0.272s] 55 tests run: 55 passed, 0 skipped", counts(55, 0, 0)),
            (
                "\u{1b}[31;1m     Summary\u{1b}[0m [   1.5s] \u{1b}[1m9\u{1b}[0m tests run: \u{1b}[1m5\u{1b}[0m passed",
                counts(5, 0, 0),
            ),
            (
                "Summary [ 9s] 9 tests run: 6 passed (1 slow, 1 leaky), 2 failed, 1 timed out, 16 skipped",
                counts(6, 3, 16),
            ),
            ("Summary [ 9s] 4/9 tests run: 3 passed, 1 failed, 2 skipped", counts(3, 1, 7)),
        ] {
            assert_eq!(parse_nextest_summary(&format!("noise\n{line}\n  FAIL x\n")).unwrap(), expected, "{line}");
        }
        assert!(parse_nextest_summary("error: it does not build").is_err());
    }

    #[test]
    fn tests_that_a_filter_left_out_are_counted() {
        let line = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.01s";
        assert_eq!(filtered_out(&format!("{line}\nnoise\n{line}\n")), 6);
        assert_eq!(filtered_out("nothing"), 0);
    }

    #[test]
    fn a_summary_names_what_was_skipped_and_ends_with_the_counts() {
        let mut tally = counts(10, 0, 0);
        tally.skip(16, "Firestore", "there is no\n  jar");
        tally.add(Tally::passed());
        tally.add(Tally::failed());
        assert_eq!(tally.summary(), "skipped: Firestore: there is no jar\n11 passed, 1 failed, 16 skipped");
    }
}
