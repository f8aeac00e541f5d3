//! Tests of access checks: host names, origins, addresses.

use serde_json::{Value, json};
use superstep_server::{PortConflictPolicy, ServerConfig, Storage, serve};

use crate::support::{client, start_memory_server, start_server};

/// R-SRV-15a: a foreign host name is rejected, whatever address it resolves to.
#[tokio::test]
async fn requests_by_a_foreign_name_are_rejected() {
    let server = start_server(ServerConfig::new(Storage::memory()).allow_host("studio.example")).await;
    let port = server.inner.address().port();
    let rows = [
        ("localhost".to_owned(), 200),
        (format!("127.0.0.1:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        (format!("Studio.Example:{port}"), 200),
        (format!("evil.example:{port}"), 403),
        ("10.0.0.1".to_owned(), 403),
        ("localhost.evil.example".to_owned(), 403),
    ];
    for (host, expected) in rows {
        let response = server.client.get(server.url("/ok")).header("host", &host).send().await.unwrap();
        assert_eq!(response.status(), expected, "{host}");
    }
}

/// R-SRV-15a: pages of other origins can neither change nor read anything, unless the origin is allowed.
#[tokio::test]
async fn pages_of_other_origins_are_rejected_unless_listed() {
    let server = start_server(ServerConfig::new(Storage::memory()).allow_origin("https://studio.example/")).await;
    let own_origin = server.url("");
    let rows = [
        (Some(own_origin.as_str()), None, 202),
        (Some("https://studio.example"), None, 202),
        (Some("https://evil.example"), None, 403),
        (Some("null"), None, 403),
        (None, Some("cross-site"), 403),
        (None, None, 202),
    ];
    for (number, (origin, site, expected)) in rows.into_iter().enumerate() {
        let body = json!({"topic": "sea", "rounds": 1, "thread": format!("t{number}")});
        let mut request = server.client.post(server.url("/api/tales")).json(&body);
        request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
        request = site.into_iter().fold(request, |request, site| request.header("sec-fetch-site", site));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), expected, "{origin:?} {site:?}");
        let allowed =
            response.headers().get("access-control-allow-origin").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(allowed.as_deref(), origin.filter(|origin| *origin == "https://studio.example"));
        if expected == 202 {
            // One at a time, to stay below the limits.
            server.reader(&format!("t{number}"), None).await.read_all().await;
        }
    }
    let preflight =
        |origin| server.client.request(reqwest::Method::OPTIONS, server.url("/api/tales")).header("origin", origin);
    let response = preflight("https://studio.example").send().await.unwrap();
    assert_eq!(response.status(), 204);
    assert!(response.headers()["access-control-allow-methods"].to_str().unwrap().contains("POST"));
    assert_eq!(preflight("https://evil.example").send().await.unwrap().status(), 405);
    let default_server = start_memory_server().await;
    let request =
        default_server.client.post(default_server.url("/api/tales")).header("origin", "https://studio.example");
    let response = request.json(&json!({"topic": "sea", "rounds": 1})).send().await.unwrap();
    assert_eq!(response.status(), 403, "no origin is allowed by default");
    assert!(!response.headers().contains_key("access-control-allow-origin"));
}

/// R-SRV-15a: every response has a content security policy and `nosniff`.
#[tokio::test]
async fn every_response_has_security_headers() {
    let server = start_memory_server().await;
    for path in ["/", "/tale", "/tale/t1", "/ok", "/api/nothing", "/assets/none.js"] {
        let response = server.get(path).await;
        let policy = response.headers()["content-security-policy"].to_str().unwrap();
        assert_eq!(
            policy.split("; ").collect::<Vec<_>>(),
            [
                "default-src 'none'",
                "script-src 'self'",
                "style-src 'self'",
                "img-src 'self' data:",
                "connect-src 'self'",
                "font-src 'self'",
                "base-uri 'none'",
                "form-action 'self'",
                "frame-ancestors 'none'",
            ],
            "{path}"
        );
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(response.headers()["referrer-policy"], "no-referrer", "{path}");
    }
    let list = server.get("/").await.text().await.unwrap();
    assert!(list.contains("<a href=\"/tale\">Tales &lt;&amp;></a>"), "{list}");
    assert!(server.get("/tale").await.text().await.unwrap().starts_with("<!doctype html>"));
}

/// R-SRV-1a: a page that was not built is answered with the build command.
#[tokio::test]
async fn a_missing_page_names_the_build_command() {
    let app = superstep_server::App::new("lost", "Lost").page("lost.html");
    let server = serve(vec![app], ServerConfig::new(Storage::memory()).port(0)).await.unwrap();
    let response = client().get(server.url() + "/lost").send().await.unwrap();
    assert_eq!(response.status(), 404);
    let body: Value = response.json().await.unwrap();
    assert!(body["hint"].as_str().unwrap().contains("npm run build"));
}

/// R-SRV-1a: the server listens on loopback by default; other addresses need `allow_insecure`.
#[tokio::test]
async fn an_open_address_is_rejected_unless_insecure_is_set() {
    let config = || ServerConfig::new(Storage::memory()).host("0.0.0.0").port(0);
    let error = serve(vec![], config()).await.err().unwrap();
    assert!(error.to_string().contains("--insecure"), "{error}");
    let server = serve(vec![], config().allow_insecure()).await.unwrap();
    let url = format!("http://127.0.0.1:{}/ok", server.address().port());
    // A request sent to an IP address did not come through a foreign name; a request to a name must use an allowed
    // one.
    assert_eq!(client().get(&url).header("host", "192.168.1.7").send().await.unwrap().status(), 200);
    assert_eq!(client().get(&url).header("host", "evil.example").send().await.unwrap().status(), 403);
    let config = ServerConfig::new(Storage::memory());
    assert_eq!((config.host.as_str(), config.port), ("127.0.0.1", 8123));
    assert!(serve(vec![], config.port(0)).await.is_ok_and(|server| server.address().ip().is_loopback()));
}

/// R-SRV-21a: a port in use is an error, or the next free port is used if configured; IPv6 works.
#[tokio::test]
async fn a_taken_port_is_an_error_or_the_next_free_one() {
    let first = serve(vec![], ServerConfig::new(Storage::memory()).port(0)).await.unwrap();
    let used_port = first.address().port();
    let error = serve(vec![], ServerConfig::new(Storage::memory()).port(used_port)).await.err().unwrap();
    assert!(error.to_string().contains("server.port_in_use"), "{error}");
    let mut config = ServerConfig::new(Storage::memory()).port(used_port);
    config.port_in_use = PortConflictPolicy::NextFree;
    let second = serve(vec![], config).await.unwrap();
    assert!(second.address().port() > used_port);
    let third = serve(vec![], ServerConfig::new(Storage::memory()).host("::1").port(0)).await;
    match std::net::TcpListener::bind("[::1]:0") {
        Ok(_) => {
            let third = third.unwrap();
            assert!(third.url().starts_with("http://[::1]:"));
            assert_eq!(client().get(third.url() + "/ok").send().await.unwrap().status(), 200);
        }
        // This machine has no IPv6.
        Err(_) => assert!(third.is_err()),
    }
}
