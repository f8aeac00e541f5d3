//! Models of the settings, ready for use.
//!
//! A model that is not available (unknown provider, missing file, `--offline`) fails when it is called, not
//! earlier: graphs that never call it run all the same.

use std::path::Path;

use superstep::core::model::{ChatRequest, ChatResponse, ModelInfo, ModelKind};
use superstep::core::port::{ChunkSender, Model, SharedModel};
use superstep::models::{ReplayModel, RuleBasedModel, ScriptedModel, ScriptedReply};
use superstep::settings::ModelSettings;
use superstep::{Error, ErrorCode, Result};
use superstep_server::{LOCAL_WEIGHTS_PROVIDER, provider_from_settings};

use crate::cli_config::CliConfig;

/// Returns the model of this name; an unavailable model fails when it is called.
pub(crate) fn model(config: &CliConfig, name: &str, settings: &ModelSettings) -> SharedModel {
    usable_model(config, name, settings).unwrap_or_else(|error| unavailable_model(name, settings, error))
}

/// Returns the model of this name.
///
/// # Errors
/// Returns an error if this program cannot use the model, or must not because of `--offline`.
pub(crate) fn usable_model(config: &CliConfig, name: &str, settings: &ModelSettings) -> Result<SharedModel> {
    if config.is_offline && is_remote(settings) {
        let message = format!("model `{name}` needs the network, which `--offline` forbids");
        return Err(
            Error::new(ErrorCode::PolicyRefused, message).with_help("use a model with `provider = \"local/rules\"`")
        );
    }
    build_model(config, name, settings)
}

/// Opens the default local weights, from the file that the environment names. `None` if this build does not support
/// weights.
pub(crate) fn default_weights(config: &CliConfig) -> Option<Result<SharedModel>> {
    config.extensions.open_weights(None)
}

/// Returns the error for a local weights model in a build that does not support weights.
pub(crate) fn no_weights(name: &str) -> Error {
    let message = format!("model `{name}` needs local weights, which this build does not support");
    Error::new(ErrorCode::ConfigInvalid, message).with_help(
        "use a build that supports weights: cargo run --release --manifest-path crates/superstep-weights/Cargo.toml \
         -p superstep-weights-cli -- demo debate --model weights",
    )
}

/// Returns true if the model is used over the network.
pub(crate) fn is_remote(settings: &ModelSettings) -> bool {
    matches!(settings.provider.as_str(), "anthropic" | "azure" | "google" | "openai")
}

/// Returns the default environment variable for the API key of a provider.
pub(crate) fn key_variable(settings: &ModelSettings) -> Option<&'static str> {
    match settings.provider.as_str() {
        "anthropic" => Some("ANTHROPIC_API_KEY"),
        "azure" => Some("AZURE_OPENAI_API_KEY"),
        "google" => Some("GEMINI_API_KEY"),
        // An OpenAI-compatible service at another address may need no key.
        "openai" if settings.base_url.is_none() => Some("OPENAI_API_KEY"),
        _ => None,
    }
}

/// Creates the model of this name.
///
/// # Errors
/// Returns an error if this program cannot use the model.
pub(crate) fn build_model(config: &CliConfig, name: &str, settings: &ModelSettings) -> Result<SharedModel> {
    let file = || {
        let file = settings.model.as_deref().ok_or_else(|| {
            Error::new(ErrorCode::ConfigInvalid, format!("model `{name}` has no file"))
                .with_help(format!("set `models.{name}.model` to the file with its responses"))
        });
        file.map(|file| config.folder.join(file))
    };
    match settings.provider.as_str() {
        "local/rules" => Ok(echo_model().into()),
        "scripted" => Ok(ScriptedModel::new(read_responses(&file()?)?).with_name(name).into()),
        "replay" => Ok(ReplayModel::open(file()?)?.into()),
        LOCAL_WEIGHTS_PROVIDER => {
            let file = settings.model.as_deref().map(|file| config.folder.join(file));
            config.extensions.open_weights(file.as_deref()).unwrap_or_else(|| Err(no_weights(name)))
        }
        _ => Ok(provider_from_settings(name, settings)?.into()),
    }
}

/// Creates a rule-based stand-in without dependencies: it identifies itself and repeats the question.
fn echo_model() -> RuleBasedModel {
    RuleBasedModel::new("rules").rule_with(
        |_| true,
        |request, _| {
            let question = request.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
            ScriptedReply::text(format!("(rules, no language model) {question}"))
        },
    )
}

/// Reads the responses of a file, one per line.
fn read_responses(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(
            ErrorCode::ConfigInvalid,
            format!("responses in `{}` cannot be read: {}", path.display(), error.kind()),
        )
    })?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}

fn unavailable_model(name: &str, settings: &ModelSettings, error: Error) -> SharedModel {
    let kind = match settings.provider.as_str() {
        LOCAL_WEIGHTS_PROVIDER => ModelKind::Weights,
        _ if is_remote(settings) => ModelKind::Remote,
        _ => ModelKind::Rules,
    };
    UnavailableModel { info: ModelInfo::new(settings.provider.clone(), name.to_owned(), kind), error }.into()
}

/// A model that is not available, and fails with the reason.
struct UnavailableModel {
    info: ModelInfo,
    error: Error,
}

impl Model for UnavailableModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn generate(&self, _request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        Err(self.error.clone())
    }
}
