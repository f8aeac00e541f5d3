//! A file that changes while its graph is in use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::RunEnd;
use superstep::core::port::{BoxFuture, Clock};
use superstep::files::{Components, ReloadResult, ReloadingGraph};
use superstep::prelude::*;
use superstep::testing::ManualClock;
use tokio::sync::Notify;

use super::samples::Folder;

/// Returns a graph of one node that writes a word, then one that interrupts.
fn text(word: &str, more: &str) -> String {
    format!(
        r#"
name = "live"
[state]
word = {{ type = "string" }}
answer = {{ type = "string" }}
{more}
[nodes.say]
kind = "set"
values = {{ word = "{word}" }}
[nodes.ask]
kind = "interrupt"
prompt_file = "ask.md"
output = "answer"
[[edges]]
from = "START"
to = "say"
[[edges]]
from = "say"
to = "ask"
[[edges]]
from = "ask"
to = "END"
"#
    )
}

const PROMPT: &str = "+++\nversion = \"1\"\n+++\nIs {{word}} right?";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("ask.md", PROMPT);
    folder.write("live.toml", &text("one", ""));
    folder
}

fn live(folder: &Folder) -> ReloadingGraph {
    ReloadingGraph::open(folder.0.join("live.toml"), Components::new().checkpointer(MemoryCheckpointer::new())).unwrap()
}

async fn word(live: &ReloadingGraph, thread: &str) -> Value {
    live.invoke(json!({ "word": "zero" })).thread(thread).await.unwrap().state.get("word").into_owned()
}

/// R-FWK-96: new runs use the new file; an unchanged file changes nothing.
#[tokio::test]
async fn new_runs_use_the_changed_file() {
    let folder = folder("taken");
    let live = live(&folder);
    assert_eq!(word(&live, "a").await, "one");
    assert!(matches!(live.reload(), ReloadResult::Unchanged));
    folder.write("live.toml", &text("one", ""));
    assert!(matches!(live.reload(), ReloadResult::Unchanged), "written anew, with the same words");
    folder.write("live.toml", &text("two", ""));
    assert!(matches!(live.reload(), ReloadResult::Replaced { version: 2 }));
    assert_eq!((word(&live, "b").await, live.version()), (json!("two"), 2));
    assert_eq!(live.file().files(), [folder.0.join("live.toml"), folder.0.join("ask.md")]);
}

/// R-FWK-96: referenced prompts and graphs are watched too.
#[tokio::test]
async fn new_runs_use_the_changed_prompt() {
    let folder = folder("prompt");
    let live = live(&folder);
    folder.write("ask.md", &PROMPT.replace("right", "wrong"));
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }));
    let paused = live.invoke(json!({ "word": "zero" })).thread("a").await.unwrap();
    assert_eq!(paused.interrupts()[0].prompt.as_deref(), Some("Is one wrong?"));
}

/// R-FWK-96: an invalid, partially written or deleted file is reported, and the previous version stays in use.
#[tokio::test]
async fn a_broken_file_leaves_the_old_version_in_service() {
    let folder = folder("broken");
    let live = live(&folder);
    let reported: Arc<Mutex<Vec<String>>> = Arc::default();
    let recorder = reported.clone();
    live.on_reload(move |reload| {
        recorder.lock().unwrap().push(match reload {
            ReloadResult::Rejected(error) => error.to_string().lines().nth(1).unwrap_or(error.message()).to_owned(),
            other => format!("{other:?}"),
        });
    });
    let full_text = text("two", "");
    folder.write("live.toml", &full_text[..full_text.len() / 2]);
    assert!(matches!(live.reload(), ReloadResult::Rejected(_)));
    assert!(live.last_error().unwrap().to_string().contains("live.toml:"));
    assert_eq!(word(&live, "half").await, "one");
    assert!(matches!(live.reload(), ReloadResult::Unchanged), "told once");

    std::fs::remove_file(folder.0.join("live.toml")).unwrap();
    assert!(matches!(live.reload(), ReloadResult::Rejected(_)));
    assert!(live.last_error().unwrap().message().contains("failed to read"));
    assert_eq!(word(&live, "gone").await, "one");

    folder.write("live.toml", &full_text);
    std::fs::remove_file(folder.0.join("ask.md")).unwrap();
    assert!(matches!(live.reload(), ReloadResult::Rejected(_)));
    folder.write("ask.md", PROMPT);
    assert!(matches!(live.reload(), ReloadResult::Replaced { version: 2 }), "a file that was missing is watched");
    assert_eq!((word(&live, "whole").await, live.last_error().is_none()), (json!("two"), true));

    folder.write("live.toml", &full_text.replace("prompt_file", "kind = \"rust\"\nnode = \"x\"\n#"));
    live.reload();
    let reported = reported.lock().unwrap();
    assert_eq!(reported.len(), 5, "{reported:#?}");
    assert_eq!(reported[3], "Replaced { version: 2 }");
}

/// R-FWK-96: a running run ends on the version with which it started.
#[tokio::test]
async fn a_run_under_way_ends_on_its_own_version() {
    let folder = Folder::new("flight");
    let graph = |word: &str| {
        format!(
            "name = \"t\"\n[state]\nword = {{}}\n[nodes.wait]\nkind = \"rust\"\nnode = \"wait\"\n[nodes.say]\nkind = \"set\"\n\
             values = {{ word = \"{word}\" }}\n[[edges]]\nfrom = \"START\"\nto = \"wait\"\n[[edges]]\nfrom = \"wait\"\nto = \"say\"\n\
             [[edges]]\nfrom = \"say\"\nto = \"END\"\n"
        )
    };
    let (started, resume) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (starts, waits) = (started.clone(), resume.clone());
    let wait = move || {
        let (started, resume) = (starts.clone(), waits.clone());
        async move {
            started.notify_one();
            resume.notified().await;
        }
    };
    let parts = Components::new().node("wait", wait).checkpointer(MemoryCheckpointer::new());
    let live = ReloadingGraph::open(folder.write("t.toml", &graph("old")), parts).unwrap();
    let old = live.invoke(json!({ "word": "zero" })).thread("one").spawn();
    started.notified().await;
    folder.write("t.toml", &graph("new"));
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }));
    // On the same thread: the new run waits until the old run has ended.
    let new = live.invoke(json!({ "word": "zero" })).thread("one").spawn();
    resume.notify_one();
    assert_eq!(*old.await.unwrap().state.get("word"), "old");
    started.notified().await;
    resume.notify_one();
    assert_eq!(*new.await.unwrap().state.get("word"), "new");
}

/// R-FWK-96: an interrupted thread continues with the new version.
#[tokio::test]
async fn a_waiting_thread_continues_under_the_new_version() {
    let folder = folder("waits");
    let live = live(&folder);
    let paused = live.invoke(json!({ "word": "zero" })).thread("t").await.unwrap();
    assert!(matches!(paused.end, RunEnd::Interrupted(_)));
    let more = "more = { type = \"integer\", default = 3 }";
    folder.write("live.toml", &text("two", more).replace("to = \"END\"", "to = \"end it\"\n[nodes.\"end it\"]\nkind = \"set\"\ncopies = { word = \"answer\" }\n[[edges]]\nfrom = \"end it\"\nto = \"END\""));
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }));
    let done = live.resume("t", "yes").await.unwrap();
    assert_eq!(done.state.to_json(), json!({ "answer": "yes", "more": 3, "word": "yes" }));
}

/// R-FWK-96: the error names what an interrupted thread needs and the new version lacks; a migration in the file, or
/// a former name of a node, solves this.
#[tokio::test]
async fn an_incompatible_interrupted_thread_names_the_missing_parts() {
    let folder = folder("misfit");
    let live = live(&folder);
    live.invoke(json!({ "word": "zero" })).thread("t").await.unwrap();
    let renamed = text("two", "").replace("nodes.ask", "nodes.inquire").replace("\"ask\"", "\"inquire\"");
    folder.write("live.toml", &renamed);
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }));
    let error = live.resume("t", "yes").await.unwrap_err();
    assert!(error.to_string().contains("`ask`"), "{error}");

    folder.write("live.toml", &renamed.replace("prompt_file", "former_names = [\"ask\"]\nprompt_file"));
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }));
    assert_eq!(live.graph().threads().get_state("t").await.unwrap().next, ["inquire"]);

    folder.write("live.toml", &text("two", "").replace("word", "term"));
    folder.write("ask.md", &PROMPT.replace("word", "term"));
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }));
    let error = live.resume("t", "yes").await.unwrap_err();
    assert!(error.to_string().contains("`word`"), "{error}");

    let migrations = "version = 2\nmigrations = [{ from = 1, to = 2, rename = { word = \"term\" }, rename_nodes = { ask = \"inquire\" } }]\n";
    folder.write("live.toml", &format!("{migrations}{}", renamed.replace("word", "term")));
    assert!(matches!(live.reload(), ReloadResult::Replaced { .. }), "{:?}", live.last_error());
    let done = live.resume("t", "yes").await.unwrap();
    assert_eq!(done.state.to_json(), json!({ "answer": "yes", "term": "one" }));
}

/// A clock that counts sleeps.
#[derive(Clone, Default)]
struct SleepCountingClock {
    clock: ManualClock,
    sleeps: Arc<AtomicUsize>,
}

impl Clock for SleepCountingClock {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        self.clock.sleep(time)
    }
}

impl SleepCountingClock {
    /// Lets the watcher check once, and waits until it has.
    async fn next(&self) {
        let before = self.sleeps.load(Ordering::SeqCst);
        self.clock.advance(Duration::from_millis(200));
        while self.sleeps.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
    }
}

/// R-FWK-96: the watcher applies a change once two checks have seen the same content, so on the second check after it.
#[tokio::test]
async fn the_watcher_applies_a_change_on_the_second_check() {
    let folder = folder("watched");
    let clock = SleepCountingClock::default();
    let live = live(&folder).clock(clock.clone());
    live.watch().unwrap();
    while clock.sleeps.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    clock.next().await;
    assert_eq!(live.version(), 1);
    let full_text = text("two", "");
    folder.write("live.toml", &full_text[..40]);
    clock.next().await;
    assert!(live.last_error().is_none(), "it may be half written");
    folder.write("live.toml", &full_text);
    clock.next().await;
    assert_eq!(live.version(), 1);
    clock.next().await;
    assert_eq!(live.version(), 2);
    live.wait_for_version(2).await;
    assert_eq!(word(&live, "a").await, "two");
    drop(live);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(clock.clock.sleepers(), 0, "the watcher ends with its graph");
}

/// R-FWK-96: the same with the real clock.
#[tokio::test]
async fn the_watcher_works_by_the_real_clock() {
    let folder = folder("clock");
    let live = live(&folder).poll_interval(Duration::from_millis(5));
    live.watch().unwrap();
    folder.write("live.toml", &text("two", ""));
    tokio::time::timeout(Duration::from_secs(20), live.wait_for_version(2)).await.unwrap();
    assert_eq!(word(&live, "a").await, "two");
}

/// R-FWK-96: an invalid graph is not used, and without a runtime nothing can be watched.
#[test]
fn an_invalid_graph_is_rejected_at_once() {
    let folder = folder("refused");
    assert!(ReloadingGraph::open(folder.0.join("gone.toml"), Components::new()).is_err());
    folder.write(
        "rust.toml",
        &text("x", "").replace("kind = \"set\"\nvalues = { word = \"x\" }", "kind = \"rust\"\nnode = \"x\""),
    );
    let error = ReloadingGraph::open(folder.0.join("rust.toml"), Components::new()).map(drop).unwrap_err();
    assert!(error.to_string().contains("the components have no node `x`"), "{error}");
    assert!(live(&folder).watch().unwrap_err().message().contains("async runtime"));
}
