//! `#[tool]`: the tool that is generated from a function.

use std::time::Duration;

use serde_json::json;
use superstep::core::port::ToolInvocation;
use superstep::prelude::*;
use superstep::store::MemoryStore;
use superstep::tools::{ToolCallId, ToolProgress, ToolSpec, tool_fn};
use superstep::{CompiledGraph, ErrorCode, JsonSchema, SharedStore};

use super::{Chat, answer, answers, call_message, called, graph};
use crate::support::expect_error;

#[derive(Deserialize, Serialize, JsonSchema, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// Tells the weather.
///
/// Only for places on land.
#[tool(name = "get-weather", read_only, idempotent, timeout = "1500ms", retries = 2)]
async fn weather(
    /// Name of the city.
    city: String,
    /// Unit of the temperature.
    #[default(Unit::Celsius)]
    unit: Unit,
    days: Option<u8>,
    _state: View<Chat>,
) -> Result<String, std::io::Error> {
    Ok(format!("{city} {unit:?} {days:?}"))
}

/// R-FWK-78: name, description, schema, annotations, timeout and retries come from the function; arguments from the
/// run are not in the schema.
#[test]
fn a_tool_is_described_by_its_function() {
    let tool = weather();
    let spec = tool.spec();
    assert_eq!(spec.name, "get-weather");
    assert_eq!(spec.description, "Tells the weather.\n\nOnly for places on land.");
    assert!(spec.annotations.read_only && spec.annotations.idempotent && !spec.annotations.destructive);
    assert_eq!((spec.timeout, spec.retries), (Some(Duration::from_millis(1500)), 2));
    let expected = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "Name of the city." },
            "unit": {
                "type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius", "description": "Unit of the temperature.",
            },
            "days": { "type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255 },
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    assert_eq!(*spec.input_schema, expected);
}

/// R-FWK-78: optional arguments have their default; errors of any type are reported to the model.
#[tokio::test]
async fn arguments_have_defaults() {
    let node = || ToolNode::new([weather()]);
    assert_eq!(answer(node(), "get-weather", json!({ "city": "Rome" })).await, ("Rome Celsius None".into(), true));
    let args = json!({ "city": "Rome", "unit": "fahrenheit", "days": 3 });
    assert_eq!(answer(node(), "get-weather", args).await, ("Rome Fahrenheit Some(3)".into(), true));
}

/// R-FWK-81: messages about invalid arguments name the argument and the expected type, and contain no value.
#[tokio::test]
async fn bad_arguments_are_named_without_their_values() {
    let args = json!({ "unit": "secret", "days": 70_000, "town": "secret" });
    let (text, went_well) = answer(ToolNode::new([weather()]), "get-weather", args).await;
    assert!(!went_well && !text.contains("secret") && !text.contains("70"), "{text}");
    for part in [
        "invalid arguments for `get-weather`",
        "unknown argument `town`",
        "`city` is missing: expected string",
        "`unit`: the value is not one of \"celsius\"",
        "`days`: the value is greater than the maximum of 255",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Pays an amount.
#[tool]
async fn pay(amount: u64, address: std::net::Ipv4Addr) -> String {
    format!("{amount} {address}")
}

/// R-FWK-81: arguments that are valid for the schema and still fail to deserialize are named too, without their
/// value.
#[tokio::test]
async fn undeserializable_arguments_are_named_without_their_value() {
    let (text, went_well) = answer(ToolNode::new([pay()]), "pay", json!({ "amount": 1, "address": "s3cret" })).await;
    assert_eq!(
        (text.as_str(), went_well),
        ("invalid arguments for `pay`: `address` is invalid: expected string (ipv4)", false)
    );
}

struct Keys {
    key: &'static str,
}

/// Shows all that a run gives a tool.
#[tool]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
async fn everything(
    n: u64,
    cx: TaskContext,
    chat: View<Chat>,
    keys: RunContext<Keys>,
    store: SharedStore,
    writer: StreamWriter,
    id: ToolCallId,
    progress: ToolProgress,
) -> Result<String, ToolError> {
    store.put("seen", "n", n).await?;
    writer.send(n).await?;
    progress.send("half").await;
    Ok(format!("{n} {} {} {} {} {}", cx.node(), chat.topic, keys.key, &*id, progress.has_listener()))
}

fn keyed() -> CompiledGraph<Chat, Keys> {
    let mut g = StateGraph::<Chat, Keys>::new("keyed");
    let tools = g.add_node("tools", ToolNode::new([everything()]));
    g.add_edge(START, tools).add_edge(tools, END).store(MemoryStore::new());
    g.compile().unwrap()
}

/// R-REF-148 (case 148): values that the engine supplies are not in the schema; a model that supplies one by name is
/// rejected, and no message contains the value of the engine.
#[tokio::test]
async fn injected_parameters_cannot_be_forged() {
    let tool = everything();
    assert_eq!(
        tool.spec().input_schema["properties"],
        json!({ "n": { "type": "integer", "format": "uint64", "minimum": 0 } })
    );
    let run = async |args| {
        let input = Chat::input().topic("t0p").messages(call_message(&[("everything", args)]));
        let done = keyed().invoke(input).context(Keys { key: "s3cret" }).await.unwrap();
        answers(&done.state.messages).remove(0)
    };
    let (_, text, went_well) = run(json!({ "n": 1 })).await;
    assert_eq!((text.as_str(), went_well), ("1 tools t0p s3cret c0 false", true));
    for forged in ["cx", "chat", "keys", "store", "id"] {
        let (_, text, went_well) = run(json!({ "n": 1, forged: { "key": "forged", "topic": "forged" } })).await;
        assert!(!went_well, "{text}");
        assert_eq!(text, format!("invalid arguments for `everything`: unknown argument `{forged}`; known: `n`"));
    }
    let (_, text, went_well) = run(json!({ "n": "one" })).await;
    assert!(!went_well && !text.contains("s3cret") && !text.contains("t0p") && !text.contains("keys"), "{text}");
}

/// R-REF-148: a tool in an incompatible graph fails the run and is not reported to the model, which could not correct
/// a missing state or context.
#[tokio::test]
async fn a_tool_in_the_wrong_graph_fails_the_run() {
    let args = json!({ "n": 1 });
    let error = expect_error(called(ToolNode::new([everything()]), &[("everything", args.clone())]).await);
    assert_eq!(error.code(), ErrorCode::MissingContext, "{error}");
    assert!(error.message().contains("Keys"), "{error}");
    let alone = everything().call(ToolInvocation::new("c", args.as_object().unwrap().clone())).await.unwrap_err();
    assert_eq!((alone.message.as_str(), alone.passthrough.is_some()), ("the tool cannot run in this graph", true));
}

type Talk = View<Chat>;

/// Says the topic.
#[tool]
fn topic(#[inject] talk: Talk) -> String {
    talk.topic.clone()
}

/// Thinks hard.
#[tool(blocking)]
fn think(n: u64) -> u64 {
    (1..=n).product()
}

/// Says nothing.
#[tool]
fn nothing() {}

/// R-FWK-78: synchronous functions, blocking functions, functions without a result and closures are tools as well.
#[tokio::test]
async fn every_kind_of_function_is_a_tool() {
    let sum = tool_fn(ToolSpec::new("sum", "Adds."), async |numbers: Numbers, _cx| numbers.numbers.iter().sum::<f64>());
    let calls = [
        ("topic", json!({})),
        ("think", json!({ "n": 5 })),
        ("nothing", json!({})),
        ("sum", json!({ "numbers": [1.5, 2] })),
    ];
    let input = Chat::input().topic("rust").messages(call_message(&calls));
    let done = graph(ToolNode::new([topic(), think(), nothing(), sum])).invoke(input).thread("t").await.unwrap();
    let texts: Vec<_> = answers(&done.state.messages).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(texts, ["rust", "120", "done", "3.5"]);
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    numbers: Vec<f64>,
}
