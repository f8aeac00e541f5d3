//! HTTP API of the family calendar: submit requests in natural language, answer interrupts, read and change events,
//! import and export calendar files.
//!
//! The run service of the server executes runs; the modules here define requests and responses. The owner of a
//! conversation is stored in the options of its run requests, so that a conversation continues in the same way
//! after a resume or a crash. Every response is for one member: in the time zone of the member, and without private
//! details of others.

use axum::Extension;
use axum::extract::DefaultBodyLimit;
use superstep_server::{OwnedThreads, RunService};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod audit;
mod calendar_files;
mod conversations;
mod errors;
mod event_edit;
mod event_patch;
mod events;
mod family_objects;
mod feed_key;
mod import_guard;
mod pending_interrupt;
mod requester;
mod requests;
mod responses;
mod resume;
mod settings;
mod workflow_steps;

pub(crate) use requests::annotate_request;
pub use requests::{ConversationOptions, run_request};

use crate::app::SchedulerAppState;
use crate::ics::MAX_BYTES;

/// Name of the graph.
pub(crate) const GRAPH: &str = "scheduler";

/// Access to conversations and their owners.
const CONVERSATIONS: OwnedThreads = OwnedThreads {
    graph: GRAPH,
    list_hint: "GET /api/scheduler/threads?user_id=",
    owner: |options| ConversationOptions::from_json(options).user_id,
};

/// Returns the routes of the scheduler.
pub(crate) fn routes(app: SchedulerAppState) -> OpenApiRouter<RunService> {
    // One byte above the limit, so that the handler itself rejects larger files with its own error.
    let files = OpenApiRouter::new()
        .routes(routes!(calendar_files::import_calendar))
        .layer(DefaultBodyLimit::max(MAX_BYTES + 1));
    OpenApiRouter::new()
        .routes(routes!(settings::settings))
        .routes(routes!(conversations::submit_request, events::list_events))
        .routes(routes!(conversations::submit_query))
        .routes(routes!(conversations::list_conversations))
        .routes(routes!(conversations::get_conversation))
        .routes(routes!(conversations::resume_conversation))
        .routes(routes!(events::get_event, event_edit::update_event, event_edit::cancel_event))
        .routes(routes!(audit::undo_last_change))
        .routes(routes!(audit::list_audit))
        .routes(routes!(calendar_files::export_calendar))
        .routes(routes!(family_objects::list, family_objects::create))
        .routes(routes!(family_objects::change, family_objects::remove))
        .merge(files)
        .layer(Extension(app))
}
