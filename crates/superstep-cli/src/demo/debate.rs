//! `superstep demo debate`: two agents debate at the terminal, with streamed text.
//!
//! Reads the events of version 2 of the graph `debate`: the nodes `optimist`, `skeptic` and `moderator` write
//! messages, `fact_check` checks them, interrupts become a form. A message is redrawn while it streams, and printed
//! permanently when it is complete.

use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;
use superstep::ErrorCode;
use superstep::core::suggest::did_you_mean_or_list;
use superstep::core::time::Time;
use superstep::models::{ModelInfo, ModelKind};
use superstep_debate::{DebateOptions, DebateState, FactCheckMode};
use superstep_server::{LOCAL_WEIGHTS_PROVIDER, PublishedEvent, RunInput, RunRequest, RunService, RunStatus};

use crate::args::{ApprovalModeArg, DemoDebate, GlobalArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs;
use crate::live_region::LiveRegion;
use crate::log;
use crate::models::{build_model, default_weights, is_remote, no_weights};
use crate::output::{Output, OutputFormat, TextStyle, styled};
use crate::run::{new_thread, print_output, print_summary, run_interactive};
use crate::run_driver::{RunDisplay, RunSummary};
use crate::text::{columns, format_duration, padded, truncate, width, wrap};

/// Name of the graph.
const GRAPH: &str = "debate";

/// Agent that opens a round.
const OPENING_AGENT: &str = "optimist";

/// Agents that write messages.
const AGENTS: [&str; 3] = [OPENING_AGENT, "skeptic", "moderator"];

/// Width of the column with agent names.
const NAME_COLUMN_WIDTH: usize = 11;

/// Runs a debate.
pub(crate) async fn debate(args: &DemoDebate, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let config = CliConfig::load(global)?;
    // Reports all input errors before anything is created.
    let input = DebateState::initial_state_json(&args.topic, args.rounds, Some(now()?))?;
    let (model, label) = resolve_model(&config, &args.model)?;
    let graph = graphs::find(&config, GRAPH)?;
    let runs = RunService::open([graph], config.open_storage(out).await?)?;
    let thread = new_thread(&runs, GRAPH).await?;
    let heading = format!("{} · {label} · thread {thread}", styled(TextStyle::Strong, GRAPH));
    let options = options(args, model, out).to_json();
    let request = RunRequest::new(GRAPH, thread, RunInput::Input(input)).context(options).title(args.topic.trim());
    let mut view = DebateRunView::new(heading, args.rounds, *out);
    let summary = run_interactive(&runs, request, &mut view, out).await?;
    finish(summary, out)
}

fn now() -> Result<Time, CliError> {
    let now = Time::from_unix_micros(Timestamp::now().as_microsecond());
    Ok(now.map_err(|error| superstep::Error::internal(error.message))?)
}

/// Builds the debate options of the run.
fn options(args: &DemoDebate, model: String, out: &Output) -> DebateOptions {
    DebateOptions {
        approval: approval(args.approval),
        fact_check: FactCheckMode::Off,
        model: Some(model),
        seed: args.seed.unwrap_or_else(|| Timestamp::now().as_microsecond().unsigned_abs()),
        max_rounds: args.rounds,
        has_typing_delay: out.supports_live_output(),
    }
}

fn finish(summary: RunSummary, out: &Output) -> Result<u8, CliError> {
    match out.format {
        OutputFormat::Text => {
            if summary.status == RunStatus::Succeeded {
                out.print_result("");
            }
            print_summary(summary, out)
        }
        _ => print_output(summary, None, out),
    }
}

fn approval(mode: ApprovalModeArg) -> superstep_debate::ApprovalMode {
    match mode {
        ApprovalModeArg::Off => superstep_debate::ApprovalMode::Off,
        ApprovalModeArg::BeforeSummary => superstep_debate::ApprovalMode::BeforeSummary,
        ApprovalModeArg::EachRound => superstep_debate::ApprovalMode::EachRound,
    }
}

/// Resolves a model name to the name in the application and a label for users.
fn resolve_model(config: &CliConfig, name: &str) -> Result<(String, String), CliError> {
    match name {
        "local" | "rules" | "local/rules" => {
            return Ok(("local/rules".to_owned(), "rule-based voices, no language model".to_owned()));
        }
        "weights" | LOCAL_WEIGHTS_PROVIDER if !config.settings.models.contains_key(name) => {
            let model = default_weights(config).unwrap_or_else(|| Err(no_weights(LOCAL_WEIGHTS_PROVIDER)))?;
            return Ok((LOCAL_WEIGHTS_PROVIDER.to_owned(), model_label(name, &model.info())));
        }
        _ => {}
    }
    if !config.settings.models.contains_key(name)
        && let Some((service, model)) = name.split_once('/')
    {
        reject_offline(config, name, true)?;
        return Ok((name.to_owned(), format!("{model}, a language model of {service}")));
    }
    let Some(settings) = config.settings.models.get(name) else {
        let names: Vec<&str> =
            ["rules", "weights"].into_iter().chain(config.settings.models.keys().map(String::as_str)).collect();
        return Err(CliError::new(ErrorCode::ConfigInvalid, format!("unknown model `{name}`"))
            .help(did_you_mean_or_list(name, &names)));
    };
    reject_offline(config, name, is_remote(settings))?;
    Ok((name.to_owned(), model_label(name, &build_model(config, name, settings)?.info())))
}

/// Returns the label of a model; local weights by the name in their file.
fn model_label(name: &str, info: &ModelInfo) -> String {
    let label = superstep_debate::transcript::label(info.kind);
    match info.kind {
        ModelKind::Weights => format!("{info}, {label}"),
        _ => format!("{name}, {label}"),
    }
}

fn reject_offline(config: &CliConfig, name: &str, is_remote: bool) -> Result<(), CliError> {
    if !config.is_offline || !is_remote {
        return Ok(());
    }
    let message = format!("model `{name}` needs the network, which `--offline` forbids");
    Err(CliError::new(ErrorCode::PolicyRefused, message).help("superstep demo debate --model rules"))
}

/// Live display of a debate at a terminal, or plain lines.
struct DebateRunView {
    screen: LiveRegion,
    out: Output,
    /// Heading that is printed once the debate has started.
    heading: Option<String>,
    rounds: u32,
    round: u32,
    turn: u32,
    /// Current agent, and its text so far.
    current_message: Option<(String, String)>,
    started: Instant,
}

impl DebateRunView {
    fn new(heading: String, rounds: u32, out: Output) -> Self {
        let (screen, heading, started) = (LiveRegion::new(out), Some(heading), Instant::now());
        Self { screen, out, heading, rounds, round: 0, turn: 0, current_message: None, started }
    }

    fn print_line(&mut self, text: &str) {
        self.screen.clear();
        if self.out.is_text() {
            self.out.print_result(text);
        }
    }

    fn start_message(&mut self, agent: &str) {
        self.turn += 1;
        if agent == OPENING_AGENT {
            self.round += 1;
            let title = format!("\nround {} of {}", self.round, self.rounds);
            self.print_line(&title);
        } else if agent == "moderator" {
            self.print_line("\nsummary");
        }
        self.current_message = Some((agent.to_owned(), String::new()));
    }

    /// Prints the complete message of an agent.
    fn finish_message(&mut self, output: &Value) {
        let Some((agent, partial)) = self.current_message.take() else { return };
        let message = last_message_text(output).unwrap_or(partial);
        for line in message_lines(&agent, &message) {
            self.print_line(&line);
        }
    }

    fn print_fact_checks(&mut self, output: &Value) {
        for result in output["factCheckResults"].as_array().into_iter().flatten() {
            let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
            let fact_check = truncate(
                &format!("{}: {}", text("verdict"), text("claim")),
                width().saturating_sub(NAME_COLUMN_WIDTH + 3),
            );
            self.print_line(&format!("  {}{fact_check}", padded("checked", NAME_COLUMN_WIDTH)));
        }
    }

    fn draw(&mut self) {
        let Some((agent, partial)) =
            self.current_message.as_ref().filter(|_| self.screen.is_due() && self.out.is_text())
        else {
            return;
        };
        let mut lines = message_lines(agent, partial);
        let details =
            format!("{}/{} · {} · ^C stop", self.turn, self.rounds * 2 + 1, format_duration(self.started.elapsed()));
        let padding = width().saturating_sub(columns(&details) + 4);
        lines.push(format!("{} {}{}", self.screen.spinner(), " ".repeat(padding), styled(TextStyle::Faint, &details)));
        // Only the last lines fit; the message is printed in full when it is complete.
        self.screen.redraw(&lines[lines.len().saturating_sub(10)..]);
    }
}

impl RunDisplay for DebateRunView {
    fn on_event(&mut self, published: &PublishedEvent) {
        if let Some(heading) = self.heading.take() {
            self.print_line(&heading);
        }
        let event = published.event();
        let node = event["metadata"]["node"].as_str().unwrap_or_default();
        let is_node = event["name"] == node && event["metadata"]["path"] == "" && event["metadata"]["model"].is_null();
        match published.event_type() {
            "on_chain_start" if is_node && AGENTS.contains(&node) => self.start_message(node),
            "on_chat_model_stream" => {
                let chunk = event["data"]["chunk"].as_str().unwrap_or_default();
                if let Some((_, partial)) = self.current_message.as_mut().filter(|(agent, _)| agent == node) {
                    partial.push_str(chunk);
                }
            }
            // The node starts again: the text of the failed attempt is discarded.
            "on_retry" => self.current_message.iter_mut().for_each(|(_, partial)| partial.clear()),
            "on_chain_end" if is_node && AGENTS.contains(&node) => self.finish_message(&event["data"]["output"]),
            "on_chain_end" if is_node && node == "fact_check" => self.print_fact_checks(&event["data"]["output"]),
            _ => {}
        }
        if self.out.format == OutputFormat::JsonLines {
            self.out.json(event);
        }
        self.draw();
    }

    fn tick(&mut self) {
        self.draw();
    }

    fn on_stop_requested(&mut self) {
        self.screen.clear();
        self.out.print_note("stopping; press Ctrl-C again to exit immediately");
    }

    fn clear(&mut self) {
        self.screen.clear();
    }
}

/// Returns the text of the last message in the output of a node.
fn last_message_text(output: &Value) -> Option<String> {
    let message = match &output["messages"] {
        Value::Array(messages) => messages.last()?,
        message => message,
    };
    let text = message["content"].as_str().or_else(|| message.as_str())?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Wraps a message into lines behind the agent name.
fn message_lines(agent: &str, text: &str) -> Vec<String> {
    let lines = wrap(text, width().saturating_sub(NAME_COLUMN_WIDTH + 3).clamp(20, 96));
    let name = |index: usize| if index == 0 { agent } else { "" };
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("  {}{line}", padded(name(index), NAME_COLUMN_WIDTH)))
        .collect()
}
