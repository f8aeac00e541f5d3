//! Spans of model calls, named as in the conventions for generative AI.

use std::sync::Arc;

use superstep_core::error::{Error, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo};
use tracing::{Instrument, Span, field, info, info_span, warn};

use super::RunObserver;
use super::content::{request_content, response_content};
use super::observer::{failed, parent};
use crate::engine::context::TaskContext;
use crate::models::ModelCallBuilder;

/// Executes a model call with telemetry.
pub(crate) async fn traced_model_call(observer: Arc<RunObserver>, builder: ModelCallBuilder) -> Result<ChatResponse> {
    let (cx, info) = (builder.cx.clone(), builder.model.info());
    let span = span(&cx, &info, &builder.request);
    if observer.content {
        info!(target: "superstep", parent: &span, {
            gen_ai.input.messages = %request_content(&builder.redacted_request())
        }, "gen_ai.client.inference.operation.details");
    }
    let started_at = observer.clock.now();
    let result = builder.execute().instrument(span.clone()).await;
    match &result {
        Ok(response) => record_response(&cx, &observer, &span, response),
        Err(error) => model_failed(&cx, &observer, &span, (&info, error)),
    }
    if let Some(metrics) = &observer.metrics {
        metrics.model_called(&info, observer.since(started_at));
    }
    result
}

fn span(cx: &TaskContext, info: &ModelInfo, request: &ChatRequest) -> Span {
    info_span!(
        target: "superstep",
        parent: parent(cx),
        "chat",
        otel.name = format_args!("chat {}", info.name),
        otel.kind = "client",
        otel.status_code = field::Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider_name(&info.provider),
        gen_ai.request.model = &*info.name,
        gen_ai.request.max_tokens = request.max_tokens,
        gen_ai.request.temperature = request.temperature,
        gen_ai.response.model = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        gen_ai.conversation.id = cx.thread_id().map(|thread| thread.as_str()),
        "error.type" = field::Empty,
        superstep.node = cx.node(),
        superstep.usage.estimated = field::Empty,
        superstep.cost.cents = field::Empty,
    )
}

fn record_response(cx: &TaskContext, observer: &RunObserver, span: &Span, response: &ChatResponse) {
    span.record("gen_ai.response.model", &*response.model.name);
    if let Some(usage) = &response.message.usage {
        span.record("gen_ai.usage.input_tokens", usage.input_tokens);
        span.record("gen_ai.usage.output_tokens", usage.output_tokens);
        span.record("superstep.usage.estimated", usage.estimated);
        let cents = cx.0.shared.usage.cost(usage, &response.model);
        if let Some(cents) = cents {
            span.record("superstep.cost.cents", cents);
        }
        if let Some(metrics) = &observer.metrics {
            metrics.tokens(&response.model, usage, cents);
        }
    }
    if observer.content {
        info!(target: "superstep", parent: span, {
            gen_ai.output.messages = %RunObserver::redact_json(cx, response_content(response))
        }, "gen_ai.client.inference.operation.details");
    }
}

fn model_failed(cx: &TaskContext, observer: &RunObserver, span: &Span, (info, error): (&ModelInfo, &Error)) {
    let code = error.code().to_string();
    failed(span, &code);
    warn!(target: "superstep", parent: span, {
        "error.type" = code, gen_ai.request.model = &*info.name, superstep.node = cx.node(),
        error.message = observer.redacted_message(cx, error)
    }, "model call failed");
    if let Some(metrics) = &observer.metrics {
        metrics.model_failed(info, &code);
    }
}

/// Returns the name of a provider in the conventions, or its own name.
fn provider_name(provider: &str) -> &str {
    match provider {
        "azure" => "azure.ai.openai",
        "google" => "gcp.gemini",
        provider => provider,
    }
}
