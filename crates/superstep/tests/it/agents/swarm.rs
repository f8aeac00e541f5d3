//! Agents that hand off to each other.

use superstep::agents::swarm;
use superstep::agents::{TeamMember, handoff_targets, handoff_tool, react_agent, team_member};
use superstep::models::ChatRequest;
use superstep::tools::{Approval, ToolSet};
use superstep::{CompiledGraph, ErrorCode};

use super::teams::{assert_paired, calls, outer_diagram, requests};
use super::*;
use crate::support::{expect_error, only_question};

fn agent(name: &str, model: &ScriptedModel) -> TeamMember {
    team_member(name, format!("Is {name}."), react_agent(model.clone(), [weather()]))
}

fn tools(request: &ChatRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// R-FWK-11: an agent hands off; the next one responds and stays active, also in later runs of the thread.
#[tokio::test]
async fn the_active_agent_stays_active() {
    let alice = ScriptedModel::new([asks_for("Rome"), calls("bob"), ScriptedReply::from("Alice again.")]);
    let bob = ScriptedModel::new([ScriptedReply::from("Bob here."), ScriptedReply::from("Still Bob."), calls("alice")]);
    let team = swarm([agent("alice", &alice), agent("bob", &bob)], "alice").checkpointer(MemoryCheckpointer::new());
    let team = team.compile().unwrap();
    let done = team.invoke("Bob, please").thread("t").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [
            r#"model:  weather{"city":"Rome"}"#,
            "tool: 18 degrees in Rome",
            "model:  transfer_to_bob{}",
            "tool: transferred to bob",
            "model: Bob here."
        ]
    );
    assert_eq!(done.state.active_agent.as_deref(), Some("bob"));
    let done = team.invoke("And you are?").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "Still Bob.");
    let done = team.invoke("Alice, please").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "Alice again.");
    assert_eq!(done.state.active_agent.as_deref(), Some("alice"));
    assert_eq!(
        (tools(&requests(&alice)[0]), tools(&requests(&bob)[0])),
        (vec!["weather", "transfer_to_bob"], vec!["weather", "transfer_to_alice"])
    );
}

/// R-FWK-11, R-REF-151: results of other calls in the message of a handoff are kept; of two handoffs one is executed,
/// and the other gets a result that says so.
#[tokio::test]
async fn calls_in_the_message_of_a_handoff_are_executed() {
    let many =
        calls("bob").and_tool_call("weather", json!({ "city": "Oslo" })).and_tool_call("transfer_to_carol", json!({}));
    let (alice, bob, carol) = (ScriptedModel::new([many]), ScriptedModel::new(["Bob here."]), ScriptedModel::default());
    let team = swarm([agent("alice", &alice), agent("bob", &bob), agent("carol", &carol)], "alice").compile().unwrap();
    let done = team.invoke("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        [
            "tool: transferred to bob",
            "tool: 18 degrees in Oslo",
            "tool: not executed: the conversation was transferred to bob",
            "model: Bob here."
        ]
    );
    assert_paired(&done.state.messages);
    assert_eq!((requests(&bob)[0].messages.len(), carol.requests().len()), (5, 0));
    assert!(handoff_targets(&done.state.messages).is_empty());
}

/// A graph with a conversation that hands off with its own tool.
fn graph_with_handoff(to: &'static str) -> CompiledGraph<superstep::agents::MessagesState> {
    use superstep::core::message::ToolCall;
    let mut graph = superstep::agents::messages_graph("own");
    let handoff = graph.add_node("ask", move || {
        Message::assistant("").with_tool_calls([ToolCall::new("c", format!("transfer_to_{to}"), json!({}))])
    });
    let tools = graph.add_node("tools", ToolNode::new([handoff_tool(to, "")]));
    let never = graph.add_node("never", || Message::assistant("never said"));
    graph.add_sequence([START, handoff.into(), tools.into(), never.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-11: an agent hands off only to permitted agents; a custom graph brings its own tool.
#[tokio::test]
async fn agents_hand_off_only_to_permitted_agents() {
    let (alice, bob) = (ScriptedModel::new(["Fine."]), ScriptedModel::new(["Bob here."]));
    let team = |to: &'static str, allowed: &'static str| {
        let own = team_member("own", "Has its own.", graph_with_handoff(to)).handoff_to([allowed]);
        swarm([agent("alice", &alice).handoff_to(["own"]), agent("bob", &bob), own], "own").compile().unwrap()
    };
    let done = team("bob", "bob").invoke("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        ["user: Go", "model:  transfer_to_bob{}", "tool: transferred to bob", "model: Bob here."]
    );
    assert_eq!(tools(&bob.requests()[0]), ["weather", "transfer_to_alice", "transfer_to_own"]);
    let error = expect_error(team("alice", "bob").invoke("Go").await);
    assert_eq!((error.code(), error.message()), (ErrorCode::InvalidRoute, "agent `own` may not hand off to `alice`"));
    team("bob", "bob").invoke(json!({ "messages": "Go", "active_agent": "alice" })).await.unwrap();
    assert_eq!(tools(&alice.requests()[0]), ["weather", "transfer_to_own"]);
}

/// R-FWK-11: unknown agent names are rejected, also on a thread.
#[tokio::test]
async fn invalid_swarms_are_rejected() {
    let model = ScriptedModel::default();
    let error = expect_error(swarm([agent("alice", &model)], "bob").compile().map(drop));
    assert_eq!(error.message(), "default agent `bob`: no agent has this name");
    let error = expect_error(swarm([agent("alice", &model).handoff_to(["bob"])], "alice").compile().map(drop));
    assert_eq!(error.message(), "handoff of `alice` to `bob`: no agent has this name");
    let team = swarm([agent("alice", &model)], "alice").compile().unwrap();
    let error = expect_error(team.invoke(json!({ "messages": "Go", "active_agent": "zed" })).await);
    assert_eq!(error.code(), ErrorCode::InvalidRoute, "{error}");
    assert_eq!(model.requests().len(), 0);
}

/// R-FWK-11, R-FWK-86: an interrupt inside the second agent is resumed there, and that agent stays active.
#[tokio::test]
async fn a_question_after_a_hand_off_is_answered_there() {
    let alice = ScriptedModel::new([calls("bob")]);
    let bob =
        ScriptedModel::new([ScriptedReply::tool_call("delete", json!({ "path": "a" })), ScriptedReply::from("Gone.")]);
    let bob_agent = team_member("bob", "Deletes.", react_agent(bob.clone(), [delete()]));
    let team =
        swarm([agent("alice", &alice), bob_agent], "alice").checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let paused = team.invoke("Clean up").thread("t").await.unwrap();
    let question = only_question(&paused);
    assert_eq!(question.value["tool"], "delete");
    let done = team.resume("t", Approval::approve(&question).unwrap()).await.unwrap();
    assert_eq!(transcript(&done.state.messages)[4..], ["tool: a is gone", "model: Gone."]);
    assert_eq!((done.state.active_agent.as_deref(), alice.requests().len()), (Some("bob"), 1));
    assert_paired(&done.state.messages);
}

/// R-FWK-11: two agents that hand off to each other endlessly are stopped.
#[tokio::test]
async fn a_swarm_without_an_end_is_stopped() {
    let endless = |to: &str| ScriptedModel::default().when(|_: &ChatRequest| true, calls(to));
    let (alice, bob) = (endless("bob"), endless("alice"));
    let team = swarm([agent("alice", &alice), agent("bob", &bob)], "alice").compile().unwrap();
    assert_eq!(expect_error(team.invoke("Go").recursion_limit(9).await).code(), ErrorCode::RecursionLimit);
    assert_eq!(alice.requests().len() + bob.requests().len(), 9);
}

/// R-FWK-11: the diagram of a swarm shows its handoff targets.
#[test]
fn a_swarm_is_drawn() {
    let model = ScriptedModel::default();
    let bob = agent("bob", &model).handoff_to(["alice"]);
    let none = team_member("carol", "Ends.", react_agent(model.clone(), ToolSet::default())).handoff_to([""; 0]);
    let team = swarm([agent("alice", &model), bob, none], "alice").compile().unwrap();
    insta::assert_snapshot!(outer_diagram(&team.diagram().to_text()), @r"
      ╭───────────╮
      │ __start__ │
      ╰─────┬─────╯
            ┆
            ▼
        ╔═══════╗
        ║ alice ║
        ╚═══╤═══╝
       ┌┄┄┄┄┴┄┄┄┄┐
       ▼         ▼
    ╔═════╗  ╔═══════╗
    ║ bob ║  ║ carol ║
    ╚══╤══╝  ╚═══╤═══╝
       └┄┄┄┄┬┄┄┄┄┘
            ▼
       ╭─────────╮
       │ __end__ │
       ╰─────────╯

    __start__ ┄► alice
    __start__ ┄► bob
    __start__ ┄► carol
    alice ┄► bob
    alice ┄► carol
    alice ┄► __end__
    bob ┄► alice
    bob ┄► __end__
    carol ┄► __end__
    ");
}

/// R-FWK-11: an agent that adds no message is active and hands off to no agent.
#[tokio::test]
async fn an_agent_without_a_message_ends_the_turn() {
    let mut graph = superstep::agents::messages_graph("mute");
    let mute = graph.add_node("mute", superstep::agents::MessagesState::update);
    graph.add_edge(START, mute).add_edge(mute, END);
    let mute = team_member("mute", "Says nothing.", graph.compile().unwrap());
    let alice = ScriptedModel::new([calls("mute")]);
    let team = swarm([agent("alice", &alice), mute], "alice").compile().unwrap();
    let done = team.invoke("Go").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "transferred to mute");
    assert_eq!(done.state.active_agent.as_deref(), Some("mute"));
}
