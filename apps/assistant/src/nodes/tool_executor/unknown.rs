//! Calls that were under way when the process ended. Nobody knows whether they were carried out, so a person looks and
//! says whether they are made again.

use serde_json::json;
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::{Ask, Cx, Message, NodeError};

use crate::desk::Desk;
use crate::nodes::DecisionKind;
use crate::nodes::approval::decision;
use crate::nodes::tool_router::with_reason;

/// Whether nobody knows how a call ended.
pub(super) fn is_unknown(message: &Message) -> bool {
    // Of a call that went well the word would be the tool's own.
    message.status == ToolStatus::Error && message.metadata.get("error").is_some_and(|error| error == "outcome_unknown")
}

/// Asks a person as often as the end is not known; gives what the call gave when they had it made again.
pub(super) async fn settle_unknown(
    mut message: Message,
    call: ToolCall,
    desk: &Desk,
    (ask, cx): (&Ask, &Cx),
) -> Result<Message, NodeError> {
    let mut times = 1_u32;
    while is_unknown(&message) {
        times += 1;
        // Another call to the engine, which keeps what became of the first; to the person it is one of its own as well.
        let again = ToolCall::new(format!("{}-time-{times}", call.id), &call.name, call.args.clone());
        let said = decision(&again, question(&message, &call), (ask, cx)).await?;
        if !matches!(said.decision, DecisionKind::AllowOnce | DecisionKind::AllowSession) {
            let told = format!("unknown: {}; the user was asked, and it was not run again", message.text());
            message.content = with_reason(&told, &said.reason, desk).into();
            return Ok(message);
        }
        if let Some(answer) = desk.runner().answer(cx, [again]).await?.pop() {
            message = answer;
            message.tool_call_id = Some(call.id.clone());
        }
    }
    Ok(message)
}

fn question(message: &Message, call: &ToolCall) -> serde_json::Value {
    json!({
        "kind": "approval", "tool": call.name, "arguments": call.args, "effect": "Runs it once more.",
        "why": message.text(), "outcome": "unknown", "decisions": ["allow_once", "deny"],
    })
}
