//! Adds members and resources whose names were unknown to the parser.

use std::collections::BTreeMap;

use superstep::Result;

use crate::calendar::{CalendarChange, CalendarSnapshot, Member, MemberRole, Preferences, Resource, free_id};
use crate::context::{SchedulerContext, require_member};
use crate::state::request_state::{NewFamilyName, NewNameKind};

/// Kind of a new resource, of which only the name is known.
const NEW_RESOURCE_KIND: &str = "thing";

/// Adds the names if the user is a parent. For other users nothing is added; the parser reports the names again.
pub(crate) async fn add_family_names(context: &SchedulerContext, user_id: &str, names: &[NewFamilyName]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let (names, parent) = (names.to_vec(), user_id.to_owned());
    let decide = move |snapshot: &CalendarSnapshot| {
        if require_member(snapshot, &parent)?.role != MemberRole::Parent {
            return Ok(Vec::new());
        }
        // Names that exist by now are skipped, because the node can run again after a crash.
        let mut after = snapshot.clone();
        let mut changes = Vec::new();
        for new in names {
            if let Some(change) = change(&after, &new) {
                after.apply(change.clone());
                changes.push(change);
            }
        }
        Ok(changes)
    };
    context.store.change(&context.family_id, user_id, "add", decide).await.map(drop)
}

fn change(snapshot: &CalendarSnapshot, new: &NewFamilyName) -> Option<CalendarChange> {
    let name = new.name.trim().to_owned();
    let exists = match new.kind {
        NewNameKind::Person => snapshot.members.values().any(|member| member.name == name),
        NewNameKind::Resource => snapshot.resources.values().any(|resource| resource.name == name),
    };
    if exists || name.is_empty() {
        return None;
    }
    Some(match new.kind {
        // Parents assign another role later.
        NewNameKind::Person => CalendarChange::Member(Member {
            id: free_id(&name, "member", |id| snapshot.members.contains_key(id)),
            name,
            aliases: Vec::new(),
            role: MemberRole::Other,
            zone: None,
            preferences: Preferences::default(),
        }),
        NewNameKind::Resource => CalendarChange::Resource(Resource {
            id: free_id(&name, "resource", |id| snapshot.resources.contains_key(id)),
            name,
            aliases: Vec::new(),
            kind: NEW_RESOURCE_KIND.to_owned(),
            capacity: 1,
            attributes: BTreeMap::new(),
        }),
    })
}
