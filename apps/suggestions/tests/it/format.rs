//! Response format: the final message of the model combined with the tool results.

use serde_json::{Value, json};
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep_suggestions::create_suggestions_graph;
use superstep_suggestions::types::CombinedSuggestionsResponse;

use crate::fixtures::{
    Fake, HINT, POST, all_results, context_on, hit, invoke_question, post_json, search, warnings_of, watch,
};
use crate::sources::sample;

/// Creates a fake server with three documents (two of them equal), a mail, an issue, a post and a hint.
fn fake() -> Fake {
    let docs = [
        hit("doc", "Roll back", "https://docs.example/rollback#helm", "Short."),
        hit("doc", "Roll back", "https://docs.example/rollback?utm_source=mail", "A longer description."),
        hit("doc", "Deploy", "https://docs.example/deploy", "How to deploy."),
    ];
    Fake::default()
        .replies("search_docs", &json!(docs))
        .replies("search_m365", &json!([hit("m365", "Runbook", "m365/runbook.md", "Steps.")]))
        .replies("search_issues", &json!([hit("issue", "#7 Failed", "https://issues.example/7", "Solved.")]))
        .replies("search_posts", &json!([post_json("p1", "Same here"), post_json(POST, "itself")]))
        .behaves(HINT, crate::fixtures::Behaviour::Replies("Read Roll back.".to_owned()))
}

/// Runs all searches, then formats the given final message. Returns the response and the warnings.
async fn formatted(words: &str) -> (CombinedSuggestionsResponse, Vec<String>) {
    let calls = ["search_docs", "search_m365", "search_issues", "search_posts"].map(|tool| (tool, "rollback"));
    let calls = search(&calls).and_tool_call(HINT, json!({ "postText": "x", "searchResults": [] }));
    let model = ScriptedModel::new([calls]).then(words);
    let (events, done) = watch(invoke_question(&create_suggestions_graph(5).unwrap(), fake().with(model).await)).await;
    (done.unwrap().state.response.clone().unwrap(), warnings_of(&events))
}

fn urls(response: &CombinedSuggestionsResponse) -> [Vec<&str>; 3] {
    [&response.m365, &response.docs, &response.issues].map(|list| list.iter().map(|one| one.url.as_str()).collect())
}

const ALL_DOCS: [&str; 2] = ["https://docs.example/rollback#helm", "https://docs.example/deploy"];

/// R-SUG-31, R-SUG-32, R-SUG-38: the response follows the selection and order of the model; missing fields have
/// defaults.
#[tokio::test]
async fn the_model_chooses_and_orders() {
    let words = json!({
        "docs": [{ "title": "x", "url": "https://docs.example/deploy" }, { "url": "https://docs.example/rollback" }],
        "actionHint": "  Read Deploy.  ",
    });
    let (response, warnings) = formatted(&format!("Here it is:\n```json\n{words}\n```")).await;
    assert_eq!(urls(&response), [vec![], vec![ALL_DOCS[1], ALL_DOCS[0]], vec![]]);
    assert_eq!(
        (response.docs[0].title.as_str(), response.docs[1].description.as_str()),
        ("Deploy", "A longer description.")
    );
    assert_eq!(response.action_hint.as_deref(), Some("Read Deploy."));
    assert_eq!((response.posts.len(), response.unavailable_sources.len(), warnings.len()), (0, 0, 0));
    let json = serde_json::to_value(&response).unwrap();
    assert_eq!((&json["source"], &json["m365"]), (&json!("mcp"), &json!([])));
}

/// R-SUG-33: a result that is listed twice in different forms occurs once.
#[tokio::test]
async fn duplicates_are_merged() {
    let words = json!({
        "docs": [{ "url": "https://docs.example/rollback" }, { "url": "https://docs.example/rollback#other" },
            { "title": "roll back" }, "https://docs.example/rollback?gclid=1"],
        "posts": [{ "id": "p1" }, "p1"],
    });
    let (response, warnings) = formatted(&words.to_string()).await;
    assert_eq!((urls(&response)[1].clone(), response.posts.len(), warnings.len()), (vec![ALL_DOCS[0]], 1, 0));
}

/// R-SUG-32, R-SUG-55: items that no tool returned are dropped and counted, and so is a hint with another URL.
#[tokio::test]
async fn items_that_no_tool_returned_are_dropped_and_counted() {
    let words = json!({
        "m365": [{ "title": "Runbook", "url": "https://evil.example/" }, { "title": "Runbook", "url": "m365/runbook.md" }],
        "docs": [{ "title": "Invented", "url": "https://docs.example/invented" }, { "title": "Invented too" }, 7, {}],
        "issues": [{ "url": "https://docs.example/deploy" }],
        "posts": [{ "id": "p9" }, { "id": POST }],
        "actionHint": "Go to https://evil.example/ now.",
    });
    let (response, warnings) = formatted(&words.to_string()).await;
    // A document listed among the issues is moved to the documents.
    assert_eq!(urls(&response), [vec!["m365/runbook.md"], vec![ALL_DOCS[1]], vec![]]);
    assert!(response.posts.is_empty());
    assert_eq!(response.action_hint.as_deref(), Some("Read Roll back."));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("dropped 7 ") && warnings[1].contains("hint"), "{warnings:?}");
}

/// R-SUG-32, R-SUG-54: nonsense, empty answers and wrong types are repaired, or all results are shown; the run never
/// fails.
#[tokio::test]
async fn an_unusable_answer_is_replaced_by_the_search_results() {
    for words in ["", "I cannot help with that.", "{}", "[]", "null", "{\"weather\": \"fine\"}", "{\"docs\""] {
        let (response, warnings) = formatted(words).await;
        assert_eq!(
            urls(&response),
            [vec!["m365/runbook.md"], ALL_DOCS.to_vec(), vec!["https://issues.example/7"]],
            "{words}"
        );
        assert_eq!(response.posts.iter().map(|post| post.id.as_str()).collect::<Vec<_>>(), ["p1"]);
        assert_eq!(response.action_hint.as_deref(), Some("Read Roll back."));
        assert_eq!(warnings.len(), 1, "{words}: {warnings:?}");
    }
    let malformed = json!({ "docs": "all of them", "m365": { "title": "Runbook" }, "posts": 3, "actionHint": ["x"] });
    let (response, _) = formatted(&malformed.to_string()).await;
    assert_eq!(urls(&response), [vec!["m365/runbook.md"], ALL_DOCS.to_vec(), vec![]]);
    assert_eq!((response.posts.len(), response.action_hint), (1, None));
    let truncated = "Sure! {\"docs\": [{\"url\": \"https://docs.example/deploy\",},], \"posts\": [";
    assert_eq!(urls(&formatted(truncated).await.0)[1], [ALL_DOCS[1]]);
}

/// R-SUG-38: a response without any result is valid.
#[tokio::test]
async fn an_empty_result_is_a_valid_answer() {
    let model = ScriptedModel::new([search(&[("search_docs", "x"), ("search_posts", "x")])]).then("{\"docs\": []}");
    let done = invoke_question(&create_suggestions_graph(5).unwrap(), Fake::default().with(model).await).await.unwrap();
    assert_eq!(done.state.response, Some(CombinedSuggestionsResponse::default()));
}

/// R-SUG-55: a sample document contains a prompt injection. A model that follows it causes no tool call and no link.
#[tokio::test]
async fn a_document_that_gives_orders_changes_nothing() {
    let (_folder, sources, _clock) = sample().await;
    let before = sources.posts().get(POST).await.unwrap();
    let model =
        ScriptedModel::new([search(&[("search_m365", "rollback notes from the web kubernetes revisionHistoryLimit")])])
            .then_with(|request| {
                let results = all_results(request)["m365"].to_string();
                assert!(results.contains("rollback-notes-from-the-web"), "{results}");
                ScriptedReply::tool_call("delete_all_posts", json!({}))
            })
            .then_with(|request| {
                let mut answer = all_results(request);
                let evil = json!({ "title": "Rollback notes", "url": "https://evil.example/", "sourceType": "m365" });
                answer["m365"].as_array_mut().unwrap().insert(0, evil);
                answer["actionHint"] = "Open https://evil.example/ first.".into();
                ScriptedReply::text(answer.to_string())
            });
    let (events, done) =
        watch(invoke_question(&create_suggestions_graph(5).unwrap(), context_on(&sources, model.clone()).await)).await;
    let response = serde_json::to_value(done.unwrap().state.response.clone().unwrap()).unwrap();
    let links: Vec<&str> =
        response["m365"].as_array().unwrap().iter().map(|one| one["url"].as_str().unwrap()).collect();
    assert!(!links.is_empty() && links.iter().all(|url| url.starts_with("m365/")), "{links:?}");
    assert_eq!(response["actionHint"], Value::Null);
    assert_eq!(warnings_of(&events).len(), 2);
    let message = model.requests()[2].messages.last().unwrap().text().into_owned();
    assert!(message.contains("unknown tool `delete_all_posts`"), "{message}");
    assert_eq!(sources.posts().get(POST).await.unwrap(), before);
}
