//! Checks the README: it has two commands and a short program that is identical to an example, so that it compiles.
//!
//! Also finds the fenced blocks of Markdown texts for other rules.

use crate::workspace::File;

const README: &str = "README.md";
const EXAMPLE: &str = "examples/01_story.rs";
const MAX_PROGRAM_LINES: usize = 30;

/// A fenced block of Markdown.
pub(super) struct Fence<'a> {
    /// Line number of the opening fence, from 1.
    pub(super) line: usize,
    /// Text after the opening fence.
    pub(super) info: &'a str,
    /// Lines between the fences.
    pub(super) lines: Vec<&'a str>,
}

/// Returns the fenced blocks of a text, in order.
pub(super) fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences: Vec<Fence<'_>> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(info) => {
                is_open = true;
                fences.push(Fence { line: index + 1, info: info.trim(), lines: Vec::new() });
            }
            None if is_open => fences.last_mut().expect("a block is open").lines.push(line),
            None => {}
        }
    }
    fences
}

/// Returns the problems of the README.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let Some(readme) = text(README) else { return vec!["README.md is missing".into()] };
    let fences = fences(readme);
    let mut problems = commands(&fences);
    let program = fences.iter().find(|fence| fence.info.split(',').next() == Some("rust"));
    match (program, text(EXAMPLE)) {
        (Some(program), example) => problems.extend(first_program(&program.lines, example)),
        (None, _) => problems.push("README.md has no ```rust block".into()),
    }
    problems
}

fn commands(fences: &[Fence<'_>]) -> Vec<String> {
    let shell = fences.iter().filter(|fence| ["sh", "bash", "shell", "console"].contains(&fence.info));
    let lines = shell.flat_map(|fence| &fence.lines).map(|line| line.trim().trim_start_matches("$ "));
    let commands: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    match commands[..] {
        [run, "cargo xtask test"] if run.starts_with("cargo run") => Vec::new(),
        _ => vec![format!(
            "README.md must have the commands `cargo run ..` and `cargo xtask test`, and has {commands:?}"
        )],
    }
}

fn first_program(program: &[&str], example: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    if program.len() > MAX_PROGRAM_LINES {
        problems.push(format!(
            "the first program of README.md has {} lines; {MAX_PROGRAM_LINES} is the limit",
            program.len()
        ));
    }
    if let Some(example) = example {
        // The module comment of the example is not part of the README.
        let opening = example.lines().take_while(|line| line.starts_with("//!")).count();
        let without = example.lines().skip(opening).skip_while(|line| line.is_empty());
        if !program.iter().copied().eq(example.lines()) && !program.iter().copied().eq(without) {
            problems.push(format!("the first program of README.md is not {EXAMPLE}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "```sh\ncargo run\n```\n```sh\ncargo xtask test\n```\n```rust\nfn main() {}\n```\n";

    fn problems(readme: &str, example: &str) -> Vec<String> {
        check(&[File::fake(README, readme), File::fake(EXAMPLE, example)])
    }

    #[test]
    fn a_missing_readme_is_reported() {
        assert_eq!(check(&[]), ["README.md is missing"]);
        assert!(check(&[File::fake(README, GOOD)]).is_empty());
    }

    #[test]
    fn commands_other_than_the_two_are_rejected() {
        assert_eq!(problems(&GOOD.replace("cargo run\n", "cargo run\nnpm install\n"), "fn main() {}\n").len(), 1);
        assert_eq!(problems(&GOOD.replace("cargo xtask test", "make"), "fn main() {}\n").len(), 1);
    }

    #[test]
    fn the_first_program_is_short_and_is_the_example() {
        assert!(problems(GOOD, "fn main() {}\n").is_empty());
        assert!(problems(GOOD, "//! Why.\n\nfn main() {}\n").is_empty());
        let other = ["the first program of README.md is not examples/01_story.rs"];
        assert_eq!(problems(GOOD, "fn main() { other() }\n"), other);
        let long = "x();\n".repeat(31);
        let readme = GOOD.replace("fn main() {}\n", &long);
        assert_eq!(problems(&readme, &long), ["the first program of README.md has 31 lines; 30 is the limit"]);
        assert_eq!(problems(&GOOD.replace("```rust", "```text"), "").len(), 1);
    }
}
