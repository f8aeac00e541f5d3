//! How a whole thread gets into a store: one transaction, onto a thread that does not exist yet.

use super::{Lease, SharedCheckpointer};
use crate::checkpoint::ThreadCopy;
use crate::error::{Code, Error, Result};
use crate::id::{RunId, ThreadId};

impl SharedCheckpointer {
    /// Puts everything of a thread into this store, whole or not at all. `run` holds the thread meanwhile.
    ///
    /// # Errors
    /// When the thread exists already or somebody moves it, or the store fails; nothing is saved then.
    ///
    /// # Cancel safety
    /// Dropping the future leaves all of the thread in the store, or nothing.
    pub async fn put_thread(&self, copy: ThreadCopy, run: RunId) -> Result<()> {
        let thread = copy.thread.clone();
        let held = Held { store: self, lease: self.acquire(&thread, run).await? };
        if self.status(&thread).await?.is_some() {
            return Err(exists(&thread));
        }
        let commit = copy.into_commit(&held.lease);
        self.commit(&commit).await.map_err(|error| error.on_thread(Some(&thread)))
    }
}

fn exists(thread: &ThreadId) -> Error {
    let message = format!("thread `{thread}` exists already, so nothing was put there");
    Error::new(Code::InputInvalid, message)
        .help("name a thread that does not exist, or delete it first")
        .on_thread(Some(thread))
}

/// A lease that is given back whatever happens.
struct Held<'a> {
    store: &'a SharedCheckpointer,
    lease: Lease,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}
