//! Agents that hand over to each other.

use superstep::agent::{Member, handed_over, handoff_tool, member, react_agent, swarm};
use superstep::model::Request;
use superstep::tool::{Approval, Tools};
use superstep::{Code, Compiled};

use super::teams::{around, assert_paired, calls, requests};
use super::*;
use crate::support::{only_question, refused};

fn agent(name: &str, model: &Scripted) -> Member {
    member(name, format!("Is {name}."), react_agent(model.clone(), [weather()]))
}

fn tools(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// R-FWK-11: an agent hands over, the next one answers and keeps the word, in later runs of the thread too.
#[tokio::test]
async fn the_one_that_has_the_word_keeps_it() {
    let alice = Scripted::new([asks_for("Rome"), calls("bob"), Reply::from("Alice again.")]);
    let bob = Scripted::new([Reply::from("Bob here."), Reply::from("Still Bob."), calls("alice")]);
    let team = swarm([agent("alice", &alice), agent("bob", &bob)], "alice").checkpointer(Memory::new());
    let team = team.compile().unwrap();
    let done = team.run("Bob, please").thread("t").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [
            r#"model:  weather{"city":"Rome"}"#,
            "tool: 18 degrees in Rome",
            "model:  transfer_to_bob{}",
            "tool: handed over to bob",
            "model: Bob here."
        ]
    );
    assert_eq!(done.state.active_agent.as_deref(), Some("bob"));
    let done = team.run("And you are?").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "Still Bob.");
    let done = team.run("Alice, please").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "Alice again.");
    assert_eq!(done.state.active_agent.as_deref(), Some("alice"));
    assert_eq!(
        (tools(&requests(&alice)[0]), tools(&requests(&bob)[0])),
        (vec!["weather", "transfer_to_bob"], vec!["weather", "transfer_to_alice"])
    );
}

/// R-FWK-11, R-REF-151: results of other calls beside a hand-off are kept; of two hand-offs one is made, and the other
/// is answered with what became of it.
#[tokio::test]
async fn calls_beside_a_hand_off_are_kept() {
    let many = calls("bob").and_call("weather", json!({ "city": "Oslo" })).and_call("transfer_to_carol", json!({}));
    let (alice, bob, carol) = (Scripted::new([many]), Scripted::new(["Bob here."]), Scripted::default());
    let team = swarm([agent("alice", &alice), agent("bob", &bob), agent("carol", &carol)], "alice").compile().unwrap();
    let done = team.run("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        [
            "tool: handed over to bob",
            "tool: 18 degrees in Oslo",
            "tool: not executed: the conversation was handed over to bob",
            "model: Bob here."
        ]
    );
    assert_paired(&done.state.messages);
    assert_eq!((requests(&bob)[0].messages.len(), carol.requests().len()), (5, 0));
    assert!(handed_over(&done.state.messages).is_empty());
}

/// A graph with a conversation that hands over by its own tool.
fn own(to: &'static str) -> Compiled<superstep::agent::MessagesState> {
    use superstep::core::message::ToolCall;
    let mut graph = superstep::agent::messages_graph("own");
    let ask = graph.node("ask", move || {
        Message::assistant("").with_tool_calls([ToolCall::new("c", format!("transfer_to_{to}"), json!({}))])
    });
    let tools = graph.node("tools", ToolNode::new([handoff_tool(to, "")]));
    let never = graph.node("never", || Message::assistant("never said"));
    graph.sequence([START, ask.into(), tools.into(), never.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-11: an agent hands over only to whom it may; a graph of one's own brings the tool.
#[tokio::test]
async fn agents_hand_over_to_whom_they_may() {
    let (alice, bob) = (Scripted::new(["Fine."]), Scripted::new(["Bob here."]));
    let team = |to: &'static str, allowed: &'static str| {
        let own = member("own", "Has its own.", own(to)).hands_to([allowed]);
        swarm([agent("alice", &alice).hands_to(["own"]), agent("bob", &bob), own], "own").compile().unwrap()
    };
    let done = team("bob", "bob").run("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        ["user: Go", "model:  transfer_to_bob{}", "tool: handed over to bob", "model: Bob here."]
    );
    assert_eq!(tools(&bob.requests()[0]), ["weather", "transfer_to_alice", "transfer_to_own"]);
    let error = refused(team("alice", "bob").run("Go").await);
    assert_eq!((error.code(), error.message()), (Code::InvalidRoute, "`own` hands over to `alice`, and may not"));
    team("bob", "bob").run(json!({ "messages": "Go", "active_agent": "alice" })).await.unwrap();
    assert_eq!(tools(&alice.requests()[0]), ["weather", "transfer_to_own"]);
}

/// R-FWK-11: names of agents that are not there are refused, on a thread too.
#[tokio::test]
async fn swarms_that_cannot_work_are_refused() {
    let model = Scripted::default();
    let error = refused(swarm([agent("alice", &model)], "bob").compile().map(drop));
    assert_eq!(error.message(), "the swarm begins with `bob`, and no agent is called so");
    let error = refused(swarm([agent("alice", &model).hands_to(["bob"])], "alice").compile().map(drop));
    assert_eq!(error.message(), "`alice` hands over to `bob`, and no agent is called so");
    let team = swarm([agent("alice", &model)], "alice").compile().unwrap();
    let error = refused(team.run(json!({ "messages": "Go", "active_agent": "zed" })).await);
    assert_eq!(error.code(), Code::InvalidRoute, "{error}");
    assert_eq!(model.requests().len(), 0);
}

/// R-FWK-11, R-FWK-86: a person is asked inside the second agent, and the word stays there.
#[tokio::test]
async fn a_question_after_a_hand_off_is_answered_there() {
    let alice = Scripted::new([calls("bob")]);
    let bob = Scripted::new([Reply::call("delete", json!({ "path": "a" })), Reply::from("Gone.")]);
    let bob_agent = member("bob", "Deletes.", react_agent(bob.clone(), [delete()]));
    let team = swarm([agent("alice", &alice), bob_agent], "alice").checkpointer(Memory::new()).compile().unwrap();
    let paused = team.run("Clean up").thread("t").await.unwrap();
    let question = only_question(&paused);
    assert_eq!(question.value["tool"], "delete");
    let done = team.resume("t", Approval::approve(&question).unwrap()).await.unwrap();
    assert_eq!(transcript(&done.state.messages)[4..], ["tool: a is gone", "model: Gone."]);
    assert_eq!((done.state.active_agent.as_deref(), alice.requests().len()), (Some("bob"), 1));
    assert_paired(&done.state.messages);
}

/// R-FWK-11: two that hand to each other without end are stopped.
#[tokio::test]
async fn a_swarm_without_an_end_is_stopped() {
    let endless = |to: &str| Scripted::default().when(|_: &Request| true, calls(to));
    let (alice, bob) = (endless("bob"), endless("alice"));
    let team = swarm([agent("alice", &alice), agent("bob", &bob)], "alice").compile().unwrap();
    assert_eq!(refused(team.run("Go").recursion_limit(9).await).code(), Code::RecursionLimit);
    assert_eq!(alice.requests().len() + bob.requests().len(), 9);
}

/// R-FWK-11: a swarm is drawn with its ways.
#[test]
fn a_swarm_is_drawn() {
    let model = Scripted::default();
    let bob = agent("bob", &model).hands_to(["alice"]);
    let none = member("carol", "Ends.", react_agent(model.clone(), Tools::default())).hands_to([""; 0]);
    let team = swarm([agent("alice", &model), bob, none], "alice").compile().unwrap();
    insta::assert_snapshot!(around(&team.drawing().to_text()), @r"
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

/// R-FWK-11: an agent that says nothing has the word and hands over to nobody.
#[tokio::test]
async fn an_agent_that_says_nothing_ends_the_turn() {
    let mut graph = superstep::agent::messages_graph("mute");
    let mute = graph.node("mute", superstep::agent::MessagesState::update);
    graph.edge(START, mute).edge(mute, END);
    let mute = member("mute", "Says nothing.", graph.compile().unwrap());
    let alice = Scripted::new([calls("mute")]);
    let team = swarm([agent("alice", &alice), mute], "alice").compile().unwrap();
    let done = team.run("Go").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "handed over to mute");
    assert_eq!(done.state.active_agent.as_deref(), Some("mute"));
}
