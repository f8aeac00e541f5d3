//! Tests of responses of a tiny model: deterministic, streamed in chunks, counted, bounded.

use superstep_core::error::ErrorCode;
use superstep_core::message::{ContentPart, Message};
use superstep_core::model::{
    ChatRequest, ModelErrorKind, ModelInfo, ModelKind, ResponseFormat, StopReason, ToolChoice,
};
use superstep_core::port::Model;
use superstep_core::tool::ToolSpec;
use superstep_weights::Weights;

use crate::support::{CONTEXT, Temporary, WIDTH, generate, open, tiny, tiny_with};

fn request(text: &str) -> ChatRequest {
    ChatRequest::new([Message::user(text)]).max_tokens(24)
}

/// R-FWK-74, R-FWK-75: a response is streamed in chunks that form its message, and names its model, token usage and
/// stop reason.
#[tokio::test]
async fn a_response_is_streamed_in_chunks_and_counted() {
    let model = open(&tiny()).unwrap();
    let (response, chunks) = generate(&model, &request("hello")).await.unwrap();
    assert_eq!(chunks.concat(), response.message.text());
    assert!(chunks.len() > 1, "{chunks:?}");
    assert_eq!(response.model, ModelInfo::new("local", "tiny", ModelKind::Weights));
    assert_eq!(response.model, model.info());
    // A control token, one token for each byte of `user\nhello`, a control token, a line break; a control token and
    // `assistant\n`.
    let usage = response.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.estimated), (1 + 10 + 1 + 1 + 1 + 10, 24, false));
    assert_eq!(response.stop, StopReason::Length);
}

/// A lazily loaded file gives the same responses; errors behind its header are returned by requests.
#[tokio::test]
async fn a_file_can_be_loaded_at_the_first_request() {
    let file = Temporary::new(&tiny());
    let (lazy, opened) = (Weights::lazy(file.path()).unwrap(), open(&tiny()).unwrap());
    assert_eq!(lazy.info(), opened.info());
    assert_eq!(generate(&lazy, &request("hello")).await.unwrap(), generate(&opened, &request("hello")).await.unwrap());

    let changed = Temporary::new(&tiny());
    let late = Weights::lazy(changed.path()).unwrap();
    std::fs::write(changed.path(), &tiny()[..1_000]).unwrap();
    for _ in 0..2 {
        let error = generate(&late, &request("hello")).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert!(error.message().contains("is not a usable weights file"), "{error}");
    }
    assert_eq!(Weights::lazy(changed.path()).unwrap_err().code(), ErrorCode::ConfigInvalid);
    assert_eq!(Weights::lazy("no/such/file.gguf").unwrap_err().code(), ErrorCode::ConfigInvalid);
}

/// R-FWK-74: without a temperature a response is always the same, also with concurrent requests.
#[tokio::test]
async fn an_answer_without_chance_is_always_the_same() {
    let model = open(&tiny()).unwrap();
    let (one, other) = (request("one"), request("other"));
    let (first, _) = generate(&model, &one).await.unwrap();
    let (second, between, third) =
        tokio::join!(generate(&model, &one), generate(&model, &other), generate(&model, &one));
    assert_eq!(second.unwrap().0, first);
    assert_eq!(third.unwrap().0, first);
    assert_ne!(between.unwrap().0.message, first.message);
    let reopened = open(&tiny()).unwrap();
    assert_eq!(generate(&reopened, &one).await.unwrap().0, first);
}

/// R-FWK-74: a separate output projection in the file is used.
#[tokio::test]
async fn a_separate_output_projection_is_used() {
    let other = open(&tiny_with(&[], &[("output.weight", &[259, WIDTH])])).unwrap();
    let (response, _) = generate(&other, &request("one")).await.unwrap();
    let (tied, _) = generate(&open(&tiny()).unwrap(), &request("one")).await.unwrap();
    assert_ne!(response.message, tied.message);
}

/// R-FWK-74: the seed determines the sampling; without a seed, responses differ.
#[tokio::test]
async fn the_seed_determines_sampling() {
    let model = open(&tiny()).unwrap();
    let seeded = |seed| {
        let mut request = request("hello").temperature(1.0);
        request.seed = seed;
        request
    };
    let text = async |seed| generate(&model, &seeded(seed)).await.unwrap().0.message.text().into_owned();
    assert_eq!(text(Some(1)).await, text(Some(1)).await);
    assert_ne!(text(Some(1)).await, text(Some(2)).await);
    assert_ne!(text(None).await, text(None).await);
}

/// R-FWK-74: a response ends before a stop sequence, and no part of that sequence is delivered.
#[tokio::test]
async fn an_answer_ends_before_a_text_to_stop_at() {
    let model = open(&tiny()).unwrap();
    let full = generate(&model, &request("hello")).await.unwrap().0.message.text().into_owned();
    let letters: Vec<(usize, char)> = full.char_indices().collect();
    let (from, to) = (letters[letters.len() / 2].0, letters[letters.len() / 2 + 3].0);
    let stop = &full[from..to];
    let (response, chunks) = generate(&model, &request("hello").stop(stop).stop("never said")).await.unwrap();
    assert_eq!(response.stop, StopReason::Sequence);
    assert_eq!(response.message.text(), full[..full.find(stop).unwrap()]);
    assert_eq!(chunks.concat(), response.message.text());
}

/// R-FWK-71, R-FWK-74: a prompt beyond the context is rejected; a response that fills the context stops there.
#[tokio::test]
async fn the_context_length_is_enforced() {
    let model = open(&tiny()).unwrap();
    let error = generate(&model, &request(&"x".repeat(CONTEXT as usize))).await.unwrap_err();
    assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::ContextLengthExceeded));
    assert!(error.message().contains("256"), "{error}");
    let (response, _) = generate(&model, &request(&"x".repeat(200)).max_tokens(1000)).await.unwrap();
    let usage = response.usage();
    assert_eq!(response.stop, StopReason::Length);
    assert_eq!(usage.total_tokens, u64::from(CONTEXT) + 1, "the last token is generated and not processed");
}

/// A message that spells a control token cannot end itself and start another message.
#[tokio::test]
async fn a_message_cannot_contain_control_tokens() {
    let model = open(&tiny()).unwrap();
    let input_tokens = async |text: &str| generate(&model, &request(text)).await.unwrap().0.usage().input_tokens;
    let control_token = "<|im_end|>";
    assert_eq!(input_tokens(control_token).await - input_tokens("").await, control_token.len() as u64);
}

/// R-FWK-74: unsupported requests are rejected, not partly ignored.
#[tokio::test]
async fn unsupported_requests_are_rejected() {
    let model = open(&tiny()).unwrap();
    let schema = serde_json::json!({"type": "object"});
    let unsupported = [
        (request("hi").tools([ToolSpec::new("look", "looks")]), "tools"),
        (request("hi").tool_choice(ToolChoice::Required), "tools"),
        (request("hi").format(ResponseFormat::new("it", schema)), "format"),
        (request("hi").max_tokens(0), "max_tokens"),
        (ChatRequest::new([Message::user(vec![ContentPart::Other(serde_json::json!({"type": "image"}))])]), "text"),
    ];
    for (request, expected) in unsupported {
        let error = generate(&model, &request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
        assert!(error.message().contains(expected) && error.help().is_some(), "{error}");
    }
}

/// R-FWK-74: the error for a missing file has its path, and how to get a file.
#[test]
fn a_missing_file_is_reported_with_how_to_get_one() {
    let error = Weights::open("nowhere/model.gguf").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    assert!(error.message().contains("nowhere/model.gguf"), "{error}");
    assert!(error.help().is_some_and(|advice| advice.contains("cargo xtask model")), "{error}");
}
