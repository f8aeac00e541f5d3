//! The family's calendar over HTTP: say something in plain words, answer what is asked back, look, change, bring and take
//! files along.
//!
//! The desk of the server runs requests; here stands what is asked and how it is shown. Whose a conversation is travels in
//! the options of its orders, so that it goes on the same way after an answer or a crash. Everything that is told is told
//! to one member: in their zone, without what others keep private.

use axum::Extension;
use axum::extract::DefaultBodyLimit;
use superstep_server::{Conversations, Desk};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod answering;
mod asked;
mod asker;
mod audit;
mod brought;
mod edit;
mod feed;
mod files;
mod instances;
mod patch;
mod refusal;
mod settings;
mod steps;
mod talk;
mod things;
mod told;
mod waiting;

pub(crate) use asked::noted;
pub use asked::{Options, order};

use crate::app::Office;
use crate::ics::MOST_BYTES;

/// The name of the graph.
pub(crate) const GRAPH: &str = "scheduler";

/// The conversations.
const TALKS: Conversations = Conversations {
    graph: GRAPH,
    list: "GET /api/scheduler/threads?user_id=",
    owner: |options| Options::read(options).user_id,
};

/// The routes.
pub(crate) fn routes(office: Office) -> OpenApiRouter<Desk> {
    // One byte more than may be read, so that what is too long is said by whoever knows why.
    let files = OpenApiRouter::new().routes(routes!(files::bring)).layer(DefaultBodyLimit::max(MOST_BYTES + 1));
    OpenApiRouter::new()
        .routes(routes!(settings::settings))
        .routes(routes!(talk::tell, instances::list))
        .routes(routes!(talk::query))
        .routes(routes!(talk::threads))
        .routes(routes!(talk::thread))
        .routes(routes!(talk::answer))
        .routes(routes!(instances::one, edit::change, edit::remove))
        .routes(routes!(audit::undo))
        .routes(routes!(audit::audit))
        .routes(routes!(files::calendar))
        .routes(routes!(things::list, things::create))
        .routes(routes!(things::change, things::remove))
        .merge(files)
        .layer(Extension(office))
}
