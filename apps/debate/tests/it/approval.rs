//! Tests of approvals: the user lets a debate continue, or ends it.

use serde_json::json;
use superstep::models::ModelErrorKind;
use superstep::{CompiledGraph, ErrorCode, MemoryCheckpointer, Outcome};
use superstep_debate::{
    ApprovalAnswer, ApprovalMode, DebateContext, DebateState, DebateStatus, FactCheckMode, load_debate_view,
};

use crate::support::{Speaker, authors, debates, next_nodes, opening, reply_text};

fn answer(approved: bool, note: Option<&str>) -> ApprovalAnswer {
    ApprovalAnswer { approved, note: note.map(str::to_owned) }
}

struct Case {
    graph: CompiledGraph<DebateState, DebateContext>,
    context: DebateContext,
    speaker: Speaker,
}

impl Case {
    fn new(approval: ApprovalMode) -> Self {
        let speaker = Speaker::default();
        let context = DebateContext::new(speaker.clone()).approval(approval);
        Self { graph: debates(MemoryCheckpointer::new()), context, speaker }
    }

    async fn begin(&self) -> Outcome<DebateState> {
        self.graph.invoke(opening(3)).thread("t").context(self.context.clone()).await.unwrap()
    }

    async fn resume(&self, answer: ApprovalAnswer) -> Outcome<DebateState> {
        self.graph.resume("t", answer).context(self.context.clone()).await.unwrap()
    }
}

/// R-DEB-47, R-DEB-27, R-DEB-6, R-DEB-7: the user is asked after each round, three times in all.
#[tokio::test]
async fn every_round_requests_approval() {
    let case = Case::new(ApprovalMode::EachRound);
    let mut outcome = case.begin().await;
    for round in 1..=3 {
        let [interrupt] = outcome.interrupts() else { panic!("one interrupt in round {round}") };
        assert_eq!(interrupt.value["round"], round);
        let last = json!([
            { "name": "optimist", "content": reply_text("optimist", round) },
            { "name": "skeptic", "content": reply_text("skeptic", round) },
        ]);
        assert_eq!(interrupt.value["last"], last);
        assert!(interrupt.value["question"].as_str().unwrap().ends_with('?'));
        let view = load_debate_view(&case.graph.threads(), "t").await.unwrap();
        assert!(view.state.awaiting_approval && view.state.status == DebateStatus::Running);
        assert_eq!(view.pending_interrupt.as_ref().map(|interrupt| interrupt.id), Some(interrupt.id));
        outcome = case.resume(answer(true, None)).await;
        assert_eq!(outcome.state.user_approved, Some(true));
    }
    assert!(outcome.is_finished() && !outcome.state.awaiting_approval);
    assert_eq!((outcome.state.messages.len(), outcome.state.round), (8, 3));
    assert_eq!(outcome.state.status, DebateStatus::Completed);
    assert_eq!(case.speaker.turns().len(), 7, "no agent speaks twice because of an approval");
}

/// R-DEB-47, R-DEB-27: ending the debate at the first approval leads straight to the moderator, whose summary says
/// so.
#[tokio::test]
async fn a_person_ends_the_debate() {
    let case = Case::new(ApprovalMode::EachRound);
    case.begin().await;
    let ended = case.resume(answer(false, None)).await;
    let debate = &ended.state;
    assert_eq!(authors(debate), ["user", "optimist", "skeptic", "moderator"]);
    assert_eq!((debate.round, debate.user_approved), (1, Some(false)));
    assert_eq!((debate.status, debate.awaiting_approval), (DebateStatus::Completed, false));
    assert!(debate.summary().unwrap().text().contains("ended by the user after round 1"));
    assert_eq!(case.speaker.last_prompt().notes, ["ended by the user after round 1"]);
}

/// R-DEB-27: with `BeforeSummary` the user is asked once.
#[tokio::test]
async fn before_the_summary_one_approval_is_requested() {
    let case = Case::new(ApprovalMode::BeforeSummary);
    let paused = case.begin().await;
    assert_eq!((paused.interrupts().len(), paused.state.round), (1, 3));
    assert_eq!(paused.interrupts()[0].value["round"], 3);
    let done = case.resume(answer(true, None)).await;
    assert!(done.is_finished() && done.state.status == DebateStatus::Completed);
    let steps = next_nodes(&case.graph, "t").await;
    assert_eq!(steps[6..], ["approval", "moderator", ""]);
    assert!(!done.state.summary().unwrap().text().contains("ended by the user"));
}

/// R-DEB-27: a note becomes a message of the user, and the agents receive it.
#[tokio::test]
async fn a_note_reaches_the_agents() {
    let case = Case::new(ApprovalMode::EachRound);
    case.begin().await;
    let outcome = case.resume(answer(true, Some(" Mind the cost. "))).await;
    let note = outcome.state.messages.get(3).unwrap();
    assert_eq!((note.text().as_ref(), note.name.as_deref()), ("Mind the cost.", None));
    assert_eq!(authors(&outcome.state), ["user", "optimist", "skeptic", "user", "optimist", "skeptic"]);
    let outcome = case.resume(answer(false, Some("Enough."))).await;
    assert_eq!(authors(&outcome.state)[6..], ["user", "moderator"]);
}

/// R-DEB-27: an answer that does not match the schema is rejected, and the interrupt stays open.
#[tokio::test]
async fn an_invalid_answer_is_rejected() {
    let case = Case::new(ApprovalMode::EachRound);
    case.begin().await;
    for invalid in
        [json!("yes"), json!({ "approved": "yes" }), json!({ "note": "?" }), json!({ "approved": true, "by": 1 })]
    {
        let rejected = case.graph.resume("t", invalid.clone()).context(case.context.clone()).await;
        assert_eq!(rejected.err().map(|error| error.code()), Some(ErrorCode::InvalidResume), "{invalid}");
    }
    assert!(load_debate_view(&case.graph.threads(), "t").await.unwrap().pending_interrupt.is_some());
}

/// R-DEB-27, R-DEB-47: an input for a debate with an open approval raises the interrupt again, and does not skip
/// it.
#[tokio::test]
async fn an_input_does_not_skip_an_open_approval() {
    let case = Case::new(ApprovalMode::EachRound);
    case.begin().await;
    let repeated = case.begin().await;
    assert_eq!((repeated.interrupts().len(), repeated.state.round), (1, 1));
    assert_eq!(repeated.interrupts()[0].value["round"], 1);
    assert_eq!(case.speaker.turns(), ["optimist 1", "skeptic 1"]);
    let ended = case.resume(answer(false, None)).await;
    assert_eq!(authors(&ended.state), ["user", "optimist", "skeptic", "moderator"]);
}

/// R-DEB-26, R-DEB-27: a stale pending approval is cleared if none follows the round, and the debate reaches its
/// summary.
#[tokio::test]
async fn an_approval_that_is_not_requested_is_not_awaited() {
    let speaker = Speaker::default().failing("skeptic 1", ModelErrorKind::InvalidApiKey);
    let (graph, context) =
        (debates(MemoryCheckpointer::new()), DebateContext::new(speaker).fact_check(FactCheckMode::EachRound));
    graph.invoke(opening(1)).thread("t").context(context.clone()).await.unwrap_err();
    graph.threads().update_state("t", DebateState::update().awaiting_approval(true)).as_node("optimist").await.unwrap();
    let done = graph.continue_thread("t").context(context).await.unwrap();
    assert_eq!((done.state.status, done.state.awaiting_approval), (DebateStatus::Completed, false));
    assert_eq!(done.state.fact_check_results.len(), 2);
}

/// R-DEB-26, R-DEB-27: with both options, claims are checked during the approval, and the moderator receives all
/// results.
#[tokio::test]
async fn claims_are_looked_up_while_a_person_thinks() {
    for (fact_check, steps) in [
        (FactCheckMode::EachRound, vec!["optimist", "skeptic", "approval+fact_check", "moderator", ""]),
        (FactCheckMode::AtEnd, vec!["optimist", "skeptic", "approval", "fact_check", "moderator", ""]),
    ] {
        let mut case = Case::new(ApprovalMode::EachRound);
        case.context = case.context.fact_check(fact_check);
        case.begin().await;
        let ended = case.resume(answer(false, None)).await;
        assert_eq!(next_nodes(&case.graph, "t").await, steps);
        assert_eq!(ended.state.fact_check_results.len(), 2);
        assert_eq!(case.speaker.last_prompt().notes.len(), 3);
    }
}
