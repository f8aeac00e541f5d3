//! Tests of debates over HTTP, with the real binary.

use serde_json::{Value, json};

use crate::server_process::{HttpResponse, ServerProcess};
use crate::support::Folder;

/// Arguments that disable the typing delay.
const NO_TYPING_DELAY: [&str; 2] = ["--pace", "0"];

/// R-DEB-30, R-DEB-46: `curl -N -X POST …/api/debate -d '{…}'` streams events of version 2, from the start of the
/// graph to its end; curl sends the content type of a form.
#[test]
fn a_request_of_curl_starts_a_debate() {
    let folder = Folder::empty("curl");
    let server = ServerProcess::start(&folder, &NO_TYPING_DELAY);
    let headers = "User-Agent: curl/7.88.1\r\nAccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let body = r#"{"topic":"Should AI be regulated?","maxRounds":3}"#;
    let response = HttpResponse::read(server.request("POST /api/debate", headers, body));
    assert_eq!(response.status, 200, "{}", response.body);
    assert!(response.headers.contains("content-type: text/event-stream"), "{}", response.headers);
    let events: Vec<Value> = response
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let (first, last) = (&events[0], events.last().unwrap());
    assert_eq!((&first["event"], &first["name"]), (&json!("on_chain_start"), &json!("debate")));
    assert_eq!((&last["event"], &last["name"]), (&json!("on_chain_end"), &json!("debate")));
    let output = &last["data"]["output"];
    assert_eq!((&output["status"], output["messages"].as_array().unwrap().len()), (&json!("completed"), 8));
    assert_eq!(events.iter().filter(|event| event["event"] == "on_chat_model_start").count(), 7);
}

/// R-DEB-47, R-DEB-33: with `approval: "each_round"` the user is asked three times; a debate ended at the first
/// approval has a summary after one round.
#[test]
fn a_user_continues_or_ends_a_debate() {
    let folder = Folder::empty("approvals");
    let server = ServerProcess::start(&folder, &NO_TYPING_DELAY);
    for (id, approvals, round, messages) in [("on", &[true, true, true][..], 3, 8), ("ended", &[false][..], 1, 4)] {
        let body = json!({
            "topic": "Should AI be regulated?", "maxRounds": 3, "approval": "each_round", "threadId": id, "format": "debate"
        });
        let mut response = server.post("/api/debate", &body);
        for (number, approved) in approvals.iter().enumerate() {
            assert_eq!(response.body.matches("event: approval_required\n").count(), number + 1, "{}", response.body);
            let paused = server.get(&format!("/api/debate/{id}"));
            assert_eq!((&paused["status"], &paused["round"]), (&json!("waiting"), &json!(number + 1)), "{paused}");
            let approval = json!({ "approved": approved });
            assert_eq!(server.post(&format!("/api/debate/{id}/approval"), &approval).status, 202);
            response =
                HttpResponse::read(server.request(&format!("GET /api/debate/{id}/stream?format=debate"), "", ""));
        }
        assert_eq!(response.body.matches("event: approval_required\n").count(), approvals.len());
        assert!(response.body.contains("event: debate_complete\n"), "{}", response.body);
        let debate = server.get(&format!("/api/debate/{id}"));
        let count = debate["messages"].as_array().unwrap().len();
        assert_eq!(
            (&debate["status"], &debate["round"], count),
            (&json!("completed"), &json!(round), messages),
            "{debate}"
        );
        assert_eq!(debate["userApproved"], json!(approvals[approvals.len() - 1]));
    }
}
