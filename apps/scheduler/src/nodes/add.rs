//! Lets the family get to know somebody or something whose name was asked about.

use std::collections::BTreeMap;

use superstep::Result;

use crate::calendar::{Board, Change, Member, Preferences, Resource, Role, free_id};
use crate::home::{Home, member};
use crate::notes::{NewKind, NewName};

/// What a thing is of which nothing but its name is known.
const KIND: &str = "thing";

/// Adds the names, if a parent says so; for others nothing is done, and they are told when the words are read again.
pub(super) async fn add(home: &Home, who: &str, names: &[NewName]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let (names, parent) = (names.to_vec(), who.to_owned());
    let decide = move |board: &Board| {
        if member(board, &parent)?.role != Role::Parent {
            return Ok(Vec::new());
        }
        // Who is known by then stays so: this may run again after a crash.
        let mut after = board.clone();
        let mut changes = Vec::new();
        for new in names {
            if let Some(change) = change(&after, &new) {
                after.apply(change.clone());
                changes.push(change);
            }
        }
        Ok(changes)
    };
    home.calendars.change(&home.family, who, "add", decide).await.map(drop)
}

fn change(board: &Board, new: &NewName) -> Option<Change> {
    let name = new.name.trim().to_owned();
    let is_known = match new.kind {
        NewKind::Person => board.members.values().any(|one| one.name == name),
        NewKind::Resource => board.resources.values().any(|one| one.name == name),
    };
    if is_known || name.is_empty() {
        return None;
    }
    Some(match new.kind {
        // What they may do is for the parents to say later.
        NewKind::Person => Change::Member(Member {
            id: free_id(&name, "member", |id| board.members.contains_key(id)),
            name,
            aliases: Vec::new(),
            role: Role::Other,
            zone: None,
            preferences: Preferences::default(),
        }),
        NewKind::Resource => Change::Resource(Resource {
            id: free_id(&name, "resource", |id| board.resources.contains_key(id)),
            name,
            aliases: Vec::new(),
            kind: KIND.to_owned(),
            capacity: 1,
            attributes: BTreeMap::new(),
        }),
    })
}
