//! What goes wrong on the way to a model and back.

use std::time::{Duration, Instant};

use serde_json::json;
use superstep_adapters::models::Provider;
use superstep_core::error::{Code, Error};
use superstep_core::model::{Piece, Request, Trouble};

use super::openai::{chunk, stream};
use super::server::{Script, Server, data};
use super::{KEY, ask, listen};

fn model(server: &Server) -> Provider {
    Provider::openai("gpt-4.1-mini").key(KEY).base_url(format!("{}/v1", server.address))
}

/// What becomes of an answer, at once and in pieces; no error holds the key.
async fn troubles(script: Script) -> [Error; 2] {
    let server = Server::start([script]).await;
    let model = model(&server);
    let errors = [
        ask(&model, &Request::from("Hi")).await.unwrap_err(),
        listen(&model, &Request::from("Hi")).await.0.unwrap_err(),
    ];
    for error in &errors {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(KEY), "{shown}");
        assert!(error.to_string().contains("help: "), "{error}");
    }
    errors
}

/// R-FWK-71: a status that says no is told apart by itself and by what stands in its body, in both ways of asking.
#[tokio::test]
async fn refusals_of_the_provider_are_told_apart() {
    let said =
        |message: &str, code: &str| json!({"error": {"message": message, "type": "x", "param": null, "code": code}});
    let wrong_key = said(&format!("Incorrect API key provided: {KEY}"), "invalid_api_key");
    let rows = [
        (401, wrong_key, Trouble::KeyRefused, Code::ModelAuth),
        (403, said("Country not supported", "x"), Trouble::KeyRefused, Code::ModelAuth),
        (404, said("The model `x` does not exist", "model_not_found"), Trouble::NoSuchModel, Code::ConfigInvalid),
        (
            400,
            said("This model's maximum context length is 8192", "context_length_exceeded"),
            Trouble::ContextTooLong,
            Code::TooLarge,
        ),
        (400, said("The response was filtered", "content_filter"), Trouble::ContentRefused, Code::PolicyRefused),
        (400, said("Unrecognized request argument", "x"), Trouble::BadRequest, Code::ConfigInvalid),
        (500, said("The server had an error", "x"), Trouble::Overloaded, Code::ModelUnavailable),
        (503, said("Overloaded", "x"), Trouble::Overloaded, Code::ModelUnavailable),
    ];
    for (status, body, trouble, code) in rows {
        for error in troubles(Script::error(status, "", &body)).await {
            assert_eq!((Trouble::of(&error), error.code()), (Some(trouble), code), "{error}");
            assert!(error.message().contains(&status.to_string()), "{error}");
        }
    }
}

/// R-FWK-71: a rate limit says how long to wait, where the provider does; an empty account is not worth another try.
#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
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
        for error in troubles(Script::error(429, head, body)).await {
            assert_eq!((Trouble::of(&error), error.code()), (Some(Trouble::RateLimited), Code::ModelRateLimited));
            assert_eq!(error.wait(), wait.map(Duration::from_millis), "{head}");
            assert_eq!(error.is_retryable(), *body != empty, "{head}");
        }
    }
}

/// R-FWK-71, U21: what is not an answer is a bad answer: wrong JSON, a page of HTML, nothing.
#[tokio::test]
async fn what_is_not_an_answer_is_a_bad_one() {
    let json = "content-type: application/json\r\n";
    let rows = [
        Script::new(200, json, "{\"choices\": [oops"),
        Script::new(200, "content-type: text/html\r\n", "<html><body>Please log in</body></html>"),
        Script::new(200, json, ""),
        Script::new(200, "", ""),
        Script::new(200, json, "[]"),
        Script::new(200, json, "{\"choices\": []}"),
    ];
    for script in rows {
        let shown = format!("{script:?}");
        for error in troubles(script).await {
            assert_eq!(
                (Trouble::of(&error), error.code()),
                (Some(Trouble::BadAnswer), Code::ModelBadAnswer),
                "{shown}"
            );
        }
    }
    let gateway = Script::new(502, "content-type: text/html\r\n", "<html><h1>502 Bad Gateway</h1></html>");
    for error in troubles(gateway).await {
        assert_eq!(Trouble::of(&error), Some(Trouble::Overloaded));
        assert!(error.message().contains("a page of HTML") && !error.message().contains("<h1>"), "{error}");
    }
}

/// R-FWK-71, U21: in the middle of an answer, a broken event is a bad answer, bytes that are no text too, and what the
/// provider says went wrong is what it is.
#[tokio::test]
async fn broken_events_are_told_apart() {
    let half = data(&[chunk(&json!({"content": "Half"}), None)]);
    let error = json!({"error": {"message": "The server had an error", "type": "server_error", "code": null}});
    let mut no_text = half.clone().into_bytes();
    no_text.extend(b"data: \xff\xfe\n\n");
    let long = format!("{half}data: {{\"pad\": \"{}\"}}\n\ndata: [DONE]\n\n", "x".repeat(9 << 20));
    let rows = [
        ("not JSON", format!("{half}data: {{oops}}\n\n").into_bytes(), Trouble::BadAnswer),
        ("no text", no_text, Trouble::BadAnswer),
        ("too long", long.into_bytes(), Trouble::BadAnswer),
        ("error", (half.clone() + &data(&[error])).into_bytes(), Trouble::Overloaded),
        ("no end", half.clone().into_bytes(), Trouble::BrokenOff),
        ("half an event", (half.clone() + "data: {\"choices\": [{\"del").into_bytes(), Trouble::BrokenOff),
    ];
    for (what, body, trouble) in rows {
        let script = Script::events(body);
        let script = if what == "no text" { script.cut_every(half.len()) } else { script };
        let server = Server::start([script]).await;
        let (answer, pieces) = listen(&model(&server), &Request::from("Hi")).await;
        assert_eq!(Trouble::of(&answer.unwrap_err()), Some(trouble), "{what}");
        assert_eq!(pieces, [Piece::Text("Half".to_owned())], "{what}");
    }
}

/// R-FWK-71: a connection that is cut in the middle breaks the answer off, which is worth another try.
#[tokio::test]
async fn a_cut_connection_breaks_the_answer_off() {
    let half = data(&[chunk(&json!({"content": "Half"}), None)]);
    let server = Server::start([Script::events(half).broken()]).await;
    let (answer, pieces) = listen(&model(&server), &Request::from("Hi")).await;
    let error = answer.unwrap_err();
    assert_eq!((Trouble::of(&error), error.is_retryable()), (Some(Trouble::BrokenOff), true), "{error}");
    assert_eq!(pieces, [Piece::Text("Half".to_owned())]);
    let server = Server::start([Script::new(200, "content-type: application/json\r\n", "{\"choi").broken()]).await;
    let error = ask(&model(&server), &Request::from("Hi")).await.unwrap_err();
    assert_eq!(Trouble::of(&error), Some(Trouble::BrokenOff), "{error}");
}

/// R-FWK-71, U21: when nothing comes any more, the call ends: in pieces after the idle time, at once after the whole time.
#[tokio::test]
async fn silence_ends_the_call() {
    let half = data(&[chunk(&json!({"content": "Half"}), None)]);
    for body in ["", half.as_str()] {
        let server = Server::start([Script::events(body).hanging()]).await;
        let patient = model(&server).idle_timeout(Duration::from_millis(150)).total_timeout(Duration::from_secs(600));
        let before = Instant::now();
        let error = listen(&patient, &Request::from("Hi")).await.0.unwrap_err();
        assert_eq!((Trouble::of(&error), error.code()), (Some(Trouble::TooSlow), Code::Timeout), "{error}");
        assert!(before.elapsed() < Duration::from_secs(60), "the idle time counts, not the whole");
        let hurried = model(&server).total_timeout(Duration::from_millis(150));
        for error in [
            ask(&hurried, &Request::from("Hi")).await.unwrap_err(),
            listen(&hurried, &Request::from("Hi")).await.0.unwrap_err(),
        ] {
            assert_eq!(Trouble::of(&error), Some(Trouble::TooSlow), "{error}");
            assert!(error.message().contains("150ms"), "{error}");
        }
    }
}

/// R-FWK-71: signs of life between pieces keep an answer alive, however seldom a piece comes.
#[tokio::test]
async fn a_whole_answer_follows_a_comment() {
    let body = format!(": waiting\n\n: waiting\n\n{}", stream(&[chunk(&json!({"content": "Late."}), Some("stop"))]));
    let server = Server::start([Script::events(body).cut_every(9)]).await;
    let (answer, _) = super::heard(&model(&server), &Request::from("Hi")).await;
    assert_eq!(answer.message.text(), "Late.");
}

/// R-FWK-71: without a way to the provider there is no network; a redirect is not followed, for the key would go along.
#[tokio::test]
async fn without_a_way_there_is_no_network() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = Provider::openai("m").key(KEY).base_url(format!("http://{closed}/v1"));
    for error in [
        ask(&nobody, &Request::from("Hi")).await.unwrap_err(),
        listen(&nobody, &Request::from("Hi")).await.0.unwrap_err(),
    ] {
        assert_eq!((Trouble::of(&error), error.code()), (Some(Trouble::NoNetwork), Code::ModelUnavailable), "{error}");
    }
    let thief = Server::start([Script::json(&json!({}))]).await;
    let head = format!("location: {}/v1/chat/completions\r\n", thief.address);
    for error in troubles(Script::new(307, &head, "")).await {
        assert_eq!(Trouble::of(&error), Some(Trouble::BadRequest), "{error}");
    }
    assert_eq!(thief.count(), 0);
}
