//! How many use a thing at the same moment (R-FAM-105).
//!
//! Three bookings one after another are one at a time, so bookings are not counted: a sweep over their starts and ends
//! finds the fullest moment.

use std::sync::Arc;

use superstep::{Code, Error, Result};

use super::moments::common;
use super::taken::{Taken, is_transparent, whole_of};
use crate::calendar::{Board, Resource, Span};
use crate::models::{ResourceAvailability, ResourceManagerData};

/// Whether things can be had for a stretch of time. The event `except`, a series with its exceptions, is not counted.
///
/// # Errors
/// When there is no such thing, or a rule or zone on the board cannot be read.
pub fn availability(
    board: &Board,
    resources: &[String],
    span: &Span,
    except: Option<&str>,
) -> Result<ResourceManagerData> {
    let is_other = |event: &crate::calendar::Event| {
        let uses = event.resources.iter().any(|resource| resources.contains(resource));
        uses && !is_transparent(event) && Some(whole_of(event)) != except && Some(event.id.as_str()) != except
    };
    let taken = Taken::new(board, span, is_other)?;
    let mut each = Vec::new();
    for id in resources {
        each.push(availability_of(known(board, id)?, &taken, span));
    }
    let all_resources_available = each.iter().all(|one| one.available);
    Ok(ResourceManagerData { resource_availability: each, all_resources_available })
}

fn availability_of(resource: &Resource, taken: &Taken, span: &Span) -> ResourceAvailability {
    let mut users: Vec<_> = taken.of_resource(&resource.id, *span).collect();
    users.reverse();
    let spans: Vec<Span> = users.iter().map(|entry| entry.span).collect();
    let most = u32::try_from(fullest(&spans, span).len()).unwrap_or(u32::MAX);
    let mut conflicts: Vec<String> = Vec::new();
    for user in users {
        let id = &taken.kept(user).event.id;
        if !conflicts.contains(id) {
            conflicts.push(id.clone());
        }
    }
    ResourceAvailability {
        resource_id: resource.id.clone(),
        resource_name: resource.name.clone(),
        available: most < resource.capacity,
        current_capacity: most,
        max_capacity: resource.capacity,
        conflicts,
    }
}

/// Things of the same kind that can be had for a stretch of time, by name. The event `except` is not counted.
///
/// # Errors
/// When there is no such thing, or a rule or zone on the board cannot be read.
pub fn alternatives(board: &Board, resource: &str, span: &Span, except: Option<&str>) -> Result<Vec<Arc<Resource>>> {
    let wanted = known(board, resource)?;
    let same_kind = |other: &&Arc<Resource>| other.id != wanted.id && other.kind.eq_ignore_ascii_case(&wanted.kind);
    let others: Vec<Arc<Resource>> = board.resources.values().filter(same_kind).cloned().collect();
    let ids: Vec<String> = others.iter().map(|other| other.id.clone()).collect();
    let each = availability(board, &ids, span, except)?.resource_availability;
    let mut free: Vec<Arc<Resource>> =
        others.into_iter().zip(each).filter(|(_, one)| one.available).map(|(other, _)| other).collect();
    free.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(free)
}

fn known<'a>(board: &'a Board, id: &str) -> Result<&'a Arc<Resource>> {
    let names: Vec<&str> = board.resources.values().map(|resource| resource.id.as_str()).collect();
    let unknown = || Error::new(Code::TypeMismatch, format!("there is no resource `{id}`"));
    board.resources.get(id).ok_or_else(|| unknown().help(format!("the family has: {}", names.join(", "))))
}

/// Which of these are in force at the fullest moment of a stretch of time: their places, in their order.
pub(super) fn fullest(spans: &[Span], within: &Span) -> Vec<usize> {
    let mut edges = Vec::new();
    for (place, span) in spans.iter().enumerate() {
        if let Some(part) = common(span, within) {
            // What ends at a moment is out before what starts then is in.
            edges.push((part.start, true, place));
            edges.push((part.end, false, place));
        }
    }
    edges.sort_unstable();
    let (mut now, mut most): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (_, is_start, place) in edges {
        if is_start {
            now.push(place);
        } else {
            now.retain(|other| *other != place);
        }
        if now.len() > most.len() {
            most.clone_from(&now);
        }
    }
    most.sort_unstable();
    most
}
