//! Secrets and personal data: stored and streamed nowhere, although tools, nodes, users and models produce them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use superstep::core::message::ToolCall;
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, SharedModel};
use superstep::prelude::*;
use superstep::sqlite::SqliteCheckpointer;
use superstep::{CompiledGraph, Error, EventsQuery, Outcome, RunBuilder, StreamMode};

use crate::support::stored;

mod graphs;
mod models;
mod tools;

/// Output of a leaky tool: one secret of each kind.
const SECRETS: &str = "mail ada.lovelace@example.com, card 4111 1111 1111 1111, key sk-ant-api03-AbCdEfGh0123456789, \
    token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl,\n\
    -----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq8\n-----END PRIVATE KEY-----";

/// Texts that must not be found anywhere.
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

#[derive(GraphState, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    topic: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// Creates a message that calls these tools.
fn tool_call_input(tools: &[&str]) -> ChatUpdate {
    let calls = tools.iter().zip(0..).map(|(tool, index)| ToolCall::new(format!("c{index}"), *tool, json!({})));
    Chat::input().messages(Message::assistant("").with_id("asks").with_tool_calls(calls))
}

/// A model that sends a fixed text, in chunks of four bytes.
#[derive(Clone)]
struct Speaker(&'static str);

impl Model for Speaker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "speaker", ModelKind::Rules)
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> superstep::Result<ChatResponse> {
        for chunk in self.0.as_bytes().chunks(4) {
            out.text(std::str::from_utf8(chunk).unwrap()).await;
        }
        Ok(ChatResponse::new(Message::assistant(self.0), self.info()))
    }
}

/// A checkpointer in a separate file, without compression, and all data that was seen of its thread.
struct Disk {
    folder: PathBuf,
    store: SqliteCheckpointer,
    seen: String,
}

impl Disk {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("superstep-redaction-{}-{number}", std::process::id()));
        // Process ids repeat, and a process that died may have left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let store = SqliteCheckpointer::options().compression(false).open(folder.join("threads.db")).unwrap();
        Self { folder, store, seen: String::new() }
    }

    /// Runs to the end, and collects every part of every mode, the outcome, the journaled events, the history, and
    /// the bytes on disk.
    async fn watch<C: std::marker::Send + Sync + 'static>(
        &mut self,
        graph: &CompiledGraph<Chat, C>,
        run: RunBuilder<Chat, C>,
    ) -> Result<Outcome<Chat>, Error> {
        let mut stream = run.journal_events().stream_mode(MODES);
        while let Some(part) = stream.next().await {
            self.see(&serde_json::to_string(&part).unwrap());
        }
        let done = stream.finish().await;
        match &done {
            Ok(outcome) => self.see(&format!("{:?}", outcome.state)),
            Err(error) => self.see(&format!("{error} {error:?} {}", causes(error))),
        }
        for event in graph.threads().events("t", &EventsQuery::default()).await.unwrap() {
            self.see(&event.event.to_string());
        }
        self.scan().await;
        done
    }

    /// Collects the decoded history and the bytes on disk.
    async fn scan(&mut self) {
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
        // As plain text, and as JSON inside of JSON.
        self.seen.push_str(text);
        self.seen.push('\n');
    }

    /// Returns the secrets that were found.
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
