//! What weights on this machine are asked, and what becomes of what they say.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request, StopReason};
use superstep::{Compiled, Memory, Message, Result, Retry};
use superstep_debate::{Approval, Debate, FactCheck, Hall, Status, draw, transcript};

use crate::support::{TOPIC, opening, speakers};

/// Says one thing after the other, and is cut off each time.
#[derive(Clone)]
struct Small(Arc<Mutex<(Vec<Request>, Vec<&'static str>)>>);

impl Small {
    fn new(says: &[&'static str]) -> Self {
        Self(Arc::new(Mutex::new((Vec::new(), says.iter().rev().copied().collect()))))
    }

    fn requests(&self) -> Vec<Request> {
        self.0.lock().unwrap().0.clone()
    }
}

impl Model for Small {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("local", "small", ModelKind::Weights)
    }

    async fn answer(&self, request: &Request, _out: &mut Pieces<'_>) -> Result<Answer> {
        let mut small = self.0.lock().unwrap();
        small.0.push(request.clone());
        let text = small.1.pop().unwrap_or("Yes. And so");
        Ok(Answer::new(Message::assistant(text), self.info()).with_stop(StopReason::Length))
    }
}

fn debates() -> Compiled<Debate, Hall> {
    let mut graph = draw(Retry::exponential(3).initial_interval(Duration::ZERO));
    graph.checkpointer(Memory::new()).compile().unwrap()
}

/// R-DEB-45: weights are asked in one short message for a bounded turn, whatever was said before, with chance of its own for
/// each turn; the graph and its events are those of every model.
#[tokio::test]
async fn weights_are_asked_shortly() {
    let small = Small::new(&[]);
    let done = debates().run(opening(10)).thread("t").context(Hall::new(small.clone()).seed(7)).await.unwrap();
    assert_eq!((done.state.status, done.state.messages.len()), (Status::Completed, 22));
    let requests = small.requests();
    for request in &requests {
        let [message] = &request.messages[..] else { panic!("{request:?}") };
        assert!(message.text().contains(TOPIC) && message.text().chars().count() < 900, "{}", message.text());
        assert!(request.max_tokens.unwrap() <= 120 && request.tools.is_empty() && request.format.is_none());
    }
    let mut seeds: Vec<_> = requests.iter().map(|request| request.seed.unwrap()).collect();
    seeds.dedup();
    assert_eq!(seeds.len(), 21);
    let again = Small::new(&[]);
    debates().run(opening(10)).thread("other").context(Hall::new(again.clone()).seed(7)).await.unwrap();
    assert_eq!(again.requests(), requests, "the same seed asks for the same debate");
    assert!(transcript::plain(&done.state).contains("Voices: local/small (weights), language model on this machine"));
}

/// R-DEB-26, R-DEB-27: a turn that was cut off ends with its last whole sentence, or stays as it is; one without words is asked
/// for again, with other chance; claims are looked up, and what cannot be known is unverifiable.
#[tokio::test]
async fn whatever_weights_say_is_a_turn() {
    let small = Small::new(&["", "{\"verdict\": tru", "In 1986 there were 400 reactors. Is it {so", " Sum: both! \n"]);
    let hall = || Hall::new(small.clone()).fact_check(FactCheck::AtEnd).approval(Approval::BeforeSummary);
    let graph = debates();
    let paused = graph.run(opening(1)).thread("t").context(hall()).await.unwrap();
    assert_eq!(paused.questions().len(), 1);
    let answer = serde_json::json!({ "approved": true });
    let done = graph.resume("t", answer).context(hall()).await.unwrap().state;
    assert_eq!(speakers(&done), ["user", "optimist", "skeptic", "moderator"]);
    let said: Vec<_> = done.messages.iter().skip(1).map(|message| message.text().into_owned()).collect();
    assert_eq!(said, ["{\"verdict\": tru", "In 1986 there were 400 reactors.", "Sum: both!"]);
    let requests = small.requests();
    assert_ne!(requests[0].seed, requests[1].seed, "the second attempt");
    let verdicts: Vec<_> =
        done.fact_check_results.iter().map(|result| serde_json::json!(result)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["unverifiable"]);
}
