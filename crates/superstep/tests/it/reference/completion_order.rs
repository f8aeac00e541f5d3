//! A fixed completion order for the nodes of a superstep.

use std::sync::Arc;

use tokio::sync::watch;

/// The current position in the order. Clones share it.
#[derive(Clone)]
pub(super) struct CompletionOrder(Arc<watch::Sender<usize>>);

impl CompletionOrder {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Waits for a position and advances to the next.
    pub(super) async fn take(&self, turn: usize) {
        let mut now = self.0.subscribe();
        now.wait_for(|now| *now == turn).await.expect("the sender is here");
        self.0.send_modify(|now| *now += 1);
    }
}
