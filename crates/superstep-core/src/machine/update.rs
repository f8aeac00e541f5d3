//! Changes from outside: updates of a thread's state, as a node or as nobody, and commands.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Machine, Phase};
use crate::advance::{Due, Leads, Since, advance, order};
use crate::apply::TaskUpdate;
use crate::checkpoint::{Pending, Source};
use crate::command::Output;
use crate::error::{Code, Error, Result};
use crate::graph::{END_NAME, START_NAME};
use crate::id::{NodeId, TaskId};
use crate::port::ThreadStatus;
use crate::state::Draft;
use crate::suggest::did_you_mean;

/// What an update from outside is refused with.
const MISFIT: &str = "the update does not fit the state";

/// As whom a state is updated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AsNode {
    /// As nobody: what is due stays due.
    #[default]
    Nobody,
    /// As if this node had just returned the update: its edges are followed.
    Node(String),
    /// As an input: the run starts anew.
    Start,
    /// As the end: nothing is due any more.
    End,
}

impl From<&str> for AsNode {
    fn from(name: &str) -> Self {
        match name {
            START_NAME | "__input__" => Self::Start,
            END_NAME => Self::End,
            name => Self::Node(name.to_owned()),
        }
    }
}

/// One update from outside.
#[derive(Debug, Clone)]
pub struct StateUpdate {
    /// The update.
    pub update: Draft,
    /// As whom.
    pub as_node: AsNode,
}

impl Machine {
    /// Updates the state from outside, several updates as one superstep, and makes a checkpoint.
    ///
    /// # Errors
    /// When an update or a node is refused; nothing is changed then.
    pub fn update(&mut self, updates: Vec<StateUpdate>) -> Result<()> {
        let mut folds: Vec<TaskUpdate> = Vec::new();
        let mut nodes = Vec::new();
        for StateUpdate { update, as_node } in updates {
            let who = self.who(&as_node)?;
            let mut resolved = super::finish::hold(&self.graph, update, &mut self.warnings)
                .map_err(|problems| Error::listing(Code::InputInvalid, MISFIT, problems))?;
            self.stamp(&mut resolved);
            folds.push(TaskUpdate {
                node: who.map_or_else(|| "update".into(), |id| self.graph.node(id).name.clone()),
                update: resolved,
            });
            nodes.push((as_node, who));
        }
        let (applied, folded) = self.fold(folds, self.outside_rules(true, MISFIT))?;
        if let Err(error) = self.succeed(&nodes) {
            self.unfold(folded);
            return Err(error);
        }
        self.count_since_input(&applied);
        self.position.step += 1;
        self.save_after_update(applied);
        if !self.is_finished() {
            self.save_pending(Vec::new(), Some(ThreadStatus::Interrupted));
        }
        Ok(())
    }

    fn who(&self, as_node: &AsNode) -> Result<Option<NodeId>> {
        let AsNode::Node(name) = as_node else { return Ok(None) };
        self.graph.find(name).map(Some).ok_or_else(|| {
            let error = Error::new(Code::InputInvalid, format!("no node `{name}` to update as"));
            let names = || self.graph.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            error.help(did_you_mean(name, self.graph.names()).unwrap_or_else(|| format!("the nodes are {}", names())))
        })
    }

    /// Finds what is due after updates: what was due, less the nodes spoken for, plus what they lead to.
    fn succeed(&mut self, nodes: &[(AsNode, Option<NodeId>)]) -> Result<()> {
        let mut kept = self.take_due();
        let mut finished: Vec<(Option<NodeId>, Leads)> = Vec::new();
        for (as_node, id) in nodes {
            match (as_node, id) {
                (AsNode::End, _) => {
                    kept.clear();
                    self.position.deferred.clear();
                }
                (AsNode::Start, _) => {
                    kept.clear();
                    finished.push((None, self.start_leads()?));
                }
                (AsNode::Node(_), Some(id)) => {
                    kept.retain(|due| due.node != *id || due.send.is_some());
                    let mut leads = Leads { follow_edges: true, ways: SmallVec::new() };
                    for route in &self.graph.exits[id.index()].routes {
                        self.decide(Some(*id), route, &*self.state, &mut leads)?;
                    }
                    finished.push((Some(*id), leads));
                }
                _ => {}
            }
        }
        if finished.is_empty() {
            self.position.due = kept;
            return Ok(());
        }
        self.add_due(kept, finished);
        Ok(())
    }

    /// Makes due what finished tasks lead to, beside what is due already.
    fn add_due(&mut self, mut kept: SmallVec<[Due; 1]>, finished: Vec<(Option<NodeId>, Leads)>) {
        let graph = self.graph.clone();
        // Deferred nodes wait for what is kept too, which `advance` does not see.
        let held = if kept.is_empty() { Vec::new() } else { std::mem::take(&mut self.position.deferred) };
        advance(&graph, &mut self.position, finished.into_iter());
        self.position.deferred.extend(held);
        let mut next = kept.iter().filter_map(|due| due.send.as_ref()).map(|send| send.index + 1).max().unwrap_or(0);
        for mut due in std::mem::take(&mut self.position.due) {
            match &mut due.send {
                Some(send) => {
                    Arc::make_mut(send).index = next;
                    next += 1;
                }
                None if kept.iter().any(|old| old.send.is_none() && old.node == due.node) => continue,
                None => {}
            }
            kept.push(due);
        }
        order(&graph, &mut kept);
        self.position.due = kept;
    }

    /// Saves, and carries over what is known of the tasks that are still due: finished ones are not run again,
    /// and open questions keep their ids.
    fn save_after_update(&mut self, applied: crate::apply::Applied) {
        let known = std::mem::take(&mut self.pending);
        self.save_checkpoint(Source::Update, applied);
        let Some(checkpoint) = self.head else { return };
        let due: Vec<TaskId> = self.position.due.iter().map(|due| self.task_id(due)).collect();
        let kept = known.into_iter().filter(|entry| due.contains(&entry.task));
        let carried: Vec<Pending> = kept.map(|entry| Pending { checkpoint, ..entry }).collect();
        if !carried.is_empty() {
            self.pending.clone_from(&carried);
            self.save_pending(carried, None);
        }
    }

    /// Saves a thread of an older version in today's shape before anything is added to what is known of its tasks: what
    /// is stored with a checkpoint is of its version.
    pub(super) fn save_migrated(&mut self) {
        if !self.is_migrated || self.config.lease.is_none() {
            return;
        }
        self.position.due = self.take_due();
        self.save_after_update(crate::apply::Applied::default());
    }

    /// The tasks that are due, marked with where they became due so that their ids stay.
    fn take_due(&mut self) -> SmallVec<[Due; 1]> {
        let (head, step) = (self.head, self.position.step);
        let mut due = std::mem::take(&mut self.position.due);
        if std::mem::take(&mut self.branches) {
            return due;
        }
        for task in &mut due {
            let here = || head.map(|checkpoint| Box::new(Since { checkpoint, step, named: None }));
            task.since = task.since.take().or_else(here);
        }
        due
    }

    /// Applies a command from outside to the thread as it stands, and goes on.
    ///
    /// # Errors
    /// When the update or the targets are refused; nothing is changed then.
    pub fn command(&mut self, output: Output) -> Result<()> {
        if self.is_new() {
            return Err(
                Error::new(Code::InputInvalid, "a command needs a thread that has begun").help("give an input first")
            );
        }
        let (update, leads) = self.resolve_command(output)?;
        let applied = self.fold_input(update)?;
        let kept = self.take_due();
        self.add_due(kept, vec![(None, leads)]);
        self.position.step += 1;
        self.save_after_update(applied);
        self.skip_breakpoint = true;
        self.phase = Phase::Plan;
        Ok(())
    }
}
