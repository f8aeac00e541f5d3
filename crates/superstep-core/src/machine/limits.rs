//! When a run stops although something is due: limits and breakpoints.

use std::sync::Arc;

use super::{End, Machine};
use crate::error::{Code, Error};
use crate::graph::Compat;
use crate::id::NodeId;
use crate::port::ThreadStatus;

/// What happens when a run has used up its supersteps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLimit {
    /// An error with the state so far.
    #[default]
    Fail,
    /// The state so far, marked as truncated.
    ReturnPartial,
}

/// Where a run stops for somebody to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Breakpoints {
    /// Nowhere.
    #[default]
    None,
    /// At every node.
    All,
    /// At these nodes, ascending.
    At(Vec<NodeId>),
}

impl Breakpoints {
    fn has(&self, node: NodeId) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::At(nodes) => nodes.binary_search(&node).is_ok(),
        }
    }
}

impl Machine {
    /// How many supersteps may still run, the one that is due included.
    pub(super) fn remaining(&self) -> u32 {
        let left = match self.graph.compat {
            Compat::LangGraph => self.remaining_there(),
            _ => i64::from(self.config.limit) - i64::try_from(self.supersteps).unwrap_or(i64::MAX),
        };
        u32::try_from(left.max(0)).unwrap_or(u32::MAX)
    }

    /// The reference counts checkpoints from where the run came in, and one superstep that cannot end well.
    fn remaining_there(&self) -> i64 {
        self.came_in + i64::from(self.config.limit) + 1 - self.position.step
    }

    pub(super) fn limit_reached(&mut self) -> Option<(End, ThreadStatus)> {
        // The reference tests its limit before it looks whether anything is left to do.
        let goes_on = match self.graph.compat {
            Compat::LangGraph => self.remaining_there() >= 0,
            _ => self.position.due.is_empty() || self.remaining() > 0,
        };
        if goes_on {
            return None;
        }
        let limit = self.config.limit;
        if self.config.on_limit == OnLimit::ReturnPartial {
            self.warn(format!("stopped after {limit} supersteps, the limit of this run"));
            return Some((End::Truncated, ThreadStatus::Idle));
        }
        let next: Vec<String> = self.next_names().iter().map(|name| format!("`{name}`")).collect();
        let due = if next.is_empty() { "nothing".to_owned() } else { next.join(", ") };
        let recent: Vec<&str> = self.recent.iter().map(|id| &*self.graph.node(*id).name).collect();
        let ran = self.supersteps;
        let message = format!("{ran} supersteps ran and {due} is still due; the last nodes were {}", recent.join(", "));
        let error = Error::new(Code::RecursionLimit, message)
            .help("check the route that should end the loop, or raise `recursion_limit`");
        Some((End::Failed(error), ThreadStatus::Error))
    }

    /// The due nodes a run stops before. The first superstep of a continued run passes its breakpoint.
    pub(super) fn breakpoint_before(&mut self) -> Vec<Arc<str>> {
        if std::mem::take(&mut self.skip_breakpoint) || self.config.before == Breakpoints::None {
            return Vec::new();
        }
        let due = self.position.due.iter().map(|due| due.node).filter(|node| self.config.before.has(*node));
        let mut names: Vec<Arc<str>> = due.map(|node| self.graph.node(node).name.clone()).collect();
        names.dedup();
        names
    }

    /// The nodes of the finished superstep a run stops after.
    pub(super) fn breakpoint_after(&self, finished: &[NodeId]) -> Vec<Arc<str>> {
        let hit = finished.iter().filter(|node| self.config.after.has(**node));
        let mut names: Vec<Arc<str>> = hit.map(|node| self.graph.node(*node).name.clone()).collect();
        names.dedup();
        names
    }
}
