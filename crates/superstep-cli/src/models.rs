//! The models of the settings, made ready to be asked.
//!
//! A model that cannot be asked (no such kind in this program, no file, `--offline`) refuses when it is asked, and not
//! before: a graph that does not ask it runs all the same.

use std::path::Path;

use superstep::core::model::{Answer, ModelInfo, ModelKind, Request};
use superstep::core::port::{Model as AnyModel, Pieces, SharedModel};
use superstep::model::{Replay, Reply, Rules, Scripted};
use superstep::settings::Model;
use superstep::{Code, Error, Result};
use superstep_server::{WEIGHTS, provider};

use crate::setup::Setup;

/// The model of this name; one that cannot be asked says so when it is.
pub(crate) fn model(setup: &Setup, name: &str, set: &Model) -> SharedModel {
    askable(setup, name, set).unwrap_or_else(|error| refusing(name, set, error))
}

/// The model of this name.
///
/// # Errors
/// When this program cannot ask it, or may not now.
pub(crate) fn askable(setup: &Setup, name: &str, set: &Model) -> Result<SharedModel> {
    if setup.is_offline && is_remote(set) {
        let message = format!("model `{name}` is asked over the network, and `--offline` forbids it");
        return Err(Error::new(Code::PolicyRefused, message).help("use a model with `provider = \"local/rules\"`"));
    }
    made(setup, name, set)
}

/// The weights that run in this process without being set: those of the file that the environment names. Nothing where
/// this build runs none.
pub(crate) fn usual_weights(setup: &Setup) -> Option<Result<SharedModel>> {
    setup.extras.open_weights(None)
}

/// What is said about a model of [`WEIGHTS`] where this build runs none.
pub(crate) fn no_weights(name: &str) -> Error {
    let message =
        format!("model `{name}` runs in the process, out of a file of weights, and this build cannot do that");
    Error::new(Code::ConfigInvalid, message).help(
        "the build that can: cargo run --release --manifest-path crates/superstep-weights/Cargo.toml \
         -p superstep-weights-cli -- demo debate --model weights",
    )
}

/// Whether it is asked over the network.
pub(crate) fn is_remote(set: &Model) -> bool {
    matches!(set.provider.as_str(), "anthropic" | "azure" | "google" | "openai")
}

/// The variable that the key of a provider is in, unless told.
pub(crate) fn key_variable(set: &Model) -> Option<&'static str> {
    match set.provider.as_str() {
        "anthropic" => Some("ANTHROPIC_API_KEY"),
        "azure" => Some("AZURE_OPENAI_API_KEY"),
        "google" => Some("GEMINI_API_KEY"),
        // Whoever speaks like OpenAI at another address may need none.
        "openai" if set.base_url.is_none() => Some("OPENAI_API_KEY"),
        _ => None,
    }
}

/// The model of this name.
///
/// # Errors
/// When this program cannot ask it.
pub(crate) fn made(setup: &Setup, name: &str, set: &Model) -> Result<SharedModel> {
    let file = || {
        let file = set.model.as_deref().ok_or_else(|| {
            Error::new(Code::ConfigInvalid, format!("model `{name}` names no file"))
                .help(format!("set `models.{name}.model` to the file with its answers"))
        });
        file.map(|file| setup.folder.join(file))
    };
    match set.provider.as_str() {
        "local/rules" => Ok(echo().into()),
        "scripted" => Ok(Scripted::new(replies(&file()?)?).named(name).into()),
        "replay" => Ok(Replay::open(file()?)?.into()),
        WEIGHTS => {
            let file = set.model.as_deref().map(|file| setup.folder.join(file));
            setup.extras.open_weights(file.as_deref()).unwrap_or_else(|| Err(no_weights(name)))
        }
        _ => Ok(provider(name, set)?.into()),
    }
}

/// A stand-in that needs nothing: says that it is one, and repeats the question.
fn echo() -> Rules {
    Rules::new("rules").rule_with(
        |_| true,
        |request, _| {
            let asked = request.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
            Reply::text(format!("(rules, no language model) {asked}"))
        },
    )
}

/// The answers of a file, one on each line.
fn replies(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(Code::ConfigInvalid, format!("answers in `{}` cannot be read: {}", path.display(), error.kind()))
    })?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}

fn refusing(name: &str, set: &Model, error: Error) -> SharedModel {
    let kind = match set.provider.as_str() {
        WEIGHTS => ModelKind::Weights,
        _ if is_remote(set) => ModelKind::Remote,
        _ => ModelKind::Rules,
    };
    Refusing { info: ModelInfo::new(set.provider.clone(), name.to_owned(), kind), error }.into()
}

/// A model that cannot be asked, and says why.
struct Refusing {
    info: ModelInfo,
    error: Error,
}

impl AnyModel for Refusing {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn answer(&self, _request: &Request, _out: &mut Pieces<'_>) -> Result<Answer> {
        Err(self.error.clone())
    }
}
