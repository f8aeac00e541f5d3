//! How a whole thread gets into a store: one transaction, onto a thread that does not exist yet.

use super::{Checkpointer, Lease, SharedCheckpointer, refusal};
use crate::checkpoint::ThreadCopy;
use crate::error::Result;
use crate::id::RunId;

/// Puts everything of a thread into a store, whole or not at all. `run` holds the thread meanwhile.
///
/// # Errors
/// When the thread exists already or somebody moves it, or the store fails; nothing is saved then.
///
/// # Cancel safety
/// Dropping the future leaves all of the thread in the store, or nothing.
pub async fn put_thread<C: Checkpointer>(store: &C, copy: ThreadCopy, run: RunId) -> Result<()> {
    let thread = copy.thread.clone();
    let held = Held { store, lease: store.acquire(&thread, run).await? };
    if store.status(&thread).await?.is_some() {
        return Err(refusal::exists(&thread));
    }
    let commit = copy.into_commit(&held.lease);
    store.commit(&commit).await.map_err(|error| error.on_thread(Some(&thread)))
}

impl SharedCheckpointer {
    /// See [`put_thread`].
    ///
    /// # Errors
    /// As [`put_thread`].
    pub async fn put_thread(&self, copy: ThreadCopy, run: RunId) -> Result<()> {
        put_thread(&self.as_store(), copy, run).await
    }
}

/// A lease that is given back whatever happens.
struct Held<'a, C: Checkpointer> {
    store: &'a C,
    lease: Lease,
}

impl<C: Checkpointer> Drop for Held<'_, C> {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}
