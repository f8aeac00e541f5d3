//! Caching, context, functions, messages, schemas and leaks: LangGraph cases 137 to 145 and 152 to 154 that no other
//! test covers completely.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::store::SearchOp;
use superstep::{
    Cache, CachePolicy, Compat, CompiledGraph, DynamicState, Entrypoint, ErrorCode, MemoryStore, RunControl, RunEnd,
    SharedStore, SubgraphPersistence, entrypoint,
};

use super::COMPAT_MODES;
use crate::fixtures::{CallCounter, field, graph, log_word, schema, settle, transcript};
use crate::support::{expect_error, only_question};

struct Keys {
    secret: &'static str,
}

/// A graph that needs keys and logs the one it received.
fn needs_keys() -> CompiledGraph<DynamicState, Keys> {
    let mut g = StateGraph::<DynamicState, Keys>::with_schema("keyed", schema());
    let record_secret = g.add_node("tell", |keys: RunContext<Keys>| json!({ "log": [keys.secret] }));
    g.add_edge(START, record_secret).add_edge(record_secret, END);
    g.compile().unwrap()
}

/// R-REF-139: a graph that a node calls gets the context of the calling run, or its own; if the former has another
/// type and none is passed, the call is rejected with the name of the type before anything runs.
#[tokio::test]
async fn a_called_graph_has_the_context_of_the_run_or_its_own() {
    let call = |own: Option<&'static str>| {
        move |cx: TaskContext| async move {
            let run = needs_keys().invoke(json!({ "n": 0 })).nested_in(&cx);
            let run = own.into_iter().fold(run, |run, secret| run.context(Keys { secret }));
            Ok::<_, NodeError>(json!({ "log": field(&run.await?, "log") }))
        }
    };
    let mut same = StateGraph::<DynamicState, Keys>::with_schema("same", schema());
    let (a, b) = (same.add_node("a", call(None)), same.add_node("b", call(Some("own"))));
    same.add_sequence([START, a.into(), b.into(), END]);
    let done = same.compile().unwrap().invoke(json!({ "n": 0 })).context(Keys { secret: "around" }).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["around", "own"]));
    let mut other = graph("other");
    let a = other.add_node("a", call(None));
    other.add_edge(START, a).add_edge(a, END);
    let error = expect_error(other.compile().unwrap().invoke(json!({ "n": 0 })).await);
    assert_eq!(error.code(), ErrorCode::MissingContext, "{error}");
    assert!(error.message().contains("Keys") && error.message().contains("`keyed`"), "{error}");
}

/// R-REF-140: a node takes the store as an argument; an item stored on one thread is found on another, and a run
/// without a store fails with the name of the node.
#[tokio::test]
async fn the_store_is_handed_to_nodes_and_outlives_threads() {
    let mut g = graph("g");
    let count = g.add_node("count", async |store: SharedStore, cx: TaskContext| {
        let visits = store.get("visits", "all").await?.and_then(|item| item.value.as_u64()).unwrap_or(0) + 1;
        store.put("visits", "all", visits).await?;
        store.put("visits", cx.thread_id().unwrap().as_str(), visits).await?;
        Ok::<_, NodeError>(json!({ "log": [visits] }))
    });
    g.add_edge(START, count).add_edge(count, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let store = SharedStore::new(MemoryStore::new());
    for (thread, expected) in [("a", json!([1])), ("b", json!([2])), ("a", json!([1, 3]))] {
        let done = graph.invoke(json!({ "n": 0 })).thread(thread).store(store.clone()).await.unwrap();
        assert_eq!(field(&done, "log"), expected, "{thread}");
    }
    let all = store.search(SearchOp::new("visits")).await.unwrap();
    let all: BTreeMap<String, Value> = all.into_iter().map(|hit| (hit.item.key, hit.item.value)).collect();
    assert_eq!(json!(all), json!({ "a": 3, "all": 3, "b": 2 }));
    let error = expect_error(graph.invoke(json!({ "n": 0 })).thread("c").await);
    assert!(error.code() == ErrorCode::ConfigInvalid && error.message().contains("`Store`"), "{error}");
}

/// A function that fails twice before it doubles its input, with retries and a cache.
fn doubling(runs: &CallCounter, cache: &Cache) -> Entrypoint<u64, u64> {
    let runs = runs.clone();
    let double = entrypoint("double", move |n: u64, _: TaskContext| {
        let run = runs.up();
        async move { if run < 3 { Err(NodeError::new("busy").retryable()) } else { Ok(n * 2) } }
    });
    double.retry(RetryPolicy::default()).cache(cache.clone(), CachePolicy::by_input()).compile().unwrap()
}

/// R-REF-141: a function called inside another is retried by its own policy and cached under its own key; an equal
/// call on another thread does not run, another input does.
#[tokio::test(start_paused = true)]
async fn nested_functions_are_retried_and_cached() {
    let (runs, outer_runs) = (CallCounter::default(), CallCounter::default());
    let (double, counted) = (Arc::new(doubling(&runs, &Cache::new())), outer_runs.clone());
    let sum = entrypoint("sum", move |inputs: Vec<u64>, cx: TaskContext| {
        let double = double.clone();
        counted.up();
        async move {
            let mut sum = 0;
            for n in inputs {
                let done = double.invoke(&n).nested_in(&cx).await?;
                sum += double.output(&done)?.unwrap_or(0);
            }
            Ok(sum)
        }
    });
    let sum = sum.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    for (thread, inputs, expected, ran) in [("a", vec![5, 5], 20, 3), ("b", vec![5], 10, 3), ("c", vec![5, 6], 22, 4)] {
        let done = sum.invoke(&inputs).thread(thread).await.unwrap();
        assert_eq!((sum.output(&done).unwrap(), runs.get()), (Some(expected), ran), "{thread}");
    }
    assert_eq!(outer_runs.get(), 3);
}

/// R-REF-141, R-REF-83: a retried function does not repeat its recorded tasks, and gets their results in the order of
/// the calls.
#[tokio::test(start_paused = true)]
async fn a_retried_function_does_not_repeat_its_tasks() {
    let (tasks, attempts) = (CallCounter::default(), CallCounter::default());
    let (counted, counted_attempts) = (tasks.clone(), attempts.clone());
    let flaky = entrypoint("flaky", move |n: u64, cx: TaskContext| {
        let (tasks, attempts) = (counted.clone(), counted_attempts.clone());
        async move {
            let fetch = |number: u64| {
                let tasks = tasks.clone();
                async move {
                    // The first call ends last: results must not follow the order in which tasks end.
                    for _ in 0..10 - number {
                        tokio::task::yield_now().await;
                    }
                    tasks.up();
                    Ok::<_, NodeError>(n + number)
                }
            };
            let (one, two, three) =
                tokio::join!(cx.task("fetch", fetch(1)), cx.task("fetch", fetch(2)), cx.task("fetch", fetch(3)));
            if attempts.up() < 3 { Err(NodeError::new("busy").retryable()) } else { Ok(vec![one?, two?, three?]) }
        }
    });
    let flaky = flaky.retry(RetryPolicy::default()).compile().unwrap();
    let done = flaky.invoke(&10).await.unwrap();
    assert_eq!((flaky.output(&done).unwrap(), tasks.get(), attempts.get()), (Some(vec![11, 12, 13]), 3, 3));
}

/// R-REF-83, R-REF-120: actions inside a recorded task (other tasks, graphs, interrupts) are skipped with it once it
/// is recorded, and later actions keep their ordinals.
#[tokio::test]
async fn skipped_actions_of_a_recorded_task_do_not_shift_later_ordinals() {
    let runs = CallCounter::default();
    let mut g = graph("child");
    let counted = runs.clone();
    let report = g.add_node("tell", move |state: View<DynamicState>| {
        counted.up();
        json!({ "title": state.get("n") })
    });
    g.add_edge(START, report).add_edge(report, END);
    let child = g.compile().unwrap();
    let work = entrypoint("work", move |(): (), cx: TaskContext| {
        let child = child.clone();
        async move {
            let step = |n: u64| async move { Ok::<_, NodeError>(n) };
            let outer = async {
                let inner = cx.task("step", step(1)).await?;
                let called = child.invoke(json!({ "n": 10 })).nested_in(&cx).await?;
                let reply: String = cx.interrupts().raise("inside", ()).await?;
                Ok::<_, NodeError>(format!("{inner} {} {reply}", field(&called, "title")))
            };
            let first = cx.task("outer", outer).await?;
            let after = cx.task("step", step(2)).await?;
            let called = child.invoke(json!({ "n": 20 })).nested_in(&cx).await?;
            let reply: String = cx.interrupts().raise("after", ()).await?;
            let sure: bool = cx.interrupts().raise("sure", ()).await?;
            Ok(format!("{first}, {after} {} {reply} {sure}", field(&called, "title")))
        }
    });
    let work = work.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let mut outcome = work.invoke(&()).thread("t").await.unwrap();
    for (name, answer) in [("inside", json!("A")), ("after", json!("B")), ("sure", json!(true))] {
        assert_eq!(only_question(&outcome).name, name);
        outcome = work.graph().resume("t", answer).await.unwrap();
    }
    assert_eq!(work.output(&outcome).unwrap().as_deref(), Some("1 10 A, 2 20 B true"));
    assert_eq!(runs.get(), 2);
}

/// Returns the message list after each update of a series, or the error.
async fn message_states(compat: Compat, updates: &[Value]) -> Result<Vec<Vec<(String, String)>>, String> {
    let fields = json!({ "talk": { "type": "messages", "reducer": "add_messages", "default": [] }, "n": {} });
    let schema = superstep::Schema::from_json("talk", &fields).unwrap();
    let mut g = StateGraph::<DynamicState>::with_schema("talk", schema);
    let quiet = g.add_node("quiet", || ());
    g.add_edge(START, quiet).add_edge(quiet, END).compat(compat).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let mut lists = Vec::new();
    for update in updates {
        let done = graph.invoke(json!({ "talk": update })).thread("t").await.map_err(|error| error.to_string())?;
        let talk = done.state.get("talk").into_owned();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let one = |message: &Value| (text(&message["id"]), text(&message["content"]));
        lists.push(talk.as_array().unwrap().iter().map(one).collect());
    }
    Ok(lists)
}

fn user_message(id: &str, content: &str) -> Value {
    json!({ "role": "user", "id": id, "content": content })
}

fn removed(id: &str) -> Value {
    json!({ "type": "remove", "id": id })
}

/// R-REF-144, R-REF-145: messages are appended, replaced by id, removed, removed all at once, and added again after a
/// removal; of two with one id in one update the last applies; removing an unknown id is rejected.
#[tokio::test]
async fn messages_are_folded_by_id() {
    let start = json!([user_message("1", "a"), user_message("2", "b")]);
    let rows = [
        (json!([user_message("3", "c")]), vec![("1", "a"), ("2", "b"), ("3", "c")]),
        (json!([user_message("1", "A"), user_message("3", "c")]), vec![("1", "A"), ("2", "b"), ("3", "c")]),
        (json!([removed("1")]), vec![("2", "b")]),
        (json!([user_message("3", "c"), removed("__remove_all__"), user_message("4", "d")]), vec![("4", "d")]),
        (json!([removed("1"), user_message("1", "again")]), vec![("1", "again"), ("2", "b")]),
        (
            json!([user_message("3", "x"), user_message("4", "d"), user_message("3", "y")]),
            vec![("1", "a"), ("2", "b"), ("3", "y"), ("4", "d")],
        ),
    ];
    for compat in COMPAT_MODES {
        for (update, expected) in &rows {
            let lists = message_states(compat, &[start.clone(), update.clone()]).await.unwrap();
            let list: Vec<(&str, &str)> = lists[1].iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
            assert_eq!(&list, expected, "{compat:?}: {update}");
        }
        let error = message_states(compat, &[start.clone(), json!([removed("9")])]).await.unwrap_err();
        assert!(error.contains('9'), "{compat:?}: {error}");
    }
}

/// R-REF-144: a message without an id gets one, once: it is the same in every later state and in a replay of it.
#[tokio::test]
async fn a_message_gets_its_id_once() {
    for compat in COMPAT_MODES {
        let hello = json!({ "role": "user", "content": "hello" });
        let lists = message_states(compat, &[json!([hello, hello]), json!(hello), json!([user_message("x", "end")])])
            .await
            .unwrap();
        let (first, second, third) = (&lists[0], &lists[1], &lists[2]);
        assert!(first[0].0 != first[1].0 && !first[0].0.is_empty(), "{compat:?}: {first:?}");
        assert_eq!((&second[..2], &third[..3]), (&first[..], &second[..]), "{compat:?}");
        assert_eq!(third.len(), 4, "{compat:?}");
    }
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Order {
    #[state(required)]
    item: String,
    #[state(default = 1)]
    count: u32,
    #[state(private)]
    price: Option<f64>,
    #[reduce(append)]
    log: Vec<String>,
}

#[derive(superstep::JsonSchema)]
#[schemars(crate = "superstep::schemars")]
#[expect(dead_code, reason = "only its schema is used")]
struct Options {
    model: String,
    #[schemars(default = "warm")]
    temperature: f64,
}

fn warm() -> f64 {
    0.7
}

/// R-REF-153: input, output and configurable values have JSON Schemas, with defaults and required fields; a field
/// that is private or not part of them is not included.
#[test]
fn schemas_have_defaults_and_required_fields() {
    let mut g = StateGraph::<Order>::new("order");
    let a = g.add_node("a", || ());
    g.add_edge(START, a)
        .add_edge(a, END)
        .input_fields(["item", "count"])
        .output_fields(["count", "log"])
        .configurable_schema::<Options>();
    let graph = g.compile().unwrap();
    let keys = |schema: &Value| {
        let mut keys: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let (input, output) = (graph.input_schema(), graph.output_schema());
    assert_eq!(
        (keys(&input), keys(&output)),
        (vec!["count".into(), "item".into()], vec!["count".into(), "log".into()])
    );
    assert_eq!((&input["required"], output.get("required")), (&json!(["item"]), None));
    let count = &input["properties"]["count"];
    assert_eq!((&count["type"], &count["default"], &count["minimum"]), (&json!("integer"), &json!(1), &json!(0)));
    assert_eq!(output["properties"]["log"]["items"]["type"], "string");
    let options = graph.configurable_schema().unwrap();
    assert_eq!((&options["required"], &options["properties"]["model"]["type"]), (&json!(["model"]), &json!("string")));
    assert_eq!(options["properties"]["temperature"]["default"], json!(0.7));
    assert_eq!(needs_keys().configurable_schema(), None);
}

/// One run of every kind: successful, failed, interrupted and resumed, drained, cancelled, dropped; with subgraphs.
async fn every_kind(graph: &CompiledGraph<DynamicState, Arc<()>>, token: &Arc<()>, thread: usize) {
    let run = |title: &str| graph.invoke(json!({ "title": title })).thread(thread).context(token.clone());
    let done = run("well").await.unwrap();
    assert_eq!(done.end, RunEnd::Finished);
    assert_eq!(expect_error(run("fails").await).code(), ErrorCode::NodeFailed);
    assert_eq!(run("asks").await.unwrap().interrupts().len(), 1);
    graph.resume(thread, "Ann").context(token.clone()).await.unwrap();
    let control = RunControl::new();
    control.cancel();
    assert_eq!(expect_error(run("well").control(control).await).code(), ErrorCode::Cancelled);
    let mut stream = run("hangs").stream();
    for _ in 0..3 {
        stream.next().await.unwrap();
    }
    drop(stream);
    graph.threads().delete(thread).await.unwrap();
}

/// `work` acts as the title requests, in a subgraph; the node and the parent graph hold `token`.
fn any_kind(token: &Arc<()>) -> CompiledGraph<DynamicState, Arc<()>> {
    let mut g = StateGraph::<DynamicState, Arc<()>>::with_schema("inner", schema());
    let held = token.clone();
    let work = g.add_node(
        "work",
        move |state: View<DynamicState>, interrupts: Interrupts, cx: TaskContext, context: RunContext<Arc<()>>| {
            let held = (held.clone(), context.clone(), cx.clone());
            async move {
                match state.get("title").as_str() {
                    Some("fails") => return Err(NodeError::new("no")),
                    Some("asks") => drop(interrupts.raise::<String>("who", ()).await?),
                    Some("hangs") => std::future::pending().await,
                    _ => held.2.once("step", async { Ok::<_, NodeError>(1) }).await.map(drop)?,
                }
                Ok(json!({ "log": ["done"] }))
            }
        },
    );
    g.add_edge(START, work).add_edge(work, END).subgraph_persistence(SubgraphPersistence::Inherit);
    let mut outer = StateGraph::<DynamicState, Arc<()>>::with_schema("outer", schema());
    let child = outer.add_node("child", g.compile().unwrap());
    let sibling = outer.add_node("beside", log_word("beside"));
    outer
        .add_edge(START, child)
        .add_edge(START, sibling)
        .add_edge(child, END)
        .add_edge(sibling, END)
        .checkpointer(MemoryCheckpointer::new());
    outer.compile().unwrap()
}

/// R-REF-154: after more than a thousand runs of every kind nothing holds their values, and no memory is leaked.
#[test]
fn nothing_is_left_of_a_thousand_runs() {
    let (token, captured) = (Arc::new(()), Arc::new(()));
    let graph = any_kind(&captured);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let rounds = |count: usize| {
        runtime.block_on(async {
            for thread in 0..count {
                every_kind(&graph, &token, thread).await;
            }
            settle().await;
        });
    };
    rounds(40);
    let left = allocation_counter::measure(|| rounds(200));
    assert_eq!(Arc::strong_count(&token), 1, "the context of a run is still held");
    assert_eq!(Arc::strong_count(&captured), 2, "a task of a run is still held");
    assert!(
        left.bytes_current < 20_000,
        "200 rounds of 6 runs left {} bytes in {} allocations",
        left.bytes_current,
        left.count_current
    );
    drop(graph);
    assert_eq!(Arc::strong_count(&captured), 1, "the graph is still held");
}

/// R-REF-137: in both modes an equal call within the TTL does not run but is marked as cached, and a later call
/// runs.
#[tokio::test]
async fn a_cached_call_is_marked_in_both_modes() {
    for compat in COMPAT_MODES {
        let (mut g, runs) = (graph("g"), CallCounter::default());
        let counted = runs.clone();
        let policy = CachePolicy::by_input().ttl(Duration::from_secs(10));
        let a = g.add_node("a", node(move || json!({ "log": [counted.up()] })).cache(policy));
        g.add_edge(START, a).add_edge(a, END).compat(compat).cache(Cache::new());
        let graph = g.compile().unwrap();
        let clock = crate::fixtures::SettableClock::at(0);
        for (pass, mark, ran) in [(0, "1 a done", 1), (9, "1 a cached", 1), (1, "1 a done", 2)] {
            clock.pass(Duration::from_secs(pass));
            let (lines, done) = transcript(graph.invoke(json!({ "n": 1 })).clock(clock.clone())).await;
            assert!(lines.iter().any(|line| line == mark), "{compat:?}: {lines:?}");
            assert_eq!((field(&done.unwrap(), "log"), runs.get()), (json!([ran]), ran), "{compat:?}");
        }
    }
}
