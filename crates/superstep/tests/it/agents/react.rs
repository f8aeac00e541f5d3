//! The agent loop: model, tools, end.

use superstep::agents::{AgentState, react_agent};
use superstep::core::message::ToolStatus;
use superstep::models::ToolChoice;
use superstep::tools::{SharedTool, ToolErrorHandling, ToolSet, ToolSource, ToolSpec, tool_fn};
use superstep::{ErrorCode, Result};

use super::*;
use crate::support::expect_error;
use crate::tools::Text;

/// R-FWK-11: three lines create an agent; it runs the tool that the model calls and ends with the response.
#[tokio::test]
async fn an_agent_runs_tools_until_the_model_answers() {
    let model = one_call();
    let agent = react_agent(model.clone(), [weather()]).compile().unwrap();
    let done = agent.invoke("How is it in Paris?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        [
            "user: How is it in Paris?",
            r#"model:  weather{"city":"Paris"}"#,
            "tool: 18 degrees in Paris",
            "model: It is 18 degrees."
        ]
    );
    assert_eq!(model.requests()[0].tools[0].name, "weather");
    assert_eq!(done.supersteps, 3);
    assert_eq!(agent.input_schema()["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["messages"]);
    assert_eq!(done.to_json().unwrap().as_object().unwrap().keys().collect::<Vec<_>>(), ["messages", "structured"]);
}

/// R-FWK-11: the diagram shows the loop.
#[test]
fn an_agent_is_drawn_as_a_loop() {
    let agent = react_agent(one_call(), [weather()]).compile().unwrap();
    insta::assert_snapshot!(agent.diagram().to_text(), @r"
        ╭───────────╮
        │ __start__ │
        ╰─────┬─────╯
              │
              ▼
          ┌───────┐
          │ model │
          └───┬───┘
        ┌┄┄┄┄┄┴┄┄┄┄┄┐
        ▼           ▼
    ┌───────┐  ╭─────────╮
    │ tools │  │ __end__ │
    └───────┘  ╰─────────╯

    __start__ ─► model
    model ┄► tools
    model ┄► __end__
    tools ─► model
    ");
}

/// R-FWK-11, R-FWK-79: calls of one message run in one superstep, and their results are in the order of the calls.
#[tokio::test]
async fn calls_of_one_message_run_together() {
    let model = ScriptedModel::new([
        asks_for("Rome").and_tool_call("weather", json!({ "city": "Oslo" })),
        ScriptedReply::from("Both 18."),
    ]);
    let done = react_agent(model, [weather()]).compile().unwrap().invoke("And there?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2..4], ["tool: 18 degrees in Rome", "tool: 18 degrees in Oslo"]);
    assert_eq!(done.supersteps, 3);
}

/// R-FWK-80: neither a failing tool nor an unknown one ends the agent, unless it is configured so.
#[tokio::test]
async fn a_failing_tool_is_reported_to_the_model() {
    let broken = || -> SharedTool {
        tool_fn(ToolSpec::new("broken", "Fails."), async |_: (), _| Err::<(), _>(std::io::Error::other("no disk")))
    };
    let script = || {
        ScriptedModel::new([
            ScriptedReply::tool_call("broken", json!({})).and_tool_call("brokem", json!({})),
            ScriptedReply::from("Sorry."),
        ])
    };
    let done = react_agent(script(), [broken()]).compile().unwrap().invoke("Try").await.unwrap();
    let lines = transcript(&done.state.messages);
    assert_eq!(lines[2], "tool: `broken` failed: no disk");
    assert!(lines[3].contains("unknown tool `brokem`"), "{lines:?}");
    assert_eq!(lines[4], "model: Sorry.");
    assert!(done.state.messages.iter().skip(2).take(2).all(|message| message.status == ToolStatus::Error));

    let agent = react_agent(script(), [broken()])
        .tool_node(|node| node.error_handling(ToolErrorHandling::Propagate))
        .compile()
        .unwrap();
    assert_eq!(expect_error(agent.invoke("Try").await).code(), ErrorCode::ToolFailed);
}

/// R-FWK-11: a limit of 1 means 1: the model is called once, without tools, and responds.
#[tokio::test]
async fn a_bound_of_one_is_one_call_without_tools() {
    let model = ScriptedModel::new(["I do not know."]);
    let agent = react_agent(model.clone(), [weather()]).max_iterations(1).compile().unwrap();
    let done = agent.invoke("How is it in Paris?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[1], "model: I do not know.");
    let requests = model.requests();
    assert_eq!((requests.len(), requests[0].tools.len(), &requests[0].tool_choice), (1, 0, &ToolChoice::None));
}

/// R-FWK-11: the last call of a turn may not request tools; if the model does so nevertheless, no call stays open.
/// The next turn starts with a new count.
#[tokio::test]
async fn the_last_round_answers() {
    let model = ScriptedModel::new([asks_for("Rome"), asks_for("Oslo"), asks_for("Bonn"), ScriptedReply::from("18.")]);
    let agent = react_agent(model.clone(), [weather()])
        .max_iterations(2)
        .checkpointer(MemoryCheckpointer::new())
        .compile()
        .unwrap();
    let done = agent.invoke("Where?").thread("t").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [r#"model:  weather{"city":"Rome"}"#, "tool: 18 degrees in Rome", "model: "]
    );
    assert_eq!(done.state.messages.last().unwrap().metadata["out_of_rounds"], true);
    let choices = |model: &ScriptedModel| -> Vec<ToolChoice> {
        model.requests().into_iter().map(|request| request.tool_choice).collect()
    };
    assert_eq!(choices(&model), [ToolChoice::Auto, ToolChoice::None]);
    // The tools of calls in the history stay in the request: providers reject calls of unknown tools.
    assert_eq!(model.requests()[1].tools.len(), 1);

    let done = agent.invoke("And now?").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "18.");
    assert_eq!(choices(&model)[2..], [ToolChoice::Auto, ToolChoice::None]);
}

/// R-FWK-11: if a run has no supersteps left for another iteration, the model responds without tools.
#[tokio::test]
async fn an_agent_answers_before_supersteps_run_out() {
    let model = ScriptedModel::new([asks_for("Rome"), ScriptedReply::from("18 in Rome, at least.")]);
    let agent = react_agent(model.clone(), [weather()]).compile().unwrap();
    let done = agent.invoke("Everywhere?").recursion_limit(3).await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "18 in Rome, at least.");
    assert_eq!(model.requests()[1].tool_choice, ToolChoice::None);
}

/// R-FWK-11: the result of a `return_direct` tool is the response; not if it failed or another tool ran with it.
#[tokio::test]
async fn a_result_may_be_the_answer() {
    let direct = |name: &'static str, fails: bool| -> SharedTool {
        let spec = ToolSpec::new(name, "Gives the answer.").return_direct();
        tool_fn(spec, move |text: Text, _| async move { if fails { Err(ToolError::new("no")) } else { Ok(text.text) } })
    };
    let run = async |reply: ScriptedReply| {
        let model = ScriptedModel::new([reply, ScriptedReply::from("from the model")]);
        let tools = ToolSet::new([direct("say", false), direct("fail", true), weather()]).unwrap();
        let done = react_agent(model, tools).compile().unwrap().invoke("Say it").await.unwrap();
        done.state.messages.last().unwrap().text().into_owned()
    };
    let direct_reply = || ScriptedReply::tool_call("say", json!({ "text": "42" }));
    assert_eq!(run(direct_reply()).await, "42");
    assert_eq!(run(ScriptedReply::tool_call("fail", json!({ "text": "" }))).await, "from the model");
    assert_eq!(run(direct_reply().and_tool_call("weather", json!({ "city": "Rome" }))).await, "from the model");
}

/// R-FWK-66, R-FWK-11: calls that an earlier run left open are closed before the model is called.
#[tokio::test]
async fn open_calls_of_the_history_are_closed() {
    let model = ScriptedModel::new(["Noon."]);
    let agent = react_agent(model.clone(), [weather()]).compile().unwrap();
    let open = superstep::core::message::ToolCall::new("c1", "weather", json!({ "city": "Rome" }));
    let history = vec![
        Message::user("How is it in Rome?"),
        Message::assistant("").with_tool_calls([open]),
        Message::user("Never mind. How late is it?"),
    ];
    agent.invoke(history).await.unwrap();
    let messages = &model.requests()[0].messages;
    assert_eq!(messages[2].text(), "not executed: the run continued without it");
    assert_eq!(messages.len(), 4);
}

/// R-FWK-11: the system prompt precedes the conversation, is built for each call, and is not part of the state.
#[tokio::test]
async fn a_system_prompt_is_no_part_of_the_conversation() {
    let model = one_call();
    let prompt = |state: &AgentState| format!("There are {} messages.", state.messages.len());
    let agent = react_agent(model.clone(), [weather()]).system_prompt_with(prompt).name("guide").compile().unwrap();
    let done = agent.invoke("How is it?").await.unwrap();
    let prompts: Vec<String> = model.requests().iter().map(|request| request.messages[0].text().into_owned()).collect();
    assert_eq!(prompts, ["There are 1 messages.", "There are 3 messages."]);
    assert_eq!(done.state.messages.get(0).unwrap().role, Role::User);
    assert_eq!(done.state.messages.last().unwrap().name.as_deref(), Some("guide"));
    assert_eq!(agent.name(), "guide");
}

/// R-FWK-11, R-FWK-85: two tools with the same name are rejected before anything runs; tools of a source are found by
/// listing.
#[tokio::test]
async fn tools_are_checked_and_listed() {
    let error = expect_error(react_agent(one_call(), [weather(), weather()]).compile().map(drop));
    assert!(error.message().contains("the agent has two tools named `weather`"), "{error}");

    struct Server;
    impl ToolSource for Server {
        async fn list(&self) -> Result<Vec<SharedTool>> {
            Ok(vec![weather()])
        }
    }
    let agent = react_agent(one_call(), ToolSet::default().source(Server)).compile().unwrap();
    let done = agent.invoke("How is it?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2], "tool: 18 degrees in Paris");
}
