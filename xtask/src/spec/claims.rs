//! Reads the ids that the tests of a Rust file claim in their doc comments.
//!
//! Reads the text instead of a syntax tree, because `proptest!` and `macro_rules!` also contain tests.

use super::requirement::{Id, ids_in};
use crate::rust_source::{RustSource, end_of_item, line_of, words};
use crate::workspace::File;

/// Texts that indicate an assertion. A test that claims ids must contain one of them.
const ASSERTIONS: [&str; 8] =
    ["assert", "prop_assert", "insta::", "check(", "expect_err", "unwrap_err", "matches!", "trybuild"];

/// Claims of one file: one id per test that names it, and the invalid claims.
#[derive(Default)]
pub(super) struct Claims {
    pub(super) ids: Vec<Id>,
    pub(super) problems: Vec<String>,
}

/// Reads the claims of one file.
pub(super) fn read(file: &File, defined_ids: &[Id]) -> Claims {
    let mut claims = Claims { problems: unknown_ids(file, defined_ids), ..Claims::default() };
    let rust = RustSource::new(&file.text);
    let code = rust.code();
    let view = View { source: file.text.lines().collect(), code: &code, code_lines: code.lines().collect() };
    let properties = view.properties();
    for offset in words(view.code, "fn") {
        let Some(test) = view.function(offset) else { continue };
        if test.ids.is_empty() || !(test.is_test || properties.iter().any(|range| range.contains(&offset))) {
            continue;
        }
        let location = format!("{}:{}", file.path, line_of(view.code, offset));
        if test.names_a_range {
            claims.problems.push(format!("{location}: test `{}` names a range of ids; name each id", test.name));
        } else if test.asserts {
            claims.ids.extend(test.ids);
        } else {
            claims.problems.push(format!("{location}: test `{}` names ids and asserts nothing", test.name));
        }
    }
    claims
}

/// Returns a problem for each id in a doc comment that the specification does not define.
fn unknown_ids(file: &File, defined_ids: &[Id]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate().filter(|(_, line)| is_doc(line)) {
        let unknown = ids_in(line).into_iter().filter(|reference| !defined_ids.contains(&reference.id));
        problems.extend(
            unknown.map(|reference| format!("{}:{}: the specification has no {}", file.path, index + 1, reference.id)),
        );
    }
    problems
}

fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// A function with its doc comment and attributes.
struct Function {
    name: String,
    ids: Vec<Id>,
    is_test: bool,
    asserts: bool,
    names_a_range: bool,
}

/// A file as original lines and as code without comments and literals.
struct View<'a> {
    source: Vec<&'a str>,
    code: &'a str,
    code_lines: Vec<&'a str>,
}

impl View<'_> {
    /// Returns the byte ranges of `proptest! { .. }`.
    fn properties(&self) -> Vec<std::ops::Range<usize>> {
        words(self.code, "proptest!").map(|offset| offset..end_of_item(self.code, offset)).collect()
    }

    /// Returns the function whose `fn` is at this offset; `None` for a function pointer type.
    fn function(&self, offset: usize) -> Option<Function> {
        let after = self.code[offset + 2..].trim_start();
        let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            return None;
        }
        let header = self.header(line_of(self.code, offset) - 1);
        let docs = header.iter().map(|&line| self.source[line]).filter(|line| line.trim_start().starts_with("///"));
        let references: Vec<_> = docs.flat_map(ids_in).collect();
        let names_a_range = references.iter().any(|reference| reference.is_range());
        let mut ids: Vec<Id> = references.into_iter().map(|reference| reference.id).collect();
        ids.sort();
        ids.dedup();
        let body = &self.code[offset..end_of_item(self.code, offset)];
        let is_test = header.iter().any(|&line| has_test_attribute(self.code_lines[line]));
        Some(Function { name, ids, is_test, asserts: ASSERTIONS.iter().any(|sign| body.contains(sign)), names_a_range })
    }

    /// Returns the line of a function and the lines of comments and attributes directly above it.
    fn header(&self, function: usize) -> Vec<usize> {
        let mut lines = vec![function];
        let mut inside_attribute = false;
        for line in (0..function).rev() {
            let text = self.source[line].trim();
            if text.starts_with("#[") {
                inside_attribute = false;
            } else if text.starts_with(')') && text.ends_with(']') {
                inside_attribute = true;
            } else if !inside_attribute && !text.starts_with("//") {
                break;
            }
            lines.push(line);
        }
        lines
    }
}

/// Returns true if a line has an attribute whose path ends in `test`, such as `#[test]` or `#[tokio::test(..)]`.
fn has_test_attribute(code: &str) -> bool {
    code.split("#[").skip(1).any(|attribute| {
        let path = attribute.split([']', '(']).next().unwrap_or_default();
        path.trim().rsplit("::").next() == Some("test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Vec<String>, Vec<String>) {
        let defined_ids: Vec<Id> =
            ids_in("R-GRA-1 R-GRA-2 R-GRA-3").into_iter().map(|reference| reference.id).collect();
        let claims = read(&File::fake("crates/a/src/lib.rs", text), &defined_ids);
        (claims.ids.iter().map(Id::to_string).collect(), claims.problems)
    }

    fn check(text: &str, ids: &[&str]) {
        assert_eq!(read_text(text), (ids.iter().map(ToString::to_string).collect(), Vec::new()), "{text}");
    }

    fn check_problem(text: &str, problem: &str) {
        assert_eq!(read_text(text), (Vec::new(), vec![problem.to_owned()]), "{text}");
    }

    #[test]
    fn tests_claim_the_ids_of_their_doc_comments() {
        check("/// R-GRA-1, R-GRA-2: both\n#[test]\nfn a() { assert_eq!(1, 1); }", &["R-GRA-1", "R-GRA-2"]);
        check("#[test]\n/// R-GRA-1 twice R-GRA-1\nfn a() { check(1); }", &["R-GRA-1"]);
        check("/// R-GRA-1\n#[tokio::test(flavor = \"current_thread\")]\nasync fn a() { assert!(x); }", &["R-GRA-1"]);
        check("/// R-GRA-1\n#[tokio::test(\n    flavor = \"x\",\n)]\nasync fn a() { assert!(x); }", &["R-GRA-1"]);
        check("proptest! {\n    /// R-GRA-3\n    fn a(x in vec({ 1 })) { prop_assert!(x); }\n}", &["R-GRA-3"]);
        check("/// R-GRA-3\nproptest! { #[test] fn a(x in 0..1) { prop_assert!(x); } }", &["R-GRA-3"]);
        check(
            "macro_rules! suite { () => {\n    /// R-GRA-2\n    #[test]\n    fn a() { assert!(true) }\n} }",
            &["R-GRA-2"],
        );
    }

    #[test]
    fn only_ids_directly_above_a_test_are_claims() {
        check("/// R-GRA-1\nfn helper() { assert!(true); }", &[]);
        check("/// R-GRA-1\n\n#[test]\nfn a() { assert!(true); }", &[]);
        check("/// R-GRA-1\nstruct S;\n#[test]\nfn a() { assert!(true); }", &[]);
        check("#[test]\nfn a() { assert!(true); }\n/// R-GRA-1\nfn b() { assert!(true); }", &[]);
    }

    #[test]
    fn a_claim_without_an_assertion_is_rejected() {
        let problem = "crates/a/src/lib.rs:3: test `a` names ids and asserts nothing";
        check_problem("/// R-GRA-1\n#[test]\nfn a() { run(); }", problem);
        check_problem("/// R-GRA-1\n#[test]\nfn a() { /* assert */ run(\"assert\"); }", problem);
    }

    #[test]
    fn unknown_ids_and_ranges_are_rejected() {
        check_problem("//! x\n/// see R-GRA-9\nfn a() {}", "crates/a/src/lib.rs:2: the specification has no R-GRA-9");
        check_problem("//! x\n/// R-GRA-1a\nfn a() {}", "crates/a/src/lib.rs:2: the specification has no R-GRA-1a");
        check_problem(
            "/// R-GRA-1..3\n#[test]\nfn a() { assert!(true); }",
            "crates/a/src/lib.rs:3: test `a` names a range of ids; name each id",
        );
    }
}
