//! Plans that change another event: move a more flexible event, or cancel one of lower priority.
//!
//! Only events that the requester may change are changed. Of another series, only the conflicting instance changes.
//! If two series conflict, the new one has to move.

use std::sync::Arc;

use superstep::Result;

use super::super::availability_check::AvailabilityCheck;
use super::super::format;
use super::super::time_math::{in_time_zone, midnight};
use super::super::visibility::can_modify;
use super::nearest_slot::nearest;
use super::reschedule::instance_override;
use super::{ResolutionContext, ResolutionPlan};
use crate::calendar::{Event, TimeRange};
use crate::models::{ChangeAction, EventStatus, ResolutionChange, Strategy};
use crate::time_zone::NamedTimeZone;

impl ResolutionContext<'_> {
    pub(super) fn move_other_events(&self) -> Result<Vec<ResolutionPlan>> {
        let mut plans = Vec::new();
        for (other, occurrence) in
            self.modifiable_conflicting_events(|other| other.flexibility > self.event.flexibility)?
        {
            if occurrence.is_all_day {
                continue;
            }
            let zone = NamedTimeZone::from_iana_name(&self.snapshot.family.zone)?;
            let end = midnight(&zone, occurrence.span.start, 1)?.max(occurrence.span.end);
            let day = TimeRange { start: midnight(&zone, occurrence.span.start, 0)?, end };
            let availability = AvailabilityCheck::new(&self.with_event, &occurrence, &day)?;
            let to =
                nearest(&self.with_event, &availability, &occurrence, self.now, |spans| availability.is_free(spans))?;
            if let Some(to) = to {
                let to = in_time_zone(&NamedTimeZone::from_iana_name(&occurrence.zone)?, &to)?;
                plans.push(self.move_plan(&other, &occurrence.span, &to).touching(&other));
            }
        }
        Ok(plans)
    }

    pub(super) fn cancel_other_events(&self) -> Result<Vec<ResolutionPlan>> {
        let mut plans = Vec::new();
        for (other, occurrence) in self.modifiable_conflicting_events(|other| other.priority < self.event.priority)? {
            let (title, when) =
                (self.formatter.name(&other), format::format_range(&self.formatter.zone, &occurrence.span));
            let change = ResolutionChange {
                event_id: Some(other.id.clone()),
                old_value: other.recurrence.as_ref().map(|_| occurrence.span.start.to_string()),
                action: Some(ChangeAction::Cancel),
                ..ResolutionChange::default()
            };
            let plan = ResolutionPlan::new(Strategy::CancelEvent, format!("Cancel {title} on {when}."), vec![change]);
            plans.push(plan.with_side_effect(format!("{title} does not take place on {when}.")).touching(&other));
        }
        Ok(plans)
    }

    /// Returns the conflicting events that may be changed, once each, with the conflicting instance.
    fn modifiable_conflicting_events(&self, accepts: impl Fn(&Event) -> bool) -> Result<Vec<(Arc<Event>, Event)>> {
        let mut all: Vec<(Arc<Event>, Event)> = Vec::new();
        for conflict in &self.before {
            for (index, other) in conflict.others.iter().enumerate() {
                // A proposed event belongs to another thread.
                let is_open = other.status != EventStatus::Confirmed;
                let is_listed = all.iter().any(|(listed, _)| listed.id == other.id);
                if is_open || is_listed || !accepts(other) || !can_modify(self.snapshot, self.requester, other) {
                    continue;
                }
                if other.recurrence.is_none() {
                    all.push((other.clone(), other.as_ref().clone()));
                } else if self.event.recurrence.is_none() && index == 0 {
                    // `at` is the time range of the first of the other events.
                    let occurrence = instance_override(self.snapshot, other, conflict.at.start)?;
                    all.push((other.clone(), occurrence));
                }
            }
        }
        Ok(all)
    }
}
