//! Architecture rules that are checked in the source: pure modules, one run loop, no SQL outside of adapters, one
//! format version, public API only in agents, no unsafe code.
//!
//! `dependencies` checks the dependencies between crates with Cargo's output.

use std::collections::BTreeSet;

use crate::rust_source::{RustSource, line_of, words};
use crate::workspace::File;

/// Reports async code in `superstep-core` outside of its ports and test suites: nothing may await while state changes.
pub(super) fn pure_modules(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && is_pure_module(&file.path)) {
        let code = RustSource::new(&file.text).code();
        for word in ["async", "await"] {
            problems
                .extend(words(&code, word).map(|offset| format!("{}:{}: `{word}`", file.path, line_of(&code, offset))));
        }
    }
    problems
}

fn is_pure_module(path: &str) -> bool {
    let module = path.strip_prefix("crates/superstep-core/src/");
    module.is_some_and(|module| {
        !["port.rs", "port/", "testing.rs", "testing/"].iter().any(|open| module.starts_with(open))
    })
}

/// Reports a second run loop: only `engine/driver.rs` may request the next action of the machine.
pub(super) fn one_loop(files: &[File]) -> Vec<String> {
    let is_outside = |path: &str| {
        path.starts_with("crates/")
            && path != "crates/superstep/src/engine/driver.rs"
            && !["/tests/", "/testing/", "/testing.rs"].iter().any(|folder| path.contains(folder))
    };
    let rust = files.iter().filter(|file| file.is_rust() && is_outside(&file.path));
    rust.filter(|file| steps_a_machine(&file.text)).map(|file| format!("{} steps the machine", file.path)).collect()
}

fn steps_a_machine(source: &str) -> bool {
    // Long call chains have line breaks, so white space is removed.
    let code: String = RustSource::new(source).code_without_tests().split_whitespace().collect();
    code.contains("machine.next_action(") || code.contains("Machine::next_action(")
}

/// Reports SQL in crates other than the adapters and `superstep-documents`. Applications may have SQL for their tables.
pub(super) fn sql_outside_adapters(files: &[File]) -> Vec<String> {
    // `superstep-documents` has its own full-text index.
    let allowed = ["crates/superstep-adapters/", "crates/superstep-documents/"];
    let is_outside = |path: &str| path.starts_with("crates/") && !allowed.iter().any(|folder| path.starts_with(folder));
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && is_outside(&file.path)) {
        let rust = RustSource::new(&file.text);
        let statements = rust.strings().filter(|(_, text)| is_sql(text));
        problems.extend(statements.map(|(line, _)| format!("{}:{line}: an SQL statement", file.path)));
    }
    problems
}

fn is_sql(text: &str) -> bool {
    let update = text.split_once("UPDATE ").is_some_and(|(_, rest)| words(rest, "SET").next().is_some());
    update || ["SELECT ", "INSERT INTO", "CREATE TABLE"].iter().any(|keyword| text.contains(keyword))
}

/// Reports a format version that is missing, defined twice, or defined outside of the checkpoint module.
pub(super) fn one_format_version(files: &[File]) -> Vec<String> {
    let module = "crates/superstep-core/src/checkpoint";
    let rust = || files.iter().filter(|file| file.is_rust() && file.path.starts_with("crates/"));
    if !rust().any(|file| file.path.starts_with(module)) {
        return Vec::new();
    }
    let definitions: Vec<&str> = rust()
        .flat_map(|file| {
            let code = RustSource::new(&file.text).code();
            let count = words(&code, "const FORMAT_VERSION").count();
            std::iter::repeat_n(file.path.as_str(), count)
        })
        .collect();
    match definitions[..] {
        [path] if path.starts_with(module) => Vec::new(),
        _ => vec![format!(
            "`FORMAT_VERSION` must be defined once, in {module}, and is defined in [{}]",
            definitions.join(", ")
        )],
    }
}

/// Reports internals in the ready-made agents: each `crate::` path in their module must name an export of `lib.rs`.
pub(super) fn agents_use_public_api(files: &[File]) -> Vec<String> {
    let Some(root) = files.iter().find(|file| file.path == "crates/superstep/src/lib.rs") else { return Vec::new() };
    let exported = exported(&RustSource::new(&root.text).code());
    let is_agent =
        |path: &str| path == "crates/superstep/src/agents.rs" || path.starts_with("crates/superstep/src/agents/");
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_agent(&file.path)) {
        let code = RustSource::new(&file.text).code();
        for offset in words(&code, "crate").filter(|offset| code[*offset..].starts_with("crate::")) {
            let names = names_after(&code[offset + "crate::".len()..]);
            let hidden = names.into_iter().filter(|name| !exported.contains(name));
            let line = line_of(&code, offset);
            problems.extend(hidden.map(|name| format!("{}:{line}: `{name}` is not public", file.path)));
        }
    }
    problems
}

/// Returns the names that a crate root exports: modules, and items of `pub use`.
fn exported(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (offset, _) in code.match_indices("pub mod ") {
        names.extend(names_after(&code[offset + "pub mod ".len()..]));
    }
    for (offset, _) in code.match_indices("pub use ") {
        let used = &code[offset + "pub use ".len()..];
        let used = &used[..used.find(';').unwrap_or(used.len())];
        let last = match used.split_once('{') {
            Some((_, list)) => list.trim_end_matches('}'),
            None => used,
        };
        let name = |item: &str| {
            item.rsplit("::").next().and_then(|item| item.rsplit(" as ").next()).map(str::trim).map(str::to_owned)
        };
        names.extend(last.split(',').filter_map(name).filter(|name| !name.is_empty()));
    }
    names
}

/// Returns the first name of a path, or of each path in a list.
fn names_after(code: &str) -> Vec<String> {
    let name = |path: &str| {
        path.trim().split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().map(str::to_owned)
    };
    let names: Vec<String> = match code.strip_prefix('{') {
        None => name(code).into_iter().collect(),
        Some(list) => {
            let (mut depth, mut paths) = (0_usize, vec![String::new()]);
            for letter in list.chars() {
                match letter {
                    '}' if depth == 0 => break,
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => paths.push(String::new()),
                    letter if depth == 0 => paths.last_mut().expect("there is always one").push(letter),
                    _ => {}
                }
            }
            paths.iter().filter_map(|path| name(path)).collect()
        }
    };
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

/// Reports unsafe code in all targets.
pub(super) fn no_unsafe(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = RustSource::new(&file.text).code();
        problems
            .extend(words(&code, "unsafe").map(|offset| format!("{}:{}: `unsafe`", file.path, line_of(&code, offset))));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str) -> [File; 1] {
        [File::fake(path, text)]
    }

    #[test]
    fn async_code_is_rejected_in_pure_modules_only() {
        let text = "async fn f() {\n    g().await\n}\n// async and await\nenum Durability { Async }";
        let problems = pure_modules(&one("crates/superstep-core/src/plan.rs", text));
        let expected = ["crates/superstep-core/src/plan.rs:1: `async`", "crates/superstep-core/src/plan.rs:2: `await`"];
        assert_eq!(problems, expected);
        assert!(pure_modules(&one("crates/superstep-core/src/port/node.rs", text)).is_empty());
        assert!(pure_modules(&one("crates/superstep-core/src/testing.rs", text)).is_empty());
        assert!(pure_modules(&one("crates/superstep/src/run.rs", text)).is_empty());
    }

    #[test]
    fn a_second_loop_is_rejected() {
        let text = "fn drive() { self.machine\n    .next_action(now) }";
        assert_eq!(
            one_loop(&one("crates/superstep/src/stream.rs", text)),
            ["crates/superstep/src/stream.rs steps the machine"]
        );
        assert!(one_loop(&one("crates/superstep/src/engine/driver.rs", text)).is_empty());
        assert!(one_loop(&one("crates/superstep/tests/it/run.rs", text)).is_empty());
        let test = "#[cfg(test)]\nmod tests { fn t() { machine.next_action(); } }";
        assert!(one_loop(&one("crates/superstep-core/src/machine.rs", test)).is_empty());
    }

    #[test]
    fn sql_outside_its_modules_is_rejected() {
        let text = "let a = 1;\nlet q = \"UPDATE runs SET status = 1\";\n// SELECT in a comment";
        assert_eq!(
            sql_outside_adapters(&one("crates/superstep/src/run.rs", text)),
            ["crates/superstep/src/run.rs:2: an SQL statement"]
        );
        assert!(sql_outside_adapters(&one("crates/superstep-adapters/src/sqlite/put.rs", text)).is_empty());
        for sql in ["\"SELECT 1\"", "r#\"INSERT INTO t\"#", "\"CREATE TABLE t\""] {
            assert_eq!(sql_outside_adapters(&one("crates/superstep/src/run.rs", sql)).len(), 1, "{sql}");
        }
        assert!(sql_outside_adapters(&one("crates/superstep/src/run.rs", "\"UPDATE the SETTINGS\"")).is_empty());
    }

    #[test]
    fn a_missing_second_or_misplaced_format_version_is_rejected() {
        let definition = File::fake("crates/superstep-core/src/checkpoint.rs", "pub const FORMAT_VERSION: u32 = 1;");
        let other = File::fake("crates/superstep/src/memory.rs", "const FORMAT_VERSION: u32 = 2;");
        let empty = File::fake("crates/superstep-core/src/checkpoint/migrate.rs", "// const FORMAT_VERSION");
        assert!(one_format_version(&[definition.clone(), empty.clone()]).is_empty());
        assert!(one_format_version(&[]).is_empty());
        assert_eq!(one_format_version(&[definition, other.clone()]).len(), 1);
        assert_eq!(one_format_version(&[other, empty.clone()]).len(), 1);
        assert_eq!(one_format_version(&[empty]).len(), 1);
    }

    #[test]
    fn agents_that_use_internals_are_rejected() {
        let root = "pub mod model;\nmod run;\npub use graph::{Graph, NodeHandle};\npub use superstep_core as core;\n\
            pub use memory::Memory;\n";
        let root = File::fake("crates/superstep/src/lib.rs", root);
        let agent = "use crate::model::{Answer, Request};\nuse crate::core::port::Clock;\n\
            use crate::{\n    Graph, Memory, run::Machine,\n};\nfn f() { crate::context::lock(); }";
        let problems = |path: &str| agents_use_public_api(&[root.clone(), File::fake(path, agent)]);
        let module = "crates/superstep/src/agents/build.rs";
        assert_eq!(
            problems(module),
            [format!("{module}:3: `run` is not public"), format!("{module}:6: `context` is not public")]
        );
        assert!(problems("crates/superstep/src/run.rs").is_empty());
    }

    #[test]
    fn unsafe_code_is_rejected_everywhere() {
        let text = "#![forbid(unsafe_code)]\n// unsafe here is a word\nfn f() { unsafe { g() } }";
        assert_eq!(no_unsafe(&one("apps/a/main.rs", text)), ["apps/a/main.rs:3: `unsafe`"]);
    }
}
