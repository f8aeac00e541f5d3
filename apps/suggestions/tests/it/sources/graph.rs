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
    requests: Mutex<Vec<(HeaderMap, Value)>>,
    both: Barrier,
}

async fn answer(State(fake): State<Arc<Fake>>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let is_mail = body["requests"][0]["entityTypes"] == json!(["message"]);
    fake.requests.lock().unwrap().push((headers, body));
    // Responds only when both requests have arrived, which proves that they are sent concurrently.
    fake.both.wait().await;
    let (status, answer) = if is_mail { &fake.mail } else { &fake.files };
    let status = StatusCode::from_u16(*status).unwrap();
    (status, [("retry-after", "17")], Json(answer.clone())).into_response()
}

async fn serve(files: (u16, Value), mail: (u16, Value)) -> (Arc<Fake>, Sources) {
    let fake = Arc::new(Fake { files, mail, requests: Mutex::default(), both: Barrier::new(2) });
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

fn error_body(code: &str) -> Value {
    json!({ "error": { "code": code, "message": "no" } })
}

/// R-SUG-17: two concurrent requests for ten hits each with the user's token; hits have their source.
#[tokio::test]
async fn files_and_mail_are_requested_concurrently() {
    let (fake, sources) = serve((200, files()), (200, mail())).await;
    let results = sources.search_m365("AKS rollback", Some(&token())).await.unwrap();
    let pairs: Vec<_> =
        results.iter().map(|suggestion| (suggestion.title.as_str(), suggestion.source.unwrap())).collect();
    assert_eq!(
        pairs,
        [
            ("runbook.docx", M365Source::Sharepoint),
            ("notes.txt", M365Source::Onedrive),
            ("Risks", M365Source::Sharepoint),
            ("Rolled back", M365Source::Email),
        ]
    );
    assert_eq!(results[0].description, "how to roll back in …");
    let requests = fake.requests.lock().unwrap();
    let mut kinds: Vec<&Value> = requests.iter().map(|(_, body)| &body["requests"][0]["entityTypes"]).collect();
    kinds.sort_by_key(|kinds| kinds.to_string());
    assert_eq!(kinds, [&json!(["driveItem", "listItem"]), &json!(["message"])]);
    for (headers, body) in requests.iter() {
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
    let requests = fake.requests.lock().unwrap();
    let query = &requests[0].1["requests"][0]["query"]["queryString"];
    assert_eq!(query, "roll OR back OR failed OR deployment OR author");
}

/// R-SUG-17: error responses are distinguished and give advice, and never contain the token.
#[tokio::test]
async fn error_responses_are_distinguished() {
    for (status, code, kind, advice) in [
        (401, "InvalidAuthenticationToken", UnavailableReason::Unauthorized, "sign in again"),
        (403, "Forbidden", UnavailableReason::Forbidden, "administrator"),
        (429, "TooManyRequests", UnavailableReason::TooMany, "try again in 17 seconds"),
        (503, "ServiceUnavailable", UnavailableReason::Failed, "is unavailable (503"),
        (400, "BadRequest", UnavailableReason::Failed, "rejected the search (400"),
    ] {
        let (_fake, sources) = serve((status, error_body(code)), (status, error_body(code))).await;
        let error = sources.search_m365("x", Some(&token())).await.unwrap_err();
        assert_eq!((error.source, error.kind), ("m365", kind), "{error}");
        assert!(error.reason.contains(advice) && error.reason.contains(code), "{error}");
        assert!(!format!("{error:?}").contains("t0ken"));
    }
}

/// R-SUG-17: if one request fails, the results of the other are returned with the failure.
#[tokio::test]
async fn one_failing_request_does_not_lose_the_other() {
    let (_fake, sources) = serve((200, files()), (403, error_body("Forbidden"))).await;
    let result = sources.search_m365_parts("x", Some(&token())).await;
    assert_eq!((result.suggestions.len(), result.failed.len()), (3, 1));
    assert!(result.failed[0].reason.starts_with("mail:"), "{}", result.failed[0]);
    assert_eq!(result.into_result().unwrap().len(), 3);
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
    assert!(fake.requests.lock().unwrap().is_empty());
    for base_url in ["http://graph.example", "not an address", "ftp://127.0.0.1"] {
        let settings =
            SourceSettings { m365: M365Settings::Graph { base_url: base_url.to_owned() }, ..SourceSettings::default() };
        assert_eq!(Sources::open(&settings).unwrap_err().code(), superstep::ErrorCode::ConfigInvalid, "{base_url}");
    }
}
