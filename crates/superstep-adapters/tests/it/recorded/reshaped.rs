//! The workshop after its state and nodes have changed: recorded threads go on in the new shape.

use std::collections::BTreeMap;

use serde_json::json;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{Checked, Compiled, Depth, HistoryQuery, Migration};

use super::workshop::fitting;

/// A job, as it became: `kind` is `sort`, money has cents and a currency, nobody counts what is wanted.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
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

fn reshaped(store: &SharedCheckpointer) -> Compiled<Order> {
    let mut graph = Graph::<Order>::new("workshop");
    let trim =
        graph.node("trim", |order: View<Order>| Order::update().log(format!("trim for {}", order.sort)).cents(50_u64));
    let sign_off = graph.node("sign_off", |ask: Ask| async move {
        let approved: bool = ask.person("approve?", ()).await?;
        Ok::<_, NodeError>(Order::update().approved(approved).log(format!("signed off: {approved}")))
    });
    let room = graph.node("fitting_room", fitting());
    let report = graph.node("report", |order: View<Order>| {
        Order::update().chat(Message::assistant(format!("{} {}", order.cents, order.currency)))
    });
    graph.edge(START, trim).edge(trim, report).edge(sign_off, report).edge(room, report).edge(report, END);
    graph.edge(START, sign_off).route(report, move |_: &Order| Go::end(), [room.into(), END]);
    let cents = |cost: u64| cost * 100;
    let written = |cost: serde_json::Value| -> Result<serde_json::Value, String> {
        cost.as_u64().map(|cost| json!(cost * 100)).ok_or_else(|| format!("{cost} is no cost"))
    };
    let fields = Migration::to(2).rename("kind", "sort").remove("wanted").add("currency", "EUR");
    let fields = fields.map("cost", cents).convert_writes("cost", written).rename("cost", "cents");
    let nodes = fields.rename_node("cut", "trim").rename_node("approve", "sign_off").rename_node("fit", "fitting_room");
    graph.migrate(1, nodes.rename_node("saw", "trim")).checkpointer(store.clone());
    graph.compile().unwrap()
}

/// Every recorded thread is read and goes on in the new shape, and old checkpoints stay readable.
pub(super) async fn check_reshaped(store: &SharedCheckpointer) {
    let graph = reshaped(store);
    let checked = graph.threads().check(Depth::History, |_, _| {}).await.unwrap();
    assert_eq!(checked, Checked { migrates: 6, ..Checked::default() });
    let answered = graph.resume("interrupted", true).await.unwrap();
    assert!(answered.is_finished());
    assert_eq!(answered.state.log, ["cut for ask", "signed off: true"], "what had finished did not run again");
    assert_eq!((answered.state.cents, &*answered.state.sort, &*answered.state.currency), (300, "ask", "EUR"));
    let fitted = graph.resume("inside", true).await.unwrap();
    assert_eq!(
        (&fitted.state.log[..], fitted.is_finished()),
        (&["measured".to_owned(), "fits: true".to_owned()][..], true)
    );
    for (thread, cents) in [("finished", 300), ("forked", 300), ("long", 4_000), ("pruned", 1_200)] {
        let out = graph.run(json!({ "sort": "again" })).thread(thread).await.unwrap();
        assert_eq!((out.state.cents, out.questions().len()), (cents, 1), "{thread}");
        let out = graph.resume(thread, true).await.unwrap();
        assert_eq!(out.state.cents, cents + 50, "{thread}");
        let again = reshaped(store).threads().state(thread).await.unwrap();
        assert_eq!((&*again.state, again.checkpoint.schema_version), (&*out.state, 2), "{thread}");
        let history = graph.threads().history(thread, &HistoryQuery::default()).await.unwrap();
        assert!(history.iter().all(|seen| seen.state.currency == "EUR"), "{thread}");
    }
}
