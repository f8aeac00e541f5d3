//! The models of the settings, made ready to be asked.
//!
//! A model that cannot be asked (no such kind in this program, no file, `--offline`) refuses when it is asked, and not
//! before: a graph that does not ask it runs all the same.

use std::path::Path;

use superstep::core::model::{Answer, ModelInfo, ModelKind, Request};
use superstep::core::port::{Model as AnyModel, Pieces, SharedModel};
use superstep::model::{Replay, Reply, Rules, Scripted};
use superstep::providers::Provider;
use superstep::settings::Model;
use superstep::{Code, Error, Result};

use crate::setup::Setup;

/// What Azure's interface is asked for.
const AZURE_VERSION: &str = "2024-10-21";

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
    let model = || set.model.clone().unwrap_or_default();
    let file = || {
        let file = set.model.as_deref().ok_or_else(|| {
            Error::new(Code::ConfigInvalid, format!("model `{name}` names no file"))
                .help(format!("set `models.{name}.model` to the file with its answers"))
        });
        file.map(|file| setup.folder.join(file))
    };
    let provider = match set.provider.as_str() {
        "anthropic" => Provider::anthropic(model()),
        "google" => Provider::google(model()),
        "openai" => return Ok(with_key(openai(set, model()), set).into()),
        "azure" => {
            let url = set.base_url.as_ref().ok_or_else(|| {
                Error::new(Code::ConfigInvalid, format!("nobody says where model `{name}` is"))
                    .help(format!("set `models.{name}.base_url` to the endpoint of the resource"))
            })?;
            return Ok(with_key(Provider::azure(url.expose(), model(), AZURE_VERSION), set).into());
        }
        "local/rules" => return Ok(echo().into()),
        "scripted" => return Ok(Scripted::new(replies(&file()?)?).named(name).into()),
        "replay" => return Ok(Replay::open(file()?)?.into()),
        other => {
            let message = format!("this program cannot ask model `{name}` of `{other}`");
            return Err(Error::new(Code::ModelUnavailable, message).help("choose another `provider`"));
        }
    };
    let provider = set.base_url.iter().fold(provider, |provider, url| provider.base_url(url.expose()));
    Ok(with_key(provider, set).into())
}

/// At another address the key of OpenAI has no business, so it is not looked for.
fn openai(set: &Model, model: String) -> Provider {
    match &set.base_url {
        Some(url) => Provider::compatible(url.expose(), model),
        None => Provider::openai(model),
    }
}

fn with_key(provider: Provider, set: &Model) -> Provider {
    set.api_key.iter().fold(provider, |provider, key| provider.key(key.expose()))
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
