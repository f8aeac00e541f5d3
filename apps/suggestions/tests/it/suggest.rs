//! From a post to suggestions, including failures of the model.

use std::future::pending;
use std::time::Duration;

use serde_json::json;
use superstep::models::{
    ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelInfo, ModelKind, ScriptedModel, ScriptedReply,
};
use superstep::testing::ManualClock;
use superstep::{ErrorCode, Result, RunControl};
use superstep_suggestions::types::CombinedSuggestionsResponse;
use superstep_suggestions::{
    ExecutedQuery, SuggestionResult, SuggestionRun, SuggestionsContext, create_suggestions_graph, suggest,
};

use crate::fixtures::{Behaviour, Fake, HINT, POST, QUESTION, SEARCHES, context_on, hit, search};
use crate::sources::sample;

fn fake() -> Fake {
    Fake::default()
        .replies("search_docs", &json!([hit("doc", "Roll back", "docs/a.md", "How.")]))
        .behaves("search_m365", Behaviour::Fails("m365 cannot be searched: nobody is signed in".to_owned()))
        .behaves(HINT, Behaviour::Replies("Read Roll back.".to_owned()))
}

/// Checks the result of a search without a model against [`fake`].
fn check_direct(fake: &Fake, suggested: &SuggestionResult) {
    assert_eq!(suggested.model, ModelInfo::new("local", "direct", ModelKind::Rules));
    assert_eq!(suggested.response.docs[0].url, "docs/a.md");
    assert_eq!(suggested.response.action_hint.as_deref(), Some("Read Roll back."));
    assert_eq!(suggested.response.unavailable_sources, ["m365"]);
    assert_eq!(suggested.unavailable_reasons["m365"], "nobody is signed in");
    let calls = fake.calls();
    let mut tools: Vec<&str> = calls[calls.len() - 5..].iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(tools.pop(), Some(HINT));
    tools.sort_unstable();
    let mut searches = SEARCHES;
    searches.sort_unstable();
    assert_eq!(tools, searches);
    for (tool, args) in &calls[calls.len() - 5..calls.len() - 1] {
        let excluded = if tool == "search_posts" { json!(POST) } else { json!(null) };
        assert_eq!((&args["query"], &args["excludePostId"]), (&json!(QUESTION), &excluded));
    }
}

/// R-SUG-47, R-SUG-34: without a model the four searches get the text of the post, then the hint is generated.
#[tokio::test]
async fn without_a_model_it_is_searched_directly() {
    let fake = fake();
    let context = SuggestionsContext::new(POST).mcp_client(fake.client().await);
    let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    check_direct(&fake, &suggested);
    assert_eq!(suggested.label, "direct search, no language model");
    assert!(suggested.warnings.is_empty());
    assert_eq!(
        suggested.queries[1],
        ExecutedQuery { tool: "search_docs".to_owned(), query: QUESTION.to_owned(), result_count: 1 }
    );
}

/// R-SUG-34: the four searches without a model run in parallel: all of them start although none has ended.
#[tokio::test]
async fn the_direct_searches_run_in_parallel() {
    let fake = SEARCHES.into_iter().fold(Fake::default(), |fake, tool| fake.behaves(tool, Behaviour::Hangs));
    let context = SuggestionsContext::new(POST).mcp_client(fake.client().await);
    let graph = create_suggestions_graph(5).unwrap();
    let started = async {
        while fake.calls().len() < 4 {
            tokio::task::yield_now().await;
        }
    };
    // A hanging search times out after ten seconds. Sequential searches would have started only the first one by then.
    let all = tokio::time::timeout(Duration::from_secs(9), started);
    tokio::select! {
        _ = suggest(&graph, &context, QUESTION, &[]) => panic!("a search hangs and it ends"),
        result = all => assert!(result.is_ok(), "{:?}", fake.calls()),
    }
}

/// R-FWK-91: the search without a model redacts secrets and personal data from tool results, as a run does:
/// neither the response nor the input of the hint tool contains them.
#[tokio::test]
async fn the_direct_search_redacts_secrets() {
    let (mail, key) = ("ada.byron@example.com", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH");
    let secret_text = format!("Ask {mail}, with {key}.");
    let fake = Fake::default()
        .replies("search_docs", &json!([hit("doc", "Roll back", "docs/a.md", &secret_text)]))
        .behaves("search_m365", Behaviour::Fails(format!("m365 cannot be searched: {secret_text}")))
        .behaves(HINT, Behaviour::Replies(format!("Read Roll back. {secret_text}")));
    let context = SuggestionsContext::new(POST).mcp_client(fake.client().await);
    let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    let hinted = fake.calls().into_iter().find(|(tool, _)| tool == HINT).unwrap().1;
    assert_eq!(hinted["searchResults"][0]["title"], "Roll back");
    let redacted = "Ask [REDACTED:mail], with [REDACTED:api_key].";
    assert_eq!(suggested.response.docs[0].description, redacted);
    let output = format!("{suggested:?} {hinted}");
    assert!(output.contains(redacted) && !output.contains(mail) && !output.contains(key), "{output}");
}

/// R-SUG-47: the search without a model finds results in the sample.
#[tokio::test]
async fn the_direct_search_returns_results_of_the_sample() {
    let (_folder, sources, _clock) = sample().await;
    let context = SuggestionsContext::new(POST).connect_mcp(sources, None).await.unwrap();
    let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    let response = suggested.response;
    assert!(!response.docs.is_empty() && !response.m365.is_empty() && !response.issues.is_empty());
    assert!(!response.posts.is_empty() && response.posts.iter().all(|post| post.id != POST));
    assert!(response.action_hint.is_some() && response.unavailable_sources.is_empty());
}

/// R-SUG-34: if the model fails, at once or after searches, the search without a model follows, with a
/// warning.
#[tokio::test]
async fn a_model_that_fails_is_followed_by_a_direct_search() {
    for (model, calls) in [
        (ScriptedModel::new([ScriptedReply::error(ModelErrorKind::InvalidApiKey, "no such key")]), 5),
        (
            ScriptedModel::new([
                search(&[("search_docs", "x")]),
                ScriptedReply::error(ModelErrorKind::Overloaded, "busy"),
            ]),
            6,
        ),
        (ScriptedModel::default(), 5),
    ] {
        let fake = fake();
        let suggested =
            suggest(&create_suggestions_graph(5).unwrap(), &fake.with(model).await, QUESTION, &[]).await.unwrap();
        check_direct(&fake, &suggested);
        assert_eq!(fake.calls().len(), calls);
        assert!(suggested.warnings[0].starts_with("searched without a model: "), "{:?}", suggested.warnings);
    }
}

/// A model that never responds.
struct Silent;

impl Model for Silent {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("test", "silent", ModelKind::Remote)
    }

    async fn generate(&self, _request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        pending().await
    }
}

/// R-SUG-34: a model call times out after 15 seconds, and the search without a model follows.
#[tokio::test]
async fn a_model_has_fifteen_seconds() {
    let (fake, clock) = (fake(), ManualClock::new());
    let context = fake.with(Silent).await;
    let suggestion_run = SuggestionRun::new(&context, QUESTION, &[]).unwrap();
    let run = suggestion_run.run(&create_suggestions_graph(5).unwrap()).unwrap().clock(clock.clone()).spawn();
    while clock.sleepers() < 2 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(15));
    let result = run.await;
    let error = result.as_ref().err().unwrap();
    assert!(error.code() == ErrorCode::Timeout && error.message().contains("15s"), "{error}");
    let suggested = suggestion_run.finish(result).await.unwrap();
    check_direct(&fake, &suggested);
    assert!(suggested.warnings[0].contains("15s"), "{:?}", suggested.warnings);
}

/// R-SUG-34: the whole run times out after 30 seconds.
#[tokio::test]
async fn a_run_has_thirty_seconds() {
    let (fake, clock) = (fake(), ManualClock::new());
    let timeouts = superstep_suggestions::Timeouts { model: Duration::from_secs(600), ..Default::default() };
    let context = fake.with(Silent).await.timeouts(timeouts);
    let suggestion_run = SuggestionRun::new(&context, QUESTION, &[]).unwrap();
    let mut run = suggestion_run.run(&create_suggestions_graph(5).unwrap()).unwrap().clock(clock.clone()).spawn();
    while clock.sleepers() < 2 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_millis(29_999));
    let others = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = &mut run => panic!("the run ended before its timeout: {:?}", result.err()),
        () = others => (),
    }
    clock.advance(Duration::from_millis(1));
    let result = run.await;
    assert_eq!(result.as_ref().err().unwrap().code(), ErrorCode::Timeout);
    check_direct(&fake, &suggestion_run.finish(result).await.unwrap());
}

/// R-SUG-50, R-SUG-51: errors of the caller are returned and not hidden by a fallback.
#[tokio::test]
async fn errors_of_the_caller_are_returned() {
    let fake = fake();
    let context = fake.with(ScriptedModel::new(["{}"])).await;
    let error = suggest(&create_suggestions_graph(5).unwrap(), &context, " \n ", &[]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    let error = suggest(&create_suggestions_graph(5).unwrap(), &SuggestionsContext::new(POST), QUESTION, &[])
        .await
        .unwrap_err();
    assert_eq!((error.code(), fake.calls().len()), (ErrorCode::MissingContext, 0));
    let control = RunControl::new();
    control.cancel();
    let suggestion_run = SuggestionRun::new(&context, QUESTION, &[]).unwrap();
    let stopped = suggestion_run.run(&create_suggestions_graph(5).unwrap()).unwrap().control(control).await;
    assert_eq!(suggestion_run.finish(stopped).await.unwrap_err().code(), ErrorCode::Cancelled);
}

/// R-SUG-34: there is a response even if every tool fails.
#[tokio::test]
async fn when_everything_fails_there_is_an_answer() {
    let fake = SEARCHES
        .into_iter()
        .fold(Fake::default(), |fake, tool| fake.behaves(tool, Behaviour::Fails("out of order".to_owned())));
    let context = SuggestionsContext::new(POST).mcp_client(fake.client().await);
    let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    let unavailable_sources = ["m365", "docs", "issues", "posts"].map(str::to_owned).to_vec();
    assert_eq!(suggested.response, CombinedSuggestionsResponse { unavailable_sources, ..Default::default() });
    assert_eq!((suggested.unavailable_reasons.len(), fake.calls().len()), (4, 4));
}

/// R-SUG-41: the result contains queries and model, and contexts can be reused.
#[tokio::test]
async fn queries_and_the_model_are_reported() {
    let (_folder, sources, _clock) = sample().await;
    let model = ScriptedModel::new([
        search(&[("search_docs", "rollback"), ("search_issues", "zzzz")]),
        ScriptedReply::text("{\"docs\": []}"),
    ])
    .then(search(&[("search_posts", "AKS")]))
    .then("{\"posts\": []}");
    let context = context_on(&sources, model).await;
    let graph = create_suggestions_graph(5).unwrap();
    let first = suggest(&graph, &context, QUESTION, &[]).await.unwrap();
    let tools: Vec<(&str, &str, bool)> =
        first.queries.iter().map(|one| (one.tool.as_str(), one.query.as_str(), one.result_count > 0)).collect();
    assert_eq!(tools, [("search_docs", "rollback", true), ("search_issues", "zzzz", false)]);
    assert_eq!(
        (first.model.to_string(), first.label),
        ("scripted/script (rules)".to_owned(), "scripted/script (rules)".to_owned())
    );
    let second = suggest(&graph, &context, QUESTION, &[]).await.unwrap();
    assert_eq!(second.queries.len(), 1);
}
