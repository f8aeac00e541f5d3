//! Liveness, health, measurements, the description of the API.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use superstep::settings::{Settings, Sources};
use superstep_server::{Config, PortInUse, ResumeRuns};

use crate::support::{in_memory, start_server};

/// R-SRV-17: liveness asks nobody; health tells stores, models, load and version, and no secret.
#[tokio::test]
async fn health_tells_what_there_is_and_no_secret() {
    let file = r#"
        [models.fast]
        provider = "openai"
        model = "m"
        api_key = "env:FAST_KEY"
        [models.bare]
        provider = "anthropic"
        model = "m"
    "#;
    let sources = Sources::new().toml("superstep.toml", file).environment([("FAST_KEY", "sk-very-secret")]);
    let settings = Settings::parse(&sources).unwrap();
    let served = start_server(Config::from_settings(&settings).await.unwrap()).await;
    assert_eq!(served.json("/ok").await, json!({"ok": true}));
    served.tale(json!({"topic": "sea", "gated": true})).await;
    let text = served.get("/api/health").await.text().await.unwrap();
    assert!(!text.contains("sk-very-secret") && !served.get("/metrics").await.text().await.unwrap().contains("sk-"));
    let health: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["stores"], json!({"kind": "memory", "checkpoints": true, "records": true}));
    assert_eq!(health["runs"], json!({"running": 1, "at_most": 256}));
    let configured: Vec<_> = health["models"].as_array().unwrap().iter().map(|model| &model["is_configured"]).collect();
    assert_eq!(configured, [&json!(false), &json!(true)]);
}

/// R-SRV-17: what runs do is measured, in the format of Prometheus.
#[tokio::test]
async fn runs_are_measured() {
    let served = in_memory().await;
    let id = served.tale(json!({"topic": "sea", "rounds": 2})).await;
    served.reader(&id, None).await.all().await;
    let answer = served.get("/metrics").await;
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text().await.unwrap();
    assert!(text.contains("superstep_runs_total{graph=\"tale\",outcome=\"finished\"} 1\n"), "{text}");
}

/// R-SRV-3: the description lists every route with its methods, and nothing that is not there.
#[tokio::test]
async fn the_description_lists_every_route() {
    let served = in_memory().await;
    let api = served.json("/api/openapi.json").await;
    assert!(api["openapi"].as_str().unwrap().starts_with("3."));
    let mut listed = BTreeSet::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            listed.insert(format!("{method} {path}"));
            // What is listed is there: anything but "nothing here" and "not for this method".
            let address = served.url(&path.replace("{id}", "none"));
            let method = reqwest::Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer = served.client.request(method, address).send().await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap());
            assert!(status != 405 && !text.contains("there is nothing at"), "{path}: {status} {text}");
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
    assert!(api["components"]["schemas"]["NewTale"].is_object());
}

/// R-SRV-16: what the settings say is what the server does; a list may stand in a variable.
#[tokio::test]
async fn settings_reach_the_server() {
    let file = "[server]\nbody_limit = 10\ndrain = \"2s\"\nresume = \"manual\"\nport_in_use = \"next\"";
    let hosts = [("SUPERSTEP_SERVER__ALLOWED_HOSTS", r#"["studio.example"]"#)];
    let settings = Settings::parse(&Sources::new().toml("superstep.toml", file).environment(hosts)).unwrap();
    let config = Config::from_settings(&settings).await.unwrap();
    assert_eq!((config.port_in_use, config.resume), (PortInUse::NextFree, ResumeRuns::OnRequest));
    assert_eq!((config.drain.as_secs(), config.max_runs, config.allowed_hosts.len()), (2, 256, 1));
    let served = start_server(config).await;
    let ask = served.client.get(served.url("/ok")).header("host", "studio.example");
    assert_eq!(ask.send().await.unwrap().status(), 200);
    assert_eq!(served.post("/api/tales", &json!({"topic": "sea"})).await.status(), 413);
    let wrong = Sources::new().toml("superstep.toml", "[server]\nallowed_hosts = \"one\"");
    assert!(Settings::parse(&wrong).unwrap_err().to_string().contains("expected a list of text"));
}
