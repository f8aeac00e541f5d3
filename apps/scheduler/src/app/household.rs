//! A family of one's own, out of a file.

use std::path::Path;

use serde::Deserialize;
use superstep::{Code, Error, Result};

use crate::calendar::{Board, Calendar, Change, Family, Member, Resource, Role, Rule, Visibility};
use crate::models;
use crate::zone::Zone;

/// What a file says of a family.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Household {
    family: Family,
    members: Vec<Member>,
    #[serde(default)]
    calendars: Vec<Calendar>,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    rules: Vec<Rule>,
}

/// The family of a file, with nothing on its calendar.
pub(super) fn read(file: &Path) -> Result<Board> {
    let wrong = |why: String| Error::new(Code::ConfigInvalid, format!("`{}`: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let value = serde_json::from_str(&text).map_err(|error| wrong(format!("this is no JSON: {error}")))?;
    let household: Household = models::read(value).map_err(|error| wrong(told(&error)))?;
    household.board().map_err(wrong)
}

/// Where something does not fit, and why.
fn told(error: &Error) -> String {
    let told = |problem: &superstep::core::error::Problem| format!("{} {}", problem.pointer, problem.message);
    let parts: Vec<String> = error.problems().iter().map(told).collect();
    if parts.is_empty() { error.message().to_owned() } else { parts.join("; ") }
}

impl Household {
    fn board(self) -> Result<Board, String> {
        let Self { family, members, mut calendars, resources, rules } = self;
        Zone::named(&family.zone).map_err(|error| format!("/family/zone {}", error.message()))?;
        if !members.iter().any(|member| member.role == Role::Parent) {
            return Err("/members has no `parent`, and nobody else may change the family".to_owned());
        }
        let mut problems = members.iter().enumerate().filter_map(|(at, one)| Some((at, one.preferences.problem()?)));
        if let Some((at, (pointer, fact))) = problems.next() {
            return Err(format!("/members/{at}{pointer} {fact}"));
        }
        if calendars.is_empty() {
            let (id, name) = ("family".to_owned(), "Family".to_owned());
            calendars.push(Calendar { id, name, owner: None, visibility: Visibility::Family });
        }
        let mut board = Board::new(family);
        members.into_iter().map(Change::Member).for_each(|change| board.apply(change));
        calendars.into_iter().map(Change::Calendar).for_each(|change| board.apply(change));
        resources.into_iter().map(Change::Resource).for_each(|change| board.apply(change));
        rules.into_iter().map(Change::Rule).for_each(|change| board.apply(change));
        Ok(board)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(text: &str) -> Result<Board, String> {
        let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        models::read::<Household>(value).map_err(|error| told(&error))?.board()
    }

    /// R-FAM-95, R-FAM-68: a family needs a zone that there is and a parent; what is wrong is named with its place.
    #[test]
    fn a_family_out_of_a_file() {
        let mom = r#"{ "id": "ann", "name": "Ann", "role": "parent" }"#;
        let family = |zone: &str, members: &str| {
            format!(r#"{{ "family": {{ "id": "f", "name": "F", "zone": "{zone}" }}, "members": [{members}] }}"#)
        };
        let read = board(&family("Europe/Berlin", mom)).unwrap();
        assert_eq!((read.members.len(), read.calendars.len()), (1, 1));
        let child = mom.replace("parent", "child");
        let hurried = mom.replace("\"parent\"", r#""parent", "preferences": { "default_minutes": 0 }"#);
        for (text, part) in [
            (family("Europe/Berln", mom), "/family/zone"),
            (family("Europe/Berlin", &child), "/members has no `parent`"),
            (family("Europe/Berlin", &mom.replace("parent", "aunt")), "/members/0/role"),
            (family("Europe/Berlin", mom).replace("\"members\"", "\"people\""), "people"),
            (family("Europe/Berlin", &hurried), "/members/0/preferences/default_minutes"),
        ] {
            let refused = board(&text).unwrap_err();
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }
}
