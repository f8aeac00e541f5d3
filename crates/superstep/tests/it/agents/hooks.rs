//! Middlewares: which hooks run, in which order, and where they may jump.

use superstep::agent::{
    Effect, Hook, Hooks, Jump, Middleware, ModelRequest, NextModel, NextTool, ToolRequest, after_model, before_model,
    react_agent, wrap_tool,
};
use superstep::model::Answer;
use superstep::tool::Tools;
use superstep::{Code, Error};

use super::*;
use crate::support::{Calls, refused};

/// Notes every hook.
struct Noting(&'static str, Calls);

impl Noting {
    fn note(&self, what: &str) -> Result<Effect, NodeError> {
        self.1.note(format!("{} {what}", self.0));
        Ok(Effect::none())
    }
}

impl Middleware for Noting {
    fn name(&self) -> &str {
        self.0
    }

    fn hooks(&self) -> Hooks {
        Hooks::none().before_agent().before_model().after_model().after_agent().wrap_model().wrap_tool()
    }

    async fn before_agent(&self, _hook: Hook) -> Result<Effect, NodeError> {
        self.note("before agent")
    }

    async fn before_model(&self, _hook: Hook) -> Result<Effect, NodeError> {
        self.note("before model")
    }

    async fn after_model(&self, _hook: Hook) -> Result<Effect, NodeError> {
        self.note("after model")
    }

    async fn after_agent(&self, _hook: Hook) -> Result<Effect, NodeError> {
        self.note("after agent")
    }

    async fn wrap_model(&self, request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        self.1.note(format!("{} asks", self.0));
        let answer = next.run(request).await;
        self.1.note(format!("{} was answered", self.0));
        answer
    }

    async fn wrap_tool(&self, request: ToolRequest, next: NextTool) -> Result<ToolOutput, ToolError> {
        self.1.note(format!("{} calls {}", self.0, request.tool()));
        next.run(request).await
    }
}

/// R-FWK-11: before hooks run in order, after hooks in reverse; of those that wrap the first is the outermost.
#[tokio::test]
async fn hooks_run_in_their_order() {
    let calls = Calls::default();
    let (a, b) = (Noting("a", calls.clone()), Noting("b", calls.clone()));
    let agent = react_agent(one_call(), [weather()]).middleware(a).middleware(b).compile().unwrap();
    agent.run("How is it?").await.unwrap();
    let round = |more: &[&'static str]| {
        let asks = ["a before model", "b before model", "a asks", "b asks", "b was answered", "a was answered"];
        [&asks[..], &["b after model", "a after model"], more].concat()
    };
    let wanted = [
        vec!["a before agent", "b before agent"],
        round(&["a calls weather", "b calls weather"]),
        round(&["b after agent", "a after agent"]),
    ];
    assert_eq!(calls.take(), wanted.concat());
}

/// R-FWK-11: each hook that exists is a node; those that do not exist are none.
#[test]
fn hooks_are_drawn_as_nodes() {
    let noting = Noting("noting", Calls::default());
    let gate = before_model("gate", async |_| Ok(Effect::none())).may_jump([Jump::End]);
    let agent = react_agent(one_call(), [weather()]).middleware(noting).middleware(gate).compile().unwrap();
    insta::assert_snapshot!(agent.drawing().to_mermaid(), @r##"
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

/// R-FWK-11: a hook may end the agent, or have the model asked again; where it did not say so, it may not.
#[tokio::test]
async fn hooks_jump_where_they_may() {
    let calls = Calls::default();
    let ends = || before_model("gate", async |_| Ok(Effect::jump(Jump::End).messages(Message::assistant("Closed."))));
    let agent = react_agent(Scripted::default(), [weather()])
        .middleware(Noting("noting", calls.clone()))
        .middleware(ends().may_jump([Jump::End]))
        .compile()
        .unwrap();
    let done = agent.run("Hello?").await.unwrap();
    assert_eq!(transcript(&done.state.messages), ["user: Hello?", "model: Closed."]);
    assert_eq!(calls.take(), ["noting before agent", "noting before model", "noting after agent"]);

    let agent = react_agent(Scripted::default(), [weather()]).middleware(ends()).compile().unwrap();
    let error: Error = refused(agent.run("Hello?").await);
    assert_eq!(error.code(), Code::InvalidRoute);
    assert!(error.to_string().contains("`gate` jumps to `End`"), "{error}");

    let again = after_model("critic", async |hook: Hook| {
        let is_polite = hook.messages().last().is_some_and(|message| message.text().contains("please"));
        Ok(if is_polite { Effect::none() } else { Effect::jump(Jump::Model).messages(Message::user("Be polite.")) })
    });
    let model = Scripted::new(["Wait.", "Wait, please."]);
    let agent = react_agent(model, Tools::default()).middleware(again.may_jump([Jump::Model])).compile().unwrap();
    let done = agent.run("How late is it?").await.unwrap();
    assert_eq!(
        transcript(&done.state.messages),
        ["user: How late is it?", "model: Wait.", "user: Be polite.", "model: Wait, please."]
    );
    // What a middleware says for the user is not taken for the user's word.
    assert_eq!(done.state.messages.get(2).unwrap().metadata["added_by"], "critic");
}

/// R-FWK-11: what a middleware keeps is its own, stays on the thread, and is in no output.
#[tokio::test]
async fn a_middleware_keeps_what_it_needs() {
    let seen = Calls::default();
    let noted = seen.clone();
    let counting = before_model("counting", move |hook: Hook| {
        let noted = noted.clone();
        async move {
            let times: u32 = hook.kept()?;
            noted.note(format!("{times} in round {}", hook.turn().rounds()));
            Effect::none().keep(times + 1)
        }
    });
    let model = Scripted::new([asks_for("Rome"), Reply::from("18."), Reply::from("Yes.")]);
    let agent = react_agent(model, [weather()]).middleware(counting).checkpointer(Memory::new()).compile().unwrap();
    let done = agent.run("How is it?").thread("t").await.unwrap();
    assert!(!done.to_json().unwrap().to_string().contains("counting"));
    agent.run("Really?").thread("t").await.unwrap();
    assert_eq!(seen.take(), ["0 in round 0", "1 in round 1", "2 in round 0"]);
}

/// R-FWK-11: a closure around a tool may change its result; two middlewares of one name are refused.
#[tokio::test]
async fn closures_are_middlewares() {
    let loud = || {
        wrap_tool("loud", |request, next| async move {
            let output = next.run(request).await?;
            let text = output.content.map(|content| content.text().to_uppercase());
            Ok(ToolOutput::new(text.unwrap_or_default()))
        })
    };
    let agent = react_agent(one_call(), [weather()]).middleware(loud()).compile().unwrap();
    let done = agent.run("How is it?").await.unwrap();
    assert_eq!(transcript(&done.state.messages)[2], "tool: 18 DEGREES IN PARIS");
    let twice = react_agent(one_call(), [weather()]).middleware(loud()).middleware(loud());
    assert!(refused(twice.compile().map(drop)).message().contains("called `loud`"));
}
