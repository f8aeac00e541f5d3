//! The process dies at every write of an agent; the final conversation is the same.

use superstep::agents::{AgentState, HumanInTheLoop, ModelCallLimit, react_agent};
use superstep::core::port::SharedCheckpointer;
use superstep::models::last_message_is_tool_result;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::tools::ToolSet;
use superstep::{CompiledGraph, Outcome, Result};

use super::*;

/// A deterministic model: looks up, deletes, and reports.
fn model() -> ScriptedModel {
    ScriptedModel::default()
        .when(last_message_is_tool_result("delete"), "It is done.")
        .when(last_message_is_tool_result("weather"), ScriptedReply::tool_call("delete", json!({ "path": "a" })))
        .when(|_| true, asks_for("Rome"))
}

async fn live(
    agent: &CompiledGraph<AgentState>,
    store: SharedCheckpointer,
    has_started: bool,
) -> Result<Outcome<AgentState>> {
    let has_thread = has_started && agent.threads().checkpointer(store.clone()).get_state("t").await.is_ok();
    let mut out = match has_thread {
        true => agent.continue_thread("t").checkpointer(store.clone()).await?,
        false => agent.invoke("Clean up").thread("t").checkpointer(store.clone()).await?,
    };
    while !out.interrupts().is_empty() {
        let decisions = json!({ "decisions": [{ "type": "approve" }] });
        out = agent.resume("t", decisions).checkpointer(store.clone()).await?;
    }
    Ok(out)
}

/// R-GRA-45, R-FWK-11: at whatever write the process dies, the final conversation is the same, and the model is
/// called at most once more than without a crash.
#[tokio::test]
async fn a_crash_at_any_write_ends_in_the_same_conversation() {
    let agent = |model: &ScriptedModel| {
        react_agent(model.clone(), ToolSet::new([weather(), delete()]).unwrap())
            .middleware(ModelCallLimit::new().per_turn(3))
            .middleware(HumanInTheLoop::new())
            .compile()
            .unwrap()
    };
    let calm = live(&agent(&model()), MemoryCheckpointer::new().into(), false).await.unwrap();
    let expected = transcript(&calm.state.messages);
    assert_eq!(expected[4..], ["tool: a is gone", "model: It is done."]);
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let (model, disk) = (model(), MemoryCheckpointer::new());
            let agent = agent(&model);
            let survived = live(&agent, CrashingCheckpointer::new(disk.clone(), at, last).into(), false).await.is_ok();
            let out = live(&agent, disk.into(), true).await.unwrap();
            assert_eq!(transcript(&out.state.messages), expected, "crash at write {at}, {last:?}");
            assert!(model.requests().len() <= 4, "crash at write {at}, {last:?}");
            if survived {
                assert!(at > 8, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}
