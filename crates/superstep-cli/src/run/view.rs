//! Display of a run: the node tree on stderr, and on stdout the stream that `--stream` selects.

use serde_json::{Value, json};
use superstep::core::diagram::Diagram;
use superstep_server::{PublishedEvent, ThreadState};

use super::tree::NodeTree;
use crate::args::StreamModeArg;
use crate::output::{Output, OutputFormat, write_stdout};
use crate::run_driver::RunDisplay;
use crate::text::{escaped, strip_control_characters, summary};

/// Display of a run.
pub(crate) struct RunView {
    tree: NodeTree,
    stream: Option<StreamModeArg>,
    out: Output,
    /// True if a line of tokens has started.
    is_open: bool,
}

impl RunView {
    pub(crate) fn new(stream: Option<StreamModeArg>, diagram: &Diagram, out: Output) -> Self {
        // Default of JSON Lines: events.
        let stream = stream.or_else(|| (out.format == OutputFormat::JsonLines).then_some(StreamModeArg::Events));
        let stream = stream.filter(|_| out.format != OutputFormat::Json);
        Self { tree: NodeTree::new(diagram, out), stream, out, is_open: false }
    }

    /// Prints a line to stdout in the selected format.
    fn line(&mut self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) {
        self.tree.clear();
        match self.out.format {
            OutputFormat::Text => self.out.print_result(escaped(&text())),
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
            write_stdout(&strip_control_characters(text));
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

impl RunDisplay for RunView {
    fn on_event(&mut self, published: &PublishedEvent) {
        let event = published.event();
        match (self.stream, published.event_type()) {
            (Some(StreamModeArg::Events), _) => self.line(|| published.text().to_owned(), || event.clone()),
            (Some(StreamModeArg::Updates), "on_chain_end") if is_of_node(event) => self.update(event),
            (Some(StreamModeArg::Tokens), "on_chat_model_stream") => self.token(event),
            (Some(StreamModeArg::Tokens), "on_chat_model_end") => self.close(),
            _ => {}
        }
        if matches!(published.event_type(), "on_chain_end" | "on_chain_error") {
            // Permanent lines start on a line of their own.
            self.close();
        }
        self.tree.on_event(published);
        self.tick();
    }

    fn on_values(&mut self, state: &ThreadState) {
        let json = || json!({ "step": state.step, "checkpoint": state.checkpoint_id, "values": state.values });
        self.line(|| state.values.to_string(), json);
    }

    fn wants_values(&self) -> bool {
        self.stream == Some(StreamModeArg::Values)
    }

    fn tick(&mut self) {
        // A line of tokens must not be overwritten.
        if !self.is_open {
            self.tree.redraw();
        }
    }

    fn on_stop_requested(&mut self) {
        self.close();
        self.tree.clear();
        self.out.print_note("stopping; press Ctrl-C again to exit immediately");
    }

    fn clear(&mut self) {
        self.close();
        self.tree.pause();
    }
}

/// Returns true if an event belongs to a node of the root graph, and not to something inside the node.
fn is_of_node(event: &Value) -> bool {
    event["metadata"]["path"] == "" && event["metadata"]["node"].is_string() && event["metadata"]["model"].is_null()
}
