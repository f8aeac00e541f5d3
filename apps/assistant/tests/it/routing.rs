//! What every call is held against before it runs, and what people allow.

use serde_json::{Value, json};
use superstep::Outcome;
use superstep::core::message::ToolStatus;
use superstep::model::{Reply, Scripted};
use superstep_assistant::prompt::Task;
use superstep_assistant::{Assistant, Desk};

use crate::support::{Fake, Room, asks, desk, no_tools, plan, rows};

/// R-PLN-31, R-PLN-68, R-PLN-38: what cannot be called becomes an error output, the others run.
#[tokio::test]
async fn what_cannot_be_called_is_an_output() {
    let schema = json!({ "type": "object", "properties": { "sql": { "type": "string" } }, "required": ["sql"], "additionalProperties": false });
    let query = Fake::giving("bq_query", rows(&["n"], json!([[1]]))).spec(|spec| spec.with_input(schema));
    let fetch = Fake::giving("fetch_url", json!("never"));
    let cases = [
        ("bq_quer", json!({ "sql": "select 1" }), "invalid: no tool `bq_quer`; did you mean `bq_query`?"),
        ("fetch_url", json!({ "url": "x" }), "refused: this user may not use `fetch_url` (rule `tools`)"),
        ("bq_query", json!({ "sql": 1 }), "invalid: bad arguments for `bq_query`: `sql`: expected string"),
        ("bq_query", json!({ "sql": "select email from customers" }), "forbidden: you may not read the column"),
    ];
    for (tool, args, expected) in cases {
        let room = Room::new();
        let good = json!({ "sql": "select n" });
        let script =
            Scripted::new([plan(&[("c1", tool, args, &[]), ("c2", "bq_query", good, &[])]), Reply::text("1 [1]")]);
        let state = room.ask(&desk(script, [query.clone(), fetch.clone()]), "How many?").await.unwrap().state;
        let outputs: Vec<_> = state.tool_outputs.iter().map(|message| (message.status, message.text())).collect();
        assert!(outputs[0].0 == ToolStatus::Error && outputs[0].1.starts_with(expected), "{outputs:?}");
        assert_eq!(outputs[1].0, ToolStatus::Success);
        assert_eq!(state.verdict.as_ref().unwrap().missing.len(), 1, "the verifier sees it");
    }
    assert!(fetch.calls().is_empty());
}

/// R-PLN-68, R-PLN-39: an unknown tool is planned again, with the list of tools.
#[tokio::test]
async fn an_unknown_tool_is_planned_again() {
    let room = Room::new();
    let script = Scripted::new([
        plan(&[("c1", "sql", json!({}), &[])]),
        plan(&[("c1", "bq_query", json!({ "sql": "select 1" }), &[])]),
        Reply::text("1 [1]"),
    ]);
    let desk = desk(
        script.clone(),
        [Fake::giving("bq_query", rows(&["n"], json!([[1]]))), Fake::giving("fetch_url", json!(1))],
    );
    let state = room.ask(&desk, "How many?").await.unwrap().state;
    assert_eq!(state.retry_count, 1);
    let second = &asks(&script, Task::Plan)[1];
    assert_eq!(second.tools, ["bq_query"], "only what the user may use");
    assert!(second.tried[0].outcome.contains("no tool `sql`"));
}

/// R-PLN-31: a plan has at most eight calls.
#[tokio::test]
async fn eight_calls_are_the_most() {
    let room = Room::new();
    let ids: Vec<String> = (0..10).map(|number| format!("c{number}")).collect();
    let calls: Vec<(&str, &str, Value, &[&str])> =
        ids.iter().map(|id| (id.as_str(), "calculate", json!({ "expression": id }), &[][..])).collect();
    let calculate = Fake::giving("calculate", json!({ "expression": "x", "result": "4" }));
    let script = Scripted::new([plan(&calls), Reply::text("4 [1]")]);
    let state = room.ask(&desk(script, [calculate.clone()]), "Calculate").await.unwrap().state;
    assert_eq!((calculate.calls().len(), state.tool_outputs.len()), (8, 10));
    assert!(state.tool_outputs[9].text().contains("at most 8 calls"));
}

struct Forgetting {
    room: Room,
    desk: Desk,
    tool: Fake,
}

impl Forgetting {
    fn new(turns: usize) -> Self {
        let tool = Fake::giving("forget_memory", json!({ "forgotten": ["x"] })).spec(|mut spec| {
            spec.annotations.read_only = false;
            spec.destructive()
        });
        let script = (0..turns).fold(Scripted::default(), |script, turn| {
            script.then(plan(&[("c1", "forget_memory", json!({ "key": format!("k{turn}") }), &[])])).then("Done.")
        });
        Self { room: Room::new(), desk: desk(script, [tool.clone()]), tool }
    }

    async fn ask(&self) -> Outcome<Assistant> {
        self.room.ask(&self.desk, "Forget it").await.unwrap()
    }
}

/// R-PLN-32: a destructive tool is asked about: tool, arguments, effect; and four answers.
#[tokio::test]
async fn a_destructive_tool_needs_a_word() {
    let case = Forgetting::new(4);
    let paused = case.ask().await;
    let shown = &paused.questions()[0].value;
    assert_eq!((&shown["tool"], &shown["arguments"]), (&json!("forget_memory"), &json!({ "key": "k0" })));
    assert_eq!((&shown["kind"], &shown["effect"]), (&json!("approval"), &json!("Does forget_memory.")));
    assert!(case.tool.calls().is_empty());
    case.room.answer(&case.desk, json!({ "decision": "allow_once" })).await.unwrap();
    assert_eq!(case.tool.calls(), [json!({ "key": "k0" })]);

    assert_eq!(case.ask().await.questions().len(), 1, "once is once");
    case.room.answer(&case.desk, json!({ "decision": "edit", "args": { "key": "other" } })).await.unwrap();
    assert_eq!(case.tool.calls()[1], json!({ "key": "other" }));

    case.ask().await;
    case.room.answer(&case.desk, json!({ "decision": "allow_session" })).await.unwrap();
    let free = case.ask().await;
    assert!(free.is_finished(), "allowed for the session");
    assert_eq!(case.tool.calls().len(), 4);
}

/// R-PLN-32: what is denied does not run, and the verifier knows why.
#[tokio::test]
async fn a_denied_call_does_not_run() {
    let case = Forgetting::new(1);
    let script = Scripted::new([
        plan(&[("c1", "forget_memory", json!({ "key": "k" }), &[])]),
        no_tools(),
        Reply::text("As you like."),
    ]);
    let denying = case.desk.clone().with_model(script.clone());
    case.room.ask(&denying, "Forget it").await.unwrap();
    let answer = json!({ "decision": "deny", "reason": "not that one" });
    let done = case.room.answer(&denying, answer).await.unwrap();
    assert!(case.tool.calls().is_empty());
    assert!(asks(&script, Task::Plan)[1].tried[0].outcome.contains("not that one"));
    assert_eq!(done.state.retry_count, 1);
}
