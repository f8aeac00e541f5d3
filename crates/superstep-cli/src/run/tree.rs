//! The nodes of a run as a tree on stderr: running nodes are redrawn, finished ones are printed permanently.
//!
//! A node of a subgraph is indented below the node of the subgraph; a subgraph is printed as a whole when it has
//! finished.

use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::core::diagram::Diagram;
use superstep_server::PublishedEvent;

use crate::live_region::LiveRegion;
use crate::output::{Output, TextStyle, styled};
use crate::text::{columns, format_duration, padded, pluralize, summary, tail, truncate, width};

/// Maximum number of redrawn lines.
const MAX_ROWS: usize = 12;

/// Maximum number of columns of a name.
const MAX_NAME_COLUMNS: usize = 28;

/// Maximum number of columns of a preview in permanent output.
const MAX_PREVIEW_COLUMNS: usize = 100;

/// Node tree of a run.
pub(crate) struct NodeTree {
    screen: LiveRegion,
    rows: Vec<NodeRow>,
    /// Width of the name column so far.
    widest: usize,
}

struct NodeRow {
    id: String,
    name: String,
    depth: usize,
    status: NodeStatus,
    /// Text printed behind the name.
    preview: String,
    tokens: u64,
    started: Instant,
    duration: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeStatus {
    Running,
    Finished,
    Failed,
    Interrupted,
}

impl NodeTree {
    /// Creates the tree for a graph with these nodes.
    pub(crate) fn new(diagram: &Diagram, out: Output) -> Self {
        let names = diagram.nodes.iter().filter(|node| !node.id.starts_with("__")).map(|node| columns(&node.id));
        let widest = names.max().unwrap_or(0).clamp(8, MAX_NAME_COLUMNS);
        Self { screen: LiveRegion::new(out), rows: Vec::new(), widest }
    }

    /// Updates the tree with an event.
    pub(crate) fn on_event(&mut self, published: &PublishedEvent) {
        let event = published.event();
        let is_node = event["metadata"]["node"].is_string() && event["metadata"]["model"].is_null();
        match published.event_type() {
            "on_chain_start" if is_node => self.start(event),
            "on_chain_end" if is_node => {
                let output = &event["data"]["output"];
                let status =
                    if output["__interrupt__"].is_null() { NodeStatus::Finished } else { NodeStatus::Interrupted };
                let preview = match status {
                    NodeStatus::Interrupted => "interrupted, waiting for input".to_owned(),
                    _ => summary(output),
                };
                self.finish(event, status, preview);
            }
            "on_chain_error" if is_node => {
                let preview = event["data"]["error"]["message"].as_str().unwrap_or("failed").to_owned();
                self.finish(event, NodeStatus::Failed, preview);
            }
            "on_retry" => {
                let wait = Duration::from_millis(event["data"]["wait_ms"].as_u64().unwrap_or(0));
                let preview =
                    format!("attempt {} failed, retrying in {}", event["data"]["attempt"], format_duration(wait));
                self.update_row(&event["run_id"], |row| row.preview = preview);
            }
            "on_chat_model_stream" => {
                let chunk = event["data"]["chunk"].as_str().unwrap_or_default().to_owned();
                self.update_row(parent(event), |row| row.preview.push_str(&chunk));
            }
            "on_chat_model_end" => {
                let tokens = event["data"]["usage"]["total_tokens"].as_u64().unwrap_or(0);
                self.update_row(parent(event), |row| row.tokens += tokens);
            }
            "on_tool_start" => {
                let tool = event["name"].as_str().unwrap_or_default().to_owned();
                self.update_row(parent(event), |row| row.preview = format!("running {tool}"));
            }
            _ => {}
        }
    }

    fn start(&mut self, event: &Value) {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        let path = event["metadata"]["path"].as_str().unwrap_or_default();
        let depth = if path.is_empty() { 0 } else { path.split('|').count() };
        self.widest = self.widest.max(columns(&name) + 2 * depth).min(MAX_NAME_COLUMNS);
        let id = event["run_id"].as_str().unwrap_or_default().to_owned();
        let (preview, started) = (String::new(), Instant::now());
        self.rows.push(NodeRow {
            id,
            name,
            depth,
            status: NodeStatus::Running,
            preview,
            tokens: 0,
            started,
            duration: None,
        });
    }

    fn finish(&mut self, event: &Value, status: NodeStatus, preview: String) {
        self.update_row(&event["run_id"], |row| {
            (row.status, row.preview, row.duration) = (status, preview, Some(row.started.elapsed()));
        });
        self.flush_finished(false);
    }

    fn update_row(&mut self, id: &Value, change: impl FnOnce(&mut NodeRow)) {
        let id = id.as_str().unwrap_or_default();
        if let Some(row) = self.rows.iter_mut().rev().find(|row| row.id == id) {
            change(row);
        }
    }

    /// Prints finished root nodes with their subgraphs permanently; all nodes if `all` is set.
    fn flush_finished(&mut self, all: bool) {
        loop {
            let roots: Vec<usize> = (0..self.rows.len()).filter(|index| self.rows[*index].depth == 0).collect();
            let is_finished = |index: &usize| all || self.rows[*index].status != NodeStatus::Running;
            let Some(root) = roots.iter().copied().find(is_finished) else { return };
            let next = roots.iter().copied().find(|index| *index > root).unwrap_or(self.rows.len());
            let finished: Vec<NodeRow> = self.rows.drain(root..next).collect();
            for row in finished {
                let line = self.format_row(&row);
                self.screen.print_permanent(&line);
            }
        }
    }

    /// Redraws the running nodes if it is time to.
    pub(crate) fn redraw(&mut self) {
        if self.screen.is_due() {
            let lines: Vec<String> = self.rows.iter().map(|row| self.format_row(row)).collect();
            self.screen.redraw(&lines[lines.len().saturating_sub(MAX_ROWS)..]);
        }
    }

    /// Clears the live lines, so that other output can follow.
    pub(crate) fn clear(&mut self) {
        self.screen.clear();
    }

    /// Prints all nodes and clears the live lines: the run has ended, or the user is prompted.
    pub(crate) fn flush(&mut self) {
        self.flush_finished(true);
        self.screen.clear();
    }

    fn format_row(&self, row: &NodeRow) -> String {
        let mark = match row.status {
            NodeStatus::Running if self.screen.is_live() && row.duration.is_none() => self.screen.spinner().to_owned(),
            NodeStatus::Running => styled(TextStyle::Prompt, "-"),
            NodeStatus::Finished => styled(TextStyle::Good, "✓"),
            NodeStatus::Failed => styled(TextStyle::Bad, "✗"),
            NodeStatus::Interrupted => styled(TextStyle::Prompt, "?"),
        };
        let mut details = vec![format_duration(row.duration.unwrap_or_else(|| row.started.elapsed()))];
        if row.tokens > 0 {
            details.push(pluralize(row.tokens, "token"));
        }
        let details = details.join(" · ");
        let name = padded(&format!("{}{}", "  ".repeat(row.depth), truncate(&row.name, MAX_NAME_COLUMNS)), self.widest);
        // Status mark, gaps, and a free column so that no terminal wraps the line.
        let available = width().saturating_sub(columns(&name) + columns(&details) + 8).max(8);
        let preview_width = if self.screen.is_live() { available } else { MAX_PREVIEW_COLUMNS };
        let preview = match row.status {
            NodeStatus::Running => tail(&row.preview, preview_width),
            _ => truncate(&row.preview, preview_width),
        };
        let preview = if self.screen.is_live() { padded(&preview, preview_width) } else { preview };
        let gap = if preview.is_empty() { "" } else { "  " };
        format!(" {mark} {name}{gap}{preview}  {}", styled(TextStyle::Faint, &details))
    }
}

/// Returns the id of the run in which an event occurred.
fn parent(event: &Value) -> &Value {
    event["parent_ids"].as_array().and_then(|parents| parents.last()).unwrap_or(&Value::Null)
}
