//! Stops of a run with scheduled tasks: limits and breakpoints.

use std::sync::Arc;

use super::{Machine, MachineEnd};
use crate::error::{Error, ErrorCode};
use crate::graph::Compat;
use crate::id::NodeId;
use crate::port::ThreadStatus;

/// The result of a run that reaches its recursion limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLimit {
    /// An error with the state so far.
    #[default]
    Fail,
    /// The state so far, marked as truncated.
    ReturnPartial,
}

/// The nodes at which a run pauses for inspection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Breakpoints {
    /// No node.
    #[default]
    None,
    /// Every node.
    All,
    /// These nodes, ascending.
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
    /// Returns the number of supersteps that may still run, including the next one.
    pub(super) fn remaining(&self) -> u32 {
        let remaining = match self.graph.compat {
            Compat::LangGraph => self.remaining_langgraph(),
            _ => i64::from(self.config.recursion_limit) - i64::try_from(self.supersteps).unwrap_or(i64::MAX),
        };
        u32::try_from(remaining.max(0)).unwrap_or(u32::MAX)
    }

    /// Returns the remaining supersteps by LangGraph's count: from the step at which the run started, including one
    /// superstep that cannot succeed.
    fn remaining_langgraph(&self) -> i64 {
        self.start_step + i64::from(self.config.recursion_limit) + 1 - self.position.step
    }

    pub(super) fn limit_reached(&mut self) -> Option<(MachineEnd, ThreadStatus)> {
        // LangGraph tests its limit before it checks for scheduled tasks.
        let continues = match self.graph.compat {
            Compat::LangGraph => self.remaining_langgraph() >= 0,
            _ => self.position.next_tasks.is_empty() || self.remaining() > 0,
        };
        if continues {
            return None;
        }
        let limit = self.config.recursion_limit;
        if self.config.on_limit == OnLimit::ReturnPartial {
            self.warn(format!("stopped at the recursion limit of {limit} supersteps"));
            return Some((MachineEnd::Truncated, ThreadStatus::Idle));
        }
        let next: Vec<String> = self.next_names().iter().map(|name| format!("`{name}`")).collect();
        let scheduled = if next.is_empty() { "nothing".to_owned() } else { next.join(", ") };
        let recent: Vec<&str> = self.recent.iter().map(|id| &*self.graph.node(*id).name).collect();
        let ran = self.supersteps;
        let message = format!(
            "recursion limit reached after {ran} supersteps; next: {scheduled}; last nodes: {}",
            recent.join(", ")
        );
        let error = Error::new(ErrorCode::RecursionLimit, message)
            .with_help("check the conditional edge that should end the loop, or raise `recursion_limit`");
        Some((MachineEnd::Failed(error), ThreadStatus::Error))
    }

    /// Returns the scheduled nodes before which the run pauses. The first superstep of a continued run passes its
    /// breakpoint.
    pub(super) fn breakpoint_before(&mut self) -> Vec<Arc<str>> {
        if std::mem::take(&mut self.skip_breakpoint) || self.config.interrupt_before == Breakpoints::None {
            return Vec::new();
        }
        let scheduled = self
            .position
            .next_tasks
            .iter()
            .map(|task| task.node)
            .filter(|node| self.config.interrupt_before.has(*node));
        let mut names: Vec<Arc<str>> = scheduled.map(|node| self.graph.node(node).name.clone()).collect();
        names.dedup();
        names
    }

    /// Returns the nodes of the finished superstep after which the run pauses.
    pub(super) fn breakpoint_after(&self, finished: &[NodeId]) -> Vec<Arc<str>> {
        let hit = finished.iter().filter(|node| self.config.interrupt_after.has(**node));
        let mut names: Vec<Arc<str>> = hit.map(|node| self.graph.node(*node).name.clone()).collect();
        names.dedup();
        names
    }
}
