//! Lets the nodes of a superstep finish in an order that a test chooses.

use std::sync::Arc;

use tokio::sync::watch;

/// Whose turn it is; clones are one and the same.
#[derive(Clone)]
pub(super) struct Turns(Arc<watch::Sender<usize>>);

impl Turns {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Waits for its turn and passes it on.
    pub(super) async fn take(&self, turn: usize) {
        let mut now = self.0.subscribe();
        now.wait_for(|now| *now == turn).await.expect("the sender is here");
        self.0.send_modify(|now| *now += 1);
    }
}
