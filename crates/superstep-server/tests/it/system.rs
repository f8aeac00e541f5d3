//! Tests of liveness, health, metrics and the OpenAPI document.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use superstep::settings::{Settings, SettingsSources};
use superstep_server::{PortConflictPolicy, RecoveryMode, ServerConfig};

use crate::support::{start_memory_server, start_server};

/// R-SRV-17a: the server is alive; health contains storage, models, load and version, and no secret.
#[tokio::test]
async fn health_reports_components_and_no_secret() {
    let file = r#"
        [models.fast]
        provider = "openai"
        model = "m"
        api_key = "env:FAST_KEY"
        [models.bare]
        provider = "anthropic"
        model = "m"
    "#;
    let sources = SettingsSources::new().toml("superstep.toml", file).environment([("FAST_KEY", "sk-very-secret")]);
    let settings = Settings::parse(&sources).unwrap();
    let server = start_server(ServerConfig::from_settings(&settings).await.unwrap()).await;
    assert_eq!(server.json("/ok").await, json!({"ok": true}));
    server.start_story(json!({"topic": "sea", "gated": true})).await;
    let text = server.get("/api/health").await.text().await.unwrap();
    assert!(!text.contains("sk-very-secret") && !server.get("/metrics").await.text().await.unwrap().contains("sk-"));
    let health: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["stores"], json!({"kind": "memory", "checkpoints": true, "records": true}));
    assert_eq!(health["runs"], json!({"running": 1, "at_most": 256}));
    let configured: Vec<_> = health["models"].as_array().unwrap().iter().map(|model| &model["is_configured"]).collect();
    assert_eq!(configured, [&json!(false), &json!(true)]);
}

/// R-FWK-89: runs are measured, in the Prometheus text format.
#[tokio::test]
async fn runs_are_measured() {
    let server = start_memory_server().await;
    let id = server.start_story(json!({"topic": "sea", "rounds": 2})).await;
    server.reader(&id, None).await.read_all().await;
    let response = server.get("/metrics").await;
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = response.text().await.unwrap();
    assert!(text.contains("superstep_runs_total{graph=\"tale\",outcome=\"finished\"} 1\n"), "{text}");
}

/// R-SRV-3a: the OpenAPI document lists every route with its methods, and nothing else.
#[tokio::test]
async fn the_openapi_document_lists_every_route() {
    let server = start_memory_server().await;
    let api = server.json("/api/openapi.json").await;
    assert!(api["openapi"].as_str().unwrap().starts_with("3."));
    let mut listed = BTreeSet::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            listed.insert(format!("{method} {path}"));
            // Every listed route exists: the response is neither "no resource" nor 405.
            let url = server.url(&path.replace("{id}", "none"));
            let method = reqwest::Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let response = server.client.request(method, url).send().await.unwrap();
            let (status, text) = (response.status(), response.text().await.unwrap());
            assert!(status != 405 && !text.contains("no resource at"), "{path}: {status} {text}");
        }
    }
    let expected = [
        "delete /api/tales/{id}",
        "get /api/health",
        "get /api/tales/{id}",
        "get /api/tales/{id}/stream",
        "get /metrics",
        "get /ok",
        "post /api/tales",
        "post /api/tales/{id}/answer",
    ];
    assert_eq!(listed, expected.map(str::to_owned).into());
    assert!(api["components"]["schemas"]["NewStory"].is_object());
}

/// R-SRV-16a: the server follows its settings; a list may come from an environment variable.
#[tokio::test]
async fn settings_reach_the_server() {
    let file = "[server]\nbody_limit = 10\ndrain_timeout = \"2s\"\nrecovery = \"manual\"\nport_in_use = \"next\"";
    let hosts = [("SUPERSTEP_SERVER__ALLOWED_HOSTS", r#"["studio.example"]"#)];
    let settings = Settings::parse(&SettingsSources::new().toml("superstep.toml", file).environment(hosts)).unwrap();
    let config = ServerConfig::from_settings(&settings).await.unwrap();
    assert_eq!((config.port_in_use, config.recovery), (PortConflictPolicy::NextFree, RecoveryMode::Manual));
    assert_eq!((config.drain_timeout.as_secs(), config.max_concurrent_runs, config.allowed_hosts.len()), (2, 256, 1));
    let server = start_server(config).await;
    let request = server.client.get(server.url("/ok")).header("host", "studio.example");
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert_eq!(server.post("/api/tales", &json!({"topic": "sea"})).await.status(), 413);
    let invalid = SettingsSources::new().toml("superstep.toml", "[server]\nallowed_hosts = \"one\"");
    assert!(Settings::parse(&invalid).unwrap_err().to_string().contains("expected a list of strings"));
}
