//! A long conversation through the graph: it keeps its last messages, and the complete last request.

use serde_json::json;
use superstep_scheduler::state::WorkflowStatus;
use superstep_scheduler::state_utils::{RETAINED_MESSAGES, prune_state};

use crate::fixtures::folded;
use crate::requests::Stage;

/// R-FAM-74, R-FAM-23: after thirty requests a conversation has ten messages and the last reply; the agent outputs
/// of the last request are complete, and pruning is idempotent.
#[tokio::test]
async fn a_long_conversation_keeps_its_last_messages() {
    let stage = Stage::new(Vec::new()).await;
    for turn in 1..=30_usize {
        let (words, is_query) = match turn % 3 {
            0 => ("When is everyone free this weekend?".to_owned(), true),
            _ => (format!("Schedule reading on 2026-03-{turn:02} at 2pm"), false),
        };
        let done = stage.send(&words).await;
        assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{words}: {:?}", done.interrupts());
        let messages = &done.state.messages;
        assert_eq!(messages.len(), (2 * turn).min(RETAINED_MESSAGES + 1), "turn {turn}");
        assert_eq!(messages.to_vec()[messages.len() - 2].text(), words);
        assert_eq!(done.state.agent_outputs["nl_parser"].data["event_type"], if is_query { "query" } else { "create" });
        let once = folded(&done.state, [prune_state(&done.state, RETAINED_MESSAGES)]);
        let twice = folded(&once, [prune_state(&once, RETAINED_MESSAGES)]);
        assert_eq!((once.messages.len(), &twice), ((2 * turn).min(RETAINED_MESSAGES), &once), "turn {turn}");
    }
}

/// R-FAM-74, R-FAM-86: questions and answers of the current request are kept, however many messages came before.
#[tokio::test]
async fn messages_of_the_current_request_are_retained() {
    let stage = Stage::new(Vec::new()).await;
    for _ in 0..8 {
        stage.send("When is everyone free this weekend?").await;
    }
    stage.send("Do the thing with grandma").await;
    let done = stage.answer(json!({ "text": "dinner with grandma on Sunday at 6" })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Completed, "{:?}", done.interrupts());
    let texts: Vec<String> = done.state.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts.len(), RETAINED_MESSAGES + 3, "{texts:?}");
    assert_eq!(texts[texts.len() - 4], "Do the thing with grandma");
    assert_eq!(texts[texts.len() - 2], "dinner with grandma on Sunday at 6");
}
