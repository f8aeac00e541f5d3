//! Leases: one writer per thread, and rejection of old writers.

use serde_json::json;

use super::writer::{Writer, id, pending_entry, run};
use crate::checkpoint::TaskEntry;
use crate::error::ErrorCode;
use crate::id::ThreadId;
use crate::port::{CheckpointSelector, HistoryQuery, Lease, SharedCheckpointer, ThreadStatus};

async fn acquire(checkpointer: &SharedCheckpointer, thread: &str, number: u128) -> Lease {
    checkpointer.acquire(&thread.into(), run(number)).await.expect("the lease on a free thread can be acquired")
}

/// Returns a writer with two steps and a lease that is not the newest.
async fn writer_with_old_lease(checkpointer: &SharedCheckpointer) -> Writer {
    let mut writer = Writer::open(checkpointer, "thread").await;
    writer.steps(2).await;
    checkpointer.release(&writer.lease);
    acquire(checkpointer, "thread", 2).await;
    writer
}

/// R-FWK-33: another run cannot acquire a thread with an active lease; the error names the holder.
pub async fn a_second_run_is_rejected_with_the_lease_holder(checkpointer: SharedCheckpointer) {
    acquire(&checkpointer, "thread", 7).await;
    let error = checkpointer.acquire(&"thread".into(), run(8)).await.expect_err("run 7 holds the lease");
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    assert!(error.to_string().contains(&run(7).to_string()), "{error}");
}

/// R-FWK-33: a released lease can be acquired by another run.
pub async fn a_released_lease_can_be_acquired(checkpointer: SharedCheckpointer) {
    for number in 1..5 {
        let lease = acquire(&checkpointer, "thread", number).await;
        checkpointer.release(&lease);
    }
}

/// R-FWK-33: each acquisition has a higher fence than the earlier ones on its thread.
pub async fn fences_increase(checkpointer: SharedCheckpointer) {
    let mut last = None;
    for number in 1..20 {
        let lease = acquire(&checkpointer, "thread", number).await;
        assert!(last < Some(lease.fence), "{last:?} then {}", lease.fence);
        last = Some(lease.fence);
        checkpointer.release(&lease);
    }
}

/// R-FWK-33: releasing an old lease does not free the thread.
pub async fn releasing_stale_lease_is_ignored(checkpointer: SharedCheckpointer) {
    let old = acquire(&checkpointer, "thread", 1).await;
    checkpointer.release(&old);
    acquire(&checkpointer, "thread", 2).await;
    checkpointer.release(&old);
    let result = checkpointer.acquire(&"thread".into(), run(3)).await;
    assert_eq!(result.expect_err("run 2 has it").code(), ErrorCode::ThreadBusy);
}

/// R-FWK-33: a checkpoint with an old lease is rejected, without retry and with a help text.
pub async fn a_checkpoint_of_an_old_lease_is_rejected(checkpointer: SharedCheckpointer) {
    let mut writer = writer_with_old_lease(&checkpointer).await;
    let commit = writer.build_commit(json!({ "count": 1 }));
    let error = checkpointer.commit(&commit).await.expect_err("the lease is old");
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::ThreadBusy, false));
    assert!(error.help().is_some() && error.location().thread.is_some(), "{error}");
    assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [2, 1]);
}

/// R-FWK-33: pending entries with an old lease are rejected.
pub async fn an_entry_of_an_old_lease_is_rejected(checkpointer: SharedCheckpointer) {
    let writer = writer_with_old_lease(&checkpointer).await;
    let commit = writer.entries_commit(vec![pending_entry(id(2), 1, TaskEntry::Skipped)], None);
    assert_eq!(checkpointer.commit(&commit).await.expect_err("the lease is old").code(), ErrorCode::ThreadBusy);
    assert!(writer.loaded(CheckpointSelector::Latest).await.pending.is_empty());
}

/// R-FWK-33: a status with an old lease is rejected.
pub async fn a_status_of_an_old_lease_is_rejected(checkpointer: SharedCheckpointer) {
    let writer = writer_with_old_lease(&checkpointer).await;
    let before = checkpointer.status(writer.thread()).await.expect("failed to read the status");
    let commit = writer.entries_commit(Vec::new(), Some(ThreadStatus::Error));
    assert_eq!(checkpointer.commit(&commit).await.expect_err("the lease is old").code(), ErrorCode::ThreadBusy);
    assert_eq!(checkpointer.status(writer.thread()).await.expect("failed to read the status"), before);
}

/// R-FWK-33: an old lease is rejected for a subgraph, too.
pub async fn an_old_lease_is_rejected_in_every_namespace(checkpointer: SharedCheckpointer) {
    let mut subgraph = writer_with_old_lease(&checkpointer).await.subgraph("child");
    let commit = subgraph.build_commit(json!({ "count": 1 }));
    assert_eq!(checkpointer.commit(&commit).await.expect_err("the lease is old").code(), ErrorCode::ThreadBusy);
    assert!(subgraph.find(CheckpointSelector::Latest).await.expect("loading works").is_none());
}

/// R-FWK-33: a run that returns takes over its own lease; its previous lease is fenced off.
pub async fn a_run_takes_over_from_itself(checkpointer: SharedCheckpointer) {
    let mut before = Writer::open(&checkpointer, "thread").await;
    before.steps(2).await;
    let lease = acquire(&checkpointer, "thread", 1).await;
    assert!(lease.fence > before.lease.fence);
    let mut after = Writer { lease, ..before.clone() };
    let late = before.build_commit(json!({ "title": "late" }));
    assert_eq!(checkpointer.commit(&late).await.expect_err("it was taken over").code(), ErrorCode::ThreadBusy);
    after.steps(1).await;
    assert_eq!(after.stored(CheckpointSelector::Latest).await, after.values());
}

/// R-FWK-33: after its release a lease permits no write.
pub async fn a_released_lease_permits_no_write(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(1).await;
    checkpointer.release(&writer.lease);
    let commit = writer.build_commit(json!({ "count": 1 }));
    assert_eq!(checkpointer.commit(&commit).await.expect_err("the lease was released").code(), ErrorCode::ThreadBusy);
}

/// R-FWK-33: a lease of a deleted thread is not valid for a new thread with the same id.
pub async fn a_lease_of_a_deleted_thread_stays_rejected(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(1).await;
    checkpointer.release(&writer.lease);
    checkpointer.delete_thread(writer.thread()).await.expect("no run holds the lease");
    let late = writer.build_commit(json!({ "count": 1 }));
    assert_eq!(checkpointer.commit(&late).await.expect_err("there is no thread").code(), ErrorCode::ThreadBusy);
    acquire(&checkpointer, "thread", 2).await;
    assert_eq!(checkpointer.commit(&late).await.expect_err("it is another thread").code(), ErrorCode::ThreadBusy);
}

/// R-FWK-33: a lease that was never issued is rejected.
pub async fn a_lease_that_was_never_issued_is_rejected(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.lease.fence += 1_000;
    let commit = writer.build_commit(json!({ "count": 1 }));
    assert_eq!(
        checkpointer.commit(&commit).await.expect_err("no such lease was granted").code(),
        ErrorCode::ThreadBusy
    );
}

/// R-FWK-33: leases of different threads are independent.
pub async fn leases_of_threads_are_independent(checkpointer: SharedCheckpointer) {
    let mut writers = Vec::new();
    for name in ["a", "b", "A", "a.", "a:1"] {
        writers.push(Writer::open(&checkpointer, name).await);
    }
    for writer in &mut writers {
        writer.steps(1).await;
    }
}

/// R-FWK-33: an invalid thread id is rejected before anything is saved.
pub async fn an_invalid_thread_id_is_rejected(checkpointer: SharedCheckpointer) {
    let long = "x".repeat(ThreadId::MAX_BYTES + 1);
    for name in ["", "../etc", "a b", "a/b", "é", "a\u{0}", long.as_str()] {
        let error = checkpointer.acquire(&name.into(), run(1)).await.expect_err("the id is invalid");
        assert_eq!(error.code(), ErrorCode::InputInvalid, "{name:?}");
    }
    acquire(&checkpointer, &"x".repeat(ThreadId::MAX_BYTES), 1).await;
    acquire(&checkpointer, "a.b:c-d_1", 1).await;
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_leases {
    ($open:expr, $drive:expr) => {
        mod leases {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, leases as checks};

            /// R-FWK-33: another run cannot acquire a thread with an active lease; the error names the holder.
            #[test]
            fn a_second_run_is_rejected_with_the_lease_holder() {
                check($open, $drive, checks::a_second_run_is_rejected_with_the_lease_holder);
            }

            /// R-FWK-33: a released lease can be acquired by another run.
            #[test]
            fn a_released_lease_can_be_acquired() {
                check($open, $drive, checks::a_released_lease_can_be_acquired);
            }

            /// R-FWK-33: each acquisition has a higher fence than the earlier ones on its thread.
            #[test]
            fn fences_increase() {
                check($open, $drive, checks::fences_increase);
            }

            /// R-FWK-33: releasing an old lease does not free the thread.
            #[test]
            fn releasing_stale_lease_is_ignored() {
                check($open, $drive, checks::releasing_stale_lease_is_ignored);
            }

            /// R-FWK-33: a checkpoint with an old lease is rejected, without retry and with a help text.
            #[test]
            fn a_checkpoint_of_an_old_lease_is_rejected() {
                check($open, $drive, checks::a_checkpoint_of_an_old_lease_is_rejected);
            }

            /// R-FWK-33: pending entries with an old lease are rejected.
            #[test]
            fn an_entry_of_an_old_lease_is_rejected() {
                check($open, $drive, checks::an_entry_of_an_old_lease_is_rejected);
            }

            /// R-FWK-33: a status with an old lease is rejected.
            #[test]
            fn a_status_of_an_old_lease_is_rejected() {
                check($open, $drive, checks::a_status_of_an_old_lease_is_rejected);
            }

            /// R-FWK-33: an old lease is rejected for a subgraph, too.
            #[test]
            fn an_old_lease_is_rejected_in_every_namespace() {
                check($open, $drive, checks::an_old_lease_is_rejected_in_every_namespace);
            }

            /// R-FWK-33: a run that returns takes over its own lease; its previous lease is fenced off.
            #[test]
            fn a_run_takes_over_from_itself() {
                check($open, $drive, checks::a_run_takes_over_from_itself);
            }

            /// R-FWK-33: after its release a lease permits no write.
            #[test]
            fn a_released_lease_permits_no_write() {
                check($open, $drive, checks::a_released_lease_permits_no_write);
            }

            /// R-FWK-33: a lease of a deleted thread is not valid for a new thread with the same id.
            #[test]
            fn a_lease_of_a_deleted_thread_stays_rejected() {
                check($open, $drive, checks::a_lease_of_a_deleted_thread_stays_rejected);
            }

            /// R-FWK-33: a lease that was never issued is rejected.
            #[test]
            fn a_lease_that_was_never_issued_is_rejected() {
                check($open, $drive, checks::a_lease_that_was_never_issued_is_rejected);
            }

            /// R-FWK-33: leases of different threads are independent.
            #[test]
            fn leases_of_threads_are_independent() {
                check($open, $drive, checks::leases_of_threads_are_independent);
            }

            /// R-FWK-33: an invalid thread id is rejected before anything is saved.
            #[test]
            fn an_invalid_thread_id_is_rejected() {
                check($open, $drive, checks::an_invalid_thread_id_is_rejected);
            }
        }
    };
}
