//! The methods of a store around another one that only hand over.
//!
//! Writes signatures, and nothing a wrapper decides for itself: a method left out of the list is written by hand.

/// Writes methods of a [`Checkpointer`](crate::port::Checkpointer) that ask another store.
///
/// Before the `;` stands how the other store is reached from `self`, which is given the name in front of `=>`; it may
/// await or leave with `?`, except where `release` is in the list. After it stand the names of the methods. A new
/// method of the port is one more name in each wrapper.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use superstep_core::error::{Code, Error, Result};
/// use superstep_core::forward_checkpointer;
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
///         left.map_err(|_| Error::new(Code::StoreUnavailable, "the disk is full"))?;
///         self.store.commit(commit).await
///     }
///
///     forward_checkpointer!(this => this.store; acquire, release, load, history, threads, status, namespaces);
///     forward_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
///     forward_checkpointer!(this => this.store; events, last_event, forget_events);
/// }
/// ```
#[macro_export]
macro_rules! forward_checkpointer {
    ($this:ident => $store:expr; $($method:ident),+ $(,)?) => {
        $($crate::forward_checkpointer!(@$method $this $store);)+
    };
    (@release $this:ident $store:expr) => {
        fn release(&self, lease: &$crate::port::Lease) {
            let $this = self;
            $store.release(lease);
        }
    };
    (@acquire $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; acquire(
            thread: &$crate::id::ThreadId, run: $crate::id::RunId) -> $crate::port::Lease);
    };
    (@commit $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; commit(commit: &$crate::port::Commit) -> ());
    };
    (@load $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; load(
            thread: &$crate::id::ThreadId, namespace: &$crate::checkpoint::Namespace, at: $crate::port::At
        ) -> Option<$crate::port::Loaded>);
    };
    (@history $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; history(
            thread: &$crate::id::ThreadId, namespace: &$crate::checkpoint::Namespace,
            query: &$crate::port::HistoryQuery) -> Vec<$crate::port::Loaded>);
    };
    (@threads $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; threads(
            query: &$crate::port::ThreadsQuery) -> Vec<$crate::id::ThreadId>);
    };
    (@status $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; status(
            thread: &$crate::id::ThreadId) -> Option<$crate::port::ThreadStatus>);
    };
    (@namespaces $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; namespaces(
            thread: &$crate::id::ThreadId) -> Vec<$crate::checkpoint::Namespace>);
    };
    (@delete_thread $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; delete_thread(thread: &$crate::id::ThreadId) -> ());
    };
    (@copy_thread $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; copy_thread(
            from: &$crate::id::ThreadId, to: &$crate::id::ThreadId) -> ());
    };
    (@prune $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; prune(
            thread: &$crate::id::ThreadId, retention: &$crate::port::Retention) -> $crate::port::PruneReport);
    };
    (@stats $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; stats() -> $crate::port::Stats);
    };
    (@events $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; events(
            thread: &$crate::id::ThreadId, query: &$crate::port::EventsQuery) -> Vec<$crate::port::StoredEvent>);
    };
    (@last_event $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; last_event(thread: &$crate::id::ThreadId) -> u64);
    };
    (@forget_events $($way:tt)+) => {
        $crate::forward_checkpointer!(@ask $($way)+; forget_events(thread: &$crate::id::ThreadId, up_to: u64) -> ());
    };
    (@ask $this:ident $store:expr; $name:ident($($argument:ident: $kind:ty),*) -> $output:ty) => {
        async fn $name(&self $(, $argument: $kind)*) -> $crate::error::Result<$output> {
            let $this = self;
            $store.$name($($argument),*).await
        }
    };
}
