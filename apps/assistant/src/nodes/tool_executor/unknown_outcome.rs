//! Calls that were running during a crash. Their outcome is unknown, so a person decides if they run again.

use serde_json::json;
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::{Interrupts, Message, NodeError, TaskContext};

use crate::context::AssistantContext;
use crate::nodes::DecisionKind;
use crate::nodes::approval::decision;
use crate::nodes::tool_router::with_reason;

/// Returns true if the outcome of a call is unknown.
pub(super) fn is_unknown(message: &Message) -> bool {
    // In a successful result, the same metadata would come from the tool itself.
    message.status == ToolStatus::Error && message.metadata.get("error").is_some_and(|error| error == "outcome_unknown")
}

/// Asks a person until the outcome is known or the person declines; returns the result of the repeated call.
pub(super) async fn ask_about_unknown_outcome(
    mut message: Message,
    call: ToolCall,
    context: &AssistantContext,
    (interrupts, cx): (&Interrupts, &TaskContext),
) -> Result<Message, NodeError> {
    let mut times = 1_u32;
    while is_unknown(&message) {
        times += 1;
        // A new call id: the engine has already recorded an outcome for the first id, and the person sees a
        // separate call.
        let repeated = ToolCall::new(format!("{}-time-{times}", call.id), &call.name, call.args.clone());
        let user_decision = decision(&repeated, question(&message, &call), (interrupts, cx)).await?;
        if !matches!(user_decision.decision, DecisionKind::AllowOnce | DecisionKind::AllowSession) {
            let explanation = format!("unknown: {}; the user chose not to run it again", message.text());
            message.content = with_reason(&explanation, &user_decision.reason, context).into();
            return Ok(message);
        }
        if let Some(answer) = context.tool_node().run_calls(cx, [repeated]).await?.pop() {
            message = answer;
            message.tool_call_id = Some(call.id.clone());
        }
    }
    Ok(message)
}

fn question(message: &Message, call: &ToolCall) -> serde_json::Value {
    json!({
        "kind": "approval", "tool": call.name, "arguments": call.args, "effect": "Runs the call again.",
        "why": message.text(), "outcome": "unknown", "decisions": ["allow_once", "deny"],
    })
}
