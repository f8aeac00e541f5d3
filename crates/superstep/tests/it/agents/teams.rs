//! Teams with a supervisor.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep::agents::supervisor;
use superstep::agents::{OutputMode, Summarization, TeamMember, TeamState, react_agent, team_member};
use superstep::core::message::{RemoveAll, ToolCall};
use superstep::core::port::HistoryQuery;
use superstep::models::{ChatRequest, ToolChoice};
use superstep::sqlite::SqliteCheckpointer;
use superstep::tools::{Approval, SharedTool, ToolPolicy, ToolSet, ToolSpec, tool_fn};
use superstep::{CompiledGraph, ErrorCode, RunEnd, SubgraphPersistence};
use tokio::sync::Barrier;

use super::*;
use crate::support::{expect_error, only_question};

/// Asserts that every call has one result, directly after its message, and that there are no other results.
pub(super) fn assert_paired<'a>(messages: impl IntoIterator<Item = &'a Message>) {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap();
            assert!(open.remove(id), "`{id}` is answered, and not open: {}", message.text());
            continue;
        }
        assert!(open.is_empty(), "{open:?} are open before: {}", message.text());
        open.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
    }
    assert!(open.is_empty(), "{open:?} are left open");
}

/// Returns the checked requests of a model.
pub(super) fn requests(model: &ScriptedModel) -> Vec<ChatRequest> {
    let requests = model.requests();
    requests.iter().for_each(|request| assert_paired(request.messages.iter().map(|message| &**message)));
    requests
}

pub(super) fn calls(agent: &str) -> ScriptedReply {
    ScriptedReply::tool_call(format!("transfer_to_{agent}"), json!({}))
}

/// An agent with a single response.
fn single_reply_agent(name: &str, words: &'static str) -> TeamMember {
    team_member(name, "Says one thing.", react_agent(ScriptedModel::new([words]), ToolSet::default()))
}

/// An agent that first calls the weather tool.
fn weather_agent(name: &str) -> TeamMember {
    team_member(name, "Knows the weather.", react_agent(one_call(), [weather()]))
}

/// R-FWK-11: the supervisor calls an agent, which receives the conversation; the last message of the agent is added,
/// and the supervisor responds.
#[tokio::test]
async fn a_supervisor_calls_an_agent_and_answers() {
    let (head, worker) = (ScriptedModel::new([calls("meteo"), ScriptedReply::from("So, 18.")]), one_call());
    let meteo = team_member("meteo", "Knows the weather.", react_agent(worker.clone(), [weather()]));
    let team = supervisor(head.clone(), [meteo]).compile().unwrap();
    let done = team.invoke("How is it in Paris?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        [
            "user: How is it in Paris?",
            "model:  transfer_to_meteo{}",
            "tool: transferred to meteo",
            "model: It is 18 degrees.",
            "model: Transferring back to supervisor. transfer_back_to_supervisor{}",
            "tool: transferred back to supervisor",
            "model: So, 18."
        ]
    );
    let names: Vec<_> = done.state.messages.iter().filter(|message| message.role == Role::Assistant).collect();
    let names: Vec<_> = names.iter().map(|message| message.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["supervisor", "meteo", "meteo", "supervisor"]);
    assert_eq!((requests(&head).len(), requests(&worker)[0].messages.len(), done.supersteps), (2, 3, 3));
    let tool = &requests(&head)[0].tools[0];
    assert_eq!(tool.description, "Transfers the conversation to the agent `meteo`. Knows the weather.");
    assert_eq!(tool.input_schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["task"]);
}

/// R-FWK-11: the last message or all messages of an agent are added, with or without handoff-back messages.
#[tokio::test]
async fn the_output_mode_selects_the_returned_messages() {
    let run = async |results: OutputMode, hands_back: bool| {
        let head = ScriptedModel::new([calls("meteo"), ScriptedReply::from("So, 18.")]);
        let team = supervisor(head.clone(), [weather_agent("meteo")]).output_mode(results);
        let team = if hands_back { team } else { team.without_handoff_back_messages() };
        let done = team.compile().unwrap().invoke("How is it?").await.unwrap();
        assert_paired(&done.state.messages);
        requests(&head);
        transcript(&done.state.messages)[3..].to_vec()
    };
    let replies = ["model: It is 18 degrees.", "model: So, 18."];
    let back = [
        "model: Transferring back to supervisor. transfer_back_to_supervisor{}",
        "tool: transferred back to supervisor",
    ];
    let work = [r#"model:  weather{"city":"Paris"}"#, "tool: 18 degrees in Paris"];
    assert_eq!(run(OutputMode::LastMessage, false).await, replies);
    assert_eq!(run(OutputMode::LastMessage, true).await, [replies[0], back[0], back[1], replies[1]]);
    assert_eq!(run(OutputMode::FullHistory, false).await, [work[0], work[1], replies[0], replies[1]]);
    assert_eq!(run(OutputMode::FullHistory, true).await, [work[0], work[1], replies[0], back[0], back[1], replies[1]]);
}

/// A tool that returns once two calls have arrived.
fn meet(barrier: &Arc<Barrier>) -> SharedTool {
    let barrier = barrier.clone();
    tool_fn(ToolSpec::new("meet", "Waits for the other."), move |(): (), _cx| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            "met"
        }
    })
}

/// R-FWK-11, R-REF-151: agents that are called together run concurrently; results of other calls of the same message
/// are kept, each call has one result in its place, and no model is called with an open call.
#[tokio::test]
async fn agents_called_together_work_at_once_and_nothing_is_lost() {
    let barrier = Arc::new(Barrier::new(2));
    let model = |words: &'static str| {
        ScriptedModel::new([ScriptedReply::tool_call("meet", json!({})), ScriptedReply::from(words)])
    };
    let (left, right) = (model("left is done"), model("right is done"));
    let both =
        calls("right").and_tool_call("weather", json!({ "city": "Rome" })).and_tool_call("transfer_to_left", json!({}));
    let head = ScriptedModel::new([
        both.and_tool_call("transfer_to_right", json!({ "task": "again" })),
        ScriptedReply::from("Done."),
    ]);
    let members = [("left", &left), ("right", &right)]
        .map(|(name, model)| team_member(name, "Works.", react_agent(model.clone(), [meet(&barrier)])));
    let team = supervisor(head.clone(), members).tools([weather()]).without_handoff_back_messages();
    let team = team.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let done = team.invoke("Go").thread("t").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        [
            "tool: transferred to right",
            "tool: 18 degrees in Rome",
            "tool: transferred to left",
            "tool: transferred to right",
            "model: left is done",
            "model: right is done",
            "model: Done."
        ]
    );
    assert_eq!(done.supersteps, 3);
    for model in [&head, &left, &right] {
        assert_eq!(requests(model).len(), 2);
    }
    assert_eq!(requests(&left)[0].messages.len(), 6);
    for state in team.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap() {
        assert_paired(&state.state.messages);
    }
}

/// R-FWK-11: iterations with the supervisor's own tools before a handoff are kept too.
#[tokio::test]
async fn earlier_work_of_the_supervisor_is_retained() {
    let head = ScriptedModel::new([asks_for("Oslo"), calls("poet"), ScriptedReply::from("Done.")]);
    let team = supervisor(head, [single_reply_agent("poet", "Cold.")])
        .tools([weather()])
        .without_handoff_back_messages()
        .compile()
        .unwrap();
    let done = team.invoke("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [
            r#"model:  weather{"city":"Oslo"}"#,
            "tool: 18 degrees in Oslo",
            "model:  transfer_to_poet{}",
            "tool: transferred to poet",
            "model: Cold.",
            "model: Done."
        ]
    );
}

/// R-FWK-11, R-FWK-86: an agent interrupts; the resume value, in another process, continues there. An agent that has
/// finished in parallel does not run again.
#[tokio::test]
async fn an_interrupt_in_an_agent_is_resumed_later() {
    let file = fresh_file("teams");
    let build = |head: &ScriptedModel, cleaner: &ScriptedModel, poet: &ScriptedModel| {
        let cleaner = team_member("cleaner", "Deletes.", react_agent(cleaner.clone(), [delete()]));
        let poet = team_member("poet", "Writes.", react_agent(poet.clone(), ToolSet::default()));
        supervisor(head.clone(), [cleaner, poet])
            .checkpointer(SqliteCheckpointer::open(&file).unwrap())
            .compile()
            .unwrap()
    };
    let head = ScriptedModel::new([calls("cleaner").and_tool_call("transfer_to_poet", json!({}))]);
    let caller = ScriptedModel::new([ScriptedReply::tool_call("delete", json!({ "path": "a" }))]);
    let before = build(&head, &caller, &ScriptedModel::new(["A poem."]));
    let paused = before.invoke("Clean up").thread("t").await.unwrap();
    let question = only_question(&paused);
    assert_eq!(question.value["tool"], "delete");
    drop(before);

    let (head, cleaner, poet) =
        (ScriptedModel::new(["All done."]), ScriptedModel::new(["It is gone."]), ScriptedModel::default());
    let team = build(&head, &cleaner, &poet);
    let done = team.resume("t", Approval::approve(&question).unwrap()).await.unwrap();
    assert_eq!(done.end, RunEnd::Finished);
    let texts: Vec<String> = done.state.messages.iter().map(|message| message.text().into_owned()).collect();
    let back = ["Transferring back to supervisor.", "transferred back to supervisor"];
    assert_eq!(texts[4..], ["It is gone.", back[0], back[1], "A poem.", back[0], back[1], "All done."]);
    assert_paired(&done.state.messages);
    assert_eq!((requests(&cleaner).len(), poet.requests().len()), (1, 0));
}

/// R-FWK-11: handoff rounds per turn are limited; then the supervisor must respond, and leaves no call open.
#[tokio::test]
async fn rounds_of_a_turn_are_bounded() {
    let head = ScriptedModel::new([
        calls("poet"),
        calls("poet"),
        calls("poet").and_tool_call("weather", json!({})),
        calls("poet"),
    ])
    .then("Enough.");
    let poet = ScriptedModel::new(["one", "two", "three"]);
    let poet = team_member("poet", "Writes.", react_agent(poet, ToolSet::default()));
    let team =
        supervisor(head.clone(), [poet]).max_handoffs(2).tools([weather()]).checkpointer(MemoryCheckpointer::new());
    let team = team.compile().unwrap();
    let done = team.invoke("Write").thread("t").await.unwrap();
    let last = done.state.messages.last().unwrap();
    assert_eq!((last.tool_calls.len(), &last.metadata["out_of_rounds"]), (0, &json!(true)));
    assert_eq!(requests(&head)[2].tool_choice, ToolChoice::None);
    assert_paired(&done.state.messages);
    // The next turn starts with a new count.
    let done = team.invoke("More").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "Enough.");
    assert!(done.state.messages.iter().any(|message| message.text() == "three"));
}

/// Returns the diagram without the content of its subgraphs.
pub(super) fn outer_diagram(text: &str) -> &str {
    text.find(":\n").and_then(|at| text[..at].rfind("\n\n")).map_or(text, |at| &text[..at])
}

/// R-FWK-11: the diagram of a team shows the nodes and edges that run.
#[test]
fn a_team_is_drawn() {
    let team = supervisor(ScriptedModel::default(), [single_reply_agent("poet", ""), single_reply_agent("critic", "")])
        .compile()
        .unwrap();
    insta::assert_snapshot!(outer_diagram(&team.diagram().to_text()), @r"
               ╭───────────╮
               │ __start__ │
               ╰─────┬─────╯
                     │
                     ▼
              ╔═════════════╗
              ║ supervisor  ║
              ╚══════╤══════╝
        ┌┄┄┄┄┄┄┄┄┄┄┄┬┴┄┄┄┄┄┄┄┄┄┄┄┐
        ▼           ▼            ▼
    ╔═══════╗  ╔═════════╗  ╭─────────╮
    ║ poet  ║  ║ critic  ║  │ __end__ │
    ╚═══════╝  ╚═════════╝  ╰─────────╯

    __start__ ─► supervisor
    supervisor ┄► poet
    supervisor ┄► critic
    supervisor ┄► __end__
    poet ─► supervisor
    critic ─► supervisor
    ");
}

/// R-FWK-11: names that are not valid for tools, duplicate names, and an empty team are rejected before anything
/// runs.
#[test]
fn invalid_teams_are_rejected() {
    let compile =
        |members: Vec<TeamMember>| expect_error(supervisor(ScriptedModel::default(), members).compile().map(drop));
    for (members, fact) in [
        (vec![], "the team has no agents"),
        (vec![single_reply_agent("a", ""), single_reply_agent("a", "")], "duplicate agent name `a`"),
        (vec![single_reply_agent("a b", "")], "invalid agent name `a b`"),
        (vec![single_reply_agent(&"x".repeat(60), "")], "invalid agent name `xxx"),
        (
            vec![single_reply_agent("a", "").handoff_to(["b"])],
            "agent `a` declares handoffs, but the supervisor `supervisor` selects the next agent",
        ),
        (vec![team_member("a", "", silent())], "graph `silent` cannot be an agent: it has no message list"),
    ] {
        let error = compile(members);
        assert_eq!(error.code(), ErrorCode::InvalidGraph);
        assert!(error.message().contains(fact), "{error}");
    }
    // The name of the supervisor is part of `transfer_back_to_<name>`.
    for (name, is_fit) in [("x".repeat(47), true), ("x".repeat(48), false), ("the head".to_owned(), false)] {
        let team = || supervisor(ScriptedModel::default(), [single_reply_agent("a", "")]).name(name.as_str());
        assert_eq!(team().compile().is_ok(), is_fit, "{name}");
        assert!(team().without_handoff_back_messages().compile().is_ok(), "{name}");
    }
}

/// R-FWK-11: two runs with the same messages have the same call ids, including those of handoff-back messages, and
/// each id is unique.
#[tokio::test]
async fn ids_of_hand_backs_are_the_same_in_each_run() {
    let ids = async || {
        let both = calls("a").and_tool_call("transfer_to_b", json!({}));
        let head = ScriptedModel::new([both, calls("a"), ScriptedReply::from("Done.")]);
        let talks = |name: &str| {
            team_member(name, "Talks.", react_agent(ScriptedModel::new(["Hm.", "Hm."]), ToolSet::default()))
        };
        let team = supervisor(head, [talks("a"), talks("b")]).compile().unwrap();
        let done = team.invoke("Go").await.unwrap();
        assert_paired(&done.state.messages);
        let tool_calls = done.state.messages.iter().flat_map(|message| message.tool_calls.clone());
        let backs = tool_calls.filter(|call| call.name.starts_with("transfer_back_to_"));
        backs.map(|call| call.id).collect::<Vec<_>>()
    };
    let (one, two) = (ids().await, ids().await);
    assert_eq!(one, two);
    assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 3);
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Silent {
    text: String,
}

fn silent() -> CompiledGraph<Silent> {
    let mut graph = StateGraph::<Silent>::new("silent");
    let a = graph.add_node("a", || Silent::update().text("a"));
    graph.add_edge(START, a).add_edge(a, END);
    graph.compile().unwrap()
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Clerk {
    #[reduce(messages)]
    messages: Messages,
    #[reduce(add)]
    visits: u64,
}

/// An agent without a model, which counts its visits.
fn clerk(breakpoint: bool) -> CompiledGraph<Clerk> {
    let mut graph = StateGraph::<Clerk>::new("clerk");
    let count = graph.add_node("count", || Clerk::update().visits(1u64));
    let report = graph.add_node("say", |clerk: View<Clerk>| {
        let call_message = Message::assistant("looking").with_tool_calls([ToolCall::new("c", "look", json!({}))]);
        Clerk::update().messages(vec![call_message, Message::tool("c", format!("visit {}", clerk.visits))])
    });
    graph.add_sequence([START, count.into(), report.into(), END]).subgraph_persistence(SubgraphPersistence::PerThread);
    if breakpoint {
        graph.interrupt_before(["say"]);
    }
    graph.compile().unwrap()
}

/// R-FWK-11: any graph with a conversation is an agent: it may remember its visits and stop at its breakpoints. If
/// its last message is a tool result, the result is added as an assistant message, because its call is not added.
#[tokio::test]
async fn any_graph_with_a_conversation_is_an_agent() {
    let head = ScriptedModel::new([calls("clerk"), calls("clerk"), ScriptedReply::from("Done.")]);
    let clerk = team_member("clerk", "Counts.", clerk(true));
    let team = supervisor(head.clone(), [clerk])
        .without_handoff_back_messages()
        .checkpointer(MemoryCheckpointer::new())
        .compile()
        .unwrap();
    let paused = team.invoke("Go").thread("t").await.unwrap();
    assert!(matches!(paused.end, RunEnd::Paused(_)), "{:?}", paused.end);
    team.continue_thread("t").await.unwrap();
    let done = team.continue_thread("t").await.unwrap();
    let lines = transcript(&done.state.messages);
    assert_eq!((&*lines[3], &*lines[6], &*lines[7]), ("model: visit 1", "model: visit 2", "model: Done."));
    requests(&head);
}

/// R-FWK-11: summaries and removals inside an agent do not change the conversation of the team.
#[tokio::test]
async fn an_agent_does_not_change_the_conversation_of_the_team() {
    let short = ScriptedModel::new(["They talked."]);
    let worker = react_agent(ScriptedModel::new(["Short."]), ToolSet::default())
        .middleware(Summarization::new(short.clone()).trigger_messages(4).keep_last(1));
    let mut clearing = StateGraph::<TeamState>::new("forgets");
    let clear =
        clearing.add_node("forget", || TeamState::update().messages(RemoveAll).messages(Message::assistant("What?")));
    clearing.add_edge(START, clear).add_edge(clear, END);
    let head = ScriptedModel::new([calls("worker"), calls("forgets"), ScriptedReply::from("Done.")]);
    let members =
        [team_member("worker", "Works.", worker), team_member("forgets", "Forgets.", clearing.compile().unwrap())];
    let team = supervisor(head.clone(), members)
        .without_handoff_back_messages()
        .output_mode(OutputMode::FullHistory)
        .compile()
        .unwrap();
    let done = team.invoke(vec![Message::user("Hello"), Message::user("Tell me everything")]).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        [
            "user: Hello",
            "user: Tell me everything",
            "model:  transfer_to_worker{}",
            "tool: transferred to worker",
            "model: Short.",
            "model:  transfer_to_forgets{}",
            "tool: transferred to forgets",
            "model: What?",
            "model: Done."
        ]
    );
    assert_eq!(short.requests().len(), 1);
}

/// R-FWK-11: a team is an agent of another team, and the response of a supervisor may be structured.
#[tokio::test]
async fn a_team_is_an_agent_of_another() {
    #[derive(Deserialize, superstep::JsonSchema)]
    struct Verdict {
        #[serde(rename = "good")]
        _good: bool,
    }
    let inner = supervisor(
        ScriptedModel::new([calls("poet"), ScriptedReply::from("It rhymes.")]),
        [single_reply_agent("poet", "Roses.")],
    );
    let inner = inner.name("editor").output_mode(OutputMode::FullHistory).compile().unwrap();
    let head = ScriptedModel::new([calls("editor"), ScriptedReply::from(r#"{"good": true}"#)]);
    let team = supervisor(head.clone(), [team_member("editor", "Edits.", inner)]).output_mode(OutputMode::FullHistory);
    let team = team.configure(|agent| agent.response_format::<Verdict>().system_prompt("Judge.")).compile().unwrap();
    let done = team.invoke("A poem").await.unwrap();
    assert_eq!(done.state.structured, Some(json!({ "good": true })));
    assert!(transcript(&done.state.messages).contains(&"model: Roses.".to_owned()));
    assert_paired(&done.state.messages);
    assert_eq!(requests(&head)[0].messages[0].text(), "Judge.");
}

/// R-FWK-11: a supervisor whose handoff is denied by a policy receives the reason, and no agent is called.
#[tokio::test]
async fn a_hand_off_may_be_rejected() {
    let head = ScriptedModel::new([calls("poet"), ScriptedReply::from("Then not.")]);
    let team = supervisor(head, [single_reply_agent("poet", "never")])
        .configure(|agent| agent.tool_node(|node| node.policy(ToolPolicy::deny(["transfer_to_poet"]))));
    let done = team.compile().unwrap().invoke("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        ["tool: not executed: the policy denies `transfer_to_poet`", "model: Then not."]
    );
}

/// R-FWK-11: agents that are compiled with a context form a team with that context.
#[tokio::test]
async fn a_team_has_the_context_of_its_agents() {
    /// Greets the customer.
    #[tool(read_only)]
    async fn greet(customer: RunContext<String>) -> String {
        format!("Hello, {}", customer.as_str())
    }
    let worker = ScriptedModel::new([ScriptedReply::tool_call("greet", json!({})), ScriptedReply::from("Greeted.")]);
    let greeter = react_agent(worker, [greet()]).compile_with_context::<String>().unwrap();
    let head = ScriptedModel::new([
        calls("greeter"),
        ScriptedReply::tool_call("greet", json!({})),
        ScriptedReply::from("Done."),
    ]);
    let team = supervisor(head, [team_member("greeter", "Greets.", greeter)]).tools([greet()]);
    let team = team.output_mode(OutputMode::FullHistory).compile().unwrap();
    let done = team.invoke("Go").context("Ada".to_owned()).await.unwrap();
    let lines = transcript(&done.state.messages);
    assert_eq!(lines.iter().filter(|line| *line == "tool: Hello, Ada").count(), 2, "{lines:?}");
}
