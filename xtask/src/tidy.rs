//! `cargo xtask tidy`: the architecture invariants and house rules that the compiler cannot check.
//!
//! Every rule is a pure function from files or Cargo's answers to a list of problems, and has a test that shows it
//! bites. A rule names the file and says what is wrong; it never repairs anything.

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

/// The line of `--help`.
pub(crate) const HELP: &str = "architecture invariants and house rules";

/// Crates that must not be in the dependency tree of the pure crate.
const IMPURE: [&str; 7] = ["tokio", "rusqlite", "reqwest", "axum", "rand", "tokio-postgres", "hyper"];

/// Crates that only the workspace of the weights builds.
const OF_WEIGHTS: [&str; 4] = ["candle-core", "superstep-weights", "superstep-weights-cli", "tokenizers"];

/// Workspace crates that the command line with weights may use.
const WITH_WEIGHTS: [&str; 2] = ["superstep-cli", "superstep-weights"];

/// The rule about commit subjects.
const COMMITS: &str = "commits have short subjects with an area";

/// Input of the rules.
struct Facts {
    files: Vec<File>,
    history: History,
    metadata: Value,
    weights: Value,
    core_tree: BTreeSet<String>,
    whole_tree: BTreeSet<String>,
}

/// Checks every rule.
///
/// # Errors
/// When a rule is broken, after all rules were checked and every problem was printed.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `tidy` takes none", arguments.join(" ")));
    }
    let facts = Facts {
        files: workspace.files()?,
        history: History::read(workspace),
        metadata: workspace.metadata()?,
        weights: workspace.metadata_of(WEIGHTS)?,
        core_tree: workspace.tree(&["--package", "superstep-core", "--edges", "normal"])?,
        whole_tree: workspace.tree(&["--workspace", "--all-features", "--edges", "normal,build"])?,
    };
    let mut broken = 0;
    for (name, problems) in check(&facts).into_iter().chain(language::check(&facts.files)) {
        if problems.is_empty() {
            println!("ok  {name}");
        }
        for problem in &problems {
            println!("NO  {name}: {problem}");
        }
        broken += problems.len();
    }
    if let Some(note) = facts.history.note() {
        println!("--  {COMMITS}: {note}");
    }
    match broken {
        0 => Ok(()),
        1 => Err("tidy found 1 problem".into()),
        _ => Err(format!("tidy found {broken} problems")),
    }
}

/// Every rule with its problems, in the order of the list in the style guide.
fn check(facts: &Facts) -> Vec<(&'static str, Vec<String>)> {
    let files = &facts.files[..];
    let metadata = &facts.metadata;
    vec![
        (
            "core depends on no runtime, I/O or randomness",
            dependencies::absent("superstep-core", &facts.core_tree, &IMPURE),
        ),
        ("core uses no crate of ours", dependencies::uses_only(metadata, "superstep-core", &[])),
        ("macros use no crate of ours", dependencies::uses_only(metadata, "superstep-macros", &[])),
        ("adapters use only core", dependencies::uses_only(metadata, "superstep-adapters", &["superstep-core"])),
        ("weights use only core", dependencies::uses_only(&facts.weights, "superstep-weights", &["superstep-core"])),
        (
            "the command line with weights is the command line, and weights",
            dependencies::uses_only(&facts.weights, "superstep-weights-cli", &WITH_WEIGHTS),
        ),
        ("weights stay out of the workspace", dependencies::absent("the workspace", &facts.whole_tree, &OF_WEIGHTS)),
        ("core's pure modules are not async", architecture::pure_modules(files)),
        ("there is one loop", architecture::one_loop(files)),
        ("SQL stays in adapters and applications", architecture::sql_at_home(files)),
        ("the persisted format has one version", architecture::one_format_version(files)),
        ("agents use public API only", architecture::agents_use_public_api(files)),
        ("no unsafe code", architecture::no_unsafe(files)),
        ("files are named and sized for reading", files::shapes(files)),
        ("every file says why it exists", files::openings(files)),
        ("no test is switched off, no note left behind", files::left_behind(files)),
        ("one test binary per crate", [metadata, &facts.weights].map(files::test_binaries).concat()),
        ("no address of a package registry", files::registry_addresses(files)),
        ("the changelog has an unreleased section", files::changelog(files)),
        ("every error code has its page", book::error_pages(files)),
        ("generated blocks are what their data says", crate::book::problems(files)),
        ("the README starts in two commands", readme::check(files)),
        ("no dependency below its floor", supply::floors(files)),
        ("licences are allowed", [metadata, &facts.weights].map(|of| supply::licences(files, of)).concat()),
        ("dependencies come from the registry, and are few", supply::sources(files, &facts.whole_tree)),
        (COMMITS, facts.history.problems()),
    ]
}
