//! Tests of a real model. `cargo xtask model` downloads the model; `SUPERSTEP_WEIGHTS` contains its path.

use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use superstep_core::error::ErrorCode;
use superstep_core::message::Message;
use superstep_core::model::{ChatRequest, ModelKind, StopReason};
use superstep_core::port::{ChunkListener, ChunkSender, Model};
use superstep_core::{model::MessageChunk, port::BoxFuture};
use superstep_weights::{VARIABLE, Weights};
use tokio::sync::Notify;

use crate::support::{generate, open};

/// Returns one model for all tests, because loading takes seconds.
fn model() -> &'static Weights {
    static MODEL: OnceLock<Weights> = OnceLock::new();
    MODEL.get_or_init(|| Weights::from_env().unwrap())
}

/// R-FWK-74, R-FWK-75: the model responds in full sentences, the same every time, in chunks, with token usage.
#[tokio::test]
async fn real_weights_answer_deterministically() {
    let question = "Argue the positive side of: Should AI be regulated? 2-3 sentences";
    let request = ChatRequest::new([Message::user(question)]).max_tokens(40);
    let (response, chunks) = generate(model(), &request).await.unwrap();
    let text = response.message.text();
    println!("{}: {text}", response.model);
    assert_eq!(chunks.concat(), text);
    assert!(response.usage().output_tokens > 20, "{text}");
    assert!(text.split(' ').count() > 15 && text.contains("AI"), "{text}");
    assert_eq!((response.model.provider.as_ref(), response.model.kind), ("local", ModelKind::Weights));
    let (repeated, _) = generate(model(), &request).await.unwrap();
    assert_eq!(repeated, response);
}

/// R-FWK-74: the model knows a fact, ends by itself, and stops at its limit.
#[tokio::test]
async fn real_weights_answer_and_stop() {
    let request = ChatRequest::new([Message::system("Be short."), Message::user("What is the capital of France?")]);
    let (response, _) = generate(model(), &request).await.unwrap();
    assert!(response.message.text().contains("Paris"), "{}", response.message.text());
    assert_eq!(response.stop, StopReason::End);
    let (short, _) = generate(model(), &request.clone().max_tokens(3)).await.unwrap();
    assert_eq!((short.stop, short.message.usage.map(|usage| usage.output_tokens)), (StopReason::Length, Some(3)));
    let (before, _) = generate(model(), &request.stop("Paris")).await.unwrap();
    assert_eq!(before.stop, StopReason::Sequence);
    assert!(!before.message.text().contains("Paris"));
}

/// A listener that notifies at the first chunk.
struct FirstChunkListener<'a>(&'a Notify);

impl ChunkListener for FirstChunkListener<'_> {
    fn on_chunk(&mut self, _chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        self.0.notify_one();
        None
    }
}

/// A dropped response is cancelled: the next request does not wait for thousands of tokens, which take minutes.
#[tokio::test]
async fn a_dropped_answer_frees_the_thread() {
    let long =
        ChatRequest::new([Message::user("Write a very long story about a ship.")]).max_tokens(4000).temperature(2.0);
    let received = Notify::new();
    let mut listener = FirstChunkListener(&received);
    let mut chunks = ChunkSender::new(&mut listener);
    tokio::select! {
        response = model().generate(&long, &mut chunks) => panic!("the long response was completed: {response:?}"),
        () = received.notified() => {}
    }
    let short = ChatRequest::new([Message::user("Hi!")]).max_tokens(2);
    let response = tokio::time::timeout(Duration::from_secs(60), generate(model(), &short)).await;
    assert_eq!(response.expect("the dropped request still occupies the thread").unwrap().0.usage().output_tokens, 2);
}

/// The real file, truncated or with another count in its header, is an error.
#[test]
fn a_corrupt_file_is_rejected() {
    let path = PathBuf::from(std::env::var_os(VARIABLE).unwrap());
    let mut bytes = Vec::new();
    std::fs::File::open(&path).unwrap().take(8 << 20).read_to_end(&mut bytes).unwrap();
    for length in [0, 3, 23, 100, 1_000, 900_000, 1_785_663, 1_785_664, 8 << 20] {
        assert_eq!(open(&bytes[..length]).unwrap_err().code(), ErrorCode::ConfigInvalid, "{length} bytes");
    }
    for at in [8, 16, 24] {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&(u64::MAX / 3).to_le_bytes());
        assert_eq!(open(&bytes).unwrap_err().code(), ErrorCode::ConfigInvalid, "the number at {at}");
    }
}
