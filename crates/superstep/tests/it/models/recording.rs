//! Recording and replay of responses.

use std::path::PathBuf;

use serde_json::{Value, json};
use superstep::core::message::TokenUsage;
use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelExt, RecordingModel, ReplayModel,
    ScriptedModel, ScriptedReply, StopReason,
};
use superstep::{ErrorCode, Message};

use super::{RemoteScriptedModel, call_with_listener};

/// A folder that is deleted on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-models-{name}-{}", std::process::id()));
        // Process ids repeat, and a process that died may have left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn large(replies: impl IntoIterator<Item = ScriptedReply>) -> RemoteScriptedModel {
    RemoteScriptedModel("large", ScriptedModel::new(replies))
}

async fn call_model(model: &impl Model, request: impl Into<ChatRequest>) -> superstep::Result<ChatResponse> {
    model.generate(&request.into(), &mut ChunkSender::discard()).await
}

/// Records `first` and `second` and returns the path.
async fn recorded(folder: &Folder) -> PathBuf {
    let path = folder.path("answers.jsonl");
    let recorder = RecordingModel::open(large(["one".into(), "two".into()]), &path).unwrap();
    call_model(&recorder, "first").await.unwrap();
    call_model(&recorder, "second").await.unwrap();
    path
}

/// R-FWK-76, R-FWK-75: a recorded response is replayed completely, with the name of its model, for every equivalent
/// request.
#[tokio::test]
async fn a_recorded_response_is_replayed_completely() {
    let folder = Folder::new("whole");
    let path = folder.path("answers.jsonl");
    let reply = ScriptedReply::text("Let me look.").and_tool_call("look", json!({ "at": [1, { "b": null }] }));
    let recorder = RecordingModel::open(
        large([reply.with_usage(TokenUsage::new(70, 9)), ScriptedReply::text("cut").with_stop(StopReason::Length)]),
        &path,
    )
    .unwrap();
    let request =
        ChatRequest::new([Message::system("Be short."), Message::user("Where?").with_id("m1")]).temperature(0.3);
    let (recorded, first) = call_with_listener(recorder.clone(), request).await;
    let second = call_model(&recorder, "And?").await.unwrap();
    assert_eq!(recorder.info(), large([]).info());

    let replay = ReplayModel::open(&path).unwrap();
    assert_eq!((replay.info(), replay.note()), (recorder.info(), None));
    let mut same = ChatRequest::new([Message::system("Be short."), Message::user("Where?").with_id("other")]);
    (same.temperature, same.prompt) = (Some(0.3), Some("guide@2".into()));
    let (replayed, answer) = call_with_listener(replay.clone(), same).await;
    assert_eq!(answer.unwrap(), first.unwrap());
    assert_eq!((replayed.texts(), replayed.calls()), (recorded.texts(), recorded.calls()));
    assert_eq!(call_model(&replay, "And?").await.unwrap(), second);
}

/// R-FWK-76: responses to the same request are returned in order, the last one is repeated, and clones share the
/// position.
#[tokio::test]
async fn responses_to_the_same_request_are_in_order() {
    let folder = Folder::new("order");
    let path = folder.path("answers.jsonl");
    let recorder = RecordingModel::open(large(["one".into(), "two".into()]), &path).unwrap();
    for _ in 0..2 {
        call_model(&recorder, "roll").await.unwrap();
    }
    let replay = ReplayModel::open(&path).unwrap();
    let mut texts = Vec::new();
    for model in [replay.clone(), replay.clone(), replay] {
        texts.push(call_model(&model, "roll").await.unwrap().message.text().into_owned());
    }
    assert_eq!(texts, ["one", "two", "two"]);
}

/// R-FWK-76: an unknown request is rejected with the differences to the nearest recorded one.
#[tokio::test]
async fn an_unknown_request_is_rejected_with_the_differences() {
    let folder = Folder::new("unknown");
    let path = folder.path("answers.jsonl");
    let recorder = RecordingModel::open(large(["far".into(), "near".into()]), &path).unwrap();
    call_model(&recorder, "Something else altogether").await.unwrap();
    call_model(&recorder, ChatRequest::new([Message::system("Be short."), Message::user("Where?")]).max_tokens(9))
        .await
        .unwrap();
    let replay = ReplayModel::open(&path).unwrap();
    let request =
        ChatRequest::new([Message::system("Be short."), Message::user("When?")]).temperature(0.5).max_tokens(9);
    let error = call_model(&replay, request).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::ConfigInvalid, false));
    insta::assert_snapshot!(error.to_string().replace(&path.display().to_string(), "answers.jsonl"), @r#"
    error[SS-027]: model `test/large`: no match for this request among the 2 recorded in `answers.jsonl`; differences to the nearest one:
      - /messages/1: requested `{"content":"When?","role":"user"}`, recorded `{"content":"Where?","role":"user"}`
      - /temperature: requested `0.5`, recorded nothing
    help: record it with `RecordingModel`, or send a recorded request
    "#);
}

/// R-FWK-76: errors are not recorded.
#[tokio::test]
async fn a_failure_is_not_recorded() {
    let folder = Folder::new("failure");
    let path = folder.path("answers.jsonl");
    let recorder = RecordingModel::open(large([ModelErrorKind::Overloaded.into(), "fine".into()]), &path).unwrap();
    assert!(call_model(&recorder, "first").await.is_err());
    let empty = ReplayModel::open(&path).map(drop).unwrap_err();
    assert!(empty.message().contains("no recorded responses"), "{empty}");
    call_model(&recorder, "first").await.unwrap();
    assert_eq!(call_model(&ReplayModel::open(&path).unwrap(), "first").await.unwrap().message.text(), "fine");
}

/// R-FWK-76: a file that is truncated at any byte of its last line reads as without that line and reports it;
/// recording continues after it.
#[tokio::test]
async fn a_half_last_line_is_left_out() {
    let folder = Folder::new("half");
    let path = recorded(&folder).await;
    let bytes = std::fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in (first + 1..bytes.len() - 1).step_by(7) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let replay = ReplayModel::open(&path).unwrap();
        assert!(replay.note().unwrap().contains("the last line is incomplete"), "cut at {cut}");
        assert_eq!(call_model(&replay, "first").await.unwrap().message.text(), "one");
        assert!(
            call_model(&replay, "second").await.unwrap_err().help().unwrap().contains("the last line is incomplete")
        );

        let recorder = RecordingModel::open(large(["three".into()]), &path).unwrap();
        call_model(&recorder, "third").await.unwrap();
        let replay = ReplayModel::open(&path).unwrap();
        assert_eq!(replay.note(), None, "cut at {cut}");
        assert_eq!(call_model(&replay, "third").await.unwrap().message.text(), "three");
        assert_eq!(call_model(&replay, "first").await.unwrap().message.text(), "one");
    }
    // A line without its line break is complete.
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    RecordingModel::open(large([]), &path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// R-FWK-76: a line that is corrupt, changed or of another version is rejected with its number.
#[tokio::test]
async fn a_corrupt_line_is_rejected() {
    let folder = Folder::new("damaged");
    let path = recorded(&folder).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let rows = [
        (text.replacen("\"first\"", "\"worst\"", 1), "line 1: the key"),
        (text.replacen('{', "", 1), "line 1: not a recorded"),
        (text.replace("\"format\":1", "\"format\":2"), "line 1: format version 2"),
        (format!("{}\n{text}", &text[..20]), "line 1: not a recorded"),
    ];
    for (changed, fact) in rows {
        std::fs::write(&path, changed).unwrap();
        let error = ReplayModel::open(&path).map(drop).unwrap_err();
        assert!(error.code() == ErrorCode::ConfigInvalid && error.message().contains(fact), "{error}");
    }
    let none = ReplayModel::open(folder.path("none.jsonl")).map(drop).unwrap_err();
    assert!(none.message().contains("none.jsonl") && none.help().unwrap().contains("RecordingModel"), "{none}");
}

/// R-FWK-76: one file may contain responses of several models; then one of them must be named.
#[tokio::test]
async fn a_file_of_several_models_needs_a_name() {
    let folder = Folder::new("several");
    let path = recorded(&folder).await;
    let small = RecordingModel::open(RemoteScriptedModel("small", ScriptedModel::new(["little"])), &path).unwrap();
    call_model(&small, "first").await.unwrap();
    let error = ReplayModel::open(&path).map(drop).unwrap_err();
    assert!(error.help().unwrap().contains("`test/large`, `test/small`"), "{error}");
    for (name, text) in [("test/large", "one"), ("test/small", "little")] {
        let replay = ReplayModel::open_model(&path, name).unwrap();
        assert_eq!(call_model(&replay, "first").await.unwrap().message.text(), text);
    }
    assert!(ReplayModel::open_model(&path, "test/none").map(drop).unwrap_err().message().contains("`test/none`"));
}

/// R-FWK-76: the file contains requests and responses only.
#[tokio::test]
async fn a_file_contains_only_requests_and_responses() {
    let folder = Folder::new("only");
    let path = recorded(&folder).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut keys: Vec<&String> = line.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["answer", "asked", "format", "key", "request"]);
    let request = json!({ "messages": [{ "content": "first", "role": "user" }], "model": "test/large" });
    assert_eq!(line["request"], request);
}

/// R-FWK-76: several recorders write complete lines to one file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recorders_share_a_file() {
    let folder = Folder::new("sharing");
    let path = folder.path("answers.jsonl");
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let path = path.clone();
        tasks.spawn(async move {
            let long = ScriptedReply::text("word ".repeat(3_000));
            let recorder = RecordingModel::open(large(vec![long; 8]), &path).unwrap();
            for number in 0..8 {
                recorder.complete(format!("{task}/{number}").as_str()).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let replay = ReplayModel::open(&path).unwrap();
    for (task, number) in (0..4).flat_map(|task| (0..8).map(move |number| (task, number))) {
        assert!(replay.complete(format!("{task}/{number}").as_str()).await.is_ok());
    }
}
