//! Rule-based models.

use proptest::prelude::*;
use serde_json::json;
use superstep::core::testing::block_on;
use superstep::models::{
    ChatRequest, Model, ModelExt, ModelKind, RuleBasedModel, ScriptedReply, StopReason, last_message_is_tool_result,
    user_message_contains,
};
use superstep::{ErrorCode, Message};

use super::call_with_listener;

fn weather() -> RuleBasedModel {
    RuleBasedModel::new("weather")
        .rule_with(last_message_is_tool_result("weather"), |request, _| {
            ScriptedReply::text(format!("It says: {}", request.messages.last().unwrap().text()))
        })
        .rule(user_message_contains("weather"), ScriptedReply::tool_call("weather", json!({ "city": "Paris" })))
        .default_reply("Ask about the weather.")
}

fn dice() -> RuleBasedModel {
    RuleBasedModel::from_fn(|_, dice| ScriptedReply::text(dice.below(1_000_000).to_string()))
}

/// R-FWK-73: rules call tools, respond with their results, and stream word by word.
#[tokio::test]
async fn rules_call_tools_and_answer_with_their_results() {
    let rules = weather();
    let (question, call) = (Message::user("How is the weather?"), rules.complete("How is the weather?").await.unwrap());
    assert_eq!(call.stop, StopReason::ToolCalls);
    let result = Message::tool(call.message.tool_calls[0].id.clone(), "rain until noon");
    let (listener, answer) =
        call_with_listener(rules.clone(), ChatRequest::new([question, call.message, result])).await;
    assert_eq!(listener.texts(), ["It ", "says: ", "rain ", "until ", "noon"]);
    assert_eq!(answer.unwrap().message.text(), "It says: rain until noon");
    assert_eq!(rules.complete("Hello").await.unwrap().message.text(), "Ask about the weather.");
}

/// R-FWK-73, R-FWK-75: rule-based models identify themselves as rules, and report estimated tokens.
#[tokio::test]
async fn rules_are_called_rules() {
    assert_eq!(dice().info().to_string(), "local/rules (rules)");
    let answer = weather().complete("Hello").await.unwrap();
    assert_eq!((answer.model.to_string().as_str(), answer.model.kind), ("local/weather (rules)", ModelKind::Rules));
    assert!(answer.usage().estimated);
}

/// R-FWK-73: a request that no rule matches is rejected.
#[tokio::test]
async fn a_request_without_a_rule_is_rejected() {
    let error = RuleBasedModel::new("narrow")
        .rule(user_message_contains("weather"), "Rain.")
        .complete("Hello")
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    assert!(error.message().contains("local/narrow") && error.help().unwrap().contains("default_reply"), "{error}");
}

fn roll(rules: &RuleBasedModel, text: &str, seed: Option<u64>) -> String {
    let mut request = ChatRequest::from(text);
    request.seed = seed;
    block_on(rules.complete(request)).unwrap().message.text().into_owned()
}

/// R-FWK-73: another seed produces other random numbers; the seed of the request takes precedence over that of the
/// model.
#[test]
fn another_seed_is_another_chance() {
    let rules = dice();
    assert_ne!(roll(&rules, "roll", None), roll(&rules.clone().seed(1), "roll", None));
    assert_ne!(roll(&rules, "roll", Some(1)), roll(&rules, "roll", Some(2)));
    assert_eq!(roll(&rules, "roll", Some(2)), roll(&rules.clone().seed(9), "roll", Some(2)));
    assert_ne!(roll(&rules, "roll", None), roll(&rules, "roll again", None));
}

proptest! {
    /// R-FWK-73: for a seed, the same request has the same response, in any order of requests.
    #[test]
    fn the_same_seed_gives_the_same_answers(seed: u64, questions in proptest::collection::vec("[a-z ]{0,12}", 1..6)) {
        let (one, other) = (dice().seed(seed), dice().seed(seed));
        let forward: Vec<String> = questions.iter().map(|text| roll(&one, text, None)).collect();
        let mut backward: Vec<String> = questions.iter().rev().map(|text| roll(&other, text, None)).collect();
        backward.reverse();
        prop_assert_eq!(forward, backward);
    }
}
