//! Names of all keys; no other module builds a key.
//!
//! `‹prefix›/in/‹thread›/` contains everything of a thread: `log/` its records, `base/` markers of the record at
//! which reading begins, `part/` its long values, `life/` a key that exists until the thread expires.
//! `‹prefix›/threads/` is the index of existing threads, `‹prefix›/holders/` has the heartbeats of live processes.
//! Each thread has its own folder, so no thread name collides with another key.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::ThreadId;

/// Maximum prefix length that keeps every key within the length limit of the port.
const MAX_PREFIX_BYTES: usize = 128;

/// Builder of the keys of one checkpointer.
#[derive(Debug, Clone)]
pub(super) struct KeyBuilder(String);

impl KeyBuilder {
    pub(super) fn new(prefix: &str) -> Result<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if (1..=MAX_PREFIX_BYTES).contains(&prefix.len()) && prefix.bytes().all(is_plain) {
            return Ok(Self(prefix.to_owned()));
        }
        Err(Error::new(ErrorCode::ConfigInvalid, format!("`{prefix}` is not a valid key prefix"))
            .with_help(format!("use 1 to {MAX_PREFIX_BYTES} of `A-Z a-z 0-9 _ . : -`")))
    }

    /// Returns the key of a path, which is the part behind the prefix.
    pub(super) fn at(&self, relative: &str) -> String {
        format!("{}/{relative}", self.0)
    }

    /// Returns the path of a key, without the prefix.
    pub(super) fn relative_key<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.0).and_then(|rest| rest.strip_prefix('/')).unwrap_or(key)
    }

    pub(super) fn holder(&self, token: u64) -> String {
        self.at(&format!("holders/{token:016x}"))
    }

    /// Returns the prefix of all keys of the thread index.
    pub(super) fn index_prefix(&self) -> String {
        self.at("threads/")
    }

    pub(super) fn index_key(&self, thread: &ThreadId) -> String {
        self.at(&format!("threads/{thread}"))
    }

    /// Returns the prefix of all keys inside threads.
    pub(super) fn threads_prefix(&self) -> String {
        self.at("in/")
    }

    /// Returns the name of the thread that a key belongs to.
    pub(super) fn thread_of<'a>(&self, key: &'a str) -> Option<&'a str> {
        self.relative_key(key).strip_prefix("in/")?.split('/').next()
    }

    /// Returns a key that sorts after every key of a thread.
    pub(super) fn range_end(&self, thread: &str) -> String {
        self.at(&format!("in/{thread}/z"))
    }

    pub(super) fn folder(&self, thread: &ThreadId, kind: KeyKind) -> String {
        self.at(&format!("in/{thread}/{}/", kind.name()))
    }

    pub(super) fn record(&self, thread: &ThreadId, number: u64) -> String {
        self.at(&record_path(thread, number))
    }

    pub(super) fn base(&self, thread: &ThreadId, number: u64) -> String {
        self.at(&format!("in/{thread}/base/{number:016x}"))
    }

    pub(super) fn ttl_key(&self, thread: &ThreadId, number: u64) -> String {
        self.at(&format!("in/{thread}/life/{number:016x}"))
    }

    pub(super) fn part(&self, thread: &ThreadId, name: &str) -> String {
        self.at(&part_path(thread, name))
    }
}

/// Kind of a key inside a thread, one per folder.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyKind {
    Base,
    Ttl,
    Record,
    Part,
}

impl KeyKind {
    fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Ttl => "life",
            Self::Record => "log",
            Self::Part => "part",
        }
    }
}

/// Returns the path of a record, which is also stored in its envelope.
pub(super) fn record_path(thread: &ThreadId, number: u64) -> String {
    format!("in/{thread}/log/{number:016x}")
}

pub(super) fn part_path(thread: &ThreadId, name: &str) -> String {
    format!("in/{thread}/part/{name}")
}

/// Returns a unique name for a long value of the record with this number.
pub(super) fn part_name(number: u64, (token, count): (u64, u64)) -> String {
    format!("{number:016x}.{token:016x}.{count:x}")
}

/// Returns the number at the beginning of the last segment of a key.
pub(super) fn number_in(key: &str) -> Option<u64> {
    let digits = key.rsplit('/').next()?.get(..16)?;
    u64::from_str_radix(digits, 16).ok()
}
