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
pub async fn import_thread<C: Checkpointer>(checkpointer: &C, export: ThreadExport, run: RunId) -> Result<()> {
    let thread = export.thread.clone();
    let guard = ImportLeaseGuard { checkpointer, lease: checkpointer.acquire(&thread, run).await? };
    if checkpointer.status(&thread).await?.is_some() {
        return Err(errors::thread_already_exists(&thread));
    }
    let commit = export.into_commit(&guard.lease);
    checkpointer.commit(&commit).await.map_err(|error| error.with_thread(Some(&thread)))
}

impl SharedCheckpointer {
    /// Calls [`import_thread`].
    ///
    /// # Errors
    /// Same as [`import_thread`].
    pub async fn import_thread(&self, export: ThreadExport, run: RunId) -> Result<()> {
        import_thread(&self.as_checkpointer(), export, run).await
    }
}

/// A lease that is released on drop.
struct ImportLeaseGuard<'a, C: Checkpointer> {
    checkpointer: &'a C,
    lease: Lease,
}

impl<C: Checkpointer> Drop for ImportLeaseGuard<'_, C> {
    fn drop(&mut self) {
        self.checkpointer.release(&self.lease);
    }
}
