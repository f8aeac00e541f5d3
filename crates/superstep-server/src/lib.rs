//! HTTP server for graphs: any number of subscribers per run, recovery of runs after a crash, no second service to
//! operate.
//!
//! An application ([`App`]) provides graphs, routes and optionally a page; [`serve`] serves applications from one
//! process. Routes use the [`RunService`]: it starts runs, stops them, and returns a [`Subscription`] of their events, which
//! [`sse_response`] writes as server-sent events.
//!
//! ```no_run
//! use axum::extract::{Path, State};
//! use axum::response::Response;
//! use superstep::prelude::{END, StateGraph, START, GraphState as GraphState};
//! use superstep_server::{LastEventId, App, ValidatedJson, ServerConfig, RunService, RunRequest, Problem, Storage, RunInput};
//! use superstep_server::{encode_v2_events, new_thread_id, serve, serve_graph, sse_response, shutdown_signal};
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
//! async fn start(State(desk): State<RunService>, ValidatedJson(new): ValidatedJson<NewCount>) -> Result<Response, Problem> {
//!     let thread = new_thread_id();
//!     let input = serde_json::json!({"n": new.n});
//!     desk.start(RunRequest::new("count", &thread, RunInput::Input(input))).await?;
//!     Ok(sse_response(desk.subscribe(&thread, None).await?, encode_v2_events))
//! }
//!
//! #[utoipa::path(get, path = "/api/counts/{id}", params(("id" = String, Path)), responses((status = OK)))]
//! async fn stream(State(desk): State<RunService>, Path(id): Path<String>, LastEventId(after): LastEventId) -> Result<Response, Problem> {
//!     Ok(sse_response(desk.subscribe(&id.into(), after).await?, encode_v2_events))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let mut graph = StateGraph::<Count>::new("count");
//! let one = graph.add_node("one", || Count::update().n(1u64));
//! graph.add_edge(START, one);
//! graph.add_edge(one, END);
//!
//! let app = App::new("count", "Counting")
//!     .graph(serve_graph(graph.compile()?, |_order| Ok(())))
//!     .routes(OpenApiRouter::new().routes(routes!(start)).routes(routes!(stream)));
//! let server = serve(vec![app], ServerConfig::new(Storage::sqlite("threads.db").await?)).await?;
//! println!("listening on {}", server.url());
//! shutdown_signal().await;
//! server.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! The server keeps nothing in memory that a killed process may not lose: run requests are persisted before their
//! runs start, states and events are in the checkpointer. Access is checked before every route: loopback, host,
//! origin, limits.

mod access;
mod api;
mod app;
mod config;
mod events;
mod graphs;
mod models;
mod runs;
mod server;

pub use access::rate_limit::{ClientAddress, RateLimit, RunPermit};
pub use access::thread_owner::OwnedThreads;
pub use api::extract::{ValidatedJson, ValidatedQuery};
pub use api::problem::{Problem, ProblemField};
pub use app::App;
pub use config::{ModelSummary, ReplayBufferConfig, ServerConfig, SseConfig, Storage};
pub use events::broadcast::{PublishedEvent, StopMode, Subscription, SubscriptionEnd};
pub use events::sse::{LastEventId, SseEncoder, SseMessage, ag_ui_encoder, encode_v2_events, sse_response};
pub use graphs::registry::{
    GraphFuture, GraphRegistry, RunHandle, RunInput, RunOptions, RunRequest, RunResult, ServedGraph, ThreadInterrupt,
    ThreadState, ThreadTask, new_run_id, new_thread_id, serve_graph, serve_graph_with_annotations,
};
pub use models::{LOCAL_WEIGHTS_PROVIDER, ModelRegistry, provider_from_settings};
pub use runs::repository::{RunError, RunRecord, RunStatus, ThreadRecord, ThreadSearch, thread_data_namespace};
pub use runs::service::RunService;
pub use server::{Server, serve, shutdown_signal};
pub use superstep::settings::{PortInUse, RecoveryMode};
