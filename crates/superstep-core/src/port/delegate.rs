//! Delegation for a checkpointer that wraps another one.
//!
//! The macro writes signatures and calls only: a method that the wrapper changes is left out of the list and
//! implemented by hand.

/// Implements methods of a [`Checkpointer`](crate::port::Checkpointer) by delegation to another checkpointer.
///
/// The part before the `;` is an expression for the other checkpointer, in which `self` has the name before `=>`; the
/// expression may use `await` or `?`, unless `release` is in the list. The part after the `;` lists the methods. A new
/// method of the port is one more name in each wrapper.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use superstep_core::error::{Error, ErrorCode, Result};
/// use superstep_core::delegate_checkpointer;
/// use superstep_core::port::{Checkpointer, Commit};
///
/// /// Takes a number of commits, and then no more.
/// struct Full<C> {
///     store: C,
///     left: AtomicUsize,
/// }
///
/// impl<C: Checkpointer> Checkpointer for Full<C> {
///     async fn commit(&self, commit: &Commit) -> Result<()> {
///         let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
///         left.map_err(|_| Error::new(ErrorCode::StoreUnavailable, "the disk is full"))?;
///         self.store.commit(commit).await
///     }
///
///     delegate_checkpointer!(this => this.store; acquire, release, load, history, threads, status, namespaces);
///     delegate_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
///     delegate_checkpointer!(this => this.store; events, last_event_number, delete_events);
/// }
/// ```
#[macro_export]
macro_rules! delegate_checkpointer {
    ($this:ident => $store:expr; $($method:ident),+ $(,)?) => {
        $($crate::delegate_checkpointer!(@$method $this $store);)+
    };
    (@release $this:ident $store:expr) => {
        fn release(&self, lease: &$crate::port::Lease) {
            let $this = self;
            $store.release(lease);
        }
    };
    (@acquire $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; acquire(
            thread: &$crate::id::ThreadId, run: $crate::id::RunId) -> $crate::port::Lease);
    };
    (@commit $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; commit(commit: &$crate::port::Commit) -> ());
    };
    (@load $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; load(
            thread: &$crate::id::ThreadId, namespace: &$crate::checkpoint::CheckpointNamespace, at: $crate::port::CheckpointSelector
        ) -> Option<$crate::port::CheckpointTuple>);
    };
    (@history $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; history(
            thread: &$crate::id::ThreadId, namespace: &$crate::checkpoint::CheckpointNamespace,
            query: &$crate::port::HistoryQuery) -> Vec<$crate::port::CheckpointTuple>);
    };
    (@threads $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; threads(
            query: &$crate::port::ThreadsQuery) -> Vec<$crate::id::ThreadId>);
    };
    (@status $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; status(
            thread: &$crate::id::ThreadId) -> Option<$crate::port::ThreadStatus>);
    };
    (@namespaces $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; namespaces(
            thread: &$crate::id::ThreadId) -> Vec<$crate::checkpoint::CheckpointNamespace>);
    };
    (@delete_thread $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; delete_thread(thread: &$crate::id::ThreadId) -> ());
    };
    (@copy_thread $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; copy_thread(
            from: &$crate::id::ThreadId, to: &$crate::id::ThreadId) -> ());
    };
    (@prune $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; prune(
            thread: &$crate::id::ThreadId, retention: &$crate::port::Retention) -> $crate::port::PruneReport);
    };
    (@stats $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; stats() -> $crate::port::CheckpointerStats);
    };
    (@events $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; events(
            thread: &$crate::id::ThreadId, query: &$crate::port::EventsQuery) -> Vec<$crate::port::StoredEvent>);
    };
    (@last_event_number $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; last_event_number(thread: &$crate::id::ThreadId) -> u64);
    };
    (@delete_events $($target:tt)+) => {
        $crate::delegate_checkpointer!(@call $($target)+; delete_events(thread: &$crate::id::ThreadId, up_to: u64) -> ());
    };
    (@call $this:ident $store:expr; $name:ident($($argument:ident: $kind:ty),*) -> $output:ty) => {
        async fn $name(&self $(, $argument: $kind)*) -> $crate::error::Result<$output> {
            let $this = self;
            $store.$name($($argument),*).await
        }
    };
}
