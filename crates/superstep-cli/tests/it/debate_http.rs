//! Tests of debates over HTTP, with the real binary.

use serde_json::{Value, json};

use crate::server_process::{Reply, Served};
use crate::support::Folder;

/// Arguments that disable the typing delay.
const PACE: [&str; 2] = ["--pace", "0"];

/// R-DEB-30, R-DEB-46: `curl -N -X POST …/api/debate -d '{…}'` streams events of version 2, from the start of the
/// graph to its end; curl sends the content type of a form.
#[test]
fn a_request_of_curl_starts_a_debate() {
    let folder = Folder::empty("curl");
    let served = Served::start(&folder, &PACE);
    let head = "User-Agent: curl/7.88.1\r\nAccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let body = r#"{"topic":"Should AI be regulated?","maxRounds":3}"#;
    let reply = Reply::read(served.request("POST /api/debate", head, body));
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.head.contains("content-type: text/event-stream"), "{}", reply.head);
    let events: Vec<Value> = reply
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
    let served = Served::start(&folder, &PACE);
    for (id, answers, round, messages) in [("on", &[true, true, true][..], 3, 8), ("ended", &[false][..], 1, 4)] {
        let body = json!({
            "topic": "Should AI be regulated?", "maxRounds": 3, "approval": "each_round", "threadId": id, "format": "debate"
        });
        let mut reply = served.post("/api/debate", &body);
        for (number, approved) in answers.iter().enumerate() {
            assert_eq!(reply.body.matches("event: approval_required\n").count(), number + 1, "{}", reply.body);
            let paused = served.get(&format!("/api/debate/{id}"));
            assert_eq!((&paused["status"], &paused["round"]), (&json!("waiting"), &json!(number + 1)), "{paused}");
            let answer = json!({ "approved": approved });
            assert_eq!(served.post(&format!("/api/debate/{id}/approval"), &answer).status, 202);
            reply = Reply::read(served.request(&format!("GET /api/debate/{id}/stream?format=debate"), "", ""));
        }
        assert_eq!(reply.body.matches("event: approval_required\n").count(), answers.len());
        assert!(reply.body.contains("event: debate_complete\n"), "{}", reply.body);
        let debate = served.get(&format!("/api/debate/{id}"));
        let count = debate["messages"].as_array().unwrap().len();
        assert_eq!(
            (&debate["status"], &debate["round"], count),
            (&json!("completed"), &json!(round), messages),
            "{debate}"
        );
        assert_eq!(debate["userApproved"], json!(answers[answers.len() - 1]));
    }
}
