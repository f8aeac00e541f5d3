//! Teams with a supervisor.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep::agent::{Member, Results, Summarize, TeamState, member, react_agent, supervisor};
use superstep::core::message::{RemoveAll, ToolCall};
use superstep::core::port::HistoryQuery;
use superstep::model::{Request, ToolChoice};
use superstep::sqlite::Sqlite;
use superstep::tool::{Approval, Policy, SharedTool, ToolSpec, Tools, tool_fn};
use superstep::{Code, Compiled, Persistence, Status};
use tokio::sync::Barrier;

use super::*;
use crate::support::{only_question, refused};

/// Every call is answered once, right behind the message that made it, and nothing else is answered.
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

/// What was asked of a model, checked.
pub(super) fn requests(model: &Scripted) -> Vec<Request> {
    let requests = model.requests();
    requests.iter().for_each(|request| assert_paired(request.messages.iter().map(|message| &**message)));
    requests
}

pub(super) fn calls(agent: &str) -> Reply {
    Reply::call(format!("transfer_to_{agent}"), json!({}))
}

/// An agent that says one thing.
fn says(name: &str, words: &'static str) -> Member {
    member(name, "Says one thing.", react_agent(Scripted::new([words]), Tools::default()))
}

/// An agent that asks for the weather first.
fn looks(name: &str) -> Member {
    member(name, "Knows the weather.", react_agent(one_call(), [weather()]))
}

/// R-FWK-11: the supervisor calls an agent, which gets the conversation; its last words come back and are answered.
#[tokio::test]
async fn a_supervisor_calls_an_agent_and_answers() {
    let (head, worker) = (Scripted::new([calls("meteo"), Reply::from("So, 18.")]), one_call());
    let meteo = member("meteo", "Knows the weather.", react_agent(worker.clone(), [weather()]));
    let team = supervisor(head.clone(), [meteo]).compile().unwrap();
    let done = team.run("How is it in Paris?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        [
            "user: How is it in Paris?",
            "model:  transfer_to_meteo{}",
            "tool: handed over to meteo",
            "model: It is 18 degrees.",
            "model: Back to supervisor. transfer_back_to_supervisor{}",
            "tool: handed back to supervisor",
            "model: So, 18."
        ]
    );
    let names: Vec<_> = done.state.messages.iter().filter(|message| message.role == Role::Assistant).collect();
    let names: Vec<_> = names.iter().map(|message| message.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["supervisor", "meteo", "meteo", "supervisor"]);
    assert_eq!((requests(&head).len(), requests(&worker)[0].messages.len(), done.supersteps), (2, 3, 3));
    let tool = &requests(&head)[0].tools[0];
    assert_eq!(tool.description, "Hands the conversation over to `meteo`. Knows the weather.");
    assert_eq!(tool.input_schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["task"]);
}

/// R-FWK-11: what comes back is the last message or everything, with or without messages of the hand-back.
#[tokio::test]
async fn what_comes_back_is_a_choice() {
    let run = async |results: Results, hands_back: bool| {
        let head = Scripted::new([calls("meteo"), Reply::from("So, 18.")]);
        let team = supervisor(head.clone(), [looks("meteo")]).results(results);
        let team = if hands_back { team } else { team.without_hand_back() };
        let done = team.compile().unwrap().run("How is it?").await.unwrap();
        assert_paired(&done.state.messages);
        requests(&head);
        transcript(&done.state.messages)[3..].to_vec()
    };
    let said = ["model: It is 18 degrees.", "model: So, 18."];
    let back = ["model: Back to supervisor. transfer_back_to_supervisor{}", "tool: handed back to supervisor"];
    let work = [r#"model:  weather{"city":"Paris"}"#, "tool: 18 degrees in Paris"];
    assert_eq!(run(Results::LastMessage, false).await, said);
    assert_eq!(run(Results::LastMessage, true).await, [said[0], back[0], back[1], said[1]]);
    assert_eq!(run(Results::FullHistory, false).await, [work[0], work[1], said[0], said[1]]);
    assert_eq!(run(Results::FullHistory, true).await, [work[0], work[1], said[0], back[0], back[1], said[1]]);
}

/// A tool that returns once two have been called.
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

/// R-FWK-11, R-REF-151: agents that are called together work at once; results of other calls of the same message are
/// kept, each call is answered once and in its place, and nobody is asked with a call open.
#[tokio::test]
async fn agents_called_together_work_at_once_and_nothing_is_lost() {
    let barrier = Arc::new(Barrier::new(2));
    let model = |words: &'static str| Scripted::new([Reply::call("meet", json!({})), Reply::from(words)]);
    let (left, right) = (model("left is done"), model("right is done"));
    let both = calls("right").and_call("weather", json!({ "city": "Rome" })).and_call("transfer_to_left", json!({}));
    let head = Scripted::new([both.and_call("transfer_to_right", json!({ "task": "again" })), Reply::from("Done.")]);
    let members = [("left", &left), ("right", &right)]
        .map(|(name, model)| member(name, "Works.", react_agent(model.clone(), [meet(&barrier)])));
    let team = supervisor(head.clone(), members).tools([weather()]).without_hand_back();
    let team = team.checkpointer(Memory::new()).compile().unwrap();
    let done = team.run("Go").thread("t").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        [
            "tool: handed over to right",
            "tool: 18 degrees in Rome",
            "tool: handed over to left",
            "tool: handed over to right",
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
    for state in team.threads().history("t", &HistoryQuery::default()).await.unwrap() {
        assert_paired(&state.state.messages);
    }
}

/// R-FWK-11: rounds of the supervisor's own tools before a hand-off are kept too.
#[tokio::test]
async fn what_the_supervisor_did_before_is_kept() {
    let head = Scripted::new([asks_for("Oslo"), calls("poet"), Reply::from("Done.")]);
    let team = supervisor(head, [says("poet", "Cold.")]).tools([weather()]).without_hand_back().compile().unwrap();
    let done = team.run("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [
            r#"model:  weather{"city":"Oslo"}"#,
            "tool: 18 degrees in Oslo",
            "model:  transfer_to_poet{}",
            "tool: handed over to poet",
            "model: Cold.",
            "model: Done."
        ]
    );
}

/// R-FWK-11, R-FWK-86: an agent asks a person; the answer, in another process, goes on there. Who has finished beside it
/// does not work again.
#[tokio::test]
async fn a_question_inside_an_agent_is_answered_later() {
    let file = fresh_file("teams");
    let build = |head: &Scripted, cleaner: &Scripted, poet: &Scripted| {
        let cleaner = member("cleaner", "Deletes.", react_agent(cleaner.clone(), [delete()]));
        let poet = member("poet", "Writes.", react_agent(poet.clone(), Tools::default()));
        supervisor(head.clone(), [cleaner, poet]).checkpointer(Sqlite::open(&file).unwrap()).compile().unwrap()
    };
    let head = Scripted::new([calls("cleaner").and_call("transfer_to_poet", json!({}))]);
    let asks = Scripted::new([Reply::call("delete", json!({ "path": "a" }))]);
    let before = build(&head, &asks, &Scripted::new(["A poem."]));
    let paused = before.run("Clean up").thread("t").await.unwrap();
    let question = only_question(&paused);
    assert_eq!(question.value["tool"], "delete");
    drop(before);

    let (head, cleaner, poet) = (Scripted::new(["All done."]), Scripted::new(["It is gone."]), Scripted::default());
    let team = build(&head, &cleaner, &poet);
    let done = team.resume("t", Approval::approve(&question).unwrap()).await.unwrap();
    assert_eq!(done.status, Status::Finished);
    let said: Vec<String> = done.state.messages.iter().map(|message| message.text().into_owned()).collect();
    let back = ["Back to supervisor.", "handed back to supervisor"];
    assert_eq!(said[4..], ["It is gone.", back[0], back[1], "A poem.", back[0], back[1], "All done."]);
    assert_paired(&done.state.messages);
    assert_eq!((requests(&cleaner).len(), poet.requests().len()), (1, 0));
}

/// R-FWK-11: agents are called as often as told in a turn; then the supervisor must answer, and leaves nothing open.
#[tokio::test]
async fn rounds_of_a_turn_are_bounded() {
    let head =
        Scripted::new([calls("poet"), calls("poet"), calls("poet").and_call("weather", json!({})), calls("poet")])
            .then("Enough.");
    let poet = Scripted::new(["one", "two", "three"]);
    let poet = member("poet", "Writes.", react_agent(poet, Tools::default()));
    let team = supervisor(head.clone(), [poet]).max_rounds(2).tools([weather()]).checkpointer(Memory::new());
    let team = team.compile().unwrap();
    let done = team.run("Write").thread("t").await.unwrap();
    let last = done.state.messages.last().unwrap();
    assert_eq!((last.tool_calls.len(), &last.metadata["out_of_rounds"]), (0, &json!(true)));
    assert_eq!(requests(&head)[2].tool_choice, ToolChoice::None);
    assert_paired(&done.state.messages);
    // The next turn counts anew.
    let done = team.run("More").thread("t").await.unwrap();
    assert_eq!(done.state.messages.last().unwrap().text(), "Enough.");
    assert!(done.state.messages.iter().any(|message| message.text() == "three"));
}

/// The drawing without what is inside its nodes.
pub(super) fn around(text: &str) -> &str {
    text.find(":\n").and_then(|at| text[..at].rfind("\n\n")).map_or(text, |at| &text[..at])
}

/// R-FWK-11: a team is drawn as it works.
#[test]
fn a_team_is_drawn() {
    let team = supervisor(Scripted::default(), [says("poet", ""), says("critic", "")]).compile().unwrap();
    insta::assert_snapshot!(around(&team.drawing().to_text()), @r"
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

/// R-FWK-11: names that no tool can have, that are there twice, or nobody at all, are refused before anything runs.
#[test]
fn teams_that_cannot_work_are_refused() {
    let compile = |members: Vec<Member>| refused(supervisor(Scripted::default(), members).compile().map(drop));
    for (members, fact) in [
        (vec![], "a team has no agents"),
        (vec![says("a", ""), says("a", "")], "two agents are called `a`"),
        (vec![says("a b", "")], "an agent cannot be called `a b`"),
        (vec![says(&"x".repeat(60), "")], "an agent cannot be called"),
        (vec![says("a", "").hands_to(["b"])], "`a` hands over by itself, and `supervisor` decides who is next"),
        (vec![member("a", "", silent())], "`silent` cannot be an agent: it keeps no conversation"),
    ] {
        let error = compile(members);
        assert_eq!(error.code(), Code::InvalidGraph);
        assert!(error.message().contains(fact), "{error}");
    }
    // The name of the supervisor is a part of `transfer_back_to_<name>`.
    for (name, is_fit) in [("x".repeat(47), true), ("x".repeat(48), false), ("the head".to_owned(), false)] {
        let team = || supervisor(Scripted::default(), [says("a", "")]).name(name.as_str());
        assert_eq!(team().compile().is_ok(), is_fit, "{name}");
        assert!(team().without_hand_back().compile().is_ok(), "{name}");
    }
}

/// R-FWK-11: two runs that say the same make the same calls, those of hand-backs included, and each has its own id.
#[tokio::test]
async fn ids_of_hand_backs_are_the_same_in_each_run() {
    let ids = async || {
        let both = calls("a").and_call("transfer_to_b", json!({}));
        let head = Scripted::new([both, calls("a"), Reply::from("Done.")]);
        let talks = |name: &str| member(name, "Talks.", react_agent(Scripted::new(["Hm.", "Hm."]), Tools::default()));
        let team = supervisor(head, [talks("a"), talks("b")]).compile().unwrap();
        let done = team.run("Go").await.unwrap();
        assert_paired(&done.state.messages);
        let made = done.state.messages.iter().flat_map(|message| message.tool_calls.clone());
        let backs = made.filter(|call| call.name.starts_with("transfer_back_to_"));
        backs.map(|call| call.id).collect::<Vec<_>>()
    };
    let (one, two) = (ids().await, ids().await);
    assert_eq!(one, two);
    assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 3);
}

#[derive(State, Clone, Serialize, Deserialize)]
struct Silent {
    text: String,
}

fn silent() -> Compiled<Silent> {
    let mut graph = Graph::<Silent>::new("silent");
    let a = graph.node("a", || Silent::update().text("a"));
    graph.edge(START, a).edge(a, END);
    graph.compile().unwrap()
}

#[derive(State, Clone, Serialize, Deserialize)]
struct Clerk {
    #[reduce(messages)]
    messages: Messages,
    #[reduce(add)]
    visits: u64,
}

/// An agent without a model, which counts its visits.
fn clerk(breakpoint: bool) -> Compiled<Clerk> {
    let mut graph = Graph::<Clerk>::new("clerk");
    let count = graph.node("count", || Clerk::update().visits(1u64));
    let say = graph.node("say", |clerk: View<Clerk>| {
        let asks = Message::assistant("looking").with_tool_calls([ToolCall::new("c", "look", json!({}))]);
        Clerk::update().messages(vec![asks, Message::tool("c", format!("visit {}", clerk.visits))])
    });
    graph.sequence([START, count.into(), say.into(), END]).persistence(Persistence::PerThread);
    if breakpoint {
        graph.interrupt_before(["say"]);
    }
    graph.compile().unwrap()
}

/// R-FWK-11: any graph with a conversation is an agent: it may remember its visits and stop at its breakpoints. A last
/// word that is the result of a tool comes back as words, for its call does not.
#[tokio::test]
async fn any_graph_with_a_conversation_is_an_agent() {
    let head = Scripted::new([calls("clerk"), calls("clerk"), Reply::from("Done.")]);
    let clerk = member("clerk", "Counts.", clerk(true));
    let team = supervisor(head.clone(), [clerk]).without_hand_back().checkpointer(Memory::new()).compile().unwrap();
    let paused = team.run("Go").thread("t").await.unwrap();
    assert!(matches!(paused.status, Status::Paused(_)), "{:?}", paused.status);
    team.go_on("t").await.unwrap();
    let done = team.go_on("t").await.unwrap();
    let said = transcript(&done.state.messages);
    assert_eq!((&*said[3], &*said[6], &*said[7]), ("model: visit 1", "model: visit 2", "model: Done."));
    requests(&head);
}

/// R-FWK-11: what an agent sums up or forgets is its own business: the team keeps its conversation.
#[tokio::test]
async fn an_agent_does_not_change_what_the_team_said() {
    let short = Scripted::new(["They talked."]);
    let worker = react_agent(Scripted::new(["Short."]), Tools::default())
        .middleware(Summarize::with(short.clone()).at_messages(4).keep(1));
    let mut forgets = Graph::<TeamState>::new("forgets");
    let forget =
        forgets.node("forget", || TeamState::update().messages(RemoveAll).messages(Message::assistant("What?")));
    forgets.edge(START, forget).edge(forget, END);
    let head = Scripted::new([calls("worker"), calls("forgets"), Reply::from("Done.")]);
    let members = [member("worker", "Works.", worker), member("forgets", "Forgets.", forgets.compile().unwrap())];
    let team = supervisor(head.clone(), members).without_hand_back().results(Results::FullHistory).compile().unwrap();
    let done = team.run(vec![Message::user("Hello"), Message::user("Tell me everything")]).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        [
            "user: Hello",
            "user: Tell me everything",
            "model:  transfer_to_worker{}",
            "tool: handed over to worker",
            "model: Short.",
            "model:  transfer_to_forgets{}",
            "tool: handed over to forgets",
            "model: What?",
            "model: Done."
        ]
    );
    assert_eq!(short.requests().len(), 1);
}

/// R-FWK-11: a team is an agent of another team, and a supervisor's answer may have a form.
#[tokio::test]
async fn a_team_is_an_agent_of_another() {
    #[derive(Deserialize, superstep::JsonSchema)]
    struct Verdict {
        #[serde(rename = "good")]
        _good: bool,
    }
    let inner = supervisor(Scripted::new([calls("poet"), Reply::from("It rhymes.")]), [says("poet", "Roses.")]);
    let inner = inner.name("editor").results(Results::FullHistory).compile().unwrap();
    let head = Scripted::new([calls("editor"), Reply::from(r#"{"good": true}"#)]);
    let team = supervisor(head.clone(), [member("editor", "Edits.", inner)]).results(Results::FullHistory);
    let team = team.agent(|agent| agent.answer_as::<Verdict>().system_prompt("Judge.")).compile().unwrap();
    let done = team.run("A poem").await.unwrap();
    assert_eq!(done.state.structured, Some(json!({ "good": true })));
    assert!(transcript(&done.state.messages).contains(&"model: Roses.".to_owned()));
    assert_paired(&done.state.messages);
    assert_eq!(requests(&head)[0].messages[0].text(), "Judge.");
}

/// R-FWK-11: a supervisor that has its word refused by a person hears of it, and nobody is called.
#[tokio::test]
async fn a_hand_off_may_be_refused() {
    let head = Scripted::new([calls("poet"), Reply::from("Then not.")]);
    let team = supervisor(head, [says("poet", "never")])
        .agent(|agent| agent.tool_node(|node| node.policy(Policy::deny(["transfer_to_poet"]))));
    let done = team.compile().unwrap().run("Go").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        ["tool: not executed: the policy forbids `transfer_to_poet`", "model: Then not."]
    );
}

/// R-FWK-11: agents that are compiled for a context make a team that has one.
#[tokio::test]
async fn a_team_has_the_context_of_its_agents() {
    /// Greets the customer.
    #[tool(read_only)]
    async fn greet(customer: Ctx<String>) -> String {
        format!("Hello, {}", customer.as_str())
    }
    let worker = Scripted::new([Reply::call("greet", json!({})), Reply::from("Greeted.")]);
    let greeter = react_agent(worker, [greet()]).compile_for::<String>().unwrap();
    let head = Scripted::new([calls("greeter"), Reply::call("greet", json!({})), Reply::from("Done.")]);
    let team = supervisor(head, [member("greeter", "Greets.", greeter)]).tools([greet()]);
    let team = team.results(Results::FullHistory).compile().unwrap();
    let done = team.run("Go").context("Ada".to_owned()).await.unwrap();
    let said = transcript(&done.state.messages);
    assert_eq!(said.iter().filter(|line| *line == "tool: Hello, Ada").count(), 2, "{said:?}");
}
