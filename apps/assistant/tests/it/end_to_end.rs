//! Complete turns, compared state by state and event by event.

use serde_json::{Value, json};
use superstep::core::message::TokenUsage;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep_assistant::plan::NextStep;
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::verdict::{VerdictReason, VerdictStatus};
use superstep_assistant::{AgentState, AssistantContext, Phase};

use crate::support::{
    Fake, Provider, TestHarness, last, no_tools, of_kind, passage, plan, prompts_for, rows, test_context,
};

const QUESTION: &str = "How many orders shipped late in October?";

fn shop() -> [Fake; 2] {
    let query = Fake::new("bq_query", |args| {
        let by_dates = args["sql"].as_str().unwrap().contains("shipped_at > due_at");
        Ok(if by_dates { rows(&["n"], json!([[37]])) } else { rows(&["id"], json!([])) })
    });
    [query, Fake::returning("search_docs", passage("An order is late when it ships after its due date."))]
}

fn late_orders() -> (ScriptedModel, AssistantContext) {
    let with_usage = |reply: ScriptedReply, tokens: u64| reply.with_usage(TokenUsage::new(tokens, 1));
    let first = plan(&[
        ("c1", "search_docs", json!({ "query": "late order definition" }), &[]),
        ("c2", "bq_query", json!({ "sql": "select id from orders where status = 'LATE'" }), &[]),
    ]);
    let second =
        plan(&[("c1", "bq_query", json!({ "sql": "select count(*) n from orders where shipped_at > due_at" }), &[])]);
    let script = ScriptedModel::new([
        with_usage(first, 100),
        with_usage(second, 200),
        with_usage(
            ScriptedReply::text(json!({ "answers": true, "reason": null, "missing": [], "choices": [] }).to_string()),
            300,
        ),
        with_usage(ScriptedReply::chunks(["37 orders ", "shipped late ", "in October [2]."]), 400),
        with_usage(
            ScriptedReply::text(json!({ "summary": "Late orders in October: 37.", "facts": [] }).to_string()),
            500,
        ),
    ]);
    (script.clone(), test_context(Provider(script), shop()))
}

/// R-PLN-59, R-PLN-18, R-PLN-19, R-PLN-20, R-PLN-28, R-PLN-40, R-PLN-41: phases, supersteps and all states.
#[tokio::test]
async fn late_orders_state_by_state() {
    let (harness, (script, context)) = (TestHarness::new(), late_orders());
    let mut stream = harness
        .graph
        .invoke(AgentState::turn_input(&context, "ana", QUESTION).unwrap())
        .thread("t")
        .context(context.clone())
        .stream_mode([superstep::StreamMode::Updates]);
    let mut updates: Vec<(String, Value)> = Vec::new();
    while let Some(part) = stream.next().await {
        let Value::Object(update) = part.data.to_json() else { panic!("an update is an object") };
        updates.extend(update);
    }
    let done = stream.finish().await.unwrap();
    let nodes: Vec<&str> = updates.iter().map(|(node, _)| node.as_str()).collect();
    let first = ["ingress", "planner", "tool_router", "tool_executor", "verifier"];
    let second = ["planner", "tool_router", "tool_executor", "verifier", "generator", "summarizer"];
    assert_eq!(nodes, [&first[..], &second[..]].concat());
    let phases: Vec<&str> = updates.iter().map(|(_, update)| update["phase"].as_str().unwrap()).collect();
    let expected = "plan plan execute execute verify plan execute execute verify generate generate";
    assert_eq!(phases.join(" "), expected);
    let retries: Vec<&Value> =
        updates.iter().map(|(_, update)| &update["retry_count"]).filter(|value| !value.is_null()).collect();
    assert_eq!(retries, [&json!(0), &json!(1)]);
    let verdicts: Vec<(&Value, &Value)> =
        [4, 8].map(|index| &updates[index].1["verdict"]).iter().map(|v| (&v["status"], &v["reason"])).collect();
    assert_eq!(verdicts, [(&json!("planning_retry"), &json!("empty")), (&json!("verified"), &Value::Null)]);

    let state = &done.state;
    assert_eq!((state.phase, state.retry_count, state.tokens_used), (Phase::Generate, 1, 1_505));
    assert_eq!((state.safety_check, state.next_step), (Some(true), Some(NextStep::ToolUse)));
    assert!(state.scratchpad.is_empty());
    assert_eq!(state.tool_outputs.len(), 1);
    assert_eq!(last(state), "37 orders shipped late in October [2].");
    assert_eq!(state.summary, format!("Began with: {QUESTION}\nLate orders in October: 37."));
    assert_eq!((state.session_id.as_str(), state.user_id.as_str()), ("t", "ana"));
    let roles: Vec<String> = state.messages.iter().map(|message| format!("{:?}", message.role)).collect();
    assert_eq!(roles.join(" "), "User Assistant Tool Tool Assistant Tool Assistant");
    assert_eq!(script.remaining(), 0);
    let steps = harness.next_tasks().await;
    assert_eq!(steps.iter().filter(|next| !next.is_empty() && *next != "__start__").count(), 11, "{steps:?}");

    let second_prompt = &prompts_for(&script, ModelTask::Plan)[1];
    let previous_calls: Vec<(&str, &str)> = second_prompt
        .previous_calls
        .iter()
        .map(|previous| (previous.tool.as_str(), previous.outcome.as_str()))
        .collect();
    assert_eq!(previous_calls, [("search_docs", "ok"), ("bq_query", "empty")]);
    assert_eq!(second_prompt.verdict.as_ref().unwrap().reason, Some(VerdictReason::Empty));
    let answer = &prompts_for(&script, ModelTask::Answer)[0];
    assert_eq!(answer.outputs.len(), 3, "the results of the first attempt are used too");
    assert_eq!(answer.verdict.as_ref().unwrap().status, VerdictStatus::Verified);
}

/// R-PLN-59, R-PLN-50, R-PLN-30, R-PLN-37, R-PLN-40, R-PLN-44: the default stream has exactly the specified events,
/// each with its node.
#[tokio::test]
async fn late_orders_event_by_event() {
    let (harness, (_, context)) = (TestHarness::new(), late_orders());
    let (events, done) = harness.watch(&context, QUESTION).await;
    let done = done.unwrap();
    let lifecycle = |event: &Value| {
        let kind = event["event"].as_str().unwrap();
        kind.starts_with("on_chain") || kind == "on_checkpoint"
    };
    let lines: Vec<String> = events
        .iter()
        .filter(|event| !lifecycle(event))
        .map(|event| {
            let data = &event["data"];
            let detail = match event["event"].as_str().unwrap() {
                "on_chat_model_stream" => data["chunk"].to_string(),
                "on_tool_start" => format!("{} {}", data["tool"], data["input"]),
                "on_tool_end" => data["output"].as_str().unwrap().chars().take(30).collect(),
                "on_custom_event" => format!("{} {} {}", data["status"], data["reason"], data["attempt"]),
                _ => data.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" "),
            };
            format!("{} {}: {detail}", event["event"].as_str().unwrap(), event["metadata"]["node"].as_str().unwrap())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r##"
    on_chat_model_start planner: input
    on_chat_model_end planner: output usage
    on_tool_start tool_executor: "search_docs" {"query":"late order definition"}
    on_tool_end tool_executor: {"passages":[{"text":"An order
    on_tool_start tool_executor: "bq_query" {"sql":"select id from orders where status = 'LATE'"}
    on_tool_end tool_executor: {"columns":["id"],"rows":[],"c
    on_custom_event verifier: "planning_retry" "empty" 1
    on_chat_model_start planner: input
    on_chat_model_end planner: output usage
    on_tool_start tool_executor: "bq_query" {"sql":"select count(*) n from orders where shipped_at > due_at"}
    on_tool_end tool_executor: {"columns":["n"],"rows":[[37]]
    on_custom_event verifier: "verified" null null
    on_chat_model_start generator: input
    on_chat_model_stream generator: "37 orders "
    on_chat_model_stream generator: "shipped late "
    on_chat_model_stream generator: "in October [2]."
    on_chat_model_end generator: output usage
    "##);
    assert_eq!(of_kind(&events, "on_tool_start").len(), 3);
    let custom = of_kind(&events, "on_custom_event");
    assert!(custom.iter().all(|(node, _)| *node == "verifier"));
    let retry = custom.iter().find(|(_, data)| data["status"] == "planning_retry").unwrap().1;
    assert_eq!(retry["tried"].as_array().unwrap().len(), 2);
    let chunks: String =
        of_kind(&events, "on_chat_model_stream").iter().filter_map(|(_, data)| data["chunk"].as_str()).collect();
    assert_eq!(chunks, last(&done.state));
    let input = of_kind(&events, "on_chat_model_start");
    assert!(input.iter().all(|(_, data)| !data["input"]["messages"].as_array().unwrap().is_empty()));
}

/// R-PLN-60, R-PLN-22, R-PLN-27: a thank-you message runs no tools and takes four supersteps.
#[tokio::test]
async fn thanks_need_no_tools() {
    let harness = TestHarness::new();
    let script = ScriptedModel::new([no_tools(), ScriptedReply::text("You are welcome!")]);
    let (events, done) = harness.watch(&test_context(script.clone(), shop()), "Thanks!").await;
    let state = done.unwrap().state;
    assert_eq!((last(&state).as_str(), state.next_step), ("You are welcome!", Some(NextStep::Generate)));
    assert!(events.iter().all(|event| !event["event"].as_str().unwrap().starts_with("on_tool")));
    let next_tasks = harness.next_tasks().await;
    assert_eq!(next_tasks, ["ingress", "planner", "generator", "summarizer", ""]);
    assert_eq!((script.requests().len(), state.messages.len(), state.verdict.clone()), (2, 2, None));
}

/// R-PLN-62, R-PLN-48, R-PLN-47, R-PLN-17: after sixty turns the number of messages is bounded, and the first topic
/// is still known.
#[tokio::test]
async fn sixty_turns_stay_bounded() {
    let harness = TestHarness::new();
    let script = (0..60).fold(ScriptedModel::default(), |script, turn| {
        script.then(no_tools()).then_with(move |request| match turn {
            59 => {
                let prompt = superstep_assistant::prompt::TaskPrompt::from_request(request).unwrap();
                assert!(request.messages[0].text().contains(&prompt.summary), "the call begins with the summary");
                ScriptedReply::text(prompt.summary.lines().next().unwrap().replace("Began with: ", "First you asked: "))
            }
            turn => ScriptedReply::text(format!("Answer {turn}.")),
        })
    });
    let context = test_context(script, shop());
    for turn in 0..59 {
        let question = if turn == 0 { "Tell me about tents".to_owned() } else { format!("Question number {turn}") };
        let state = harness.send(&context, &question).await.unwrap().state;
        assert!(state.messages.len() <= 40, "turn {turn}: {}", state.messages.len());
        assert!(state.scratchpad.is_empty());
    }
    let state = harness.send(&context, "What did we talk about first?").await.unwrap().state;
    assert_eq!(last(&state), "First you asked: Tell me about tents");
    assert!(state.summary.contains("Tell me about tents") && state.summary.contains("Question number 58"));
    assert!(state.summary.chars().count() < 5_000 && state.messages.len() >= 10);
}
