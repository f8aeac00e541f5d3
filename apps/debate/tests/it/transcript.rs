//! Tests of transcripts.

use serde_json::json;
use superstep::MemoryCheckpointer;
use superstep::models::{ModelKind, ScriptedModel};
use superstep_debate::transcript::{json as as_json, label, markdown, plain};
use superstep_debate::{DebateContext, DebateState};

use crate::support::{Speaker, clock, debates, morning};

async fn finished_debate(topic: &str, model: ScriptedModel) -> DebateState {
    let input = DebateState::initial_state(topic, 1, morning()).unwrap();
    let done = debates(MemoryCheckpointer::new())
        .invoke(input)
        .context(DebateContext::new(model))
        .clock(clock())
        .await
        .unwrap();
    DebateState::clone(&done.state)
}

fn script() -> ScriptedModel {
    ScriptedModel::new(["Yes, *one*.", "No.", "So."])
}

/// R-DEB-33, R-DEB-41: Markdown, with the kind of model.
#[tokio::test]
async fn a_transcript_in_markdown() {
    let text = markdown(&finished_debate("Are <b>bold</b> claims good?", script()).await);
    let text = text.lines().filter(|line| !line.starts_with("- Tokens: ")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text, @r"
    # Are \<b\>bold\</b\> claims good?

    - Model: scripted/script (rule-based voices, no language model)
    - Status: completed, round 1 of 1
    - Started: 2026-03-01T09:30:00Z
    - Ended: 2026-03-01T09:30:00Z

    ## Round 1

    **Optimist:** Yes, \*one\*.

    **Skeptic:** No.

    ## Summary

    **Moderator:** So.
    ");
}

/// R-DEB-33, R-DEB-41: plain text, with the messages unchanged.
#[tokio::test]
async fn a_transcript_in_plain_text() {
    let text = plain(&finished_debate("Are <b>bold</b> claims good?", script()).await);
    let text = text.lines().filter(|line| !line.starts_with("Tokens: ")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text, @"
    Are <b>bold</b> claims good?

    Model: scripted/script (rule-based voices, no language model)
    Status: completed, round 1 of 1
    Started: 2026-03-01T09:30:00Z
    Ended: 2026-03-01T09:30:00Z

    ROUND 1

    Optimist: Yes, *one*.

    Skeptic: No.

    SUMMARY

    Moderator: So.
    ");
}

/// R-DEB-33, R-DEB-41, R-DEB-28: JSON, with marked estimates.
#[tokio::test]
async fn a_transcript_in_json() {
    let transcript = as_json(&finished_debate("Should AI be regulated?", script()).await);
    let model = json!({ "name": "scripted/script", "kind": "rules", "label": "rule-based voices, no language model" });
    assert_eq!(transcript["model"], model);
    assert_eq!((&transcript["status"], &transcript["tokenUsageEstimated"]), (&json!("completed"), &json!(true)));
    let authors: Vec<_> =
        transcript["messages"].as_array().unwrap().iter().map(|message| message["name"].clone()).collect();
    assert_eq!(json!(authors), json!([null, "optimist", "skeptic", "moderator"]));
    assert_eq!(
        (&transcript["startTime"], &transcript["messages"][1]["round"]),
        (&json!("2026-03-01T09:30:00Z"), &json!(1))
    );
}

/// R-DEB-41: only the rule model is labelled as rules.
#[tokio::test]
async fn only_the_rule_model_is_labelled_as_rules() {
    assert_eq!(label(ModelKind::Rules), "rule-based voices, no language model");
    assert!(!label(ModelKind::Remote).contains("rule") && !label(ModelKind::Weights).contains("rule"));
    let input = DebateState::initial_state("Tea?", 1, morning()).unwrap();
    let done =
        debates(MemoryCheckpointer::new()).invoke(input).context(DebateContext::new(Speaker::default())).await.unwrap();
    assert!(plain(&done.state).contains("Model: test/speaker (language model)"));
}
