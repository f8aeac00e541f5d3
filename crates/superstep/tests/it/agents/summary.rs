//! Long conversations become short ones, and stay valid.

use superstep::agent::{ClearToolResults, Summarize, react_agent};
use superstep::core::message::ToolCall;
use superstep::model::ToolChoice;
use superstep::tool::{Tools, ensure_answered};

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

/// R-FWK-66: what is summed up is replaced by one message in its place; a call stays with its results, and what the
/// system says stays.
#[tokio::test]
async fn a_summary_keeps_calls_and_results_together() {
    let (writer, model) = (Scripted::new(["They greeted."]), Scripted::new(["You are welcome."]));
    let summary = Summarize::with(writer.clone()).at_messages(9).keep(3);
    let agent = react_agent(model.clone(), [weather()]).middleware(summary).compile().unwrap();
    let done = agent.run(long()).await.unwrap();
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
    ensure_answered(&done.state.messages).unwrap();
    assert_eq!(done.state.messages.get(1).unwrap().metadata["summary_of"], 3);
    let asked = &writer.requests()[0].messages[1];
    assert_eq!(asked.text(), "user: Hi\nassistant: Hello\nuser: How is it in Rome and Oslo?");
    assert_eq!(model.requests()[0].messages.len(), 7);
}

/// R-FWK-66, R-FWK-67: nothing is summed up below the thresholds, by messages or by tokens.
#[tokio::test]
async fn a_short_conversation_is_left_alone() {
    for (summary, times) in [
        (Summarize::with(Scripted::default()).at_messages(10), 0),
        (Summarize::with(Scripted::default()).at_tokens(1_000), 0),
        (Summarize::with(Scripted::new(["Short."])).at_tokens(20).keep(1), 1),
    ] {
        let agent = react_agent(Scripted::new(["Yes."]), [weather()]).middleware(summary).compile().unwrap();
        let done = agent.run(long()).await.unwrap();
        let summaries = done.state.messages.iter().filter(|message| message.metadata.contains_key("summary_of"));
        assert_eq!(summaries.count(), times);
    }
}

/// R-FWK-66: a turn whose question was summed up is still the same turn: its rounds go on.
#[tokio::test]
async fn a_summary_does_not_begin_a_turn() {
    let summary = Summarize::with(Scripted::new(["Rome was asked for."])).at_messages(5).keep(1);
    let model = Scripted::new([asks_for("Rome"), asks_for("Oslo"), Reply::from("18 everywhere.")]);
    let agent = react_agent(model.clone(), [weather()]).middleware(summary).max_rounds(3).compile().unwrap();
    let done = agent.run("Rome and Oslo?").await.unwrap();
    assert_eq!(done.state.messages.len(), 4);
    let choices: Vec<ToolChoice> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]);
}

/// R-FWK-66: old results are left out of a long request, and stay in the conversation.
#[tokio::test]
async fn old_results_are_left_out_of_the_request() {
    let model = Scripted::new(["Yes."]);
    let clearing = ClearToolResults::at_tokens(10).keep(1);
    let agent = react_agent(model.clone(), Tools::default()).middleware(clearing).compile().unwrap();
    let done = agent.run(long()).await.unwrap();
    let asked = &model.requests()[0].messages;
    assert_eq!((asked[5].text(), asked[6].text()), ("[cleared]".into(), "8".into()));
    assert_eq!(done.state.messages.get(5).unwrap().text(), "18");
}
