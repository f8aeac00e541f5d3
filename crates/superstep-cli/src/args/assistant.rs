//! Arguments of the assistant: the demo, and a settings file that replaces the sample.

use std::path::PathBuf;

use clap::Args;
use superstep::ErrorCode;
use superstep_assistant::{AssistantSettings, ConfigFile};

use crate::error::CliError;

/// Options of the assistant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AssistantArgs {
    /// Settings file of the assistant: data, handbook, policy, users, BigQuery, web, MCP servers; default: the sample
    #[arg(long = "assistant", value_name = "FILE", env = "SUPERSTEP_ASSISTANT", hide_short_help = true)]
    pub(crate) file: Option<PathBuf>,
}

impl AssistantArgs {
    /// Loads the settings and connects to the data sources of the file; `None` if no file is given.
    pub(crate) async fn load_settings(&self, is_offline: bool) -> Result<Option<AssistantSettings>, CliError> {
        let Some(file) = &self.file else { return Ok(None) };
        let config_file = ConfigFile::load(file, |name| std::env::var(name).ok())?;
        if let Some(key) = config_file.network_keys().first().filter(|_| is_offline) {
            let file = file.display();
            let message = format!("`{key}` of `{file}` needs the network, which `--offline` forbids");
            return Err(CliError::new(ErrorCode::PolicyRefused, message).help(format!("remove `{key}`")));
        }
        Ok(Some(config_file.connect().await?))
    }
}

#[derive(Debug, Args)]
pub(crate) struct DemoAssistant {
    /// Question for the assistant
    #[arg(long = "ask", value_name = "TEXT", default_value = "How many orders shipped late in October?")]
    pub(crate) question: String,
    /// User id of the question; the sample has ana, sam, mia, kim and guest
    #[arg(long, default_value = "ana")]
    pub(crate) user: String,
    /// Model that plans and answers: local (rules), a model of superstep.toml, or one such as groq/llama-3.1-8b-instant
    #[arg(long, default_value = "local")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) assistant: AssistantArgs,
}
