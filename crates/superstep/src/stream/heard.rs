//! What a reader wants to hear of: nothing else is made.

/// What a reader wants to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interest {
    /// Graphs begin and end, with what they begin with.
    pub(crate) graphs: bool,
    /// Tasks begin.
    pub(crate) starts: bool,
    /// Tasks end.
    pub(crate) ends: bool,
    pub(crate) values: bool,
    pub(crate) checkpoints: bool,
    pub(crate) questions: bool,
    pub(crate) custom: bool,
    /// Calls of models and tools begin and end.
    pub(crate) calls: bool,
    /// Models say something, piece by piece.
    pub(crate) pieces: bool,
    /// What should be known besides: warnings, attempts.
    pub(crate) notes: bool,
    /// The same of graphs inside.
    pub(crate) inside: bool,
}

impl Interest {
    pub(crate) const ALL: Self = Self {
        graphs: true,
        starts: true,
        ends: true,
        values: true,
        checkpoints: true,
        questions: true,
        custom: true,
        calls: true,
        pieces: true,
        notes: true,
        inside: true,
    };
}
