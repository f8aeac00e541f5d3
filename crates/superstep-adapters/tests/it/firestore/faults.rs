//! Tests with a faulty connection to the server: every call succeeds, or its error states the known outcome.

use std::time::{Duration, Instant};

use superstep_adapters::firestore::FirestoreKeyValue;
use superstep_core::error::ErrorCode;
use superstep_core::port::{KeyValue, PutOptions};
use superstep_core::testing::block_on;

use super::{ONLY_NEW, PROJECT, collection, emulator, open, options, post};
use crate::server::{ProxyAction, Server};

fn error_response(status: u16, word: &str) -> ProxyAction {
    let body = format!(r#"{{"error":{{"code":{status},"status":"{word}","message":"planted"}}}}"#);
    ProxyAction::Answer(status, String::new(), body)
}

/// R-FWK-38: a permanent error is returned immediately with help, and the request is not repeated.
#[test]
fn permanent_errors_are_reported() {
    for (status, word, message) in [
        (403, "PERMISSION_DENIED", "denied access"),
        (404, "NOT_FOUND", "was not found"),
        (400, "INVALID_ARGUMENT", "rejected the request"),
        (401, "UNAUTHENTICATED", "rejected the access token"),
    ] {
        let server = Server::start(None, move |_| error_response(status, word));
        let error = block_on(options(&server.address, "c").connect()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(message) && text.contains("planted") && text.contains("help: "), "{text}");
        assert!(text.contains(&format!("projects/{PROJECT}/databases/(default)")), "{text}");
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, false));
        assert_eq!(server.received("batchget").len(), if status == 401 { 2 } else { 1 }, "{word}");
    }
    let server = Server::start(None, |_| ProxyAction::Answer(200, String::new(), "<html>a page</html>".to_owned()));
    let error = block_on(options(&server.address, "c").connect()).unwrap_err();
    assert!(error.message().contains("unexpected response"), "{error}");
}

mod on_the_emulator {
    use super::*;

    /// R-FWK-38: after a transient error a request is repeated, and every put and removal is executed once.
    #[test]
    fn transient_errors_are_retried() {
        let address = emulator();
        let busy = || error_response(503, "UNAVAILABLE");
        for actions in [
            vec![busy(), busy()],
            vec![error_response(409, "ABORTED"), error_response(504, "DEADLINE_EXCEEDED")],
            vec![ProxyAction::Cut],
            vec![ProxyAction::CutAfter],
            vec![ProxyAction::CutAfter, busy(), ProxyAction::Cut],
            vec![ProxyAction::Answer(502, String::new(), "<html>".to_owned())],
        ] {
            let name = collection();
            let direct = open(&options(&address, &name));
            let through = || Server::failing(&address, "commit", &actions);
            let store = |server: &Server| open(&options(&server.address, &name));
            let server = through();
            assert!(block_on(store(&server).put("new", b"1", ONLY_NEW)).unwrap(), "{actions:?}");
            assert!(server.received("commit").len() > actions.len().min(2) - 1, "{actions:?}");
            assert!(!block_on(store(&through()).put("new", b"2", ONLY_NEW)).unwrap(), "{actions:?}");
            assert_eq!(block_on(direct.get("new")).unwrap(), Some(b"1".to_vec()), "{actions:?}");
            assert!(block_on(store(&through()).put("new", b"3", PutOptions::default())).unwrap(), "{actions:?}");
            assert_eq!(block_on(direct.get("new")).unwrap(), Some(b"3".to_vec()), "{actions:?}");
            let removed = block_on(store(&through()).delete(&["new".to_owned()]));
            removed.unwrap();
            assert_eq!(block_on(direct.get("new")).unwrap(), None, "{actions:?}");
        }
    }

    /// R-FWK-38: reads are repeated as well.
    #[test]
    fn reads_are_retried() {
        let address = emulator();
        let name = collection();
        block_on(open(&options(&address, &name)).put("a", b"1", PutOptions::default())).unwrap();
        let actions = [ProxyAction::Pass, ProxyAction::Cut, error_response(503, "UNAVAILABLE"), ProxyAction::CutAfter];
        let server = Server::failing(&address, "batchget", &actions);
        assert_eq!(block_on(open(&options(&server.address, &name)).get("a")).unwrap(), Some(b"1".to_vec()));
        let server = Server::failing(&address, "runquery", &actions[1..]);
        assert_eq!(block_on(open(&options(&server.address, &name)).list("", None, 9)).unwrap(), ["a"]);
        assert_eq!(server.received("runquery").len(), 4);
    }

    /// R-FWK-38: a delayed request of an earlier attempt does not undo a later put.
    #[test]
    fn a_late_request_changes_nothing() {
        let address = emulator();
        let name = collection();
        let direct = open(&options(&address, &name));
        block_on(direct.put("a", b"old", PutOptions::default())).unwrap();
        let server = Server::failing(&address, "commit", &[ProxyAction::Cut]);
        block_on(open(&options(&server.address, &name)).put("a", b"ours", PutOptions::default())).unwrap();
        block_on(direct.put("a", b"theirs", PutOptions::default())).unwrap();
        // The first attempt, which was lost, arrives late.
        let late: serde_json::Value = serde_json::from_str(&server.received("commit")[0].text()).unwrap();
        let response = post(&address, "commit", &late);
        assert_eq!(response["error"]["status"], "FAILED_PRECONDITION", "{response}");
        assert_eq!(block_on(direct.get("a")).unwrap(), Some(b"theirs".to_vec()));
    }

    /// R-FWK-38: the retry delay that a server requests is respected.
    #[test]
    fn the_server_may_ask_to_wait() {
        let address = emulator();
        let wait = |seconds: u32| {
            let body = r#"{"error":{"status":"RESOURCE_EXHAUSTED","message":"quota"}}"#.to_owned();
            ProxyAction::Answer(429, format!("retry-after: {seconds}\r\n"), body)
        };
        let server = Server::failing(&address, "commit", &[wait(1), wait(3600)]);
        let store = open(&options(&server.address, &collection()));
        let started = Instant::now();
        let error = block_on(store.put("a", b"1", ONLY_NEW)).unwrap_err();
        assert!(started.elapsed() >= Duration::from_secs(1), "the retry delay was not observed");
        assert!(started.elapsed() < Duration::from_secs(3600), "a retry delay beyond the timeout was observed");
        assert!(error.is_retryable() && error.message().contains("quota"), "{error}");
        assert!(block_on(store.put("a", b"1", ONLY_NEW)).unwrap());
    }

    /// R-FWK-38: a request without a response is repeated, and fails after the retry timeout.
    #[test]
    fn a_server_without_a_response_fails_after_the_timeout() {
        let address = emulator();
        let name = collection();
        let server = Server::failing(&address, "commit", &[ProxyAction::Hang]);
        let store = open(&options(&server.address, &name).retry_timeout(Duration::from_secs(6)));
        assert!(block_on(store.put("a", b"1", ONLY_NEW)).unwrap());

        let server = Server::failing(&address, "commit", &vec![ProxyAction::Hang; 99]);
        let store = open(&options(&server.address, &name).retry_timeout(Duration::from_secs(6)));
        let error = block_on(store.put("b", b"1", ONLY_NEW)).unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true));
        assert!(
            error.to_string().contains("request timed out") && error.to_string().contains("may or may not"),
            "{error}"
        );

        let unreachable =
            FirestoreKeyValue::options(PROJECT).emulator("127.0.0.1:1").retry_timeout(Duration::from_millis(300));
        let error = block_on(unreachable.connect()).unwrap_err();
        assert!(error.is_retryable() && error.message().contains("127.0.0.1:1"), "{error}");
    }

    /// R-FWK-38: a rejection after an attempt without a response leaves the outcome open.
    #[test]
    fn a_rejection_after_a_lost_response_leaves_the_outcome_open() {
        let address = emulator();
        let name = collection();
        let server =
            Server::failing(&address, "commit", &[ProxyAction::CutAfter, error_response(403, "PERMISSION_DENIED")]);
        let error = block_on(open(&options(&server.address, &name)).put("a", b"1", ONLY_NEW)).unwrap_err();
        assert!(error.is_retryable() && error.to_string().contains("may or may not"), "{error}");
        assert_eq!(block_on(open(&options(&address, &name)).get("a")).unwrap(), Some(b"1".to_vec()));
    }
}
