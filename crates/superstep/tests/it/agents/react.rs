//! The loop: a model, its tools, and the end.

use superstep::agent::{AgentState, react_agent};
use superstep::core::message::ToolStatus;
use superstep::model::ToolChoice;
use superstep::tool::{Errors, SharedTool, ToolSource, ToolSpec, Tools, tool_fn};
use superstep::{Code, Result};

use super::*;
use crate::support::refused;
use crate::tools::Text;

/// R-FWK-11: three lines are an agent; it runs the tool that the model asks for and ends with its answer.
#[tokio::test]
async fn an_agent_runs_tools_until_the_model_answers() {
    let model = one_call();
    let agent = react_agent(model.clone(), [weather()]).compile().unwrap();
    let done = agent.run("How is it in Paris?").await.unwrap();
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

/// R-FWK-11: the loop is drawn as it runs.
#[test]
fn an_agent_is_drawn_as_a_loop() {
    let agent = react_agent(one_call(), [weather()]).compile().unwrap();
    insta::assert_snapshot!(agent.drawing().to_text(), @r"
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

/// R-FWK-11, R-FWK-79: calls of one message run in one superstep, and are answered in their order.
#[tokio::test]
async fn calls_of_one_message_run_together() {
    let model =
        Scripted::new([asks_for("Rome").and_call("weather", json!({ "city": "Oslo" })), Reply::from("Both 18.")]);
    let done = react_agent(model, [weather()]).compile().unwrap().run("And there?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2..4], ["tool: 18 degrees in Rome", "tool: 18 degrees in Oslo"]);
    assert_eq!(done.supersteps, 3);
}

/// R-FWK-80: a tool that fails, and one that nobody knows, do not end the agent unless it is told so.
#[tokio::test]
async fn a_failing_tool_is_told_the_model() {
    let broken = || -> SharedTool {
        tool_fn(ToolSpec::new("broken", "Fails."), async |_: (), _| Err::<(), _>(std::io::Error::other("no disk")))
    };
    let script =
        || Scripted::new([Reply::call("broken", json!({})).and_call("brokem", json!({})), Reply::from("Sorry.")]);
    let done = react_agent(script(), [broken()]).compile().unwrap().run("Try").await.unwrap();
    let told = transcript(&done.state.messages);
    assert_eq!(told[2], "tool: `broken` failed: no disk");
    assert!(told[3].contains("no tool `brokem`"), "{told:?}");
    assert_eq!(told[4], "model: Sorry.");
    assert!(done.state.messages.iter().skip(2).take(2).all(|message| message.status == ToolStatus::Error));

    let agent = react_agent(script(), [broken()]).tool_node(|node| node.errors(Errors::Propagate)).compile().unwrap();
    assert_eq!(refused(agent.run("Try").await).code(), Code::ToolFailed);
}

/// R-FWK-11: a bound of 1 means 1: the model is asked once, without tools, and answers.
#[tokio::test]
async fn a_bound_of_one_is_one_call_without_tools() {
    let model = Scripted::new(["I do not know."]);
    let agent = react_agent(model.clone(), [weather()]).max_rounds(1).compile().unwrap();
    let done = agent.run("How is it in Paris?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[1], "model: I do not know.");
    let requests = model.requests();
    assert_eq!((requests.len(), requests[0].tools.len(), &requests[0].tool_choice), (1, 0, &ToolChoice::None));
}

/// R-FWK-11: the last call of a turn may ask for nothing; a model that does so all the same leaves no call open. The
/// next turn begins to count anew.
#[tokio::test]
async fn the_last_round_answers() {
    let model = Scripted::new([asks_for("Rome"), asks_for("Oslo"), asks_for("Bonn"), Reply::from("18.")]);
    let agent = react_agent(model.clone(), [weather()]).max_rounds(2).checkpointer(Memory::new()).compile().unwrap();
    let done = agent.run("Where?").thread("t").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [r#"model:  weather{"city":"Rome"}"#, "tool: 18 degrees in Rome", "model: "]
    );
    assert_eq!(done.state.messages.last().unwrap().metadata["out_of_rounds"], true);
    let choices = |model: &Scripted| -> Vec<ToolChoice> {
        model.requests().into_iter().map(|request| request.tool_choice).collect()
    };
    assert_eq!(choices(&model), [ToolChoice::Auto, ToolChoice::None]);
    // The tools of calls in the history stay named: providers refuse calls of tools they do not know.
    assert_eq!(model.requests()[1].tools.len(), 1);

    let done = agent.run("And now?").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "18.");
    assert_eq!(choices(&model)[2..], [ToolChoice::Auto, ToolChoice::None]);
}

/// R-FWK-11: where a run has no supersteps left for another round, the model answers without tools.
#[tokio::test]
async fn an_agent_answers_before_supersteps_run_out() {
    let model = Scripted::new([asks_for("Rome"), Reply::from("18 in Rome, at least.")]);
    let agent = react_agent(model.clone(), [weather()]).compile().unwrap();
    let done = agent.run("Everywhere?").recursion_limit(3).await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "18 in Rome, at least.");
    assert_eq!(model.requests()[1].tool_choice, ToolChoice::None);
}

/// R-FWK-11: what a tool that returns directly gives is the answer; not when it failed or another ran beside it.
#[tokio::test]
async fn a_result_may_be_the_answer() {
    let direct = |name: &'static str, fails: bool| -> SharedTool {
        let spec = ToolSpec::new(name, "Gives the answer.").return_direct();
        tool_fn(spec, move |text: Text, _| async move { if fails { Err(ToolError::new("no")) } else { Ok(text.text) } })
    };
    let run = async |reply: Reply| {
        let model = Scripted::new([reply, Reply::from("from the model")]);
        let tools = Tools::new([direct("say", false), direct("fail", true), weather()]).unwrap();
        let done = react_agent(model, tools).compile().unwrap().run("Say it").await.unwrap();
        done.state.messages.last().unwrap().text().into_owned()
    };
    let say = || Reply::call("say", json!({ "text": "42" }));
    assert_eq!(run(say()).await, "42");
    assert_eq!(run(Reply::call("fail", json!({ "text": "" }))).await, "from the model");
    assert_eq!(run(say().and_call("weather", json!({ "city": "Rome" }))).await, "from the model");
}

/// R-FWK-66, R-FWK-11: calls that an earlier run left open are closed before the model is asked.
#[tokio::test]
async fn open_calls_of_the_history_are_closed() {
    let model = Scripted::new(["Noon."]);
    let agent = react_agent(model.clone(), [weather()]).compile().unwrap();
    let open = superstep::core::message::ToolCall::new("c1", "weather", json!({ "city": "Rome" }));
    let said = vec![
        Message::user("How is it in Rome?"),
        Message::assistant("").with_tool_calls([open]),
        Message::user("Never mind. How late is it?"),
    ];
    agent.run(said).await.unwrap();
    let asked = &model.requests()[0].messages;
    assert_eq!(asked[2].text(), "not executed: the run went on without it");
    assert_eq!(asked.len(), 4);
}

/// R-FWK-11: what the model is told to be is in front of the conversation, fresh each time, and not in the state.
#[tokio::test]
async fn a_system_prompt_is_no_part_of_the_conversation() {
    let model = one_call();
    let prompt = |state: &AgentState| format!("There are {} messages.", state.messages.len());
    let agent = react_agent(model.clone(), [weather()]).system_prompt_with(prompt).name("guide").compile().unwrap();
    let done = agent.run("How is it?").await.unwrap();
    let told: Vec<String> = model.requests().iter().map(|request| request.messages[0].text().into_owned()).collect();
    assert_eq!(told, ["There are 1 messages.", "There are 3 messages."]);
    assert_eq!(done.state.messages.get(0).unwrap().role, Role::User);
    assert_eq!(done.state.messages.last().unwrap().name.as_deref(), Some("guide"));
    assert_eq!(agent.name(), "guide");
}

/// R-FWK-11, R-FWK-85: two tools of one name are refused before anything runs; tools of a source are found by listing.
#[tokio::test]
async fn tools_are_checked_and_listed() {
    let error = refused(react_agent(one_call(), [weather(), weather()]).compile().map(drop));
    assert!(error.message().contains("two tools of the agent are called `weather`"), "{error}");

    struct Server;
    impl ToolSource for Server {
        async fn list(&self) -> Result<Vec<SharedTool>> {
            Ok(vec![weather()])
        }
    }
    let agent = react_agent(one_call(), Tools::default().source(Server)).compile().unwrap();
    let done = agent.run("How is it?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2], "tool: 18 degrees in Paris");
}
