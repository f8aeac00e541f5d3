//! Human approval before tools run, in a separate node.

use superstep::CompiledGraph;
use superstep::agents::{AgentState, Decision, HumanInTheLoop, react_agent};
use superstep::core::machine::ResumeValues;
use superstep::core::port::SharedCheckpointer;
use superstep::sqlite::SqliteCheckpointer;
use superstep::tools::{ToolPolicy, ToolSet};

use super::*;
use crate::support::{expect_error, only_question};

fn deletes() -> ScriptedReply {
    let call = |path: &str| json!({ "path": path });
    ScriptedReply::tool_call("delete", call("a"))
        .and_tool_call("weather", json!({ "city": "Rome" }))
        .and_tool_call("delete", call("b"))
}

fn agent(
    model: &ScriptedModel,
    approval: HumanInTheLoop,
    store: impl Into<SharedCheckpointer>,
) -> CompiledGraph<AgentState> {
    let tools = ToolSet::new([delete(), weather()]).unwrap();
    react_agent(model.clone(), tools).middleware(approval).checkpointer(store).compile().unwrap()
}

/// R-FWK-86, R-FWK-11: one interrupt covers all calls, in LangChain's format; a resume value in another process runs
/// the tools and does not call the model again.
#[tokio::test]
async fn an_answer_after_a_restart_does_not_ask_the_model_again() {
    let file = fresh_file("approval");
    let open = || SqliteCheckpointer::open(&file).unwrap();
    let before = ScriptedModel::new([deletes()]);
    let paused = agent(&before, HumanInTheLoop::new(), open()).invoke("Clean up").thread("t").await.unwrap();
    let question = only_question(&paused);
    let requests = &question.value["action_requests"];
    assert_eq!((requests.as_array().unwrap().len(), &requests[1]["args"]), (2, &json!({ "path": "b" })));
    assert_eq!(question.value["review_configs"][0]["action_name"], "delete");
    assert_eq!(paused.next, ["HumanInTheLoop.after_model"]);

    let after = ScriptedModel::new(["Done."]);
    let agent = agent(&after, HumanInTheLoop::new(), open());
    let short = json!({ "decisions": [{ "type": "approve" }] });
    assert_eq!(expect_error(agent.resume("t", short).await).code(), superstep::ErrorCode::InvalidResume);
    let decisions = json!({ "decisions": [{ "type": "approve" }, { "type": "reject", "message": "we need it" }] });
    let done = agent.resume("t", decisions).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        ["tool: not executed: we need it", "tool: a is gone", "tool: 18 degrees in Rome", "model: Done."]
    );
    assert_eq!((before.requests().len(), after.requests().len()), (1, 1));
}

/// R-FWK-86: each call may have a separate interrupt; a human approves, edits, rejects or gives the result, in any
/// order.
#[tokio::test]
async fn each_call_may_be_approved_separately() {
    let call = |path: &str| json!({ "path": path });
    let reply = ScriptedReply::tool_call("delete", call("a"))
        .and_tool_call("delete", call("b"))
        .and_tool_call("delete", call("c"));
    let model = ScriptedModel::new([reply.and_tool_call("delete", call("d")), ScriptedReply::from("Done.")]);
    let agent = agent(&model, HumanInTheLoop::new().per_call(), MemoryCheckpointer::new());
    let paused = agent.invoke("Clean up").thread("t").await.unwrap();
    let questions = paused.interrupts();
    let payload = &questions[0].value;
    assert_eq!(
        (&payload["type"], &payload["name"], &payload["args"]),
        (&json!("tool_approval"), &json!("delete"), &call("a"))
    );
    let edit = |name: &str| json!({ "type": "edit", "edited_action": { "name": name, "args": call("c2") } });
    let other = ResumeValues::from([(questions[2].id, edit("weather"))]);
    assert_eq!(expect_error(agent.resume_with("t", other).await).code(), superstep::ErrorCode::InvalidResume);
    let some =
        ResumeValues::from([(questions[2].id, edit("delete")), (questions[1].id, json!(Decision::reject("no")))]);
    let half = agent.resume_with("t", some).await.unwrap();
    assert_eq!((half.interrupts().len(), model.requests().len()), (2, 1));
    let rest = ResumeValues::from([
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

/// R-FWK-86: if every call is rejected, the model receives the reason and continues; denied calls raise no interrupt.
#[tokio::test]
async fn rejected_calls_are_reported_to_the_model() {
    let model = ScriptedModel::new([deletes(), ScriptedReply::from("As you wish.")]);
    let policy = ToolPolicy::deny(["delete"]).and_require_approval(["weather"]);
    let agent = agent(&model, HumanInTheLoop::new().policy(policy), MemoryCheckpointer::new());
    let paused = agent.invoke("Clean up").thread("t").await.unwrap();
    assert_eq!(only_question(&paused).value["action_requests"][0]["name"], "weather");
    let done = agent.resume("t", json!({ "decisions": [{ "type": "reject" }] })).await.unwrap();
    assert_eq!(
        transcript(&done.state.messages)[2..],
        [
            "tool: not executed: the call was rejected",
            "tool: not executed: the policy denies `delete`",
            "tool: not executed: the policy denies `delete`",
            "model: As you wish."
        ]
    );
}

/// R-FWK-86: an edit cannot call a tool that the policy denies, and an unknown tool is rejected.
#[tokio::test]
async fn an_edit_cannot_bypass_the_policy() {
    let reply = || ScriptedReply::tool_call("weather", json!({ "city": "Rome" })).and_tool_call("wheather", json!({}));
    let policy = || ToolPolicy::require_approval(["weather"]).and_deny(["delete"]);
    for (tool, expected) in [
        ("delete", "tool: not executed: the policy denies `delete`"),
        ("xyz", "tool: not executed: unknown tool `xyz`; known: `delete`, `weather`"),
    ] {
        let model = ScriptedModel::new([reply(), ScriptedReply::from("As you wish.")]);
        let agent = agent(&model, HumanInTheLoop::new().policy(policy()), MemoryCheckpointer::new());
        agent.invoke("Go").thread("t").await.unwrap();
        let edit = json!({ "type": "edit", "edited_action": { "name": tool, "args": { "path": "a" } } });
        let done = agent.resume("t", json!({ "decisions": [edit] })).await.unwrap();
        let lines = transcript(&done.state.messages);
        assert_eq!(lines[2], expected);
        assert!(
            lines[3].starts_with("tool: not executed: unknown tool `wheather`; did you mean `weather`?"),
            "{lines:?}"
        );
        assert_eq!(lines[4], "model: As you wish.");
    }
}

/// R-FWK-86: the policy of the tool node requests no second approval, except for tools that it names.
#[tokio::test]
async fn an_approval_is_requested_once() {
    for (policy, is_requested_again) in
        [(ToolPolicy::allow(["weather"]), false), (ToolPolicy::require_approval(["delete"]), true)]
    {
        let model = ScriptedModel::new([
            ScriptedReply::tool_call("delete", json!({ "path": "a" })),
            ScriptedReply::from("Done."),
        ]);
        let agent =
            react_agent(model, [delete()]).middleware(HumanInTheLoop::new()).checkpointer(MemoryCheckpointer::new());
        let agent = agent.tool_node(|node| node.policy(policy)).compile().unwrap();
        let paused = agent.invoke("Clean up").thread("t").await.unwrap();
        assert_eq!(only_question(&paused).name, "approve tool calls");
        let next = agent.resume("t", json!({ "decisions": [{ "type": "approve" }] })).await.unwrap();
        assert_eq!(next.interrupts().len(), usize::from(is_requested_again));
        let is_gone = transcript(&next.state.messages).contains(&"tool: a is gone".to_owned());
        assert_eq!(is_gone, !is_requested_again);
    }
}
