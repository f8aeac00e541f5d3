//! Web tools, against servers on localhost.

use axum::extract::Query;
use axum::http::{StatusCode, header};
use axum::response::{Html, Redirect};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use superstep::tools::SharedTool;
use superstep_assistant::tools::{ToolSettings, WebSettings, tools};
use tokio::net::TcpListener;

use super::{call, caller, kind, shop};

async fn start_server(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn tools_with(web: WebSettings) -> Vec<SharedTool> {
    tools(&ToolSettings { web: Some(web), ..ToolSettings::new(shop()) }).unwrap()
}

async fn fetch(tools: &[SharedTool], url: &str) -> Result<Value, String> {
    call(tools, "fetch_url", json!({ "url": url }), &caller(&[], &[])).await
}

fn site() -> Router {
    let page = "<title>Tea</title><script>steal()</script><h1>Green</h1><p>Steep it.</p>";
    Router::new()
        .route("/page", get(move || async move { Html(page) }))
        .route("/plain", get(|| async { "just text" }))
        .route("/moved", get(|| async { Redirect::temporary("/page") }))
        .route("/away", get(|| async { Redirect::temporary("http://169.254.169.254/latest") }))
        .route("/circle", get(|| async { Redirect::temporary("/circle") }))
        .route("/image", get(|| async { ([(header::CONTENT_TYPE, "image/png")], "png") }))
        .route("/broken", get(|| async { StatusCode::BAD_GATEWAY }))
        .route("/long", get(|| async { "é".repeat(200_000) }))
}

/// R-PLN-54: a page of an allowed host is fetched as text; redirects are followed only to allowed hosts.
#[tokio::test]
async fn pages_of_allowed_hosts_are_fetched() {
    let address = start_server(site()).await;
    let tools = tools_with(WebSettings { private: vec![address.clone()], ..WebSettings::default() });
    let page = fetch(&tools, &format!("http://{address}/page")).await.unwrap();
    assert_eq!((&page["title"], &page["text"]), (&json!("Tea"), &json!("Green\n\nSteep it.")));
    let moved = fetch(&tools, &format!("http://{address}/moved")).await.unwrap();
    assert_eq!(moved["url"], format!("http://{address}/page"));
    assert_eq!(fetch(&tools, &format!("http://{address}/plain")).await.unwrap()["text"], "just text");
    let long = fetch(&tools, &format!("http://{address}/long")).await.unwrap();
    assert_eq!((&long["truncated"], long["text"].as_str().unwrap().len()), (&json!(true), 256 * 1024));
    for (path, expected) in
        [("away", "refused"), ("circle", "unavailable"), ("image", "unavailable"), ("broken", "unavailable")]
    {
        assert_eq!(kind(&fetch(&tools, &format!("http://{address}/{path}")).await), expected, "{path}");
    }
    assert_eq!(kind(&fetch(&tools, "nonsense").await), "invalid");
}

/// R-PLN-54: hosts that are not listed are not contacted, and neither are private addresses behind a listed name.
#[tokio::test]
async fn private_addresses_are_not_fetched() {
    let address = start_server(site()).await;
    let port = address.rsplit_once(':').unwrap().1;
    let tools = tools_with(WebSettings {
        hosts: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        ..WebSettings::default()
    });
    for url in [
        format!("http://{address}/page"),
        format!("https://{address}/page"),
        format!("http://localhost:{port}/page"),
        "https://192.168.0.1/".to_owned(),
        "https://elsewhere.example/".to_owned(),
    ] {
        assert_eq!(kind(&fetch(&tools, &url).await), "refused", "{url}");
    }
    // The name is listed, but its address is private.
    let named = fetch(&tools, &format!("https://localhost:{port}/page")).await.unwrap_err();
    assert!(named.starts_with("unavailable: ") && named.contains(", a private address"), "{named}");
}

/// R-PLN-54: the search engine is queried, and its results contain titles, URLs and excerpts.
#[tokio::test]
async fn a_search_engine_is_queried() {
    let answer = |Query(params): Query<BTreeMap<String, String>>| async move {
        if params["q"] == "busy" {
            return (StatusCode::TOO_MANY_REQUESTS, Json(json!({})));
        }
        let result = json!({"title": params["q"], "url": "https://a.example", "content": "c", "engine": "x"});
        (StatusCode::OK, Json(json!({"results": [result], "format": params["format"]})))
    };
    let address = start_server(Router::new().route("/search", get(answer))).await;
    let tools = tools_with(WebSettings { search: Some(format!("http://{address}/")), ..WebSettings::default() });
    assert!(tools.iter().all(|tool| tool.spec().name != "fetch_url"), "an unconfigured tool is absent");
    let ana = caller(&[], &[]);
    let output = call(&tools, "web_search", json!({"query": "green & tea"}), &ana).await.unwrap();
    assert_eq!(output, json!({"results": [{"title": "green & tea", "url": "https://a.example", "text": "c"}]}));
    assert_eq!(kind(&call(&tools, "web_search", json!({"query": "busy"}), &ana).await), "unavailable");
}
