//! Asks a language model what was said: once for the same words, and never for long.
//!
//! What it says is recorded before it is used, so that a run that goes on after a crash does not ask again. A model that
//! cannot be reached, takes too long or says no JSON is no trouble: then the rules read alone.

use std::future::IntoFuture;
use std::time::Duration;

use serde_json::Value;
use superstep::model::{Request, SharedModel, Trouble};
use superstep::{Cx, NodeError, Result};

use crate::notes::{self, Answered, Hearing};
use crate::state::Scheduler;

/// How long a model is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a model says of these words; what it said of the same words before, where it did.
pub(super) async fn hear(
    (state, cx): (&Scheduler, &Cx),
    model: &SharedModel,
    words: Vec<String>,
    request: Request,
) -> Result<Hearing> {
    if let Some(before) = notes::heard(state).filter(|before| before.words == words) {
        return Ok(before);
    }
    let asked = cx.once("heard", async { Ok::<_, NodeError>(ask(model, request, cx).await) });
    let answered = asked.await.map_err(NodeError::into_error)?;
    Ok(Hearing { words, answered })
}

async fn ask(model: &SharedModel, request: Request, cx: &Cx) -> Answered {
    let asked = cx.model(model).request(request).tag("nostream").into_future();
    let answer = tokio::select! {
        biased;
        answer = asked => answer,
        () = cx.sleep(PATIENCE) => Err(Trouble::TooSlow.error(&model.info(), format!("no answer within {PATIENCE:?}"))),
    };
    match answer.and_then(|answer| answer.json()) {
        Ok(said @ Value::Object(_)) => Answered::Said(said),
        Ok(_) => Answered::Nothing(format!("model `{}`: the answer is no object", model.info())),
        Err(error) => Answered::Nothing(error.message().to_owned()),
    }
}
