//! Questions and answers: how a run goes on with what a person said, here or on a new line of history.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{HANDLER_ORDINALS, Machine, question_id};
use crate::checkpoint::{Answer, Entry, Pending, Question, Source};
use crate::error::{Code, Error, Problem, Result};
use crate::fault::Fault;
use crate::id::{InterruptId, TaskId};
use crate::planted::{Bug, is_planted};
use crate::types::Schema as JsonSchema;

/// Answers by the question they answer.
pub type Answers = BTreeMap<InterruptId, Value>;

impl Machine {
    /// Goes on with answers to open questions; they are saved before anything runs.
    ///
    /// # Errors
    /// When a question is not open or an answer does not fit its schema; nothing is changed then.
    pub fn resume(&mut self, resume: Resume) -> Result<()> {
        self.save_migrated();
        let open = if is_planted(Bug::ResumeTwice) { self.all_questions() } else { self.open_questions() };
        let answers = match resume {
            Resume::One(value) => vec![(only_question(&open)?, value)],
            Resume::ById(answers) => answers.into_iter().collect(),
        };
        if answers.is_empty() {
            return Err(Error::new(Code::InvalidResume, "no answers were given").help("give an answer for each id"));
        }
        let time = self.config.world.now();
        let mut entries = Vec::new();
        for (id, value) in answers {
            let Some(asked) = open.iter().find(|asked| asked.question.id == id) else {
                return Err(self.not_open(id, &open));
            };
            check_answer(&asked.question, &value)?;
            let entry = Entry::Answer(Answer { id, value, time });
            entries.push(Pending { entry, ..asked.pending.clone() });
        }
        self.pending.extend(entries.iter().cloned());
        self.save_pending(entries, None);
        self.go_on()
    }

    /// Makes the next update begin a new line of history: nothing that was known of the tasks counts on it.
    pub fn branch(&mut self) {
        self.pending.clear();
        self.position.due.iter_mut().for_each(|due| due.since = None);
        self.branches = true;
    }

    /// Begins a new line of history here: nothing that was known of the tasks counts any more.
    pub fn fork(&mut self) {
        self.branch();
        self.branches = false;
        self.save_checkpoint(Source::Fork, crate::apply::Applied::default());
    }

    /// Begins a new line of history here with other answers to questions that were asked here.
    ///
    /// # Errors
    /// When no such question was asked here or an answer does not fit; nothing is changed then.
    pub fn fork_and_resume(&mut self, resume: Resume) -> Result<()> {
        let asked: Vec<Asked> = self.all_questions();
        let answers = match resume {
            Resume::One(value) => vec![(only_question(&asked)?, value)],
            Resume::ById(answers) => answers.into_iter().collect(),
        };
        let mut moved = Vec::new();
        for (id, value) in answers {
            let Some(asked) = asked.iter().find(|asked| asked.question.id == id) else {
                return Err(self.not_open(id, &asked));
            };
            check_answer(&asked.question, &value)?;
            moved.push((asked.pending.task, asked.question.clone(), value));
        }
        let mut places = BTreeMap::new();
        for (task, question, _) in &moved {
            places.insert(question.id, self.place_of(*task, question)?);
        }
        self.fork();
        let time = self.config.world.now();
        let mut entries = Vec::new();
        for (_, question, value) in moved {
            let (place, ordinal) = places[&question.id];
            let task = self.task_id(&self.position.due[place]);
            let (id, Some(checkpoint)) = (question_id(task, ordinal), self.head) else { continue };
            let pending = |entry| Pending { checkpoint, task, node: question.node.clone(), entry };
            entries.push(pending(Entry::Question(Question { id, ..question.clone() })));
            entries.push(pending(Entry::Answer(Answer { id, value, time })));
        }
        self.pending.clone_from(&entries);
        self.save_pending(entries, None);
        self.go_on()
    }

    /// Which due task asked a question, and as which of its questions: the same number on a new line of history is
    /// the same question.
    fn place_of(&self, task: TaskId, question: &Question) -> Result<(usize, u32)> {
        let asked = self.position.due.iter().position(|due| self.task_id(due) == task).and_then(|place| {
            let mut ordinals = (0..1_000).chain(HANDLER_ORDINALS..HANDLER_ORDINALS + 1_000);
            ordinals.find(|ordinal| question_id(task, *ordinal) == question.id).map(|ordinal| (place, ordinal))
        });
        asked.ok_or_else(|| {
            let message = format!(
                "`{}` was asked inside a graph or a recorded step of `{}`, and cannot be answered anew from here",
                question.name, question.node
            );
            Error::new(Code::InvalidResume, message)
                .help("run from this checkpoint without an answer: it is asked again")
        })
    }

    pub(super) fn collect_answers(&mut self) {
        let answers = self.pending.iter().filter_map(|entry| match &entry.entry {
            Entry::Answer(answer) => Some((answer.id, answer.value.clone())),
            _ => None,
        });
        let answers: Answers = answers.collect();
        if !answers.is_empty() {
            let mut all = self.answers.as_deref().cloned().unwrap_or_default();
            all.extend(answers);
            self.answers = Some(Arc::new(all));
        }
    }

    /// Answers that a graph around this one holds for it.
    pub fn give_answers(&mut self, answers: Option<Arc<Answers>>) {
        self.answers = answers;
    }

    fn all_questions(&self) -> Vec<Asked> {
        let asked = self.pending.iter().filter_map(|pending| match &pending.entry {
            Entry::Question(question) => Some(Asked { question: question.clone(), pending: pending.clone() }),
            _ => None,
        });
        asked.collect()
    }

    fn open_questions(&self) -> Vec<Asked> {
        let is_answered = |id: InterruptId| {
            self.pending.iter().any(|entry| matches!(&entry.entry, Entry::Answer(answer) if answer.id == id))
        };
        let mut asked = self.all_questions();
        asked.retain(|asked| !is_answered(asked.question.id));
        asked
    }

    /// True when something waits for an answer.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        !self.open_questions().is_empty()
    }

    fn not_open(&self, id: InterruptId, open: &[Asked]) -> Error {
        let answered = self.pending.iter().find_map(|entry| match &entry.entry {
            Entry::Answer(answer) if answer.id == id => Some(answer.time),
            _ => None,
        });
        match answered {
            Some(time) => already_answered(id, time),
            None => Error::new(Code::InvalidResume, format!("no open question has the id {id}")).help(list_open(open)),
        }
    }
}

/// How a run is resumed.
#[derive(Debug, Clone)]
pub enum Resume {
    /// The answer to the one open question.
    One(Value),
    /// Answers by question.
    ById(Answers),
}

/// The error that a question has its answer; `time` is in microseconds since 1970.
#[must_use]
pub fn already_answered(id: InterruptId, time: i64) -> Error {
    let time = crate::time::Time::from_unix_micros(time).map_or_else(|_| time.to_string(), |time| time.to_string());
    Error::new(Code::InvalidResume, format!("question {id} was already answered at {time}"))
        .help("to answer it again, fork from the checkpoint at which it was asked")
}

struct Asked {
    question: Question,
    pending: Pending,
}

fn list_open(open: &[Asked]) -> String {
    let ids: Vec<String> =
        open.iter().map(|asked| format!("{} (`{}`)", asked.question.id, asked.question.name)).collect();
    if ids.is_empty() {
        "nothing waits for an answer on this thread".to_owned()
    } else {
        format!("open: {}", ids.join(", "))
    }
}

fn only_question(open: &[Asked]) -> Result<InterruptId> {
    match open {
        [one] => Ok(one.question.id),
        [] => Err(Error::new(Code::InvalidResume, "nothing waits for an answer on this thread")
            .help("start it with an input, or go on without an answer")),
        several => Err(Error::new(
            Code::InvalidResume,
            format!("{} questions are open: say which one is answered", several.len()),
        )
        .help(list_open(several))),
    }
}

fn check_answer(question: &Question, value: &Value) -> Result<()> {
    let Some(schema) = &question.schema else { return Ok(()) };
    let faults: Vec<Fault> = match JsonSchema::new(schema.clone()) {
        Ok(schema) => crate::types::FieldType::Schema(schema).check(value).err().unwrap_or_default(),
        Err(fault) => vec![fault],
    };
    if faults.is_empty() {
        return Ok(());
    }
    let message = format!("the answer to `{}` does not fit its schema", question.name);
    Err(Error::listing(Code::InvalidResume, message, faults.into_iter().map(Problem::from).collect())
        .help("the question stays open: answer again"))
}
