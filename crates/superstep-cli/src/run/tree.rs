//! The nodes of a run as a tree on stderr: what runs is drawn over and over, what is done stays.
//!
//! A node inside a graph inside stands below its node, further in; the whole of an outer node settles when it is done.

use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::core::drawing::Drawing;
use superstep_server::Told;

use crate::out::{Out, Tone, toned};
use crate::screen::Screen;
use crate::words::{columns, count, cut, padded, summary, time, width};

/// Most lines that are drawn over and over.
const MOST: usize = 12;

/// Most columns of a name.
const WIDEST: usize = 28;

/// Most columns of what is said about a node in a line that nobody draws over.
const PLAIN: usize = 100;

/// The tree of a run.
pub(crate) struct Tree {
    screen: Screen,
    rows: Vec<Row>,
    /// How wide names are, so far.
    widest: usize,
}

struct Row {
    id: String,
    name: String,
    depth: usize,
    state: State,
    /// What is to be said about it.
    note: String,
    tokens: u64,
    begun: Instant,
    took: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    Done,
    Failed,
    Asks,
}

impl Tree {
    /// For a graph with these nodes.
    pub(crate) fn new(drawing: &Drawing, out: Out) -> Self {
        let names = drawing.nodes.iter().filter(|node| !node.id.starts_with("__")).map(|node| columns(&node.id));
        let widest = names.max().unwrap_or(0).clamp(8, WIDEST);
        Self { screen: Screen::new(out), rows: Vec::new(), widest }
    }

    /// Takes up what a run says.
    pub(crate) fn tell(&mut self, told: &Told) {
        let event = told.event();
        let is_node = event["metadata"]["node"].is_string() && event["metadata"]["model"].is_null();
        match told.kind() {
            "on_chain_start" if is_node => self.begin(event),
            "on_chain_end" if is_node => {
                let output = &event["data"]["output"];
                let state = if output["__interrupt__"].is_null() { State::Done } else { State::Asks };
                let note = if state == State::Asks { "waits for an answer".to_owned() } else { summary(output) };
                self.finish(event, state, note);
            }
            "on_chain_error" if is_node => {
                let note = event["data"]["error"]["message"].as_str().unwrap_or("failed").to_owned();
                self.finish(event, State::Failed, note);
            }
            "on_retry" => {
                let wait = Duration::from_millis(event["data"]["wait_ms"].as_u64().unwrap_or(0));
                let note = format!("attempt {} failed, again in {}", event["data"]["attempt"], time(wait));
                self.note(&event["run_id"], |row| row.note = note);
            }
            "on_chat_model_stream" => {
                let chunk = event["data"]["chunk"].as_str().unwrap_or_default().to_owned();
                self.note(parent(event), |row| row.note.push_str(&chunk));
            }
            "on_chat_model_end" => {
                let tokens = event["data"]["usage"]["total_tokens"].as_u64().unwrap_or(0);
                self.note(parent(event), |row| row.tokens += tokens);
            }
            "on_tool_start" => {
                let tool = event["name"].as_str().unwrap_or_default().to_owned();
                self.note(parent(event), |row| row.note = format!("runs {tool}"));
            }
            _ => {}
        }
    }

    fn begin(&mut self, event: &Value) {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        let path = event["metadata"]["path"].as_str().unwrap_or_default();
        let depth = if path.is_empty() { 0 } else { path.split('|').count() };
        self.widest = self.widest.max(columns(&name) + 2 * depth).min(WIDEST);
        let id = event["run_id"].as_str().unwrap_or_default().to_owned();
        let (note, begun) = (String::new(), Instant::now());
        self.rows.push(Row { id, name, depth, state: State::Runs, note, tokens: 0, begun, took: None });
    }

    fn finish(&mut self, event: &Value, state: State, note: String) {
        self.note(&event["run_id"], |row| {
            (row.state, row.note, row.took) = (state, note, Some(row.begun.elapsed()));
        });
        self.settle(false);
    }

    fn note(&mut self, id: &Value, change: impl FnOnce(&mut Row)) {
        let id = id.as_str().unwrap_or_default();
        if let Some(row) = self.rows.iter_mut().rev().find(|row| row.id == id) {
            change(row);
        }
    }

    /// Lets everything go that is done, with all that is inside of it; or everything there is.
    fn settle(&mut self, all: bool) {
        loop {
            let tops: Vec<usize> = (0..self.rows.len()).filter(|at| self.rows[*at].depth == 0).collect();
            let is_settled = |at: &usize| all || self.rows[*at].state != State::Runs;
            let Some(top) = tops.iter().copied().find(is_settled) else { return };
            let next = tops.iter().copied().find(|at| *at > top).unwrap_or(self.rows.len());
            let settled: Vec<Row> = self.rows.drain(top..next).collect();
            for row in settled {
                let line = self.line(&row);
                self.screen.settle(&line);
            }
        }
    }

    /// Draws what runs, where it is time to.
    pub(crate) fn draw(&mut self) {
        if self.screen.is_due() {
            let lines: Vec<String> = self.rows.iter().map(|row| self.line(row)).collect();
            self.screen.draw(&lines[lines.len().saturating_sub(MOST)..]);
        }
    }

    /// Takes away what is drawn, so that something else can be written.
    pub(crate) fn clear(&mut self) {
        self.screen.clear();
    }

    /// Lets go of everything: the run is over, or somebody is asked.
    pub(crate) fn pause(&mut self) {
        self.settle(true);
        self.screen.clear();
    }

    fn line(&self, row: &Row) -> String {
        let mark = match row.state {
            State::Runs if self.screen.is_live() && row.took.is_none() => self.screen.spinner().to_owned(),
            State::Runs => toned(Tone::Asks, "-"),
            State::Done => toned(Tone::Good, "✓"),
            State::Failed => toned(Tone::Bad, "✗"),
            State::Asks => toned(Tone::Asks, "?"),
        };
        let mut facts = vec![time(row.took.unwrap_or_else(|| row.begun.elapsed()))];
        if row.tokens > 0 {
            facts.push(count(row.tokens, "token"));
        }
        let facts = facts.join(" · ");
        let name = padded(&format!("{}{}", "  ".repeat(row.depth), cut(&row.name, WIDEST)), self.widest);
        // Mark, blanks between, and a column that stays free so that no terminal breaks the line.
        let free = width().saturating_sub(columns(&name) + columns(&facts) + 8).max(8);
        let room = if self.screen.is_live() { free } else { PLAIN };
        let note = match row.state {
            State::Runs => tail(&row.note, room),
            _ => cut(&row.note, room),
        };
        let note = if self.screen.is_live() { padded(&note, room) } else { note };
        let gap = if note.is_empty() { "" } else { "  " };
        format!(" {mark} {name}{gap}{note}  {}", toned(Tone::Faint, &facts))
    }
}

/// What an event of a call happened in.
fn parent(event: &Value) -> &Value {
    event["parent_ids"].as_array().and_then(|parents| parents.last()).unwrap_or(&Value::Null)
}

/// The end of what was said so far.
fn tail(text: &str, most: usize) -> String {
    let text: Vec<char> = text.chars().collect();
    let text: String = text[text.len().saturating_sub(most)..].iter().collect();
    cut(&text, most)
}
