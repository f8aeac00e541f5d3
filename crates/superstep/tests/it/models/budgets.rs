//! What a call may take.

use std::time::Duration;

use superstep::core::message::Usage;
use superstep::model::{
    Answer, Budget, Model, ModelExt, ModelInfo, ModelKind, Pieces, Price, Prices, Request, Scripted, Trouble,
};
use superstep::testing::ManualClock;
use superstep::{Code, Result};

use super::Remote;

fn remote() -> (Scripted, Remote) {
    let script = Scripted::new(["Noon."; 3]);
    (script.clone(), Remote("large", script))
}

/// R-FWK-72: what is left of the tokens is the longest answer; where reading takes all of them nothing is sent.
#[tokio::test]
async fn tokens_limit_what_is_read_and_written() {
    // 8 letters are 2 tokens, and a message has 4 of its own.
    let (script, model) = remote();
    let model = model.budget(Budget::new().tokens(10));
    model.complete("12345678").await.unwrap();
    model.complete(Request::from("12345678").max_tokens(3)).await.unwrap();
    model.complete(Request::from("12345678").max_tokens(300)).await.unwrap();
    let lengths: Vec<_> = script.requests().iter().map(|request| request.max_tokens).collect();
    assert_eq!(lengths, [Some(4), Some(3), Some(4)]);

    let error = model.complete("123456789012345678901234").await.unwrap_err();
    assert_eq!((Trouble::of(&error), error.code()), (Some(Trouble::OverBudget), Code::TooLarge));
    assert!(error.message().contains("about 10 tokens") && !error.is_retryable(), "{error}");
    assert_eq!(script.requests().len(), 3, "nothing was sent");
}

/// R-FWK-72: money limits the answer by the prices; without limits a request goes out as it is.
#[tokio::test]
async fn money_limits_the_answer_by_its_price() {
    let prices = Prices::new().with("test/large", Price::new(100.0, 200.0));
    // Reading 6 tokens costs 0.06 cents, each token that is written 0.02.
    let rows = [(0.5, Some(22)), (0.09, Some(1))];
    for (cents, length) in rows {
        let (script, model) = remote();
        let model = model.budget(Budget::new().cents(cents)).prices(prices.clone());
        model.complete("12345678").await.unwrap();
        assert_eq!(script.requests()[0].max_tokens, length, "{cents}");
    }
    let (script, model) = remote();
    let model = model.budget(Budget::new().cents(0.07)).prices(prices);
    assert_eq!(Trouble::of(&model.complete("12345678").await.unwrap_err()), Some(Trouble::OverBudget));
    assert_eq!(script.requests().len(), 0);

    let (script, model) = remote();
    model.budget(Budget::new()).complete("12345678").await.unwrap();
    assert_eq!(script.requests(), [Request::from("12345678")]);
}

/// R-FWK-72: of two limits the narrower counts.
#[tokio::test]
async fn the_narrower_limit_counts() {
    let prices = Prices::new().with("test/large", Price::new(0.0, 100.0));
    for (tokens, cents, length) in [(10, 1.0, 4), (1_000, 0.02, 2)] {
        let (script, model) = remote();
        let model = model.budget(Budget::new().tokens(tokens).cents(cents)).prices(prices.clone());
        model.complete("12345678").await.unwrap();
        assert_eq!(script.requests()[0].max_tokens, Some(length));
    }
}

/// R-FWK-72: a budget in money needs a price, and the refusal names the model; what runs here costs nothing.
#[tokio::test]
async fn money_needs_a_price() {
    let (script, model) = remote();
    let error = model.budget(Budget::new().cents(1.0)).complete("hi").await.unwrap_err();
    assert_eq!((error.code(), script.requests().len()), (Code::ConfigInvalid, 0));
    assert!(error.message().contains("`test/large`"), "{error}");
    let (script, _) = remote();
    script.clone().budget(Budget::new().cents(0.0)).complete("hi").await.unwrap();
    assert_eq!(script.requests()[0].max_tokens, None);
}

/// A model that never answers.
#[derive(Clone)]
struct Silent;

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "silent", ModelKind::Remote)
    }

    async fn answer(&self, _: &Request, _: &mut Pieces<'_>) -> Result<Answer> {
        std::future::pending().await
    }
}

/// R-FWK-72: a call that takes too long is given up, by the clock.
#[tokio::test]
async fn time_ends_a_call() {
    let clock = ManualClock::new();
    let model = Silent.budget(Budget::new().time(Duration::from_secs(20))).clock(clock.clone());
    let asked = tokio::spawn(async move { model.complete("hi").await });
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(19));
    crate::engine::settle().await;
    assert!(!asked.is_finished());
    clock.advance(Duration::from_secs(1));
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!((Trouble::of(&error), error.code()), (Some(Trouble::TooSlow), Code::Timeout));
    assert!(error.message().contains("20s"), "{error}");
    assert_eq!(clock.sleepers(), 0);
}

/// R-FWK-72: prices are read from TOML and can be changed; what is wrong is refused by name.
#[test]
fn prices_are_a_table_that_can_be_changed() {
    let mut prices = Prices::from_toml("['groq/llama']\ninput = 0.05\noutput = 8\n").unwrap();
    let model = ModelInfo::new("groq", "llama", ModelKind::Remote);
    let usage = Usage::new(1_000_000, 500_000);
    assert_eq!(prices.cost(&usage, &model), Some(405.0));
    assert_eq!(prices.set("groq/llama", Price::new(0.0, 1.0)), Some(Price::new(0.05, 8.0)));
    assert_eq!(prices.cost(&usage, &model), Some(50.0));
    assert_eq!(prices.models().collect::<Vec<_>>(), ["groq/llama"]);
    prices.remove("groq/llama");
    assert_eq!(prices.cost(&usage, &model), None);
    assert_eq!(prices.cost(&usage, &ModelInfo::new("local", "rules", ModelKind::Rules)), Some(0.0));

    let wrong = Prices::from_toml("[llama]\ninput = 1\noutput = 1\n['a/b']\ninput = -1\noutput = 1\n").unwrap_err();
    assert_eq!((wrong.code(), wrong.problems().len()), (Code::ConfigInvalid, 2));
    for text in ["['a/b']\ninput = 1\n", "['a/b']\ninput = 1\noutput = 1\ncached = 1\n", "prices"] {
        assert_eq!(Prices::from_toml(text).unwrap_err().code(), Code::ConfigInvalid, "{text}");
    }
}

/// R-FWK-72: prices live in a file.
#[test]
fn prices_are_loaded_from_a_file() {
    let folder = super::replaying::Folder::new("prices");
    let path = folder.path("prices.toml");
    std::fs::write(&path, "['a/b']\ninput = 1\noutput = 2\n").unwrap();
    assert_eq!(Prices::load(&path).unwrap(), Prices::new().with("a/b", Price::new(1.0, 2.0)));
    let error = Prices::load(folder.path("none.toml")).unwrap_err();
    assert!(error.code() == Code::ConfigInvalid && error.message().contains("none.toml"), "{error}");
}
