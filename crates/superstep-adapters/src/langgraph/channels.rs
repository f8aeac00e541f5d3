//! The channels of a LangGraph checkpoint: which ones hold the state, and which nodes run next according to the
//! others.
//!
//! LangGraph stores no list of next nodes: a node runs next if one of its channels has a version that the node has
//! not seen.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep_core::checkpoint::{StoredJoin, TriggerKind};
use xxhash_rust::xxh3::xxh3_128;

/// Channel of tasks with their own input.
pub(super) const SENDS: &str = "__pregel_tasks";
const START: &str = "__start__";
const BRANCH: &str = "branch:to:";
const JOIN: &str = "join:";

/// Purpose of a channel.
#[derive(Debug, PartialEq)]
pub(super) enum ChannelUse<'a> {
    /// Channel of a state key.
    Field,
    /// Channel that triggers a node.
    Branch(&'a str),
    /// Channel that collects finished nodes until the target can run.
    Join(Vec<&'a str>, &'a str),
    /// Tasks with their own input.
    Sends,
    /// Channel that is internal to LangGraph.
    Internal,
}

pub(super) fn use_of(channel: &str) -> ChannelUse<'_> {
    if let Some(node) = channel.strip_prefix(BRANCH) {
        return ChannelUse::Branch(node);
    }
    if let Some((sources, target)) = channel.strip_prefix(JOIN).and_then(|rest| rest.rsplit_once(':')) {
        return ChannelUse::Join(sources.split('+').collect(), target);
    }
    match channel {
        SENDS => ChannelUse::Sends,
        // A state that is not a map is stored in one channel.
        "__root__" => ChannelUse::Field,
        name if name.starts_with("__") => ChannelUse::Internal,
        _ => ChannelUse::Field,
    }
}

/// A checkpoint in LangGraph's form.
#[derive(Debug)]
pub(super) struct SourceCheckpoint {
    pub(super) id: String,
    pub(super) namespace: String,
    pub(super) step: i64,
    /// Creation time in LangGraph's format.
    pub(super) time: Option<String>,
    pub(super) channels: Map<String, Value>,
    versions: Map<String, Value>,
    seen: Map<String, Value>,
}

/// A task scheduled for the next superstep.
#[derive(Debug, PartialEq)]
pub(super) struct SourceTask {
    pub(super) node: String,
    pub(super) trigger: TriggerKind,
    /// Index among the sends, and the input.
    pub(super) send: Option<(u32, Value)>,
    /// Task id in LangGraph.
    pub(super) id: String,
}

/// The schedule after a checkpoint.
#[derive(Debug, Default, PartialEq)]
pub(super) struct NextTasks {
    /// Next tasks, in the order in which LangGraph applies their writes.
    pub(super) tasks: Vec<SourceTask>,
    pub(super) joins: Vec<StoredJoin>,
    pub(super) deferred: Vec<String>,
}

impl SourceCheckpoint {
    pub(super) fn new((namespace, id): (&str, &str), step: i64, mut checkpoint: Map<String, Value>) -> Self {
        let time = checkpoint.get("ts").and_then(Value::as_str).map(str::to_owned);
        let mut map = |key: &str| match checkpoint.remove(key) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let (channels, versions, seen) = (map("channel_values"), map("channel_versions"), map("versions_seen"));
        Self { id: id.to_owned(), namespace: namespace.to_owned(), step, time, channels, versions, seen }
    }

    /// Returns true if the input has been stored but not applied yet.
    pub(super) fn waits_for_start(&self) -> bool {
        self.channels.contains_key(START)
    }

    /// Clears the information about next nodes: only the start can run.
    pub(super) fn clear_next_tasks(&mut self) {
        self.versions.clear();
        self.channels.remove(SENDS);
    }

    /// Returns true if the channel has a version, which means that it has had a value.
    pub(super) fn has_channel(&self, channel: &str) -> bool {
        self.versions.contains_key(channel)
    }

    /// Returns true if the node has not seen the current version of the channel.
    fn is_new_to(&self, node: &str, channel: &str) -> bool {
        let Some(version) = self.versions.get(channel) else { return false };
        self.seen.get(node).and_then(|seen| seen.get(channel)).is_none_or(|seen| is_newer(version, seen))
    }

    pub(super) fn next_tasks(&self) -> NextTasks {
        let (mut next_tasks, mut pulled) = (NextTasks::default(), BTreeMap::new());
        for (channel, value) in &self.channels {
            match use_of(channel) {
                ChannelUse::Branch(node) if self.is_new_to(node, channel) => match finished(value) {
                    Some(false) => next_tasks.deferred.push(node.to_owned()),
                    _ => drop(pulled.entry(node).or_insert(TriggerKind::Edge)),
                },
                ChannelUse::Join(sources, target) => {
                    let arrived = arrived(value, &sources);
                    let is_full = arrived.len() == sources.len();
                    match finished(value) {
                        Some(false) if is_full => next_tasks.deferred.push(target.to_owned()),
                        _ if is_full && self.is_new_to(target, channel) => {
                            pulled.entry(target).or_insert(TriggerKind::Join);
                        }
                        _ if is_full || arrived.is_empty() => {}
                        _ => next_tasks.joins.push(StoredJoin {
                            target: target.into(),
                            sources: sources.iter().map(|source| (*source).into()).collect(),
                            arrived: arrived.iter().map(|source| (*source).into()).collect(),
                        }),
                    }
                }
                _ => {}
            }
        }
        let pulled = pulled.into_iter().map(|(node, trigger)| self.pull_task(node, trigger));
        let sends = self.channels.get(SENDS).and_then(Value::as_array);
        let sends = sends.into_iter().flatten().zip(0..).filter_map(|(send, index)| self.push_task(send, index));
        next_tasks.tasks = pulled.chain(sends).collect();
        next_tasks
    }

    fn pull_task(&self, node: &str, trigger: TriggerKind) -> SourceTask {
        let branch = format!("{BRANCH}{node}");
        let joins =
            self.versions.keys().filter(|channel| matches!(use_of(channel), ChannelUse::Join(_, to) if to == node));
        let mut triggers: Vec<&str> = joins.map(String::as_str).chain([branch.as_str()]).collect();
        triggers.sort_unstable();
        let id = self.task_id(node, "__pregel_pull", &triggers.concat());
        SourceTask { node: node.to_owned(), trigger, send: None, id }
    }

    fn push_task(&self, send: &Value, index: u32) -> Option<SourceTask> {
        let node = send.get("node")?.as_str()?;
        let payload = send.get("arg").cloned().unwrap_or(Value::Null);
        let id = self.task_id(node, "__pregel_push", &index.to_string());
        Some(SourceTask { node: node.to_owned(), trigger: TriggerKind::Send, send: Some((index, payload)), id })
    }

    /// Computes the id that LangGraph gives a task of the next superstep.
    fn task_id(&self, node: &str, kind: &str, rest: &str) -> String {
        let mut bytes: Vec<u8> = hex(&self.id).unwrap_or_default();
        let path = child_namespace(&self.namespace, node);
        for part in [&path, &(self.step + 1).to_string(), node, kind, rest] {
            bytes.extend_from_slice(part.as_bytes());
        }
        let hash = format!("{:032x}", xxh3_128(&bytes));
        [&hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..]].join("-")
    }
}

/// Returns the namespace of a node inside a graph.
pub(super) fn child_namespace(namespace: &str, node: &str) -> String {
    if namespace.is_empty() { node.to_owned() } else { format!("{namespace}|{node}") }
}

/// Computes the id that LangGraph gives an interrupt of a task that has received this number of resume values.
pub(super) fn langgraph_interrupt_id(task_path: &str, resume_count: usize) -> String {
    let path = if resume_count == 0 { task_path.to_owned() } else { format!("{task_path}|{resume_count}") };
    format!("{:032x}", xxh3_128(path.as_bytes()))
}

fn hex(id: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = id.chars().filter(|c| *c != '-').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8)).collect())
}

/// Returns the flag of a channel that waits for the end of the run; `None` for other channels.
fn finished(value: &Value) -> Option<bool> {
    match value.as_array().map(Vec::as_slice) {
        Some([_, Value::Bool(finished)]) => Some(*finished),
        _ => None,
    }
}

/// Returns the sources of a join that have finished, in the order of `sources`.
fn arrived<'a>(value: &Value, sources: &[&'a str]) -> Vec<&'a str> {
    let names = match finished(value) {
        Some(_) => value.get(0),
        None => Some(value),
    };
    let has = |source: &&&str| {
        let names = names.and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(**source)))
    };
    sources.iter().filter(has).copied().collect()
}

/// Compares two versions, which are numbers or sortable strings.
fn is_newer(version: &Value, seen: &Value) -> bool {
    match (version.as_f64(), seen.as_f64()) {
        (Some(version), Some(seen)) => version > seen,
        _ => version.as_str() > seen.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(channels: Value, versions: Value, seen: Value) -> SourceCheckpoint {
        let checkpoint = json!({ "channel_values": channels, "channel_versions": versions, "versions_seen": seen });
        let Value::Object(checkpoint) = checkpoint else { unreachable!("it is written above") };
        SourceCheckpoint::new(("", "1f1e129c-6ab5-6447-8001-000000000000"), 1, checkpoint)
    }

    fn nodes(next_tasks: &NextTasks) -> Vec<&str> {
        next_tasks.tasks.iter().map(|task| task.node.as_str()).collect()
    }

    /// R-NFR-16b: a node runs next if it has not seen the current version of its channel.
    #[test]
    fn next_nodes_are_determined_by_channel_versions() {
        let channels = json!({ "branch:to:b": null, "branch:to:a": null, "x": 1, "__start__": {} });
        let versions = json!({ "branch:to:b": 3, "branch:to:a": 3, "x": 2 });
        let seen = json!({ "a": { "branch:to:a": 3 }, "b": { "branch:to:b": 2 } });
        assert_eq!(nodes(&stored(channels.clone(), versions, seen).next_tasks()), ["b"]);
        let versions = json!({ "branch:to:b": "0003.1", "branch:to:a": "0010.2" });
        let seen = json!({ "a": { "branch:to:a": "0009.7" } });
        assert_eq!(nodes(&stored(channels, versions, seen).next_tasks()), ["a", "b"]);
    }

    /// R-NFR-16b: partially filled, full and deferred joins are distinguished.
    #[test]
    fn joins_and_deferred_nodes_are_distinguished() {
        let channels = json!({
            "join:a+b:half": ["b"], "join:b+a:full": ["a", "b"], "join:a+b:empty": [],
            "join:a+b:late": [["a", "b"], false], "branch:to:last": [null, false], "branch:to:now": [null, true]
        });
        let versions: Map<String, Value> =
            channels.as_object().unwrap().keys().map(|channel| (channel.clone(), json!(1))).collect();
        let next_tasks = stored(channels, Value::Object(versions), json!({})).next_tasks();
        assert_eq!(nodes(&next_tasks), ["full", "now"]);
        assert_eq!((next_tasks.joins.len(), &*next_tasks.joins[0].target), (1, "half"));
        assert_eq!(next_tasks.joins[0].arrived, [std::sync::Arc::<str>::from("b")]);
        let mut deferred = next_tasks.deferred;
        deferred.sort();
        assert_eq!(deferred, ["last", "late"]);
    }
}
