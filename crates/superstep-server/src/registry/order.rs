//! What is asked of a run. Stored before the run starts, so that it can be taken up again after a crash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Answers;
use superstep::core::id::{RunId, ThreadId};

/// The longest title that is made out of what was said, in characters.
const LONGEST_TITLE: usize = 100;

/// What is asked of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Order {
    /// The run; fresh unless told.
    pub run: RunId,
    /// The thread it runs on.
    pub thread: ThreadId,
    /// The graph, by name.
    pub graph: String,
    /// What it begins with.
    pub what: What,
    /// What the application wants to know when it makes the context of the run. No secrets: it is stored.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub options: Value,
    /// Saved with the checkpoints of the run, and told with its events.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// What people call the thread, for lists and searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// What a run begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// An input.
    Start(Value),
    /// Answers to open questions, by id.
    Answer(Answers),
    /// Nothing: it goes on where the thread stands.
    GoOn,
}

impl Order {
    /// A run of a graph on a thread, under a fresh id.
    pub fn new(graph: impl Into<String>, thread: impl Into<ThreadId>, what: What) -> Self {
        let (thread, graph, metadata) = (thread.into(), graph.into(), BTreeMap::new());
        Self { run: fresh_run(), thread, graph, what, options: Value::Null, metadata, title: None }
    }

    /// What the application wants to know when it makes the context of the run.
    #[must_use]
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.options = options.into();
        self
    }

    /// Something to find checkpoints and records by.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// What people call the thread.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Calls the thread by what was first said on it, in one line and not too long, unless it has a title.
    #[must_use]
    pub fn titled_by(mut self, said: &str) -> Self {
        self.title.get_or_insert_with(|| {
            let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
            match line.char_indices().nth(LONGEST_TITLE) {
                Some((end, _)) => format!("{}...", &line[..end]),
                None => line,
            }
        });
        self
    }
}

/// A fresh id of a run.
#[must_use]
pub fn fresh_run() -> RunId {
    RunId::from_bits(fresh())
}

/// A fresh id of a thread.
#[must_use]
pub fn fresh_thread() -> ThreadId {
    ThreadId::from(RunId::from_bits(fresh()).to_string())
}

/// A UUID of version 7: its text sorts by time, and nobody can guess it.
fn fresh() -> u128 {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system gives random bytes");
    let millis = u128::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    let random = u128::from_be_bytes(random);
    let (low, middle) = (random & ((1 << 62) - 1), (random >> 64) & 0xfff);
    (millis & 0xffff_ffff_ffff) << 80 | 7 << 76 | middle << 64 | 2 << 62 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_back_as_it_was_written() {
        let answers = Answers::from([(superstep::core::id::InterruptId::from_bits(7), Value::Bool(true))]);
        for what in [What::Start(serde_json::json!({"n": 1})), What::Answer(answers), What::GoOn] {
            let order = Order::new("count", "t1", what).title("one").metadata("k", 1);
            let text = serde_json::to_string(&order).unwrap();
            assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
        }
    }

    #[test]
    fn a_thread_is_called_by_what_was_said_unless_it_has_a_title() {
        let order = || Order::new("count", "t1", What::GoOn);
        let title = |order: Order| order.title.unwrap();
        assert_eq!(title(order().titled_by(" Piano\n every  Tuesday ")), "Piano every Tuesday");
        assert_eq!(title(order().titled_by(&"ä".repeat(100))), "ä".repeat(100));
        assert_eq!(title(order().titled_by(&"ä".repeat(101))), "ä".repeat(100) + "...");
        assert_eq!(title(order().title("one").titled_by("two")), "one");
    }

    #[test]
    fn fresh_ids_are_of_version_seven_and_differ() {
        let (a, b) = (fresh_run().to_string(), fresh_run().to_string());
        assert_ne!(a, b);
        assert_eq!((a.as_bytes()[14], b"89ab".contains(&a.as_bytes()[19])), (b'7', true));
        assert!(fresh_thread().is_valid());
    }
}
