//! Conditional edges: permitted and rejected return values.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{DynamicState, Endpoint, Error, ErrorCode, IntoGoto, RouteTargets};

use crate::fixtures::{log_of, log_word, outcome};

fn draw<G: IntoGoto + 'static>(
    g: &mut StateGraph<DynamicState>,
    decide: fn(&DynamicState) -> G,
    targets: RouteTargets,
) {
    let (a, b, c) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")), g.add_node("c", log_word("c")));
    let d = g.add_node("d", |sent: Option<SendPayload<u32>>| json!({ "log": [sent.map_or(0, |sent| sent.0)] }));
    g.add_edge(b, END).add_edge(c, END).add_edge(d, END);
    g.add_conditional_edges(a, decide, targets);
    // Another path to each node, so that nodes that the conditional edge omits are not rejected as unreachable.
    g.set_conditional_entry_point(|_| "a", ["a", "b", "c", "d"]);
}

/// Returns the log of `a` with a conditional edge that may go to `b`, `c`, `d` and the end.
async fn routed<G: IntoGoto + 'static>(decide: fn(&DynamicState) -> G) -> Value {
    log_of(|g| draw(g, decide, RouteTargets::from(["b", "c", "d", "__end__"]))).await
}

async fn routing_error<G: IntoGoto + 'static>(decide: fn(&DynamicState) -> G, targets: RouteTargets) -> Error {
    outcome(|g| draw(g, decide, targets), json!({ "n": 0 })).await.unwrap_err()
}

/// R-FWK-4, R-REF-37: a router returns a name, several names, sends, a mix of these, or the end.
#[tokio::test]
async fn a_route_returns_names_sends_or_the_end() {
    assert_eq!(routed(|_| "b").await, json!(["a", "b"]));
    assert_eq!(routed(|_| "b".to_owned()).await, json!(["a", "b"]));
    assert_eq!(routed(|_| vec!["c", "b"]).await, json!(["a", "b", "c"]));
    assert_eq!(routed(|_| END).await, json!(["a"]));
    assert_eq!(routed(|_| "__end__").await, json!(["a"]));
    assert_eq!(routed(|_| Goto::node("b").and_node(END)).await, json!(["a", "b"]));
    assert_eq!(routed(|_| SendTo::new("d", 7)).await, json!(["a", 7]));
    assert_eq!(routed(|_| vec![SendTo::new("d", 8), SendTo::new("d", 7)]).await, json!(["a", 8, 7]));
    assert_eq!(routed(|_| Goto::node("c").and_node("d").and_send(SendTo::new("d", 7))).await, json!(["a", "c", 0, 7]));
    assert_eq!(routed(|_| Ok::<_, NodeError>("b")).await, json!(["a", "b"]));
}

/// R-FWK-4: the router sees the state with the update of its own node.
#[tokio::test]
async fn a_router_reads_the_update_of_its_node() {
    assert_eq!(
        routed(|s| if s.get("log").as_array().is_some_and(|log| log.len() == 1) { "b" } else { "c" }).await,
        json!(["a", "b"])
    );
}

async fn mapped(key: &'static str, otherwise: Option<Endpoint>) -> Result<Value, Error> {
    let done = outcome(
        |g| {
            let (a, b, c) =
                (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")), g.add_node("c", log_word("c")));
            g.add_edge(START, a).add_edge(b, END).add_edge(c, END);
            g.add_conditional_edges_by_key(
                a,
                move |_| key,
                [("left", Endpoint::from(b)), ("right", c.into()), ("stop", END)],
                otherwise,
            );
        },
        json!({ "n": 0 }),
    );
    done.await.map(|done| crate::fixtures::field(&done, "log"))
}

/// R-FWK-4: a map translates results, may contain the end, and may have a default.
#[tokio::test]
async fn a_map_translates_results_and_has_a_default() {
    assert_eq!(mapped("left", None).await.unwrap(), json!(["a", "b"]));
    assert_eq!(mapped("right", None).await.unwrap(), json!(["a", "c"]));
    assert_eq!(mapped("stop", None).await.unwrap(), json!(["a"]));
    assert_eq!(mapped("else", Some("c".into())).await.unwrap(), json!(["a", "c"]));
    let error = mapped("else", None).await.unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::InvalidRoute, Some("a")));
    for word in ["`else`", "`left`", "`right`", "`stop`"] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
}

/// R-FWK-4: a result without a target is `InvalidRoute` and lists the result and the permitted ones.
#[tokio::test]
async fn an_invalid_route_lists_the_permitted_targets() {
    let rows: [(Error, &str, &[&str]); 5] = [
        (routing_error(|_| "c", RouteTargets::from(["b", "d", "__end__"])).await, "`c`", &["`b`", "`d`", "`END`"]),
        (routing_error(|_| "bb", RouteTargets::from(["b", "c", "d"])).await, "`bb`", &["`b`", "`c`", "`d`"]),
        (
            routing_error(|_| "nowhere at all", RouteTargets::from(["b", "c", "d"])).await,
            "`nowhere at all`",
            &["`b`", "`c`", "`d`"],
        ),
        (routing_error(|_| "bb", RouteTargets::ANY).await, "`bb`", &["`a`", "`b`", "`c`", "`d`"]),
        (
            routing_error(|_| SendTo::new("nowhere", 1), RouteTargets::ANY).await,
            "`nowhere`",
            &["`a`", "`b`", "`c`", "`d`"],
        ),
    ];
    for (error, returned, allowed) in rows {
        assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::InvalidRoute, Some("a")), "{error}");
        for word in allowed.iter().chain([&returned]) {
            assert!(error.to_string().contains(word), "{word} in {error}");
        }
    }
}

/// R-FWK-4: a goto to the start, a send to the end and an empty result are rejected too.
#[tokio::test]
async fn invalid_results_are_rejected() {
    let rows = [
        routing_error(|_| START, RouteTargets::ANY).await,
        routing_error(|_| SendTo::new(END, 1), RouteTargets::ANY).await,
        routing_error(|_| Goto::none(), RouteTargets::from(["b", "c", "d"])).await,
    ];
    for error in rows {
        assert_eq!(error.code(), ErrorCode::InvalidRoute, "{error}");
    }
    let failed = routing_error(|_| Err::<Goto, _>("the router is tired"), RouteTargets::ANY).await;
    assert_eq!(failed.code(), ErrorCode::NodeFailed);
    assert!(failed.to_string().contains("the router is tired"), "{failed}");
}

/// R-FWK-4: of two conditional edges of one node each is followed, and so is a plain edge.
#[tokio::test]
async fn several_routes_and_an_edge_of_one_node_all_count() {
    let log = log_of(|g| {
        let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")));
        let (c, d) = (g.add_node("c", log_word("c")), g.add_node("d", log_word("d")));
        g.add_edge(START, a).add_edge(a, d).add_conditional_edges(a, |_| "b", [b]).add_conditional_edges(
            a,
            |_| "c",
            [c],
        );
        g.set_finish_point(b).set_finish_point(c).set_finish_point(d);
    });
    assert_eq!(log.await, json!(["a", "b", "c", "d"]));
}

/// R-FWK-1: the sentinels are the names `__start__` and `__end__`, as values and as text.
#[tokio::test]
async fn the_sentinels_have_their_names() {
    assert_eq!((START.to_string(), END.to_string()), ("__start__".to_owned(), "__end__".to_owned()));
    assert_eq!((Endpoint::from("__start__"), Endpoint::from("__end__")), (START, END));
    let log = log_of(|g| {
        g.add_node("a", log_word("a"));
        g.add_edge("__start__", "a").add_edge("a", "__end__");
    });
    assert_eq!(log.await, json!(["a"]));
}
