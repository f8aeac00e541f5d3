//! Compares the number of violations with `xtask/language-baseline.json`, which may only shrink.
//!
//! The file has one object per folder, with a number per check, and no zeros. A number above the file is a regression;
//! a number below it must be saved, so that it cannot grow back.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Violation};

/// The file, from the root of the workspace.
pub(super) const PATH: &str = "xtask/language-baseline.json";

/// Violations per folder and check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Baseline(BTreeMap<String, BTreeMap<String, usize>>);

impl Baseline {
    /// Counts violations.
    pub(super) fn count(violations: &[Violation]) -> Self {
        let mut baseline = Self::default();
        for violation in violations {
            let row = baseline.0.entry(top_folder(&violation.path)).or_default();
            *row.entry(violation.check.key().to_owned()).or_default() += 1;
        }
        baseline
    }

    /// Parses the file.
    ///
    /// # Errors
    /// The text is not an object of objects of numbers.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| format!("{PATH}: {error}"))
    }

    /// Writes the file, one number per line.
    pub(super) fn to_json(&self) -> String {
        format!("{:#}\n", serde_json::json!(self.0))
    }

    /// Returns the differences between `self`, which was counted, and the file.
    pub(super) fn differences(&self, file: &Self, check: Check) -> Vec<String> {
        let folders: BTreeSet<&String> = self.0.keys().chain(file.0.keys()).collect();
        let compare = |folder: &String| difference(folder, self.number(folder, check), file.number(folder, check));
        folders.into_iter().filter_map(compare).collect()
    }

    /// Returns the checks whose total is larger than in the file, as the reason not to save.
    ///
    /// Folders may exchange numbers, because files are moved between folders.
    pub(super) fn growth(&self, file: &Self) -> Vec<String> {
        let grown = Check::ALL.into_iter().filter(|check| self.total(*check) > file.total(*check));
        grown
            .map(|check| format!("`{}`: {} instead of {}", check.key(), self.total(check), file.total(check)))
            .collect()
    }

    fn number(&self, folder: &str, check: Check) -> usize {
        self.0.get(folder).and_then(|row| row.get(check.key())).copied().unwrap_or_default()
    }

    fn total(&self, check: Check) -> usize {
        self.0.keys().map(|folder| self.number(folder, check)).sum()
    }
}

fn difference(folder: &str, counted: usize, allowed: usize) -> Option<String> {
    match counted.cmp(&allowed) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(format!(
            "{folder} has {counted}, and {PATH} allows {allowed}; `cargo xtask tidy --language {folder}` lists them"
        )),
        std::cmp::Ordering::Less => Some(format!(
            "{folder} has {counted} instead of {allowed}: better than the file: run `cargo xtask tidy --save`"
        )),
    }
}

/// Returns the folder that a file is counted in: a package, or a folder at the root.
fn top_folder(path: &str) -> String {
    let mut names = path.split('/');
    let depth = if matches!(names.next(), Some("crates" | "apps" | "testing")) { 2 } else { 1 };
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').take(depth).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(text: &str) -> Baseline {
        Baseline::parse(text).unwrap()
    }

    #[test]
    fn violations_are_counted_per_package_or_top_folder() {
        let violation = |path: &str| Violation {
            check: Check::Words,
            path: path.to_owned(),
            line: 1,
            name: String::new(),
            problem: String::new(),
        };
        let paths =
            ["crates/a/src/lib.rs", "crates/a/tests/it/main.rs", "bench/peers/x/src/main.rs", "testing/sim/a.rs"];
        let counted = Baseline::count(&paths.map(violation));
        assert_eq!(
            counted,
            baseline(r#"{"crates/a": {"words": 2}, "bench": {"words": 1}, "testing/sim": {"words": 1}}"#)
        );
    }

    #[test]
    fn a_number_must_be_the_one_of_the_file() {
        let file = baseline(r#"{"crates/a": {"words": 2, "types": 3}, "sim": {"words": 1}}"#);
        let counted = baseline(r#"{"crates/a": {"words": 3, "types": 3}, "xtask": {"words": 1}}"#);
        assert_eq!(counted.differences(&file, Check::Types), Vec::<String>::new());
        let problems = counted.differences(&file, Check::Words);
        assert_eq!(problems.len(), 3);
        assert!(problems[0].starts_with("crates/a has 3, and xtask/language-baseline.json allows 2"));
        assert!(problems[1].ends_with("sim has 0 instead of 1: better than the file: run `cargo xtask tidy --save`"));
        assert!(problems[2].starts_with("xtask has 1, and xtask/language-baseline.json allows 0"));
    }

    #[test]
    fn a_total_never_grows_and_numbers_may_move() {
        let file = baseline(r#"{"sim": {"words": 2, "types": 1}}"#);
        assert_eq!(baseline(r#"{"testing/sim": {"words": 2}}"#).growth(&file), Vec::<String>::new());
        assert_eq!(
            baseline(r#"{"sim": {"words": 2}, "xtask": {"words": 1}}"#).growth(&file),
            ["`words`: 3 instead of 2"]
        );
    }

    #[test]
    fn the_file_is_sorted_and_read_back() {
        let file = baseline(r#"{"sim": {"words": 2, "summaries": 1}, "apps/a": {"types": 4}}"#);
        let text = "{\n  \"apps/a\": {\n    \"types\": 4\n  },\n  \"sim\": {\n    \"summaries\": 1,\n    \"words\": 2\n  }\n}\n";
        assert_eq!(file.to_json(), text);
        assert_eq!(baseline(text), file);
        assert_eq!(Baseline::count(&[]).to_json(), "{}\n");
    }
}
