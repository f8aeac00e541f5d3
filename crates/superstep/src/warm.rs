//! States of threads that ran last, as their runs left them, so that the next run need not read them again.
//!
//! A help and never the truth: a state is used only when the store says that its checkpoint is still the newest.

use std::collections::VecDeque;
use std::sync::Mutex;

use superstep_core::id::ThreadId;
use superstep_core::machine::Warm;
use superstep_core::port::{KnownCheckpointer, SharedCheckpointer};

use crate::context::lock;

/// How many are kept: a conversation that goes on is among the last, and every state costs its memory.
const KEPT: usize = 16;

/// The states of a graph's threads that ran last, newest at the end.
#[derive(Default)]
pub(crate) struct WarmStates(Mutex<VecDeque<Kept>>);

struct Kept {
    thread: ThreadId,
    /// Not kept open for this.
    store: KnownCheckpointer,
    warm: Warm,
}

impl WarmStates {
    /// Takes the state of a thread out: the run that has it may change it in place.
    pub(crate) fn take(&self, thread: &ThreadId, store: &SharedCheckpointer) -> Option<Warm> {
        let mut kept = lock(&self.0);
        let place = kept.iter().rposition(|kept| kept.thread == *thread && kept.store.is(store))?;
        kept.remove(place).map(|kept| kept.warm)
    }

    /// Keeps the state of a thread whose run has ended.
    pub(crate) fn keep(&self, thread: &ThreadId, store: &SharedCheckpointer, warm: Warm) {
        let mut kept = lock(&self.0);
        // No run can come back to a thread of a store that is gone.
        kept.retain(|kept| !kept.store.is_gone());
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { thread: thread.clone(), store: store.into(), warm });
    }
}
