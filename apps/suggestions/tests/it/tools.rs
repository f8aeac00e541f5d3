//! The five tools: arguments, results and failures.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use superstep::ErrorCode;
use superstep::core::port::{SharedTool, ToolInvocation};
use superstep::mcp::{McpClient, connect_in_process};
use superstep::models::{ModelErrorKind, ScriptedModel, ScriptedReply, SharedModel};
use superstep::settings::Secret;
use superstep::testing::ManualClock;
use superstep_suggestions::planner::planner;
use superstep_suggestions::sources::{M365Settings, SourceSettings, Sources};
use superstep_suggestions::tools::{search_posts_tool, tools};
use superstep_suggestions::{
    SourceStatus, SuggestionsContext, SuggestionsState, create_suggestions_graph, mcp, state_graph, suggest,
};

use crate::fixtures::{
    Behaviour, Fake, HINT, POST, QUESTION, SEARCHES, context_on, hit, invoke_question, microsoft_graph, post_json,
    search, tool_messages, warnings_of, watch,
};
use crate::sources::sample;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

async fn call(client: &McpClient, tool: &str, args: Value) -> (String, bool) {
    let tools = client.tools().await.unwrap();
    let matched = tools.iter().find(|matched| matched.spec().name == tool).unwrap();
    let output = matched.call(ToolInvocation::new("1", object(args))).await.unwrap();
    (output.content.unwrap().text().into_owned(), output.is_error)
}

/// Runs the graph with one round of tool calls and an empty answer. Returns the final state.
async fn run_calls(context: SuggestionsContext, calls: ScriptedReply) -> SuggestionsState {
    let graph = state_graph(5).unwrap().checkpointer(superstep::MemoryCheckpointer::new()).compile().unwrap();
    let context = context.model(ScriptedModel::new([calls]).then("{\"docs\": []}"));
    invoke_question(&graph, context).thread("t").await.unwrap();
    SuggestionsState::clone(&graph.threads().get_state("t").await.unwrap().state)
}

/// R-SUG-9, R-SUG-10, R-SUG-11, R-SUG-12, R-SUG-13, R-SUG-14: wrappers and server have the same tools with the same
/// arguments.
#[tokio::test]
async fn wrappers_and_server_have_the_same_tools() {
    let sources = Sources::open(&SourceSettings::default()).unwrap();
    let listed = connect_in_process(&mcp::server(sources, None)).await.unwrap().tools().await.unwrap();
    let specs = |tools: &[SharedTool]| -> Vec<(String, Value)> {
        tools.iter().map(|tool| (tool.spec().name.clone(), (*tool.spec().input_schema).clone())).collect()
    };
    let wrappers = tools();
    assert_eq!(specs(&listed), specs(&wrappers));
    let names: Vec<String> = wrappers.iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(names, SEARCHES.into_iter().chain([HINT]).collect::<Vec<_>>());
    assert!(wrappers.iter().chain(&listed).all(|tool| tool.spec().annotations.read_only));
    for (index, properties, required) in [
        (0, vec!["query"], json!(["query"])),
        (3, vec!["excludePostId", "query"], json!(["query"])),
        (4, vec!["postText", "searchResults"], json!(["postText", "searchResults"])),
    ] {
        let schema = &wrappers[index].spec().input_schema;
        let mut names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(
            (names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), &schema["required"]),
            (properties, &required)
        );
    }
    let result = &wrappers[4].spec().input_schema["properties"]["searchResults"]["items"];
    assert_eq!(result["required"], json!(["title", "description", "sourceType"]));
    assert_eq!(search_posts_tool().spec().name, "search_posts");
}

/// R-SUG-10 to R-SUG-13: the searches return JSON lists of results in the sample.
#[tokio::test]
async fn searches_return_lists() {
    let (_folder, sources, _clock) = sample().await;
    let client = connect_in_process(&mcp::server(sources, None)).await.unwrap();
    for (tool, kind) in [("search_m365", "m365"), ("search_docs", "doc"), ("search_issues", "issue")] {
        let (text, is_error) = call(&client, tool, json!({ "query": "rollback deployment" })).await;
        let results: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(!is_error && !results.is_empty(), "{tool}");
        assert!(results.iter().all(|one| one["sourceType"] == kind && one["status"] == "available"), "{text}");
    }
    let args = json!({ "query": "AKS deployment failed", "excludePostId": POST });
    let (text, _) = call(&client, "search_posts", args).await;
    assert!(text.contains("\"authorName\"") && !text.contains(POST), "{text}");
}

/// R-SUG-15: the post of the run is excluded, and so is the post named by the model.
#[tokio::test]
async fn both_posts_are_left_out() {
    let posts = json!([post_json("other", "a"), post_json(POST, "b"), post_json("third", "c")]);
    let fake = Fake::default().replies("search_posts", &posts);
    for (args, left) in [
        (json!({ "query": "x" }), vec!["other", "third"]),
        (json!({ "query": "x", "excludePostId": "other" }), vec!["third"]),
    ] {
        let state =
            run_calls(fake.with(ScriptedModel::default()).await, ScriptedReply::tool_call("search_posts", args)).await;
        let results: Vec<Value> = serde_json::from_str(&tool_messages(&state.messages)[0].2).unwrap();
        assert_eq!(results.iter().map(|post| post["id"].as_str().unwrap()).collect::<Vec<_>>(), left);
    }
    let calls: Vec<Value> = fake.calls().into_iter().map(|(_, args)| args).collect();
    assert_eq!(calls, vec![json!({ "query": "x", "excludePostId": POST }); 2]);
}

/// R-SUG-16: queries are trimmed; a long one is cut at a word boundary with a warning, an empty one is rejected.
#[tokio::test]
async fn queries_are_trimmed_and_cut_with_a_warning() {
    let (_folder, sources, _clock) = sample().await;
    let long = "rollback ".repeat(40);
    let model =
        ScriptedModel::new([search(&[("search_docs", &long), ("search_docs", "  rollback  "), ("search_docs", " ")])])
            .then("{\"docs\": []}");
    let (events, done) =
        watch(invoke_question(&create_suggestions_graph(5).unwrap(), context_on(&sources, model.clone()).await)).await;
    done.unwrap();
    let warnings = warnings_of(&events);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("359 characters"), "{warnings:?}");
    let tools = tool_messages(model.requests()[1].messages.iter().map(|message| &**message));
    assert!(tools[0].1 && tools[1].1 && tools[0].2.len() > 2 && tools[1].2.len() > 2);
    assert!(!tools[2].1 && tools[2].2.contains("empty"), "{}", tools[2].2);
}

/// R-SUG-22: without a model the hint is a template sentence for the best result, in the language of the post;
/// without results there is none.
#[tokio::test]
async fn hints_come_from_templates() {
    let client =
        connect_in_process(&mcp::server(Sources::open(&SourceSettings::default()).unwrap(), None)).await.unwrap();
    let german = "Wie kann ich das Deployment nach einem Fehler zurücksetzen?";
    for (post, kind, prefix) in [
        (QUESTION, "doc", "Follow the documentation"),
        (QUESTION, "m365", "Read “"),
        (QUESTION, "issue", "See what was done"),
        (QUESTION, "post", "Ask in the earlier post"),
        (german, "doc", "Folge der Dokumentation"),
        (german, "post", "Frag im früheren Beitrag"),
        ("Comment annuler un déploiement qui ne marche pas ?", "doc", "Suivez la documentation"),
        ("¿Cómo puedo volver a la versión anterior del despliegue?", "issue", "Mira qué se hizo"),
        ("Come posso annullare il deployment di ieri?", "m365", "Leggi prima"),
        ("Hoe kan ik een mislukte uitrol terugdraaien?", "doc", "Volg de documentatie"),
    ] {
        let results = json!([{ "title": "Roll back", "description": "", "sourceType": kind }]);
        let (hint, is_error) = call(&client, HINT, json!({ "postText": post, "searchResults": results })).await;
        assert!(!is_error && hint.starts_with(prefix) && hint.contains("Roll back"), "{hint}");
        assert_eq!(hint.matches('.').count(), 1, "{hint}");
    }
    let two = ["Second best", "Best"].map(|title| json!({ "title": title, "description": "", "sourceType": "doc" }));
    let (hint, _) = call(&client, HINT, json!({ "postText": QUESTION, "searchResults": two })).await;
    assert!(hint.contains("“Second best”") && !hint.contains("“Best”"), "the first counts: {hint}");
    let (hint, is_error) = call(&client, HINT, json!({ "postText": QUESTION, "searchResults": [] })).await;
    assert_eq!((hint.as_str(), is_error), ("", false));
}

/// R-SUG-22, R-SUG-38: an empty hint is null in the response.
#[tokio::test]
async fn an_empty_hint_is_null() {
    let (_folder, sources, _clock) = sample().await;
    for model in [Some(planner(sources.clone())), None] {
        let context = model.into_iter().fold(SuggestionsContext::new(POST), SuggestionsContext::model);
        let context = context.connect_mcp(sources.clone(), None).await.unwrap();
        let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, "zebra xylophone", &[]).await.unwrap();
        let response = serde_json::to_value(&suggested.response).unwrap();
        assert_eq!((&response["docs"], &response["actionHint"]), (&json!([]), &Value::Null), "{response}");
    }
}

/// R-SUG-22: a model writes at most 60 tokens; the template replaces a hint that has several sentences, is in
/// another language, does not name a result, contains another URL, or fails.
#[tokio::test]
async fn hints_of_a_model_must_name_a_result() {
    let results = json!([{ "title": "Roll back a deployment", "description": "", "sourceType": "doc" }]);
    for (reply, is_used) in [
        (ScriptedReply::text("Open Roll back a deployment and run helm rollback."), true),
        (ScriptedReply::text("\n\"Open Roll back a deployment now.\"\nIt helps."), true),
        (ScriptedReply::text("Have a look around."), false),
        (ScriptedReply::text("Open Roll back a deployment. Then run helm rollback."), false),
        (ScriptedReply::text("Öffne Roll back a deployment und mach das nach dem Fehler."), false),
        (ScriptedReply::text("See Roll back a deployment at https://evil.example/"), false),
        (ScriptedReply::text(""), false),
        (ScriptedReply::error(ModelErrorKind::Overloaded, "busy"), false),
    ] {
        let model = ScriptedModel::new([reply.clone()]);
        let hints: SharedModel = model.clone().into();
        let server = mcp::server(Sources::open(&SourceSettings::default()).unwrap(), Some(hints));
        let client = connect_in_process(&server).await.unwrap();
        let (hint, _) = call(&client, HINT, json!({ "postText": QUESTION, "searchResults": results })).await;
        assert_eq!(hint.starts_with("Open"), is_used, "{hint}");
        assert!(hint.contains("Roll back a deployment"), "{hint}");
        assert_eq!(model.requests()[0].max_tokens, Some(60));
    }
}

/// R-SUG-30, R-SUG-18: a source that is not configured returns an error to the model, has status `error` and is
/// listed as unavailable.
#[tokio::test]
async fn a_source_that_is_not_set_up_is_unavailable() {
    let sources = Sources::open(&SourceSettings::default()).unwrap();
    let state = run_calls(
        context_on(&sources, ScriptedModel::default()).await,
        search(&[("search_docs", "x"), ("search_posts", "x")]),
    )
    .await;
    let tools = tool_messages(&state.messages);
    assert!(!tools[0].1 && tools[0].2.contains("no documents folder is configured"), "{tools:?}");
    assert_eq!(tools[1], ("search_posts".to_owned(), true, "[]".to_owned()));
    assert_eq!((state.tool_status["docs"], state.tool_status["posts"]), (SourceStatus::Error, SourceStatus::Empty));
    assert_eq!(state.response.unwrap().unavailable_sources, ["docs"]);
}

/// R-SUG-4: one search with results makes a source available; an empty one does not hide a failed one.
#[tokio::test]
async fn all_searches_of_a_source_count_together() {
    let results = json!([hit("doc", "Roll back", "docs/a.md", "How.")]);
    for (first, second, expected) in [
        (Behaviour::Fails("no".to_owned()), Behaviour::Replies(results.to_string()), SourceStatus::Ok),
        (Behaviour::Replies(results.to_string()), Behaviour::Fails("no".to_owned()), SourceStatus::Ok),
        (Behaviour::Fails("no".to_owned()), Behaviour::Replies("[]".to_owned()), SourceStatus::Error),
        (Behaviour::Replies("[]".to_owned()), Behaviour::Replies("[]".to_owned()), SourceStatus::Empty),
    ] {
        let graph = state_graph(5).unwrap().checkpointer(superstep::MemoryCheckpointer::new()).compile().unwrap();
        for behaviour in [first, second] {
            let fake = Fake::default().behaves("search_docs", behaviour);
            let model = ScriptedModel::new([search(&[("search_docs", "x")])]).then("{\"docs\": []}");
            let run = graph
                .invoke(SuggestionsState::initial_state(QUESTION, &[], None).unwrap())
                .context(fake.with(model).await);
            run.thread("t").await.unwrap();
        }
        let state = graph.threads().get_state("t").await.unwrap().state;
        assert_eq!(state.tool_status["docs"], expected);
    }
}

/// R-SUG-53: a tool result that is not a JSON list is passed to the model, counts as an error, and is not in the
/// response.
#[tokio::test]
async fn non_json_text_is_passed_to_the_model_only() {
    for nonsense in ["<html>Bad gateway</html>", "{\"title\": \"x\"}", "[1, 2]"] {
        let fake = Fake::default().behaves("search_docs", Behaviour::Replies(nonsense.to_owned()));
        let state = run_calls(fake.with(ScriptedModel::default()).await, search(&[("search_docs", "x")])).await;
        assert_eq!(tool_messages(&state.messages)[0].2, nonsense);
        assert_eq!(state.tool_status["docs"], SourceStatus::Error, "{nonsense}");
        let response = state.response.unwrap();
        assert_eq!((response.docs.len(), response.unavailable_sources), (0, vec!["docs".to_owned()]));
    }
}

/// R-SUG-56: invalid arguments are returned to the model as errors and never reach the server.
#[tokio::test]
async fn wrong_arguments_never_reach_the_server() {
    let fake = Fake::default();
    let calls = ScriptedReply::tool_call("search_docs", json!({ "query": 7 }))
        .and_tool_call("search_m365", json!({}))
        .and_tool_call("search_posts", json!({ "query": "x", "excludePostId": [] }))
        .and_tool_call("search_issues", json!({ "query": "x", "path": "/etc/passwd" }))
        .and_tool_call(HINT, json!({ "postText": "x", "searchResults": [{ "title": "x" }] }));
    let state = run_calls(fake.with(ScriptedModel::default()).await, calls).await;
    let tools = tool_messages(&state.messages);
    assert_eq!((tools.len(), fake.calls().len()), (5, 0));
    for (tool, is_success, text) in tools {
        assert!(!is_success && text.contains("invalid arguments") && !text.contains("/etc/passwd"), "{tool}: {text}");
    }
}

/// R-SUG-56: arguments that are too long, too many or unknown are rejected, by the agent before it calls the server
/// and by the server for any other client; arguments at the limit are accepted.
#[tokio::test]
async fn arguments_beyond_their_limits_are_rejected() {
    let result = |title: usize| json!({ "title": "x".repeat(title), "description": "", "sourceType": "doc" });
    let hint = |post: usize, results: Vec<Value>| json!({ "postText": "x".repeat(post), "searchResults": results });
    let mut odd = result(1);
    odd["url"] = "https://a.example".into();
    let rejected = [
        (HINT, hint(0, vec![])),
        (HINT, hint(4_001, vec![])),
        (HINT, hint(1, vec![result(1); 51])),
        (HINT, hint(1, vec![result(2_001)])),
        (HINT, hint(1, vec![odd])),
        ("search_posts", json!({ "query": "x", "excludePostId": "x".repeat(201) })),
        ("search_docs", json!({ "query": "x", "limit": 1_000 })),
    ];
    let accepted =
        [(HINT, hint(4_000, vec![result(2_000); 50])), ("search_posts", json!({ "query": "x".repeat(9_000) }))];
    let client =
        connect_in_process(&mcp::server(Sources::open(&SourceSettings::default()).unwrap(), None)).await.unwrap();
    for (tool, args) in &rejected {
        let fake = Fake::default();
        let state =
            run_calls(fake.with(ScriptedModel::default()).await, ScriptedReply::tool_call(*tool, args.clone())).await;
        let message = &tool_messages(&state.messages)[0];
        assert!(!message.1 && message.2.contains("invalid arguments") && message.2.len() < 600, "{tool}: {message:?}");
        assert!(fake.calls().is_empty(), "{tool}");
        let (text, is_error) = call(&client, tool, args.clone()).await;
        assert!(is_error && text.len() < 600, "{tool}: {text}");
    }
    for (tool, args) in accepted {
        let fake = Fake::default();
        let state =
            run_calls(fake.with(ScriptedModel::default()).await, ScriptedReply::tool_call(tool, args.clone())).await;
        assert!(tool_messages(&state.messages)[0].1 && fake.calls().len() == 1, "{tool}");
        let (text, is_error) = call(&client, tool, args).await;
        assert!(!is_error, "{tool}: {text}");
    }
}

/// R-SUG-14, R-SUG-47: a long post has a hint too: the post is truncated to the maximum of the tool.
#[tokio::test]
async fn a_long_post_has_a_hint() {
    let (_folder, sources, _clock) = sample().await;
    let long = format!("How do I roll back a failed AKS deployment? {}", "Please help. ".repeat(600));
    let planned = context_on(&sources, planner(sources.clone())).await;
    let direct = SuggestionsContext::new(POST).connect_mcp(sources, None).await.unwrap();
    for context in [planned, direct] {
        let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, &long, &[]).await.unwrap();
        assert!(suggested.response.action_hint.is_some(), "{:?} {:?}", suggested.model, suggested.warnings);
    }
}

/// R-SUG-55: no tool outside the five can be called.
#[tokio::test]
async fn other_tools_cannot_be_called() {
    let fake = Fake::default();
    let state =
        run_calls(fake.with(ScriptedModel::default()).await, ScriptedReply::tool_call("delete_all_posts", json!({})))
            .await;
    let tools = tool_messages(&state.messages);
    assert!(!tools[0].1 && tools[0].2.contains("unknown tool `delete_all_posts`"), "{tools:?}");
    assert!(fake.calls().is_empty() && state.tool_status.is_empty());
}

/// R-SUG-34: a tool call times out after ten seconds, and the run continues.
#[tokio::test]
async fn a_tool_that_hangs_is_stopped_after_ten_seconds() {
    let fake = Fake::default().behaves("search_docs", Behaviour::Hangs);
    let clock = ManualClock::new();
    let model = ScriptedModel::new([search(&[("search_docs", "x"), ("search_issues", "x")])]).then("{\"docs\": []}");
    let graph = create_suggestions_graph(5).unwrap();
    let run = invoke_question(&graph, fake.with(model.clone()).await).clock(clock.clone()).spawn();
    while fake.calls().len() < 2 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(9));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(model.requests().len(), 1);
    clock.advance(Duration::from_secs(1));
    let response = run.await.unwrap().state.response.clone().unwrap();
    assert_eq!(response.unavailable_sources, ["docs"]);
    let tools = tool_messages(model.requests()[1].messages.iter().map(|message| &**message));
    assert!(tools[0].2.contains("longer than 10s") && tools[1].1, "{tools:?}");
}

/// R-SUG-52: if the server disappears during a run, calls return error texts, and its sources are unavailable.
#[tokio::test]
async fn a_lost_server_returns_error_texts() {
    let fake = Fake::default().replies("search_docs", &json!([hit("doc", "Roll back", "docs/a.md", "How.")]));
    // A separate runtime, so that all connections end with the server.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let service = fake.server().http_service().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await
    });
    let client = McpClient::http(address).connect().await.unwrap();
    let runtime = std::sync::Mutex::new(Some(runtime));
    let model = ScriptedModel::new([search(&[("search_docs", "x")])])
        .then_with(move |_| {
            let runtime = runtime.lock().unwrap().take().unwrap();
            // Shutdown must run on another thread: blocking is not allowed within a runtime, and without waiting the
            // server might still respond.
            std::thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(10))).join().unwrap();
            search(&[("search_m365", "x"), ("search_posts", "x")])
        })
        .then("nothing to add");
    let graph = create_suggestions_graph(5).unwrap();
    let done =
        invoke_question(&graph, SuggestionsContext::new(POST).model(model.clone()).mcp_client(client)).await.unwrap();
    let response = done.state.response.clone().unwrap();
    assert_eq!((response.docs.len(), response.unavailable_sources), (1, vec!["m365".to_owned(), "posts".to_owned()]));
    let tools = tool_messages(model.requests()[2].messages.iter().map(|message| &**message));
    assert!(tools[0].1 && !tools[1].1 && !tools[2].1 && !tools[1].2.is_empty(), "{tools:?}");
}

/// R-SUG-51: a context without an MCP client is rejected with `MissingContext`.
#[tokio::test]
async fn a_context_without_a_client_is_rejected_by_its_code() {
    let error = superstep_suggestions::SuggestionRun::new(&SuggestionsContext::new(POST), QUESTION, &[]).err().unwrap();
    assert_eq!(error.code(), ErrorCode::MissingContext);
}

/// R-SUG-17, R-SUG-46: if one part of Microsoft 365 fails, the results of the other are returned with the failure.
#[tokio::test]
async fn a_failed_part_is_reported_and_loses_nothing() {
    let file = json!({ "resource": { "@odata.type": "#microsoft.graph.driveItem", "name": "runbook.docx",
        "webUrl": "https://lf.sharepoint.com/sites/p/runbook.docx" } });
    let files = (StatusCode::OK, json!({ "value": [{ "hitsContainers": [{ "hits": [file] }] }] }));
    let mail = (StatusCode::TOO_MANY_REQUESTS, json!({}));
    let m365 = M365Settings::Graph { base_url: microsoft_graph(files, mail).await };
    let sources = Sources::open(&SourceSettings { m365, ..SourceSettings::default() }).unwrap();
    let model = ScriptedModel::new([search(&[("search_m365", "x")])]).then("what was found");
    let context = SuggestionsContext::new(POST).model(model).access_token(Secret::new("t"));
    let context = context.connect_mcp(sources, None).await.unwrap();
    let suggested = suggest(&create_suggestions_graph(5).unwrap(), &context, QUESTION, &[]).await.unwrap();
    assert_eq!((suggested.response.m365.len(), suggested.response.unavailable_sources.len()), (1, 0));
    assert!(
        suggested.warnings[0].contains("mail: ") && suggested.warnings[0].contains("429"),
        "{:?}",
        suggested.warnings
    );
}
