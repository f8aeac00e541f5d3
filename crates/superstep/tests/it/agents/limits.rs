//! How often and for how much: limits of calls, tokens and money.

use superstep::agent::{
    Effect, Hook, Jump, ModelCallLimit, Spending, ToolCallLimit, after_model, react_agent, wrap_model,
};
use superstep::core::message::Usage;
use superstep::model::{Budget, Price, Prices};
use superstep::tool::Tools;
use superstep::{Code, Compiled};

use super::*;
use crate::support::refused;

type Agent = Compiled<superstep::agent::AgentState>;

async fn last(agent: &Agent, said: &'static str) -> String {
    agent.run(said).thread("t").await.unwrap().state.messages.last().unwrap().text().into_owned()
}

/// R-FWK-72, R-FWK-11: the model is asked as often as it may be in a turn and on a thread; then the agent ends or fails.
#[tokio::test]
async fn calls_of_the_model_are_limited() {
    let endless = || Scripted::default().when(|_| true, asks_for("Rome"));
    let agent = |limit: ModelCallLimit, model: &Scripted| -> Agent {
        react_agent(model.clone(), [weather()]).middleware(limit).checkpointer(Memory::new()).compile().unwrap()
    };
    let model = endless();
    let limited = agent(ModelCallLimit::new().per_turn(2).per_thread(3), &model);
    assert!(last(&limited, "One").await.contains("asked 2 times, and may not be asked more often in a turn"));
    assert_eq!(model.requests().len(), 2);
    assert!(last(&limited, "Two").await.contains("asked 3 times, and may not be asked more often on a thread"));
    assert_eq!(model.requests().len(), 3);
    let failing = agent(ModelCallLimit::new().per_turn(1).fail(), &endless());
    assert_eq!(refused(failing.run("One").thread("t").await).code(), Code::TooLarge);
}

/// R-FWK-72, R-FWK-11: calls of a tool beyond its limit are not made, and the model is told; others are made.
#[tokio::test]
async fn calls_of_tools_are_limited() {
    let model = || {
        let both = asks_for("Rome").and_call("weather", json!({ "city": "Oslo" }));
        Scripted::new([both.and_call("delete", json!({ "path": "a" })), asks_for("Bonn"), Reply::from("Enough.")])
    };
    let agent = |limit: ToolCallLimit| -> Agent {
        let tools = Tools::new([weather(), delete()]).unwrap();
        let agent = react_agent(model(), tools).middleware(limit).checkpointer(Memory::new());
        agent.tool_node(|node| node.policy(superstep::tool::Policy::allow(["*"]))).compile().unwrap()
    };
    let told = agent(ToolCallLimit::of("weather").per_turn(1)).run("Go").thread("t").await.unwrap();
    assert_eq!(
        transcript(&told.state.messages)[2..],
        [
            "tool: not executed: `weather` may not be called more often",
            "tool: 18 degrees in Rome",
            "tool: a is gone",
            r#"model:  weather{"city":"Bonn"}"#,
            "tool: not executed: `weather` may not be called more often",
            "model: Enough."
        ]
    );
    let ended = agent(ToolCallLimit::all().per_thread(2).end()).run("Go").thread("t").await.unwrap();
    let lines = transcript(&ended.state.messages);
    assert_eq!(lines[2..5].iter().filter(|line| line.starts_with("tool: not executed")).count(), 3);
    assert_eq!(lines[5], "model: Stopped: tools may not be called more often.");
    let failed = agent(ToolCallLimit::all().per_turn(2).fail()).run("Go").thread("t").await;
    assert_eq!(refused(failed).code(), Code::TooLarge);
}

/// R-FWK-72: what a turn and a thread take in tokens and cents is counted and limited; each call has its own budget.
#[tokio::test]
async fn tokens_and_money_are_limited() {
    let reply = || asks_for("Rome").with_usage(Usage::new(900, 100));
    let agent = |spending: Spending, replies: Vec<Reply>| -> (Scripted, Agent) {
        let model = Scripted::new(replies);
        let agent = react_agent(model.clone(), [weather()]).middleware(spending).checkpointer(Memory::new());
        (model, agent.compile().unwrap())
    };
    let (model, by_tokens) = agent(Spending::new().turn_tokens(2_000), vec![reply(), reply(), reply()]);
    assert!(last(&by_tokens, "Go").await.contains("the turn took 2000 tokens"));
    assert_eq!(model.left(), 1);

    let prices = Prices::new().with("scripted/script", Price::new(10.0, 100.0));
    let money = Spending::new().thread_cents(3.0).prices(prices).call(Budget::new().tokens(5_000));
    let (model, by_money) = agent(money, vec![reply(), Reply::from("18.").with_usage(Usage::new(900, 100))]);
    // 900 tokens read and 100 written are 1.9 cents.
    assert_eq!(last(&by_money, "Go").await, "18.");
    assert!(model.requests()[0].max_tokens.is_some());
    assert!(last(&by_money, "On").await.contains("the thread cost 3.8000 cents"));
}

/// R-FWK-72: what is spent counts once, where another hook leads on before it is counted too.
#[tokio::test]
async fn spending_is_counted_though_another_hook_jumps() {
    let said = |words: &'static str| Reply::from(words).with_usage(Usage::new(900, 100));
    let again = after_model("again", async |hook: Hook| {
        let is_short = hook.messages().last().is_some_and(|message| message.text() == "Hm.");
        Ok(if is_short { Effect::jump(Jump::Model).messages(Message::user("More.")) } else { Effect::none() })
    });
    let ends = after_model("ends", async |_| Ok(Effect::jump(Jump::End).messages(Message::assistant("Closed."))));
    let model = Scripted::new([said("Hm."), said("Well, yes."), said("Hm.")]);
    let agent = react_agent(model, Tools::default()).checkpointer(Memory::new());
    let agent = agent.middleware(Spending::new().thread_tokens(3_000)).middleware(again.may_jump([Jump::Model]));
    let agent = agent.compile().unwrap();
    assert_eq!(last(&agent, "One").await, "Well, yes.");
    assert!(last(&agent, "Two").await.contains("the thread took 3000 tokens"));

    let model = Scripted::new([said("Hm."), said("Hm.")]);
    let agent = react_agent(model, Tools::default()).checkpointer(Memory::new());
    let agent = agent.middleware(Spending::new().thread_tokens(2_000)).middleware(ends.may_jump([Jump::End]));
    let agent = agent.compile().unwrap();
    assert_eq!((last(&agent, "One").await, last(&agent, "Two").await), ("Closed.".to_owned(), "Closed.".to_owned()));
    assert!(last(&agent, "Three").await.contains("the thread took 2000 tokens"));
}

/// R-FWK-72: an answer of which nobody says which model gave it costs nothing, and is no failure.
#[tokio::test]
async fn an_answer_of_no_model_costs_nothing() {
    let cached = wrap_model("cached", |request, next| async move {
        let mut answer = next.run(request).await?;
        answer.message.metadata.remove("model");
        Ok(answer)
    });
    let model = Scripted::new([Reply::from("Noon.").with_usage(Usage::new(900, 100))]);
    let agent = react_agent(model, Tools::default()).middleware(Spending::new().thread_cents(3.0)).middleware(cached);
    assert_eq!(last(&agent.checkpointer(Memory::new()).compile().unwrap(), "How late is it?").await, "Noon.");
}
