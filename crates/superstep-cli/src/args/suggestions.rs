//! Arguments of the suggestions agent: search sources, demo, evaluation, MCP server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use superstep::ErrorCode;
use superstep::settings::Secret;
use superstep_suggestions::sources::M365Settings;
use superstep_suggestions::{HOME, SuggestionsSettings};

use crate::error::CliError;

/// Search sources of the suggestions agent.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SuggestionSourceArgs {
    /// Folder with docs, issues and m365 in it, or with documents alone; default: sample data
    #[arg(long, value_name = "FOLDER", env = "SUPERSTEP_SUGGESTIONS", hide_short_help = true)]
    pub(crate) suggestions: Option<PathBuf>,
    /// URL of Microsoft Graph, in place of a folder m365; SUPERSTEP_GRAPH_TOKEN holds the token
    #[arg(long, value_name = "URL", env = "SUPERSTEP_GRAPH_URL", hide_short_help = true)]
    pub(crate) graph_url: Option<String>,
}

/// Environment variable with the token for Microsoft Graph. Not a flag, because every user of the machine can read
/// command lines.
const TOKEN: &str = "SUPERSTEP_GRAPH_TOKEN";

impl SuggestionSourceArgs {
    /// Converts the arguments to settings of the suggestions agent.
    pub(crate) fn settings(&self, is_offline: bool) -> Result<SuggestionsSettings, CliError> {
        if self.graph_url.is_some() && is_offline {
            let message = "Microsoft Graph is asked over the network, and `--offline` forbids it";
            return Err(CliError::new(ErrorCode::PolicyRefused, message).help("leave `--graph-url` out"));
        }
        let m365 = self.graph_url.clone().map(|base_url| M365Settings::Graph { base_url });
        let token = if m365.is_some() { token()? } else { None };
        let mut settings =
            SuggestionsSettings { folder: self.suggestions.clone(), m365, token, ..SuggestionsSettings::default() };
        if let Some(folder) = &settings.folder {
            // Posts of the sample do not belong to own documents, and the folder of documents may be read-only.
            let theirs = Some(folder.join("posts.sqlite")).filter(|file| file.exists());
            settings.posts = theirs.or_else(|| Some(Path::new(HOME).join("own-posts.db")));
        }
        Ok(settings)
    }
}

/// Reads the token from the environment; no error message contains it.
fn token() -> Result<Option<Secret>, CliError> {
    let value = std::env::var_os(TOKEN).unwrap_or_default();
    match value.to_str().map(str::trim) {
        Some("") => Ok(None),
        Some(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(Secret::new(token))),
        _ => {
            let message = format!("`{TOKEN}` is no token: it has signs or blanks that none has");
            Err(CliError::new(ErrorCode::ConfigInvalid, message).help("set it to the token alone, without `Bearer`"))
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DemoSuggestions {
    /// Question to find suggestions for
    #[arg(long, value_name = "TEXT", conflicts_with = "id")]
    pub(crate) post: Option<String>,
    /// Id of a post of the sample
    #[arg(long, value_name = "ID", default_value = "p042")]
    pub(crate) id: String,
    /// Model that decides: local (rules), direct, a model of superstep.toml, or one such as groq/llama-3.1-8b-instant
    #[arg(long, default_value = "local")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) looking: SuggestionSourceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) target: EvalTarget,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalTarget {
    /// Count the questions with the right document in the first three, with and without more search words
    Suggestions,
    /// Count the questions about the sample shop with a right answer; none may be wrong with confidence
    Assistant,
    /// Count the requests of the sample family that are read right; none may be wrong with confidence
    Scheduler,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve tools over standard input and output, or over HTTP
    Serve(McpServeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// Application that provides the tools
    pub(crate) tools: McpTools,
    /// Address to listen on, in place of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) looking: SuggestionSourceArgs,
}

/// Applications that provide tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTools {
    Suggestions,
}
