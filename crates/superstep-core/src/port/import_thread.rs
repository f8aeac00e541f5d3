//! Import of a complete thread into a checkpointer: one transaction, onto a thread that does not exist yet.

use super::{Checkpointer, Lease, SharedCheckpointer, errors};
use crate::checkpoint::ThreadExport;
use crate::error::Result;
use crate::id::RunId;

/// Imports everything of a thread into a checkpointer, completely or not at all. `run` holds the lease meanwhile.
///
/// # Errors
/// Returns an error if the thread exists already, another run holds its lease, or the checkpointer fails; nothing
/// is saved then.
///
/// # Cancel safety
/// Dropping the future leaves all of the thread in the checkpointer, or nothing.
pub async fn import_thread<C: Checkpointer>(store: &C, copy: ThreadExport, run: RunId) -> Result<()> {
    let thread = copy.thread.clone();
    let held = ImportLeaseGuard { store, lease: store.acquire(&thread, run).await? };
    if store.status(&thread).await?.is_some() {
        return Err(errors::thread_already_exists(&thread));
    }
    let commit = copy.into_commit(&held.lease);
    store.commit(&commit).await.map_err(|error| error.with_thread(Some(&thread)))
}

impl SharedCheckpointer {
    /// Calls [`import_thread`].
    ///
    /// # Errors
    /// Same as [`import_thread`].
    pub async fn import_thread(&self, copy: ThreadExport, run: RunId) -> Result<()> {
        import_thread(&self.as_checkpointer(), copy, run).await
    }
}

/// A lease that is released on drop.
struct ImportLeaseGuard<'a, C: Checkpointer> {
    store: &'a C,
    lease: Lease,
}

impl<C: Checkpointer> Drop for ImportLeaseGuard<'_, C> {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}
