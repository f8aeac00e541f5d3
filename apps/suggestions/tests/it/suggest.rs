//! From a post to suggestions, also where the model fails.

use std::future::pending;
use std::time::Duration;

use serde_json::json;
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Reply, Request, Scripted, Trouble};
use superstep::testing::ManualClock;
use superstep::{Code, Control, Result};
use superstep_suggestions::types::CombinedSuggestionsResponse;
use superstep_suggestions::{Asking, Context, Query, Suggested, graph, suggest};

use crate::sources::sample;
use crate::stage::{Does, Fake, HINT, POST, QUESTION, SEARCHES, hit, on, search};

fn fake() -> Fake {
    Fake::default()
        .says("search_docs", &json!([hit("doc", "Roll back", "docs/a.md", "How.")]))
        .does("search_m365", Does::Fails("m365 cannot be searched: nobody is signed in".to_owned()))
        .does(HINT, Does::Says("Read Roll back.".to_owned()))
}

/// What the direct way gives with [`fake`].
fn check_direct(fake: &Fake, suggested: &Suggested) {
    assert_eq!(suggested.model, ModelInfo::new("local", "direct", ModelKind::Rules));
    assert_eq!(suggested.response.docs[0].url, "docs/a.md");
    assert_eq!(suggested.response.action_hint.as_deref(), Some("Read Roll back."));
    assert_eq!(suggested.response.unavailable_sources, ["m365"]);
    assert_eq!(suggested.reasons["m365"], "nobody is signed in");
    let asked = fake.asked();
    let mut tools: Vec<&str> = asked[asked.len() - 5..].iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(tools.pop(), Some(HINT));
    tools.sort_unstable();
    let mut searches = SEARCHES;
    searches.sort_unstable();
    assert_eq!(tools, searches);
    for (tool, args) in &asked[asked.len() - 5..asked.len() - 1] {
        let excluded = if tool == "search_posts" { json!(POST) } else { json!(null) };
        assert_eq!((&args["query"], &args["excludePostId"]), (&json!(QUESTION), &excluded));
    }
}

/// R-SUG-47, R-SUG-34: without a model the four searches are asked with the text of the post, then the hint.
#[tokio::test]
async fn without_a_model_it_is_searched_directly() {
    let fake = fake();
    let context = Context::new(POST).mcp_client(fake.client().await);
    let suggested = suggest(&graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    check_direct(&fake, &suggested);
    assert_eq!(suggested.label, "direct search, no language model");
    assert!(suggested.warnings.is_empty());
    assert_eq!(suggested.queries[1], Query { tool: "search_docs".to_owned(), query: QUESTION.to_owned(), found: 1 });
}

/// R-FWK-91, R-SUG-34: secrets and personal data are taken out of what the direct way finds, as in a run: nobody reads them,
/// and whoever writes the hint is not told them.
#[tokio::test]
async fn the_direct_way_tells_no_secrets() {
    let (mail, key) = ("ada.byron@example.com", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH");
    let said = format!("Ask {mail}, with {key}.");
    let fake = Fake::default()
        .says("search_docs", &json!([hit("doc", "Roll back", "docs/a.md", &said)]))
        .does("search_m365", Does::Fails(format!("m365 cannot be searched: {said}")))
        .does(HINT, Does::Says(format!("Read Roll back. {said}")));
    let context = Context::new(POST).mcp_client(fake.client().await);
    let suggested = suggest(&graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    let hinted = fake.asked().into_iter().find(|(tool, _)| tool == HINT).unwrap().1;
    assert_eq!(hinted["searchResults"][0]["title"], "Roll back");
    let redacted = "Ask [REDACTED:mail], with [REDACTED:api_key].";
    assert_eq!(suggested.response.docs[0].description, redacted);
    let whole = format!("{suggested:?} {hinted}");
    assert!(whole.contains(redacted) && !whole.contains(mail) && !whole.contains(key), "{whole}");
}

/// R-SUG-47: the same on the sample.
#[tokio::test]
async fn the_direct_way_finds_in_the_sample() {
    let (_folder, sources, _clock) = sample().await;
    let context = Context::new(POST).connected(sources, None).await.unwrap();
    let suggested = suggest(&graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    let response = suggested.response;
    assert!(!response.docs.is_empty() && !response.m365.is_empty() && !response.issues.is_empty());
    assert!(!response.posts.is_empty() && response.posts.iter().all(|post| post.id != POST));
    assert!(response.action_hint.is_some() && response.unavailable_sources.is_empty());
}

/// R-SUG-34, R-SUG-54: a model that fails, at once or after searches, is followed by a direct search, with a warning.
#[tokio::test]
async fn a_model_that_fails_is_followed_by_a_direct_search() {
    for (model, calls) in [
        (Scripted::new([Reply::trouble(Trouble::KeyRefused, "no such key")]), 5),
        (Scripted::new([search(&[("search_docs", "x")]), Reply::trouble(Trouble::Overloaded, "busy")]), 6),
        (Scripted::default(), 5),
    ] {
        let fake = fake();
        let suggested = suggest(&graph(5).unwrap(), &fake.with(model).await, QUESTION, &[]).await.unwrap();
        check_direct(&fake, &suggested);
        assert_eq!(fake.asked().len(), calls);
        assert!(suggested.warnings[0].starts_with("searched without the model: "), "{:?}", suggested.warnings);
    }
}

/// Never answers.
struct Silent;

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "silent", ModelKind::Remote)
    }

    async fn answer(&self, _request: &Request, _out: &mut Pieces<'_>) -> Result<Answer> {
        pending().await
    }
}

/// R-SUG-34: a model has fifteen seconds, and is then left for the direct way.
#[tokio::test]
async fn a_model_has_fifteen_seconds() {
    let (fake, clock) = (fake(), ManualClock::new());
    let context = fake.with(Silent).await;
    let asking = Asking::new(&context, QUESTION, &[]).unwrap();
    let run = asking.run(&graph(5).unwrap()).unwrap().clock(clock.clone()).spawn();
    while clock.sleepers() < 2 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(15));
    let result = run.await;
    let error = result.as_ref().err().unwrap();
    assert!(error.code() == Code::Timeout && error.message().contains("15s"), "{error}");
    let suggested = asking.conclude(result).await.unwrap();
    check_direct(&fake, &suggested);
    assert!(suggested.warnings[0].contains("15s"), "{:?}", suggested.warnings);
}

/// R-SUG-34: the whole run has thirty seconds.
#[tokio::test]
async fn a_run_has_thirty_seconds() {
    let (fake, clock) = (fake(), ManualClock::new());
    let limits = superstep_suggestions::Limits { model: Duration::from_secs(600), ..Default::default() };
    let context = fake.with(Silent).await.limits(limits);
    let asking = Asking::new(&context, QUESTION, &[]).unwrap();
    let run = asking.run(&graph(5).unwrap()).unwrap().clock(clock.clone()).spawn();
    while clock.sleepers() < 2 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(30));
    let result = run.await;
    assert_eq!(result.as_ref().err().unwrap().code(), Code::Timeout);
    check_direct(&fake, &asking.conclude(result).await.unwrap());
}

/// R-SUG-50, R-SUG-51: what is at fault with the call is an error, and no direct search hides it.
#[tokio::test]
async fn faults_of_the_caller_are_errors() {
    let fake = fake();
    let context = fake.with(Scripted::new(["{}"])).await;
    let error = suggest(&graph(5).unwrap(), &context, " \n ", &[]).await.unwrap_err();
    assert_eq!(error.code(), Code::InputInvalid);
    let error = suggest(&graph(5).unwrap(), &Context::new(POST), QUESTION, &[]).await.unwrap_err();
    assert_eq!((error.code(), fake.asked().len()), (Code::MissingContext, 0));
    let control = Control::new();
    control.cancel();
    let asking = Asking::new(&context, QUESTION, &[]).unwrap();
    let stopped = asking.run(&graph(5).unwrap()).unwrap().control(control).await;
    assert_eq!(asking.conclude(stopped).await.unwrap_err().code(), Code::Cancelled);
}

/// R-SUG-34: also when every tool fails there is an answer.
#[tokio::test]
async fn when_everything_fails_there_is_an_answer() {
    let fake = SEARCHES
        .into_iter()
        .fold(Fake::default(), |fake, tool| fake.does(tool, Does::Fails("out of order".to_owned())));
    let context = Context::new(POST).mcp_client(fake.client().await);
    let suggested = suggest(&graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    let unavailable_sources = ["m365", "docs", "issues", "posts"].map(str::to_owned).to_vec();
    assert_eq!(suggested.response, CombinedSuggestionsResponse { unavailable_sources, ..Default::default() });
    assert_eq!((suggested.reasons.len(), fake.asked().len()), (4, 4));
}

/// R-SUG-41: what was searched for is told with the model that decided it, and contexts can be used again.
#[tokio::test]
async fn queries_and_the_model_are_told() {
    let (_folder, sources, _clock) = sample().await;
    let model = Scripted::new([
        search(&[("search_docs", "rollback"), ("search_issues", "zzzz")]),
        Reply::text("{\"docs\": []}"),
    ])
    .then(search(&[("search_posts", "AKS")]))
    .then("{\"posts\": []}");
    let context = on(&sources, model).await;
    let graph = graph(5).unwrap();
    let first = suggest(&graph, &context, QUESTION, &[]).await.unwrap();
    let tools: Vec<(&str, &str, bool)> =
        first.queries.iter().map(|one| (one.tool.as_str(), one.query.as_str(), one.found > 0)).collect();
    assert_eq!(tools, [("search_docs", "rollback", true), ("search_issues", "zzzz", false)]);
    assert_eq!(
        (first.model.to_string(), first.label),
        ("scripted/script (rules)".to_owned(), "scripted/script (rules)".to_owned())
    );
    let second = suggest(&graph, &context, QUESTION, &[]).await.unwrap();
    assert_eq!(second.queries.len(), 1);
}
