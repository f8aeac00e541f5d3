//! The rule model: plans and answers, behind the model port and in the graph.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};
use superstep::models::{ModelExt, ModelKind, RuleBasedModel, SharedModel};
use superstep::store::MemoryStore;
use superstep::{CompiledGraph, MemoryCheckpointer, Outcome};
use superstep_assistant::data::Dataset;
use superstep_assistant::eval::sample_context;
use superstep_assistant::memory::SummaryOutput;
use superstep_assistant::plan::{NextStep, Plan};
use superstep_assistant::prompt::{Clarification, HistoryMessage, ModelTask, PreviousCall, TaskPrompt, ToolResult};
use superstep_assistant::rule_model::{LABEL, Synonyms, rules};
use superstep_assistant::verdict::{Judgement, Verdict, VerdictReason, VerdictStatus};
use superstep_assistant::{AgentState, AssistantContext, create_assistant_graph, sample};

const TOOLS: [&str; 8] =
    ["bq_query", "list_tables", "describe_table", "search_docs", "calculate", "now", "search_memory", "forget_memory"];

fn model() -> RuleBasedModel {
    static MODEL: LazyLock<RuleBasedModel> = LazyLock::new(|| {
        let synonyms = Synonyms::parse(&sample::text("synonyms.txt").unwrap()).unwrap();
        rules(Dataset::sample().unwrap().catalog().clone(), synonyms)
    });
    MODEL.clone()
}

fn test_prompt(task: ModelTask, question: &str) -> TaskPrompt {
    let mut prompt = TaskPrompt::new(task, question);
    prompt.today = "2026-11-02".to_owned();
    prompt.tools = TOOLS.iter().map(ToString::to_string).collect();
    prompt
}

async fn reply_text(prompt: &TaskPrompt) -> String {
    model().complete(prompt.request()).await.unwrap().message.text().into_owned()
}

async fn planned(prompt: &TaskPrompt) -> Plan {
    Plan::parse(&reply_text(prompt).await).unwrap()
}

/// Returns the tool of a plan with one call, and its main argument.
async fn call(question: &str) -> (String, String) {
    let plan = planned(&test_prompt(ModelTask::Plan, question)).await;
    let Some(call) = plan.tool_calls.first() else { return ("generate".to_owned(), String::new()) };
    let argument = ["sql", "query", "expression", "table"].iter().find_map(|name| call.args.get(*name)?.as_str());
    (call.tool.clone(), argument.unwrap_or_default().to_owned())
}

fn output(tool: &str, args: Value, content: &Value) -> ToolResult {
    let args = args.as_object().cloned().unwrap_or_default();
    let (id, status) = ("c1".to_owned(), "success".to_owned());
    ToolResult { id, tool: tool.to_owned(), args, status, content: content.to_string() }
}

/// R-PLN-56: rules implement the model port, declare themselves as rules, and stream their answers in chunks.
#[tokio::test]
async fn the_rule_model_declares_its_kind() {
    let info = SharedModel::from(model()).info();
    assert_eq!((info.to_string().as_str(), info.kind), ("local/rules (rules)", ModelKind::Rules));
    let help = reply_text(&test_prompt(ModelTask::Answer, "What can you do?")).await;
    assert!(help.contains(LABEL) && help.matches('"').count() >= 4, "{help}");
    let other = model().complete("Hello").await.unwrap().message.text().into_owned();
    assert!(other.contains(LABEL), "{other}");
}

/// R-PLN-56: questions of all kinds become queries, from names in the data, synonyms, values and periods.
#[tokio::test]
async fn questions_become_queries() {
    let rows = [
        ("How many orders did we get?", "SELECT COUNT(*) AS \"number of orders\" FROM orders"),
        ("How many clients are there in Berlin?", "FROM customers WHERE customers.city = 'Berlin'"),
        ("How many orders are late?", "WHERE (orders.shipped_at > orders.due_at)"),
        ("Total revenue last month", "ROUND(SUM(orders.total), 2)"),
        ("Revenue of Coffee", "ROUND(SUM(order_items.amount), 2)"),
        ("Average price of knives", "ROUND(AVG(products.price), 2)"),
        ("Revenue by month this year", "GROUP BY substr(orders.ordered_at, 1, 7)"),
        ("Revenue per country", "GROUP BY customers.country"),
        ("More orders from France or the Netherlands?", "customers.country IN ('France', 'Netherlands')"),
        ("Top 3 products by revenue", "ORDER BY ROUND(SUM(order_items.amount), 2) DESC, products.name LIMIT 4"),
        ("Which products are under 10 euro?", "WHERE products.price < 10"),
        ("What is the weight of the Camp Lantern?", "products.name = 'Camp Lantern'"),
        ("Which status does order 50897 have?", "WHERE orders.id = 50897"),
        ("Which employees work in IT?", "employees.department = 'IT'"),
        ("What does the Trail Stove cost?", "products.price AS \"price\""),
        ("What is the cost of the Trail Stove?", "products.cost AS \"cost\""),
        ("What does the Trail Stove cost us?", "products.cost AS \"cost\""),
        ("How much does the Trail Stove cost the company?", "products.cost AS \"cost\""),
        ("Which supplier has the most stock?", "SUM(products.stock)"),
        ("What is the stock per supplier?", "SUM(products.stock)"),
        ("Top 3 suppliers by stock", "SUM(products.stock)"),
        ("Which country has the largest order?", "ORDER BY orders.total DESC"),
        ("Which customer has the order with the highest total?", "ORDER BY orders.total DESC"),
        ("Which customer has the most orders?", "COUNT(*)"),
        ("How many products cost less than 20 euro?", "products.price < 20"),
        ("How many orders did we ship in October?", "orders.shipped_at >= '2026-10-01'"),
    ];
    for (question, part) in rows {
        let (tool, sql) = call(question).await;
        assert_eq!(tool, "bq_query", "{question}");
        assert!(sql.contains(part), "{question}: {sql}");
    }
}

/// R-PLN-56: an unknown or ambiguous word prevents a query.
#[tokio::test]
async fn ambiguous_questions_do_not_query_the_data() {
    for question in [
        "How many visitors did the website have?",
        "How many orders were not paid by card?",
        "How many customers have more than 3 orders?",
        "What percentage of orders is late?",
        "What is a late order?",
        "How many new orders did we get in October?",
        "How many pieces did we sell to Germany?",
        "How many people work in Berlin?",
    ] {
        assert_eq!(call(question).await.0, "search_docs", "{question}");
    }
}

/// R-PLN-56, R-PLN-60: the tools for other kinds of questions.
#[tokio::test]
async fn each_kind_of_question_has_its_tool() {
    let rows = [
        ("Thanks!", "generate"),
        ("Hello", "generate"),
        ("What did I ask first?", "generate"),
        ("How many orders will we get in December 2026?", "generate"),
        ("What is 17.5% of 1,249.90?", "calculate"),
        ("convert 12 miles to km", "calculate"),
        ("What time is it?", "now"),
        ("Which tables are there?", "list_tables"),
        ("Describe the table orders", "describe_table"),
        ("What do you know about me?", "search_memory"),
        ("Forget that I like tents", "forget_memory"),
        ("How long does my password have to be?", "search_docs"),
    ];
    for (question, tool) in rows {
        assert_eq!(call(question).await.0, tool, "{question}");
    }
}

/// R-PLN-28, R-PLN-56: every plan of a turn differs from the others, and the number of plans is finite.
#[tokio::test]
async fn no_plan_is_made_twice() {
    for question in
        ["How many orders did we get in March 2024?", "Which products are late?", "What guarantee is on knives?"]
    {
        let mut prompt = test_prompt(ModelTask::Plan, question);
        let mut signatures: Vec<String> = Vec::new();
        for _ in 0..8 {
            let plan = planned(&prompt).await;
            if plan.next_step == NextStep::Generate {
                break;
            }
            assert!(!signatures.contains(&plan.signature()), "{question}: {}", plan.to_text());
            signatures.push(plan.signature());
            for call in plan.tool_calls {
                prompt.previous_calls.push(PreviousCall {
                    tool: call.tool,
                    args: call.args,
                    outcome: "empty".to_owned(),
                });
            }
        }
        assert!((1..8).contains(&signatures.len()), "{question}: {signatures:?}");
    }
}

/// R-PLN-56: tools that the user may not use are not planned.
#[tokio::test]
async fn only_tools_of_the_user_are_planned() {
    let mut prompt = test_prompt(ModelTask::Plan, "How many orders did we get?");
    prompt.tools = vec!["search_docs".to_owned()];
    assert_eq!(planned(&prompt).await.tool_calls[0].tool, "search_docs");
    prompt.tools.clear();
    assert_eq!(planned(&prompt).await.next_step, NextStep::Generate);
}

/// R-PLN-56: a follow-up is completed from the previous question.
#[tokio::test]
async fn a_follow_up_continues_the_previous_question() {
    let mut prompt = test_prompt(ModelTask::Plan, "And in September?");
    let text = "How many orders did we get from France in October 2026?".to_owned();
    prompt.history = vec![
        HistoryMessage { role: "user".to_owned(), text },
        HistoryMessage { role: "assistant".to_owned(), text: "9".to_owned() },
    ];
    let sql = |plan: &Plan| plan.tool_calls[0].args["sql"].as_str().unwrap().to_owned();
    let first = sql(&planned(&prompt).await);
    assert!(
        first.contains("'France'") && first.contains(">= '2026-09-01'") && !first.contains("2026-11-01"),
        "{first}"
    );
    prompt.question = "What about Italy?".to_owned();
    let second = sql(&planned(&prompt).await);
    assert!(
        second.contains("= 'Italy'") && second.contains(">= '2026-10-01'") && !second.contains("France"),
        "{second}"
    );
}

/// R-PLN-43, R-PLN-56: an answer to a clarification question replaces the ambiguous words.
#[tokio::test]
async fn an_answer_resolves_an_ambiguous_question() {
    let mut prompt = test_prompt(ModelTask::Plan, "Orders of Miller");
    prompt.clarified = vec![Clarification { about: "Miller".to_owned(), answer: "Anna Miller".to_owned() }];
    let plan = planned(&prompt).await;
    let sql = plan.tool_calls[0].args["sql"].as_str().unwrap();
    assert!(sql.contains("first_name = 'Anna'") && sql.contains("last_name = 'Miller'"), "{sql}");
}

/// R-PLN-45, R-PLN-56: numbers and quotations carry the number of their output; nothing is added.
#[tokio::test]
async fn answers_contain_only_data_of_outputs() {
    let mut prompt = test_prompt(ModelTask::Answer, "What was our revenue in October 2026?");
    let plan = planned(&TaskPrompt { task: ModelTask::Plan, ..prompt.clone() }).await;
    let args = Value::Object(plan.tool_calls[0].args.clone());
    prompt.outputs = vec![output("bq_query", args, &json!({ "columns": ["sum"], "rows": [[18919.15]], "count": 1 }))];
    let text = reply_text(&prompt).await;
    assert!(text.contains("18,919.15") && text.contains("[1]"), "{text}");

    prompt.question = "How long must a password be?".to_owned();
    let similar = json!({ "passages": [{ "text": "The screen locks after 5 minutes.", "source": "security.md#devices", "title": "Security" }] });
    prompt.outputs = vec![output("search_docs", json!({}), &similar)];
    let text = reply_text(&prompt).await;
    assert!(text.starts_with("I do not know") && !text.contains("minutes"), "{text}");

    let matching = json!({ "passages": [{ "text": "A password has at least 14 characters. Disks are encrypted.", "source": "security.md#passwords", "title": "Security", "heading": "Passwords" }] });
    prompt.outputs = vec![output("search_docs", json!({}), &matching)];
    let text = reply_text(&prompt).await;
    assert!(text.contains("> A password has at least 14 characters.") && !text.contains("Disks"), "{text}");
    assert!(text.contains("security.md#passwords") && text.contains("[1]"), "{text}");
}

/// R-PLN-45: after the verifier gave up, the answer starts with what is missing.
#[tokio::test]
async fn an_incomplete_answer_starts_with_what_is_missing() {
    let mut prompt = test_prompt(ModelTask::Answer, "What is 2 + 2?");
    prompt.outputs = vec![output("calculate", json!({}), &json!({ "expression": "2 + 2", "result": "4" }))];
    let (status, reason) = (VerdictStatus::GivingUp, Some(VerdictReason::Error));
    prompt.verdict = Some(Verdict { status, reason, missing: vec!["`bq_query` found nothing".to_owned()] });
    let text = reply_text(&prompt).await;
    assert!(text.starts_with("I could not find everything: `bq_query` found nothing"), "{text}");
    assert!(text.contains("The result is 4 [1]."), "{text}");
    prompt.outputs.clear();
    assert!(reply_text(&prompt).await.starts_with("I do not know"));
}

/// R-PLN-46: the answer follows the preferences for length, units and language as far as rules can.
#[tokio::test]
async fn answers_follow_preferences() {
    let mut prompt = test_prompt(ModelTask::Answer, "How heavy is the Cast Iron Pot 4L?");
    let plan = planned(&TaskPrompt { task: ModelTask::Plan, ..prompt.clone() }).await;
    let args = Value::Object(plan.tool_calls[0].args.clone());
    let rows = json!({ "columns": ["product", "weight grams"], "rows": [["Cast Iron Pot 4L", 5400]], "count": 1 });
    prompt.outputs = vec![output("bq_query", args, &rows)];
    assert!(reply_text(&prompt).await.contains("5,400 g"));
    prompt.preferences = json!({ "units": "imperial", "language": "de" });
    let text = reply_text(&prompt).await;
    assert!(text.contains("11.90 lb") && text.contains("English only"), "{text}");
    let mut nothing = TaskPrompt { question: "How is the weather?".to_owned(), outputs: Vec::new(), ..prompt };
    nothing.preferences = json!({ "length": "short" });
    let short = reply_text(&nothing).await;
    nothing.preferences = Value::Null;
    assert!(reply_text(&nothing).await.len() > short.len() && short.starts_with("I do not know"));
}

/// R-PLN-56, R-PLN-62: earlier messages are known from the history and its summary.
#[tokio::test]
async fn earlier_messages_are_quoted() {
    let mut prompt = test_prompt(ModelTask::Answer, "What did we talk about first?");
    prompt.summary = "Began with: How many tents?\n- How many tents? -> 7".to_owned();
    prompt.history = vec![HistoryMessage { role: "user".to_owned(), text: "And stoves?".to_owned() }];
    assert!(reply_text(&prompt).await.contains("How many tents?"));
    prompt.question = "What did I just ask?".to_owned();
    assert!(reply_text(&prompt).await.contains("And stoves?"));
    prompt.question = "Thanks!".to_owned();
    assert_eq!(reply_text(&prompt).await, "You are welcome.");
}

/// R-PLN-56: rules return judgements and summaries in the format that the graph parses.
#[tokio::test]
async fn rules_return_judgements_and_summaries() {
    let mut prompt = test_prompt(ModelTask::Verify, "What is 2 + 2?");
    let judgement: Judgement = serde_json::from_str(&reply_text(&prompt).await).unwrap();
    assert!(!judgement.answers);
    prompt.outputs = vec![output("calculate", json!({}), &json!({ "expression": "2 + 2", "result": "4" }))];
    let judgement: Judgement = serde_json::from_str(&reply_text(&prompt).await).unwrap();
    assert!(judgement.answers && judgement.missing.is_empty());
    let mut summary_prompt = TaskPrompt::new(ModelTask::Summarize, "Sum up.");
    summary_prompt.summary = "Began with: tents".to_owned();
    summary_prompt.history = vec![
        HistoryMessage { role: "user".to_owned(), text: "Stoves?".to_owned() },
        HistoryMessage { role: "assistant".to_owned(), text: "7".to_owned() },
    ];
    let output: SummaryOutput = serde_json::from_str(&reply_text(&summary_prompt).await).unwrap();
    assert_eq!(output.summary, "Began with: tents\n- Stoves? -> 7");
}

/// R-PLN-56: the error for an invalid synonyms file names the line.
#[test]
fn an_invalid_synonyms_file_names_its_line() {
    for invalid in ["# fine\nclient customers", "client, = customers", "client = ", "client = customers; drop"] {
        let error = Synonyms::parse(invalid).unwrap_err().to_string();
        assert!(error.contains("line"), "{error}");
    }
}

fn sample_graph() -> (CompiledGraph<AgentState, AssistantContext>, AssistantContext) {
    let context = sample_context(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample")).unwrap();
    (create_assistant_graph(MemoryCheckpointer::new(), MemoryStore::new()).unwrap(), context)
}

async fn turn(
    graph: &CompiledGraph<AgentState, AssistantContext>,
    context: &AssistantContext,
    text: &str,
) -> Outcome<AgentState> {
    graph
        .invoke(AgentState::turn_input(context, "ana", text).unwrap())
        .thread("t")
        .context(context.clone())
        .await
        .unwrap()
}

/// R-PLN-61: there are three Millers, the user chooses one, and this is not a retry.
#[tokio::test]
async fn an_ambiguous_name_is_clarified() {
    for (question, expected) in [("Orders of Miller", None), ("How many orders did Miller place?", Some("7"))] {
        let (graph, context) = sample_graph();
        let paused = turn(&graph, &context, question).await;
        let payload = &paused.interrupts()[0].value;
        assert_eq!(payload["choices"], json!(["Anna Miller", "Jack Miller", "Sophie Miller"]), "{question}");
        let done = graph.resume("t", json!("Sophie Miller")).context(context.clone()).await.unwrap();
        let answer = done.state.messages.last().unwrap().text().into_owned();
        assert_eq!(done.state.retry_count, 0);
        assert!(answer.contains("Sophie") && !answer.contains("Anna"), "{answer}");
        assert!(expected.is_none_or(|expected| answer.contains(expected)), "{answer}");
    }
}

/// R-PLN-45: days without data are not counted as zero, and the answer mentions them.
#[tokio::test]
async fn days_without_data_are_not_zero() {
    let (graph, context) = sample_graph();
    let done = turn(&graph, &context, "How many orders did we get in March 2024?").await;
    let answer = done.state.messages.last().unwrap().text().into_owned();
    assert_eq!(done.state.retry_count, 0);
    assert!(answer.starts_with("I do not know") && answer.contains("2025-11-01 to 2026-10-31"), "{answer}");
    let none = turn(&graph, &context, "How many orders from Ireland by phone in February 2026 were cancelled?").await;
    let answer = none.state.messages.last().unwrap().text().into_owned();
    assert!(answer.contains("is 0") && answer.contains("[2]"), "{answer}");
    let partly = turn(&graph, &context, "What was our revenue last year?").await;
    let answer = partly.state.messages.last().unwrap().text().into_owned();
    assert!(answer.contains("27,374.79 [1]") && answer.contains("from 2025-11-01 to 2026-10-31 only [2]"), "{answer}");
}

/// R-PLN-28, R-PLN-39: an empty list is verified with another query before the answer reports it.
#[tokio::test]
async fn an_empty_list_is_verified_with_another_query() {
    let (graph, context) = sample_graph();
    let done = turn(&graph, &context, "Which products have more than 5000 pieces left?").await;
    let answer = done.state.messages.last().unwrap().text().into_owned();
    assert_eq!(done.state.retry_count, 1);
    assert!(answer.contains("is 0 [2]"), "{answer}");
}

/// If several rows tie for the last place, the answer says so.
#[tokio::test]
async fn a_tie_for_the_last_place_is_stated() {
    let (graph, context) = sample_graph();
    for (question, is_shared) in
        [("Which product has the lowest stock?", true), ("What is the heaviest product?", false)]
    {
        let done = turn(&graph, &context, question).await;
        let answer = done.state.messages.last().unwrap().text().into_owned();
        assert_eq!(answer.contains("At least one more has the same value."), is_shared, "{answer}");
    }
}

/// R-PLN-60: a thank-you message needs no tool.
#[tokio::test]
async fn thanks_need_no_tool() {
    let (graph, context) = sample_graph();
    let done = turn(&graph, &context, "Thanks!").await;
    assert_eq!(done.state.messages.last().unwrap().text(), "You are welcome.");
    assert_eq!((done.state.tool_calls.len(), done.state.messages.len()), (0, 2));
}
