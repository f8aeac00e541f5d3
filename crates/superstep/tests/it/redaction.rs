//! Secrets and personal data: found nowhere after a run, though tools, nodes, people and models speak of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use superstep::core::message::ToolCall;
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request, SharedModel};
use superstep::prelude::*;
use superstep::sqlite::Sqlite;
use superstep::{Compiled, Error, EventsQuery, Outcome, Run, StreamMode};

use crate::support::stored;

mod graphs;
mod models;
mod tools;

/// What a leaky tool gives: one secret of each kind that matters.
const SECRETS: &str = "mail ada.lovelace@example.com, card 4111 1111 1111 1111, key sk-ant-api03-AbCdEfGh0123456789, \
    token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl,\n\
    -----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq8\n-----END PRIVATE KEY-----";

/// What must be found nowhere.
const NEEDLES: [&str; 5] =
    ["ada.lovelace@", "4111 1111 1111", "sk-ant-api03", "eyJzdWIiOiIxMjM0In0", "MIIEpAIBAAKCAQEA7bq8"];

const MODES: [StreamMode; 9] = [
    StreamMode::Values,
    StreamMode::Updates,
    StreamMode::Messages,
    StreamMode::Custom,
    StreamMode::Tasks,
    StreamMode::Checkpoints,
    StreamMode::Debug,
    StreamMode::Tools,
    StreamMode::Events,
];

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    topic: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// A message that asks for these tools.
fn asks(tools: &[&str]) -> ChatUpdate {
    let calls = tools.iter().zip(0..).map(|(tool, place)| ToolCall::new(format!("c{place}"), *tool, json!({})));
    Chat::input().messages(Message::assistant("").with_id("asks").with_tool_calls(calls))
}

/// Says given words, in pieces of four bytes.
#[derive(Clone)]
struct Speaker(&'static str);

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Rules)
    }

    async fn answer(&self, _request: &Request, out: &mut Pieces<'_>) -> superstep::Result<Answer> {
        for piece in self.0.as_bytes().chunks(4) {
            out.text(std::str::from_utf8(piece).unwrap()).await;
        }
        Ok(Answer::new(Message::assistant(self.0), self.info()))
    }
}

/// A store in a file of its own, without compression, and everything that was ever seen of its thread.
struct Disk {
    folder: PathBuf,
    store: Sqlite,
    seen: String,
}

impl Disk {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-redaction-{}-{number}", std::process::id()));
        // The number of a process comes again, and one that died left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let store = Sqlite::options().compression(false).open(folder.join("threads.db")).unwrap();
        Self { folder, store, seen: String::new() }
    }

    /// Runs to the end, and sees every part of every mode, the result, the kept events, the history, the bytes on disk.
    async fn watch<C: std::marker::Send + Sync + 'static>(
        &mut self,
        graph: &Compiled<Chat, C>,
        run: Run<Chat, C>,
    ) -> Result<Outcome<Chat>, Error> {
        let mut stream = run.keep_events().stream_mode(MODES);
        while let Some(part) = stream.next().await {
            self.see(&serde_json::to_string(&part).unwrap());
        }
        let done = stream.finish().await;
        match &done {
            Ok(outcome) => self.see(&format!("{:?}", outcome.state)),
            Err(error) => self.see(&format!("{error} {error:?} {}", causes(error))),
        }
        for kept in graph.threads().events("t", &EventsQuery::default()).await.unwrap() {
            self.see(&kept.event.to_string());
        }
        self.look().await;
        done
    }

    /// Sees the decoded history and the bytes on disk.
    async fn look(&mut self) {
        let history = stored(&self.store, "t").await;
        self.see(&history);
        for file in std::fs::read_dir(&self.folder).unwrap() {
            self.see_file(&file.unwrap().path());
        }
    }

    fn see_file(&mut self, path: &Path) {
        let bytes = std::fs::read(path).unwrap();
        self.see(&String::from_utf8_lossy(&bytes));
    }

    fn see(&mut self, text: &str) {
        // As it is, and as it is when it was written as JSON inside of JSON.
        self.seen.push_str(text);
        self.seen.push('\n');
    }

    /// The secrets that were seen.
    fn leaks(&self) -> Vec<&'static str> {
        NEEDLES.into_iter().filter(|needle| self.seen.contains(needle)).collect()
    }

    fn assert_clean(&self) {
        assert_eq!(self.leaks(), Vec::<&str>::new());
        assert!(self.seen.contains("[REDACTED:mail]"), "the secrets were never there");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn causes(error: &Error) -> String {
    let first: Option<&dyn std::error::Error> = std::error::Error::source(error);
    std::iter::successors(first, |cause| cause.source()).map(|cause| format!("{cause} {cause:?}")).collect()
}
