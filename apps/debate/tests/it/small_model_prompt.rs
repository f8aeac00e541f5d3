//! Tests of the prompts for local weights, and of the use of their responses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind, StopReason};
use superstep::{CompiledGraph, MemoryCheckpointer, Message, Result, RetryPolicy};
use superstep_debate::{
    ApprovalMode, DebateContext, DebateState, DebateStatus, FactCheckMode, state_graph, transcript,
};

use crate::support::{TOPIC, authors, opening};

/// A model that returns one text after the other, each cut off by the token limit.
#[derive(Clone)]
struct SmallModel(Arc<Mutex<(Vec<ChatRequest>, Vec<&'static str>)>>);

impl SmallModel {
    fn new(replies: &[&'static str]) -> Self {
        Self(Arc::new(Mutex::new((Vec::new(), replies.iter().rev().copied().collect()))))
    }

    fn requests(&self) -> Vec<ChatRequest> {
        self.0.lock().unwrap().0.clone()
    }
}

impl Model for SmallModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", "small", ModelKind::Weights)
    }

    async fn generate(&self, request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut small = self.0.lock().unwrap();
        small.0.push(request.clone());
        let text = small.1.pop().unwrap_or("Yes. And so");
        Ok(ChatResponse::new(Message::assistant(text), self.info()).with_stop(StopReason::Length))
    }
}

fn debates() -> CompiledGraph<DebateState, DebateContext> {
    let mut graph = state_graph(RetryPolicy::exponential(3).initial_interval(Duration::ZERO));
    graph.checkpointer(MemoryCheckpointer::new()).compile().unwrap()
}

/// R-DEB-45: local weights receive one short message for a turn of limited length, whatever came before, with a
/// different seed for each turn; the graph and its events are the same as for any model.
#[tokio::test]
async fn weights_receive_a_short_prompt() {
    let small = SmallModel::new(&[]);
    let done =
        debates().invoke(opening(10)).thread("t").context(DebateContext::new(small.clone()).seed(7)).await.unwrap();
    assert_eq!((done.state.status, done.state.messages.len()), (DebateStatus::Completed, 22));
    let requests = small.requests();
    for request in &requests {
        let [message] = &request.messages[..] else { panic!("{request:?}") };
        assert!(message.text().contains(TOPIC) && message.text().chars().count() < 900, "{}", message.text());
        assert!(request.max_tokens.unwrap() <= 120 && request.tools.is_empty() && request.format.is_none());
    }
    let mut seeds: Vec<_> = requests.iter().map(|request| request.seed.unwrap()).collect();
    seeds.dedup();
    assert_eq!(seeds.len(), 21);
    let repeated = SmallModel::new(&[]);
    debates().invoke(opening(10)).thread("other").context(DebateContext::new(repeated.clone()).seed(7)).await.unwrap();
    assert_eq!(repeated.requests(), requests, "the same seed asks for the same debate");
    assert!(transcript::plain(&done.state).contains("Model: local/small (weights), local language model"));
}

/// R-DEB-26, R-DEB-27: a turn that was cut off is trimmed to its last complete sentence, or stays as it is; an
/// empty turn is retried with another seed; claims are checked, and unknown ones are unverifiable.
#[tokio::test]
async fn any_output_of_weights_becomes_a_turn() {
    let small =
        SmallModel::new(&["", "{\"verdict\": tru", "In 1986 there were 400 reactors. Is it {so", " Sum: both! \n"]);
    let context =
        || DebateContext::new(small.clone()).fact_check(FactCheckMode::AtEnd).approval(ApprovalMode::BeforeSummary);
    let graph = debates();
    let paused = graph.invoke(opening(1)).thread("t").context(context()).await.unwrap();
    assert_eq!(paused.interrupts().len(), 1);
    let answer = serde_json::json!({ "approved": true });
    let done = graph.resume("t", answer).context(context()).await.unwrap().state;
    assert_eq!(authors(&done), ["user", "optimist", "skeptic", "moderator"]);
    let texts: Vec<_> = done.messages.iter().skip(1).map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["{\"verdict\": tru", "In 1986 there were 400 reactors.", "Sum: both!"]);
    let requests = small.requests();
    assert_ne!(requests[0].seed, requests[1].seed, "the second attempt");
    let verdicts: Vec<_> =
        done.fact_check_results.iter().map(|result| serde_json::json!(result)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["unverifiable"]);
}
