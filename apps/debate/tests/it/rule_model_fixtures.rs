//! Fixtures for tests of the rule model: a folder with files, and a debate without a graph.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep::Message;
use superstep::models::{ChatRequest, SharedModel};
use superstep_debate::evidence::Evidence;
use superstep_debate::prompt::{DebateAgent, TurnPrompt};

/// Creates an empty folder of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Creates evidence from files with these texts.
pub(crate) fn evidence(name: &str, files: &[(&str, &str)]) -> Evidence {
    let folder = folder(name);
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    Evidence::open(&folder).unwrap()
}

/// Opens the sample evidence of the application.
pub(crate) fn sample() -> Arc<Evidence> {
    Arc::new(Evidence::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/evidence"))).unwrap())
}

pub(crate) fn turn_prompt(role: DebateAgent, round: u32, rounds: u32, topic: &str) -> TurnPrompt {
    TurnPrompt { role, round, max_rounds: rounds, topic: topic.to_owned(), notes: Vec::new() }
}

/// Returns the response of a model to a turn prompt after these messages.
pub(crate) async fn respond(model: &SharedModel, messages: &[Message], prompt: &TurnPrompt) -> String {
    let request = ChatRequest::new(messages.iter().cloned().chain([prompt.message()]));
    model.complete(request).await.unwrap().message.text().into_owned()
}

/// Runs the turns of a debate as the graph would: each turn with its agent, the summary last.
pub(crate) async fn debate(
    model: &SharedModel,
    topic: &str,
    rounds: u32,
    notes: &[&str],
) -> Vec<(DebateAgent, String)> {
    let mut messages = vec![Message::user(format!("Debate topic: {topic}"))];
    let mut turns = Vec::new();
    let agent_turns = (1..=rounds).flat_map(|round| [(DebateAgent::Optimist, round), (DebateAgent::Skeptic, round)]);
    for (role, round) in agent_turns.chain([(DebateAgent::Moderator, rounds)]) {
        let mut prompt = turn_prompt(role, round, rounds, topic);
        if role == DebateAgent::Moderator {
            prompt.notes = notes.iter().map(|note| (*note).to_owned()).collect();
        }
        let text = respond(model, &messages, &prompt).await;
        messages.push(Message::assistant(text.clone()).with_name(role.name()));
        turns.push((role, text));
    }
    turns
}
