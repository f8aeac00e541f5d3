//! Unreachable collectors, settings, and programs with an existing registry.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use superstep::ErrorCode;
use superstep_adapters::otlp::OtlpExporter;

use super::{Chat, SECRET, agent, attributes, collector, received, script, with_export};

/// R-FWK-88: an unreachable collector does not affect a run, and `flush` returns an error.
#[tokio::test]
async fn an_unreachable_collector_does_not_affect_a_run() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let exporter = OtlpExporter::new(format!("http://127.0.0.1:{port}/")).header("authorization", SECRET);
    let (layer, guard) = exporter.layer().unwrap();
    use tracing_subscriber::layer::SubscriberExt;
    let subscriber_guard =
        tracing::subscriber::set_default(tracing_subscriber::registry::Registry::default().with(layer));
    let agent = agent().compile().unwrap();
    agent.invoke(Chat::input().messages("Hi")).context(script()).await.unwrap();
    let error = guard.flush().unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    assert!(!format!("{error:?} {guard:?}").contains(SECRET));
    drop((guard, subscriber_guard));
}

/// R-FWK-88: a header is sent, and its value appears in no debug output.
#[tokio::test]
async fn headers_are_sent_and_not_shown() {
    let collector = collector();
    let exporter = OtlpExporter::new(collector.url()).header("authorization", format!("Bearer {SECRET}")).queue(64);
    assert!(!format!("{exporter:?}").contains(SECRET) && format!("{exporter:?}").contains("authorization"));
    let agent = agent().compile().unwrap();
    let run = agent.invoke(Chat::input().messages("Hi")).context(script());
    with_export(exporter, async { run.await.unwrap() }).await;
    let (requests, _) = received(&collector);
    assert_eq!(requests[0]["headers"]["authorization"], format!("Bearer {SECRET}"));
}

/// R-FWK-88: an invalid address is rejected at installation, also in an async program.
#[tokio::test]
async fn an_invalid_address_is_rejected() {
    for address in ["no address", "", "127.0.0.1:4318", "localhost:4318", "ftp://127.0.0.1", "http://"] {
        let error = OtlpExporter::new(address).install().unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{address}");
        assert!(error.help().is_some(), "{address}");
    }
}

/// R-FWK-88: an invalid header is rejected without showing its value.
#[tokio::test]
async fn an_invalid_header_is_rejected() {
    for (name, value) in [("no name", SECRET.to_owned()), ("x-key", format!("{SECRET}\n"))] {
        let error = OtlpExporter::new("http://127.0.0.1:4318").header(name, value).install().unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{name}");
        assert!(error.to_string().contains(name) && !format!("{error} {error:?}").contains(SECRET));
    }
}

/// R-FWK-88: a collector that accepts a request and never responds loses those spans only.
#[test]
fn an_unresponsive_collector_does_not_stop_the_export() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program
        .args(["otlp::errors::child_process_with_an_unresponsive_collector", "--exact", "--nocapture"])
        .env(CHILD_VARIABLE, "1");
    program.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", listener.local_addr().unwrap()));
    program.env("OTEL_EXPORTER_OTLP_TIMEOUT", "5000");
    let mut program = program.spawn().unwrap();
    let (silent, _) = listener.accept().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut buffer = [0; 16 * 1024];
        assert!(connection.read(&mut buffer).unwrap() > 0);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        // Closing a connection with unread data would reset it.
        while connection.read(&mut buffer).is_ok_and(|read| read > 0) {}
    });
    assert!(program.wait().unwrap().success());
    answering.join().unwrap();
    drop(silent);
}

/// Child process of the test above; does nothing when run alone.
#[test]
fn child_process_with_an_unresponsive_collector() {
    if std::env::var_os(CHILD_VARIABLE).is_none() {
        return;
    }
    let guard = OtlpExporter::from_environment().install().unwrap();
    drop(tracing::info_span!("first"));
    assert_eq!(guard.flush().unwrap_err().code(), ErrorCode::StoreUnavailable);
    drop(tracing::info_span!("second"));
    guard.flush().unwrap();
}

/// Environment variable that marks the child process of a test.
const CHILD_VARIABLE: &str = "SUPERSTEP_TEST_OTLP_INSIDE";

/// R-FWK-88: an exporter installed for the whole program reads other settings from the standard environment
/// variables, and sends the remaining spans when the guard is dropped.
#[test]
fn unset_options_are_read_from_the_environment() {
    let collector = collector();
    let name = "otlp::errors::child_process_with_environment_options";
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args([name, "--exact", "--nocapture"]).env(CHILD_VARIABLE, "1");
    program.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_SERVICE_NAME", "from-outside");
    program.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=from-outside,x-own=from-outside");
    assert!(program.status().unwrap().success());
    let (requests, spans) = received(&collector);
    let resource = attributes(&requests[0]["spans"]["resourceSpans"][0]["resource"]);
    assert_eq!(resource["service.name"], "from-outside");
    assert_eq!(requests[0]["headers"]["x-key"], "from-outside");
    assert_eq!(
        requests[0]["headers"]["x-own"], "from 100%25 inside",
        "a header set in code takes precedence over the environment"
    );
    assert_eq!(spans.iter().filter(|span| span.name == "invoke_workflow agent").count(), 1);
}

/// Child process of the test above; does nothing when run alone.
#[test]
fn child_process_with_environment_options() {
    if std::env::var_os(CHILD_VARIABLE).is_none() {
        return;
    }
    let guard = OtlpExporter::from_environment().header("x-own", "from 100%25 inside").install().unwrap();
    assert_eq!(OtlpExporter::from_environment().install().unwrap_err().code(), ErrorCode::ConfigInvalid);
    let agent = agent().compile().unwrap();
    agent.invoke(Chat::input().messages(SECRET)).context(script()).wait_blocking().unwrap();
    drop(guard);
}
