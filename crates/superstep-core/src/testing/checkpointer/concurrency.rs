//! Concurrency: many OS threads on one checkpointer.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::writer::{Writer, id, run};
use crate::port::{BoxFuture, CheckpointSelector, HistoryQuery, SharedCheckpointer};

/// Number of OS threads.
const WORKERS: usize = 8;

/// Runs one check on an empty checkpointer: `work` on several OS threads at once, then `end`.
pub fn check<C, W, E>(
    open: impl FnOnce() -> C + Send + 'static,
    drive: impl Fn(BoxFuture<'static, ()>) + Sync,
    (work, end): (impl Fn(SharedCheckpointer, usize) -> W + Sync, impl FnOnce(SharedCheckpointer) -> E),
) where
    C: Into<SharedCheckpointer>,
    W: Future<Output = ()> + Send + 'static,
    E: Future<Output = ()> + Send + 'static,
{
    let opened = Arc::new(Mutex::new(None));
    let slot = opened.clone();
    drive(Box::pin(async move {
        let checkpointer = open().into();
        *slot.lock().expect("no thread panicked") = Some(checkpointer);
    }));
    let checkpointer: SharedCheckpointer =
        opened.lock().expect("no thread panicked").take().expect("the store was opened");
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (drive, work, checkpointer) = (&drive, &work, checkpointer.clone());
            scope.spawn(move || drive(Box::pin(work(checkpointer, worker))));
        }
    });
    drive(Box::pin(end(checkpointer)));
}

/// Two futures: the work of each worker, and the assertions at the end.
type ConcurrentCheck =
    (fn(SharedCheckpointer, usize) -> BoxFuture<'static, ()>, fn(SharedCheckpointer) -> BoxFuture<'static, ()>);

/// R-FWK-33: many threads are written at once, and each is unaffected by the others.
pub fn many_threads_are_written_at_once() -> ConcurrentCheck {
    async fn work(checkpointer: SharedCheckpointer, worker: usize) {
        let mut writers = Vec::new();
        for number in 0..5 {
            writers.push(Writer::open(&checkpointer, &format!("thread-{worker}-{number}")).await);
        }
        for step in 0..40 {
            for writer in &mut writers {
                writer.step(json!({ "log": [format!("{worker} {step}")], "count": 1 })).await;
            }
        }
        for writer in writers {
            assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
            writer.close();
        }
    }
    async fn end(checkpointer: SharedCheckpointer) {
        let stats = checkpointer.stats().await.expect("counting works");
        assert_eq!((stats.threads, stats.checkpoints), (5 * WORKERS as u64, 5 * 40 * WORKERS as u64));
    }
    (|checkpointer, worker| Box::pin(work(checkpointer, worker)), |checkpointer| Box::pin(end(checkpointer)))
}

/// R-FWK-33: of many runs on one thread only one has the lease at a time, and no step is lost.
pub fn one_of_many_runs_has_the_thread() -> ConcurrentCheck {
    async fn work(checkpointer: SharedCheckpointer, worker: usize) {
        let mut done = 0;
        while done < 10 {
            let Ok(lease) = checkpointer.acquire(&"thread".into(), run(worker as u128)).await else {
                std::thread::yield_now();
                continue;
            };
            let schema = super::writer::plain();
            let loaded = checkpointer
                .load(&"thread".into(), &Default::default(), CheckpointSelector::Latest)
                .await
                .expect("loading works");
            let state = schema.initial_state();
            let mut writer = Writer::with_lease(&checkpointer, lease, schema, state);
            if let Some(newest) = loaded {
                let next_id = newest.checkpoint.id.bits() + 1;
                writer = Writer { next_id, ..writer.fork(newest.checkpoint.id).await };
            }
            writer.step(json!({ "count": 1 })).await;
            writer.close();
            done += 1;
        }
    }
    async fn end(checkpointer: SharedCheckpointer) {
        let writer = Writer::open(&checkpointer, "thread").await;
        assert_eq!(writer.stored(CheckpointSelector::Latest).await["count"], json!(10 * WORKERS));
        let ids: Vec<u128> = (1..=10 * WORKERS as u128).rev().collect();
        assert_eq!(writer.history_ids(&HistoryQuery::default()).await, ids);
    }
    (|checkpointer, worker| Box::pin(work(checkpointer, worker)), |checkpointer| Box::pin(end(checkpointer)))
}

/// R-FWK-33: a reader sees complete checkpoints only while a writer is active.
pub fn readers_see_complete_checkpoints() -> ConcurrentCheck {
    const STEPS: i64 = 200;
    async fn work(checkpointer: SharedCheckpointer, worker: usize) {
        let schema = super::writer::plain();
        if worker == 0 {
            let mut writer = Writer::with_schema(&checkpointer, "thread", schema).await;
            for step in 0..STEPS {
                writer.step(json!({ "count": 1, "log": [step], "notes": { "step": step } })).await;
            }
            return;
        }
        loop {
            let loaded = checkpointer
                .load(&"thread".into(), &Default::default(), CheckpointSelector::Latest)
                .await
                .expect("loading works");
            let Some(loaded) = loaded else {
                std::thread::yield_now();
                continue;
            };
            let (values, step) = (super::writer::stored_values(&schema, &loaded), loaded.checkpoint.step);
            let items = values["log"].as_array().map(|items| items.len() as i64);
            assert_eq!(
                (&values["count"], items, &values["notes"]["step"]),
                (&json!(step + 1), Some(step + 1), &json!(step))
            );
            if step + 1 == STEPS {
                return;
            }
        }
    }
    async fn end(checkpointer: SharedCheckpointer) {
        let newest = checkpointer
            .load(&"thread".into(), &Default::default(), CheckpointSelector::Latest)
            .await
            .expect("loading works");
        assert_eq!(newest.map(|loaded| loaded.checkpoint.id), Some(id(STEPS as u128)));
    }
    (|checkpointer, worker| Box::pin(work(checkpointer, worker)), |checkpointer| Box::pin(end(checkpointer)))
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_concurrency {
    ($open:expr, $drive:expr) => {
        mod concurrency {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::concurrency as checks;

            /// R-FWK-33: many threads are written at once, and each is unaffected by the others.
            #[test]
            fn many_threads_are_written_at_once() {
                checks::check($open, $drive, checks::many_threads_are_written_at_once());
            }

            /// R-FWK-33: of many runs on one thread only one has the lease at a time, and no step is lost.
            #[test]
            fn one_of_many_runs_has_the_thread() {
                checks::check($open, $drive, checks::one_of_many_runs_has_the_thread());
            }

            /// R-FWK-33: a reader sees complete checkpoints only while a writer is active.
            #[test]
            fn readers_see_complete_checkpoints() {
                checks::check($open, $drive, checks::readers_see_complete_checkpoints());
            }
        }
    };
}
