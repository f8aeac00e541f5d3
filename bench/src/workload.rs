//! The workloads of the suite by id. One file for each graph; the text of the suite says what each must do.

use superstep::{Outcome, Run, State};

use crate::measure::{self, Times};
use crate::runtime::{INLINE, Runtime, THREADS};
use crate::store::{Opened, Store};

mod chain;
mod chat;
mod cold;
mod concurrent;
mod counter;
mod fan_out;
mod laps;
mod react;
mod stream;
mod wide;

/// The ids of the suite that are measured here; other numbers in their places are measured too.
pub(crate) const KNOWN: [&str; 41] = [
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
    Laps { executions: i64 },
    Wide { leaves: usize, length: usize, store: Store },
    FanOut { sends: usize, store: Store },
    React { rounds: usize, store: Store },
    Chat { turns: usize, store: Store },
    Checkpoints { supersteps: i64, store: Store },
    Concurrent { threads: usize, supersteps: usize, store: Store },
    Stream { tokens: usize, reader: stream::Reader },
    Cold,
    Resume { checkpoints: i64, parts: &'static [&'static str], store: Store },
    Compile { nodes: usize },
}

impl Workload {
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let words: Vec<&str> = id.split('_').collect();
        Some(match words.as_slice() {
            ["w1", "seq", nodes] => Self::Chain { nodes: count(nodes)? },
            ["w2", "loop", executions] => Self::Laps { executions: executions.parse().ok()? },
            ["w3", "wide", size, store] => {
                let (leaves, length) = pair(size)?;
                wide::branches(leaves)?;
                Self::Wide { leaves, length, store: Store::parse(store)? }
            }
            ["w4", "fanout", sends, store] => Self::FanOut { sends: count(sends)?, store: Store::parse(store)? },
            ["w5", "react", rounds, store] => Self::React { rounds: count(rounds)?, store: Store::parse(store)? },
            ["w6", "chat", turns, store] => Self::Chat { turns: count(turns)?, store: Store::kept(store)? },
            ["w7", "ckpt", supersteps, store] => {
                Self::Checkpoints { supersteps: supersteps.parse().ok()?, store: Store::kept(store)? }
            }
            ["w8", "conc", size, store] => {
                let (threads, supersteps) = pair(size)?;
                Self::Concurrent { threads, supersteps, store: Store::kept(store)? }
            }
            ["w9", "stream", tokens, mode] => {
                Self::Stream { tokens: count(tokens)?, reader: stream::Reader::parse(mode)? }
            }
            ["w10", "cold"] => Self::Cold,
            ["w11", part, checkpoints, store] => {
                let (checkpoints, parts) = (checkpoints.parse().ok()?, counter::parts(part)?);
                Self::Resume { checkpoints, parts, store: Store::kept(store)? }
            }
            ["w12", "compile", nodes] => Self::Compile { nodes: count(nodes)? },
            _ => return None,
        })
    }

    /// A runtime with workers only where tasks can run side by side.
    pub(crate) fn variants(&self) -> &'static [&'static str] {
        match self {
            Self::Wide { .. } | Self::FanOut { .. } | Self::Concurrent { .. } | Self::Stream { .. } => {
                &[INLINE, THREADS]
            }
            _ => &[INLINE],
        }
    }

    /// Measures it and prints its lines.
    pub(crate) fn measure(&self, id: &str, runtime: &Runtime) {
        match *self {
            Self::Chain { nodes } => chain::run(id, runtime, nodes),
            Self::Laps { executions } => laps::run(id, runtime, executions),
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
            Self::Resume { checkpoints, parts, store } => counter::resume(runtime, checkpoints, parts, store),
            Self::Compile { nodes } => chain::compile(id, runtime, nodes),
        }
    }
}

fn count(word: &str) -> Option<usize> {
    word.parse().ok().filter(|count| *count > 0)
}

fn pair(word: &str) -> Option<(usize, usize)> {
    let (one, other) = word.split_once('x')?;
    Some((count(one)?, count(other)?))
}

/// Times the runs of a graph without a store, or each with a new one; then also what that one holds.
fn timed<S: State, C: Send + Sync + 'static>(
    runtime: &Runtime,
    store: Store,
    call: impl Fn() -> Run<S, C>,
) -> (Times, Outcome<S>, Option<u64>) {
    match store {
        Store::None => {
            let (times, done) = measure::batch(|| runtime.finish(call()));
            (times, done, None)
        }
        store => {
            let unit = |opened: &Opened| runtime.finish(call().checkpointer(opened.store.clone()).thread("t"));
            let (times, (opened, done)) = measure::each(|| store.open(runtime), unit);
            (times, done, Some(opened.bytes(runtime)))
        }
    }
}
