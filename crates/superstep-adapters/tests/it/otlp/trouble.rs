//! Collectors that are not there, settings, and a program that has a registry already.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use superstep::Code;
use superstep_adapters::otlp::Exporter;

use super::{Chat, SECRET, agent, attributes, collector, received, script, sending};

/// R-FWK-88: a run is not harmed by a collector that is away, and whoever flushes is told.
#[tokio::test]
async fn a_collector_that_is_away_harms_no_run() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let exporter = Exporter::to(format!("http://127.0.0.1:{port}/")).header("authorization", SECRET);
    let (layer, guard) = exporter.layer().unwrap();
    use tracing_subscriber::layer::SubscriberExt;
    let listening = tracing::subscriber::set_default(tracing_subscriber::registry::Registry::default().with(layer));
    let agent = agent().compile().unwrap();
    agent.run(Chat::input().messages("Hi")).context(script()).await.unwrap();
    let error = guard.flush().unwrap_err();
    assert_eq!(error.code(), Code::StoreUnavailable);
    assert!(!format!("{error:?} {guard:?}").contains(SECRET));
    drop((guard, listening));
}

/// R-FWK-88: a header is sent, and its value is never shown.
#[tokio::test]
async fn headers_are_sent_and_not_shown() {
    let collector = collector();
    let exporter = Exporter::to(collector.url()).header("authorization", format!("Bearer {SECRET}")).queue(64);
    assert!(!format!("{exporter:?}").contains(SECRET) && format!("{exporter:?}").contains("authorization"));
    let agent = agent().compile().unwrap();
    let run = agent.run(Chat::input().messages("Hi")).context(script());
    sending(exporter, async { run.await.unwrap() }).await;
    let (requests, _) = received(&collector);
    assert_eq!(requests[0]["headers"]["authorization"], format!("Bearer {SECRET}"));
}

/// R-FWK-88: an address that is none is refused before anything runs, also in an async program.
#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    for address in ["no address", "", "127.0.0.1:4318", "localhost:4318", "ftp://127.0.0.1", "http://"] {
        let error = Exporter::to(address).install().unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid, "{address}");
        assert!(error.advice().is_some(), "{address}");
    }
}

/// R-FWK-88: a header that cannot be sent is refused, without its value.
#[tokio::test]
async fn a_header_that_is_none_is_refused() {
    for (name, value) in [("no name", SECRET.to_owned()), ("x-key", format!("{SECRET}\n"))] {
        let error = Exporter::to("http://127.0.0.1:4318").header(name, value).install().unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid, "{name}");
        assert!(error.to_string().contains(name) && !format!("{error} {error:?}").contains(SECRET));
    }
}

/// R-FWK-88: a collector that takes spans and never answers costs those, and not the next ones.
#[test]
fn a_silent_collector_does_not_stop_the_export() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["otlp::trouble::inside_of_a_patient_program", "--exact", "--nocapture"]).env(INSIDE, "1");
    program.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", listener.local_addr().unwrap()));
    program.env("OTEL_EXPORTER_OTLP_TIMEOUT", "5000");
    let mut program = program.spawn().unwrap();
    let (silent, _) = listener.accept().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut some = [0; 16 * 1024];
        assert!(connection.read(&mut some).unwrap() > 0);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        // What is not read yet would turn the end of the connection into a reset.
        while connection.read(&mut some).is_ok_and(|read| read > 0) {}
    });
    assert!(program.wait().unwrap().success());
    answering.join().unwrap();
    drop(silent);
}

/// The program of the test above; alone it does nothing.
#[test]
fn inside_of_a_patient_program() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let guard = Exporter::from_environment().install().unwrap();
    drop(tracing::info_span!("first"));
    assert_eq!(guard.flush().unwrap_err().code(), Code::StoreUnavailable);
    drop(tracing::info_span!("second"));
    guard.flush().unwrap();
}

/// The variable under which this program knows that it is the one inside of the next test.
const INSIDE: &str = "SUPERSTEP_TEST_OTLP_INSIDE";

/// R-FWK-88: installed for a whole program, what is not said comes from the environment in the standard way, and the
/// last spans are sent when the guard is dropped.
#[test]
fn the_environment_says_what_the_program_does_not() {
    let collector = collector();
    let name = "otlp::trouble::inside_of_a_program";
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args([name, "--exact", "--nocapture"]).env(INSIDE, "1");
    program.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_SERVICE_NAME", "from-outside");
    program.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=from-outside,x-own=from-outside");
    assert!(program.status().unwrap().success());
    let (requests, spans) = received(&collector);
    let resource = attributes(&requests[0]["spans"]["resourceSpans"][0]["resource"]);
    assert_eq!(resource["service.name"], "from-outside");
    assert_eq!(requests[0]["headers"]["x-key"], "from-outside");
    assert_eq!(requests[0]["headers"]["x-own"], "from 100%25 inside", "what the program says goes before, as it is");
    assert_eq!(spans.iter().filter(|span| span.name == "invoke_workflow agent").count(), 1);
}

/// The program of the test above; alone it does nothing.
#[test]
fn inside_of_a_program() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let guard = Exporter::from_environment().header("x-own", "from 100%25 inside").install().unwrap();
    assert_eq!(Exporter::from_environment().install().unwrap_err().code(), Code::ConfigInvalid);
    let agent = agent().compile().unwrap();
    agent.run(Chat::input().messages(SECRET)).context(script()).wait().unwrap();
    drop(guard);
}
