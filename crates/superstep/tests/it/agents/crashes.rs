//! The process dies at every write of an agent; the conversation ends the same.

use superstep::agent::{AgentState, HumanApproval, ModelCallLimit, react_agent};
use superstep::core::port::SharedCheckpointer;
use superstep::model::after_tool;
use superstep::testing::{CrashAt, LastWrite};
use superstep::tool::Tools;
use superstep::{Compiled, Outcome, Result};

use super::*;

/// Always answers the same to the same: looks up, deletes, and says so.
fn model() -> Scripted {
    Scripted::default()
        .when(after_tool("delete"), "It is done.")
        .when(after_tool("weather"), Reply::call("delete", json!({ "path": "a" })))
        .when(|_| true, asks_for("Rome"))
}

async fn live(agent: &Compiled<AgentState>, store: SharedCheckpointer, begun: bool) -> Result<Outcome<AgentState>> {
    let has_thread = begun && agent.threads().checkpointer(store.clone()).state("t").await.is_ok();
    let mut out = match has_thread {
        true => agent.go_on("t").checkpointer(store.clone()).await?,
        false => agent.run("Clean up").thread("t").checkpointer(store.clone()).await?,
    };
    while !out.questions().is_empty() {
        let said = json!({ "decisions": [{ "type": "approve" }] });
        out = agent.resume("t", said).checkpointer(store.clone()).await?;
    }
    Ok(out)
}

/// R-GRA-45, R-FWK-11: whatever write the process dies at, the conversation is the same in the end, and the model is asked
/// at most once more than without a crash.
#[tokio::test]
async fn a_crash_at_any_write_ends_in_the_same_conversation() {
    let agent = |model: &Scripted| {
        react_agent(model.clone(), Tools::new([weather(), delete()]).unwrap())
            .middleware(ModelCallLimit::new().per_turn(3))
            .middleware(HumanApproval::new())
            .compile()
            .unwrap()
    };
    let calm = live(&agent(&model()), Memory::new().into(), false).await.unwrap();
    let expected = transcript(&calm.state.messages);
    assert_eq!(expected[4..], ["tool: a is gone", "model: It is done."]);
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0.. {
            let (model, disk) = (model(), Memory::new());
            let agent = agent(&model);
            let survived = live(&agent, CrashAt::new(disk.clone(), at, last).into(), false).await.is_ok();
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
