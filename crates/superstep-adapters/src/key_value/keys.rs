//! Where things are: the one place that knows how a key is made.
//!
//! `‹prefix›/in/‹thread›/` has all of a thread: `log/` its records, `base/` at which of them reading begins, `part/` its
//! long values, `life/` that it has not outlived its time. `‹prefix›/threads/` lists the threads that exist,
//! `‹prefix›/holders/` the processes that are alive. A thread has a folder of its own, so whatever its name is it cannot
//! be taken for anything else.

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::ThreadId;

/// The longest prefix; with it every key is short enough for every store.
const LONGEST_PREFIX: usize = 128;

/// Makes keys.
#[derive(Debug, Clone)]
pub(super) struct Keys(String);

impl Keys {
    pub(super) fn new(prefix: &str) -> Result<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if (1..=LONGEST_PREFIX).contains(&prefix.len()) && prefix.bytes().all(is_plain) {
            return Ok(Self(prefix.to_owned()));
        }
        Err(Error::new(Code::ConfigInvalid, format!("`{prefix}` cannot be put before keys"))
            .help(format!("take 1 to {LONGEST_PREFIX} of `A-Z a-z 0-9 _ . : -`")))
    }

    /// A key from its place: what follows the prefix.
    pub(super) fn at(&self, place: &str) -> String {
        format!("{}/{place}", self.0)
    }

    /// The place of a key.
    pub(super) fn place<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.0).and_then(|rest| rest.strip_prefix('/')).unwrap_or(key)
    }

    pub(super) fn holder(&self, token: u64) -> String {
        self.at(&format!("holders/{token:016x}"))
    }

    /// What begins every key that lists a thread.
    pub(super) fn listed(&self) -> String {
        self.at("threads/")
    }

    pub(super) fn listing(&self, thread: &ThreadId) -> String {
        self.at(&format!("threads/{thread}"))
    }

    /// What begins every key of every thread.
    pub(super) fn threads(&self) -> String {
        self.at("in/")
    }

    /// The thread that a key belongs to.
    pub(super) fn thread_of<'a>(&self, key: &'a str) -> Option<&'a str> {
        self.place(key).strip_prefix("in/")?.split('/').next()
    }

    /// Stands behind every key of a thread.
    pub(super) fn end_of(&self, thread: &str) -> String {
        self.at(&format!("in/{thread}/z"))
    }

    pub(super) fn folder(&self, thread: &ThreadId, kind: Kind) -> String {
        self.at(&format!("in/{thread}/{}/", kind.name()))
    }

    pub(super) fn record(&self, thread: &ThreadId, number: u64) -> String {
        self.at(&record_place(thread, number))
    }

    pub(super) fn base(&self, thread: &ThreadId, number: u64) -> String {
        self.at(&format!("in/{thread}/base/{number:016x}"))
    }

    pub(super) fn life(&self, thread: &ThreadId, number: u64) -> String {
        self.at(&format!("in/{thread}/life/{number:016x}"))
    }

    pub(super) fn part(&self, thread: &ThreadId, name: &str) -> String {
        self.at(&part_place(thread, name))
    }
}

/// What a thread has, by folder.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Base,
    Life,
    Record,
    Part,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Life => "life",
            Self::Record => "log",
            Self::Part => "part",
        }
    }
}

/// The place of a record, which stands in it.
pub(super) fn record_place(thread: &ThreadId, number: u64) -> String {
    format!("in/{thread}/log/{number:016x}")
}

pub(super) fn part_place(thread: &ThreadId, name: &str) -> String {
    format!("in/{thread}/part/{name}")
}

/// The name of a long value that the record with this number is to have: nobody else ever makes the same.
pub(super) fn part_name(number: u64, (token, count): (u64, u64)) -> String {
    format!("{number:016x}.{token:016x}.{count:x}")
}

/// The number that the last piece of a key begins with.
pub(super) fn number_in(key: &str) -> Option<u64> {
    let digits = key.rsplit('/').next()?.get(..16)?;
    u64::from_str_radix(digits, 16).ok()
}
