//! Concurrent execution of the calls of one message, each until its end or its interrupt.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use superstep_core::checkpoint::Interrupt;
use superstep_core::port::BoxFuture;

use crate::engine::context::TaskContext;
use crate::graph::output::NodeError;

/// A call to run, with the context of its subtask.
pub(super) struct CallFuture<'a, T> {
    pub(super) cx: TaskContext,
    pub(super) future: BoxFuture<'a, Result<T, NodeError>>,
}

/// End of a call.
pub(super) enum CallEnd<T> {
    Done(Result<T, NodeError>),
    /// The call is interrupted, and runs again with the resume value.
    Interrupted(Vec<Interrupt>),
}

/// Runs all calls, at most `max_concurrency` at a time. An interrupted or failed call does not stop the others, because
/// their side effects must not be lost and repeated.
pub(super) async fn run_all<T>(work: Vec<CallFuture<'_, T>>, max_concurrency: usize) -> Vec<CallEnd<T>> {
    let mut ends: Vec<Option<CallEnd<T>>> = work.iter().map(|_| None).collect();
    let mut waiting: VecDeque<(usize, CallFuture<'_, T>)> = work.into_iter().enumerate().collect();
    let mut running: Vec<(usize, CallFuture<'_, T>)> = Vec::new();
    poll_fn(|context| {
        loop {
            let free = max_concurrency.max(1) - running.len();
            running.extend(waiting.drain(..free.min(waiting.len())));
            let before = running.len();
            running.retain_mut(|(index, work)| {
                ends[*index] = poll_one(work, context);
                ends[*index].is_none()
            });
            match (running.is_empty() && waiting.is_empty(), running.len() < before && !waiting.is_empty()) {
                (true, _) => return Poll::Ready(()),
                // There is capacity for a waiting call; it must be polled to be woken later.
                (false, true) => {}
                (false, false) => return Poll::Pending,
            }
        }
    })
    .await;
    ends.into_iter().flatten().collect()
}

fn poll_one<T>(work: &mut CallFuture<'_, T>, context: &mut Context<'_>) -> Option<CallEnd<T>> {
    match work.future.as_mut().poll(context) {
        Poll::Ready(result) => Some(CallEnd::Done(result)),
        Poll::Pending if work.cx.0.cell.has_interrupts() => {
            Some(CallEnd::Interrupted(work.cx.0.cell.take_interrupts()))
        }
        Poll::Pending => None,
    }
}
