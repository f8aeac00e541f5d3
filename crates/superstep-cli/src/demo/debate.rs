//! `superstep demo debate`: two voices at the terminal, words as they come.
//!
//! Reads the events of version 2 of the graph `debate`: its nodes `optimist`, `skeptic`, `moderator` speak, `fact_check`
//! checks, questions to a person become a form. What a voice says is drawn while it speaks and stays when it is done.

use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;
use superstep::Code;
use superstep::core::suggest::known_names;
use superstep::core::time::Time;
use superstep::model::{ModelInfo, ModelKind};
use superstep_debate::{Debate, FactCheck, Options};
use superstep_server::{Desk, Order, RunStatus, Told, WEIGHTS, What};

use crate::args::{Approval, DemoDebate, Global};
use crate::drive::{Done, Watch};
use crate::failure::Failure;
use crate::graphs;
use crate::log;
use crate::models::{is_remote, made, no_weights, usual_weights};
use crate::out::{Format, Out, Tone, toned};
use crate::run::{attend, closing, end, new_thread};
use crate::screen::Screen;
use crate::setup::Setup;
use crate::words::{columns, cut, padded, time, width, wrap};

/// The graph, by name.
const GRAPH: &str = "debate";

/// Who opens a round.
const OPENS: &str = "optimist";

/// Who speaks.
const VOICES: [&str; 3] = [OPENS, "skeptic", "moderator"];

/// How wide the names of voices are.
const NAMES: usize = 11;

/// Runs a debate.
pub(crate) async fn debate(asked: &DemoDebate, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let setup = Setup::load(global)?;
    // Says everything that is wrong before anything is made.
    let input = Debate::open_json(&asked.topic, asked.rounds, Some(now()?))?;
    let (model, label) = voice(&setup, &asked.model)?;
    let graph = graphs::find(&setup, GRAPH)?;
    let desk = Desk::open([graph], setup.open(out).await?)?;
    let thread = new_thread(&desk, GRAPH).await?;
    let heading = format!("{} · {label} · thread {thread}", toned(Tone::Strong, GRAPH));
    let options = options(asked, model, out).to_json();
    let order = Order::new(GRAPH, thread, What::Start(input)).options(options).title(asked.topic.trim());
    let mut view = DebateView::new(heading, asked.rounds, *out);
    let done = attend(&desk, order, &mut view, out).await?;
    finish(done, out)
}

fn now() -> Result<Time, Failure> {
    let now = Time::from_unix_micros(Timestamp::now().as_microsecond());
    Ok(now.map_err(|fault| superstep::Error::internal(fault.message))?)
}

/// What the application wants to know when it opens the hall.
fn options(asked: &DemoDebate, model: String, out: &Out) -> Options {
    Options {
        approval: approval(asked.approval),
        fact_check: FactCheck::Off,
        model: Some(model),
        seed: asked.seed.unwrap_or_else(|| Timestamp::now().as_microsecond().unsigned_abs()),
        max_rounds: asked.rounds,
        is_paced: out.is_live(),
    }
}

fn finish(done: Done, out: &Out) -> Result<u8, Failure> {
    match out.format {
        Format::Text => {
            if done.status == RunStatus::Finished {
                out.result("");
            }
            closing(done, out)
        }
        _ => end(done, None, out),
    }
}

fn approval(asked: Approval) -> superstep_debate::Approval {
    match asked {
        Approval::Off => superstep_debate::Approval::Off,
        Approval::BeforeSummary => superstep_debate::Approval::BeforeSummary,
        Approval::EachRound => superstep_debate::Approval::EachRound,
    }
}

/// The name of the model as the application knows it, and what kind of thing speaks.
fn voice(setup: &Setup, name: &str) -> Result<(String, String), Failure> {
    match name {
        "local" | "rules" | "local/rules" => {
            return Ok(("local/rules".to_owned(), "rule-based voices, no language model".to_owned()));
        }
        "weights" | WEIGHTS if !setup.settings.models.contains_key(name) => {
            let model = usual_weights(setup).unwrap_or_else(|| Err(no_weights(WEIGHTS)))?;
            return Ok((WEIGHTS.to_owned(), spoken(name, &model.info())));
        }
        _ => {}
    }
    if !setup.settings.models.contains_key(name)
        && let Some((service, model)) = name.split_once('/')
    {
        refuse_offline(setup, name, true)?;
        return Ok((name.to_owned(), format!("{model}, a language model of {service}")));
    }
    let Some(set) = setup.settings.models.get(name) else {
        let known: Vec<&str> =
            ["rules", "weights"].into_iter().chain(setup.settings.models.keys().map(String::as_str)).collect();
        return Err(Failure::new(Code::ConfigInvalid, format!("no model `{name}`")).help(known_names(name, &known)));
    };
    refuse_offline(setup, name, is_remote(set))?;
    Ok((name.to_owned(), spoken(name, &made(setup, name, set)?.info())))
}

/// Who speaks, for people; weights by the name that is in their file.
fn spoken(name: &str, info: &ModelInfo) -> String {
    let label = superstep_debate::transcript::label(info.kind);
    match info.kind {
        ModelKind::Weights => format!("{info}, {label}"),
        _ => format!("{name}, {label}"),
    }
}

fn refuse_offline(setup: &Setup, name: &str, is_remote: bool) -> Result<(), Failure> {
    if !setup.is_offline || !is_remote {
        return Ok(());
    }
    let message = format!("model `{name}` is asked over the network, and `--offline` forbids it");
    Err(Failure::new(Code::PolicyRefused, message).help("superstep demo debate --model rules"))
}

/// A debate on a terminal, or as plain lines.
struct DebateView {
    screen: Screen,
    out: Out,
    /// Told once the debate has begun.
    heading: Option<String>,
    rounds: u32,
    round: u32,
    turn: u32,
    /// Who speaks now, and what was heard.
    speaks: Option<(String, String)>,
    begun: Instant,
}

impl DebateView {
    fn new(heading: String, rounds: u32, out: Out) -> Self {
        let (screen, heading, begun) = (Screen::new(out), Some(heading), Instant::now());
        Self { screen, out, heading, rounds, round: 0, turn: 0, speaks: None, begun }
    }

    fn line(&mut self, text: &str) {
        self.screen.clear();
        if self.out.is_text() {
            self.out.result(text);
        }
    }

    fn start(&mut self, voice: &str) {
        self.turn += 1;
        if voice == OPENS {
            self.round += 1;
            let title = format!("\nround {} of {}", self.round, self.rounds);
            self.line(&title);
        } else if voice == "moderator" {
            self.line("\nsummary");
        }
        self.speaks = Some((voice.to_owned(), String::new()));
    }

    /// What a voice said, whole.
    fn settle(&mut self, output: &Value) {
        let Some((voice, heard)) = self.speaks.take() else { return };
        let said = said(output).unwrap_or(heard);
        for line in block(&voice, &said) {
            self.line(&line);
        }
    }

    fn facts(&mut self, output: &Value) {
        for result in output["factCheckResults"].as_array().into_iter().flatten() {
            let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
            let fact = cut(&format!("{}: {}", text("verdict"), text("claim")), width().saturating_sub(NAMES + 3));
            self.line(&format!("  {}{fact}", padded("checked", NAMES)));
        }
    }

    fn draw(&mut self) {
        let Some((voice, heard)) = self.speaks.as_ref().filter(|_| self.screen.is_due() && self.out.is_text()) else {
            return;
        };
        let mut lines = block(voice, heard);
        let facts = format!("{}/{} · {} · ^C stop", self.turn, self.rounds * 2 + 1, time(self.begun.elapsed()));
        let room = width().saturating_sub(columns(&facts) + 4);
        lines.push(format!("{} {}{}", self.screen.spinner(), " ".repeat(room), toned(Tone::Faint, &facts)));
        // Only what fits: the first lines of a long speech come back when it is done.
        self.screen.draw(&lines[lines.len().saturating_sub(10)..]);
    }
}

impl Watch for DebateView {
    fn tell(&mut self, told: &Told) {
        if let Some(heading) = self.heading.take() {
            self.line(&heading);
        }
        let event = told.event();
        let node = event["metadata"]["node"].as_str().unwrap_or_default();
        let is_node = event["name"] == node && event["metadata"]["path"] == "" && event["metadata"]["model"].is_null();
        match told.kind() {
            "on_chain_start" if is_node && VOICES.contains(&node) => self.start(node),
            "on_chat_model_stream" => {
                let chunk = event["data"]["chunk"].as_str().unwrap_or_default();
                if let Some((_, heard)) = self.speaks.as_mut().filter(|(voice, _)| voice == node) {
                    heard.push_str(chunk);
                }
            }
            // The turn begins again: what was heard of it does not count.
            "on_retry" => self.speaks.iter_mut().for_each(|(_, heard)| heard.clear()),
            "on_chain_end" if is_node && VOICES.contains(&node) => self.settle(&event["data"]["output"]),
            "on_chain_end" if is_node && node == "fact_check" => self.facts(&event["data"]["output"]),
            _ => {}
        }
        if self.out.format == Format::JsonLines {
            self.out.json(event);
        }
        self.draw();
    }

    fn tick(&mut self) {
        self.draw();
    }

    fn stopping(&mut self) {
        self.screen.clear();
        self.out.note("stopping; once more to leave at once");
    }

    fn pause(&mut self) {
        self.screen.clear();
    }
}

/// The text of the last message that a node wrote.
fn said(output: &Value) -> Option<String> {
    let message = match &output["messages"] {
        Value::Array(messages) => messages.last()?,
        message => message,
    };
    let text = message["content"].as_str().or_else(|| message.as_str())?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// A name, and what is said in as many lines as it takes.
fn block(voice: &str, said: &str) -> Vec<String> {
    let lines = wrap(said, width().saturating_sub(NAMES + 3).clamp(20, 96));
    let name = |at: usize| if at == 0 { voice } else { "" };
    lines.iter().enumerate().map(|(at, line)| format!("  {}{line}", padded(name(at), NAMES))).collect()
}
