//! The process dies at every write of a team's run; nobody works twice on what was saved, and nothing is lost.

use std::collections::BTreeMap;

use superstep::agent::{TeamState, member, react_agent, supervisor};
use superstep::core::port::SharedCheckpointer;
use superstep::model::Request;
use superstep::testing::{CrashAt, LastWrite};
use superstep::tool::Approval;
use superstep::{Compiled, Error, Outcome};

use super::teams::{assert_paired, requests};
use super::*;

/// A model that answers by how long the conversation is, so that it says the same in another life.
fn by_length(replies: impl IntoIterator<Item = (usize, Reply)>) -> Scripted {
    let case =
        |model: Scripted, (length, reply)| model.when(move |asked: &Request| asked.messages.len() == length, reply);
    replies.into_iter().fold(Scripted::default(), case)
}

struct Models {
    head: Scripted,
    left: Scripted,
    right: Scripted,
}

impl Models {
    fn new() -> Self {
        let both = Reply::call("transfer_to_left", json!({})).and_call("weather", json!({ "city": "Rome" }));
        let both = both.and_call("transfer_to_right", json!({}));
        // user, 1 + 3, then three of each agent; again, then the end.
        let head = [(1, both), (11, Reply::call("transfer_to_left", json!({}))), (16, Reply::from("The end."))];
        let left = [(5, asks_for("Oslo")), (7, Reply::from("left one")), (13, Reply::from("left two"))];
        let right = [(5, Reply::call("delete", json!({ "path": "a" }))), (7, Reply::from("right one"))];
        Self { head: by_length(head), left: by_length(left), right: by_length(right) }
    }

    fn team(&self) -> Compiled<TeamState> {
        let left = member("left", "Looks.", react_agent(self.left.clone(), [weather()]));
        let right = member("right", "Deletes.", react_agent(self.right.clone(), [delete()]));
        supervisor(self.head.clone(), [left, right]).tools([weather()]).compile().unwrap()
    }

    /// How often each model was asked, by who it is and how long the conversation was.
    fn asked(&self) -> BTreeMap<(&'static str, usize), usize> {
        let mut asked = BTreeMap::new();
        for (name, model) in [("head", &self.head), ("left", &self.left), ("right", &self.right)] {
            for request in requests(model) {
                *asked.entry((name, request.messages.len())).or_default() += 1;
            }
        }
        asked
    }
}

async fn live(team: &Compiled<TeamState>, store: impl Into<SharedCheckpointer>) -> Result<Outcome<TeamState>, Error> {
    let store = store.into();
    let begun = team.threads().checkpointer(store.clone()).state("t").await.is_ok();
    let run = if begun { team.go_on("t") } else { team.run("Go").thread("t") };
    let mut out = run.checkpointer(store.clone()).await?;
    while let [question] = out.questions() {
        out = team.resume("t", Approval::approve(question)?).checkpointer(store.clone()).await?;
    }
    Ok(out)
}

/// R-FWK-11, R-FWK-28: whatever write the process dies at, the conversation is the same in the end; each model is asked
/// once for what was saved, and at most one answer that was under way is asked for again by each that was at work.
#[tokio::test]
async fn a_team_survives_a_crash_at_any_write() {
    let calm = Models::new();
    let expected = transcript(&live(&calm.team(), Memory::new()).await.unwrap().state.messages);
    assert_eq!(expected.last().unwrap(), "model: The end.");
    let asked = calm.asked();
    assert!(asked.values().all(|times| *times == 1), "{asked:?}");
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0.. {
            let (models, disk) = (Models::new(), Memory::new());
            let store = CrashAt::new(disk.clone(), at, last);
            let survived = live(&models.team(), store).await.is_ok();
            let done = live(&models.team(), disk).await;
            let done = done.unwrap_or_else(|error| panic!("crash at write {at}, {last:?}: {error:?}"));
            assert_eq!(transcript(&done.state.messages), expected, "crash at write {at}, {last:?}");
            assert_paired(&done.state.messages);
            let again = models.asked();
            assert_eq!(again.keys().collect::<Vec<_>>(), asked.keys().collect::<Vec<_>>());
            let more: Vec<_> = again.iter().filter(|(_, times)| **times > 1).collect();
            // Two agents are at work at once; a write that was kept loses only what the other had under way.
            let most = if last == LastWrite::Lost { 2 } else { 1 };
            assert!(more.len() <= most && more.iter().all(|(_, times)| **times == 2), "write {at}, {last:?}: {more:?}");
            if survived {
                assert!(at > 30, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}
