//! Requirement ids: their syntax, their definitions in the specification, and the list of those that tests must cover.
//!
//! `claims` reads the ids that tests name.

use std::fmt;

use crate::workspace::File;

/// The id of a requirement, such as `R-GRA-7`, or of one part of a split requirement, such as `R-CLI-4a`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Id {
    family: String,
    number: u32,
    part: String,
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "R-{}-{}{}", self.family, self.number, self.part)
    }
}

impl Id {
    /// Returns true if both ids are parts of one requirement.
    fn same_number(&self, other: &Self) -> bool {
        self.family == other.family && self.number == other.number
    }
}

/// An id in a text, with the text after it.
pub(super) struct IdReference<'a> {
    pub(super) id: Id,
    pub(super) suffix: &'a str,
}

impl IdReference<'_> {
    /// Returns true if the id starts a range such as `R-GRA-1..5`, whose other ids cannot be found by a search.
    pub(super) fn is_range(&self) -> bool {
        ["..", "…", "–"].iter().any(|dots| self.suffix.starts_with(dots))
    }
}

/// Returns all ids in a text, in order.
pub(super) fn ids_in(text: &str) -> Vec<IdReference<'_>> {
    let starts = text.match_indices("R-").map(|(offset, _)| offset);
    let alone = starts.filter(|&offset| !text[..offset].chars().next_back().is_some_and(char::is_alphanumeric));
    alone.filter_map(|offset| id_at(&text[offset..])).collect()
}

fn id_at(text: &str) -> Option<IdReference<'_>> {
    let remaining = text.strip_prefix("R-")?;
    let (family, remaining) = remaining.split_at_checked(3)?;
    let digits = remaining.strip_prefix('-')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (number, remaining) = digits.split_at(end);
    let (part, suffix) =
        remaining.split_at(remaining.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(remaining.len()));
    let is_family = family.bytes().all(|byte| byte.is_ascii_uppercase());
    let id = Id { family: family.into(), number: number.parse().ok()?, part: part.into() };
    is_family.then_some(IdReference { id, suffix })
}

/// Returns the ids that the chapters define: families in the order of the chapters, each with ascending numbers.
///
/// # Errors
/// Returns an error if an id is defined twice, or as a whole and in parts, or if there are no ids.
pub(super) fn all_ids(files: &[File]) -> Result<Vec<Id>, String> {
    let chapters = files.iter().filter(|file| is_chapter(&file.path));
    let ids: Vec<Id> = chapters.flat_map(|file| file.text.lines().filter_map(defined)).collect();
    let mut families: Vec<String> = ids.iter().map(|id| id.family.clone()).collect();
    families.dedup();
    let rank = |id: &Id| families.iter().position(|family| *family == id.family);
    let mut sorted = ids.clone();
    sorted.sort_by_key(|id| (rank(id), id.number, id.part.clone()));
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("{} is defined twice in spec", twice[0]));
    }
    if let Some(split) = sorted.windows(2).find(|pair| pair[0].part.is_empty() && pair[0].same_number(&pair[1])) {
        return Err(format!("{} is defined as a whole and in parts in spec", split[0]));
    }
    if sorted.is_empty() { Err("spec defines no id".into()) } else { Ok(sorted) }
}

fn is_chapter(path: &str) -> bool {
    path.strip_prefix("spec/")
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()) && name.ends_with(".md"))
}

/// Returns the id that a line defines: `- **R-GRA-1** ..` or the table row `| R-GRA-14 | ..`.
fn defined(line: &str) -> Option<Id> {
    let line = line.trim_start();
    let (text, closing) = match line.strip_prefix("- **") {
        Some(text) => (text, "**"),
        None => (line.strip_prefix("| ")?, " |"),
    };
    id_at(text).filter(|reference| reference.suffix.starts_with(closing)).map(|reference| reference.id)
}

/// Returns the ids that `spec/required.txt` requires.
///
/// # Errors
/// Returns an error if a line is not an id or a range of ids, or names an id that the specification does not define.
pub(super) fn required(files: &[File], defined_ids: &[Id]) -> Result<Vec<Id>, String> {
    let Some(file) = files.iter().find(|file| file.path == "spec/required.txt") else { return Ok(Vec::new()) };
    let mut required = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let ids =
            range(line).ok_or_else(|| format!("{}:{}: `{line}` is not an id or a range", file.path, index + 1))?;
        if let Some(unknown) = ids.iter().find(|id| !defined_ids.contains(id)) {
            return Err(format!("{}:{}: the specification has no {unknown}", file.path, index + 1));
        }
        required.extend(ids);
    }
    Ok(required)
}

/// Parses `R-GRA-7`, `R-CLI-4a` or `R-GRA-1..55` (both ends included). A range contains only whole requirements; a part
/// is required only if it is named itself.
fn range(line: &str) -> Option<Vec<Id>> {
    let first = id_at(line)?;
    let last = match first.suffix {
        "" => return Some(vec![first.id]),
        suffix if first.id.part.is_empty() => suffix.strip_prefix("..")?.parse().ok()?,
        _ => return None,
    };
    let numbers = first.id.number..=last;
    (!numbers.is_empty()).then(|| numbers.map(|number| Id { number, ..first.id.clone() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ids: &[Id]) -> Vec<String> {
        ids.iter().map(Id::to_string).collect()
    }

    #[test]
    fn only_the_lines_that_define_an_id_count() {
        let check =
            |line: &str, id: Option<&str>| assert_eq!(defined(line).map(|id| id.to_string()).as_deref(), id, "{line}");
        check("- **R-GRA-1** [seed] text", Some("R-GRA-1"));
        check("| R-GRA-14 | `ADD` | see R-GRA-2 |", Some("R-GRA-14"));
        check("17. no route — R-FAM-83", None);
        check("| `R-SRV` `R-CLI` | families |", None);
        check("- **R-GRA-1…5** a range", None);
        check("- **R-CLI-4b** one part", Some("R-CLI-4b"));
    }

    #[test]
    fn an_id_defined_twice_is_rejected() {
        let file = File::fake("spec/01-state.md", "- **R-GRA-1** a\n- **R-GRA-1** b\n");
        assert_eq!(all_ids(&[file]).unwrap_err(), "R-GRA-1 is defined twice in spec");
    }

    #[test]
    fn a_requirement_has_one_definition_or_parts() {
        let read = |text: &str| all_ids(&[File::fake("spec/08-cli.md", text)]);
        let parts = read("- **R-CLI-5** five\n- **R-CLI-4b** b\n- **R-CLI-4a** a\n").unwrap();
        assert_eq!(texts(&parts), ["R-CLI-4a", "R-CLI-4b", "R-CLI-5"]);
        let problem = "R-CLI-4 is defined as a whole and in parts in spec";
        assert_eq!(read("- **R-CLI-4a** a\n- **R-CLI-4** four\n").unwrap_err(), problem);
        assert!(read("- **R-CLI-4a** a\n- **R-CLI-4a** b\n").unwrap_err().contains("R-CLI-4a is defined twice"));
    }

    #[test]
    fn a_part_is_required_by_its_own_name_only() {
        let defined_ids =
            ids_in("R-CLI-3 R-CLI-4a R-CLI-4b R-CLI-5").into_iter().map(|reference| reference.id).collect::<Vec<_>>();
        let read = |text: &str| required(&[File::fake("spec/required.txt", text)], &defined_ids);
        assert_eq!(texts(&read("R-CLI-3\nR-CLI-4a\n").unwrap()), ["R-CLI-3", "R-CLI-4a"]);
        assert!(read("R-CLI-3..5").unwrap_err().contains("no R-CLI-4"));
        assert!(read("R-CLI-4").unwrap_err().contains("no R-CLI-4"));
        assert!(read("R-CLI-4c").unwrap_err().contains("no R-CLI-4c"));
        assert!(read("R-CLI-4a..5").unwrap_err().contains("not an id or a range"));
    }

    #[test]
    fn only_complete_ids_are_found() {
        let ids: Vec<Id> = ids_in("R-GRA-7, (R-FWK-30), R-CLI-4a: and XR-GRA-8, R-gra-9, R-GRA-")
            .into_iter()
            .map(|reference| reference.id)
            .collect();
        assert_eq!(texts(&ids), ["R-GRA-7", "R-FWK-30", "R-CLI-4a"]);
    }

    #[test]
    fn required_ids_may_be_ranges_and_must_exist() {
        let defined_ids = range("R-GRA-1..3").unwrap();
        let read = |text: &str| required(&[File::fake("spec/required.txt", text)], &defined_ids);
        assert_eq!(texts(&read("# note\nR-GRA-2..3\n").unwrap()), ["R-GRA-2", "R-GRA-3"]);
        assert_eq!(read("\nR-GRA-2..9\n").unwrap_err(), "spec/required.txt:2: the specification has no R-GRA-4");
        assert!(read("GRA-2").unwrap_err().contains("not an id"));
    }
}
