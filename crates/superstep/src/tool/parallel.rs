//! Runs the calls of one message side by side, each to its end or to its question.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use superstep_core::checkpoint::Question;
use superstep_core::port::BoxFuture;

use crate::context::Cx;
use crate::output::NodeError;

/// One call that is to run, as the part of the task it is.
pub(super) struct Work<'a, T> {
    pub(super) cx: Cx,
    pub(super) future: BoxFuture<'a, Result<T, NodeError>>,
}

/// How a call ended.
pub(super) enum End<T> {
    Done(Result<T, NodeError>),
    /// It asks, and runs again with the answer.
    Asks(Vec<Question>),
}

/// Runs all, at most `at_once` of them at a time. One that asks or fails stops none of the others: what they did must
/// not be lost and done again.
pub(super) async fn run_all<T>(work: Vec<Work<'_, T>>, at_once: usize) -> Vec<End<T>> {
    let mut ends: Vec<Option<End<T>>> = work.iter().map(|_| None).collect();
    let mut waiting: VecDeque<(usize, Work<'_, T>)> = work.into_iter().enumerate().collect();
    let mut running: Vec<(usize, Work<'_, T>)> = Vec::new();
    poll_fn(|context| {
        loop {
            let free = at_once.max(1) - running.len();
            running.extend(waiting.drain(..free.min(waiting.len())));
            let before = running.len();
            running.retain_mut(|(place, work)| {
                ends[*place] = poll_one(work, context);
                ends[*place].is_none()
            });
            match (running.is_empty() && waiting.is_empty(), running.len() < before && !waiting.is_empty()) {
                (true, _) => return Poll::Ready(()),
                // There is room for one that waits; it must be polled to be woken later.
                (false, true) => {}
                (false, false) => return Poll::Pending,
            }
        }
    })
    .await;
    ends.into_iter().flatten().collect()
}

fn poll_one<T>(work: &mut Work<'_, T>, context: &mut Context<'_>) -> Option<End<T>> {
    match work.future.as_mut().poll(context) {
        Poll::Ready(result) => Some(End::Done(result)),
        Poll::Pending if work.cx.0.cell.has_asked() => Some(End::Asks(work.cx.0.cell.take_asked())),
        Poll::Pending => None,
    }
}
