//! Microsoft Graph search against a local test server.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use superstep::settings::Secret;
use superstep_suggestions::sources::{M365Settings, SourceSettings, Sources, UnavailableReason};
use superstep_suggestions::types::M365Source;
use tokio::sync::Barrier;

/// Fake server: responses to the two kinds of requests, and the received requests.
struct Fake {
    files: (u16, Value),
    mail: (u16, Value),
    asked: Mutex<Vec<(HeaderMap, Value)>>,
    both: Barrier,
}

async fn answer(State(fake): State<Arc<Fake>>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let is_mail = body["requests"][0]["entityTypes"] == json!(["message"]);
    fake.asked.lock().unwrap().push((headers, body));
    // Responds only when both requests have arrived, which proves that they are sent concurrently.
    fake.both.wait().await;
    let (status, answer) = if is_mail { &fake.mail } else { &fake.files };
    let status = StatusCode::from_u16(*status).unwrap();
    (status, [("retry-after", "17")], Json(answer.clone())).into_response()
}

async fn serve(files: (u16, Value), mail: (u16, Value)) -> (Arc<Fake>, Sources) {
    let fake = Arc::new(Fake { files, mail, asked: Mutex::default(), both: Barrier::new(2) });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1.0/search/query", post(answer)).with_state(fake.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let sources =
        Sources::open(&SourceSettings { m365: M365Settings::Graph { base_url }, ..SourceSettings::default() }).unwrap();
    (fake, sources)
}

fn hits(hits: &[Value]) -> Value {
    json!({ "value": [{ "searchTerms": ["x"], "hitsContainers": [{ "hits": hits, "total": hits.len() }] }] })
}

fn files() -> Value {
    hits(&[
        json!({ "hitId": "1", "rank": 1, "summary": "how to <c0>roll back</c0> in <ddd/>", "resource": {
            "@odata.type": "#microsoft.graph.driveItem", "name": "runbook.docx",
            "webUrl": "https://lf.sharepoint.com/sites/p/runbook.docx", "parentReference": { "driveType": "documentLibrary" } } }),
        json!({ "hitId": "2", "rank": 2, "summary": "mine", "resource": {
            "@odata.type": "#microsoft.graph.driveItem", "name": "notes.txt",
            "webUrl": "https://lf-my.sharepoint.com/personal/anke/notes.txt" } }),
        json!({ "hitId": "3", "rank": 3, "resource": {
            "@odata.type": "#microsoft.graph.listItem", "fields": { "title": "Risks" },
            "webUrl": "https://lf.sharepoint.com/lists/risks/3" } }),
        json!({ "hitId": "4", "rank": 4, "resource": {
            "@odata.type": "#microsoft.graph.driveItem", "name": "bad", "webUrl": "javascript:alert(1)" } }),
    ])
}

fn mail() -> Value {
    hits(&[json!({ "hitId": "5", "rank": 1, "summary": "we rolled back", "resource": {
        "@odata.type": "#microsoft.graph.message", "subject": "Rolled back", "webLink": "https://outlook.example/5" } })])
}

fn token() -> Secret {
    Secret::new("t0ken")
}

fn refusal(code: &str) -> Value {
    json!({ "error": { "code": code, "message": "no" } })
}

/// R-SUG-17: two concurrent requests for ten hits each with the user's token; hits have their source.
#[tokio::test]
async fn files_and_mail_are_asked_for_at_once() {
    let (fake, sources) = serve((200, files()), (200, mail())).await;
    let found = sources.search_m365("AKS rollback", Some(&token())).await.unwrap();
    let shown: Vec<_> = found.iter().map(|found| (found.title.as_str(), found.source.unwrap())).collect();
    assert_eq!(
        shown,
        [
            ("runbook.docx", M365Source::Sharepoint),
            ("notes.txt", M365Source::Onedrive),
            ("Risks", M365Source::Sharepoint),
            ("Rolled back", M365Source::Email),
        ]
    );
    assert_eq!(found[0].description, "how to roll back in …");
    let asked = fake.asked.lock().unwrap();
    let mut kinds: Vec<&Value> = asked.iter().map(|(_, body)| &body["requests"][0]["entityTypes"]).collect();
    kinds.sort_by_key(|kinds| kinds.to_string());
    assert_eq!(kinds, [&json!(["driveItem", "listItem"]), &json!(["message"])]);
    for (headers, body) in asked.iter() {
        assert_eq!(headers["authorization"], "Bearer t0ken");
        let request = &body["requests"][0];
        assert_eq!((&request["query"]["queryString"], &request["size"]), (&json!("aks rollback"), &json!(10)));
    }
}

/// R-SUG-17: a long question is searched by any of its words, none of which is an operator.
#[tokio::test]
async fn a_question_is_searched_by_its_words() {
    let (fake, sources) = serve((200, files()), (200, mail())).await;
    sources.search_m365("How do I roll back a failed deployment? author:\"x\" NOT y*", Some(&token())).await.unwrap();
    let asked = fake.asked.lock().unwrap();
    let query = &asked[0].1["requests"][0]["query"]["queryString"];
    assert_eq!(query, "roll OR back OR failed OR deployment OR author");
}

/// R-SUG-17: error responses are distinguished and give advice, and never contain the token.
#[tokio::test]
async fn refusals_are_told_apart() {
    for (status, code, kind, said) in [
        (401, "InvalidAuthenticationToken", UnavailableReason::Unauthorized, "sign in again"),
        (403, "Forbidden", UnavailableReason::Forbidden, "administrator"),
        (429, "TooManyRequests", UnavailableReason::TooMany, "try again in 17 seconds"),
        (503, "ServiceUnavailable", UnavailableReason::Failed, "out of order (503"),
        (400, "BadRequest", UnavailableReason::Failed, "refused the search (400"),
    ] {
        let (_fake, sources) = serve((status, refusal(code)), (status, refusal(code))).await;
        let refused = sources.search_m365("x", Some(&token())).await.unwrap_err();
        assert_eq!((refused.source, refused.kind), ("m365", kind), "{refused}");
        assert!(refused.reason.contains(said) && refused.reason.contains(code), "{refused}");
        assert!(!format!("{refused:?}").contains("t0ken"));
    }
}

/// R-SUG-17: if one request fails, the results of the other are returned with the failure.
#[tokio::test]
async fn one_failing_request_does_not_lose_the_other() {
    let (_fake, sources) = serve((200, files()), (403, refusal("Forbidden"))).await;
    let asked = sources.search_m365_parts("x", Some(&token())).await;
    assert_eq!((asked.found.len(), asked.failed.len()), (3, 1));
    assert!(asked.failed[0].reason.starts_with("mail:"), "{}", asked.failed[0]);
    assert_eq!(asked.into_result().unwrap().len(), 3);
    // No results in one part and a failure in the other is not "nothing found".
    let (_fake, sources) = serve((500, json!("x")), (200, hits(&[]))).await;
    assert_eq!(sources.search_m365("x", Some(&token())).await.unwrap_err().kind, UnavailableReason::Failed);
    let (_fake, sources) = serve((200, hits(&[])), (200, hits(&[]))).await;
    assert!(sources.search_m365("x", Some(&token())).await.unwrap().is_empty());
}

/// R-SUG-17: without a token no request is sent; a URL that would expose the token is rejected.
#[tokio::test]
async fn the_token_is_needed_and_guarded() {
    let (fake, sources) = serve((200, files()), (200, mail())).await;
    assert_eq!(sources.search_m365("x", None).await.unwrap_err().kind, UnavailableReason::Unauthorized);
    assert!(fake.asked.lock().unwrap().is_empty());
    for base_url in ["http://graph.example", "not an address", "ftp://127.0.0.1"] {
        let settings =
            SourceSettings { m365: M365Settings::Graph { base_url: base_url.to_owned() }, ..SourceSettings::default() };
        assert_eq!(Sources::open(&settings).unwrap_err().code(), superstep::ErrorCode::ConfigInvalid, "{base_url}");
    }
}
