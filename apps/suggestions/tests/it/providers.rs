//! The same graph with every model provider, each simulated by a local server that implements its API.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use superstep::settings::{Settings, SettingsSources};
use superstep_server::ModelRegistry;

use crate::fixtures::{HINT, POST, QUESTION, SEARCHES};
use crate::sources::Folder;
use crate::test_server::{events, start_server_with};

const KEY: &str = "sk-very-secret-0123456789";
/// Answer of the provider to the hint request. It names a document of the sample.
const HINT_TEXT: &str = "Read “Roll back a deployment” and undo the release.";
const DOCUMENT: &str = "docs/platform/rollback-a-deployment.md";

/// API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    OpenAi,
    Azure,
    Anthropic,
    Google,
}

const ALL: [Dialect; 4] = [Dialect::OpenAi, Dialect::Azure, Dialect::Anthropic, Dialect::Google];

/// Response of the provider: a text, or parallel tool calls.
enum ProviderReply {
    Text(String),
    Calls(Vec<(String, &'static str, Value)>),
}

/// One received request.
struct ReceivedRequest {
    uri: String,
    key: String,
    body: Value,
}

#[derive(Clone)]
struct Provider {
    dialect: Dialect,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Provider {
    async fn start(dialect: Dialect) -> (Self, String) {
        let provider = Self { dialect, requests: Arc::default() };
        let app = Router::new().fallback(answer).with_state(provider.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{}", listener.local_addr().unwrap(), dialect.base());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (provider, url)
    }

    /// Removes and returns the requests received since the last call.
    fn take(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

async fn answer(State(provider): State<Provider>, uri: Uri, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    let dialect = provider.dialect;
    let key = headers.get(dialect.key_header()).map(|key| key.to_str().unwrap().to_owned()).unwrap_or_default();
    let is_streamed = body["stream"] == true || uri.path().ends_with(":streamGenerateContent");
    let reply = scripted_reply(dialect, &body);
    provider.requests.lock().unwrap().push(ReceivedRequest { uri: uri.to_string(), key, body });
    let (kind, text) = match is_streamed {
        true => ("text/event-stream", dialect.streamed(&reply)),
        false => ("application/json", dialect.full_response(&reply).to_string()),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Returns the scripted response: four parallel searches, then the hint call, then the answer; for a request without
/// tools, the hint text.
fn scripted_reply(dialect: Dialect, body: &Value) -> ProviderReply {
    if !dialect.has_tools(body) {
        return ProviderReply::Text(HINT_TEXT.to_owned());
    }
    let call = |number: usize, tool, args| (format!("call_{number}"), tool, args);
    match dialect.results(body).len() {
        0 => ProviderReply::Calls(
            SEARCHES
                .into_iter()
                .enumerate()
                .map(|(at, tool)| call(at, tool, json!({ "query": "roll back" })))
                .collect(),
        ),
        4 => {
            let result = json!({ "title": "Roll back a deployment", "description": "", "sourceType": "doc" });
            ProviderReply::Calls(vec![call(4, HINT, json!({ "postText": QUESTION, "searchResults": [result] }))])
        }
        _ => ProviderReply::Text(json!({ "docs": [{ "url": DOCUMENT }], "actionHint": HINT_TEXT }).to_string()),
    }
}

impl Dialect {
    const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
        }
    }

    const fn base(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "/v1",
            Self::Azure => "",
            Self::Google => "/v1beta",
        }
    }

    /// Returns the path of the API.
    const fn api_path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Azure => "/openai/deployments/m/chat/completions",
            Self::Anthropic => "/v1/messages",
            Self::Google => "/v1beta/models/m:",
        }
    }

    const fn key_header(self) -> &'static str {
        match self {
            Self::OpenAi => "authorization",
            Self::Azure => "api-key",
            Self::Anthropic => "x-api-key",
            Self::Google => "x-goog-api-key",
        }
    }

    fn has_tools(self, body: &Value) -> bool {
        body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }

    /// Returns the tool results in a request, each with the id of its call.
    fn results(self, body: &Value) -> Vec<(String, String)> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match self {
            Self::OpenAi | Self::Azure => {
                let tools = list(&body["messages"]).into_iter().filter(|message| message["role"] == "tool");
                tools.map(|tool| (text(&tool["tool_call_id"]), tool["content"].to_string())).collect()
            }
            Self::Anthropic => {
                let blocks = list(&body["messages"]).into_iter().flat_map(|message| list(&message["content"]));
                let results = blocks.filter(|block| block["type"] == "tool_result");
                results.map(|result| (text(&result["tool_use_id"]), result["content"].to_string())).collect()
            }
            Self::Google => {
                let parts = list(&body["contents"]).into_iter().flat_map(|content| list(&content["parts"]));
                let results = parts.filter_map(|part| part.get("functionResponse").cloned());
                results.map(|result| (text(&result["name"]), result["response"].to_string())).collect()
            }
        }
    }

    /// Returns the identifier of a call in its result: Google uses the tool name, because it has no call ids.
    fn result_id(self, id: &str, tool: &str) -> String {
        if self == Self::Google { tool.to_owned() } else { id.to_owned() }
    }

    fn full_response(self, reply: &ProviderReply) -> Value {
        match self {
            Self::OpenAi | Self::Azure => {
                let (message, reason) = match reply {
                    ProviderReply::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
                    ProviderReply::Calls(calls) => {
                        let calls: Vec<Value> = calls.iter().map(openai_call).collect();
                        (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
                    }
                };
                let usage = json!({ "prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18 });
                json!({
                    "id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
                    "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
                })
            }
            Self::Anthropic => {
                let (content, reason) = match reply {
                    ProviderReply::Text(text) => (vec![json!({ "type": "text", "text": text })], "end_turn"),
                    ProviderReply::Calls(calls) => {
                        (calls.iter().map(|call| tool_use(call, &call.2)).collect(), "tool_use")
                    }
                };
                json!({
                    "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
                    "stop_reason": reason, "stop_sequence": null, "usage": { "input_tokens": 9, "output_tokens": 9 },
                })
            }
            Self::Google => {
                let parts: Vec<Value> = match reply {
                    ProviderReply::Text(text) => vec![json!({ "text": text })],
                    ProviderReply::Calls(calls) => calls
                        .iter()
                        .map(|(_, tool, args)| json!({ "functionCall": { "name": tool, "args": args } }))
                        .collect(),
                };
                let content = json!({ "role": "model", "parts": parts });
                let usage = json!({ "promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18 });
                json!({
                    "candidates": [{ "content": content, "index": 0, "finishReason": "STOP" }],
                    "usageMetadata": usage, "modelVersion": "m",
                })
            }
        }
    }

    fn streamed(self, reply: &ProviderReply) -> String {
        match self {
            Self::OpenAi | Self::Azure => {
                let chunk = |delta: Value, reason: Value| {
                    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
                    json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice] })
                };
                let deltas: Vec<Value> = match reply {
                    ProviderReply::Text(text) => vec![json!({ "role": "assistant", "content": text })],
                    ProviderReply::Calls(calls) => {
                        let indexed = calls.iter().map(openai_call).enumerate().map(|(index, mut call)| {
                            call["index"] = index.into();
                            json!({ "tool_calls": [call] })
                        });
                        indexed.collect()
                    }
                };
                let reason = if matches!(reply, ProviderReply::Text(_)) { "stop" } else { "tool_calls" };
                let chunks = deltas.into_iter().map(|delta| chunk(delta, Value::Null));
                let all = chunks.chain([chunk(json!({}), reason.into())]);
                all.map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n"
            }
            Self::Anthropic => anthropic_stream(reply),
            Self::Google => format!("data: {}\r\n\r\n", self.full_response(reply)),
        }
    }
}

fn openai_call((id, tool, args): &(String, &str, Value)) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": args.to_string() } })
}

fn tool_use((id, tool, _): &(String, &str, Value), input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": tool, "input": input })
}

fn anthropic_stream(reply: &ProviderReply) -> String {
    let (blocks, reason): (Vec<(Value, Value)>, &str) = match reply {
        ProviderReply::Text(text) => {
            let delta = json!({ "type": "text_delta", "text": text });
            (vec![(json!({ "type": "text", "text": "" }), delta)], "end_turn")
        }
        ProviderReply::Calls(calls) => {
            let block = |call: &(String, &'static str, Value)| {
                let delta = json!({ "type": "input_json_delta", "partial_json": call.2.to_string() });
                (tool_use(call, &json!({})), delta)
            };
            (calls.iter().map(block).collect(), "tool_use")
        }
    };
    let mut message = Dialect::Anthropic.full_response(&ProviderReply::Text(String::new()));
    (message["content"], message["stop_reason"]) = (json!([]), Value::Null);
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, (block, delta)) in blocks.into_iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Starts a server per provider and configures a model for each.
async fn configured() -> (Vec<Provider>, ModelRegistry) {
    let (mut providers, mut file) = (Vec::new(), String::new());
    for dialect in ALL {
        let (provider, url) = Provider::start(dialect).await;
        providers.push(provider);
        let name = dialect.name();
        file += &format!(
            "[models.my-{name}]\nprovider = '{name}'\nmodel = 'm'\nbase_url = '{url}'\napi_key = 'env:PROVIDER_KEY'\n"
        );
    }
    let sources = SettingsSources::new().toml("superstep.toml", &file).environment([("PROVIDER_KEY", KEY)]);
    (providers, ModelRegistry::from_settings(&Settings::parse(&sources).unwrap()))
}

/// Returns the parts of a response that do not depend on the model.
fn common(response: &Value) -> Value {
    let parts = ["m365", "docs", "issues", "posts", "actionHint", "queries", "unavailableSources", "warnings"];
    parts.iter().map(|part| response[part].clone()).collect()
}

/// Checks the requests of a provider: API key in its header, a result for every call, tools in every round.
fn check_requests(provider: &Provider, requests: &[ReceivedRequest]) {
    let dialect = provider.dialect;
    let key = if dialect == Dialect::OpenAi { format!("Bearer {KEY}") } else { KEY.to_owned() };
    assert!(requests.iter().all(|one| one.uri.starts_with(dialect.api_path()) && one.key == key), "{dialect:?}");
    // Three calls by the graph and one by the hint tool.
    let (graph, hint): (Vec<&ReceivedRequest>, Vec<&ReceivedRequest>) =
        requests.iter().partition(|one| dialect.has_tools(&one.body));
    assert_eq!((graph.len(), hint.len()), (3, 1), "{dialect:?}");
    let results = dialect.results(&graph[2].body);
    let tools = SEARCHES.into_iter().chain([HINT]).enumerate();
    let expected: Vec<String> = tools.map(|(at, tool)| dialect.result_id(&format!("call_{at}"), tool)).collect();
    assert_eq!(results.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), expected, "{dialect:?}");
    assert!(results[1].1.contains(DOCUMENT), "{dialect:?}: {results:?}");
    assert!(hint[0].body.to_string().contains("Propose one next action"), "{dialect:?}");
}

/// R-SUG-44: with OpenAI, Azure OpenAI, Anthropic and Google the same graph produces the same suggestions; the
/// searches of one message run concurrently, and the provider receives every result with the id of its call.
#[tokio::test]
async fn every_provider_produces_the_same_suggestions() {
    let folder = Folder::new();
    let (providers, models) = configured().await;
    let server = start_server_with(&folder, |_| {}, models).await;
    let mut all = Vec::new();
    for provider in &providers {
        let name = provider.dialect.name();
        let path = format!("/api/posts/{POST}/suggestions?model=my-{name}");
        let body = server.json(&path).await;
        check_requests(provider, &provider.take());
        assert_eq!(body["model"]["kind"], "remote", "{name}: {body}");
        assert_eq!(body["actionHint"], HINT_TEXT, "{name}: {body}");
        let urls: Vec<&str> = body["docs"].as_array().unwrap().iter().map(|one| one["url"].as_str().unwrap()).collect();
        assert!(urls.len() == 1 && urls[0].contains(DOCUMENT), "{name}: {urls:?}");

        let response = server.get(&format!("{path}&stream=1")).await.text().await.unwrap();
        assert!(!response.contains(KEY), "{name}");
        let published = events(&response);
        check_requests(provider, &provider.take());
        check_events(&published);
        assert_eq!(published.last().unwrap(), &("suggestions".to_owned(), body.clone()), "{name}");
        all.push(common(&body));
    }
    assert!(all.iter().all(|response| response == &all[0]), "{all:#?}");
}

/// Checks that a run has six supersteps and that the four searches of the first message overlap.
fn check_events(published: &[(String, Value)]) {
    let named = |event: &str| -> Vec<&str> {
        let events = published.iter().filter(|(name, _)| name == event);
        events.map(|(_, event)| event["name"].as_str().unwrap()).collect()
    };
    let nodes: Vec<&str> = named("on_chain_start").into_iter().filter(|name| *name != "suggestions").collect();
    assert_eq!(nodes, ["llmCall", "toolExec", "llmCall", "toolExec", "llmCall", "formatResponse"]);
    assert_eq!(named("on_chat_model_end").len(), 3);
    let tools: Vec<&str> =
        published.iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("on_tool_")).collect();
    let last_end = tools[..8].iter().rposition(|name| *name == "on_tool_end").unwrap();
    let started = tools[..last_end].iter().filter(|name| **name == "on_tool_start").count();
    assert_eq!((last_end, started), (7, 4), "{tools:?}");
}
