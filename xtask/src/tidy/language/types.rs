//! Finds type names that the product crates define more than twice.
//!
//! Counts structs, enums, unions, traits and type aliases below `src`. Test code may repeat names.

use std::collections::{BTreeMap, BTreeSet};

use super::declarations::{Declarations, Role};
use super::{Check, Violation};

/// Maximum number of definitions of one name.
const MAX_DEFINITIONS: usize = 2;

/// Returns every definition of a name that is defined too often.
pub(super) fn violations(files: &[(&str, Declarations)]) -> Vec<Violation> {
    let test_files = test_files(files);
    let mut definitions: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, declarations) in files.iter().filter(|(path, _)| is_product(path) && !is_below(path, &test_files)) {
        for declaration in declarations.names.iter().filter(|name| name.role == Role::Type && !name.in_tests) {
            definitions.entry(&declaration.name).or_default().push((path, declaration.line));
        }
    }
    definitions.retain(|_, definitions| definitions.len() > MAX_DEFINITIONS);
    definitions
        .into_iter()
        .flat_map(|(name, definitions)| {
            let count = definitions.len();
            definitions.into_iter().map(move |(path, line)| violation(path, line, name, count))
        })
        .collect()
}

fn violation(path: &str, line: usize, name: &str, count: usize) -> Violation {
    let problem = format!("the type name `{name}` is defined {count} times; {MAX_DEFINITIONS} is the limit");
    Violation { check: Check::Types, path: path.to_owned(), line, name: name.to_owned(), problem }
}

fn is_product(path: &str) -> bool {
    ["crates/", "apps/"].iter().any(|folder| path.starts_with(folder)) && path.contains("/src/")
}

/// Returns the modules marked `#[cfg(test)]` that are files, as paths without `.rs`.
fn test_files(files: &[(&str, Declarations)]) -> BTreeSet<String> {
    let test_modules = |(path, declarations): &(&str, Declarations)| {
        let folder = module_folder(path).to_owned();
        declarations.test_modules.iter().map(move |module| format!("{folder}/{module}")).collect::<Vec<_>>()
    };
    files.iter().flat_map(test_modules).collect()
}

/// Returns the folder of a file's child modules.
fn module_folder(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs");
    match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    }
}

fn is_below(path: &str, modules: &BTreeSet<String>) -> bool {
    let stem = path.trim_end_matches(".rs");
    stem.match_indices('/').map(|(at, _)| &stem[..at]).chain([stem]).any(|module| modules.contains(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[(&'static str, &str)]) -> Vec<String> {
        let parsed = files.iter().map(|(path, text)| (*path, Declarations::parse(text).unwrap()));
        let violations = violations(&parsed.collect::<Vec<_>>());
        violations.iter().map(|violation| format!("{}:{} {}", violation.path, violation.line, violation.name)).collect()
    }

    #[test]
    fn a_third_definition_is_reported_with_the_others() {
        let mut files = vec![
            ("crates/a/src/lib.rs", "struct Place;\nenum Line {}"),
            ("crates/b/src/lib.rs", "mod inner { pub trait Place {} }"),
        ];
        assert_eq!(listed(&files), Vec::<String>::new());
        files.push(("apps/c/src/main.rs", "\ntype Place = u8;"));
        assert_eq!(
            listed(&files),
            ["crates/a/src/lib.rs:1 Place", "crates/b/src/lib.rs:1 Place", "apps/c/src/main.rs:2 Place"]
        );
    }

    #[test]
    fn test_code_and_other_folders_do_not_count() {
        let files = [
            ("crates/a/src/lib.rs", "struct Place; #[cfg(test)] mod tests; #[cfg(all(test, unix))] mod more;"),
            ("crates/a/src/tests.rs", "struct Place;"),
            ("crates/a/src/more/deep.rs", "struct Place;"),
            ("crates/a/src/run.rs", "struct Place; #[cfg(test)] mod tests { struct Place; struct Place; }"),
            ("crates/a/src/lib/tests.rs", "impl T for U { type Place = u8; } trait T { type Place; }"),
            ("crates/a/tests/it/main.rs", "struct Place;"),
            ("xtask/src/main.rs", "struct Place;"),
        ];
        assert_eq!(listed(&files), Vec::<String>::new());
    }
}
