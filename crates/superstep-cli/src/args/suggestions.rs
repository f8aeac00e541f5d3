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
    /// Folder that contains docs, issues and m365, or only documents; default: sample data
    #[arg(long, value_name = "FOLDER", env = "SUPERSTEP_SUGGESTIONS", hide_short_help = true)]
    pub(crate) suggestions: Option<PathBuf>,
    /// URL of Microsoft Graph, instead of an m365 folder; the token is read from SUPERSTEP_GRAPH_TOKEN
    #[arg(long, value_name = "URL", env = "SUPERSTEP_GRAPH_URL", hide_short_help = true)]
    pub(crate) graph_url: Option<String>,
}

/// Environment variable with the token for Microsoft Graph. Not a flag, because every user of the machine can read
/// command lines.
const TOKEN_VARIABLE: &str = "SUPERSTEP_GRAPH_TOKEN";

impl SuggestionSourceArgs {
    /// Converts the arguments to settings of the suggestions agent.
    pub(crate) fn settings(&self, is_offline: bool) -> Result<SuggestionsSettings, CliError> {
        if self.graph_url.is_some() && is_offline {
            let message = "Microsoft Graph needs the network, which `--offline` forbids";
            return Err(CliError::new(ErrorCode::PolicyRefused, message).help("omit `--graph-url`"));
        }
        let m365 = self.graph_url.clone().map(|base_url| M365Settings::Graph { base_url });
        let token = if m365.is_some() { token()? } else { None };
        let mut settings =
            SuggestionsSettings { folder: self.suggestions.clone(), m365, token, ..SuggestionsSettings::default() };
        if let Some(folder) = &settings.folder {
            // The posts of the sample do not match other documents, and the folder of documents may be read-only.
            let existing = Some(folder.join("posts.sqlite")).filter(|file| file.exists());
            settings.posts = existing.or_else(|| Some(Path::new(HOME).join("own-posts.db")));
        }
        Ok(settings)
    }
}

/// Reads the token from the environment; no error message contains it.
fn token() -> Result<Option<Secret>, CliError> {
    let value = std::env::var_os(TOKEN_VARIABLE).unwrap_or_default();
    match value.to_str().map(str::trim) {
        Some("") => Ok(None),
        Some(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(Secret::new(token))),
        _ => {
            let message =
                format!("`{TOKEN_VARIABLE}` is not a valid token: it contains spaces or unsupported characters");
            Err(CliError::new(ErrorCode::ConfigInvalid, message).help("set it to the token only, without `Bearer`"))
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
    /// Model that plans the search: local (rules), direct, a model of superstep.toml, or one such as
    /// groq/llama-3.1-8b-instant
    #[arg(long, default_value = "local")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) sources: SuggestionSourceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) target: EvalTarget,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalTarget {
    /// Count questions whose correct document is in the first three results, with and without query expansion
    Suggestions,
    /// Count correct answers to questions about the sample shop; a confident wrong answer fails the evaluation
    Assistant,
    /// Count correctly parsed requests of the sample family; a confident wrong result fails the evaluation
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
    /// Address to listen on, instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) sources: SuggestionSourceArgs,
}

/// Applications that provide tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTools {
    Suggestions,
}
