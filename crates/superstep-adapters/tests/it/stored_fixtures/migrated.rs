//! The recorded graph with a changed state and changed nodes: recorded threads are migrated and continue.

use std::collections::BTreeMap;

use serde_json::json;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{CheckDepth, CompatibilityReport, CompiledGraph, HistoryQuery, Migration};

use super::threads::fitting;

/// The migrated state of a job: `kind` became `sort`, `cost` became `cents` with a currency, `wanted` was removed.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[state(version = 2)]
struct Order {
    sort: String,
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(add)]
    cents: u64,
    #[reduce(merge)]
    stock: BTreeMap<String, u64>,
    #[reduce(messages)]
    chat: Messages,
    #[state(set_once)]
    customer: Option<String>,
    approved: Option<bool>,
    currency: String,
}

fn reshaped(store: &SharedCheckpointer) -> CompiledGraph<Order> {
    let mut graph = StateGraph::<Order>::new("workshop");
    let trim = graph
        .add_node("trim", |order: View<Order>| Order::update().log(format!("trim for {}", order.sort)).cents(50_u64));
    let sign_off = graph.add_node("sign_off", |interrupts: Interrupts| async move {
        let approved: bool = interrupts.raise("approve?", ()).await?;
        Ok::<_, NodeError>(Order::update().approved(approved).log(format!("signed off: {approved}")))
    });
    let fitting_node = graph.add_node("fitting_room", fitting());
    let report = graph.add_node("report", |order: View<Order>| {
        Order::update().chat(Message::assistant(format!("{} {}", order.cents, order.currency)))
    });
    graph
        .add_edge(START, trim)
        .add_edge(trim, report)
        .add_edge(sign_off, report)
        .add_edge(fitting_node, report)
        .add_edge(report, END);
    graph.add_edge(START, sign_off).add_conditional_edges(
        report,
        move |_: &Order| Goto::end(),
        [fitting_node.into(), END],
    );
    let cents = |cost: u64| cost * 100;
    let convert_cost = |cost: serde_json::Value| -> Result<serde_json::Value, String> {
        cost.as_u64().map(|cost| json!(cost * 100)).ok_or_else(|| format!("{cost} is no cost"))
    };
    let fields = Migration::to_version(2).rename("kind", "sort").remove("wanted").add("currency", "EUR");
    let fields = fields.map("cost", cents).convert_pending_writes("cost", convert_cost).rename("cost", "cents");
    let nodes = fields.rename_node("cut", "trim").rename_node("approve", "sign_off").rename_node("fit", "fitting_room");
    graph.add_migration(1, nodes.rename_node("saw", "trim")).checkpointer(store.clone());
    graph.compile().unwrap()
}

/// Checks that every recorded thread is migrated and continues, and that old checkpoints stay readable.
pub(super) async fn check_reshaped(store: &SharedCheckpointer) {
    let graph = reshaped(store);
    let checked = graph.threads().check_compatibility(CheckDepth::History, |_, _| {}).await.unwrap();
    assert_eq!(checked, CompatibilityReport { needs_migration: 6, ..CompatibilityReport::default() });
    let answered = graph.resume("interrupted", true).await.unwrap();
    assert!(answered.is_finished());
    assert_eq!(answered.state.log, ["cut for ask", "signed off: true"], "a finished task ran again");
    assert_eq!((answered.state.cents, &*answered.state.sort, &*answered.state.currency), (300, "ask", "EUR"));
    let fitted = graph.resume("inside", true).await.unwrap();
    assert_eq!(
        (&fitted.state.log[..], fitted.is_finished()),
        (&["measured".to_owned(), "fits: true".to_owned()][..], true)
    );
    for (thread, cents) in [("finished", 300), ("forked", 300), ("long", 4_000), ("pruned", 1_200)] {
        let out = graph.invoke(json!({ "sort": "again" })).thread(thread).await.unwrap();
        assert_eq!((out.state.cents, out.interrupts().len()), (cents, 1), "{thread}");
        let out = graph.resume(thread, true).await.unwrap();
        assert_eq!(out.state.cents, cents + 50, "{thread}");
        let reloaded = reshaped(store).threads().get_state(thread).await.unwrap();
        assert_eq!((&*reloaded.state, reloaded.checkpoint.schema_version), (&*out.state, 2), "{thread}");
        let history = graph.threads().get_state_history(thread, &HistoryQuery::default()).await.unwrap();
        assert!(history.iter().all(|snapshot| snapshot.state.currency == "EUR"), "{thread}");
    }
}
