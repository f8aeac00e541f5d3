//! Limits on the number of calls, on tokens and on cost.

use superstep::agents::{
    CostLimit, HookContext, HookUpdate, JumpTo, ModelCallLimit, ToolCallLimit, after_model, react_agent,
    wrap_model_call,
};
use superstep::core::message::TokenUsage;
use superstep::models::{CallBudget, Price, Prices};
use superstep::tools::ToolSet;
use superstep::{CompiledGraph, ErrorCode};

use super::*;
use crate::support::expect_error;

type Agent = CompiledGraph<superstep::agents::AgentState>;

async fn last(agent: &Agent, text: &'static str) -> String {
    agent.invoke(text).thread("t").await.unwrap().state.messages.last().unwrap().text().into_owned()
}

/// R-FWK-72, R-FWK-11: model calls are limited per turn and per thread; then the agent ends or fails.
#[tokio::test]
async fn calls_of_the_model_are_limited() {
    let endless = || ScriptedModel::default().when(|_| true, asks_for("Rome"));
    let agent = |limit: ModelCallLimit, model: &ScriptedModel| -> Agent {
        react_agent(model.clone(), [weather()])
            .middleware(limit)
            .checkpointer(MemoryCheckpointer::new())
            .compile()
            .unwrap()
    };
    let model = endless();
    let limited = agent(ModelCallLimit::new().per_turn(2).per_thread(3), &model);
    assert!(last(&limited, "One").await.contains("Stopped: model call limit of 2 reached in this turn."));
    assert_eq!(model.requests().len(), 2);
    assert!(last(&limited, "Two").await.contains("Stopped: model call limit of 3 reached on this thread."));
    assert_eq!(model.requests().len(), 3);
    let failing = agent(ModelCallLimit::new().per_turn(1).fail(), &endless());
    assert_eq!(expect_error(failing.invoke("One").thread("t").await).code(), ErrorCode::TooLarge);
}

/// R-FWK-72, R-FWK-11: calls of a tool beyond its limit do not run, and the model receives the reason; other calls
/// run.
#[tokio::test]
async fn calls_of_tools_are_limited() {
    let model = || {
        let both = asks_for("Rome").and_tool_call("weather", json!({ "city": "Oslo" }));
        ScriptedModel::new([
            both.and_tool_call("delete", json!({ "path": "a" })),
            asks_for("Bonn"),
            ScriptedReply::from("Enough."),
        ])
    };
    let agent = |limit: ToolCallLimit| -> Agent {
        let tools = ToolSet::new([weather(), delete()]).unwrap();
        let agent = react_agent(model(), tools).middleware(limit).checkpointer(MemoryCheckpointer::new());
        agent.tool_node(|node| node.policy(superstep::tools::ToolPolicy::allow(["*"]))).compile().unwrap()
    };
    let outcome = agent(ToolCallLimit::for_tool("weather").per_turn(1)).invoke("Go").thread("t").await.unwrap();
    assert_eq!(
        transcript(&outcome.state.messages)[2..],
        [
            "tool: not executed: call limit of tool `weather` reached",
            "tool: 18 degrees in Rome",
            "tool: a is gone",
            r#"model:  weather{"city":"Bonn"}"#,
            "tool: not executed: call limit of tool `weather` reached",
            "model: Enough."
        ]
    );
    let ended = agent(ToolCallLimit::all().per_thread(2).end()).invoke("Go").thread("t").await.unwrap();
    let lines = transcript(&ended.state.messages);
    assert_eq!(lines[2..5].iter().filter(|line| line.starts_with("tool: not executed")).count(), 3);
    assert_eq!(lines[5], "model: Stopped: tool call limit reached.");
    let failed = agent(ToolCallLimit::all().per_turn(2).fail()).invoke("Go").thread("t").await;
    assert_eq!(expect_error(failed).code(), ErrorCode::TooLarge);
}

/// R-FWK-72: tokens and cents of a turn and a thread are counted and limited; each call has a separate budget.
#[tokio::test]
async fn tokens_and_money_are_limited() {
    let reply = || asks_for("Rome").with_usage(TokenUsage::new(900, 100));
    let agent = |spending: CostLimit, replies: Vec<ScriptedReply>| -> (ScriptedModel, Agent) {
        let model = ScriptedModel::new(replies);
        let agent =
            react_agent(model.clone(), [weather()]).middleware(spending).checkpointer(MemoryCheckpointer::new());
        (model, agent.compile().unwrap())
    };
    let (model, by_tokens) = agent(CostLimit::new().turn_tokens(2_000), vec![reply(), reply(), reply()]);
    assert!(last(&by_tokens, "Go").await.contains("the turn has used 2000 tokens and reached its limit"));
    assert_eq!(model.remaining(), 1);

    let prices = Prices::new().with_price("scripted/script", Price::new(10.0, 100.0));
    let money = CostLimit::new().thread_cents(3.0).prices(prices).call(CallBudget::new().tokens(5_000));
    let (model, by_money) =
        agent(money, vec![reply(), ScriptedReply::from("18.").with_usage(TokenUsage::new(900, 100))]);
    // 900 input tokens and 100 output tokens cost 1.9 cents.
    assert_eq!(last(&by_money, "Go").await, "18.");
    assert!(model.requests()[0].max_tokens.is_some());
    assert!(last(&by_money, "On").await.contains("the thread has cost 3.8000 cents and reached its limit"));
}

/// R-FWK-72: a cost is counted once, also if another hook jumps before it is counted.
#[tokio::test]
async fn spending_is_counted_though_another_hook_jumps() {
    let reply = |words: &'static str| ScriptedReply::from(words).with_usage(TokenUsage::new(900, 100));
    let repeats = after_model("again", async |hook: HookContext| {
        let is_short = hook.messages().last().is_some_and(|message| message.text() == "Hm.");
        Ok(if is_short { HookUpdate::jump(JumpTo::Model).messages(Message::user("More.")) } else { HookUpdate::none() })
    });
    let ends = after_model("ends", async |_| Ok(HookUpdate::jump(JumpTo::End).messages(Message::assistant("Closed."))));
    let model = ScriptedModel::new([reply("Hm."), reply("Well, yes."), reply("Hm.")]);
    let agent = react_agent(model, ToolSet::default()).checkpointer(MemoryCheckpointer::new());
    let agent =
        agent.middleware(CostLimit::new().thread_tokens(3_000)).middleware(repeats.can_jump_to([JumpTo::Model]));
    let agent = agent.compile().unwrap();
    assert_eq!(last(&agent, "One").await, "Well, yes.");
    assert!(last(&agent, "Two").await.contains("the thread has used 3000 tokens and reached its limit"));

    let model = ScriptedModel::new([reply("Hm."), reply("Hm.")]);
    let agent = react_agent(model, ToolSet::default()).checkpointer(MemoryCheckpointer::new());
    let agent = agent.middleware(CostLimit::new().thread_tokens(2_000)).middleware(ends.can_jump_to([JumpTo::End]));
    let agent = agent.compile().unwrap();
    assert_eq!((last(&agent, "One").await, last(&agent, "Two").await), ("Closed.".to_owned(), "Closed.".to_owned()));
    assert!(last(&agent, "Three").await.contains("the thread has used 2000 tokens and reached its limit"));
}

/// R-FWK-72: a response without model metadata costs nothing, and is not an error.
#[tokio::test]
async fn responses_without_model_metadata_cost_nothing() {
    let cached = wrap_model_call("cached", |request, next| async move {
        let mut answer = next.run(request).await?;
        answer.message.metadata.remove("model");
        Ok(answer)
    });
    let model = ScriptedModel::new([ScriptedReply::from("Noon.").with_usage(TokenUsage::new(900, 100))]);
    let agent =
        react_agent(model, ToolSet::default()).middleware(CostLimit::new().thread_cents(3.0)).middleware(cached);
    assert_eq!(
        last(&agent.checkpointer(MemoryCheckpointer::new()).compile().unwrap(), "How late is it?").await,
        "Noon."
    );
}
