//! A run at the command line: its tree on stderr, and on stdout what `--stream` asks for.

use serde_json::{Value, json};
use superstep::core::drawing::Drawing;
use superstep_server::{Shown, Told};

use super::tree::Tree;
use crate::args::Stream;
use crate::drive::Watch;
use crate::out::{Format, Out, write_stdout};
use crate::words::{escaped, harmless, summary};

/// What a run shows.
pub(crate) struct RunView {
    tree: Tree,
    stream: Option<Stream>,
    out: Out,
    /// Whether a line of tokens has begun.
    is_open: bool,
}

impl RunView {
    pub(crate) fn new(stream: Option<Stream>, drawing: &Drawing, out: Out) -> Self {
        // Lines for programs are events unless told.
        let stream = stream.or_else(|| (out.format == Format::JsonLines).then_some(Stream::Events));
        let stream = stream.filter(|_| out.format != Format::Json);
        Self { tree: Tree::new(drawing, out), stream, out, is_open: false }
    }

    /// A line on stdout, in the form that is wanted.
    fn line(&mut self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) {
        self.tree.clear();
        match self.out.format {
            Format::Text => self.out.result(escaped(&text())),
            _ => self.out.json(&json()),
        }
    }

    fn update(&mut self, event: &Value) {
        let (node, update) = (&event["name"], &event["data"]["output"]);
        if update["__interrupt__"].is_null() {
            let text = || format!("{}  {}", node.as_str().unwrap_or_default(), summary(update));
            self.line(text, || json!({ "node": node, "update": update }));
        }
    }

    fn token(&mut self, event: &Value) {
        let text = event["data"]["chunk"].as_str().unwrap_or_default();
        if text.is_empty() {
            return;
        }
        if self.out.is_text() {
            self.tree.clear();
            write_stdout(&harmless(text));
            self.is_open = true;
        } else {
            let node = &event["metadata"]["node"];
            self.line(String::new, || json!({ "node": node, "text": text }));
        }
    }

    /// Ends a line of tokens.
    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            write_stdout("\n");
        }
    }
}

impl Watch for RunView {
    fn tell(&mut self, told: &Told) {
        let event = told.event();
        match (self.stream, told.kind()) {
            (Some(Stream::Events), _) => self.line(|| told.text().to_owned(), || event.clone()),
            (Some(Stream::Updates), "on_chain_end") if is_of_node(event) => self.update(event),
            (Some(Stream::Tokens), "on_chat_model_stream") => self.token(event),
            (Some(Stream::Tokens), "on_chat_model_end") => self.close(),
            _ => {}
        }
        if matches!(told.kind(), "on_chain_end" | "on_chain_error") {
            // What is settled begins on a line of its own.
            self.close();
        }
        self.tree.tell(told);
        self.tick();
    }

    fn values(&mut self, state: &Shown) {
        let json = || json!({ "step": state.step, "checkpoint": state.checkpoint_id, "values": state.values });
        self.line(|| state.values.to_string(), json);
    }

    fn wants_values(&self) -> bool {
        self.stream == Some(Stream::Values)
    }

    fn tick(&mut self) {
        // A line of tokens that has begun must not be drawn over.
        if !self.is_open {
            self.tree.draw();
        }
    }

    fn stopping(&mut self) {
        self.close();
        self.tree.clear();
        self.out.note("stopping; once more to leave at once");
    }

    fn pause(&mut self) {
        self.close();
        self.tree.pause();
    }
}

/// Whether an event is of a node of the outermost graph, and not of something in it.
fn is_of_node(event: &Value) -> bool {
    event["metadata"]["path"] == "" && event["metadata"]["node"].is_string() && event["metadata"]["model"].is_null()
}
