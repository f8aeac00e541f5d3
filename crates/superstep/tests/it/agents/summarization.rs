//! Summarization and clearing shorten long conversations, which stay valid.

use superstep::agents::{ClearToolUses, Summarization, react_agent};
use superstep::core::message::ToolCall;
use superstep::models::ToolChoice;
use superstep::tools::{ToolSet, ensure_tool_results};

use super::*;

/// A greeting, a turn with two calls, and the next message.
fn long() -> Vec<Message> {
    let call = |id: &str, city: &str| ToolCall::new(id, "weather", json!({ "city": city }));
    vec![
        Message::system("Be short."),
        Message::user("Hi"),
        Message::assistant("Hello"),
        Message::user("How is it in Rome and Oslo?"),
        Message::assistant("").with_tool_calls([call("c1", "Rome"), call("c2", "Oslo")]),
        Message::tool("c1", "18"),
        Message::tool("c2", "8"),
        Message::assistant("18 and 8."),
        Message::user("Thanks"),
    ]
}

/// R-FWK-66: summarized messages are replaced by one message at their position; a call stays with its results, and
/// system messages stay.
#[tokio::test]
async fn a_summary_keeps_calls_and_results_together() {
    let (writer, model) = (ScriptedModel::new(["They greeted."]), ScriptedModel::new(["You are welcome."]));
    let summary = Summarization::new(writer.clone()).trigger_messages(9).keep_last(3);
    let agent = react_agent(model.clone(), [weather()]).middleware(summary).compile().unwrap();
    let done = agent.invoke(long()).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        [
            "system: Be short.",
            "user: Summary of the conversation so far:\nThey greeted.",
            r#"model:  weather{"city":"Rome"} weather{"city":"Oslo"}"#,
            "tool: 18",
            "tool: 8",
            "model: 18 and 8.",
            "user: Thanks",
            "model: You are welcome."
        ]
    );
    ensure_tool_results(&done.state.messages).unwrap();
    assert_eq!(done.state.messages.get(1).unwrap().metadata["summary_of"], 3);
    let prompt = &writer.requests()[0].messages[1];
    assert_eq!(prompt.text(), "user: Hi\nassistant: Hello\nuser: How is it in Rome and Oslo?");
    assert_eq!(model.requests()[0].messages.len(), 7);
}

/// R-FWK-66, R-FWK-67: nothing is summarized below the thresholds, by messages or by tokens.
#[tokio::test]
async fn a_short_conversation_is_not_summarized() {
    for (summary, times) in [
        (Summarization::new(ScriptedModel::default()).trigger_messages(10), 0),
        (Summarization::new(ScriptedModel::default()).trigger_tokens(1_000), 0),
        (Summarization::new(ScriptedModel::new(["Short."])).trigger_tokens(20).keep_last(1), 1),
    ] {
        let agent = react_agent(ScriptedModel::new(["Yes."]), [weather()]).middleware(summary).compile().unwrap();
        let done = agent.invoke(long()).await.unwrap();
        let summaries = done.state.messages.iter().filter(|message| message.metadata.contains_key("summary_of"));
        assert_eq!(summaries.count(), times);
    }
}

/// R-FWK-66: a turn whose user message was summarized continues: its iterations count on.
#[tokio::test]
async fn a_summary_does_not_begin_a_turn() {
    let summary = Summarization::new(ScriptedModel::new(["Rome was asked for."])).trigger_messages(5).keep_last(1);
    let model = ScriptedModel::new([asks_for("Rome"), asks_for("Oslo"), ScriptedReply::from("18 everywhere.")]);
    let agent = react_agent(model.clone(), [weather()]).middleware(summary).max_iterations(3).compile().unwrap();
    let done = agent.invoke("Rome and Oslo?").await.unwrap();
    assert_eq!(done.state.messages.len(), 4);
    let choices: Vec<ToolChoice> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]);
}

/// R-FWK-66: old tool results are removed from a long request, and stay in the conversation.
#[tokio::test]
async fn old_results_are_left_out_of_the_request() {
    let model = ScriptedModel::new(["Yes."]);
    let clearing = ClearToolUses::trigger_tokens(10).keep_last(1);
    let agent = react_agent(model.clone(), ToolSet::default()).middleware(clearing).compile().unwrap();
    let done = agent.invoke(long()).await.unwrap();
    let messages = &model.requests()[0].messages;
    assert_eq!((messages[5].text(), messages[6].text()), ("[cleared]".into(), "8".into()));
    assert_eq!(done.state.messages.get(5).unwrap().text(), "18");
}
