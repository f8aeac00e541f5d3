//! Keys, model names and proxies.

use serde_json::json;
use superstep_adapters::models::{self, ProviderModel};
use superstep_core::error::ErrorCode;
use superstep_core::model::{ChatRequest, ModelErrorKind, ToolChoice};
use superstep_core::port::{Model, SharedModel};

use super::openai::completion;
use super::server::{ScriptedResponse, Server};
use super::{KEY, generate, weather};

async fn answering() -> Server {
    Server::start([ScriptedResponse::json(&completion(&json!({"role": "assistant", "content": "Hello."}), "stop"))])
        .await
}

/// R-FWK-71: without a key nothing is sent, and the error names the environment variable.
#[tokio::test]
async fn a_missing_key_is_named_and_nothing_is_sent() {
    let server = answering().await;
    let keyless = ProviderModel::openai("m").base_url(&server.address).api_key_env("SUPERSTEP_TEST_NO_SUCH_KEY");
    let error = generate(&keyless, &ChatRequest::from("Hi")).await.unwrap_err();
    assert_eq!(
        (ModelErrorKind::from_error(&error), error.code()),
        (Some(ModelErrorKind::MissingApiKey), ErrorCode::ModelAuth)
    );
    assert!(error.to_string().matches("`SUPERSTEP_TEST_NO_SUCH_KEY`").count() == 2, "{error}");
    assert!(!error.is_retryable());
    let empty = generate(&keyless.clone().api_key(" "), &ChatRequest::from("Hi")).await.unwrap_err();
    assert_eq!(ModelErrorKind::from_error(&empty), Some(ModelErrorKind::MissingApiKey));
    assert_eq!(server.count(), 0);
    let local = ProviderModel::openai_compatible(&server.address, "m").api_key("");
    generate(&local, &ChatRequest::from("Hi")).await.unwrap();
    assert_eq!(server.last().header("authorization"), None);
}

/// R-FWK-70: a key is read from the environment and appears in no debug output.
#[tokio::test]
async fn keys_are_read_from_the_environment_and_not_printed() {
    let server = answering().await;
    // A variable that is always set in tests.
    let key = std::env::var("CARGO_PKG_NAME").unwrap();
    let from_env = ProviderModel::openai("m").base_url(&server.address).api_key_env("CARGO_PKG_NAME");
    generate(&from_env, &ChatRequest::from("Hi")).await.unwrap();
    assert_eq!(server.last().header("authorization"), Some(format!("Bearer {key}").as_str()));

    let model = ProviderModel::openai("m")
        .api_key(KEY)
        .header("x-gateway", "gateway-secret")
        .proxy("http://me:proxy-secret@127.0.0.1:1")
        .base_url("https://me:address-secret@models.example/v1?token=query-secret");
    let text = format!("{model:?} {:?}", SharedModel::from(model.clone()));
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("openai/m (remote)") && text.contains("https://models.example"), "{text}");
    let error = generate(&model, &ChatRequest::from("Hi")).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::Connection), "{error}");
}

/// R-FWK-70, R-FWK-75: a name in settings selects provider and model; an unknown provider results in a suggestion.
#[test]
fn a_name_selects_provider_and_model() {
    for name in ["openai/gpt-4.1", "groq/llama-3.1-8b-instant", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro"]
    {
        assert_eq!(models::from_name(name).unwrap().info().to_string(), format!("{name} (remote)"));
    }
    let nested = models::from_name("ollama/hf.co/some/model:1b").unwrap();
    assert_eq!(&*nested.info().name, "hf.co/some/model:1b");
    let rows = [
        ("opnai/gpt-4.1", "did you mean `openai`?"),
        ("mistral/large", "known: `openai`, `groq`, `azure`, `anthropic`, `google`, `ollama`"),
        ("gpt-4.1", "`groq/llama-3.1-8b-instant`"),
        ("openai/", "`groq/llama-3.1-8b-instant`"),
    ];
    for (name, advice) in rows {
        let error = models::from_name(name).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert!(error.to_string().contains(advice), "{error}");
    }
}

/// R-FWK-70: every request uses the configured proxy.
#[tokio::test]
async fn requests_use_the_proxy() {
    let proxy = answering().await;
    let model = ProviderModel::openai("m").api_key(KEY).base_url("http://models.example/v1").proxy(&proxy.address);
    generate(&model, &ChatRequest::from("Hi")).await.unwrap();
    assert_eq!(proxy.last().line, "POST http://models.example/v1/chat/completions");
    let error = generate(&model.proxy("::"), &ChatRequest::from("Hi")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
}

/// R-FWK-69: an unsupported request is rejected before it is sent.
#[tokio::test]
async fn unsupported_requests_are_rejected() {
    let server = answering().await;
    let model = || ProviderModel::openai("m").api_key(KEY).base_url(&server.address);
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    let none: [superstep_core::message::Message; 0] = [];
    let rows = [
        (model(), ChatRequest::new(none), "no messages"),
        (model(), ChatRequest::from("Hi").tool_choice(ToolChoice::Required), "has no tools"),
        (model(), ChatRequest::from("Hi").tools([weather()]).tool_choice(named("wether")), "did you mean `weather`?"),
        (model().api_key("two\nlines-0123456789"), ChatRequest::from("Hi"), "line breaks"),
        (model().header("no name", "x"), ChatRequest::from("Hi"), "check the API key"),
        (ProviderModel::openai_compatible("models.example/v1", "m"), ChatRequest::from("Hi"), "not a valid URL"),
    ];
    for (model, request, expected) in rows {
        let error = generate(&model, &request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
        assert!(error.to_string().contains(expected) && !error.to_string().contains("0123456789"), "{error}");
    }
    assert_eq!(server.count(), 0);
}
