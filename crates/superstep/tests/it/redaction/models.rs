//! A model that hears and says no secrets.

use std::sync::{Arc, Mutex};

use superstep::model::{ModelExt, Piece, Scripted, ToolCallPiece};
use superstep::redact::Redaction;

use super::*;

/// R-FWK-91: pieces of an answer, joined, are the redacted answer; text and calls alike.
#[tokio::test]
async fn pieces_and_answers_have_no_secrets() {
    let mut stream = Speaker(SECRETS).redacted(Redaction::default()).stream("hi");
    let mut joined = String::new();
    while let Some(piece) = stream.next().await {
        let Piece::Text(text) = piece.unwrap() else { panic!("not a text") };
        joined += &text;
    }
    let answer = stream.finish().await.unwrap();
    assert_eq!(joined, answer.message.text());
    assert!(!NEEDLES.iter().any(|needle| joined.contains(needle)), "{joined}");
    assert!(joined.contains("[REDACTED:private_key]"));
}

/// Asks for a tool with a mail address, in two pieces.
struct Caller(Arc<Mutex<String>>);

impl Model for Caller {
    fn info(&self) -> ModelInfo {
        Speaker("").info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> superstep::Result<Answer> {
        *self.0.lock().unwrap() = format!("{request:?}");
        let (id, name) = (Some("c0".to_owned()), Some("send".to_owned()));
        out.tool_call(ToolCallPiece { index: 0, id, name, args: r#"{"to":"ada.love"#.to_owned() }).await;
        out.tool_call(ToolCallPiece { index: 0, args: r#"lace@example.com"}"#.to_owned(), ..Default::default() }).await;
        let call = ToolCall::new("c0", "send", json!({ "to": "ada.lovelace@example.com" }));
        Ok(Answer::new(Message::assistant("").with_tool_calls([call]), self.info()))
    }
}

/// R-FWK-91: what is asked, and the arguments of calls, have none either.
#[tokio::test]
async fn requests_and_calls_have_no_secrets() {
    let heard = Arc::new(Mutex::new(String::new()));
    let mut stream = Caller(heard.clone()).redacted(Redaction::default()).share().stream(SECRETS);
    let mut args = String::new();
    while let Some(piece) = stream.next().await {
        let Piece::ToolCall(piece) = piece.unwrap() else { panic!("not a call") };
        args += &piece.args;
    }
    assert_eq!(args, r#"{"to":"[REDACTED:mail]"}"#);
    assert_eq!(stream.finish().await.unwrap().message.tool_calls[0].args, json!({ "to": "[REDACTED:mail]" }));
    let heard = heard.lock().unwrap().clone();
    assert!(heard.contains("[REDACTED:card]") && !NEEDLES.iter().any(|needle| heard.contains(needle)), "{heard}");
    let failing = Scripted::new(Vec::<&str>::new()).redacted(Redaction::default());
    assert!(failing.complete("hi").await.is_err());
}

/// Thinks, speaks and calls two tools, each without a blank at its end.
struct Thinker;

impl Model for Thinker {
    fn info(&self) -> ModelInfo {
        Speaker("").info()
    }

    async fn answer(&self, _request: &Request, out: &mut Pieces<'_>) -> superstep::Result<Answer> {
        let call = |index: usize| ToolCallPiece { index, args: format!("[{index}]"), ..ToolCallPiece::default() };
        out.tell(Piece::Reasoning("I ask ada@example.com".to_owned())).await;
        out.tell(Piece::Text("Done".to_owned())).await;
        out.tool_call(call(0)).await;
        out.tool_call(call(1)).await;
        Ok(Answer::new(Message::assistant("Done"), self.info()))
    }
}

/// R-FWK-91: what was held back of one thing is told before anything of the next.
#[tokio::test]
async fn pieces_stay_in_order() {
    let mut stream = Thinker.redacted(Redaction::default()).stream("hi");
    let mut said = Vec::new();
    while let Some(piece) = stream.next().await {
        said.push(match piece.unwrap() {
            Piece::Reasoning(text) => format!("thinks {text}"),
            Piece::Text(text) => format!("says {text}"),
            Piece::ToolCall(call) => format!("calls {}", call.args),
            _ => panic!("unknown"),
        });
    }
    assert_eq!(said, ["thinks I ask ", "thinks [REDACTED:mail]", "says Done", "calls [0]", "calls [1]"]);
}
