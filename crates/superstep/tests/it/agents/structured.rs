//! Structured responses: requested by format or by tool, validated, corrected.

use superstep::agents::{ModelCallLimit, ResponseStrategy, react_agent};
use superstep::models::{ChatRequest, ModelErrorKind, ToolChoice};
use superstep::tools::ToolSet;
use superstep::{ErrorCode, JsonSchema};

use super::*;
use crate::support::expect_error;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Report {
    city: String,
    degrees: i32,
}

/// R-FWK-69, R-FWK-11: a model that supports a schema receives it in the request, and gets correction messages.
#[tokio::test]
async fn an_answer_by_format_is_checked_and_corrected() {
    let invalid = ScriptedReply::from(r#"{"city": "Paris", "degrees": "mild"}"#);
    let right = ScriptedReply::from(r#"{"city": "Paris", "degrees": 18}"#);
    let model = ScriptedModel::new([asks_for("Paris"), invalid, right]);
    let agent = react_agent(model.clone(), [weather()]).response_format::<Report>().compile().unwrap();
    let done = agent.invoke("How is it in Paris?").await.unwrap();
    assert_eq!(done.state.response::<Report>().unwrap(), Report { city: "Paris".to_owned(), degrees: 18 });
    assert_eq!(expect_error(done.state.response::<Vec<String>>()).code(), ErrorCode::OutputInvalid);
    let requests = model.requests();
    assert!(requests.iter().all(|request| request.format.as_ref().unwrap().name == "Report"));
    let correction = requests[2].messages.last().unwrap();
    assert!(correction.text().contains("/degrees"), "{}", correction.text());
    assert_eq!(correction.metadata["added_by"], "agent");
}

/// R-FWK-69, R-FWK-11: otherwise the response is a required tool call; a correction is the result of that call.
#[tokio::test]
async fn an_answer_by_tool_is_checked_and_corrected() {
    let model = ScriptedModel::new([
        asks_for("Paris"),
        ScriptedReply::from("It is mild."),
        ScriptedReply::tool_call("Report", json!({ "city": "Paris", "degrees": "mild" })),
        ScriptedReply::tool_call("Report", json!({ "city": "Paris", "degrees": 18 }))
            .and_tool_call("weather", json!({ "city": "Rome" })),
    ]);
    let agent = react_agent(model.clone(), [weather()])
        .response_format::<Report>()
        .response_strategy(ResponseStrategy::Tool)
        .compile()
        .unwrap();
    let done = agent.invoke("How is it in Paris?").await.unwrap();
    assert_eq!(done.state.structured_response, Some(json!({ "city": "Paris", "degrees": 18 })));
    let lines = transcript(&done.state.messages);
    assert_eq!(lines[4], "user: Return the response with a call of `Report`.");
    assert!(lines[6].contains("`degrees`: expected integer"), "{lines:?}");
    assert_eq!(lines[8..], ["tool: done", "tool: not executed: the response was already returned"]);
    let names = |request: &ChatRequest| request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let requests = model.requests();
    assert_eq!(
        (names(&requests[0]), &requests[0].tool_choice),
        (vec!["weather".into(), "Report".into()], &ToolChoice::Required)
    );
}

/// R-FWK-69: corrections are limited, and a limit of 1 means 1; in the last iteration only the response is permitted.
#[tokio::test]
async fn corrections_are_bounded() {
    let model = ScriptedModel::new(["mild", "warm", "hot"]);
    let agent = react_agent(model.clone(), ToolSet::default())
        .response_format::<Report>()
        .max_format_retries(1)
        .compile()
        .unwrap();
    let error = expect_error(agent.invoke("How is it?").await);
    assert_eq!(
        (error.code(), ModelErrorKind::from_error(&error)),
        (ErrorCode::ModelBadAnswer, Some(ModelErrorKind::InvalidResponse))
    );
    assert_eq!(model.remaining(), 1);

    let model = ScriptedModel::new([ScriptedReply::tool_call("Report", json!({ "city": "Rome", "degrees": 20 }))]);
    let agent =
        react_agent(model.clone(), [weather()]).response_format::<Report>().response_strategy(ResponseStrategy::Tool);
    let done = agent.max_iterations(1).compile().unwrap().invoke("How is it?").await.unwrap();
    assert_eq!(done.state.structured_response.as_ref().unwrap()["degrees"], 20);
    let request = &model.requests()[0];
    assert_eq!((request.tools.len(), &request.tool_choice), (1, &ToolChoice::Named("Report".into())));
}

/// R-FWK-11: a response belongs to its turn: the next turn starts without one. Only objects can be responses.
#[tokio::test]
async fn an_answer_is_of_one_turn() {
    let answer = |degrees: i32| json!({ "city": "Rome", "degrees": degrees }).to_string();
    let model = ScriptedModel::new([ScriptedReply::from(answer(1)), asks_for("Rome"), ScriptedReply::from(answer(2))]);
    let agent =
        react_agent(model.clone(), [weather()]).response_format::<Report>().checkpointer(MemoryCheckpointer::new());
    let agent = agent.compile().unwrap();
    agent.invoke("One?").thread("t").await.unwrap();
    let done = agent.invoke("Two?").thread("t").await.unwrap();
    assert_eq!(done.state.structured_response.as_ref().unwrap()["degrees"], 2);
    assert_eq!(model.remaining(), 0);
    let list = react_agent(ScriptedModel::default(), [weather()]).response_format::<Vec<String>>().compile();
    assert_eq!(expect_error(list.map(drop)).code(), ErrorCode::InvalidGraph);
}

/// R-FWK-11: if a hook ends the agent before the model is called, the response of an earlier turn does not remain.
#[tokio::test]
async fn a_hook_that_ends_the_agent_leaves_no_old_answer() {
    let model = ScriptedModel::new([json!({ "city": "Rome", "degrees": 1 }).to_string()]);
    let limit = ModelCallLimit::new().per_thread(1);
    let agent = react_agent(model, [weather()])
        .response_format::<Report>()
        .middleware(limit)
        .checkpointer(MemoryCheckpointer::new());
    let agent = agent.compile().unwrap();
    let one = agent.invoke("One?").thread("t").await.unwrap();
    assert_eq!(one.state.response::<Report>().unwrap().degrees, 1);
    let two = agent.invoke("Two?").thread("t").await.unwrap();
    assert!(two.state.messages.last().unwrap().text().starts_with("Stopped:"));
    assert_eq!(two.state.structured_response, None);
}

/// R-FWK-69: an agent without tools does not end with a tool call: the call is rejected, and the model is called
/// again.
#[tokio::test]
async fn a_call_of_an_agent_without_tools_is_no_answer() {
    let right = json!({ "city": "Paris", "degrees": 18 });
    let invalid = ScriptedReply::tool_call("Report", json!({ "city": "Paris" }))
        .and_tool_call("weather", json!({ "city": "Rome" }));
    for (by, replies, result_count) in [
        (ResponseStrategy::Provider, vec![asks_for("Paris"), ScriptedReply::from(right.to_string())], 1),
        (ResponseStrategy::Tool, vec![asks_for("Paris"), ScriptedReply::tool_call("Report", right.clone())], 1),
        (ResponseStrategy::Tool, vec![invalid, ScriptedReply::tool_call("Report", right.clone())], 2),
    ] {
        let model = ScriptedModel::new(replies);
        let agent = react_agent(model.clone(), ToolSet::default()).response_format::<Report>().response_strategy(by);
        let done = agent.compile().unwrap().invoke("How is it?").await.unwrap();
        assert_eq!(done.state.structured_response.as_ref(), Some(&right));
        let lines = transcript(&done.state.messages);
        assert!(
            lines[2..2 + result_count].contains(&"tool: not executed: the agent has no tools".to_owned()),
            "{lines:?}"
        );
        super::teams::requests(&model);
    }
    let endless = ScriptedModel::default().when(|_| true, asks_for("Rome"));
    let agent = react_agent(endless, ToolSet::default()).response_format::<Report>().compile().unwrap();
    assert_eq!(expect_error(agent.invoke("How is it?").await).code(), ErrorCode::ModelBadAnswer);
}
