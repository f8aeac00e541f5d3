//! Scripted models: replies in order, recorded requests.

use serde_json::json;
use superstep::core::message::{TokenUsage, ToolCall};
use superstep::models::{
    ChatRequest, MessageChunk, Model, ModelErrorKind, ModelExt, ModelKind, ScriptedModel, ScriptedReply, StopReason,
    user_message_contains,
};
use superstep::{Error, ErrorCode, Message};

use super::call_with_listener;

/// R-FWK-76: replies of any kind are returned in order, and requests are recorded.
#[tokio::test]
async fn a_script_gives_its_answers_in_order() {
    let model = ScriptedModel::new(["first"])
        .then(ToolCall::new("c7", "look", json!({ "at": 1 })))
        .then(ModelErrorKind::RateLimited)
        .then(Error::new(ErrorCode::Timeout, "slow"))
        .then(Message::assistant("whole").with_name("ada"))
        .then_with(|request| ScriptedReply::text(format!("{} messages", request.messages.len())));
    let first = model.complete("1").await.unwrap();
    assert_eq!((first.message.text().into_owned(), &first.stop), ("first".to_owned(), &StopReason::End));
    let call = model.complete("2").await.unwrap();
    assert_eq!((call.message.tool_calls[0].id.as_str(), call.stop), ("c7", StopReason::ToolCalls));
    assert_eq!(ModelErrorKind::from_error(&model.complete("3").await.unwrap_err()), Some(ModelErrorKind::RateLimited));
    assert_eq!(model.complete("4").await.unwrap_err().code(), ErrorCode::Timeout);
    assert_eq!(model.complete("5").await.unwrap().message.name.as_deref(), Some("ada"));
    let two = ChatRequest::new([Message::system("short"), Message::user("6")]);
    assert_eq!(model.complete(two.clone()).await.unwrap().message.text(), "2 messages");
    assert_eq!((model.requests().len(), model.requests()[5].clone(), model.remaining()), (6, two, 0));
}

/// R-FWK-76: an exhausted script returns an error with the rejected request.
#[tokio::test]
async fn an_exhausted_script_returns_an_error() {
    let model = ScriptedModel::new(["only"]).with_name("planner");
    model.complete("first").await.unwrap();
    let error = model.complete("second").await.unwrap_err();
    assert!(!error.is_retryable());
    insta::assert_snapshot!(error, @"
    error[SS-027]: model `scripted/planner`: no reply left after 1; request 2 (`second`) requires one more
    help: add a reply to the script, or call the model less often
    ");
}

/// R-FWK-76: clones share one script and one list of requests.
#[tokio::test]
async fn clones_share_the_script() {
    let model = ScriptedModel::new(["1", "2"]);
    let other = model.clone();
    assert_eq!(other.complete("a").await.unwrap().message.text(), "1");
    assert_eq!(model.complete("b").await.unwrap().message.text(), "2");
    assert_eq!((model.requests(), model.remaining()), (vec!["a".into(), "b".into()], 0));
    assert_eq!(other.requests().len(), 2);
}

/// R-FWK-76: cases apply to all matching requests, any number of times and in any order.
#[tokio::test]
async fn cases_reply_to_all_matching_requests() {
    let watching = ScriptedModel::default();
    let (seen, model) = (watching.clone(), watching.clone());
    let model = model
        .when(user_message_contains("weather"), "It rains.")
        .when(|request| request.tools.len() > 3, ModelErrorKind::BadRequest)
        .when(move |_| seen.requests().len() == 4, "The fourth.")
        .then("From the script.");
    for (question, answered) in [
        ("How is the WEATHER?", "It rains."),
        ("And you?", "From the script."),
        ("The weather again", "It rains."),
        ("And now?", "The fourth."),
    ] {
        assert_eq!(model.complete(question).await.unwrap().message.text(), answered);
    }
    assert_eq!(model.complete("Nothing").await.unwrap_err().code(), ErrorCode::ConfigInvalid);
}

/// R-FWK-69, R-FWK-76: a response is streamed word by word or in given chunks, including tool calls; joined they are
/// the message.
#[tokio::test]
async fn an_answer_is_streamed_in_chunks() {
    let model = ScriptedModel::new(["It is  noon,\nfriend."]).then(ScriptedReply::chunks(["It", " is", " noon."]));
    let (listener, answer) = call_with_listener(model.clone(), "How late?").await;
    assert_eq!(listener.texts(), ["It ", "is ", " ", "noon,\n", "friend."]);
    assert_eq!(listener.texts().concat(), answer.unwrap().message.text());
    let (listener, answer) = call_with_listener(model.clone(), "How late?").await;
    assert_eq!(
        (listener.texts(), answer.unwrap().message.text().into_owned()),
        (vec!["It", " is", " noon."], "It is noon.".into())
    );

    let model = model.then(ScriptedReply::tool_call("clock", json!({})).and_tool_call("look", json!({ "at": "sky" })));
    let (listener, answer) = call_with_listener(model, "How late?").await;
    let answer = answer.unwrap();
    assert!(matches!(listener.0[0], MessageChunk::ToolCall(_)), "an empty text is not told");
    for (index, call) in answer.message.tool_calls.iter().enumerate() {
        let chunks: Vec<_> = listener.calls().into_iter().filter(|chunk| chunk.index == index).collect();
        assert_eq!((chunks[0].id.as_deref(), chunks[0].name.as_deref()), (Some(&*call.id), Some(&*call.name)));
        let args: String = chunks.iter().map(|chunk| chunk.args.as_str()).collect();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&args).unwrap(), call.args);
    }
}

/// R-FWK-76: calls without an id get an id that is new in the conversation.
#[tokio::test]
async fn calls_get_ids_that_are_new() {
    let model = ScriptedModel::new([
        ScriptedReply::tool_call("a", json!({})).and_tool_call("b", json!({})),
        ScriptedReply::tool_call("c", json!({})),
    ]);
    let first = model.complete("go").await.unwrap().message;
    let ids: Vec<_> = first.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_1", "call_2"]);
    let next = model.complete(ChatRequest::new([Message::user("go"), first])).await.unwrap();
    assert_eq!(next.message.tool_calls[0].id, "call_3");
}

/// R-FWK-67, R-FWK-75: a response names its model, and its usage is an estimate unless the script sets it.
#[tokio::test]
async fn a_response_names_its_model_and_usage() {
    let model = ScriptedModel::new(["12345678"])
        .then(ScriptedReply::text("x").with_usage(TokenUsage::new(7, 1)).with_stop(StopReason::Length));
    let answer = model.complete("12345678").await.unwrap();
    assert_eq!((answer.model.clone(), answer.model.kind), (model.info(), ModelKind::Rules));
    let usage = answer.usage();
    assert_eq!((usage.estimated, usage.input_tokens, usage.output_tokens), (true, 6, 6));
    let answer = model.complete("12345678").await.unwrap();
    assert_eq!((answer.usage(), answer.stop), (TokenUsage::new(7, 1), StopReason::Length));
}
