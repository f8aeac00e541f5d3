//! Loads a family from a JSON file.

use std::path::Path;

use serde::Deserialize;
use superstep::{Error, ErrorCode, Result};

use crate::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Constraint, Family, Member, MemberRole, Resource, Visibility,
};
use crate::models;
use crate::time_zone::NamedTimeZone;

/// Contents of a family file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyFile {
    family: Family,
    members: Vec<Member>,
    #[serde(default)]
    calendars: Vec<Calendar>,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    rules: Vec<Constraint>,
}

/// Reads a family file into a calendar without events.
pub(super) fn load(file: &Path) -> Result<CalendarSnapshot> {
    let invalid = |reason: String| Error::new(ErrorCode::ConfigInvalid, format!("`{}`: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| invalid(error.to_string()))?;
    let value = serde_json::from_str(&text).map_err(|error| invalid(format!("invalid JSON: {error}")))?;
    let family_file: FamilyFile = models::from_json(value).map_err(|error| invalid(error_text(&error)))?;
    family_file.into_snapshot().map_err(invalid)
}

/// Formats an error with the JSON pointer of every invalid value.
fn error_text(error: &Error) -> String {
    let describe = |problem: &superstep::core::error::Diagnostic| format!("{} {}", problem.pointer, problem.message);
    let parts: Vec<String> = error.diagnostics().iter().map(describe).collect();
    if parts.is_empty() { error.message().to_owned() } else { parts.join("; ") }
}

impl FamilyFile {
    fn into_snapshot(self) -> Result<CalendarSnapshot, String> {
        let Self { family, members, mut calendars, resources, rules } = self;
        NamedTimeZone::from_iana_name(&family.zone).map_err(|error| format!("/family/zone {}", error.message()))?;
        if !members.iter().any(|member| member.role == MemberRole::Parent) {
            return Err("/members has no `parent`: only parents can change the family".to_owned());
        }
        let mut problems =
            members.iter().enumerate().filter_map(|(index, member)| Some((index, member.preferences.problem()?)));
        if let Some((at, (pointer, reason))) = problems.next() {
            return Err(format!("/members/{at}{pointer} {reason}"));
        }
        if calendars.is_empty() {
            let (id, name) = ("family".to_owned(), "Family".to_owned());
            calendars.push(Calendar { id, name, owner: None, visibility: Visibility::Family });
        }
        let mut snapshot = CalendarSnapshot::new(family);
        members.into_iter().map(CalendarChange::Member).for_each(|change| snapshot.apply(change));
        calendars.into_iter().map(CalendarChange::Calendar).for_each(|change| snapshot.apply(change));
        resources.into_iter().map(CalendarChange::Resource).for_each(|change| snapshot.apply(change));
        rules.into_iter().map(CalendarChange::Rule).for_each(|change| snapshot.apply(change));
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_snapshot(text: &str) -> Result<CalendarSnapshot, String> {
        let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        models::from_json::<FamilyFile>(value).map_err(|error| error_text(&error))?.into_snapshot()
    }

    /// R-FAM-95, R-FAM-68: a family needs a known time zone and a parent; an error names the JSON pointer of the
    /// invalid value.
    #[test]
    fn a_family_file_needs_a_time_zone_and_a_parent() {
        let mom = r#"{ "id": "ann", "name": "Ann", "role": "parent" }"#;
        let family = |zone: &str, members: &str| {
            format!(r#"{{ "family": {{ "id": "f", "name": "F", "zone": "{zone}" }}, "members": [{members}] }}"#)
        };
        let read = read_snapshot(&family("Europe/Berlin", mom)).unwrap();
        assert_eq!((read.members.len(), read.calendars.len()), (1, 1));
        let child = mom.replace("parent", "child");
        let zero_duration = mom.replace("\"parent\"", r#""parent", "preferences": { "default_minutes": 0 }"#);
        for (text, part) in [
            (family("Europe/Berln", mom), "/family/zone"),
            (family("Europe/Berlin", &child), "/members has no `parent`"),
            (family("Europe/Berlin", &mom.replace("parent", "aunt")), "/members/0/role"),
            (family("Europe/Berlin", mom).replace("\"members\"", "\"people\""), "people"),
            (family("Europe/Berlin", &zero_duration), "/members/0/preferences/default_minutes"),
        ] {
            let error = read_snapshot(&text).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
