//! `cargo xtask tidy`: checks the project rules that the compiler cannot check.
//!
//! Each rule is a pure function from files or Cargo's output to a list of problems, and has a test in which it reports
//! one. A problem names the file and the reason. Rules never change files.

mod architecture;
mod book;
mod commits;
mod dependencies;
mod files;
mod language;
mod readme;
mod supply;

use std::collections::BTreeSet;

use commits::History;
use serde_json::Value;

use crate::workspace::{File, WEIGHTS, Workspace};

/// Help text of the command.
pub(crate) const HELP: &str = "Check the project rules: architecture, names, files, documents, dependencies, commits";

/// Crates that must not be in the dependency tree of `superstep-core`.
const CORE_FORBIDDEN_CRATES: [&str; 7] = ["tokio", "rusqlite", "reqwest", "axum", "rand", "tokio-postgres", "hyper"];

/// Crates that only the workspace of `superstep-weights` builds.
const WEIGHTS_ONLY_CRATES: [&str; 4] = ["candle-core", "superstep-weights", "superstep-weights-cli", "tokenizers"];

/// Crates of this project that `superstep-weights-cli` may use.
const WEIGHTS_CLI_CRATES: [&str; 2] = ["superstep-cli", "superstep-weights"];

/// Title of the rule for commit subjects.
const COMMITS: &str = "commit subjects have an area and at most 72 characters";

/// Input of the rules.
struct TidyInput {
    files: Vec<File>,
    history: History,
    metadata: Value,
    weights: Value,
    core_tree: BTreeSet<String>,
    whole_tree: BTreeSet<String>,
}

/// Checks all rules and prints their problems.
///
/// # Errors
/// Returns an error if there are arguments, the files or Cargo's output cannot be read, or a rule is violated.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `tidy` takes none", arguments.join(" ")));
    }
    let input = TidyInput {
        files: workspace.files()?,
        history: History::read(workspace),
        metadata: workspace.metadata()?,
        weights: workspace.metadata_of(WEIGHTS)?,
        core_tree: workspace.tree(&["--package", "superstep-core", "--edges", "normal"])?,
        whole_tree: workspace.tree(&["--workspace", "--all-features", "--edges", "normal,build"])?,
    };
    let mut problem_count = 0;
    for (name, problems) in check(&input).into_iter().chain(language::check(&input.files)) {
        if problems.is_empty() {
            println!("ok    {name}");
        }
        for problem in &problems {
            println!("FAIL  {name}: {problem}");
        }
        problem_count += problems.len();
    }
    if let Some(note) = input.history.note() {
        println!("note  {COMMITS}: {note}");
    }
    match problem_count {
        0 => Ok(()),
        1 => Err("tidy found 1 problem".into()),
        _ => Err(format!("tidy found {problem_count} problems")),
    }
}

/// Returns the title and the problems of every rule except the language rules.
fn check(input: &TidyInput) -> Vec<(&'static str, Vec<String>)> {
    let files = &input.files[..];
    let metadata = &input.metadata;
    vec![
        (
            "superstep-core depends on no runtime, I/O or randomness",
            dependencies::forbidden_crates("superstep-core", &input.core_tree, &CORE_FORBIDDEN_CRATES),
        ),
        ("superstep-core depends on no workspace crate", dependencies::uses_only(metadata, "superstep-core", &[])),
        ("superstep-macros depends on no workspace crate", dependencies::uses_only(metadata, "superstep-macros", &[])),
        (
            "superstep-adapters depends only on superstep-core",
            dependencies::uses_only(metadata, "superstep-adapters", &["superstep-core"]),
        ),
        (
            "superstep-weights depends only on superstep-core",
            dependencies::uses_only(&input.weights, "superstep-weights", &["superstep-core"]),
        ),
        (
            "superstep-weights-cli depends only on superstep-cli and superstep-weights",
            dependencies::uses_only(&input.weights, "superstep-weights-cli", &WEIGHTS_CLI_CRATES),
        ),
        (
            "the workspace does not depend on local weights",
            dependencies::forbidden_crates("the workspace", &input.whole_tree, &WEIGHTS_ONLY_CRATES),
        ),
        ("superstep-core has no async code outside of ports", architecture::pure_modules(files)),
        ("there is one run loop", architecture::one_loop(files)),
        ("only adapters and applications contain SQL", architecture::sql_outside_adapters(files)),
        ("the checkpoint format version is defined once", architecture::one_format_version(files)),
        ("agents use public API only", architecture::agents_use_public_api(files)),
        ("no unsafe code", architecture::no_unsafe(files)),
        ("source files have specific names and at most 800 lines", files::names_and_sizes(files)),
        ("every source file starts with a module comment", files::missing_module_comments(files)),
        ("no ignored tests or examples, no TODO comments", files::leftovers(files)),
        ("each crate has one integration test binary", [metadata, &input.weights].map(files::test_binaries).concat()),
        ("no URLs of package registries", files::registry_addresses(files)),
        ("the changelog has an unreleased section", files::changelog(files)),
        ("every error code has a page in the book", book::error_pages(files)),
        ("generated blocks match their data", crate::book::problems(files)),
        ("the README has two commands and the first example", readme::check(files)),
        ("no banned dependency versions", supply::banned_versions(files)),
        (
            "dependency licences are allowed",
            [metadata, &input.weights].map(|metadata| supply::licences(files, metadata)).concat(),
        ),
        ("dependencies come from the registry, and their number is limited", supply::sources(files, &input.whole_tree)),
        (COMMITS, input.history.problems()),
    ]
}
