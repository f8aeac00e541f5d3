//! Rules for files: names, sizes, module comments, ignored tests, comments that postpone work, test binaries, URLs,
//! the changelog.
//!
//! Checks paths and text only; `architecture` has the rules for code.

use serde_json::Value;

use super::dependencies::{list, packages};
use super::readme::fences;
use crate::rust_source::{RustSource, line_of, words};
use crate::workspace::File;

/// Maximum number of lines of a source file, including tests.
const MAX_LINES: usize = 800;

/// File and folder names that do not describe their content.
const EMPTY_NAMES: [&str; 4] = ["utils", "common", "helpers", "manager"];

/// Hosts of package registries. Cargo, pip, npm and apt have settings for them, which a URL in a file would bypass.
const REGISTRIES: [&str; 11] = [
    "crates.io",
    "pypi.org",
    "pythonhosted.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "rubygems.org",
    "proxy.golang.org",
    "docker.io",
];

/// Reports source files that are too long, or whose name does not describe their content.
pub(super) fn names_and_sizes(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for File { path, text } in files.iter().filter(|file| file.is_rust()) {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            problems.push(format!("{path} has {lines} lines; {MAX_LINES} is the limit"));
        }
        if path.ends_with("/mod.rs") {
            problems.push(format!("{path}: rename `foo/mod.rs` to `foo.rs`"));
        }
        let mut names = path.trim_end_matches(".rs").split('/');
        if let Some(name) = names.find(|name| EMPTY_NAMES.contains(name)) {
            problems.push(format!("{path}: `{name}` does not describe the content"));
        }
    }
    problems
}

/// Reports source files without a module comment.
pub(super) fn missing_module_comments(files: &[File]) -> Vec<String> {
    // Compile-fail tests show what a user writes, and their expected errors name lines.
    let sources = files.iter().filter(|file| file.is_rust() && !file.path.contains("/tests/ui/"));
    let without_comment = sources.filter(|file| !file.text.starts_with("//!"));
    without_comment.map(|file| format!("{} does not start with `//!`", file.path)).collect()
}

/// Reports ignored tests, comments that postpone work, and examples that are not compiled.
pub(super) fn leftovers(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let rust = RustSource::new(&file.text);
        let (code, comments) = (rust.code(), rust.comments());
        let ignored = code.match_indices("#[ignore").map(|(offset, _)| (line_of(&code, offset), "an ignored test"));
        problems.extend(ignored.map(|(line, problem)| format!("{}:{line}: {problem}", file.path)));
        for marker in ["TODO", "FIXME"] {
            problems.extend(
                words(&comments, marker)
                    .map(|offset| format!("{}:{}: `{marker}`", file.path, line_of(&comments, offset))),
            );
        }
        let docs = comments.lines().map(|line| line.trim_start().trim_start_matches(['/', '!']).trim_start());
        problems.extend(unchecked_examples(&file.path, &docs.collect::<Vec<_>>().join("\n")));
    }
    let is_text = |path: &str| path.ends_with(".md") && (path == "README.md" || path.starts_with("book/"));
    problems.extend(
        files.iter().filter(|file| is_text(&file.path)).flat_map(|file| unchecked_examples(&file.path, &file.text)),
    );
    problems
}

fn unchecked_examples(path: &str, text: &str) -> Vec<String> {
    let marked = fences(text).into_iter().filter(|fence| fence.info.split([',', ' ']).any(|word| word == "ignore"));
    marked.map(|fence| format!("{path}:{}: an example marked `ignore`", fence.line)).collect()
}

/// Reports integration test binaries other than `tests/it/main.rs`.
pub(super) fn test_binaries(metadata: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages(metadata).filter(|package| package["source"].is_null()) {
        let name = package["name"].as_str().unwrap_or_default();
        let tests = list(&package["targets"]).filter(|target| list(&target["kind"]).any(|kind| kind == "test"));
        let paths = tests.filter_map(|target| target["src_path"].as_str()).map(|path| path.replace('\\', "/"));
        let strays = paths.filter(|path| !path.ends_with("/tests/it/main.rs"));
        problems.extend(strays.map(|path| {
            let file = path.find("/tests/").map_or(path.as_str(), |offset| &path[offset + 1..]);
            format!("`{name}` has the test binary `{file}`; tests are modules of `tests/it/main.rs`")
        }));
    }
    problems
}

/// Reports URLs of package registries.
pub(super) fn registry_addresses(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for File { path, text } in files.iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        for (offset, separator) in text.match_indices("://") {
            let host = host_at(&text[offset + separator.len()..]);
            if REGISTRIES.iter().any(|registry| host == *registry || host.ends_with(&format!(".{registry}"))) {
                problems.push(format!("{path}:{}: URL of the package registry `{host}`", line_of(text, offset)));
            }
        }
    }
    problems
}

fn host_at(rest: &str) -> &str {
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || ".-@_%:".contains(c));
    let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
    let (_user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    host.split_once(':').map_or(host, |(host, _port)| host)
}

/// Reports a changelog without a section for unreleased changes.
pub(super) fn changelog(files: &[File]) -> Vec<String> {
    let text = files.iter().find(|file| file.path == "CHANGELOG.md").map_or("", |file| &file.text);
    if text.lines().any(|line| line.trim() == "## Unreleased") {
        Vec::new()
    } else {
        vec!["CHANGELOG.md has no section `## Unreleased`".into()]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(path: &str, text: &str) -> [File; 1] {
        [File::fake(path, text)]
    }

    #[test]
    fn long_files_and_empty_names_are_rejected() {
        assert_eq!(
            names_and_sizes(&one("crates/a/src/b.rs", &"x\n".repeat(801))),
            ["crates/a/src/b.rs has 801 lines; 800 is the limit"]
        );
        assert_eq!(names_and_sizes(&one("crates/a/src/b/mod.rs", "")).len(), 1);
        assert_eq!(
            names_and_sizes(&one("crates/a/src/utils.rs", "")),
            ["crates/a/src/utils.rs: `utils` does not describe the content"]
        );
        assert_eq!(names_and_sizes(&one("apps/a/common/b.rs", "")).len(), 1);
        assert!(names_and_sizes(&one("crates/a/src/model.rs", "")).is_empty());
    }

    #[test]
    fn a_file_that_does_not_start_with_its_purpose_is_rejected() {
        assert_eq!(
            missing_module_comments(&one("crates/a/src/b.rs", "use x;")),
            ["crates/a/src/b.rs does not start with `//!`"]
        );
        assert_eq!(missing_module_comments(&one("xtask/src/b.rs", "\n//! late")).len(), 1);
        assert!(missing_module_comments(&one("crates/a/src/b.rs", "//! Why.")).is_empty());
        assert_eq!(missing_module_comments(&one("crates/a/tests/it/main.rs", "mod a;")).len(), 1);
        assert!(missing_module_comments(&one("crates/a/tests/ui/a.rs", "use x;")).is_empty());
    }

    #[test]
    fn leftovers_are_rejected() {
        let check = |text: &str, problems: &[&str]| assert_eq!(leftovers(&one("a.rs", text)), problems, "{text}");
        check("#[test]\n#[ignore = \"slow\"]\nfn a() {}", &["a.rs:2: an ignored test"]);
        check("// TODO later\n/* FIXME */", &["a.rs:1: `TODO`", "a.rs:2: `FIXME`"]);
        check("/// ```rust,ignore\n/// x\n/// ```\nfn a() {}", &["a.rs:1: an example marked `ignore`"]);
        check("/// ```text\n/// ignore\n/// ```\nconst A: &str = \"TODO #[ignore]\";", &[]);
        assert_eq!(
            leftovers(&one("book/src/a.md", "x\n```rust,ignore\n```\n")),
            ["book/src/a.md:2: an example marked `ignore`"]
        );
    }

    #[test]
    fn a_second_test_binary_is_rejected() {
        let target = |path: &str| json!({ "kind": ["test"], "src_path": path });
        let metadata = json!({ "packages": [
            { "name": "a", "source": null, "targets": [target("/x/a/tests/it/main.rs"), target("/x/a/tests/slow.rs")] },
            { "name": "b", "source": "registry", "targets": [target("/y/b/tests/all.rs")] },
        ] });
        let expected = ["`a` has the test binary `tests/slow.rs`; tests are modules of `tests/it/main.rs`"];
        assert_eq!(test_binaries(&metadata), expected);
    }

    #[test]
    fn registry_addresses_are_rejected_and_names_are_not() {
        let check = |text: &str, count: usize| {
            let text = text.replace("SCHEME", "https:/").replace("^", "/");
            assert_eq!(registry_addresses(&one("a.md", &text)).len(), count, "{text}");
        };
        check("SCHEME^crates.io/crates/a", 1);
        check("sparse+SCHEME^index.crates.io/", 1);
        check("SCHEME^me:secret@pypi.org/simple", 1);
        check("SCHEME^pypi.org:443/simple", 1);
        check("from crates.io and SCHEME^github.com/rust-lang/crates.io-index", 0);
        check("SCHEME^notcrates.io", 0);
        assert!(registry_addresses(&one("Cargo.lock", "https:/\u{2f}crates.io")).is_empty());
    }

    #[test]
    fn a_changelog_without_unreleased_is_rejected() {
        assert_eq!(changelog(&[]).len(), 1);
        assert_eq!(changelog(&one("CHANGELOG.md", "# Changes\n## 0.1.0\n")).len(), 1);
        assert!(changelog(&one("CHANGELOG.md", "# Changes\n\n## Unreleased\n")).is_empty());
    }
}
