//! The end of a superstep: all tasks have ended, now the run goes on, waits, hands over or fails.

use std::sync::Arc;

use super::finish::finished_nodes;
use super::{End, Event, Machine, Phase, Status};
use crate::advance::advance;
use crate::apply::{Applied, TaskUpdate};
use crate::change::Change;
use crate::checkpoint::{Entry, Pending, Question, Source};
use crate::error::{Code, Error, Result};
use crate::id::NodeId;
use crate::planted::{Bug, is_planted};
use crate::port::ThreadStatus;

impl Machine {
    pub(super) fn settle(&mut self) {
        if let Some(error) = self.first_failure() {
            self.end_early(End::Failed(error), ThreadStatus::Error);
            return;
        }
        if self.slots.iter().any(|slot| matches!(slot.status, Status::Cancelled)) {
            let end = if self.drain {
                End::Drained
            } else {
                End::Failed(Error::new(Code::Cancelled, "the run was cancelled"))
            };
            self.end_early(end, ThreadStatus::Idle);
            return;
        }
        if let Some(nodes) = self
            .slots
            .iter()
            .find_map(|slot| if let Status::Paused(nodes) = &slot.status { Some(nodes.clone()) } else { None })
        {
            self.end_early(End::Paused(nodes), ThreadStatus::Interrupted);
            return;
        }
        if self.slots.iter().any(|slot| matches!(slot.status, Status::Asked(_))) {
            self.interrupt();
            return;
        }
        let outward = self.slots.iter_mut().find_map(|slot| match &mut slot.status {
            Status::Done { resolved, .. } => resolved.outward.clone(),
            _ => None,
        });
        if let Some(outward) = outward {
            self.end_early(End::Outward(outward), ThreadStatus::Busy);
            return;
        }
        if let Err(error) = self.check_quorums().and_then(|()| self.complete()) {
            self.refuse(error);
        }
    }

    /// A quorum of more tasks than there were is not reached by all of them succeeding.
    fn check_quorums(&self) -> Result<()> {
        for slot in &self.slots {
            let node = slot.due.node;
            let Some(needed) = self.needed(node) else { continue };
            let succeeded = self.succeeded(node);
            if succeeded < needed {
                let message = format!("{needed} of its tasks must succeed, and there were only {succeeded}");
                let help = "send it more tasks, or lower the quorum";
                return Err(Error::new(Code::NodeFailed, message).help(help).at_node(&*self.graph.node(node).name));
            }
        }
        Ok(())
    }

    /// Ends a run whose updates do not fold together: the tasks stay finished, the thread shows why it stands.
    fn refuse(&mut self, error: Error) {
        let at = error.place().node.as_deref();
        let blamed = self.slots.iter().position(|slot| Some(&*self.graph.node(slot.due.node).name) == at).unwrap_or(0);
        let mut entries = self.everything_known();
        entries.extend(self.entry(blamed, Entry::Refused((&error).into())));
        self.save_pending(entries, Some(ThreadStatus::Error));
        self.phase = Phase::Ended(Box::new(End::Failed(error)));
    }

    /// Ends a run inside a superstep: nothing of it is applied, everything finished is kept.
    fn end_early(&mut self, end: End, status: ThreadStatus) {
        let entries = self.everything_known();
        self.save_pending(entries, Some(status));
        self.phase = Phase::Ended(Box::new(end));
    }

    /// Entries for all that is known of the tasks of this superstep and not kept yet.
    pub(super) fn everything_known(&mut self) -> Vec<Pending> {
        let mut entries = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            if let Status::Asked(questions) = &slot.status {
                entries.extend(self.questions(index, questions));
            }
        }
        let all: Vec<usize> = (0..self.slots.len()).collect();
        entries.extend(self.unkept(&all));
        entries
    }

    /// Ends a run between supersteps: nothing is lost, and the thread says how it stands.
    pub(super) fn end_between(&mut self, end: End, status: ThreadStatus) {
        if self.config.namespace.is_root() {
            self.save_pending(Vec::new(), Some(status));
        }
        self.phase = Phase::Ended(Box::new(end));
    }

    fn interrupt(&mut self) {
        let asked = self.slots.iter().filter_map(|slot| match &slot.status {
            Status::Asked(questions) => Some(questions.iter().cloned()),
            _ => None,
        });
        let open: Vec<Question> = asked.flatten().collect();
        if self.config.observe {
            // What waits for a person is told once it is saved, in every mode.
            for index in 0..self.slots.len() {
                let Status::Asked(questions) = &self.slots[index].status else { continue };
                let (questions, step, (task, node)) = (questions.clone(), self.position.step + 1, self.names(index));
                self.unsaved_events.push(Event::TaskAsked { task, node, step, questions });
            }
            self.unsaved_events.push(Event::Interrupted { questions: open.clone() });
        }
        self.end_early(End::Interrupted(open), ThreadStatus::Interrupted);
    }

    fn first_failure(&self) -> Option<Error> {
        let mut failures = self.slots.iter().filter_map(|slot| match &slot.status {
            Status::Failed(error) => Some(error),
            _ => None,
        });
        let first = failures.next()?.clone();
        let others: Vec<String> =
            failures.filter_map(|error| error.place().node.as_ref().map(|node| format!("`{node}`"))).collect();
        if others.is_empty() {
            return Some(first);
        }
        let help = match first.advice() {
            Some(advice) => format!("{advice}; in the same superstep also failed {}", others.join(", ")),
            None => format!("in the same superstep also failed {}", others.join(", ")),
        };
        Some(first.help(help))
    }

    /// Folds, finds what is due next, and asks for the one commit of this superstep.
    fn complete(&mut self) -> Result<()> {
        let mut applied = match self.folded.take() {
            Some(applied) => applied,
            None => self.fold_all()?,
        };
        self.clear_ephemeral(&mut applied);
        self.count_since_input(&applied);
        if !applied.warnings.is_empty() {
            self.warn_of(&applied);
        }
        let finished = finished_nodes(&self.slots);
        self.remember(&finished);
        let leads = self.slots.iter_mut().filter_map(|slot| match &mut slot.status {
            Status::Done { resolved, .. } => Some((Some(slot.due.node), std::mem::take(&mut resolved.leads))),
            _ => None,
        });
        advance(&self.graph, &mut self.position, leads);
        self.slots.clear();
        self.position.step += 1;
        self.supersteps += 1;
        self.pending.clear();
        self.report_unfilled_joins();
        let paused = self.breakpoint_after(&finished);
        self.save_checkpoint(Source::Loop, applied);
        self.phase = Phase::Plan;
        if !paused.is_empty() {
            self.end_between(End::Paused(paused), ThreadStatus::Interrupted);
        }
        Ok(())
    }

    /// Adds what changed to what a graph around this one is told at the end.
    pub(super) fn count_since_input(&mut self, applied: &Applied) {
        let Some(total) = &mut self.since_input else { return };
        for (field, change) in &applied.changes {
            let earlier = total.remove(field).unwrap_or(Change::Unchanged);
            total.insert(*field, earlier.then(change.clone()));
        }
    }

    fn fold_all(&mut self) -> Result<Applied> {
        let rules = self.node_rules(false);
        let (graph, is_saved) = (&self.graph, self.config.lease.is_some());
        let updates = self.slots.iter_mut().filter_map(|slot| match &mut slot.status {
            Status::Done { resolved, kept } => {
                let node = graph.node(slot.due.node).name.clone();
                // When the fold is refused, what is not kept yet is still to be kept.
                let is_needed = is_saved && !*kept;
                let update = if is_needed { resolved.update.clone() } else { std::mem::take(&mut resolved.update) };
                Some(TaskUpdate { node, update })
            }
            _ => None,
        });
        let mut updates: Vec<TaskUpdate> = updates.collect();
        if is_planted(Bug::ArrivalOrderFold) {
            let is_last = |slot: &super::Slot| matches!(slot.status, Status::Done { kept: false, .. });
            self.slots.iter().position(is_last).into_iter().for_each(|place| updates[place..].rotate_left(1));
        }
        self.fold(updates, rules).map(|(applied, _)| applied)
    }

    fn remember(&mut self, finished: &[NodeId]) {
        for node in finished {
            if self.recent.len() == 10 {
                self.recent.remove(0);
            }
            self.recent.push(*node);
        }
    }

    fn report_unfilled_joins(&mut self) {
        if !self.position.due.is_empty() || self.position.joins.is_empty() {
            return;
        }
        let graph = self.graph.clone();
        for progress in self.position.joins.clone() {
            let join = &graph.joins[progress.join as usize];
            let missing =
                join.sources.iter().enumerate().filter(|(place, _)| !progress.arrived.contains(&(*place as u32)));
            let missing: Vec<String> = missing.map(|(_, id)| format!("`{}`", graph.node(*id).name)).collect();
            let target = &graph.node(join.target).name;
            self.warn(format!("join into `{target}` did not fire: it still waits for {}", missing.join(", ")));
        }
    }

    /// Notes something that is let pass but should be known: for the result, and for whoever watches.
    pub fn warn(&mut self, message: String) {
        self.warn_as("warning", None, message);
    }

    /// Notes what a fold let pass.
    pub(super) fn warn_of(&mut self, applied: &Applied) {
        for (field, message) in &applied.warnings {
            let name = field.map(|field| self.graph.schema.field(field).name.clone());
            let code = if name.is_some() { "set_once_ignored" } else { "warning" };
            self.warn_as(code, name, message.clone());
        }
    }

    fn warn_as(&mut self, code: &'static str, field: Option<Arc<str>>, message: String) {
        if self.config.observe {
            self.tell(Event::Warning { code, field, message: message.clone() });
        }
        self.warnings.push(message);
    }

    /// Tells after the next save, so that nothing is told that is not durable; at once where saving comes last.
    pub(super) fn tell(&mut self, event: Event) {
        let comes_late = self.config.lease.is_some() && !self.config.at_exit;
        if comes_late && !is_planted(Bug::EventBeforeCommit) {
            self.unsaved_events.push(event);
        } else {
            self.events.push(event);
        }
    }
}
