//! Keys, names, proxies: what a model is set up with.

use serde_json::json;
use superstep_adapters::models::{self, Provider};
use superstep_core::error::Code;
use superstep_core::model::{Request, ToolChoice, Trouble};
use superstep_core::port::{Model, SharedModel};

use super::openai::completion;
use super::server::{Script, Server};
use super::{KEY, ask, weather};

async fn answering() -> Server {
    Server::start([Script::json(&completion(&json!({"role": "assistant", "content": "Hello."}), "stop"))]).await
}

/// R-FWK-71: without a key nothing is sent, and the error names the variable.
#[tokio::test]
async fn a_missing_key_is_named_and_nothing_is_sent() {
    let server = answering().await;
    let keyless = Provider::openai("m").base_url(&server.address).key_from("SUPERSTEP_TEST_NO_SUCH_KEY");
    let error = ask(&keyless, &Request::from("Hi")).await.unwrap_err();
    assert_eq!((Trouble::of(&error), error.code()), (Some(Trouble::NoKey), Code::ModelAuth));
    assert!(error.to_string().matches("`SUPERSTEP_TEST_NO_SUCH_KEY`").count() == 2, "{error}");
    assert!(!error.is_retryable());
    let empty = ask(&keyless.clone().key(" "), &Request::from("Hi")).await.unwrap_err();
    assert_eq!(Trouble::of(&empty), Some(Trouble::NoKey));
    assert_eq!(server.count(), 0);
    let local = Provider::compatible(&server.address, "m").key("");
    ask(&local, &Request::from("Hi")).await.unwrap();
    assert_eq!(server.last().head("authorization"), None);
}

/// R-FWK-70: a key comes out of the environment, and is in no text that a program might print.
#[tokio::test]
async fn a_key_comes_from_the_environment_and_is_not_shown() {
    let server = answering().await;
    // A variable that every test has.
    let key = std::env::var("CARGO_PKG_NAME").unwrap();
    let found = Provider::openai("m").base_url(&server.address).key_from("CARGO_PKG_NAME");
    ask(&found, &Request::from("Hi")).await.unwrap();
    assert_eq!(server.last().head("authorization"), Some(format!("Bearer {key}").as_str()));

    let model = Provider::openai("m")
        .key(KEY)
        .header("x-gateway", "gateway-secret")
        .proxy("http://me:proxy-secret@127.0.0.1:1")
        .base_url("https://me:address-secret@models.example/v1?token=query-secret");
    let shown = format!("{model:?} {:?}", SharedModel::from(model.clone()));
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("openai/m (remote)") && shown.contains("https://models.example"), "{shown}");
    let error = ask(&model, &Request::from("Hi")).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    assert_eq!(Trouble::of(&error), Some(Trouble::NoNetwork), "{error}");
}

/// R-FWK-70, R-FWK-75: settings and command lines name a service and its model; what is not known is answered with what is.
#[test]
fn a_name_makes_a_model() {
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
        ("azure/support-bot", "`AZURE_OPENAI_ENDPOINT`"),
    ];
    let is_azure_known = std::env::var_os("AZURE_OPENAI_ENDPOINT").is_some();
    for (name, advice) in rows.into_iter().filter(|(name, _)| !(is_azure_known && name.starts_with("azure"))) {
        let error = models::from_name(name).unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid);
        assert!(error.to_string().contains(advice), "{error}");
    }
}

/// R-FWK-70: a proxy is a setting; every request goes through it.
#[tokio::test]
async fn requests_go_through_the_proxy() {
    let proxy = answering().await;
    let model = Provider::openai("m").key(KEY).base_url("http://models.example/v1").proxy(&proxy.address);
    ask(&model, &Request::from("Hi")).await.unwrap();
    assert_eq!(proxy.last().line, "POST http://models.example/v1/chat/completions");
    let wrong = ask(&model.proxy("::"), &Request::from("Hi")).await.unwrap_err();
    assert_eq!(wrong.code(), Code::ConfigInvalid, "{wrong}");
}

/// R-FWK-69, R-FWK-71: what cannot be asked is refused before anything is sent.
#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let server = answering().await;
    let model = || Provider::openai("m").key(KEY).base_url(&server.address);
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    let none: [superstep_core::message::Message; 0] = [];
    let rows = [
        (model(), Request::new(none), "nothing to answer"),
        (model(), Request::from("Hi").tool_choice(ToolChoice::Required), "there is none"),
        (model(), Request::from("Hi").tools([weather()]).tool_choice(named("wether")), "did you mean `weather`?"),
        (model().key("two\nlines-0123456789"), Request::from("Hi"), "a line break"),
        (model().header("no name", "x"), Request::from("Hi"), "look at the key"),
        (Provider::compatible("models.example/v1", "m"), Request::from("Hi"), "not an address"),
    ];
    for (model, request, why) in rows {
        let error = ask(&model, &request).await.unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid, "{error}");
        assert!(error.to_string().contains(why) && !error.to_string().contains("0123456789"), "{error}");
    }
    assert_eq!(server.count(), 0);
}
