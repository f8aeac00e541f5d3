//! Handles LangGraph checkpointer requests with a superstep checkpointer, through its port.
//!
//! Every write acquires and releases a lease. LangGraph requests the latest checkpoint by id, superstep checkpointers
//! return the one saved last. These are the same if ids sort by time; otherwise reads use the id, and `prune` uses
//! the order of saving.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep_core::change::Change;
use superstep_core::checkpoint::{CheckpointNamespace, FieldChange};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId, hash_id};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Commit, HistoryQuery, Lease, Retention, SharedCheckpointer, ThreadsQuery,
};

use crate::encoding;
use crate::request::{Get, List, Put, PutWrites, Request, Strategy, TupleJson};

/// Number of threads per page.
const PAGE_SIZE: usize = 100;

/// A LangGraph checkpointer on top of a superstep checkpointer.
pub(crate) struct LangGraphCheckpointer {
    store: SharedCheckpointer,
    /// Run id with which this process acquires threads.
    run: RunId,
}

/// A lease that is released when dropped.
struct LeaseGuard<'a> {
    store: &'a SharedCheckpointer,
    lease: Lease,
}

impl Drop for LeaseGuard<'_> {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}

impl LangGraphCheckpointer {
    pub(crate) fn new(store: SharedCheckpointer) -> Self {
        let run = hash_id(&[b"saver_stdio", &std::process::id().to_le_bytes()]);
        Self { store, run: RunId::from_bits(run) }
    }

    /// Handles a request; the result is the value of `ok`.
    pub(crate) async fn handle(&self, request: Request) -> Result<Value> {
        match request {
            Request::Put(put) => self.put(put).await?,
            Request::PutWrites(put) => self.put_writes(put).await?,
            Request::Get(get) => return self.get(get).await.map(|tuple| json!(tuple)),
            Request::List(list) => return self.list(list).await.map(|tuples| json!(tuples)),
            Request::DeleteThread { t } => self.store.delete_thread(&encoding::thread(&t)).await?,
            Request::DeleteForRuns { runs } => self.delete_for_runs(&runs).await?,
            Request::CopyThread { src, dst } => {
                self.store.copy_thread(&encoding::thread(&src), &encoding::thread(&dst)).await?;
            }
            Request::Prune { threads, strategy } => self.prune(&threads, &strategy).await?,
        }
        Ok(json!(true))
    }

    async fn acquire(&self, thread: &ThreadId) -> Result<LeaseGuard<'_>> {
        Ok(LeaseGuard { store: &self.store, lease: self.store.acquire(thread, self.run).await? })
    }

    async fn put(&self, put: Put) -> Result<()> {
        let (thread, namespace) = (encoding::thread(&put.t), CheckpointNamespace::from(put.ns.as_str()));
        let guard = self.acquire(&thread).await?;
        let parent = match &put.parent {
            Some(parent) => {
                self.store.load(&thread, &namespace, CheckpointSelector::Id(encoding::checkpoint_id(parent))).await?
            }
            None => None,
        };
        let mut commit = Commit::empty(guard.lease.clone(), namespace);
        commit.changes = self.changes(&put, &thread, parent.as_ref()).await?.into();
        let parent = parent.map(|parent| parent.checkpoint.id);
        commit.checkpoint = Some(Arc::new(encoding::checkpoint(&put, &thread, parent)));
        self.store.commit(&commit).await
    }

    /// Returns the changed channels of the checkpoint, and channels whose versions differ from those of the parent.
    async fn changes(
        &self,
        put: &Put,
        thread: &ThreadId,
        parent: Option<&CheckpointTuple>,
    ) -> Result<Vec<FieldChange>> {
        let mut changes = Vec::new();
        for (channel, version, value) in &put.blobs {
            let field = encoding::field(channel, version, put.versions.get(channel) == Some(version));
            changes.push(FieldChange { field, change: Change::Set, delta: encoding::part(version, Some(value)) });
        }
        let mut history = None;
        for (channel, version) in &put.versions {
            let is_changed = put.blobs.iter().any(|(blob, blob_version, _)| blob == channel && blob_version == version);
            let inherited = parent.map(|parent| encoding::blob(parent, channel, version)).transpose()?.flatten();
            if is_changed || inherited.is_some() {
                continue;
            }
            if history.is_none() {
                let namespace = put.ns.as_str().into();
                history = Some(self.store.history(thread, &namespace, &HistoryQuery::default()).await?);
            }
            let mut stored = None;
            for loaded in history.iter().flatten() {
                stored = stored.or(encoding::blob(loaded, channel, version)?.flatten());
            }
            let field = encoding::field(channel, version, true);
            changes.push(FieldChange { field, change: Change::Set, delta: encoding::part(version, stored.as_ref()) });
        }
        Ok(changes)
    }

    async fn put_writes(&self, put: PutWrites) -> Result<()> {
        let (thread, namespace) = (encoding::thread(&put.t), CheckpointNamespace::from(put.ns.as_str()));
        let guard = self.acquire(&thread).await?;
        let loaded =
            self.store.load(&thread, &namespace, CheckpointSelector::Id(encoding::checkpoint_id(&put.cid))).await?;
        let missing =
            || Error::new(ErrorCode::NotFound, format!("no checkpoint `{}` that writes could belong to", put.cid));
        let loaded = loaded.ok_or_else(missing)?;
        let mut commit = Commit::empty(guard.lease.clone(), namespace);
        commit.pending = encoding::pending(put, &loaded);
        self.store.commit(&commit).await
    }

    async fn get(&self, get: Get) -> Result<Option<TupleJson>> {
        let list = List { t: Some(get.t), ns: Some(get.ns), cid: get.cid, filter: None, before: None, limit: Some(1) };
        Ok(self.list(list).await?.pop())
    }

    async fn list(&self, list: List) -> Result<Vec<TupleJson>> {
        let metadata = encoding::filter(list.filter.unwrap_or_default());
        let query = HistoryQuery { metadata, ..HistoryQuery::default() };
        let mut tuples = Vec::new();
        for thread in self.threads(list.t.as_deref()).await? {
            let namespaces = match &list.ns {
                Some(namespace) => vec![namespace.as_str().into()],
                None => self.store.namespaces(&thread).await?,
            };
            for namespace in namespaces {
                tuples.extend(self.in_namespace(&thread, &namespace, list.cid.as_deref(), &query).await?);
            }
        }
        tuples.retain(|loaded| list.before.as_deref().is_none_or(|before| encoding::text(loaded) < before));
        tuples.sort_by(|one, other| encoding::text(other).cmp(encoding::text(one)));
        tuples.truncate(list.limit.unwrap_or(usize::MAX));
        tuples.iter().map(encoding::tuple).collect()
    }

    async fn in_namespace(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        cid: Option<&str>,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let Some(cid) = cid else { return self.store.history(thread, namespace, query).await };
        let tuple = self.store.load(thread, namespace, CheckpointSelector::Id(encoding::checkpoint_id(cid))).await?;
        Ok(tuple.into_iter().filter(|loaded| query.matches(&loaded.checkpoint)).collect())
    }

    /// Returns this thread, or all threads.
    async fn threads(&self, only: Option<&str>) -> Result<Vec<ThreadId>> {
        if let Some(only) = only {
            return Ok(vec![encoding::thread(only)]);
        }
        let mut all = Vec::new();
        loop {
            let page = self.store.threads(&ThreadsQuery { after: all.last().cloned(), limit: Some(PAGE_SIZE) }).await?;
            let is_last = page.len() < PAGE_SIZE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn delete_for_runs(&self, runs: &[Value]) -> Result<()> {
        let retention = Retention { excluded_runs: runs.iter().map(encoding::run).collect(), ..Retention::keep_all() };
        for thread in self.threads(None).await? {
            self.store.prune(&thread, &retention).await?;
        }
        Ok(())
    }

    async fn prune(&self, threads: &[String], strategy: &Strategy) -> Result<()> {
        for thread in threads.iter().map(|thread| encoding::thread(thread)) {
            match strategy {
                Strategy::Delete => self.store.delete_thread(&thread).await?,
                Strategy::KeepLatest => {
                    self.store.prune(&thread, &Retention::keep_last(1)).await?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use superstep::MemoryCheckpointer;

    use super::*;

    /// Returns the responses of a new in-memory checkpointer to a sequence of requests.
    fn responses(requests: &[Value]) -> Vec<Value> {
        let checkpointer = LangGraphCheckpointer::new(MemoryCheckpointer::new().into());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let request = |request: &Value| {
            runtime.block_on(checkpointer.handle(serde_json::from_value(request.clone()).unwrap())).unwrap()
        };
        requests.iter().map(request).collect()
    }

    fn put(cid: &str, parent: Option<&str>, versions: &Value, blobs: &Value) -> Value {
        let (skel, meta) = (json!(["null", ""]), json!({ "step": 1 }));
        json!({ "op": "put", "t": "a b", "ns": "", "cid": cid, "parent": parent, "skel": skel, "versions": versions,
            "meta": meta, "blobs": blobs })
    }

    fn get(cid: &str) -> Value {
        json!({ "op": "get", "t": "a b", "ns": "", "cid": cid })
    }

    fn values(response: &Value) -> &Value {
        &response["vals"]
    }

    #[test]
    fn a_version_is_found_wherever_in_the_history_it_came() {
        let one = json!([["x", 1, ["s", "b25l"]], ["y", "v9", ["s", "bmluZQ=="]]]);
        let responses = responses(&[
            put("1", None, &json!({ "x": 1 }), &one),
            put("2", Some("1"), &json!({ "x": 2 }), &json!([["x", 2, ["s", "dHdv"]]])),
            put("3", Some("2"), &json!({ "x": 1, "y": "v9", "z": 1.5 }), &json!([])),
            put("4", Some("never saved"), &json!({ "x": 2 }), &json!([])),
            get("3"),
            get("4"),
            get("2"),
        ]);
        assert_eq!(*values(&responses[4]), json!({ "x": ["s", "b25l"], "y": ["s", "bmluZQ=="] }));
        assert_eq!(*values(&responses[5]), json!({ "x": ["s", "dHdv"] }));
        assert_eq!(responses[5]["parent"], "never saved");
        assert_eq!(*values(&responses[6]), json!({ "x": ["s", "dHdv"] }), "`y` is not of its versions");
    }

    #[test]
    fn the_first_write_of_a_place_stays_and_the_last_below_zero_does() {
        let writes = |task: &str, path: &str, text: &str| {
            let writes = json!([["x", "s", text], ["__resume__", "s", text], ["y", "s", text]]);
            json!({ "op": "put_writes", "t": "a b", "ns": "", "cid": "1", "task": task, "path": path, "writes": writes })
        };
        let responses = responses(&[
            put("1", None, &json!({}), &json!([])),
            writes("t2", "a", "one"),
            writes("t2", "a", "two"),
            writes("t1", "b", "three"),
            get("1"),
        ]);
        let row = |task: &str, channel: &str, text: &str| json!([task, channel, "s", text]);
        let first = [row("t2", "__resume__", "two"), row("t2", "x", "one"), row("t2", "y", "one")];
        let second = ["__resume__", "x", "y"].map(|channel| row("t1", channel, "three"));
        assert_eq!(responses[4]["writes"], json!([first, second].concat()));
    }

    #[test]
    fn without_an_id_the_greatest_answers_whatever_was_saved_last() {
        let list = json!({ "op": "list", "before": "9", "limit": 2 });
        let latest = json!({ "op": "get", "t": "a b", "ns": "", "cid": null });
        let requests = ["3", "9", "1"].map(|cid| put(cid, None, &json!({}), &json!([])));
        let responses = responses(&[requests.to_vec(), vec![latest, list]].concat());
        assert_eq!(responses[3]["cid"], "9");
        let listed: Vec<&Value> = responses[4].as_array().unwrap().iter().map(|row| &row["cid"]).collect();
        assert_eq!(listed, ["3", "1"]);
        assert_eq!(responses[4][0]["t"], "a b");
    }
}
