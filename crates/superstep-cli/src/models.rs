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
use superstep_server::provider;

use crate::setup::Setup;

/// The model of this name.
pub(crate) fn model(setup: &Setup, name: &str, set: &Model) -> SharedModel {
    if setup.is_offline && is_remote(set) {
        let message = format!("model `{name}` is asked over the network, and `--offline` forbids it");
        let error = Error::new(Code::PolicyRefused, message).help("use a model with `provider = \"local/rules\"`");
        return refusing(name, set, error);
    }
    made(setup, name, set).unwrap_or_else(|error| refusing(name, set, error))
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

fn made(setup: &Setup, name: &str, set: &Model) -> Result<SharedModel> {
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
    let kind = if is_remote(set) { ModelKind::Remote } else { ModelKind::Rules };
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
