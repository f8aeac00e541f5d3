//! Faulty connections to the server, and servers with missing capabilities.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use superstep_core::error::ErrorCode;
use superstep_core::port::{KeyValue, PutOptions};
use superstep_core::testing::block_on;

use super::{ONLY_NEW, open, options, own_folder};
use crate::server::{ProxyAction, ReceivedRequest, Server};

fn error_response(status: u16, code: &str) -> ProxyAction {
    ProxyAction::Answer(status, String::new(), format!("<Error><Code>{code}</Code><Message>planted</Message></Error>"))
}

/// Starts an empty server that responds like S3 unless `decide` returns something else.
fn empty_server(mut decide: impl FnMut(&ReceivedRequest) -> Option<ProxyAction> + Send + 'static) -> Server {
    Server::start(None, move |request| {
        decide(request).unwrap_or_else(|| match request.is("list-type=2") {
            true => ProxyAction::Answer(200, String::new(), "<ListBucketResult></ListBucketResult>".to_owned()),
            false => error_response(412, "PreconditionFailed"),
        })
    })
}

/// R-FWK-40: a server that ignores conditions is rejected when connecting.
#[test]
fn a_server_that_ignores_conditions_is_rejected() {
    for (ignored, header) in [("if-none-match", "If-None-Match"), ("if-match", "If-Match")] {
        let server = empty_server(move |request| {
            let is_ignored = request.is("put ") && request.head.contains(&format!("\r\n{ignored}:"));
            is_ignored.then(|| ProxyAction::Answer(200, String::new(), String::new()))
        });
        let error = block_on(options(&format!("http://{}", server.address), "f").connect()).unwrap_err();
        assert!(error.message().contains(&format!("ignores `{header}`")), "{error}");
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, false));
    }
}

/// R-FWK-40: error responses are returned with help; a response of another service is reported as such.
#[test]
fn error_responses_are_reported() {
    for (status, code, message) in [
        (403, "AccessDenied", "denied access"),
        (400, "ExpiredToken", "rejected the session token"),
        (301, "PermanentRedirect", "is in another region"),
        (501, "NotImplemented", "does not support the request"),
        (400, "InvalidRequest", "rejected the request"),
    ] {
        let server = Server::start(None, move |_| error_response(status, code));
        let error = block_on(options(&format!("http://{}", server.address), "f").connect()).unwrap_err();
        assert!(error.message().contains(message) && error.message().contains("planted"), "{error}");
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, false));
        assert_eq!(server.received("http").len(), 1, "{code}");
    }
    let server = Server::start(None, |_| ProxyAction::Answer(200, String::new(), "<html>a page</html>".to_owned()));
    let error = block_on(options(&format!("http://{}", server.address), "f").connect()).unwrap_err();
    assert!(error.message().contains("unexpected response"), "{error}");
}

/// R-FWK-40: an object of another program in the folder results in an error with its name.
#[test]
fn a_foreign_object_is_named() {
    let server = empty_server(|request| {
        let is_object = request.is("get ") && request.is("/f/theirs ");
        is_object
            .then(|| ProxyAction::Answer(200, "etag: \"1\"\r\n".to_owned(), "a page of somebody else\n".to_owned()))
    });
    let store = open(&options(&format!("http://{}", server.address), "f"));
    for error in
        [block_on(store.get("theirs")).unwrap_err(), block_on(store.put("theirs", b"1", ONLY_NEW)).unwrap_err()]
    {
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
        assert!(error.message().contains("`theirs`") && !error.to_string().contains("a page"), "{error}");
    }
}

/// R-FWK-40: with a wrong local clock, the time of the server is used and the request is signed again.
#[test]
fn a_wrong_clock_is_set_right() {
    let server = empty_server(|request| {
        let is_dated = request.head.contains("x-amz-date: 20400101t0000");
        let date = "date: Sun, 01 Jan 2040 00:00:00 GMT\r\n".to_owned();
        let body = "<Error><Code>RequestTimeTooSkewed</Code></Error>".to_owned();
        (!is_dated).then_some(ProxyAction::Answer(403, date, body))
    });
    block_on(options(&format!("http://{}", server.address), "f").connect()).unwrap();
    assert_eq!(server.received("list-type=2").len(), 2);
}

/// R-FWK-40: a retry delay requested by the server is respected, and a request without a response is given up.
#[test]
fn a_requested_retry_delay_is_respected_until_the_timeout() {
    let mut actions =
        VecDeque::from([ProxyAction::Cut, ProxyAction::Answer(503, "retry-after: 1\r\n".to_owned(), String::new())]);
    let server = empty_server(move |request| if request.is("list-type=2") { actions.pop_front() } else { None });
    let started = Instant::now();
    block_on(options(&format!("http://{}", server.address), "f").connect()).unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1), "the retry delay was not observed");

    let server = empty_server(|_| Some(ProxyAction::Hang));
    let options = options(&format!("http://{}", server.address), "f").retry_timeout(Duration::from_millis(600));
    let error = block_on(options.connect()).unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true));
    assert!(error.to_string().contains("request timed out") && error.to_string().contains("may or may not"), "{error}");
}

mod on_a_server {
    use super::super::shared;
    use super::*;

    /// R-FWK-40: transient errors are retried, and every put and delete takes effect once.
    #[test]
    fn transient_errors_are_retried() {
        let upstream = shared().url();
        let upstream = upstream.strip_prefix("http://").unwrap();
        let busy = || error_response(503, "SlowDown");
        for actions in [
            vec![busy(), busy()],
            vec![error_response(409, "ConditionalRequestConflict")],
            vec![ProxyAction::Cut],
            vec![ProxyAction::CutAfter],
            vec![ProxyAction::CutAfter, busy(), ProxyAction::Cut],
        ] {
            let name = own_folder();
            let direct = open(&options(&format!("http://{upstream}"), &name));
            let through = |method: &'static str| {
                let mut actions: VecDeque<ProxyAction> = actions.iter().cloned().collect();
                let server =
                    Server::start(Some(upstream), move |request| match request.is(method) && request.is("/new ") {
                        true => actions.pop_front().unwrap_or(ProxyAction::Pass),
                        false => ProxyAction::Pass,
                    });
                let store = open(&options(&format!("http://{}", server.address), &name));
                (server, store)
            };
            let (server, store) = through("put ");
            assert!(block_on(store.put("new", b"1", ONLY_NEW)).unwrap(), "{actions:?}");
            assert!(server.received("/new ").len() > 1, "{actions:?}");
            assert!(!block_on(through("put ").1.put("new", b"2", ONLY_NEW)).unwrap(), "{actions:?}");
            assert_eq!(block_on(through("get ").1.get("new")).unwrap(), Some(b"1".to_vec()), "{actions:?}");
            assert!(block_on(through("put ").1.put("new", b"3", PutOptions::default())).unwrap(), "{actions:?}");
            assert_eq!(block_on(direct.get("new")).unwrap(), Some(b"3".to_vec()), "{actions:?}");
            block_on(through("delete ").1.delete(&["new".to_owned()])).unwrap();
            assert_eq!(block_on(direct.get("new")).unwrap(), None, "{actions:?}");
        }
    }

    /// R-FWK-40: a rejection after an attempt without a response leaves the outcome open.
    #[test]
    fn a_rejection_after_a_lost_response_leaves_the_outcome_open() {
        let upstream = shared().url();
        let name = own_folder();
        let actions = [ProxyAction::CutAfter, error_response(403, "AccessDenied")];
        let server = Server::failing(upstream.strip_prefix("http://").unwrap(), "/a ", &actions);
        let store = open(&options(&format!("http://{}", server.address), &name));
        let error = block_on(store.put("a", b"1", ONLY_NEW)).unwrap_err();
        assert!(error.is_retryable() && error.to_string().contains("may or may not"), "{error}");
        assert_eq!(block_on(open(&options(&upstream, &name)).get("a")).unwrap(), Some(b"1".to_vec()));
        let sent = server.received("/a ")[0].text();
        assert!(
            sent.starts_with("superstep1 ") && sent.ends_with("\n1"),
            "a change of the object format needs a new version: {sent}"
        );
    }
}
