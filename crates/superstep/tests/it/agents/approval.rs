//! A person's word before tools run, asked in a node of its own.

use superstep::Compiled;
use superstep::agent::{AgentState, Decision, HumanApproval, react_agent};
use superstep::core::machine::Answers;
use superstep::core::port::SharedCheckpointer;
use superstep::sqlite::Sqlite;
use superstep::tool::{Policy, Tools};

use super::*;
use crate::support::{only_question, refused};

fn deletes() -> Reply {
    let call = |path: &str| json!({ "path": path });
    Reply::call("delete", call("a")).and_call("weather", json!({ "city": "Rome" })).and_call("delete", call("b"))
}

fn agent(model: &Scripted, approval: HumanApproval, store: impl Into<SharedCheckpointer>) -> Compiled<AgentState> {
    let tools = Tools::new([delete(), weather()]).unwrap();
    react_agent(model.clone(), tools).middleware(approval).checkpointer(store).compile().unwrap()
}

/// R-FWK-86, R-FWK-11: one question asks about all calls, in the form that agents elsewhere use; an answer in another
/// process runs the tools and does not ask the model again.
#[tokio::test]
async fn an_answer_after_a_restart_does_not_ask_the_model_again() {
    let file = fresh_file("approval");
    let open = || Sqlite::open(&file).unwrap();
    let before = Scripted::new([deletes()]);
    let paused = agent(&before, HumanApproval::new(), open()).run("Clean up").thread("t").await.unwrap();
    let question = only_question(&paused);
    let shown = &question.value["action_requests"];
    assert_eq!((shown.as_array().unwrap().len(), &shown[1]["args"]), (2, &json!({ "path": "b" })));
    assert_eq!(question.value["review_configs"][0]["action_name"], "delete");
    assert_eq!(paused.next, ["HumanApproval.after_model"]);

    let after = Scripted::new(["Done."]);
    let agent = agent(&after, HumanApproval::new(), open());
    let short = json!({ "decisions": [{ "type": "approve" }] });
    assert_eq!(refused(agent.resume("t", short).await).code(), superstep::Code::InvalidResume);
    let said = json!({ "decisions": [{ "type": "approve" }, { "type": "reject", "message": "we need it" }] });
    let done = agent.resume("t", said).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        ["tool: not executed: we need it", "tool: a is gone", "tool: 18 degrees in Rome", "model: Done."]
    );
    assert_eq!((before.requests().len(), after.requests().len()), (1, 1));
}

/// R-FWK-86: each call may be a question of its own; a person approves, edits, rejects or gives the result, in any order.
#[tokio::test]
async fn each_call_may_be_asked_about_by_itself() {
    let call = |path: &str| json!({ "path": path });
    let asks = Reply::call("delete", call("a")).and_call("delete", call("b")).and_call("delete", call("c"));
    let model = Scripted::new([asks.and_call("delete", call("d")), Reply::from("Done.")]);
    let agent = agent(&model, HumanApproval::new().each(), Memory::new());
    let paused = agent.run("Clean up").thread("t").await.unwrap();
    let questions = paused.questions();
    let shown = &questions[0].value;
    assert_eq!(
        (&shown["type"], &shown["name"], &shown["args"]),
        (&json!("tool_approval"), &json!("delete"), &call("a"))
    );
    let edit = |name: &str| json!({ "type": "edit", "edited_action": { "name": name, "args": call("c2") } });
    let other = Answers::from([(questions[2].id, edit("weather"))]);
    assert_eq!(refused(agent.resume_with("t", other).await).code(), superstep::Code::InvalidResume);
    let some = Answers::from([(questions[2].id, edit("delete")), (questions[1].id, json!(Decision::reject("no")))]);
    let half = agent.resume_with("t", some).await.unwrap();
    assert_eq!((half.questions().len(), model.requests().len()), (2, 1));
    let rest = Answers::from([
        (questions[0].id, json!({ "type": "approve" })),
        (questions[3].id, json!({ "type": "respond", "message": "d was empty" })),
    ]);
    let done = agent.resume_with("t", rest).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[1..],
        [
            r#"model:  delete{"path":"a"} delete{"path":"b"} delete{"path":"c2"} delete{"path":"d"}"#,
            "tool: not executed: no",
            "tool: d was empty",
            "tool: a is gone",
            "tool: c2 is gone",
            "model: Done."
        ]
    );
}

/// R-FWK-86: when every call is refused the model hears of it and goes on; what the policy forbids is not asked about.
#[tokio::test]
async fn refused_calls_are_told_the_model() {
    let model = Scripted::new([deletes(), Reply::from("As you wish.")]);
    let policy = Policy::deny(["delete"]).and_ask(["weather"]);
    let agent = agent(&model, HumanApproval::new().policy(policy), Memory::new());
    let paused = agent.run("Clean up").thread("t").await.unwrap();
    assert_eq!(only_question(&paused).value["action_requests"][0]["name"], "weather");
    let done = agent.resume("t", json!({ "decisions": [{ "type": "reject" }] })).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        [
            "tool: not executed: it was rejected",
            "tool: not executed: the policy forbids `delete`",
            "tool: not executed: the policy forbids `delete`",
            "model: As you wish."
        ]
    );
}

/// R-FWK-86: a person cannot call what the policy forbids by an edit, and a tool that is not there is refused.
#[tokio::test]
async fn an_edit_does_not_go_around_the_policy() {
    let asks = || Reply::call("weather", json!({ "city": "Rome" })).and_call("wheather", json!({}));
    let policy = || Policy::ask(["weather"]).and_deny(["delete"]);
    for (tool, told) in [
        ("delete", "tool: not executed: the policy forbids `delete`"),
        ("xyz", "tool: not executed: no tool `xyz`; known: `delete`, `weather`"),
    ] {
        let model = Scripted::new([asks(), Reply::from("As you wish.")]);
        let agent = agent(&model, HumanApproval::new().policy(policy()), Memory::new());
        agent.run("Go").thread("t").await.unwrap();
        let edit = json!({ "type": "edit", "edited_action": { "name": tool, "args": { "path": "a" } } });
        let done = agent.resume("t", json!({ "decisions": [edit] })).await.unwrap();
        let lines = transcript(&done.state.messages);
        assert_eq!(lines[2], told);
        assert!(lines[3].starts_with("tool: not executed: no tool `wheather`; did you mean `weather`?"), "{lines:?}");
        assert_eq!(lines[4], "model: As you wish.");
    }
}

/// R-FWK-86: a policy of the node of the tools does not make it ask again, but about tools that it names.
#[tokio::test]
async fn a_person_is_asked_once() {
    for (policy, is_asked_again) in [(Policy::allow(["weather"]), false), (Policy::ask(["delete"]), true)] {
        let model = Scripted::new([Reply::call("delete", json!({ "path": "a" })), Reply::from("Done.")]);
        let agent = react_agent(model, [delete()]).middleware(HumanApproval::new()).checkpointer(Memory::new());
        let agent = agent.tool_node(|node| node.policy(policy)).compile().unwrap();
        let paused = agent.run("Clean up").thread("t").await.unwrap();
        assert_eq!(only_question(&paused).name, "approve tool calls");
        let next = agent.resume("t", json!({ "decisions": [{ "type": "approve" }] })).await.unwrap();
        assert_eq!(next.questions().len(), usize::from(is_asked_again));
        let is_gone = transcript(&next.state.messages).contains(&"tool: a is gone".to_owned());
        assert_eq!(is_gone, !is_asked_again);
    }
}
