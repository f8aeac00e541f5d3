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

/// Durable agent graphs: run them, watch them, stop them, take them up again.
#[derive(Debug, Parser)]
#[command(
    name = "superstep",
    version,
    disable_help_subcommand = true,
    before_long_help = "Examples:
  superstep demo debate                             watch two voices argue, no key needed
  superstep run titles --input '{\"text\":\"…\"}'       run a graph of superstep.toml
  superstep resume titles-3f9a1c --answer true      answer what a run asks, or go on after a stop
  superstep serve                                   the same graphs over HTTP, with pages"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What holds for every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct GlobalArgs {
    /// One JSON document on stdout
    #[arg(long, global = true, hide_short_help = true, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// A line of JSON on stdout for each thing there is to tell
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) jsonl: bool,
    /// When to use colour
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) color: Color,
    /// Say nothing but results and errors
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Say more; twice for everything
    #[arg(short, long, global = true, hide_short_help = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Make every use of the network an error
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) offline: bool,
    /// Never ask: end with 10 where a person is needed
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_input: bool,
    /// The settings, where they are not in ./superstep.toml
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Change a setting for this command
    #[arg(long, global = true, hide_short_help = true, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Not asked for: what this build has.
    #[arg(skip)]
    pub(crate) extras: Extensions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an application with sample data, no project and no key needed
    #[command(before_long_help = "Examples:
  superstep demo debate
  superstep demo debate --topic \"Should AI be regulated?\" --rounds 2
  superstep demo debate --approval before-summary
  superstep demo debate --model weights             in a build with weights: a language model on this machine
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
    /// Answer what a thread asks, or go on after a stop, a failure or a crash
    #[command(before_long_help = "Examples:
  superstep resume titles-3f9a1c
  superstep resume titles-3f9a1c --answer true
  superstep resume titles-3f9a1c --answer '{\"approved\":true}'")]
    Resume(ResumeArgs),
    /// List threads, show one, remove some
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
    /// Show every checkpoint of a thread, the newest first
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
    /// Serve the graphs over HTTP, with pages
    #[command(
        visible_alias = "up",
        before_long_help = "Examples:
  superstep serve
  superstep serve --port 0 --open
  superstep serve --assistant assistant.toml        the assistant over data of your own
  superstep serve --family family.json              the scheduler for a family of your own"
    )]
    Serve(ServeArgs),
    /// Ask an application the questions of its sample, and count what is right
    #[command(before_long_help = "Examples:
  superstep eval suggestions
  superstep eval scheduler --json")]
    Eval(EvalArgs),
    /// Offer the tools of an application to other programs
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
    /// Look whether everything is there, and write a report that can be pasted
    #[command(before_long_help = "Examples:
  superstep doctor
  superstep doctor --json")]
    Doctor,
    /// Show what is set, and where it was set
    #[command(before_long_help = "Examples:
  superstep config show
  superstep config show --json")]
    Config(ConfigArgs),
    /// Write completions for a shell
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
    /// Names for completions
    #[command(name = "__names", hide = true)]
    Names(NamesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The graph, as superstep.toml names it
    pub(crate) graph: String,
    /// What it begins with: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// The thread it runs on; a new one unless told
    #[arg(short, long)]
    pub(crate) thread: Option<String>,
    /// What to tell on stdout while it runs
    #[arg(short, long, value_name = "MODE")]
    pub(crate) stream: Option<StreamModeArg>,
    #[command(flatten)]
    pub(crate) assistant: AssistantArgs,
    #[command(flatten)]
    pub(crate) family: FamilyArgs,
}

/// What a run tells on stdout while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamModeArg {
    /// What each node writes
    Updates,
    /// What models say, as they say it
    Tokens,
    /// Everything, as events
    Events,
    /// The state after each superstep
    Values,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The thread
    pub(crate) thread: String,
    /// The answer to what it asks: JSON, or plain text where text is asked for
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) answer: Option<String>,
    /// What to tell on stdout while it runs
    #[arg(short, long, value_name = "MODE")]
    pub(crate) stream: Option<StreamModeArg>,
    #[command(flatten)]
    pub(crate) own: AssistantArgs,
    #[command(flatten)]
    pub(crate) household: FamilyArgs,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ThreadsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ThreadsCommand>,
    #[command(flatten)]
    pub(crate) list: ListThreadsArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ThreadsCommand {
    /// List threads, the newest first
    List(ListThreadsArgs),
    /// Show how a thread stands
    Show {
        /// The thread
        thread: String,
    },
    /// Remove threads with everything that is kept of them
    Rm {
        /// The threads
        #[arg(required = true)]
        threads: Vec<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Default, Args)]
pub(crate) struct ListThreadsArgs {
    /// Only threads of this graph
    #[arg(long)]
    pub(crate) graph: Option<String>,
    /// Only threads whose title has these words
    #[arg(long)]
    pub(crate) words: Option<String>,
    /// At most this many; 20 unless told
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// The thread
    pub(crate) thread: String,
    /// An earlier state: a checkpoint, or the number of a superstep
    #[arg(long, value_name = "CHECKPOINT", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The thread
    pub(crate) thread: String,
    /// At most this many; 50 unless told
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The graph, as superstep.toml names it, or a graph file
    pub(crate) graph: String,
    /// How it is drawn
    #[arg(short, long, default_value = "text")]
    pub(crate) format: GraphFormat,
}

/// How a graph is drawn.
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
    pub(crate) what: Option<DemoCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// An optimist and a skeptic argue, a moderator sums up
    Debate(DemoDebate),
    /// Somebody posts a question, and gets what to read and one next action
    Suggestions(DemoSuggestions),
    /// A question about a sample shop, or data of your own, is planned, looked up, checked and answered
    Assistant(DemoAssistant),
    /// A sentence is planned, moved, cancelled or looked up on the calendar of a family
    Scheduler(DemoScheduler),
}

#[derive(Debug, Args)]
pub(crate) struct DemoDebate {
    /// What it is about
    #[arg(long, default_value = "Should AI be regulated?")]
    pub(crate) topic: String,
    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) rounds: u32,
    /// Who speaks: rules, weights, a model of superstep.toml, or one such as groq/llama-3.1-8b-instant
    #[arg(long, default_value = "rules")]
    pub(crate) model: String,
    /// When a person is asked
    #[arg(long, value_name = "WHEN", default_value = "off")]
    pub(crate) approval: ApprovalModeArg,
    /// What rules and weights draw their chance from; the same number gives the same debate
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// When a person is asked.
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
    /// The address to listen on
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// The port; 0 takes a free one
    #[arg(short, long)]
    pub(crate) port: Option<u16>,
    /// Listen where others can reach it, although nobody has to say who they are
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Open it in a browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) debates: DebateArgs,
    #[command(flatten)]
    pub(crate) suggestions: SuggestionSourceArgs,
    #[command(flatten)]
    pub(crate) own: AssistantArgs,
    #[command(flatten)]
    pub(crate) household: FamilyArgs,
}

/// How the debate platform is run.
#[derive(Debug, Clone, Args)]
pub(crate) struct DebateArgs {
    /// Folder of documents that claims are looked up in and voices quote
    #[arg(long, value_name = "FOLDER", env = "SUPERSTEP_EVIDENCE")]
    pub(crate) evidence: Option<PathBuf>,
    /// Milliseconds that rule-based voices take for a word when somebody watches
    #[arg(long, value_name = "MS", default_value_t = 30, env = "SUPERSTEP_PACE", hide_short_help = true)]
    pub(crate) pace: u64,
    /// Debates that one address may begin in an hour
    #[arg(long, value_name = "N", default_value_t = 10, env = "SUPERSTEP_DEBATES_PER_HOUR", hide_short_help = true)]
    pub(crate) debates_per_hour: usize,
    /// Debates of one address at once
    #[arg(long, value_name = "N", default_value_t = 2, env = "SUPERSTEP_DEBATES_AT_ONCE", hide_short_help = true)]
    pub(crate) debates_at_once: usize,
}

impl DebateArgs {
    /// Converts the arguments to settings of the debate application.
    pub(crate) fn settings(&self) -> superstep_debate::Settings {
        let mut settings = superstep_debate::Settings::default();
        (settings.evidence, settings.typing_delay) = (self.evidence.clone(), Duration::from_millis(self.pace));
        (settings.limit.max_requests, settings.limit.max_concurrent) = (self.debates_per_hour, self.debates_at_once);
        settings
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The code, such as SS-007, its number or its name
    #[arg(required_unless_present = "list")]
    pub(crate) code: Option<String>,
    /// List every code
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) what: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Every setting with its value and where it came from; secrets as ***
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct NamesArgs {
    /// Of what
    pub(crate) what: NameKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameKind {
    Graphs,
    Threads,
    Codes,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE, as in `server.port=0`")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
