//! The graph: checkpoints and events of complete runs.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::core::port::Checkpointer;
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::settings::Secret;
use superstep::tools::ensure_tool_results;
use superstep::{CompiledGraph, END, ErrorCode, Goto, HistoryQuery, MemoryCheckpointer, START, StateSnapshot};
use superstep_suggestions::sources::{M365Settings, PostFilter, SourceSettings, Sources};
use superstep_suggestions::{
    MAX_TOOL_ROUNDS, SourceStatus, SuggestionsContext, SuggestionsState, create_suggestions_graph, sample, state_graph,
};

use crate::fixtures::{
    Fake, HINT, POST, QUESTION, all_results, context_on, hit, invoke_question, microsoft_graph, search, tool_messages,
    watch,
};
use crate::sources::{Folder, noon, sample as sample_sources};

/// Scripts the model of the example: four searches, the hint, the answer with all results.
fn script() -> ScriptedModel {
    let first = search(&[
        ("search_m365", "AKS rollback"),
        ("search_m365", "kubernetes deployment undo"),
        ("search_docs", "rollback deployment"),
        ("search_posts", "AKS deployment failed"),
    ]);
    ScriptedModel::new([first])
        .then_with(|request| {
            let document = all_results(request)["docs"][0].clone();
            let result =
                json!({ "title": document["title"], "description": document["description"], "sourceType": "doc" });
            ScriptedReply::tool_call(HINT, json!({ "postText": QUESTION, "searchResults": [result] }))
        })
        .then_with(|request| {
            let mut answer = all_results(request);
            answer["actionHint"] = request.messages.last().unwrap().text().into();
            ScriptedReply::text(answer.to_string())
        })
}

async fn history(
    graph: &CompiledGraph<SuggestionsState, SuggestionsContext>,
    thread: &str,
) -> Vec<StateSnapshot<SuggestionsState>> {
    let mut all = graph.threads().get_state_history(thread, &HistoryQuery::default()).await.unwrap();
    all.reverse();
    all
}

fn persisted_graph() -> CompiledGraph<SuggestionsState, SuggestionsContext> {
    persisted_graph_in(MemoryCheckpointer::new())
}

fn persisted_graph_in(store: MemoryCheckpointer) -> CompiledGraph<SuggestionsState, SuggestionsContext> {
    state_graph(MAX_TOOL_ROUNDS).unwrap().checkpointer(store).compile().unwrap()
}

/// Returns every checkpoint of a thread as text, each with its fields and pending entries.
async fn stored_text(store: &MemoryCheckpointer, thread: &str) -> String {
    let (thread, query, mut text) = (ThreadId::from(thread), HistoryQuery::default(), String::new());
    for namespace in store.namespaces(&thread).await.unwrap() {
        for saved in Checkpointer::history(store, &thread, &namespace, &query).await.unwrap() {
            text += &serde_json::to_string(&(&*saved.checkpoint, &saved.fields, &saved.pending)).unwrap();
        }
    }
    text
}

/// R-SUG-45, R-SUG-35, R-SUG-1, R-SUG-2, R-SUG-4, R-SUG-7, R-SUG-24, R-SUG-25, R-SUG-28: checkpoints of the example.
#[tokio::test]
async fn the_example_has_the_specified_checkpoints() {
    let (_folder, sources, _clock) = sample_sources().await;
    let (graph, model) = (persisted_graph(), script());
    invoke_question(&graph, context_on(&sources, model.clone()).await).thread("t").await.unwrap();
    assert_eq!((model.requests().len(), model.remaining()), (3, 0));

    let all = history(&graph, "t").await;
    let next_nodes: Vec<String> = all.iter().map(|saved| saved.next.join("+")).collect();
    let nodes = ["llmCall", "toolExec", "llmCall", "toolExec", "llmCall", "formatResponse", ""];
    assert_eq!(next_nodes[next_nodes.len() - nodes.len()..], nodes);
    let all = &all[all.len() - nodes.len()..];
    let counts: Vec<usize> = all.iter().map(|saved| saved.state.messages.len()).collect();
    assert_eq!(counts, [2, 3, 7, 8, 9, 10, 10]);
    let calls: Vec<u32> = all.iter().map(|saved| saved.state.llm_call_count).collect();
    assert_eq!(calls, [0, 1, 1, 2, 2, 3, 3]);
    let roles: Vec<String> = all[6].state.messages.iter().map(|message| format!("{:?}", message.role)).collect();
    let expected = ["System", "User", "Assistant", "Tool", "Tool", "Tool", "Tool", "Assistant", "Tool", "Assistant"];
    assert_eq!(roles, expected);
    assert!(all[..6].iter().all(|saved| saved.state.response.is_none()) && all[6].state.response.is_some());
    assert!(all[1].state.tool_status.is_empty());
    let names = serde_json::to_value(&*all[6].state).unwrap();
    let names: Vec<&String> = names.as_object().unwrap().keys().collect();
    assert_eq!(names, ["messages", "llmCallCount", "response", "toolStatus"]);
    let status = [("docs", SourceStatus::Ok), ("m365", SourceStatus::Ok), ("posts", SourceStatus::Ok)];
    assert_eq!(all[2].state.tool_status, status.map(|(source, status)| (source.to_owned(), status)).into());
}

/// R-SUG-45, R-SUG-30, R-SUG-33, R-SUG-15: events and response of the example.
#[tokio::test]
async fn the_example_publishes_events_and_a_response() {
    let (_folder, sources, _clock) = sample_sources().await;
    let graph = create_suggestions_graph(MAX_TOOL_ROUNDS).unwrap();
    let (events, done) = watch(invoke_question(&graph, context_on(&sources, script()).await)).await;
    let done = done.unwrap();
    assert_eq!(done.supersteps, 6);

    let nodes: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "on_chain_start" && event["name"] != "suggestions")
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(nodes, ["llmCall", "toolExec", "llmCall", "toolExec", "llmCall", "formatResponse"]);
    let tools: Vec<(&str, &str)> = events
        .iter()
        .map(|event| (event["event"].as_str().unwrap(), event["name"].as_str().unwrap()))
        .filter(|(event, _)| event.starts_with("on_tool_"))
        .collect();
    let first = &tools[..8];
    assert!(first.iter().all(|(_, tool)| *tool != HINT), "{tools:?}");
    let last_end = first.iter().rposition(|(event, _)| *event == "on_tool_end").unwrap();
    let starts = first[..last_end].iter().filter(|(event, _)| *event == "on_tool_start").count();
    assert_eq!((last_end, starts), (7, 4), "{tools:?}");
    assert_eq!(tools[8..], [("on_tool_start", HINT), ("on_tool_end", HINT)]);

    let response = done.state.response.clone().unwrap();
    assert!(!response.m365.is_empty() && !response.docs.is_empty() && !response.posts.is_empty());
    assert!(response.posts.iter().all(|post| post.id != POST));
    let urls: BTreeSet<&str> = response.m365.iter().map(|hit| hit.url.split('#').next().unwrap()).collect();
    assert_eq!(urls.len(), response.m365.len());
    let returned: usize = events
        .iter()
        .filter(|event| event["event"] == "on_tool_end" && event["name"] == "search_m365")
        .map(|event| serde_json::from_str::<Vec<Value>>(event["data"]["output"].as_str().unwrap()).unwrap().len())
        .sum();
    assert!(returned > response.m365.len(), "both searches find the runbook: {returned}");
    assert!(response.action_hint.unwrap().contains(&response.docs[0].title));
    assert_eq!((response.issues.len(), response.unavailable_sources.len()), (0, 0));
}

/// R-SUG-36, R-SUG-3: the response is equal with and without a checkpointer, and is the complete output.
#[tokio::test]
async fn the_agent_runs_with_and_without_a_store() {
    let (_folder, sources, _clock) = sample_sources().await;
    let without =
        invoke_question(&create_suggestions_graph(MAX_TOOL_ROUNDS).unwrap(), context_on(&sources, script()).await)
            .await
            .unwrap();
    let with = invoke_question(&persisted_graph(), context_on(&sources, script()).await).thread("t").await.unwrap();
    assert!(without.state.response.is_some());
    assert_eq!(without.to_json().unwrap(), with.to_json().unwrap());
    let output = without.to_json().unwrap();
    assert_eq!(output.as_object().unwrap().keys().collect::<Vec<_>>(), ["response"]);
    assert_eq!(output["response"]["source"], "mcp");
    assert!(without.checkpoint.is_none() && with.checkpoint.is_some());
}

/// R-SUG-46, R-SUG-5: if Microsoft 365 responds with 401, it is listed as unavailable and the other sources have
/// results.
#[tokio::test]
async fn a_rejecting_source_is_listed_and_the_others_have_results() {
    let folder = Folder::new();
    sample::unpack(folder.path()).unwrap();
    let unauthorized = (StatusCode::UNAUTHORIZED, json!({ "error": { "code": "InvalidAuthenticationToken" } }));
    let m365 = M365Settings::Graph { base_url: microsoft_graph(unauthorized.clone(), unauthorized).await };
    let settings =
        SourceSettings { m365, clock: std::sync::Arc::new(noon()), ..SourceSettings::from_folder(folder.path()) };
    let sources = Sources::open(&settings).unwrap();
    sample::load_posts(&sources).await.unwrap();
    let context = SuggestionsContext::new(POST)
        .model(script())
        .access_token(Secret::new("a-token-of-somebody"))
        .locale("gsw-CH-1901");
    let store = MemoryCheckpointer::new();
    let graph = persisted_graph_in(store.clone());
    let done = invoke_question(&graph, context.connect_mcp(sources, None).await.unwrap()).thread("t").await.unwrap();
    let response = done.state.response.clone().unwrap();
    assert_eq!((response.m365.len(), response.unavailable_sources), (0, vec!["m365".to_owned()]));
    assert!(!response.docs.is_empty() && !response.posts.is_empty() && response.action_hint.is_some());

    let all = history(&graph, "t").await;
    let state = &all.last().unwrap().state;
    assert_eq!(state.tool_status["m365"], SourceStatus::Error);
    let tools = tool_messages(&state.messages);
    assert!(!tools[0].1 && tools[0].2.contains("401") && tools[2].1, "{tools:?}");
    // R-SUG-5: no value of the run context is part of the state or of any checkpoint.
    let fields = serde_json::to_value(&**state).unwrap();
    for field in ["mcpClient", "postId", "accessToken", "locale", "timeouts"] {
        assert!(fields.get(field).is_none(), "{field}");
    }
    let stored = stored_text(&store, "t").await;
    assert!(stored.contains(QUESTION) && stored.contains("\"kind\":\"once\""), "{stored}");
    assert!(!stored.contains("a-token-of-somebody") && !stored.contains("gsw-CH-1901"), "{stored}");
}

/// R-SUG-48, R-SUG-29, R-SUG-26: a model that always calls tools is called five times, the last time without tools.
#[tokio::test]
async fn a_model_that_keeps_calling_tools_is_forced_to_answer() {
    let fake = Fake::default().replies("search_docs", &json!([hit("doc", "Roll back", "docs/a.md", "How.")]));
    let model = ScriptedModel::default().when(|_| true, search(&[("search_docs", "again")]));
    let graph = persisted_graph();
    let done = invoke_question(&graph, fake.with(model.clone()).await).thread("t").await.unwrap();
    let requests = model.requests();
    let tools: Vec<usize> = requests.iter().map(|request| request.tools.len()).collect();
    assert_eq!((tools, fake.calls().len(), done.supersteps), (vec![5, 5, 5, 5, 0], 4, 10));
    assert!(requests[4].messages.last().unwrap().text().starts_with("No more tools"));
    assert_eq!(done.state.response.clone().unwrap().docs[0].url, "docs/a.md");
    let all = history(&graph, "t").await;
    let state = &all.last().unwrap().state;
    assert_eq!((state.llm_call_count, state.messages.len()), (5, 2 + 4 * 2 + 1));
    ensure_tool_results(&state.messages).unwrap();
}

/// R-SUG-27, R-SUG-34: one round has no tool calls, two rounds have one round of tool calls; a number out of range
/// is rejected, and every run takes two supersteps per round.
#[tokio::test]
async fn rounds_are_bounded() {
    for (rounds, searched) in [(1, 0), (2, 1), (3, 2), (20, 19)] {
        let fake = Fake::default();
        let model = ScriptedModel::default().when(|_| true, search(&[("search_docs", "again")]));
        let done =
            invoke_question(&create_suggestions_graph(rounds).unwrap(), fake.with(model.clone()).await).await.unwrap();
        assert_eq!((model.requests().len(), fake.calls().len()), (rounds as usize, searched));
        assert!(done.supersteps == u64::from(2 * rounds) && done.state.response.is_some());
    }
    for rounds in [0, 21] {
        assert_eq!(create_suggestions_graph(rounds).err().unwrap().code(), ErrorCode::ConfigInvalid);
    }
}

/// R-SUG-34: a graph of five rounds stops a loop after twelve supersteps, a graph of one round after four.
#[tokio::test]
async fn the_recursion_limit_is_two_more_than_the_supersteps_of_all_rounds() {
    for (rounds, limit) in [(1, 4), (5, 12), (20, 42)] {
        let mut graph = state_graph(rounds).unwrap();
        let endless = graph.add_node("endless", async || {});
        graph.add_edge(START, endless);
        graph.add_conditional_edges(endless, move |_: &SuggestionsState| Goto::node(endless), [endless.into(), END]);
        let context = Fake::default().with(ScriptedModel::new(["{}"])).await;
        let error = invoke_question(&graph.compile().unwrap(), context).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RecursionLimit, "{error}");
        assert!(error.message().contains(&format!("after {limit} supersteps")), "{error}");
    }
}

/// R-SUG-51: a run without an MCP client fails before the first model call.
#[tokio::test]
async fn without_a_client_the_model_is_not_called() {
    let model = ScriptedModel::new(["{}"]);
    let error =
        invoke_question(&create_suggestions_graph(5).unwrap(), SuggestionsContext::new(POST).model(model.clone()))
            .await
            .unwrap_err();
    assert_eq!((error.code(), model.requests().len()), (ErrorCode::MissingContext, 0));
    assert!(error.message().contains("mcpClient"), "{error}");
}

/// R-SUG-50: a post without text is rejected, also if the graph is called directly.
#[tokio::test]
async fn a_post_without_text_is_rejected() {
    assert_eq!(
        SuggestionsState::initial_state(" \n", &["aks".to_owned()], None).unwrap_err().code(),
        ErrorCode::InputInvalid
    );
    let model = ScriptedModel::new(["{}"]);
    let context = Fake::default().with(model.clone()).await;
    for input in [" ", ""] {
        let error = create_suggestions_graph(5).unwrap().invoke(input).context(context.clone()).await.unwrap_err();
        assert_eq!((error.code(), model.requests().len()), (ErrorCode::InputInvalid, 0));
    }
}

/// R-SUG-8: the prompt asks the model to expand the query, and says that tool results are data.
#[tokio::test]
async fn the_prompt_asks_for_two_or_three_queries() {
    let model = ScriptedModel::new(["{}"]);
    let input = SuggestionsState::initial_state(QUESTION, &["aks".to_owned()], Some("de")).unwrap();
    create_suggestions_graph(5)
        .unwrap()
        .invoke(input)
        .context(Fake::default().with(model.clone()).await)
        .await
        .unwrap();
    let request = &model.requests()[0];
    let system = request.messages[0].text().into_owned();
    for words in ["two or three", "synonyms", "broader", "search_m365", "JSON", "data", "`de`"] {
        assert!(system.contains(words), "{words}");
    }
    assert_eq!(request.messages[1].text(), format!("{QUESTION}\n\nTags: aks"));
}

/// R-SUG-6: a run changes no post.
#[tokio::test]
async fn no_post_is_changed() {
    let (_folder, sources, _clock) = sample_sources().await;
    let all = PostFilter { limit: 200, ..PostFilter::default() };
    let before = sources.posts().list(all.clone()).await.unwrap();
    invoke_question(&create_suggestions_graph(5).unwrap(), context_on(&sources, script()).await).await.unwrap();
    assert_eq!(sources.posts().list(all).await.unwrap(), before);
    assert!(before.posts.len() > 20);
}

/// R-SUG-24, R-SUG-25, R-SUG-26: the graph has three nodes and the documented edges.
#[test]
fn the_graph_is_drawn() {
    let drawing = create_suggestions_graph(MAX_TOOL_ROUNDS).unwrap().diagram();
    let nodes: Vec<&str> = drawing.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(nodes, ["__start__", "llmCall", "toolExec", "formatResponse", "__end__"]);
    let mut edges: Vec<(&str, &str, bool)> =
        drawing.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.kind.is_conditional())).collect();
    edges.sort_unstable();
    let expected = [
        ("__start__", "llmCall", false),
        ("formatResponse", "__end__", false),
        ("llmCall", "formatResponse", true),
        ("llmCall", "toolExec", true),
        ("toolExec", "llmCall", false),
    ];
    assert_eq!(edges, expected);
}
