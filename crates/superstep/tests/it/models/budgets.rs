//! Budgets of model calls.

use std::time::Duration;

use superstep::core::message::TokenUsage;
use superstep::models::{
    CallBudget, ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelExt, ModelInfo, ModelKind, Price,
    Prices, ScriptedModel,
};
use superstep::testing::ManualClock;
use superstep::{ErrorCode, Result};

use super::RemoteScriptedModel;

fn remote() -> (ScriptedModel, RemoteScriptedModel) {
    let script = ScriptedModel::new(["Noon."; 3]);
    (script.clone(), RemoteScriptedModel("large", script))
}

/// R-FWK-72: the remaining tokens limit the response; if the input takes all of them, nothing is sent.
#[tokio::test]
async fn a_token_budget_limits_input_and_output() {
    // 8 characters are 2 tokens, and a message has 4 additional ones.
    let (script, model) = remote();
    let model = model.with_budget(CallBudget::new().tokens(10));
    model.complete("12345678").await.unwrap();
    model.complete(ChatRequest::from("12345678").max_tokens(3)).await.unwrap();
    model.complete(ChatRequest::from("12345678").max_tokens(300)).await.unwrap();
    let lengths: Vec<_> = script.requests().iter().map(|request| request.max_tokens).collect();
    assert_eq!(lengths, [Some(4), Some(3), Some(4)]);

    let error = model.complete("123456789012345678901234").await.unwrap_err();
    assert_eq!(
        (ModelErrorKind::from_error(&error), error.code()),
        (Some(ModelErrorKind::BudgetExceeded), ErrorCode::TooLarge)
    );
    assert!(error.message().contains("about 10 input tokens") && !error.is_retryable(), "{error}");
    assert_eq!(script.requests().len(), 3, "nothing was sent");
}

/// R-FWK-72: a cost budget limits the response by the prices; without a budget a request is sent unchanged.
#[tokio::test]
async fn money_limits_the_answer_by_its_price() {
    let prices = Prices::new().with_price("test/large", Price::new(100.0, 200.0));
    // 6 input tokens cost 0.06 cents, each output token 0.02.
    let rows = [(0.5, Some(22)), (0.09, Some(1))];
    for (cents, length) in rows {
        let (script, model) = remote();
        let model = model.with_budget(CallBudget::new().cents(cents)).prices(prices.clone());
        model.complete("12345678").await.unwrap();
        assert_eq!(script.requests()[0].max_tokens, length, "{cents}");
    }
    let (script, model) = remote();
    let model = model.with_budget(CallBudget::new().cents(0.07)).prices(prices);
    assert_eq!(
        ModelErrorKind::from_error(&model.complete("12345678").await.unwrap_err()),
        Some(ModelErrorKind::BudgetExceeded)
    );
    assert_eq!(script.requests().len(), 0);

    let (script, model) = remote();
    model.with_budget(CallBudget::new()).complete("12345678").await.unwrap();
    assert_eq!(script.requests(), [ChatRequest::from("12345678")]);
}

/// R-FWK-72: of two limits the stricter one applies.
#[tokio::test]
async fn the_stricter_limit_applies() {
    let prices = Prices::new().with_price("test/large", Price::new(0.0, 100.0));
    for (tokens, cents, length) in [(10, 1.0, 4), (1_000, 0.02, 2)] {
        let (script, model) = remote();
        let model = model.with_budget(CallBudget::new().tokens(tokens).cents(cents)).prices(prices.clone());
        model.complete("12345678").await.unwrap();
        assert_eq!(script.requests()[0].max_tokens, Some(length));
    }
}

/// R-FWK-72: a cost budget requires a price, and the error names the model; models in this process cost nothing.
#[tokio::test]
async fn money_needs_a_price() {
    let (script, model) = remote();
    let error = model.with_budget(CallBudget::new().cents(1.0)).complete("hi").await.unwrap_err();
    assert_eq!((error.code(), script.requests().len()), (ErrorCode::ConfigInvalid, 0));
    assert!(error.message().contains("`test/large`"), "{error}");
    let (script, _) = remote();
    script.clone().with_budget(CallBudget::new().cents(0.0)).complete("hi").await.unwrap();
    assert_eq!(script.requests()[0].max_tokens, None);
}

/// A model that never responds.
#[derive(Clone)]
struct Silent;

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "silent", ModelKind::Remote)
    }

    async fn generate(&self, _: &ChatRequest, _: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        std::future::pending().await
    }
}

/// R-FWK-72: a call that exceeds its time limit is cancelled, by the clock.
#[tokio::test]
async fn time_ends_a_call() {
    let clock = ManualClock::new();
    let model = Silent.with_budget(CallBudget::new().time(Duration::from_secs(20))).clock(clock.clone());
    let call = tokio::spawn(async move { model.complete("hi").await });
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(19));
    crate::fixtures::settle().await;
    assert!(!call.is_finished());
    clock.advance(Duration::from_secs(1));
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((ModelErrorKind::from_error(&error), error.code()), (Some(ModelErrorKind::Timeout), ErrorCode::Timeout));
    assert!(error.message().contains("20s"), "{error}");
    assert_eq!(clock.sleepers(), 0);
}

/// R-FWK-72: prices are parsed from TOML and can be changed; invalid ones are rejected by name.
#[test]
fn prices_are_a_table_that_can_be_changed() {
    let mut prices = Prices::from_toml("['groq/llama']\ninput = 0.05\noutput = 8\n").unwrap();
    let model = ModelInfo::new("groq", "llama", ModelKind::Remote);
    let usage = TokenUsage::new(1_000_000, 500_000);
    assert_eq!(prices.cost(&usage, &model), Some(405.0));
    assert_eq!(prices.set("groq/llama", Price::new(0.0, 1.0)), Some(Price::new(0.05, 8.0)));
    assert_eq!(prices.cost(&usage, &model), Some(50.0));
    assert_eq!(prices.models().collect::<Vec<_>>(), ["groq/llama"]);
    prices.remove("groq/llama");
    assert_eq!(prices.cost(&usage, &model), None);
    assert_eq!(prices.cost(&usage, &ModelInfo::new("local", "rules", ModelKind::Rules)), Some(0.0));

    let error = Prices::from_toml("[llama]\ninput = 1\noutput = 1\n['a/b']\ninput = -1\noutput = 1\n").unwrap_err();
    assert_eq!((error.code(), error.diagnostics().len()), (ErrorCode::ConfigInvalid, 2));
    for text in ["['a/b']\ninput = 1\n", "['a/b']\ninput = 1\noutput = 1\ncached = 1\n", "prices"] {
        assert_eq!(Prices::from_toml(text).unwrap_err().code(), ErrorCode::ConfigInvalid, "{text}");
    }
}

/// R-FWK-72: prices can be read from a file.
#[test]
fn prices_are_loaded_from_a_file() {
    let folder = super::recording::Folder::new("prices");
    let path = folder.path("prices.toml");
    std::fs::write(&path, "['a/b']\ninput = 1\noutput = 2\n").unwrap();
    assert_eq!(Prices::load(&path).unwrap(), Prices::new().with_price("a/b", Price::new(1.0, 2.0)));
    let error = Prices::load(folder.path("none.toml")).unwrap_err();
    assert!(error.code() == ErrorCode::ConfigInvalid && error.message().contains("none.toml"), "{error}");
}
