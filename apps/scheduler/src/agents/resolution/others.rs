//! Plans that change another event: one that is more flexible moves, one that matters less gives way.
//!
//! Only what who asks may change is touched. Of another series only the instance that is in the way
//! changes; where two series meet, the new one has to move.

use std::sync::Arc;

use superstep::Result;

use super::super::look::Look;
use super::super::moments::{midnight, written};
use super::super::seen::may_change;
use super::super::words;
use super::changed::instance;
use super::nearest::nearest;
use super::{Desk, Plan};
use crate::calendar::{Event, Span};
use crate::models::{ChangeAction, EventStatus, ResolutionChange, Strategy};
use crate::zone::Zone;

impl Desk<'_> {
    pub(super) fn move_others(&self) -> Result<Vec<Plan>> {
        let mut plans = Vec::new();
        for (other, standing) in self.in_the_way(|other| other.flexibility > self.event.flexibility)? {
            if standing.is_all_day {
                continue;
            }
            let zone = Zone::named(&self.board.family.zone)?;
            let end = midnight(&zone, standing.span.start, 1)?.max(standing.span.end);
            let day = Span { start: midnight(&zone, standing.span.start, 0)?, end };
            let look = Look::new(&self.with_event, &standing, &day)?;
            let to = nearest(&self.with_event, &look, &standing, self.now, |spans| look.is_free(spans))?;
            if let Some(to) = to {
                let to = written(&Zone::named(&standing.zone)?, &to)?;
                plans.push(self.moving(&other, &standing.span, &to).touching(&other));
            }
        }
        Ok(plans)
    }

    pub(super) fn cancel_others(&self) -> Result<Vec<Plan>> {
        let mut plans = Vec::new();
        for (other, standing) in self.in_the_way(|other| other.priority < self.event.priority)? {
            let (title, when) = (self.telling.name(&other), words::stretch(&self.telling.zone, &standing.span));
            let change = ResolutionChange {
                event_id: Some(other.id.clone()),
                old_value: other.recurrence.as_ref().map(|_| standing.span.start.to_string()),
                action: Some(ChangeAction::Cancel),
                ..ResolutionChange::default()
            };
            let plan = Plan::new(Strategy::CancelEvent, format!("Cancel {title} on {when}."), vec![change]);
            plans.push(plan.losing(format!("{title} does not take place on {when}.")).touching(&other));
        }
        Ok(plans)
    }

    /// The other events that are in the way and may be changed, each once, with the one instance that is.
    fn in_the_way(&self, is_wanted: impl Fn(&Event) -> bool) -> Result<Vec<(Arc<Event>, Event)>> {
        let mut all: Vec<(Arc<Event>, Event)> = Vec::new();
        for found in &self.before {
            for (place, other) in found.others.iter().enumerate() {
                // What is only proposed belongs to another conversation.
                let is_open = other.status != EventStatus::Confirmed;
                let is_known = all.iter().any(|(known, _)| known.id == other.id);
                if is_open || is_known || !is_wanted(other) || !may_change(self.board, self.asker, other) {
                    continue;
                }
                if other.recurrence.is_none() {
                    all.push((other.clone(), other.as_ref().clone()));
                } else if self.event.recurrence.is_none() && place == 0 {
                    // `at` is when the first of the others is.
                    let standing = instance(self.board, other, found.at.start)?;
                    all.push((other.clone(), standing));
                }
            }
        }
        Ok(all)
    }
}
