//! What tests of the voices share: a folder with files, and a debate without a graph.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep::Message;
use superstep::model::{Request, SharedModel};
use superstep_debate::evidence::Evidence;
use superstep_debate::prompt::{Cue, Role};

/// An empty folder of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Evidence out of files with these texts.
pub(crate) fn evidence(name: &str, files: &[(&str, &str)]) -> Evidence {
    let folder = folder(name);
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    Evidence::open(&folder).unwrap()
}

/// The documents that come with the application.
pub(crate) fn sample() -> Arc<Evidence> {
    Arc::new(Evidence::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/evidence"))).unwrap())
}

pub(crate) fn cue(role: Role, round: u32, rounds: u32, topic: &str) -> Cue {
    Cue { role, round, rounds, topic: topic.to_owned(), notes: Vec::new() }
}

/// What a model says to a cue after these messages.
pub(crate) async fn ask(model: &SharedModel, said: &[Message], cue: &Cue) -> String {
    let request = Request::new(said.iter().cloned().chain([cue.message()]));
    model.complete(request).await.unwrap().message.text().into_owned()
}

/// A debate as the graph holds it: each turn with who spoke, the summary last.
pub(crate) async fn debate(model: &SharedModel, topic: &str, rounds: u32, notes: &[&str]) -> Vec<(Role, String)> {
    let mut said = vec![Message::user(format!("Debate topic: {topic}"))];
    let mut turns = Vec::new();
    let order = (1..=rounds).flat_map(|round| [(Role::Optimist, round), (Role::Skeptic, round)]);
    for (role, round) in order.chain([(Role::Moderator, rounds)]) {
        let mut cue = cue(role, round, rounds, topic);
        if role == Role::Moderator {
            cue.notes = notes.iter().map(|note| (*note).to_owned()).collect();
        }
        let text = ask(model, &said, &cue).await;
        said.push(Message::assistant(text.clone()).with_name(role.name()));
        turns.push((role, text));
    }
    turns
}
