//! Serves graphs over HTTP: any number of readers, crashes that are taken up again, nothing else that has to run.
//!
//! An application ([`App`]) brings graphs, routes and perhaps a page; [`serve`] makes one process of them. Routes use the
//! [`Desk`]: it starts runs, stops them, and gives a [`Feed`] of what they say, which [`sse`] writes as server-sent events.
//!
//! ```no_run
//! use axum::extract::{Path, State};
//! use axum::response::Response;
//! use superstep::prelude::{END, Graph, START, State as GraphState};
//! use superstep_server::{After, App, Body, Config, Desk, Order, Problem, Stores, What};
//! use superstep_server::{events, fresh_thread, serve, served, sse, stop_signal};
//! use utoipa_axum::{router::OpenApiRouter, routes};
//!
//! #[derive(GraphState, Clone, serde::Serialize, serde::Deserialize)]
//! struct Count { #[reduce(add)] n: u64 }
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema, utoipa::ToSchema)]
//! #[serde(deny_unknown_fields)]
//! struct NewCount { n: u64 }
//!
//! #[utoipa::path(post, path = "/api/counts", request_body = NewCount, responses((status = OK)))]
//! async fn start(State(desk): State<Desk>, Body(new): Body<NewCount>) -> Result<Response, Problem> {
//!     let thread = fresh_thread();
//!     let input = serde_json::json!({"n": new.n});
//!     desk.start(Order::new("count", &thread, What::Start(input))).await?;
//!     Ok(sse(desk.watch(&thread, None).await?, events))
//! }
//!
//! #[utoipa::path(get, path = "/api/counts/{id}", params(("id" = String, Path)), responses((status = OK)))]
//! async fn stream(State(desk): State<Desk>, Path(id): Path<String>, After(after): After) -> Result<Response, Problem> {
//!     Ok(sse(desk.watch(&id.into(), after).await?, events))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let mut graph = Graph::<Count>::new("count");
//! let one = graph.node("one", || Count::update().n(1u64));
//! graph.edge(START, one);
//! graph.edge(one, END);
//!
//! let app = App::new("count", "Counting")
//!     .graph(served(graph.compile()?, |_order| Ok(())))
//!     .routes(OpenApiRouter::new().routes(routes!(start)).routes(routes!(stream)));
//! let server = serve(vec![app], Config::new(Stores::sqlite("threads.db").await?)).await?;
//! println!("listening on {}", server.url());
//! stop_signal().await;
//! server.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! Nothing that a killed process may not lose is in memory: orders are written down before their runs start, states and
//! events are in the store of checkpoints. Who may ask is decided in front of everything: loopback, host, origin, limits.

mod app;
mod config;
mod conversations;
mod desk;
mod guard;
mod hub;
mod ledger;
mod limits;
mod models;
mod openapi;
mod pages;
mod problem;
mod registry;
mod routes;
mod server;
mod sse;
mod wire;
mod worker;

pub use app::App;
pub use config::{Config, ModelNote, Pace, RingSize, Stores};
pub use conversations::Conversations;
pub use desk::Desk;
pub use hub::{Feed, FeedEnd, Stop, Told};
pub use ledger::{Record, RecordsQuery, RunFailure, RunStatus, ThreadRecord, belongings};
pub use limits::{Limit, Pass, Visitor};
pub use models::{Models, WEIGHTS, provider};
pub use problem::{Problem, ProblemPart};
pub use registry::{
    Asked, Ended, Order, Registry, Running, Served, Shown, ShownQuestion, ShownTask, Terms, What, fresh_run,
    fresh_thread, served, served_noting,
};
pub use server::{Server, serve, stop_signal};
pub use sse::{After, Line, View, ag_ui, events, sse};
pub use superstep::settings::{PortInUse, ResumeRuns};
pub use wire::{Asks, Body};
