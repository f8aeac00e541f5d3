//! Command line arguments: commands, flags, and the examples in their help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::extensions::Extensions;

mod assistant;
mod scheduler;
mod suggestions;

pub(crate) use assistant::{AssistantArgs, DemoAssistant};
pub(crate) use scheduler::{DemoScheduler, FamilyArgs};
pub(crate) use suggestions::{
    DemoSuggestions, EvalArgs, EvalTarget, McpArgs, McpCommand, McpServeArgs, McpTools, SuggestionSourceArgs,
};

/// Run, watch, stop and resume durable agent graphs
#[derive(Debug, Parser)]
#[command(
    name = "superstep",
    version,
    disable_help_subcommand = true,
    before_long_help = "Examples:
  superstep demo debate                             watch a debate; needs no key
  superstep run titles --input '{\"text\":\"…\"}'       run a graph of superstep.toml
  superstep resume titles-3f9a1c --answer true      resume with a value, or after a stop
  superstep serve                                   serve the graphs over HTTP, with web pages"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print one JSON document on stdout
    #[arg(long, global = true, hide_short_help = true, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// Print JSON Lines on stdout, one for each event
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) jsonl: bool,
    /// Colour mode of the output
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) color: Color,
    /// Print only results and errors
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Print more details; repeat for all details
    #[arg(short, long, global = true, hide_short_help = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Reject all network access
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) offline: bool,
    /// Never prompt; exit with code 10 if an answer is needed
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_input: bool,
    /// Settings file; default: ./superstep.toml
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Override a setting for this command
    #[arg(long, global = true, hide_short_help = true, value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Extensions of this build; not an argument.
    #[arg(skip)]
    pub(crate) extensions: Extensions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an application with sample data; needs no project and no key
    #[command(before_long_help = "Examples:
  superstep demo debate
  superstep demo debate --topic \"Should AI be regulated?\" --rounds 2
  superstep demo debate --approval before-summary
  superstep demo debate --model weights             local language model; needs a build with weights
  superstep demo suggestions --post \"How do I roll back a deployment?\"
  superstep demo assistant --ask \"What are our top 5 products by revenue?\"
  superstep demo scheduler --say \"When is everyone free this weekend?\"")]
    Demo(DemoArgs),
    /// Run a graph
    #[command(before_long_help = "Examples:
  superstep run titles --input '{\"text\":\"The quick brown fox\"}'
  superstep run titles --input @ticket.json --thread ann
  cat ticket.json | superstep run titles --input - --jsonl
  superstep run titles --input @ticket.json --stream tokens")]
    Run(RunArgs),
    /// Resume a thread: with a value for its interrupt, or after a stop, failure or crash
    #[command(before_long_help = "Examples:
  superstep resume titles-3f9a1c
  superstep resume titles-3f9a1c --answer true
  superstep resume titles-3f9a1c --answer '{\"approved\":true}'")]
    Resume(ResumeArgs),
    /// List, show or remove threads
    #[command(before_long_help = "Examples:
  superstep threads
  superstep threads --graph titles --limit 5
  superstep threads show titles-3f9a1c
  superstep threads rm titles-3f9a1c")]
    Threads(ThreadsArgs),
    /// Show the state of a thread
    #[command(before_long_help = "Examples:
  superstep state titles-3f9a1c
  superstep state titles-3f9a1c --at 2")]
    State(StateArgs),
    /// Show the checkpoints of a thread, the newest first
    #[command(before_long_help = "Examples:
  superstep history titles-3f9a1c
  superstep history titles-3f9a1c --limit 5 --json")]
    History(HistoryArgs),
    /// Draw a graph
    #[command(before_long_help = "Examples:
  superstep graph titles
  superstep graph titles --format mermaid
  superstep graph ./titles.toml --format rust > titles.rs")]
    Graph(GraphArgs),
    /// Serve the graphs over HTTP, with web pages
    #[command(
        visible_alias = "up",
        before_long_help = "Examples:
  superstep serve
  superstep serve --port 0 --open
  superstep serve --assistant assistant.toml        assistant with your own data
  superstep serve --family family.json              scheduler for your own family"
    )]
    Serve(ServeArgs),
    /// Evaluate an application on the questions of its sample
    #[command(before_long_help = "Examples:
  superstep eval suggestions
  superstep eval scheduler --json")]
    Eval(EvalArgs),
    /// Serve the tools of an application to other programs (MCP)
    #[command(before_long_help = "Examples:
  superstep mcp serve suggestions
  superstep mcp serve suggestions --http 127.0.0.1:8124")]
    Mcp(McpArgs),
    /// Explain an error code
    #[command(before_long_help = "Examples:
  superstep explain SS-007
  superstep explain 7
  superstep explain --list")]
    Explain(ExplainArgs),
    /// Check the installation and the settings, and print a report
    #[command(before_long_help = "Examples:
  superstep doctor
  superstep doctor --json")]
    Doctor,
    /// Show the settings and their sources
    #[command(before_long_help = "Examples:
  superstep config show
  superstep config show --json")]
    Config(ConfigArgs),
    /// Print the completion script of a shell
    #[command(before_long_help = "Examples:
  source <(superstep completions bash)
  superstep completions zsh > ~/.zfunc/_superstep
  superstep completions fish > ~/.config/fish/completions/superstep.fish")]
    Completions(CompletionsArgs),
    /// Show the version
    Version,
    /// Write man pages into a folder
    #[command(hide = true)]
    Man(ManArgs),
    /// Print names for completions
    #[command(name = "__names", hide = true)]
    Names(NamesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Name of the graph in superstep.toml
    pub(crate) graph: String,
    /// Input of the run: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// Thread of the run; default: a new thread
    #[arg(short, long)]
    pub(crate) thread: Option<String>,
    /// Print progress of the run on stdout
    #[arg(short, long, value_name = "MODE")]
    pub(crate) stream: Option<StreamModeArg>,
    #[command(flatten)]
    pub(crate) assistant: AssistantArgs,
    #[command(flatten)]
    pub(crate) family: FamilyArgs,
}

/// Progress output of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamModeArg {
    /// Updates of each node
    Updates,
    /// Tokens of model responses
    Tokens,
    /// All events
    Events,
    /// State after each superstep
    Values,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Id of the thread
    pub(crate) thread: String,
    /// Resume value of the open interrupt: JSON, or plain text if the interrupt expects text
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) answer: Option<String>,
    /// Print progress of the run on stdout
    #[arg(short, long, value_name = "MODE")]
    pub(crate) stream: Option<StreamModeArg>,
    #[command(flatten)]
    pub(crate) assistant: AssistantArgs,
    #[command(flatten)]
    pub(crate) family: FamilyArgs,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ThreadsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ThreadsCommand>,
    #[command(flatten)]
    pub(crate) list: ListThreadsArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ThreadsCommand {
    /// List threads, the newest first
    List(ListThreadsArgs),
    /// Show the status of a thread
    Show {
        /// Id of the thread
        thread: String,
    },
    /// Remove threads with all their data
    Rm {
        /// Ids of the threads
        #[arg(required = true)]
        threads: Vec<String>,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Default, Args)]
pub(crate) struct ListThreadsArgs {
    /// Only threads of this graph
    #[arg(long)]
    pub(crate) graph: Option<String>,
    /// Only threads whose title contains these words
    #[arg(long)]
    pub(crate) words: Option<String>,
    /// Maximum number of threads; default 20
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// Id of the thread
    pub(crate) thread: String,
    /// Earlier state: a checkpoint id, or the number of a superstep
    #[arg(long, value_name = "CHECKPOINT", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Id of the thread
    pub(crate) thread: String,
    /// Maximum number of checkpoints; default 50
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// Name of the graph in superstep.toml, or a graph file
    pub(crate) graph: String,
    /// Output format
    #[arg(short, long, default_value = "text")]
    pub(crate) format: GraphFormat,
}

/// Output format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Text,
    Mermaid,
    Dot,
    Svg,
    Json,
    Rust,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DemoCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// Run a debate: an optimist and a skeptic argue, a moderator sums up
    Debate(DemoDebate),
    /// Suggest documents and one next action for a question
    Suggestions(DemoSuggestions),
    /// Answer a question about a sample shop or your own data
    Assistant(DemoAssistant),
    /// Plan, move, cancel or find events on a family calendar
    Scheduler(DemoScheduler),
}

#[derive(Debug, Args)]
pub(crate) struct DemoDebate {
    /// Topic of the debate
    #[arg(long, default_value = "Should AI be regulated?")]
    pub(crate) topic: String,
    /// Number of rounds, 1 to 10
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) rounds: u32,
    /// Model of the agents: rules, weights, a model of superstep.toml, or one such as groq/llama-3.1-8b-instant
    #[arg(long, default_value = "rules")]
    pub(crate) model: String,
    /// Points at which the debate waits for your approval
    #[arg(long, value_name = "WHEN", default_value = "off")]
    pub(crate) approval: ApprovalModeArg,
    /// Seed for random choices of rules and weights; the same seed gives the same debate
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Points at which the debate waits for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalModeArg {
    Off,
    #[value(alias = "before_summary")]
    BeforeSummary,
    #[value(alias = "each_round")]
    EachRound,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 picks a free one
    #[arg(short, long)]
    pub(crate) port: Option<u16>,
    /// Allow an address that other machines can reach, without authentication
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Open the start page in a browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) debates: DebateArgs,
    #[command(flatten)]
    pub(crate) suggestions: SuggestionSourceArgs,
    #[command(flatten)]
    pub(crate) assistant: AssistantArgs,
    #[command(flatten)]
    pub(crate) family: FamilyArgs,
}

/// Options of the debate application.
#[derive(Debug, Clone, Args)]
pub(crate) struct DebateArgs {
    /// Folder of documents for fact checks and quotations
    #[arg(long, value_name = "FOLDER", env = "SUPERSTEP_EVIDENCE")]
    pub(crate) evidence: Option<PathBuf>,
    /// Typing delay of the rule model, in milliseconds per word
    #[arg(long, value_name = "MS", default_value_t = 30, env = "SUPERSTEP_PACE", hide_short_help = true)]
    pub(crate) pace: u64,
    /// Maximum number of debates per client address and hour
    #[arg(long, value_name = "N", default_value_t = 10, env = "SUPERSTEP_DEBATES_PER_HOUR", hide_short_help = true)]
    pub(crate) debates_per_hour: usize,
    /// Maximum number of concurrent debates per client address
    #[arg(long, value_name = "N", default_value_t = 2, env = "SUPERSTEP_DEBATES_AT_ONCE", hide_short_help = true)]
    pub(crate) debates_at_once: usize,
}

impl DebateArgs {
    /// Converts the arguments to settings of the debate application.
    pub(crate) fn settings(&self) -> superstep_debate::DebateSettings {
        let mut settings = superstep_debate::DebateSettings::default();
        (settings.evidence, settings.typing_delay) = (self.evidence.clone(), Duration::from_millis(self.pace));
        (settings.rate_limit.max_requests, settings.rate_limit.max_concurrent) =
            (self.debates_per_hour, self.debates_at_once);
        settings
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Error code, such as SS-007, its number or its name
    #[arg(required_unless_present = "list")]
    pub(crate) code: Option<String>,
    /// List all error codes
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting with its value and source; secrets appear as ***
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to write the script for
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder for the man pages
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct NamesArgs {
    /// Kind of names to print
    pub(crate) kind: NameKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameKind {
    Graphs,
    Threads,
    Codes,
}

fn parse_key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as `server.port=0`")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
