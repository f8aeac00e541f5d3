//! What can be asked of the suggestions agent: where it looks, a demo, the check, and its tools for others.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use superstep::Code;
use superstep::settings::Secret;
use superstep_suggestions::sources::M365;
use superstep_suggestions::{HOME, Settings};

use crate::failure::Failure;

/// Where suggestions are looked for.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Looking {
    /// Folder with docs, issues and m365 in it, or with documents alone; sample data unless told
    #[arg(long, value_name = "FOLDER", env = "SUPERSTEP_SUGGESTIONS", hide_short_help = true)]
    pub(crate) suggestions: Option<PathBuf>,
    /// Address of Microsoft Graph, in place of a folder m365; SUPERSTEP_GRAPH_TOKEN has the token
    #[arg(long, value_name = "URL", env = "SUPERSTEP_GRAPH_URL", hide_short_help = true)]
    pub(crate) graph_url: Option<String>,
}

/// What Microsoft Graph is asked with. No flag: what stands on a command line can be read by everybody on the machine.
const TOKEN: &str = "SUPERSTEP_GRAPH_TOKEN";

impl Looking {
    /// As the application takes it.
    pub(crate) fn settings(&self, is_offline: bool) -> Result<Settings, Failure> {
        if self.graph_url.is_some() && is_offline {
            let message = "Microsoft Graph is asked over the network, and `--offline` forbids it";
            return Err(Failure::new(Code::PolicyRefused, message).help("leave `--graph-url` out"));
        }
        let m365 = self.graph_url.clone().map(|base_url| M365::Graph { base_url });
        let token = if m365.is_some() { token()? } else { None };
        let mut settings = Settings { folder: self.suggestions.clone(), m365, token, ..Settings::default() };
        if let Some(folder) = &settings.folder {
            // Posts of the sample are none of theirs, and a folder of documents need not be one to write to.
            let theirs = Some(folder.join("posts.sqlite")).filter(|file| file.exists());
            settings.posts = theirs.or_else(|| Some(Path::new(HOME).join("own-posts.db")));
        }
        Ok(settings)
    }
}

/// The token of the environment, which no message says.
fn token() -> Result<Option<Secret>, Failure> {
    let given = std::env::var_os(TOKEN).unwrap_or_default();
    match given.to_str().map(str::trim) {
        Some("") => Ok(None),
        Some(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(Secret::new(token))),
        _ => {
            let message = format!("`{TOKEN}` is no token: it has signs or blanks that none has");
            Err(Failure::new(Code::ConfigInvalid, message).help("set it to the token alone, without `Bearer`"))
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DemoSuggestions {
    /// What somebody asks
    #[arg(long, value_name = "TEXT", conflicts_with = "id")]
    pub(crate) post: Option<String>,
    /// A post of the sample
    #[arg(long, value_name = "ID", default_value = "p042")]
    pub(crate) id: String,
    /// Who decides: local (rules), direct, a model of superstep.toml, or one such as groq/llama-3.1-8b-instant
    #[arg(long, default_value = "local")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) looking: Looking,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    #[command(subcommand)]
    pub(crate) what: EvalWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalWhat {
    /// Is the right document among the first three, and does it help to look for more words?
    Suggestions,
    /// How many questions about the sample shop are answered right, and none wrong with confidence?
    Assistant,
    /// How many sentences said to the sample family are understood, and none wrong that it is sure of?
    Scheduler,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) what: McpWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpWhat {
    /// Offer tools over standard input and output, or over HTTP
    Serve(McpServe),
}

#[derive(Debug, Args)]
pub(crate) struct McpServe {
    /// Whose tools
    pub(crate) tools: McpTools,
    /// Listen here, in place of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) looking: Looking,
}

/// Whose tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTools {
    Suggestions,
}
