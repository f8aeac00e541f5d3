//! Workloads of the suite by id. One file per graph; the suite documents what each workload must do.

use superstep::{GraphState, Outcome, RunBuilder};

use crate::checkpointer::{CheckpointerKind, OpenCheckpointer};
use crate::measure::{self, Times};
use crate::runtime::{INLINE, Runtime, THREADS};

mod chain;
mod chat;
mod cold;
mod concurrent;
mod counter;
mod cycle;
mod fan_out;
mod react;
mod stream;
mod wide;

/// Ids of the suite that are measured here; ids with other numbers are accepted too.
pub(crate) const WORKLOAD_IDS: [&str; 41] = [
    "w1_seq_10",
    "w1_seq_100",
    "w1_seq_1000",
    "w2_loop_10000",
    "w3_wide_25x300_none",
    "w3_wide_15x600_none",
    "w3_wide_9x1200_none",
    "w3_wide_25x300_mem",
    "w3_wide_15x600_mem",
    "w3_wide_9x1200_mem",
    "w4_fanout_10_none",
    "w4_fanout_100_none",
    "w4_fanout_10_mem",
    "w4_fanout_100_mem",
    "w5_react_100_none",
    "w5_react_100_mem",
    "w6_chat_200_mem",
    "w6_chat_200_sqlite",
    "w6_chat_200_pg",
    "w6_chat_2000_mem",
    "w6_chat_2000_sqlite",
    "w6_chat_2000_pg",
    "w7_ckpt_1000_mem",
    "w7_ckpt_1000_sqlite",
    "w7_ckpt_1000_pg",
    "w8_conc_1000x5_mem",
    "w8_conc_1000x5_sqlite",
    "w9_stream_50000_messages",
    "w9_stream_50000_events",
    "w10_cold",
    "w11_resume_5000_mem",
    "w11_latest_5000_mem",
    "w11_history_5000_mem",
    "w11_fork_5000_mem",
    "w11_latest_5000_sqlite",
    "w11_history_5000_sqlite",
    "w11_fork_5000_sqlite",
    "w11_latest_5000_pg",
    "w11_history_5000_pg",
    "w11_fork_5000_pg",
    "w12_compile_3000",
];

/// A workload with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Workload {
    Chain { nodes: usize },
    Cycle { executions: i64 },
    Wide { leaves: usize, length: usize, store: CheckpointerKind },
    FanOut { sends: usize, store: CheckpointerKind },
    React { rounds: usize, store: CheckpointerKind },
    Chat { turns: usize, store: CheckpointerKind },
    Checkpoints { supersteps: i64, store: CheckpointerKind },
    Concurrent { threads: usize, supersteps: usize, store: CheckpointerKind },
    Stream { tokens: usize, reader: stream::ReaderKind },
    Cold,
    Resume { checkpoints: i64, measurements: &'static [&'static str], store: CheckpointerKind },
    Compile { nodes: usize },
}

impl Workload {
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let segments: Vec<&str> = id.split('_').collect();
        Some(match segments.as_slice() {
            ["w1", "seq", nodes] => Self::Chain { nodes: count(nodes)? },
            ["w2", "loop", executions] => Self::Cycle { executions: executions.parse().ok()? },
            ["w3", "wide", size, store] => {
                let (leaves, length) = pair(size)?;
                wide::branches(leaves)?;
                Self::Wide { leaves, length, store: CheckpointerKind::parse(store)? }
            }
            ["w4", "fanout", sends, store] => {
                Self::FanOut { sends: count(sends)?, store: CheckpointerKind::parse(store)? }
            }
            ["w5", "react", rounds, store] => {
                Self::React { rounds: count(rounds)?, store: CheckpointerKind::parse(store)? }
            }
            ["w6", "chat", turns, store] => {
                Self::Chat { turns: count(turns)?, store: CheckpointerKind::parse_persistent(store)? }
            }
            ["w7", "ckpt", supersteps, store] => Self::Checkpoints {
                supersteps: supersteps.parse().ok()?,
                store: CheckpointerKind::parse_persistent(store)?,
            },
            ["w8", "conc", size, store] => {
                let (threads, supersteps) = pair(size)?;
                Self::Concurrent { threads, supersteps, store: CheckpointerKind::parse_persistent(store)? }
            }
            ["w9", "stream", tokens, mode] => {
                Self::Stream { tokens: count(tokens)?, reader: stream::ReaderKind::parse(mode)? }
            }
            ["w10", "cold"] => Self::Cold,
            ["w11", measurement, checkpoints, store] => {
                let (checkpoints, measurements) = (checkpoints.parse().ok()?, counter::measurements(measurement)?);
                Self::Resume { checkpoints, measurements, store: CheckpointerKind::parse_persistent(store)? }
            }
            ["w12", "compile", nodes] => Self::Compile { nodes: count(nodes)? },
            _ => return None,
        })
    }

    /// Returns the runtimes to measure; threads only if tasks can run in parallel.
    pub(crate) fn variants(&self) -> &'static [&'static str] {
        match self {
            Self::Wide { .. } | Self::FanOut { .. } | Self::Concurrent { .. } | Self::Stream { .. } => {
                &[INLINE, THREADS]
            }
            _ => &[INLINE],
        }
    }

    /// Measures the workload and prints its lines.
    pub(crate) fn measure(&self, id: &str, runtime: &Runtime) {
        match *self {
            Self::Chain { nodes } => chain::run(id, runtime, nodes),
            Self::Cycle { executions } => cycle::run(id, runtime, executions),
            Self::Wide { leaves, length, store } => wide::run(id, runtime, (leaves, length), store),
            Self::FanOut { sends, store } => fan_out::run(id, runtime, sends, store),
            Self::React { rounds, store } => react::run(id, runtime, rounds, store),
            Self::Chat { turns, store } => chat::run(id, runtime, turns, store),
            Self::Checkpoints { supersteps, store } => counter::run(id, runtime, supersteps, store),
            Self::Concurrent { threads, supersteps, store } => {
                concurrent::run(id, runtime, (threads, supersteps), store);
            }
            Self::Stream { tokens, reader } => stream::run(id, runtime, tokens, reader),
            Self::Cold => cold::run(id, runtime),
            Self::Resume { checkpoints, measurements, store } => {
                counter::resume(runtime, checkpoints, measurements, store)
            }
            Self::Compile { nodes } => chain::compile(id, runtime, nodes),
        }
    }
}

fn count(text: &str) -> Option<usize> {
    text.parse().ok().filter(|count| *count > 0)
}

fn pair(text: &str) -> Option<(usize, usize)> {
    let (first, second) = text.split_once('x')?;
    Some((count(first)?, count(second)?))
}

/// Times runs without a checkpointer, or each with a new one; then also returns the stored bytes.
fn timed<S: GraphState, C: Send + Sync + 'static>(
    runtime: &Runtime,
    store: CheckpointerKind,
    call: impl Fn() -> RunBuilder<S, C>,
) -> (Times, Outcome<S>, Option<u64>) {
    match store {
        CheckpointerKind::None => {
            let (times, outcome) = measure::time_batches(|| runtime.finish(call()));
            (times, outcome, None)
        }
        store => {
            let unit =
                |opened: &OpenCheckpointer| runtime.finish(call().checkpointer(opened.store.clone()).thread("t"));
            let (times, (opened, outcome)) = measure::time_each(|| store.open(runtime), unit);
            (times, outcome, Some(opened.bytes(runtime)))
        }
    }
}
