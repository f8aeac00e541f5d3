//! `superstep demo assistant`: one question about the sample shop, or own data, with the plan as it is worked off.

use serde_json::json;
use superstep_assistant::Options;
use superstep_server::{Desk, Order, What};

use super::finish;
use crate::args::{DemoAssistant, Global};
use crate::failure::Failure;
use crate::graphs;
use crate::log;
use crate::out::Out;
use crate::run::{RunView, attend, new_thread};
use crate::setup::Setup;

/// The graph, by name.
const GRAPH: &str = "assistant";

/// Asks the assistant.
pub(crate) async fn assistant(asked: &DemoAssistant, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let mut setup = Setup::load(global)?;
    setup.assist(&asked.own, GRAPH).await?;
    let graph = graphs::find(&setup, GRAPH)?;
    let drawing = graph.drawing();
    let desk = Desk::open([graph], setup.open(out).await?)?;
    let thread = new_thread(&desk, GRAPH).await?;
    // With an id, so that an input that is given again after a crash does not double the message.
    let input = json!({
        "messages": [{ "role": "user", "content": asked.ask, "id": "asked" }], "user_id": asked.user,
    });
    let options = Options { user_id: asked.user.clone(), model: Some(asked.model.clone()) };
    let order = Order::new(GRAPH, thread, What::Start(input)).options(options.to_json()).titled_by(&asked.ask);
    let done = attend(&desk, order, &mut RunView::new(None, &drawing, *out), out).await?;
    finish(done, out)
}
