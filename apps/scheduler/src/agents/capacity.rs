//! Resource capacity: the largest number of simultaneous users of a resource (R-FAM-105).
//!
//! Consecutive bookings do not overlap, so the number of bookings in a range is not the load. A sweep over starts
//! and ends finds the instant with the most users.

use std::sync::Arc;

use superstep::{Error, ErrorCode, Result};

use super::busy_index::{BusyIndex, is_transparent, series_id};
use super::time_math::intersection;
use crate::calendar::{CalendarSnapshot, Resource, TimeRange};
use crate::models::{ResourceAvailability, ResourceManagerData};

/// Computes the availability of resources in a time range. The event `except` is not counted; if it is a series,
/// its overrides are not counted either.
///
/// # Errors
/// Returns an error if a resource does not exist, or if a recurrence rule or time zone in the snapshot is invalid.
pub fn resource_availability(
    snapshot: &CalendarSnapshot,
    resources: &[String],
    span: &TimeRange,
    except: Option<&str>,
) -> Result<ResourceManagerData> {
    let is_other = |event: &crate::calendar::Event| {
        let uses = event.resources.iter().any(|resource| resources.contains(resource));
        uses && !is_transparent(event) && Some(series_id(event)) != except && Some(event.id.as_str()) != except
    };
    let busy = BusyIndex::new(snapshot, span, is_other)?;
    let mut availabilities = Vec::new();
    for id in resources {
        availabilities.push(availability_of(require_resource(snapshot, id)?, &busy, span));
    }
    let all_resources_available = availabilities.iter().all(|availability| availability.available);
    Ok(ResourceManagerData { resource_availability: availabilities, all_resources_available })
}

fn availability_of(resource: &Resource, busy: &BusyIndex, span: &TimeRange) -> ResourceAvailability {
    let mut users: Vec<_> = busy.for_resource(&resource.id, *span).collect();
    users.reverse();
    let spans: Vec<TimeRange> = users.iter().map(|entry| entry.span).collect();
    let peak_users = u32::try_from(peak_usage(&spans, span).len()).unwrap_or(u32::MAX);
    let mut conflicts: Vec<String> = Vec::new();
    for user in users {
        let id = &busy.indexed_event(user).event.id;
        if !conflicts.contains(id) {
            conflicts.push(id.clone());
        }
    }
    ResourceAvailability {
        resource_id: resource.id.clone(),
        resource_name: resource.name.clone(),
        available: peak_users < resource.capacity,
        current_capacity: peak_users,
        max_capacity: resource.capacity,
        conflicts,
    }
}

/// Returns resources of the same kind that are available in a time range, sorted by name. The event `except` is not
/// counted.
///
/// # Errors
/// Returns an error if the resource does not exist, or if a recurrence rule or time zone in the snapshot is
/// invalid.
pub fn alternative_resources(
    snapshot: &CalendarSnapshot,
    resource: &str,
    span: &TimeRange,
    except: Option<&str>,
) -> Result<Vec<Arc<Resource>>> {
    let requested = require_resource(snapshot, resource)?;
    let same_kind =
        |other: &&Arc<Resource>| other.id != requested.id && other.kind.eq_ignore_ascii_case(&requested.kind);
    let others: Vec<Arc<Resource>> = snapshot.resources.values().filter(same_kind).cloned().collect();
    let ids: Vec<String> = others.iter().map(|other| other.id.clone()).collect();
    let availabilities = resource_availability(snapshot, &ids, span, except)?.resource_availability;
    let mut free: Vec<Arc<Resource>> = others
        .into_iter()
        .zip(availabilities)
        .filter(|(_, availability)| availability.available)
        .map(|(other, _)| other)
        .collect();
    free.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(free)
}

fn require_resource<'a>(snapshot: &'a CalendarSnapshot, id: &str) -> Result<&'a Arc<Resource>> {
    let names: Vec<&str> = snapshot.resources.values().map(|resource| resource.id.as_str()).collect();
    let not_found = || Error::new(ErrorCode::TypeMismatch, format!("resource `{id}` not found"));
    snapshot
        .resources
        .get(id)
        .ok_or_else(|| not_found().with_help(format!("resources of the family: {}", names.join(", "))))
}

/// Returns the indices of the ranges that overlap at the busiest instant within a time range, in ascending order.
pub(super) fn peak_usage(spans: &[TimeRange], within: &TimeRange) -> Vec<usize> {
    let mut edges = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        if let Some(part) = intersection(span, within) {
            // `false` sorts before `true`: an end is handled before a start at the same instant, because ranges are
            // half-open.
            edges.push((part.start, true, index));
            edges.push((part.end, false, index));
        }
    }
    edges.sort_unstable();
    let (mut active, mut peak): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (_, is_start, index) in edges {
        if is_start {
            active.push(index);
        } else {
            active.retain(|other| *other != index);
        }
        if active.len() > peak.len() {
            peak.clone_from(&active);
        }
    }
    peak.sort_unstable();
    peak
}
