//! Somebody who wants something of a thread, and does what a client should do when things go wrong: look, then go on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::core::checkpoint::Question;
use superstep::core::id::InterruptId;
use superstep::core::port::{Clock, SharedCheckpointer};
use superstep::{Answers, Code, Control, EventKind, Outcome, Result, Run, Snapshot, Status};

use crate::disk::THREAD;
use crate::graphs::Flow;
use crate::process::{Place, Process};
use crate::rules::{Fact, Rule};
use crate::scenario::{Case, Item};
use crate::store::SimStore;
use crate::work::Work;

/// The graph as processes have it that live at the same time.
pub(crate) type Flows = [Flow; 3];

/// Somebody who wants something of a thread.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) case: Arc<Case>,
    pub(crate) flows: Arc<Flows>,
}

/// How a thread looks.
struct Sight {
    stands: Stands,
    inputs: Vec<u64>,
    notes: Vec<u64>,
}

/// How a thread stands.
enum Stands {
    New,
    Asks(Vec<Question>),
    Due,
    Rests,
}

/// What a client does next.
enum Action {
    Send(u64),
    SendBoth(u64, u64),
    Note(u64),
    Answer(Vec<Question>),
    GoOn,
}

impl Client {
    /// Looks at the thread, and does what is left to do.
    ///
    /// # Errors
    /// The first that it meets; whoever calls starts again.
    pub(crate) async fn live(self, process: Process) -> Result<()> {
        let mut sight = self.look(&process).await?;
        self.ask_for_trouble(&process, &sight).await?;
        while let Some(action) = self.next(&sight) {
            if process.is_zombie() {
                return self.meddle(&process, &sight).await;
            }
            sight = match action {
                Action::Send(number) => self.send(&process, number).await?,
                Action::SendBoth(one, other) => self.send_both(&process, one, other).await?,
                Action::Note(number) => self.note(&process, number).await?,
                Action::Answer(questions) => self.answer(&process, &questions).await?,
                Action::GoOn => self.perform(&process, self.flow(&process).go_on(THREAD)).await?,
            };
        }
        Ok(())
    }

    fn flow(&self, process: &Process) -> &Flow {
        &self.flows[process.number % self.flows.len()]
    }

    /// What is left to do.
    fn next(&self, sight: &Sight) -> Option<Action> {
        match &sight.stands {
            Stands::Due => return Some(Action::GoOn),
            Stands::Asks(questions) => {
                let note = self.case.note_at(questions.len()).filter(|note| !sight.notes.contains(note));
                return Some(note.map_or_else(|| Action::Answer(questions.clone()), Action::Note));
            }
            Stands::New | Stands::Rests => {}
        }
        let is_missing = |number: &u64| !sight.inputs.contains(number);
        self.case.items.iter().find_map(|item| match item {
            Item::Input(number) => is_missing(number).then_some(Action::Send(*number)),
            Item::Note(number) => (!sight.notes.contains(number)).then_some(Action::Note(*number)),
            Item::Pair(one, other) => match (is_missing(one), is_missing(other)) {
                (true, true) => Some(Action::SendBoth(*one, *other)),
                (true, false) => Some(Action::Send(*one)),
                (false, true) => Some(Action::Send(*other)),
                (false, false) => None,
            },
        })
    }

    async fn look(&self, process: &Process) -> Result<Sight> {
        let threads = self.flow(process).threads().checkpointer(SimStore(process.clone()));
        let sight = match threads.state(THREAD).await {
            Ok(snapshot) => Sight::of(&snapshot),
            Err(error) if error.code() == Code::NotFound => {
                Sight { stands: Stands::New, inputs: Vec::new(), notes: Vec::new() }
            }
            Err(error) => return Err(error),
        };
        process.sees(&sight.inputs);
        Ok(sight)
    }

    async fn send(&self, process: &Process, number: u64) -> Result<Sight> {
        self.perform(process, self.flow(process).run(self.case.input(number))).await
    }

    /// Two clients at once; the first failure is the one that counts.
    async fn send_both(&self, process: &Process, one: u64, other: u64) -> Result<Sight> {
        let (first, second) = tokio::join!(self.send(process, one), self.send(process, other));
        first?;
        second?;
        self.look(process).await
    }

    async fn note(&self, process: &Process, number: u64) -> Result<Sight> {
        let threads = self.flow(process).threads().checkpointer(SimStore(process.clone()));
        let update = threads.update(THREAD, Work::update().notes(number)).world(Arc::new(process.clone()));
        let checkpoint = update.await?;
        process.hears_of(checkpoint);
        self.look(process).await
    }

    async fn answer(&self, process: &Process, questions: &[Question]) -> Result<Sight> {
        let is_one = self.case.is_patient() || process.one_in(2);
        let first = if is_one { process.below(questions.len()) } else { 0 };
        let chosen = if is_one { &questions[first..=first] } else { questions };
        let ids: Vec<InterruptId> = chosen.iter().map(|question| question.id).collect();
        process.sends_answers(&ids);
        let flow = self.flow(process);
        // Without an id an answer goes to whatever is open when it comes: only for who is alone.
        let is_brief = process.one_in(2) && !process.has_rival();
        let run = match questions {
            [question] if is_brief => flow.resume(THREAD, value(question)),
            _ => flow
                .resume_with(THREAD, chosen.iter().map(|asked| (asked.id, json!(value(asked)))).collect::<Answers>()),
        };
        let sight = self.perform(process, run).await?;
        if process.one_in(6) {
            self.answer_again(process, ids[0]).await?;
        }
        Ok(sight)
    }

    /// Answers a question once more, with something else; that must be refused.
    async fn answer_again(&self, process: &Process, id: InterruptId) -> Result<()> {
        let answers = Answers::from([(id, json!(1_000))]);
        let run = self.prepared(process, self.flow(process).resume_with(THREAD, answers));
        match run.await {
            Ok(_) => process.judge(Rule::AnsweredOnce.broken(format!("a second answer to question {id} was taken"))),
            Err(error) if error.code() == Code::InvalidResume => process.counts(Fact::SecondAnswersRefused),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// A client that comes back may not know whether its answer counted, and gives it again.
    async fn ask_for_trouble(&self, process: &Process, sight: &Sight) -> Result<()> {
        let open: &[Question] = if let Stands::Asks(questions) = &sight.stands { questions } else { &[] };
        let closed = process.answered_before(open);
        match closed {
            Some(id) if process.one_in(4) => self.answer_again(process, id).await,
            _ => Ok(()),
        }
    }

    /// Whoever lost the thread stops, but may still answer what it was asked: one of the two answers counts.
    async fn meddle(&self, process: &Process, sight: &Sight) -> Result<()> {
        if let Stands::Asks(questions) = &sight.stands
            && !self.case.is_patient()
            && process.one_in(2)
        {
            self.answer(process, questions).await?;
        }
        Ok(())
    }

    fn prepared(&self, process: &Process, run: Run<Work, Process>) -> Run<Work, Process> {
        let control = Control::new();
        process.course().runs(process.number, &control);
        run.thread(THREAD)
            .context(process.clone())
            .checkpointer(SharedCheckpointer::new(SimStore(process.clone())))
            .clock(process.clone())
            .world(Arc::new(process.clone()))
            .max_concurrency(self.case.at_once)
            .control(control)
    }

    /// Runs, and holds what is told against the disk.
    async fn perform(&self, process: &Process, run: Run<Work, Process>) -> Result<Sight> {
        let failures = process.course().failures;
        let run = self.prepared(process, run);
        let result = if process.one_in(3) { watched(process, run).await } else { run.await };
        process.course().rests(process.number);
        let alone = !self.case.is_pair();
        process.hears(&result, alone.then_some(failures));
        result.map(|outcome| Sight::told(&outcome))
    }
}

/// Runs with a reader of its events, who takes its time.
async fn watched(process: &Process, run: Run<Work, Process>) -> Result<Outcome<Work>> {
    let mut stream = run.stream();
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(told) = &event.kind {
            process.hears_event(event.namespace(), told);
        }
        if process.one_in(8) {
            process.pause(Place::Reader).await;
        }
    }
    stream.finish().await
}

/// Waits as a client does that was told to come back later.
pub(crate) async fn rest(process: &Process) {
    Clock::sleep(process, Duration::from_millis(25)).await;
}

fn value(question: &Question) -> u64 {
    question.name.trim_start_matches('q').parse().unwrap_or(0)
}

impl Sight {
    fn of(snapshot: &Snapshot<Work>) -> Self {
        let open: Vec<Question> = snapshot.questions().into_iter().cloned().collect();
        let stands = match (open.is_empty(), snapshot.next.is_empty()) {
            (false, _) => Stands::Asks(open),
            (true, false) => Stands::Due,
            (true, true) => Stands::Rests,
        };
        Self { stands, inputs: snapshot.state.inputs.clone(), notes: snapshot.state.notes.clone() }
    }

    fn told(outcome: &Outcome<Work>) -> Self {
        let stands = match &outcome.status {
            Status::Finished => Stands::Rests,
            Status::Interrupted(questions) => Stands::Asks(questions.clone()),
            _ => Stands::Due,
        };
        Self { stands, inputs: outcome.state.inputs.clone(), notes: outcome.state.notes.clone() }
    }
}
