//! The process dies at every write of a team's run; saved work does not run again, and nothing is lost.

use std::collections::BTreeMap;

use superstep::agents::supervisor;
use superstep::agents::{TeamState, react_agent, team_member};
use superstep::core::port::SharedCheckpointer;
use superstep::models::ChatRequest;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::tools::Approval;
use superstep::{CompiledGraph, Error, Outcome};

use super::teams::{assert_paired, requests};
use super::*;

/// A model whose replies depend on the length of the conversation, so that it replies the same after a restart.
fn by_length(replies: impl IntoIterator<Item = (usize, ScriptedReply)>) -> ScriptedModel {
    let case = |model: ScriptedModel, (length, reply)| {
        model.when(move |request: &ChatRequest| request.messages.len() == length, reply)
    };
    replies.into_iter().fold(ScriptedModel::default(), case)
}

struct Models {
    head: ScriptedModel,
    left: ScriptedModel,
    right: ScriptedModel,
}

impl Models {
    fn new() -> Self {
        let both =
            ScriptedReply::tool_call("transfer_to_left", json!({})).and_tool_call("weather", json!({ "city": "Rome" }));
        let both = both.and_tool_call("transfer_to_right", json!({}));
        // user, 1 + 3, then three of each agent; again, then the end.
        let head = [
            (1, both),
            (11, ScriptedReply::tool_call("transfer_to_left", json!({}))),
            (16, ScriptedReply::from("The end.")),
        ];
        let left = [(5, asks_for("Oslo")), (7, ScriptedReply::from("left one")), (13, ScriptedReply::from("left two"))];
        let right =
            [(5, ScriptedReply::tool_call("delete", json!({ "path": "a" }))), (7, ScriptedReply::from("right one"))];
        Self { head: by_length(head), left: by_length(left), right: by_length(right) }
    }

    fn team(&self) -> CompiledGraph<TeamState> {
        let left = team_member("left", "Looks.", react_agent(self.left.clone(), [weather()]));
        let right = team_member("right", "Deletes.", react_agent(self.right.clone(), [delete()]));
        supervisor(self.head.clone(), [left, right]).tools([weather()]).compile().unwrap()
    }

    /// Returns the number of calls of each model, by name and length of the conversation.
    fn call_counts(&self) -> BTreeMap<(&'static str, usize), usize> {
        let mut counts = BTreeMap::new();
        for (name, model) in [("head", &self.head), ("left", &self.left), ("right", &self.right)] {
            for request in requests(model) {
                *counts.entry((name, request.messages.len())).or_default() += 1;
            }
        }
        counts
    }
}

async fn live(
    team: &CompiledGraph<TeamState>,
    store: impl Into<SharedCheckpointer>,
) -> Result<Outcome<TeamState>, Error> {
    let store = store.into();
    let has_started = team.threads().checkpointer(store.clone()).get_state("t").await.is_ok();
    let run = if has_started { team.continue_thread("t") } else { team.invoke("Go").thread("t") };
    let mut out = run.checkpointer(store.clone()).await?;
    while let [question] = out.interrupts() {
        out = team.resume("t", Approval::approve(question)?).checkpointer(store.clone()).await?;
    }
    Ok(out)
}

/// R-FWK-11, R-FWK-28: at whatever write the process dies, the final conversation is the same; each model is called
/// once for saved responses, and each agent that was running repeats at most one call.
#[tokio::test]
async fn a_team_survives_a_crash_at_any_write() {
    let calm = Models::new();
    let expected = transcript(&live(&calm.team(), MemoryCheckpointer::new()).await.unwrap().state.messages);
    assert_eq!(expected.last().unwrap(), "model: The end.");
    let expected_counts = calm.call_counts();
    assert!(expected_counts.values().all(|times| *times == 1), "{expected_counts:?}");
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0.. {
            let (models, disk) = (Models::new(), MemoryCheckpointer::new());
            let store = CrashingCheckpointer::new(disk.clone(), at, last);
            let survived = live(&models.team(), store).await.is_ok();
            let done = live(&models.team(), disk).await;
            let done = done.unwrap_or_else(|error| panic!("crash at write {at}, {last:?}: {error:?}"));
            assert_eq!(transcript(&done.state.messages), expected, "crash at write {at}, {last:?}");
            assert_paired(&done.state.messages);
            let counts = models.call_counts();
            assert_eq!(counts.keys().collect::<Vec<_>>(), expected_counts.keys().collect::<Vec<_>>());
            let more: Vec<_> = counts.iter().filter(|(_, times)| **times > 1).collect();
            // Two agents run concurrently; after a write that was kept, only the work in flight of the other one is
            // lost.
            let most = if last == CrashedWrite::Lost { 2 } else { 1 };
            assert!(more.len() <= most && more.iter().all(|(_, times)| **times == 2), "write {at}, {last:?}: {more:?}");
            if survived {
                assert!(at > 30, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}
