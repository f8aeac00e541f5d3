//! Middleware hooks: which of them run, their order, and their jump targets.

use superstep::agents::{
    HookContext, HookUpdate, Hooks, JumpTo, Middleware, ModelRequest, NextModel, NextTool, ToolCallRequest,
    after_model, before_model, react_agent, wrap_tool_call,
};
use superstep::models::ChatResponse;
use superstep::tools::ToolSet;
use superstep::{Error, ErrorCode};

use super::*;
use crate::support::{Calls, expect_error};

/// A middleware that records every hook.
struct Noting(&'static str, Calls);

impl Noting {
    fn note(&self, event: &str) -> Result<HookUpdate, NodeError> {
        self.1.note(format!("{} {event}", self.0));
        Ok(HookUpdate::none())
    }
}

impl Middleware for Noting {
    fn name(&self) -> &str {
        self.0
    }

    fn hooks(&self) -> Hooks {
        Hooks::none().before_agent().before_model().after_model().after_agent().wrap_model_call().wrap_tool_call()
    }

    async fn before_agent(&self, _hook: HookContext) -> Result<HookUpdate, NodeError> {
        self.note("before agent")
    }

    async fn before_model(&self, _hook: HookContext) -> Result<HookUpdate, NodeError> {
        self.note("before model")
    }

    async fn after_model(&self, _hook: HookContext) -> Result<HookUpdate, NodeError> {
        self.note("after model")
    }

    async fn after_agent(&self, _hook: HookContext) -> Result<HookUpdate, NodeError> {
        self.note("after agent")
    }

    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        self.1.note(format!("{} asks", self.0));
        let answer = next.run(request).await;
        self.1.note(format!("{} was answered", self.0));
        answer
    }

    async fn wrap_tool_call(&self, request: ToolCallRequest, next: NextTool) -> Result<ToolOutput, ToolError> {
        self.1.note(format!("{} calls {}", self.0, request.tool()));
        next.run(request).await
    }
}

/// R-FWK-11: `before` hooks run in order, `after` hooks in reverse; the first wrapper is the outermost.
#[tokio::test]
async fn hooks_run_in_their_order() {
    let calls = Calls::default();
    let (a, b) = (Noting("a", calls.clone()), Noting("b", calls.clone()));
    let agent = react_agent(one_call(), [weather()]).middleware(a).middleware(b).compile().unwrap();
    agent.invoke("How is it?").await.unwrap();
    let round = |more: &[&'static str]| {
        let model_calls = ["a before model", "b before model", "a asks", "b asks", "b was answered", "a was answered"];
        [&model_calls[..], &["b after model", "a after model"], more].concat()
    };
    let expected = [
        vec!["a before agent", "b before agent"],
        round(&["a calls weather", "b calls weather"]),
        round(&["b after agent", "a after agent"]),
    ];
    assert_eq!(calls.take(), expected.concat());
}

/// R-FWK-11: each declared hook is a node; undeclared hooks have no nodes.
#[test]
fn hooks_are_drawn_as_nodes() {
    let noting = Noting("noting", Calls::default());
    let gate = before_model("gate", async |_| Ok(HookUpdate::none())).can_jump_to([JumpTo::End]);
    let agent = react_agent(one_call(), [weather()]).middleware(noting).middleware(gate).compile().unwrap();
    insta::assert_snapshot!(agent.diagram().to_mermaid(), @r##"
    graph TD;
      n0(["#95;#95;start#95;#95;"]);
      n1["noting#46;before_agent"];
      n2["noting#46;before_model"];
      n3["gate#46;before_model"];
      n4["model"];
      n5["noting#46;after_model"];
      n6["tools"];
      n7["noting#46;after_agent"];
      n8(["#95;#95;end#95;#95;"]);
      n0 --> n1;
      n1 --> n2;
      n2 --> n3;
      n3 --> n4;
      n3 -.-> n7;
      n4 --> n5;
      n5 -.-> n6;
      n5 -.-> n2;
      n5 -.-> n7;
      n6 --> n2;
      n7 --> n8;
    "##);
}

/// R-FWK-11: a hook may end the agent or repeat the model call; an undeclared jump is rejected.
#[tokio::test]
async fn hooks_jump_only_to_declared_targets() {
    let calls = Calls::default();
    let ends =
        || before_model("gate", async |_| Ok(HookUpdate::jump(JumpTo::End).messages(Message::assistant("Closed."))));
    let agent = react_agent(ScriptedModel::default(), [weather()])
        .middleware(Noting("noting", calls.clone()))
        .middleware(ends().can_jump_to([JumpTo::End]))
        .compile()
        .unwrap();
    let done = agent.invoke("Hello?").await.unwrap();
    assert_eq!(transcript(&done.state.messages), ["user: Hello?", "model: Closed."]);
    assert_eq!(calls.take(), ["noting before agent", "noting before model", "noting after agent"]);

    let agent = react_agent(ScriptedModel::default(), [weather()]).middleware(ends()).compile().unwrap();
    let error: Error = expect_error(agent.invoke("Hello?").await);
    assert_eq!(error.code(), ErrorCode::InvalidRoute);
    assert!(error.to_string().contains("middleware `gate` returned the undeclared jump `End`"), "{error}");

    let critic = after_model("critic", async |hook: HookContext| {
        let is_polite = hook.messages().last().is_some_and(|message| message.text().contains("please"));
        Ok(if is_polite {
            HookUpdate::none()
        } else {
            HookUpdate::jump(JumpTo::Model).messages(Message::user("Be polite."))
        })
    });
    let model = ScriptedModel::new(["Wait.", "Wait, please."]);
    let agent =
        react_agent(model, ToolSet::default()).middleware(critic.can_jump_to([JumpTo::Model])).compile().unwrap();
    let done = agent.invoke("How late is it?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        ["user: How late is it?", "model: Wait.", "user: Be polite.", "model: Wait, please."]
    );
    // A message that a middleware adds with the role of the user does not count as written by the user.
    assert_eq!(done.state.messages.get(2).unwrap().metadata["added_by"], "critic");
}

/// R-FWK-11: the state of a middleware is private, stays on the thread, and is in no output.
#[tokio::test]
async fn middleware_state_is_private_and_stays_on_the_thread() {
    let seen = Calls::default();
    let hook_calls = seen.clone();
    let counting = before_model("counting", move |hook: HookContext| {
        let hook_calls = hook_calls.clone();
        async move {
            let times: u32 = hook.middleware_state()?;
            hook_calls.note(format!("{times} in round {}", hook.turn().iterations()));
            HookUpdate::none().set_middleware_state(times + 1)
        }
    });
    let model = ScriptedModel::new([asks_for("Rome"), ScriptedReply::from("18."), ScriptedReply::from("Yes.")]);
    let agent =
        react_agent(model, [weather()]).middleware(counting).checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let done = agent.invoke("How is it?").thread("t").await.unwrap();
    assert!(!done.to_json().unwrap().to_string().contains("counting"));
    agent.invoke("Really?").thread("t").await.unwrap();
    assert_eq!(seen.take(), ["0 in round 0", "1 in round 1", "2 in round 0"]);
}

/// R-FWK-11: a closure around a tool may change its result; two middlewares with the same name are rejected.
#[tokio::test]
async fn closures_are_middlewares() {
    let loud = || {
        wrap_tool_call("loud", |request, next| async move {
            let output = next.run(request).await?;
            let text = output.content.map(|content| content.text().to_uppercase());
            Ok(ToolOutput::new(text.unwrap_or_default()))
        })
    };
    let agent = react_agent(one_call(), [weather()]).middleware(loud()).compile().unwrap();
    let done = agent.invoke("How is it?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2], "tool: 18 DEGREES IN PARIS");
    let twice = react_agent(one_call(), [weather()]).middleware(loud()).middleware(loud());
    assert!(expect_error(twice.compile().map(drop)).message().contains("the agent has two middlewares named `loud`"));
}
