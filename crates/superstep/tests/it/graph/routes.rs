//! Routes: what they may return and what is refused.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Code, Endpoint, Error, IntoGo, Record, Routes};

use crate::engine::{log_of, outcome, says};

fn draw<G: IntoGo + 'static>(g: &mut Graph<Record>, decide: fn(&Record) -> G, targets: Routes) {
    let (a, b, c) = (g.node("a", says("a")), g.node("b", says("b")), g.node("c", says("c")));
    let d = g.node("d", |sent: Option<Sent<u32>>| json!({ "log": [sent.map_or(0, |sent| sent.0)] }));
    g.edge(b, END).edge(c, END).edge(d, END);
    g.route(a, decide, targets);
    // Another way to each, so that what a route leaves out is not refused as unreachable.
    g.entry_by(|_| "a", ["a", "b", "c", "d"]);
}

/// The log of `a` with a route that may lead to `b`, `c`, `d` and the end.
async fn routed<G: IntoGo + 'static>(decide: fn(&Record) -> G) -> Value {
    log_of(|g| draw(g, decide, Routes::from(["b", "c", "d", "__end__"]))).await
}

async fn refused<G: IntoGo + 'static>(decide: fn(&Record) -> G, targets: Routes) -> Error {
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
    assert_eq!(routed(|_| Go::to("b").and(END)).await, json!(["a", "b"]));
    assert_eq!(routed(|_| Send::new("d", 7)).await, json!(["a", 7]));
    assert_eq!(routed(|_| vec![Send::new("d", 8), Send::new("d", 7)]).await, json!(["a", 8, 7]));
    assert_eq!(routed(|_| Go::to("c").and("d").and_send(Send::new("d", 7))).await, json!(["a", "c", 0, 7]));
    assert_eq!(routed(|_| Ok::<_, NodeError>("b")).await, json!(["a", "b"]));
}

/// R-FWK-4: the router sees the state with its node's own update.
#[tokio::test]
async fn a_route_sees_what_its_node_wrote() {
    assert_eq!(
        routed(|s| if s.get("log").as_array().is_some_and(|log| log.len() == 1) { "b" } else { "c" }).await,
        json!(["a", "b"])
    );
}

async fn mapped(key: &'static str, otherwise: Option<Endpoint>) -> Result<Value, Error> {
    let done = outcome(
        |g| {
            let (a, b, c) = (g.node("a", says("a")), g.node("b", says("b")), g.node("c", says("c")));
            g.edge(START, a).edge(b, END).edge(c, END);
            g.route_by(a, move |_| key, [("left", Endpoint::from(b)), ("right", c.into()), ("stop", END)], otherwise);
        },
        json!({ "n": 0 }),
    );
    done.await.map(|done| crate::engine::field(&done, "log"))
}

/// R-FWK-4: a map translates results, may lead to the end, and may have a default.
#[tokio::test]
async fn a_map_translates_results_and_has_a_default() {
    assert_eq!(mapped("left", None).await.unwrap(), json!(["a", "b"]));
    assert_eq!(mapped("right", None).await.unwrap(), json!(["a", "c"]));
    assert_eq!(mapped("stop", None).await.unwrap(), json!(["a"]));
    assert_eq!(mapped("else", Some("c".into())).await.unwrap(), json!(["a", "c"]));
    let error = mapped("else", None).await.unwrap_err();
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::InvalidRoute, Some("a")));
    for word in ["`else`", "`left`", "`right`", "`stop`"] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
}

/// R-FWK-4: a result that leads nowhere is `InvalidRoute` and lists what was returned and what is allowed.
#[tokio::test]
async fn a_result_that_leads_nowhere_lists_what_is_allowed() {
    let rows: [(Error, &str, &[&str]); 5] = [
        (refused(|_| "c", Routes::from(["b", "d", "__end__"])).await, "`c`", &["`b`", "`d`", "the end"]),
        (refused(|_| "bb", Routes::from(["b", "c", "d"])).await, "`bb`", &["`b`", "`c`", "`d`"]),
        (
            refused(|_| "nowhere at all", Routes::from(["b", "c", "d"])).await,
            "`nowhere at all`",
            &["`b`", "`c`", "`d`"],
        ),
        (refused(|_| "bb", Routes::ANYWHERE).await, "`bb`", &["`a`", "`b`", "`c`", "`d`"]),
        (refused(|_| Send::new("nowhere", 1), Routes::ANYWHERE).await, "`nowhere`", &["`a`", "`b`", "`c`", "`d`"]),
    ];
    for (error, returned, allowed) in rows {
        assert_eq!((error.code(), error.place().node.as_deref()), (Code::InvalidRoute, Some("a")), "{error}");
        for word in allowed.iter().chain([&returned]) {
            assert!(error.to_string().contains(word), "{word} in {error}");
        }
    }
}

/// R-FWK-4: leading to the start, sending to the end and returning nothing are refused as well.
#[tokio::test]
async fn odd_results_are_refused() {
    let rows = [
        refused(|_| START, Routes::ANYWHERE).await,
        refused(|_| Send::new(END, 1), Routes::ANYWHERE).await,
        refused(|_| Go::none(), Routes::from(["b", "c", "d"])).await,
    ];
    for error in rows {
        assert_eq!(error.code(), Code::InvalidRoute, "{error}");
    }
    let failed = refused(|_| Err::<Go, _>("the router is tired"), Routes::ANYWHERE).await;
    assert_eq!(failed.code(), Code::NodeFailed);
    assert!(failed.to_string().contains("the router is tired"), "{failed}");
}

/// R-FWK-4: of two routes of one node each is followed, and an edge beside them too.
#[tokio::test]
async fn several_routes_and_an_edge_of_one_node_all_count() {
    let log = log_of(|g| {
        let (a, b) = (g.node("a", says("a")), g.node("b", says("b")));
        let (c, d) = (g.node("c", says("c")), g.node("d", says("d")));
        g.edge(START, a).edge(a, d).route(a, |_| "b", [b]).route(a, |_| "c", [c]);
        g.finish(b).finish(c).finish(d);
    });
    assert_eq!(log.await, json!(["a", "b", "c", "d"]));
}

/// R-FWK-1: the sentinels are the names `__start__` and `__end__`, as values and as text.
#[tokio::test]
async fn the_sentinels_have_their_names() {
    assert_eq!((START.to_string(), END.to_string()), ("__start__".to_owned(), "__end__".to_owned()));
    assert_eq!((Endpoint::from("__start__"), Endpoint::from("__end__")), (START, END));
    let log = log_of(|g| {
        g.node("a", says("a"));
        g.edge("__start__", "a").edge("a", "__end__");
    });
    assert_eq!(log.await, json!(["a"]));
}
