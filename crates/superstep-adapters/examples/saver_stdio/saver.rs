//! Answers a saver's requests with a store of ours, through its port.
//!
//! Every write takes the thread and gives it back. The newest by id is asked for here, the newest saved by our stores;
//! ids that sort by time make them one, and where they do not, reads go by id and `prune` by what was saved last.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep_core::change::Change;
use superstep_core::checkpoint::{FieldChange, Namespace};
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId, derive};
use superstep_core::port::{At, Commit, HistoryQuery, Lease, Loaded, Retention, SharedCheckpointer, ThreadsQuery};

use crate::ask::{Ask, Get, List, Put, PutWrites, Strategy, Tuple};
use crate::forms;

/// Threads that are asked for at once.
const PAGE: usize = 100;

/// A store in the place of a saver.
pub(crate) struct Saver {
    store: SharedCheckpointer,
    /// What this process takes threads as.
    run: RunId,
}

/// The right to write to a thread, given back when it goes.
struct Held<'a> {
    store: &'a SharedCheckpointer,
    lease: Lease,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}

impl Saver {
    pub(crate) fn new(store: SharedCheckpointer) -> Self {
        let run = derive(&[b"saver_stdio", &std::process::id().to_le_bytes()]);
        Self { store, run: RunId::from_bits(run) }
    }

    /// Does what is asked; the result is what stands behind `ok`.
    pub(crate) async fn answer(&self, ask: Ask) -> Result<Value> {
        match ask {
            Ask::Put(put) => self.put(put).await?,
            Ask::PutWrites(put) => self.put_writes(put).await?,
            Ask::Get(get) => return self.get(get).await.map(|found| json!(found)),
            Ask::List(list) => return self.list(list).await.map(|found| json!(found)),
            Ask::DeleteThread { t } => self.store.delete_thread(&forms::thread(&t)).await?,
            Ask::DeleteForRuns { runs } => self.delete_for_runs(&runs).await?,
            Ask::CopyThread { src, dst } => {
                self.store.copy_thread(&forms::thread(&src), &forms::thread(&dst)).await?;
            }
            Ask::Prune { threads, strategy } => self.prune(&threads, &strategy).await?,
        }
        Ok(json!(true))
    }

    async fn take(&self, thread: &ThreadId) -> Result<Held<'_>> {
        Ok(Held { store: &self.store, lease: self.store.acquire(thread, self.run).await? })
    }

    async fn put(&self, put: Put) -> Result<()> {
        let (thread, namespace) = (forms::thread(&put.t), Namespace::from(put.ns.as_str()));
        let held = self.take(&thread).await?;
        let parent = match &put.parent {
            Some(parent) => self.store.load(&thread, &namespace, At::Id(forms::checkpoint_id(parent))).await?,
            None => None,
        };
        let mut commit = Commit::empty(held.lease.clone(), namespace);
        commit.changes = self.changes(&put, &thread, parent.as_ref()).await?.into();
        let parent = parent.map(|parent| parent.checkpoint.id);
        commit.checkpoint = Some(Arc::new(forms::checkpoint(&put, &thread, parent)));
        self.store.commit(&commit).await
    }

    /// What came with the checkpoint, and what its versions name but its parent does not hand down.
    async fn changes(&self, put: &Put, thread: &ThreadId, parent: Option<&Loaded>) -> Result<Vec<FieldChange>> {
        let mut changes = Vec::new();
        for (channel, version, value) in &put.blobs {
            let field = forms::field(channel, version, put.versions.get(channel) == Some(version));
            changes.push(FieldChange { field, change: Change::Set, part: forms::part(version, Some(value)) });
        }
        let mut history = None;
        for (channel, version) in &put.versions {
            let came = put.blobs.iter().any(|(blob, its, _)| blob == channel && its == version);
            let handed = parent.map(|parent| forms::blob(parent, channel, version)).transpose()?.flatten();
            if came || handed.is_some() {
                continue;
            }
            if history.is_none() {
                let namespace = put.ns.as_str().into();
                history = Some(self.store.history(thread, &namespace, &HistoryQuery::default()).await?);
            }
            let mut found = None;
            for loaded in history.iter().flatten() {
                found = found.or(forms::blob(loaded, channel, version)?.flatten());
            }
            let field = forms::field(channel, version, true);
            changes.push(FieldChange { field, change: Change::Set, part: forms::part(version, found.as_ref()) });
        }
        Ok(changes)
    }

    async fn put_writes(&self, put: PutWrites) -> Result<()> {
        let (thread, namespace) = (forms::thread(&put.t), Namespace::from(put.ns.as_str()));
        let held = self.take(&thread).await?;
        let loaded = self.store.load(&thread, &namespace, At::Id(forms::checkpoint_id(&put.cid))).await?;
        let missing = || Error::new(Code::NotFound, format!("no checkpoint `{}` that writes could belong to", put.cid));
        let loaded = loaded.ok_or_else(missing)?;
        let mut commit = Commit::empty(held.lease.clone(), namespace);
        commit.pending = forms::pending(put, &loaded);
        self.store.commit(&commit).await
    }

    async fn get(&self, get: Get) -> Result<Option<Tuple>> {
        let list = List { t: Some(get.t), ns: Some(get.ns), cid: get.cid, filter: None, before: None, limit: Some(1) };
        Ok(self.list(list).await?.pop())
    }

    async fn list(&self, list: List) -> Result<Vec<Tuple>> {
        let metadata = forms::filter(list.filter.unwrap_or_default());
        let query = HistoryQuery { metadata, ..HistoryQuery::default() };
        let mut found = Vec::new();
        for thread in self.threads(list.t.as_deref()).await? {
            let namespaces = match &list.ns {
                Some(namespace) => vec![namespace.as_str().into()],
                None => self.store.namespaces(&thread).await?,
            };
            for namespace in namespaces {
                found.extend(self.in_namespace(&thread, &namespace, list.cid.as_deref(), &query).await?);
            }
        }
        found.retain(|loaded| list.before.as_deref().is_none_or(|before| forms::text(loaded) < before));
        found.sort_by(|one, other| forms::text(other).cmp(forms::text(one)));
        found.truncate(list.limit.unwrap_or(usize::MAX));
        found.iter().map(forms::tuple).collect()
    }

    async fn in_namespace(
        &self,
        thread: &ThreadId,
        namespace: &Namespace,
        cid: Option<&str>,
        query: &HistoryQuery,
    ) -> Result<Vec<Loaded>> {
        let Some(cid) = cid else { return self.store.history(thread, namespace, query).await };
        let found = self.store.load(thread, namespace, At::Id(forms::checkpoint_id(cid))).await?;
        Ok(found.into_iter().filter(|loaded| query.matches(&loaded.checkpoint)).collect())
    }

    /// This thread, or all there are.
    async fn threads(&self, only: Option<&str>) -> Result<Vec<ThreadId>> {
        if let Some(only) = only {
            return Ok(vec![forms::thread(only)]);
        }
        let mut all = Vec::new();
        loop {
            let page = self.store.threads(&ThreadsQuery { after: all.last().cloned(), limit: Some(PAGE) }).await?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn delete_for_runs(&self, runs: &[Value]) -> Result<()> {
        let retention = Retention { without_runs: runs.iter().map(forms::run).collect(), ..Retention::everything() };
        for thread in self.threads(None).await? {
            self.store.prune(&thread, &retention).await?;
        }
        Ok(())
    }

    async fn prune(&self, threads: &[String], strategy: &Strategy) -> Result<()> {
        for thread in threads.iter().map(|thread| forms::thread(thread)) {
            match strategy {
                Strategy::Delete => self.store.delete_thread(&thread).await?,
                Strategy::KeepLatest => {
                    self.store.prune(&thread, &Retention::last(1)).await?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use superstep::Memory;

    use super::*;

    /// What a new store in memory answers, one question after the other.
    fn answers(asked: &[Value]) -> Vec<Value> {
        let saver = Saver::new(Memory::new().into());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ask = |ask: &Value| runtime.block_on(saver.answer(serde_json::from_value(ask.clone()).unwrap())).unwrap();
        asked.iter().map(ask).collect()
    }

    fn put(cid: &str, parent: Option<&str>, versions: &Value, blobs: &Value) -> Value {
        let (skel, meta) = (json!(["null", ""]), json!({ "step": 1 }));
        json!({ "op": "put", "t": "a b", "ns": "", "cid": cid, "parent": parent, "skel": skel, "versions": versions,
            "meta": meta, "blobs": blobs })
    }

    fn get(cid: &str) -> Value {
        json!({ "op": "get", "t": "a b", "ns": "", "cid": cid })
    }

    fn values(answer: &Value) -> &Value {
        &answer["vals"]
    }

    #[test]
    fn a_version_is_found_wherever_in_the_history_it_came() {
        let one = json!([["x", 1, ["s", "b25l"]], ["y", "v9", ["s", "bmluZQ=="]]]);
        let answers = answers(&[
            put("1", None, &json!({ "x": 1 }), &one),
            put("2", Some("1"), &json!({ "x": 2 }), &json!([["x", 2, ["s", "dHdv"]]])),
            put("3", Some("2"), &json!({ "x": 1, "y": "v9", "z": 1.5 }), &json!([])),
            put("4", Some("never saved"), &json!({ "x": 2 }), &json!([])),
            get("3"),
            get("4"),
            get("2"),
        ]);
        assert_eq!(*values(&answers[4]), json!({ "x": ["s", "b25l"], "y": ["s", "bmluZQ=="] }));
        assert_eq!(*values(&answers[5]), json!({ "x": ["s", "dHdv"] }));
        assert_eq!(answers[5]["parent"], "never saved");
        assert_eq!(*values(&answers[6]), json!({ "x": ["s", "dHdv"] }), "`y` is not of its versions");
    }

    #[test]
    fn the_first_write_of_a_place_stays_and_the_last_below_zero_does() {
        let writes = |task: &str, path: &str, text: &str| {
            let writes = json!([["x", "s", text], ["__resume__", "s", text], ["y", "s", text]]);
            json!({ "op": "put_writes", "t": "a b", "ns": "", "cid": "1", "task": task, "path": path, "writes": writes })
        };
        let answers = answers(&[
            put("1", None, &json!({}), &json!([])),
            writes("t2", "a", "one"),
            writes("t2", "a", "two"),
            writes("t1", "b", "three"),
            get("1"),
        ]);
        let row = |task: &str, channel: &str, text: &str| json!([task, channel, "s", text]);
        let first = [row("t2", "__resume__", "two"), row("t2", "x", "one"), row("t2", "y", "one")];
        let second = ["__resume__", "x", "y"].map(|channel| row("t1", channel, "three"));
        assert_eq!(answers[4]["writes"], json!([first, second].concat()));
    }

    #[test]
    fn without_an_id_the_greatest_answers_whatever_was_saved_last() {
        let list = json!({ "op": "list", "before": "9", "limit": 2 });
        let latest = json!({ "op": "get", "t": "a b", "ns": "", "cid": null });
        let asked = ["3", "9", "1"].map(|cid| put(cid, None, &json!({}), &json!([])));
        let answers = answers(&[asked.to_vec(), vec![latest, list]].concat());
        assert_eq!(answers[3]["cid"], "9");
        let listed: Vec<&Value> = answers[4].as_array().unwrap().iter().map(|row| &row["cid"]).collect();
        assert_eq!(listed, ["3", "1"]);
        assert_eq!(answers[4][0]["t"], "a b");
    }
}
