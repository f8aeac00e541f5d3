//! Event filter of a subscriber: other events are not created.

/// Event types that a subscriber needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventFilter {
    /// Start and end of graphs, with their input.
    pub(crate) graphs: bool,
    /// Start of tasks.
    pub(crate) task_starts: bool,
    /// End of tasks.
    pub(crate) task_ends: bool,
    pub(crate) values: bool,
    pub(crate) checkpoints: bool,
    pub(crate) interrupts: bool,
    pub(crate) custom: bool,
    /// Start and end of model and tool calls.
    pub(crate) model_and_tool_calls: bool,
    /// Chunks of model responses.
    pub(crate) chunks: bool,
    /// Warnings and retries.
    pub(crate) warnings: bool,
    /// The same events of subgraphs.
    pub(crate) subgraphs: bool,
}

impl EventFilter {
    pub(crate) const ALL: Self = Self {
        graphs: true,
        task_starts: true,
        task_ends: true,
        values: true,
        checkpoints: true,
        interrupts: true,
        custom: true,
        model_and_tool_calls: true,
        chunks: true,
        warnings: true,
        subgraphs: true,
    };
}
