//! Tests of errors of providers, connections and responses.

use std::time::Duration;

use serde_json::json;
use superstep_adapters::models::ProviderModel;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::model::{ChatRequest, MessageChunk, ModelErrorKind};

use super::openai::{chunk, stream};
use super::server::{ScriptedResponse, Server, data};
use super::{KEY, generate, listen};

fn model(server: &Server) -> ProviderModel {
    ProviderModel::openai("gpt-4.1-mini").api_key(KEY).base_url(format!("{}/v1", server.address))
}

/// Returns the errors of a non-streamed and a streamed call after checking that none contains the key.
async fn call_errors(script: ScriptedResponse) -> [Error; 2] {
    let server = Server::start([script]).await;
    let model = model(&server);
    let errors = [
        generate(&model, &ChatRequest::from("Hi")).await.unwrap_err(),
        listen(&model, &ChatRequest::from("Hi")).await.0.unwrap_err(),
    ];
    for error in &errors {
        let text = format!("{error} {error:?}");
        assert!(!text.contains(KEY), "{text}");
        assert!(error.to_string().contains("help: "), "{error}");
    }
    errors
}

/// R-FWK-71: an error status is classified by itself and by the body, for both kinds of calls.
#[tokio::test]
async fn error_statuses_of_the_provider_are_classified() {
    let error_body =
        |message: &str, code: &str| json!({"error": {"message": message, "type": "x", "param": null, "code": code}});
    let wrong_key = error_body(&format!("Incorrect API key provided: {KEY}"), "invalid_api_key");
    let rows = [
        (401, wrong_key, ModelErrorKind::InvalidApiKey, ErrorCode::ModelAuth),
        (403, error_body("Country not supported", "x"), ModelErrorKind::InvalidApiKey, ErrorCode::ModelAuth),
        (
            404,
            error_body("The model `x` does not exist", "model_not_found"),
            ModelErrorKind::ModelNotFound,
            ErrorCode::ConfigInvalid,
        ),
        (
            400,
            error_body("This model's maximum context length is 8192", "context_length_exceeded"),
            ModelErrorKind::ContextLengthExceeded,
            ErrorCode::TooLarge,
        ),
        (
            400,
            error_body("The response was filtered", "content_filter"),
            ModelErrorKind::ContentFiltered,
            ErrorCode::PolicyRefused,
        ),
        (400, error_body("Unrecognized request argument", "x"), ModelErrorKind::BadRequest, ErrorCode::ConfigInvalid),
        (500, error_body("The server had an error", "x"), ModelErrorKind::Overloaded, ErrorCode::ModelUnavailable),
        (503, error_body("Overloaded", "x"), ModelErrorKind::Overloaded, ErrorCode::ModelUnavailable),
    ];
    for (status, body, kind, code) in rows {
        for error in call_errors(ScriptedResponse::error(status, "", &body)).await {
            assert_eq!((ModelErrorKind::from_error(&error), error.code()), (Some(kind), code), "{error}");
            assert!(error.message().contains(&status.to_string()), "{error}");
        }
    }
}

/// R-FWK-71: a rate limit contains the retry delay if the provider sends one; an exhausted account is not retryable.
#[tokio::test]
async fn a_rate_limit_contains_the_retry_delay() {
    let body = json!({"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}});
    let empty = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
    let date = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:07 GMT\r\n";
    let rows = [
        ("retry-after: 7\r\n", &body, Some(7_000)),
        ("retry-after-ms: 120\r\nretry-after: 1\r\n", &body, Some(120)),
        (date, &body, Some(30_000)),
        ("", &body, None),
        ("retry-after: 7\r\n", &empty, None),
    ];
    for (head, body, wait) in rows {
        for error in call_errors(ScriptedResponse::error(429, head, body)).await {
            assert_eq!(
                (ModelErrorKind::from_error(&error), error.code()),
                (Some(ModelErrorKind::RateLimited), ErrorCode::ModelRateLimited)
            );
            assert_eq!(error.retry_after(), wait.map(Duration::from_millis), "{head}");
            assert_eq!(error.is_retryable(), *body != empty, "{head}");
        }
    }
}

/// R-FWK-71: invalid JSON, an HTML page and an empty body are invalid responses.
#[tokio::test]
async fn an_unusable_body_is_an_invalid_response() {
    let json = "content-type: application/json\r\n";
    let rows = [
        ScriptedResponse::new(200, json, "{\"choices\": [oops"),
        ScriptedResponse::new(200, "content-type: text/html\r\n", "<html><body>Please log in</body></html>"),
        ScriptedResponse::new(200, json, ""),
        ScriptedResponse::new(200, "", ""),
        ScriptedResponse::new(200, json, "[]"),
        ScriptedResponse::new(200, json, "{\"choices\": []}"),
    ];
    for script in rows {
        let description = format!("{script:?}");
        for error in call_errors(script).await {
            assert_eq!(
                (ModelErrorKind::from_error(&error), error.code()),
                (Some(ModelErrorKind::InvalidResponse), ErrorCode::ModelBadAnswer),
                "{description}"
            );
        }
    }
    let gateway = ScriptedResponse::new(502, "content-type: text/html\r\n", "<html><h1>502 Bad Gateway</h1></html>");
    for error in call_errors(gateway).await {
        assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::Overloaded));
        assert!(error.message().contains("an HTML page") && !error.message().contains("<h1>"), "{error}");
    }
}

/// R-FWK-71: in the middle of a response, an invalid event or invalid UTF-8 is an invalid response, and an error
/// of the provider is classified by its text.
#[tokio::test]
async fn invalid_events_are_classified() {
    let half = data(&[chunk(&json!({"content": "Half"}), None)]);
    let error = json!({"error": {"message": "The server had an error", "type": "server_error", "code": null}});
    let mut no_text = half.clone().into_bytes();
    no_text.extend(b"data: \xff\xfe\n\n");
    let long = format!("{half}data: {{\"pad\": \"{}\"}}\n\ndata: [DONE]\n\n", "x".repeat(9 << 20));
    let rows = [
        ("not JSON", format!("{half}data: {{oops}}\n\n").into_bytes(), ModelErrorKind::InvalidResponse),
        ("no text", no_text, ModelErrorKind::InvalidResponse),
        ("too long", long.into_bytes(), ModelErrorKind::InvalidResponse),
        ("error", (half.clone() + &data(&[error])).into_bytes(), ModelErrorKind::Overloaded),
        ("no end", half.clone().into_bytes(), ModelErrorKind::StreamInterrupted),
        (
            "half an event",
            (half.clone() + "data: {\"choices\": [{\"del").into_bytes(),
            ModelErrorKind::StreamInterrupted,
        ),
    ];
    for (case, body, kind) in rows {
        let script = ScriptedResponse::events(body);
        let script = if case == "no text" { script.cut_every(half.len()) } else { script };
        let server = Server::start([script]).await;
        let (response, chunks) = listen(&model(&server), &ChatRequest::from("Hi")).await;
        assert_eq!(ModelErrorKind::from_error(&response.unwrap_err()), Some(kind), "{case}");
        assert_eq!(chunks, [MessageChunk::Text("Half".to_owned())], "{case}");
    }
}

/// R-FWK-71: a connection that breaks during a response is a retryable error.
#[tokio::test]
async fn a_broken_connection_is_a_retryable_error() {
    let half = data(&[chunk(&json!({"content": "Half"}), None)]);
    let server = Server::start([ScriptedResponse::events(half).broken()]).await;
    let (response, chunks) = listen(&model(&server), &ChatRequest::from("Hi")).await;
    let error = response.unwrap_err();
    assert_eq!(
        (ModelErrorKind::from_error(&error), error.is_retryable()),
        (Some(ModelErrorKind::StreamInterrupted), true),
        "{error}"
    );
    assert_eq!(chunks, [MessageChunk::Text("Half".to_owned())]);
    let server =
        Server::start([ScriptedResponse::new(200, "content-type: application/json\r\n", "{\"choi").broken()]).await;
    let error = generate(&model(&server), &ChatRequest::from("Hi")).await.unwrap_err();
    assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::StreamInterrupted), "{error}");
}

/// R-FWK-71: a call without data ends: a streamed one after the idle timeout, a non-streamed one after the total
/// timeout.
#[tokio::test]
async fn a_call_without_data_times_out() {
    let half = data(&[chunk(&json!({"content": "Half"}), None)]);
    for body in ["", half.as_str()] {
        let server = Server::start([ScriptedResponse::events(body).hanging()]).await;
        let with_idle_timeout =
            model(&server).idle_timeout(Duration::from_millis(150)).timeout(Duration::from_secs(86_400));
        let error = listen(&with_idle_timeout, &ChatRequest::from("Hi")).await.0.unwrap_err();
        assert_eq!(
            (ModelErrorKind::from_error(&error), error.code()),
            (Some(ModelErrorKind::Timeout), ErrorCode::Timeout),
            "{error}"
        );
        let model_with_timeout = model(&server).timeout(Duration::from_millis(150));
        for error in [
            generate(&model_with_timeout, &ChatRequest::from("Hi")).await.unwrap_err(),
            listen(&model_with_timeout, &ChatRequest::from("Hi")).await.0.unwrap_err(),
        ] {
            assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::Timeout), "{error}");
            assert!(error.message().contains("150ms"), "{error}");
        }
    }
}

/// R-FWK-71: comments between events keep a response alive, however rare events are.
#[tokio::test]
async fn comments_keep_a_response_alive() {
    let body = format!(": waiting\n\n: waiting\n\n{}", stream(&[chunk(&json!({"content": "Late."}), Some("stop"))]));
    let server = Server::start([ScriptedResponse::events(body).cut_every(9)]).await;
    let (response, _) = super::generate_streamed(&model(&server), &ChatRequest::from("Hi")).await;
    assert_eq!(response.message.text(), "Late.");
}

/// R-FWK-71: an unreachable provider is a network error; a redirect is not followed, because it would receive the
/// key.
#[tokio::test]
async fn unreachable_providers_are_network_errors() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let unreachable = ProviderModel::openai("m").api_key(KEY).base_url(format!("http://{closed}/v1"));
    for error in [
        generate(&unreachable, &ChatRequest::from("Hi")).await.unwrap_err(),
        listen(&unreachable, &ChatRequest::from("Hi")).await.0.unwrap_err(),
    ] {
        assert_eq!(
            (ModelErrorKind::from_error(&error), error.code()),
            (Some(ModelErrorKind::Connection), ErrorCode::ModelUnavailable),
            "{error}"
        );
    }
    let redirect_target = Server::start([ScriptedResponse::json(&json!({}))]).await;
    let head = format!("location: {}/v1/chat/completions\r\n", redirect_target.address);
    for error in call_errors(ScriptedResponse::new(307, &head, "")).await {
        assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::BadRequest), "{error}");
    }
    assert_eq!(redirect_target.count(), 0);
}
