//! Calls a language model to parse a request: once per text, with a timeout.
//!
//! The reply is recorded before use, so that a run that resumes after a crash does not call the model again. If the
//! model is unreachable, too slow or does not return JSON, the request is parsed by rules alone.

use std::future::IntoFuture;
use std::time::Duration;

use serde_json::Value;
use superstep::models::{ChatRequest, ModelErrorKind, SharedModel};
use superstep::{NodeError, Result, TaskContext};

use crate::state::FamilySchedulerState;
use crate::state::request_state::{self, CachedModelReply, ModelReply};

/// Timeout of a model call.
const MODEL_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the reply of the model to these texts; the cached reply if the same texts were sent before.
pub(crate) async fn call_model_once(
    (state, cx): (&FamilySchedulerState, &TaskContext),
    model: &SharedModel,
    texts: Vec<String>,
    request: ChatRequest,
) -> Result<CachedModelReply> {
    if let Some(cached) = request_state::model_reply(state).filter(|cached| cached.texts == texts) {
        return Ok(cached);
    }
    let recorded_reply = cx.once("heard", async { Ok::<_, NodeError>(call_model(model, request, cx).await) });
    let reply = recorded_reply.await.map_err(NodeError::into_error)?;
    Ok(CachedModelReply { texts, reply })
}

async fn call_model(model: &SharedModel, request: ChatRequest, cx: &TaskContext) -> ModelReply {
    let call = cx.model(model).request(request).tag("nostream").into_future();
    let response = tokio::select! {
        biased;
        response = call => response,
        () = cx.sleep(MODEL_TIMEOUT) => Err(ModelErrorKind::Timeout.error(&model.info(), format!("no answer within {MODEL_TIMEOUT:?}"))),
    };
    match response.and_then(|response| response.json()) {
        Ok(output @ Value::Object(_)) => ModelReply::Parsed(output),
        Ok(_) => ModelReply::Failed(format!("model `{}`: the answer is not an object", model.info())),
        Err(error) => ModelReply::Failed(error.message().to_owned()),
    }
}
