//! HTTP server for graphs: durable runs, event streams that clients can resume, recovery after a crash, no second
//! service to operate.
//!
//! # Example
//!
//! An application ([`App`]) provides graphs, axum routes and optionally a page; [`serve`] serves applications from one
//! process. Routes use the [`RunService`]: it starts and cancels runs and returns a [`Subscription`] of their events,
//! which [`sse_response`] writes as server-sent events.
//!
//! ```no_run
//! use axum::extract::{Path, State};
//! use axum::response::Response;
//! use superstep::prelude::*;
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
//! async fn start(State(runs): State<RunService>, ValidatedJson(new): ValidatedJson<NewCount>) -> Result<Response, Problem> {
//!     let thread = new_thread_id();
//!     let input = serde_json::json!({"n": new.n});
//!     runs.start(RunRequest::new("count", &thread, RunInput::Input(input))).await?;
//!     Ok(sse_response(runs.subscribe(&thread, None).await?, encode_v2_events))
//! }
//!
//! #[utoipa::path(get, path = "/api/counts/{id}", params(("id" = String, Path)), responses((status = OK)))]
//! async fn stream(State(runs): State<RunService>, Path(id): Path<String>, LastEventId(after): LastEventId) -> Result<Response, Problem> {
//!     Ok(sse_response(runs.subscribe(&id.into(), after).await?, encode_v2_events))
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
//!     .graph(serve_graph(graph.compile()?, |_request| Ok(())))
//!     .routes(OpenApiRouter::new().routes(routes!(start)).routes(routes!(stream)));
//! let server = serve(vec![app], ServerConfig::new(Storage::sqlite("threads.db").await?)).await?;
//! println!("listening on {}", server.url());
//! shutdown_signal().await;
//! server.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # Runs
//!
//! [`RunService::start`] persists the request before the run starts, so an accepted run survives a crash: the next
//! server with the same [`Storage`] recovers it. States and events are in the checkpointer; the server holds no state
//! in memory that must survive a crash.
//!
//! # Events
//!
//! Every run has any number of subscribers. A client that reconnects with [`LastEventId`] receives every later event
//! once; a subscriber that reads too slowly is disconnected and can resume. Encoders turn events into a format:
//! [`encode_v2_events`] for LangChain's version 2 events, [`ag_ui_encoder`] for AG-UI.
//!
//! # Errors and validation
//!
//! Handlers return [`Problem`] (RFC 9457, `application/problem+json`). [`ValidatedJson`] and [`ValidatedQuery`] extract
//! input and report every invalid field with a JSON pointer.
//!
//! # Access
//!
//! Before a route runs, the server checks the `Host` and `Origin` headers, request sizes and rate limits
//! ([`RateLimit`]). By default it listens on loopback only. [`OwnedThreads`] records which user a thread belongs to.
//!
//! Routes are [`utoipa_axum`] routers, so they appear in `/api/openapi.json`.

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
pub use events::broadcast::{CancelMode, PublishedEvent, Subscription, SubscriptionEnd};
pub use events::sse::{LastEventId, SseEncoder, SseMessage, ag_ui_encoder, encode_v2_events, sse_response};
pub use graphs::registry::{
    GraphFuture, GraphRegistry, RunHandle, RunInput, RunOptions, RunRequest, RunResult, ServedGraph, ThreadInterrupt,
    ThreadState, ThreadTask, new_run_id, new_thread_id, serve_graph, serve_graph_with_annotations,
};
pub use models::{LOCAL_WEIGHTS_PROVIDER, ModelRegistry, provider_from_settings};
pub use runs::repository::{RunError, RunRecord, RunStatus, ThreadRecord, ThreadSearch, thread_data_namespace};
pub use runs::service::RunService;
pub use server::{Server, serve, shutdown_signal};
pub use superstep::settings::{PortConflictPolicy, RecoveryMode};
