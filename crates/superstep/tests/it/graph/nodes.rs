//! Nodes: permitted types, arguments, return values and options.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Blocking, ContextPart, DynamicState, ErrorCode, FromContext, IntoNode, NodeBuilder, TaskInfo};

use crate::fixtures::{field, graph, log_of, log_word, schema};

/// Returns the log after a run of a graph with one node.
async fn single_node<M>(node: impl IntoNode<DynamicState, (), M>) -> Value {
    log_of(|g| {
        let a = g.add_node("a", node);
        g.add_edge(START, a).add_edge(a, END);
    })
    .await
}

async fn named_async() -> Value {
    json!({ "log": ["async fn"] })
}

fn named() -> Value {
    json!({ "log": ["fn"] })
}

struct Holds(&'static str);

impl Node<DynamicState> for Holds {
    type Output = Value;

    async fn run(&self, cx: TaskContext) -> Result<Value, NodeError> {
        Ok(json!({ "log": [self.0, cx.node()] }))
    }
}

/// R-FWK-2: nodes are sync or async functions, closures of both kinds, blocking functions, or types.
#[tokio::test]
async fn functions_closures_blocking_work_and_types_are_nodes() {
    assert_eq!(single_node(named).await, json!(["fn"]));
    assert_eq!(single_node(named_async).await, json!(["async fn"]));
    assert_eq!(single_node(|| json!({ "log": ["closure"] })).await, json!(["closure"]));
    assert_eq!(single_node(async || json!({ "log": ["async closure"] })).await, json!(["async closure"]));
    assert_eq!(single_node(|| async { json!({ "log": ["future"] }) }).await, json!(["future"]));
    assert_eq!(single_node(blocking(|| json!({ "log": ["blocking"] }))).await, json!(["blocking"]));
    assert_eq!(single_node(node(named_async).tag("x")).await, json!(["async fn"]));
    assert_eq!(single_node(Holds("type")).await, json!(["type", "a"]));
    assert_eq!(single_node(node(Holds("with"))).await, json!(["with", "a"]));
}

struct Keys {
    key: String,
}

struct Key(String);

impl FromContext<Keys> for Key {
    fn from_context(keys: &Keys) -> Self {
        Self(keys.key.clone())
    }
}

async fn keyed<M>(node: impl IntoNode<DynamicState, Keys, M>) -> Value {
    let mut graph = StateGraph::<DynamicState, Keys>::with_schema("g", schema());
    let a = graph.add_node("a", node);
    graph.add_edge(START, a).add_edge(a, END);
    let run = graph.compile().unwrap().invoke(json!({ "title": "t" })).context(Keys { key: "k".to_owned() });
    field(&run.await.unwrap(), "log")
}

/// R-FWK-2: a node takes the state, the context, both, parts of them, or nothing.
#[tokio::test]
async fn a_node_takes_the_state_the_context_both_or_nothing() {
    assert_eq!(keyed(log_word("nothing")).await, json!(["nothing"]));
    assert_eq!(keyed(|s: View<DynamicState>| json!({ "log": [s.get("title")] })).await, json!(["t"]));
    assert_eq!(keyed(|c: RunContext<Keys>| json!({ "log": [c.key] })).await, json!(["k"]));
    assert_eq!(keyed(|k: ContextPart<Key>| json!({ "log": [k.0.0] })).await, json!(["k"]));
    let both = async |s: View<DynamicState>, c: RunContext<Keys>| json!({ "log": [s.get("title"), c.key] });
    assert_eq!(keyed(both).await, json!(["t", "k"]));
    let informed = |info: TaskInfo, cx: TaskContext| json!({ "log": [info.node(), cx.step()] });
    assert_eq!(keyed(informed).await, json!(["a", 1]));
}

/// R-FWK-2, R-GRA-46, R-REF-27: a node returns nothing, an update, a command, or an option or result of these.
#[tokio::test]
async fn a_node_returns_nothing_an_update_a_command_or_a_result() {
    assert_eq!(single_node(|| ()).await, json!([]));
    assert_eq!(single_node(async || {}).await, json!([]));
    assert_eq!(single_node(|| json!({})).await, json!([]));
    assert_eq!(single_node(|| None::<Value>).await, json!([]));
    assert_eq!(single_node(|| Some(json!({ "log": ["some"] }))).await, json!(["some"]));
    assert_eq!(single_node(|| Ok::<_, NodeError>(json!({ "log": ["ok"] }))).await, json!(["ok"]));
    assert_eq!(single_node(|| Ok::<_, std::io::Error>(())).await, json!([]));
    assert_eq!(single_node(|| Command::new().update(json!({ "log": ["command"] }))).await, json!(["command"]));
    let several = || {
        let one = |word: &str| Command::<DynamicState>::new().update(json!({ "log": [word] }));
        vec![one("first"), one("second")]
    };
    assert_eq!(single_node(several).await, json!(["first", "second"]));
}

/// R-FWK-2: an error that a node returns is the error of the run, with its text, its cause and the node.
#[tokio::test]
async fn an_error_of_a_node_is_the_error_of_the_run() {
    let mut g = graph("g");
    let a = g.add_node("a", || Err::<Value, _>(std::io::Error::other("disk full")));
    g.add_edge(START, a).add_edge(a, END);
    let error = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::NodeFailed, Some("a")));
    assert!(error.to_string().contains("disk full"), "{error}");
    assert!(std::error::Error::source(&error).unwrap().is::<std::io::Error>());
}

/// R-FWK-2: a list of sends is a return value too, and the edges of the node are also followed.
#[tokio::test]
async fn a_node_returns_sends_and_its_edges_are_followed() {
    for sends in [1, 3] {
        let log = log_of(|g| {
            let (work, after) = (g.reserve_node("work"), g.reserve_node("after"));
            let a = g.add_node("a", move || (0..sends).map(|i| SendTo::new(work, i)).collect::<Vec<SendTo>>());
            g.define_node(work, |i: SendPayload<u32>| json!({ "log": [i.0] }));
            g.define_node(after, log_word("after"));
            g.add_edge(START, a).add_edge(a, after).add_edge(work, END).add_edge(after, END);
            g.add_conditional_edges(a, |_: &DynamicState| Goto::end(), [work.into(), END]);
        })
        .await;
        let mut expected: Vec<Value> = (0..sends).map(Value::from).collect();
        expected.push(json!("after"));
        assert_eq!(log, Value::from(expected));
    }
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Typed {
    #[reduce(add)]
    n: u64,
    name: String,
}

/// R-FWK-2, R-GRA-46: in a typed graph the generated update is the return value; omitted fields do not change.
#[tokio::test]
async fn a_typed_update_changes_only_the_fields_it_names() {
    let mut g = StateGraph::<Typed>::new("typed");
    let a = g.add_node("a", |s: View<Typed>| Typed::update().n(s.n + 1));
    let b = g.add_node("b", |_: View<Typed>| None::<TypedUpdate>);
    g.add_sequence([START, a.into(), b.into(), END]);
    let done = g.compile().unwrap().invoke(Typed::input().n(2u64).name("x")).await.unwrap();
    assert_eq!((done.state.n, done.state.name.as_str()), (5, "x"));
}

fn secretive(
    configure: impl Fn(
        NodeBuilder<Blocking<fn(View<DynamicState>) -> Value>>,
    ) -> NodeBuilder<Blocking<fn(View<DynamicState>) -> Value>>,
) -> StateGraph<DynamicState> {
    let mut g = graph("g");
    let write = g.add_node("write", node(|| json!({ "secret": "s" })).writes(["secret"]));
    let read = g.add_node("read", configure(blocking(|s: View<DynamicState>| json!({ "log": [s.get("secret")] }))));
    g.add_sequence([START, write.into(), read.into(), END]);
    g
}

/// R-FWK-2: `reads` and `writes` open private fields to a node; without them access is an error.
#[tokio::test]
async fn a_node_sees_and_writes_private_fields_only_as_declared() {
    let graph = secretive(|node| node.reads(["secret"])).compile().unwrap();
    let done = graph.invoke(json!({ "n": 0 })).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["s"]));
    assert_eq!(done.to_json().unwrap().get("secret"), None);
    let error = secretive(|node| node).compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::UnknownField, Some("read")));
    let error = crate::fixtures::outcome(
        |g| {
            let a = g.add_node("a", || json!({ "secret": "s" }));
            g.add_edge(START, a).add_edge(a, END);
        },
        json!({ "n": 0 }),
    )
    .await
    .unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::UnknownField, Some("a")));
}

/// R-FWK-9: a declared field that is not in the state is rejected at compile time, for reads and writes.
#[test]
fn declared_fields_must_exist() {
    let mut g = graph("g");
    let a = g.add_node("a", node(log_word("a")).reads(["titel"]).writes(["m"]));
    g.add_edge(START, a).add_edge(a, END);
    let error = g.compile().err().unwrap().to_string();
    assert!(error.contains("reads unknown field `titel`") && error.contains("`title`"), "{error}");
    assert!(error.contains("writes unknown field `m`"), "{error}");
}
