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
    has_open_line: bool,
}

impl RunView {
    pub(crate) fn new(stream: Option<StreamModeArg>, diagram: &Diagram, out: Output) -> Self {
        // Default of JSON Lines: events.
        let stream = stream.or_else(|| (out.format == OutputFormat::JsonLines).then_some(StreamModeArg::Events));
        let stream = stream.filter(|_| out.format != OutputFormat::Json);
        Self { tree: NodeTree::new(diagram, out), stream, out, has_open_line: false }
    }

    /// Prints a line to stdout in the selected format.
    fn print_line(&mut self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) {
        self.tree.clear();
        match self.out.format {
            OutputFormat::Text => self.out.print_result(escaped(&text())),
            _ => self.out.json(&json()),
        }
    }

    fn print_update(&mut self, event: &Value) {
        let (node, update) = (&event["name"], &event["data"]["output"]);
        if update["__interrupt__"].is_null() {
            let text = || format!("{}  {}", node.as_str().unwrap_or_default(), summary(update));
            self.print_line(text, || json!({ "node": node, "update": update }));
        }
    }

    fn print_token(&mut self, event: &Value) {
        let text = event["data"]["chunk"].as_str().unwrap_or_default();
        if text.is_empty() {
            return;
        }
        if self.out.is_text() {
            self.tree.clear();
            write_stdout(&strip_control_characters(text));
            self.has_open_line = true;
        } else {
            let node = &event["metadata"]["node"];
            self.print_line(String::new, || json!({ "node": node, "text": text }));
        }
    }

    /// Ends a line of tokens.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.has_open_line) {
            write_stdout("\n");
        }
    }
}

impl RunDisplay for RunView {
    fn on_event(&mut self, published: &PublishedEvent) {
        let event = published.event();
        match (self.stream, published.event_type()) {
            (Some(StreamModeArg::Events), _) => self.print_line(|| published.text().to_owned(), || event.clone()),
            (Some(StreamModeArg::Updates), "on_chain_end") if is_root_node_event(event) => self.print_update(event),
            (Some(StreamModeArg::Tokens), "on_chat_model_stream") => self.print_token(event),
            (Some(StreamModeArg::Tokens), "on_chat_model_end") => self.end_line(),
            _ => {}
        }
        if matches!(published.event_type(), "on_chain_end" | "on_chain_error") {
            // Permanent lines start on a line of their own.
            self.end_line();
        }
        self.tree.on_event(published);
        self.tick();
    }

    fn on_values(&mut self, state: &ThreadState) {
        let json = || json!({ "step": state.step, "checkpoint": state.checkpoint_id, "values": state.values });
        self.print_line(|| state.values.to_string(), json);
    }

    fn wants_values(&self) -> bool {
        self.stream == Some(StreamModeArg::Values)
    }

    fn tick(&mut self) {
        // A line of tokens must not be overwritten.
        if !self.has_open_line {
            self.tree.redraw();
        }
    }

    fn on_stop_requested(&mut self) {
        self.end_line();
        self.tree.clear();
        self.out.print_note("stopping; press Ctrl-C again to exit immediately");
    }

    fn clear(&mut self) {
        self.end_line();
        self.tree.flush();
    }
}

/// Returns true if an event is about a node of the root graph itself, not about a subgraph or a model call of the node.
fn is_root_node_event(event: &Value) -> bool {
    event["metadata"]["path"] == "" && event["metadata"]["node"].is_string() && event["metadata"]["model"].is_null()
}
